/* What names and values of columns decide: the names of this library, offsets, remainders, columns that say nothing. */
#include "io.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

enum { WORDS = 8 };

/* A name of this library, and words of other programs for it, without case, blanks and underscores: those of PDAL, LAS
 * files, CloudCompare and laspy. */
static const struct {
    const char *name, *words[WORDS];
} synonyms[] = {
    {"x", {"x"}},
    {"y", {"y"}},
    {"z", {"z"}},
    {"nx", {"nx", "normalx"}},
    {"ny", {"ny", "normaly"}},
    {"nz", {"nz", "normalz"}},
    {"intensity", {"intensity"}},
    {"red", {"red"}},
    {"green", {"green"}},
    {"blue", {"blue"}},
    {"alpha", {"alpha"}},
    {"nir", {"nir", "infrared", "nearinfrared"}},
    {"gps_time", {"gpstime"}},
    {"time", {"time"}},
    {"timestamp", {"timestamp"}},
    {"return_number", {"returnnumber", "returnnum"}},
    {"number_of_returns", {"numberofreturns", "numreturns", "numberreturns"}},
    {"scan_direction_flag", {"scandirectionflag"}},
    {"edge_of_flight_line", {"edgeofflightline", "edgeofflightlineflag"}},
    {"classification", {"classification"}},
    {"synthetic", {"synthetic", "syntheticflag"}},
    {"key_point", {"keypoint", "keypointflag"}},
    {"withheld", {"withheld", "withheldflag"}},
    {"overlap", {"overlap", "overlapflag"}},
    {"scanner_channel", {"scannerchannel", "scanchannel"}},
    {"scan_angle", {"scanangle", "scananglerank"}},
    {"user_data", {"userdata"}},
    {"point_source_id", {"pointsourceid", "pointsource"}},
};

/* A name in lower case without separators, in `buffer`. CloudCompare writes scalar_ before names. */
static const char *fold(const char *name, char buffer[PCGPU_NAME_SIZE]) {
    static const char scalar[] = "scalar";
    const size_t prefix = sizeof scalar - 1;
    size_t n = 0;
    for (; *name; name++) {
        if (*name != '_' && *name != ' ' && *name != '-') {
            buffer[n++] = (char)tolower((unsigned char)*name);
        }
    }
    buffer[n] = '\0';
    return n > prefix && memcmp(buffer, scalar, prefix) == 0 ? buffer + prefix : buffer;
}

int pc_table_find(const pc_table *table, const char *name) {
    int k = 0;
    while (k < table->columns && strcmp(table->fields[k].name, name) != 0) {
        k++;
    }
    return k < table->columns ? k : -1;
}

/* Names column k, unless another one has the name. */
static void name_column(pc_table *table, int k, const char *name) {
    if (k >= 0 && pc_table_find(table, name) < 0) {
        snprintf(table->fields[k].name, PCGPU_NAME_SIZE, "%s", name);
    }
}

/* "Points:0" (VeloView) is x where no column is. */
static void rename_column(pc_table *table, int k) {
    char buffer[PCGPU_NAME_SIZE];
    const char *name = table->fields[k].name;
    const size_t n = strlen(name);
    const char axis[] = {n > 2 && name[n - 2] == ':' && name[n - 1] >= '0' && name[n - 1] <= '2'
                             ? (char)(name[n - 1] - '0' + 'x')
                             : '\0',
                         '\0'};
    if (axis[0]) {
        name_column(table, k, axis);
        return;
    }
    const char *word = fold(name, buffer);
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        for (int j = 0; j < WORDS && synonyms[i].words[j]; j++) {
            if (strcmp(word, synonyms[i].words[j]) == 0) {
                name_column(table, k, synonyms[i].name);
                return;
            }
        }
    }
}

void pc_table_rename(pc_table *table) {
    static const char *const letters[][3] = {{"r", "g", "b"}, {"R", "G", "B"}};
    for (int k = 0; k < table->columns; k++) {
        rename_column(table, k);
    }
    for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
        const int at[3] = {pc_table_find(table, letters[i][0]), pc_table_find(table, letters[i][1]),
                           pc_table_find(table, letters[i][2])};
        for (int k = 0; k < 3 && at[0] >= 0 && at[1] >= 0 && at[2] >= 0; k++) { /* one alone may be anything */
            name_column(table, at[k], pc_color_names[k]);
        }
    }
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

const pc_axis pc_no_axis = {INFINITY, -INFINITY, true, true};

/* Whether float32 may not hold a column. */
static bool is_wide(const pc_field *f) {
    return !pc_is_plain_float32(f) && f->mask == 0 && f->type != PCGPU_FLOAT16 &&
           (f->scale != 0.0 || pc_type_size(f->type) >= 4);
}

void pc_axis_add(const pc_table *table, int k, const unsigned char *data, pc_axis *axis) {
    const pc_field *field = &table->fields[k];
    const bool looks = k < 3 ? !pc_is_plain_float32(field) : is_wide(field) || field->unset != PC_NO_DEFAULT;
    double values[PC_TABLE_BLOCK];
    for (int64_t row = 0; row < table->rows && looks; row += PC_TABLE_BLOCK) {
        const int rows = table->rows - row < PC_TABLE_BLOCK ? (int)(table->rows - row) : PC_TABLE_BLOCK;
        pc_load_fields(data + table->start + field->offset + (size_t)row * field->stride, field, table->swap, rows,
                       values);
        for (int i = 0; i < rows; i++) {
            const double v = values[i], after = v - field->first;
            if (v - v == 0.0 && (v != 0.0 || k >= 3)) {
                axis->low = v < axis->low ? v : axis->low;
                axis->high = v > axis->high ? v : axis->high;
                axis->exact = axis->exact && fabs(v) <= (double)FLT_MAX && (double)(float)v == v;
                axis->exact_after =
                    axis->exact_after && fabs(after) <= (double)FLT_MAX && (double)(float)after == after;
            }
        }
    }
}

void pc_axis_join(const pc_axis *part, pc_axis *all) {
    all->low = part->low < all->low ? part->low : all->low;
    all->high = part->high > all->high ? part->high : all->high;
    all->exact = all->exact && part->exact;
    all->exact_after = all->exact_after && part->exact_after;
}

static double offset_of(const pc_axis *axis) {
    bool small = axis->low > -1024.0 && axis->high < 1024.0;
    /* halves, so that the sum of two huge bounds is finite; round() of a finite value is a whole number */
    double middle = round(axis->low / 2 + axis->high / 2);
    return axis->exact || small ? 0 : fabs(middle) <= (double)FLT_MAX ? (double)(float)middle : middle;
}

void pc_table_begin(pc_table *table, const unsigned char *record) {
    for (int k = 3; k < table->columns && table->rows > 0; k++) {
        pc_field *f = &table->fields[k];
        if (is_wide(f)) {
            pc_load_fields(record + f->offset, f, table->swap, 1, &f->first);
            f->first = isfinite(f->first) ? f->first : 0.0;
        }
    }
}

/* float32 leaves values as far apart as these fewer than so many steps between them. A column of times needs an offset
 * sooner, and also where all values are one. */
#define STEPS    2048.0
#define FEW_BITS 4.0

static bool needs_first(const pc_field *f, const pc_axis *axis) {
    const double largest = fmax(fabs(axis->low), fabs(axis->high)), range = axis->high - axis->low;
    return !axis->exact &&
           (pc_is_time(f->name) ? largest > FEW_BITS * range : range > 0.0 && largest * 0x1p-24 * STEPS > range);
}

/* Inserts the remainder of column k behind it. Seconds of less than two have it with an offset only: a float32 resolves
 * a tenth of a microsecond there. */
static bool add_remainder(const pc_file *file, pc_table *table, int k, const pc_axis *axis) {
    pc_field *f = &table->fields[k];
    const double range = axis->high - axis->low;
    char label[PCGPU_NAME_SIZE];
    snprintf(label, sizeof label, "%.20s_remainder", f->name);
    if (!(file->options->complete & PCGPU_EXACT_TIMES) || !is_wide(f) ||
        (f->first != 0.0 ? axis->exact_after : axis->exact || !pc_is_time(f->name) || range <= 2.0) ||
        table->columns == PCGPU_MAX_COLUMNS || pc_table_find(table, label) >= 0) {
        return false;
    }
    memmove(f + 2, f + 1, (size_t)(table->columns - k - 1) * sizeof *f);
    f[1] = f[0];
    f[1].remainder = true;
    snprintf(f[1].name, sizeof f[1].name, "%s", label);
    table->columns++;
    return true;
}

void pc_table_name_colors(pc_table *table, const unsigned char *data) {
    double values[PC_TABLE_BLOCK];
    bool colors = true, large = false;
    for (int k = 3; k < 6; k++) {
        const pc_field *f = &table->fields[k];
        for (int64_t row = 0; row < table->rows && colors; row += PC_TABLE_BLOCK) {
            const int rows = table->rows - row < PC_TABLE_BLOCK ? (int)(table->rows - row) : PC_TABLE_BLOCK;
            pc_load_fields(data + f->offset + (size_t)row * f->stride, f, false, rows, values);
            for (int i = 0; i < rows; i++) {
                colors = colors && values[i] >= 0.0 && values[i] <= 255.0 && values[i] == trunc(values[i]);
                large = large || values[i] > 1.0;
            }
        }
    }
    for (int k = 3; k < 6 && colors && large; k++) {
        snprintf(table->fields[k].name, PCGPU_NAME_SIZE, "%s", pc_color_names[k - 3]);
    }
}

/* Whether a column says more than its absence. */
static bool is_set(const pc_field *f, const pc_axis *axis) {
    return axis->low < f->unset || axis->high > f->unset;
}

void pc_table_settle(const pc_file *file, pc_table *table, const pc_axis axes[PCGPU_MAX_COLUMNS], double offset[3]) {
    int k = 0, remainders = 0;
    for (const pc_axis *axis = axes, *end = axes + table->columns; axis < end; axis++, k++) {
        pc_field *f = &table->fields[k];
        if (k < 3) {
            offset[k] = offset_of(axis);
        } else if (f->unset != PC_NO_DEFAULT && !(file->options->complete & PCGPU_ALL_COLUMNS && is_set(f, axis))) {
            const size_t used = strlen(table->left_out);
            if (is_set(f, axis)) {
                snprintf(table->left_out + used, sizeof table->left_out - used, "%s%s", used ? ", " : "", f->name);
            }
            memmove(f, f + 1, (size_t)(table->columns - k-- - 1) * sizeof *f);
            table->columns--;
        } else {
            f->first = needs_first(f, axis) ? f->first : 0.0;
            if (remainders < PC_MOST_REMAINDERS && add_remainder(file, table, k, axis)) {
                remainders++;
                k++;
            }
        }
    }
}
