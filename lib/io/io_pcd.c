/* .pcd of the Point Cloud Library, version 0.5 to 0.7: ascii, binary and binary_compressed.
 * Format: pointclouds.org, "The PCD (Point Cloud Data) file format". */
#include "io.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 256, MAX_COUNT = 65536 };

typedef struct pcd_field {
    pc_span name;
    int size, type; /* of one value: bytes, pcgpu_type */
    char kind;      /* F, I or U */
    int64_t count;  /* values per point */
} pcd_field;

typedef enum pcd_data { PCD_ASCII, PCD_BINARY, PCD_COMPRESSED } pcd_data;

typedef struct pcd_input {
    const pc_file *file;
    pc_text text;
    pcd_field fields[MAX_FIELDS];
    int field_count;
    int64_t width, height, points; /* -1: not given */
    pcd_data data;
    double viewpoint[7];
} pcd_input;

static pcgpu_status fail_header(const pcd_input *in, pc_span what, const char *expected) {
    return pc_fail_line(in->file, &in->text, "'%s' where %s is expected; correct the header", pc_span_show(what).text,
                        expected);
}

static bool is_padding(const pcd_field *field) {
    return pc_span_is(field->name, "_");
}

/* ---- header --------------------------------------------------------------------------------------------------- */

static pcgpu_status parse_names(pcd_input *in, pc_span line) {
    pc_span token;
    in->field_count = 0;
    while (pc_text_token(&line, &token)) {
        if (in->field_count == MAX_FIELDS) {
            return fail_header(in, token, "the end of a line of at most 256 fields");
        }
        in->fields[in->field_count++] = (pcd_field){.name = token, .size = 4, .kind = 'F', .count = 1};
    }
    return PCGPU_OK;
}

/* Parses one value per field, after the line FIELDS: SIZE, TYPE or COUNT, which differ in the first letter. */
static pcgpu_status parse_values(pcd_input *in, pc_span line, char key) {
    pc_span token;
    int64_t value = 0;
    for (int i = 0; i < in->field_count; i++) {
        pcd_field *f = &in->fields[i];
        pc_text_token(&line, &token);
        if (key == 'T') {
            f->kind = token.n == 1 ? (char)(*token.p & ~0x20) : '\0'; /* PCL reads small letters, too */
            if (f->kind != 'F' && f->kind != 'I' && f->kind != 'U') {
                return fail_header(in, token, "one of F, I, U for every field");
            }
        } else if (!pc_span_count(token, &value) || value > (key == 'S' ? 8 : MAX_COUNT)) {
            return fail_header(in, token,
                               key == 'S' ? "a size of 1, 2, 4 or 8" : "a count up to 65536 for every field");
        } else if (key == 'S') {
            f->size = (int)value;
        } else {
            f->count = value;
        }
    }
    if (in->field_count == 0 || pc_text_token(&line, &token)) {
        return fail_header(in, line, "one value for every name of an earlier line FIELDS");
    }
    return PCGPU_OK;
}

static pcgpu_status parse_number(pcd_input *in, pc_span line, int64_t *value) {
    pc_span token;
    pc_text_token(&line, &token);
    return pc_span_count(token, value) ? PCGPU_OK : fail_header(in, token, "a number, 0 or more,");
}

/* What is no viewpoint is none, since no point depends on it. */
static pcgpu_status parse_viewpoint(pcd_input *in, pc_span line) {
    double v[7];
    pc_span token;
    for (int i = 0; i < 7; i++) {
        if (!pc_text_token(&line, &token) || !pc_span_number(token, PCGPU_FLOAT64, (unsigned char *)&v[i])) {
            return PCGPU_OK;
        }
    }
    memcpy(in->viewpoint, v, sizeof v);
    return PCGPU_OK;
}

static pcgpu_status parse_data(pcd_input *in, pc_span line) {
    pc_span token;
    pc_text_token(&line, &token);
    if (pc_span_is(token, "ascii")) {
        in->data = PCD_ASCII;
    } else if (pc_span_is(token, "binary")) {
        in->data = PCD_BINARY;
    } else if (pc_span_is(token, "binary_compressed")) {
        in->data = PCD_COMPRESSED;
    } else {
        return fail_header(in, token, "ascii, binary or binary_compressed");
    }
    return PCGPU_OK;
}

static pcgpu_status parse_line(pcd_input *in, pc_span key, pc_span line) {
    if (pc_span_is(key, "FIELDS") || pc_span_is(key, "COLUMNS")) {
        return parse_names(in, line);
    }
    if (pc_span_is(key, "SIZE") || pc_span_is(key, "TYPE") || pc_span_is(key, "COUNT")) {
        return parse_values(in, line, *key.p);
    }
    int64_t *const number = pc_span_is(key, "WIDTH")    ? &in->width
                            : pc_span_is(key, "HEIGHT") ? &in->height
                            : pc_span_is(key, "POINTS") ? &in->points
                                                        : NULL;
    if (number) {
        return parse_number(in, line, number);
    }
    if (pc_span_is(key, "VIEWPOINT")) {
        return parse_viewpoint(in, line);
    }
    if (pc_span_is(key, "VERSION") || *key.p == '#') {
        return PCGPU_OK;
    }
    return fail_header(in, key, "a PCD keyword (FIELDS SIZE TYPE COUNT WIDTH HEIGHT POINTS DATA)");
}

/* Determines the types of the fields and the number of points after the whole header is read. */
static pcgpu_status finish_header(pcd_input *in) {
    static const int types[3][9] = {
        {[4] = PCGPU_FLOAT32 + 1, [8] = PCGPU_FLOAT64 + 1}, /* + 1: 0 is no type */
        {[1] = PCGPU_INT8 + 1, [2] = PCGPU_INT16 + 1, [4] = PCGPU_INT32 + 1, [8] = PCGPU_INT64 + 1},
        {[1] = PCGPU_UINT8 + 1, [2] = PCGPU_UINT16 + 1, [4] = PCGPU_UINT32 + 1, [8] = PC_UINT64 + 1},
    };
    for (int i = 0; i < in->field_count; i++) {
        pcd_field *f = &in->fields[i];
        f->type = types[f->kind == 'F' ? 0 : f->kind == 'I' ? 1 : 2][f->size] - 1;
        if (f->type < 0 && !is_padding(f)) {
            return pc_fail_format(in->file, "field '%s' has TYPE %c and SIZE %d, which is no type; correct the header",
                                  pc_span_show(f->name).text, f->kind, f->size);
        }
    }
    if (in->points < 0 && in->width >= 0) {
        if (in->height < 0) {
            in->height = 1;
        }
        if (__builtin_mul_overflow(in->width, in->height, &in->points)) {
            in->points = -1;
        }
    }
    return in->points >= 0
               ? PCGPU_OK
               : pc_fail_format(in->file, "the header does not say how many points there are; add a line POINTS");
}

static pcgpu_status read_header(pcd_input *in) {
    pc_span line, key;
    while (pc_text_filled_line(&in->text, &line)) {
        pc_text_token(&line, &key);
        bool last = pc_span_is(key, "DATA");
        PC_TRY(last ? parse_data(in, line) : parse_line(in, key, line));
        if (last) {
            return finish_header(in);
        }
    }
    return pc_fail_format(
        in->file, "the header has no line DATA; it is cut short or not a .pcd, so copy it again or give --format");
}

/* ---- data ----------------------------------------------------------------------------------------------------- */

/* Bytes per point. Padding is part of a binary record, but not of packed text or compressed data. */
static size_t point_size(const pcd_input *in) {
    size_t size = 0;
    for (int i = 0; i < in->field_count; i++) {
        const pcd_field *f = &in->fields[i];
        size += in->data == PCD_BINARY || !is_padding(f) ? (size_t)f->size * (size_t)f->count : 0;
    }
    return size;
}

/* Describes the columns. Compressed data stores field after field, each with all points; others point after point. */
static pcgpu_status build_table(const pcd_input *in, pc_table *table) {
    size_t offset = 0;
    size_t record = point_size(in);
    table->rows = in->points;
    for (int i = 0; i < in->field_count; i++) {
        const pcd_field *f = &in->fields[i];
        size_t bytes = (size_t)f->size * (size_t)f->count;
        bool padding = is_padding(f);
        for (int64_t j = 0; j < f->count && !padding; j++) {
            char label[PCGPU_NAME_SIZE];
            const int most = f->count == 1 ? 31 : 24, n = f->name.n < (size_t)most ? (int)f->name.n : most;
            int length = snprintf(label, sizeof label, "%.*s", n, f->name.p);
            length += f->count == 1 ? 0 : snprintf(label + n, sizeof label - (size_t)n, "_%d", (int)j);
            PC_TRY(pc_table_add(in->file, table, label, (size_t)length, f->type, offset + (size_t)j * (size_t)f->size));
            table->fields[table->columns - 1].stride = in->data == PCD_COMPRESSED ? bytes : record;
        }
        if (in->data == PCD_COMPRESSED && !padding) {
            offset += bytes * (size_t)in->points;
        } else if (in->data == PCD_BINARY || !padding) {
            offset += bytes;
        }
    }
    return PCGPU_OK;
}

static pcgpu_status expand(pcd_input *in, pc_bytes *packed) {
    size_t left = (size_t)(in->text.end - in->text.p);
    uint32_t sizes[2] = {0, 0}; /* compressed, expanded */
    if (left >= sizeof sizes) {
        memcpy(sizes, in->text.p, sizeof sizes);
        left -= sizeof sizes;
    } else {
        left = 0;
    }
    if (left < sizes[0] || (sizes[0] == 0 && in->points > 0)) {
        return pc_fail_format(
            in->file,
            "file ends after %zu of %lu bytes of compressed data; it is cut short, so copy or export it again", left,
            (unsigned long)sizes[0]);
    }
    size_t record = point_size(in);
    if (sizes[1] % record || sizes[1] / record != (uint64_t)in->points) {
        return pc_fail_format(
            in->file,
            "%lu bytes of compressed data cannot be %lld points of %zu bytes; correct the header or export it again",
            (unsigned long)sizes[1], (long long)in->points, record);
    }
    /* No three bytes of LZF expand to more than 264, so a larger claim is refused before it is believed. */
    bool good = sizes[1] / 88 <= sizes[0];
    if (good) {
        packed->size = sizes[1];
        packed->data = malloc(packed->size + 1);
        if (!packed->data) {
            return pc_fail_file_memory(in->file, packed->size);
        }
        const unsigned char *data = (const unsigned char *)in->text.p + sizeof sizes;
        good = pc_lzf_expand(data, sizes[0], packed->data, packed->size);
    }
    return good ? PCGPU_OK : pc_fail_format(in->file, "the compressed data is damaged; copy or export it again");
}

/* Reports the last line, which has an invalid value, or too few values where `value` is empty. */
static pcgpu_status fail_point(const pcd_input *in, pc_span value, const pcd_field *field) {
    pc_shown v = pc_span_show(value);
    pc_shown f = pc_span_show(field->name);
    if (value.n == 0) {
        return pc_fail_line(in->file, &in->text, "ends before field '%s'; every point is one line", f.text);
    }
    return pc_fail_line(in->file, &in->text, "'%s' is not a value that the field can have: '%s'; correct the line",
                        v.text, f.text);
}

static pcgpu_status ascii_point(pcd_input *in, pc_span line, unsigned char *out) {
    pc_span token;
    for (int i = 0; i < in->field_count; i++) {
        const pcd_field *f = &in->fields[i];
        bool padding = is_padding(f);
        for (int64_t j = 0; j < f->count; j++) {
            if (!pc_text_token(&line, &token) || (!padding && !pc_span_number(token, f->type, out))) {
                return fail_point(in, token, f);
            }
            out += padding ? 0 : f->size;
        }
    }
    if (pc_text_token(&line, &token)) {
        return pc_fail_line(in->file, &in->text, "'%s' follows the last field; correct the line or the header",
                            pc_span_show(token).text);
    }
    return PCGPU_OK;
}

/* Converts text to packed records. Every value has at least two characters, which bounds the allocation for a hostile
 * header. The row after the last possible one is parsed, too, so that its error has its line number. */
static pcgpu_status read_ascii(pcd_input *in, int values, pc_bytes *packed) {
    size_t record = point_size(in);
    uint64_t possible = (uint64_t)(in->text.end - in->text.p) / (2 * (uint64_t)values) + 2;
    uint64_t rows = (uint64_t)in->points < possible ? (uint64_t)in->points : possible;
    packed->size = (size_t)rows * record;
    packed->data = malloc(packed->size + 1);
    if (!packed->data) {
        return pc_fail_file_memory(in->file, packed->size);
    }
    for (uint64_t i = 0; i < (uint64_t)in->points; i++) {
        pc_span line;
        if (i == rows || !pc_text_filled_line(&in->text, &line)) {
            return pc_fail_short(in->file, i, (uint64_t)in->points, "points");
        }
        PC_TRY(ascii_point(in, line, packed->data + i * record));
    }
    return PCGPU_OK;
}

__attribute__((noinline)) /* no frame is large */
static pcgpu_status
read_points(pcd_input *in, pc_bytes *bytes, pcgpu_cloud *cloud) {
    pc_bytes packed = {NULL, 0};
    pc_table table = {.rows = 0};
    /* The columns first: they include x y z, so that the size of a point is not 0. */
    PC_TRY(build_table(in, &table));
    if (table.columns < 3) {
        return pc_table_to_cloud(in->file, &table, bytes, cloud);
    }
    const int values = table.columns;
    pc_table_split_color(&table);
    if (in->data == PCD_BINARY) {
        uint64_t present = (uint64_t)(in->text.end - in->text.p) / point_size(in);
        if (present < (uint64_t)in->points) {
            return pc_fail_short(in->file, present, (uint64_t)in->points, "points");
        }
        table.start = (size_t)((const unsigned char *)in->text.p - bytes->data);
        return pc_table_to_cloud(in->file, &table, bytes, cloud);
    }
    pcgpu_status status = in->data == PCD_ASCII ? read_ascii(in, values, &packed) : expand(in, &packed);
    if (status == PCGPU_OK) {
        status = pc_table_to_cloud(in->file, &table, &packed, cloud);
    }
    pc_bytes_free(&packed);
    return status;
}

/* What pc_pcd_write restores. */
static pcgpu_status keep_header(const pcd_input *in, bool organized, pcgpu_cloud *cloud) {
    static const double plain[7] = {0, 0, 0, 1, 0, 0, 0}, none[4];
    cloud->width = organized ? in->width : 0;
    if (memcmp(in->viewpoint + 3, none, sizeof none) != 0 && memcmp(in->viewpoint, plain, sizeof plain) != 0) {
        cloud->header = pc_header_create();
        if (!cloud->header) {
            return pc_fail_file_memory(in->file, sizeof *cloud->header);
        }
        memcpy(cloud->header->viewpoint, in->viewpoint, sizeof in->viewpoint);
    }
    return PCGPU_OK;
}

static pcgpu_status read_pcd(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud) {
    static const char *const encodings[] = {"ascii", "binary", "binary_compressed"}; /* by pcd_data */
    pcd_input in = {.file = file, .text = pc_text_of(bytes), .width = -1, .height = -1, .points = -1};
    PC_TRY(read_header(&in));
    pc_say_encoding(file, "%s", encodings[in.data]);
    const bool organized = in.height > 1 && in.width == in.points / in.height && in.points % in.height == 0;
    if (file->options->file && organized) {
        file->options->file->width = in.width;
        file->options->file->height = in.height;
    }
    PC_TRY(read_points(&in, bytes, cloud));
    return keep_header(&in, organized, cloud);
}

const pc_format pc_format_pcd = {
    .info = {.name = "pcd",
             .extension = ".pcd",
             .reads = true,
             .writes = true,
             .description = "PCL: ascii, binary, binary_compressed; written as binary"},
    .begins = {"# .PCD", "VERSION 0.", "VERSION .", "FIELDS "},
    .read = read_pcd,
    .write = pc_pcd_write,
};
