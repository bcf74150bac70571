/* .xyz, .csv and .pts: a line per point, numbers separated by blanks, commas or semicolons. The names of the columns
 * come from a header line, or from the last comment before the data when it names x y z and as many columns as there
 * are. A lone number before the data is the number of points (.pts); it may stand again before another part.
 * Coordinates that float32 cannot hold are read as float64, for the offset of the cloud. */
#include "io.h"
#include "io_number.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct xyz_input {
    const pc_file *file;
    pc_text text;   /* after the line that is parsed */
    char separator; /* ' ' stands for any blanks */
    int columns;
    bool wide[PCGPU_MAX_COLUMNS];     /* needs float64 */
    double limits[PCGPU_MAX_COLUMNS]; /* of a size from which a value may need it */
    bool unnamed;                     /* columns have the names of their places */
    int64_t counted;                  /* points that a .pts promises, or -1 */
    pc_table table;
} xyz_input;

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static pc_span trimmed(pc_span s) {
    while (s.n && is_blank(*s.p)) {
        s.p++;
        s.n--;
    }
    while (s.n && (is_blank(s.p[s.n - 1]) || s.p[s.n - 1] == '\r')) {
        s.n--;
    }
    if (s.n >= 2 && s.p[0] == '"' && s.p[s.n - 1] == '"') {
        s = trimmed((pc_span){s.p + 1, s.n - 2});
    }
    return s;
}

/* Takes the next value of a line. A separator at the end of the line is followed by none. */
static bool next_value(pc_span *line, char separator, pc_span *value) {
    if (separator == ' ') {
        return pc_text_token(line, value);
    }
    if (line->n == 0) {
        return false;
    }
    const char *end = memchr(line->p, separator, line->n);
    const size_t n = end ? (size_t)(end - line->p) : line->n;
    *value = trimmed((pc_span){line->p, n});
    *line = (pc_span){line->p + n + (end != NULL), line->n - n - (end != NULL)};
    return end || value->n > 0;
}

static int count_values(pc_span line, char separator) {
    pc_span value;
    int n = 0;
    while (next_value(&line, separator, &value)) {
        n++;
    }
    return n;
}

static char separator_of(pc_span line) {
    return memchr(line.p, ';', line.n) ? ';' : memchr(line.p, ',', line.n) ? ',' : ' ';
}

static bool is_number(pc_span value) {
    unsigned char bytes[8];
    return pc_span_number(value, PCGPU_FLOAT64, bytes);
}

static bool is_comment(pc_span *line) {
    const pc_span s = trimmed(*line);
    const size_t mark = s.n >= 2 && s.p[0] == '/' && s.p[1] == '/' ? 2 : s.n >= 1 && strchr("#%!", s.p[0]) ? 1 : 0;
    *line = mark ? trimmed((pc_span){s.p + mark, s.n - mark}) : *line;
    return mark > 0;
}

static pcgpu_status fail_line(const xyz_input *in, const char *what, pc_span value, const char *remedy) {
    return pc_fail_line(in->file, &in->text, "'%s' %s; %s", pc_span_show(value).text, what, remedy);
}

static pcgpu_status fail_number(const xyz_input *in, pc_span value) {
    return fail_line(in, "is not a number", value,
                     "give numbers with a decimal point, such as 1.5, and names in one header line");
}

static pcgpu_status fail_count(const xyz_input *in, int found) {
    return pc_fail_line(in->file, &in->text, "%s%d values where %d are expected; correct the line",
                        found > in->columns ? "at least " : "", found, in->columns);
}

/* ---- header ------------------------------------------------------------------------------------------------------ */

static pcgpu_status name_columns(xyz_input *in, pc_span header) {
    const char separator = separator_of(header);
    pc_span value;
    while (next_value(&header, separator, &value)) {
        PC_TRY(pc_table_add(in->file, &in->table, value.p, value.n, PCGPU_FLOAT32, 0));
    }
    pc_table_rename(&in->table); /* also for what needs_float64 asks */
    return PCGPU_OK;
}

/* Whether a comment is a header: it has a value that is x, or each could be the name of one of `columns`. */
static bool names_columns(pc_span line, int columns) {
    static const char prose[] =
        " a an and as at by cloud created data exported file for from generated in is made of on point points the this "
        "to with written ";
    const char separator = separator_of(line);
    bool names = count_values(line, separator) == columns;
    pc_span value;
    while (next_value(&line, separator, &value)) {
        if (pc_span_is(value, "x") || pc_span_is(value, "X")) {
            return true;
        }
        names = names && value.n > 0 && isalpha((unsigned char)*value.p) && !strchr(":.!?", value.p[value.n - 1]);
        char word[PCGPU_NAME_SIZE + 2];
        snprintf(word, sizeof word, " %.*s ", value.n < PCGPU_NAME_SIZE ? (int)value.n : PCGPU_NAME_SIZE - 1, value.p);
        for (char *c = word; *c; c++) {
            *c = (char)tolower((unsigned char)*c);
        }
        names = names && !strstr(prose, word);
    }
    return names;
}

static pcgpu_status default_names(xyz_input *in) {
    static const char *const scanner[] = {"x", "y", "z", "intensity", "red", "green", "blue"};
    const bool colours = in->counted >= 0 && in->columns == 6; /* .pts without intensity */
    if (in->counted < 0 || in->columns > 7 || in->columns == 5) {
        return pc_table_add_unnamed(in->file, &in->table, in->columns, PCGPU_FLOAT32, 0, 0);
    }
    for (int k = 0; k < in->columns; k++) {
        const char *label = scanner[colours && k >= 3 ? k + 1 : k];
        PC_TRY(pc_table_add(in->file, &in->table, label, strlen(label), PCGPU_FLOAT32, 0));
    }
    return PCGPU_OK;
}

static bool begins_as_number(pc_span line) {
    line = trimmed(line);
    return line.n > 0 && strchr("+-.0123456789", *line.p);
}

/* Reads up to the first line of data, which remains. */
static pcgpu_status read_header(xyz_input *in) {
    pc_span line, header = {"", 0}, comment = {"", 0};
    pc_text before = in->text;
    int64_t header_line = 0;
    in->counted = -1;
    for (; pc_text_filled_line(&in->text, &line); before = in->text) {
        pc_span rest = line, value;
        if (is_comment(&line)) {
            comment = line;
            continue;
        }
        in->separator = separator_of(line);
        in->columns = count_values(line, in->separator);
        if (header.n > 0 && line.p[line.n - 1] == in->separator &&
            count_values(header, separator_of(header)) > in->columns) {
            in->columns++; /* the last value of the first point is empty */
        }
        bool numbers = true;
        while (numbers && next_value(&rest, in->separator, &value)) {
            numbers = value.n == 0 || is_number(value);
        }
        if (numbers && in->columns == 1 && in->counted < 0 && pc_span_count(trimmed(line), &in->counted)) {
            continue;
        }
        if (numbers || header.n > 0 || begins_as_number(line)) {
            break; /* what is no line of names has its error as data */
        }
        header = line;
        header_line = in->text.line;
        in->columns = 0;
    }
    in->text = before;
    comment = names_columns(comment, in->columns) ? comment : (pc_span){"", 0};
    if (in->columns == 0 && (header.n > 0 || comment.n > 0)) { /* names and no points */
        in->columns = count_values(header.n ? header : comment, separator_of(header.n ? header : comment));
    }
    if (in->columns < 3 || in->columns > PCGPU_MAX_COLUMNS) {
        return pc_fail_format(in->file, "line %lld: %d values; a point is a line of 3 to %d numbers",
                              (long long)before.line + 1, in->columns, PCGPU_MAX_COLUMNS);
    }
    if (header.n == 0 && comment.n > 0 && count_values(comment, separator_of(comment)) == in->columns) {
        header = comment;
    }
    in->unnamed = header.n == 0 && in->counted < 0;
    PC_TRY(header.n ? name_columns(in, header) : default_names(in));
    if (in->table.columns != in->columns) {
        return pc_fail_format(in->file, "line %lld names %d columns and line %lld has %d values; correct the header",
                              (long long)header_line, in->table.columns, (long long)before.line + 1, in->columns);
    }
    return PCGPU_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Whether a value may have no more than seven digits, which the text of a float32 has, too. */
static bool has_few_digits(double v) {
    double digits = fabs(v);
    while (digits < 1e6) {
        digits *= 10.0;
    }
    return digits < 1e7 && fabs(digits - nearbyint(digits)) < 1e-4;
}

/* A value that float32 does not hold at the precision of a cloud: of a coordinate, which gets an offset, more than 0.06
 * mm; of another column, unless it is the text of a float32. */
static bool needs_float64(const xyz_input *in, int column, double v) {
    const char *label = in->table.fields[column].name;
    const bool axis = label[0] >= 'x' && label[0] <= 'z' && label[1] == '\0';
    if (!(fabs(v) >= in->limits[column] && fabs(v) < 1e30) || (double)(float)v == v) {
        return false;
    }
    if (axis || has_few_digits(v)) {
        return axis && fabs(v) < 1e15; /* beyond is a mark of no value, which moves no offset */
    }
    char text[PC_NUMBER_SIZE];
    pc_format_number(text, (double)(float)v, true);
    return strtod(text, NULL) != v;
}

/* Stores a value that pc_scan_number does not decide. False when it is no number; an empty one is NaN. */
static bool store_slowly(xyz_input *in, int column, pc_span value, unsigned char *out, bool *again) {
    double v = NAN;
    if (value.n > 0 && !pc_span_number(value, PCGPU_FLOAT64, (unsigned char *)&v)) {
        return false;
    }
    if (in->wide[column]) {
        memcpy(out, &v, sizeof v);
        return true;
    }
    *again = *again || (in->wide[column] = needs_float64(in, column, v));
    const float nothing = NAN;
    memcpy(out, &nothing, sizeof nothing);
    return value.n == 0 || pc_span_number(value, PCGPU_FLOAT32, out);
}

/* Parses a line of data. `again`: a column turned out to need float64, and all rows are parsed again. */
static pcgpu_status read_row(xyz_input *in, pc_span line, unsigned char *out, bool *again) {
    const char *p = line.p, *end = line.p + line.n;
    const char separator = in->separator;
    for (int k = 0; k < in->columns; k++) {
        double v = 0;
        bool exact = false;
        while (p < end && is_blank(*p)) {
            p++;
        }
        const char *stop = pc_scan_number(p, &v, &exact);
        while (stop && separator != ' ' && is_blank(*stop)) {
            stop++;
        }
        const bool whole =
            stop && (stop == end || (stop < end && (separator == ' ' ? is_blank(*stop) : *stop == separator)));
        const bool large = whole && fabs(v) >= in->limits[k];
        if (whole && (in->wide[k] ? exact : !pc_is_undecided(v, exact, large) && !(large && needs_float64(in, k, v)))) {
            const float f = (float)v;
            memcpy(out, in->wide[k] ? (const void *)&v : (const void *)&f, in->wide[k] ? sizeof v : sizeof f);
            p = stop + (stop < end && separator != ' ');
        } else {
            pc_span rest = {p, (size_t)(end - p)}, value = {"", 0};
            if (!next_value(&rest, separator, &value) &&
                (k + 1 < in->columns || separator == ' ' || line.n == 0 || end[-1] != separator)) {
                return fail_count(in, k); /* an empty value may end a line */
            }
            if (!store_slowly(in, k, value, out, again)) {
                return fail_number(in, value);
            }
            if (*again) {
                return PCGPU_OK; /* rows have another layout now */
            }
            p = rest.p;
        }
        out += in->wide[k] ? sizeof(double) : sizeof(float);
    }
    return trimmed((pc_span){p, (size_t)(end - p)}).n > 0 ? fail_count(in, in->columns + 1) : PCGPU_OK;
}

/* Rows that the rest of the text can have. */
static size_t most_rows(const pc_text *text) {
    size_t lines = 1;
    for (const char *p = text->p; (p = memchr(p, '\n', (size_t)(text->end - p))); p++, lines++) {
    }
    return lines;
}

static size_t lay_out(xyz_input *in) {
    size_t stride = 0;
    for (int k = 0; k < in->columns; k++) {
        in->table.fields[k].type = in->wide[k] ? PCGPU_FLOAT64 : PCGPU_FLOAT32;
        in->table.fields[k].offset = stride;
        stride += in->wide[k] ? sizeof(double) : sizeof(float);
    }
    for (int k = 0; k < in->columns; k++) {
        in->table.fields[k].stride = stride;
        in->limits[k] = pc_is_time(in->table.fields[k].name) ? 2.0 : 1024.0;
    }
    return stride;
}

/* Whether a line between the points is none: a comment, or the number of points of the next part of a .pts. */
static bool is_between(xyz_input *in, pc_span line, int64_t rows) {
    int64_t more = 0;
    if (strchr("#%!/ \t", *line.p) && is_comment(&line)) {
        return true;
    }
    if (in->counted != rows || count_values(line, in->separator) != 1 || !pc_span_count(trimmed(line), &more)) {
        return false;
    }
    in->counted += more;
    return true;
}

/* Parses all rows into `packed`, unless `again`. */
static pcgpu_status read_rows(xyz_input *in, pc_bytes *packed, bool *again) {
    const size_t stride = lay_out(in), left = (size_t)(in->text.end - in->text.p);
    const size_t lines = most_rows(&in->text), least = (size_t)in->columns; /* separators and the end of the line */
    const size_t most = lines < left / least + 1 ? lines : left / least + 1;
    pc_span line;
    int64_t rows = 0;
    packed->data = malloc(most * stride + 1);
    if (!packed->data) {
        return pc_fail_file_memory(in->file, most * stride);
    }
    while (!*again && pc_text_filled_line(&in->text, &line)) {
        if (is_between(in, line, rows)) {
            continue;
        }
        if (rows == in->counted) {
            return fail_line(in, "follows the last point that the number of points allows", line,
                             "correct the number or the lines");
        }
        unsigned char spare[PCGPU_MAX_COLUMNS * sizeof(double)]; /* a line too short for a point, which has its error */
        PC_TRY(read_row(in, line, (size_t)rows < most ? packed->data + (size_t)rows * stride : spare, again));
        rows++;
    }
    packed->size = (size_t)rows * stride;
    in->table.rows = rows;
    return rows < in->counted && !*again ? pc_fail_short(in->file, (uint64_t)rows, (uint64_t)in->counted, "points")
                                         : PCGPU_OK;
}

pcgpu_status pc_xyz_read(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud) {
    xyz_input in = {.file = file, .text = pc_text_of(bytes)};
    if (memchr(bytes->data, '\0', bytes->size)) {
        return pc_fail_format(file,
                              "holds zero bytes and is not text in ASCII or UTF-8; give --format, or save it as UTF-8");
    }
    pcgpu_status status = read_header(&in);
    pc_bytes packed = {NULL, 0};
    const pc_text begin = in.text;
    const int64_t counted = in.counted;
    for (bool again = status == PCGPU_OK; again;) {
        again = false;
        pc_bytes_free(&packed);
        in.text = begin;
        in.counted = counted;
        status = read_rows(&in, &packed, &again);
    }
    if (status == PCGPU_OK) {
        pc_say_encoding(file, "text, columns separated by %s",
                        in.separator == ' '   ? "blanks"
                        : in.separator == ',' ? "commas"
                                              : "semicolons");
        if (in.unnamed && in.columns == 6) {
            pc_table_name_colors(&in.table, packed.data);
        }
        status = pc_table_to_cloud(file, &in.table, &packed, cloud);
    }
    pc_bytes_free(&packed);
    return status;
}
