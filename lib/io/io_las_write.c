/* .las, writing: version 1.2, point format 0 to 3 by the columns, or version 1.4, point format 6 to 8, where values or
 * the coordinate system need it. Columns that a format does not have, or whose values do not fit there, become extra
 * bytes with their names, which readers of LAS 1.4 know in older versions, too.
 *
 * Coordinates are whole multiples of a power of ten: a micrometre up to 2 km from the offset, coarser beyond. */
#include "io_las.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RETURNS = 15, MOST_COLUMNS = PCGPU_MAX_COLUMNS - 10 /* those of the format */ };

/* Where a column goes. */
typedef struct place {
    uint8_t type;      /* pcgpu_type, or PCGPU_REMAINDER: nowhere */
    uint8_t low, bits; /* of a dimension of bits; bits 0: a value of the type */
    bool extra;
    uint8_t parts; /* of an extra dimension, at its first column; 0 at the others */
    size_t offset; /* in a record */
} place;

typedef struct las_output {
    const pc_file *file;
    const pcgpu_cloud *cloud;
    int format, extras;
    int returns, count;      /* the columns return_number and number_of_returns, or -1 */
    bool modern;             /* version 1.4 */
    uint32_t before, behind; /* records beside the points */
    uint64_t before_size, behind_size;
    size_t stride;
    place places[PCGPU_MAX_COLUMNS];
    double shift[3];         /* from the offset of the cloud to that of the file, whole metres */
    double scale[3], per[3]; /* a coordinate is a whole number x scale; per = 1 / scale where that is a whole number */
    double low[3], high[3];
    uint64_t points, by_return[RETURNS];
} las_output;

static void put_real(unsigned char *out, size_t at, double value) {
    memcpy(out + at, &value, sizeof value);
}

static const float *row_of(const las_output *o, int64_t i) {
    return o->cloud->data + i * o->cloud->columns;
}

/* Whether all values are multiples of a step from `low` to `most` steps. */
static bool fits(const las_output *o, int column, double low, double most, double step) {
    for (int64_t i = 0; i < o->cloud->rows; i++) {
        const double v = pc_output_value(o->cloud, i, column) / step, whole = nearbyint(v);
        if (!(v >= low && v <= most) || fabs(v - whole) > (step == 1.0 ? 0.0 : 0.01)) {
            return false;
        }
    }
    return true;
}

static bool is_angle(int d) {
    return strcmp(pc_las_dimensions[d].name, "scan_angle") == 0;
}

/* Whether a column fits a dimension of formats 0 to 5, or from 6 on. */
static bool fits_dimension(const las_output *o, int column, int d, bool modern) {
    const int bits = pc_las_dimensions[d].in[modern].bits;
    if (bits > 0 && is_angle(d)) {
        return modern ? fits(o, column, -30000, 30000, PC_LAS_ANGLE) : fits(o, column, -128, 127, 1.0);
    }
    return bits > 0 && fits(o, column, 0.0, (double)((1 << bits) - 1), 1.0);
}

/* The column of this name after x y z, or -1. */
static int column_of(const las_output *o, const char *name) {
    const int k = pcgpu_cloud_column(o->cloud, name);
    return k >= 3 ? k : -1;
}

static int fitting(const las_output *o, const char *name) {
    const int k = column_of(o, name);
    return k >= 0 && fits(o, k, 0.0, 65535.0, 1.0) ? k : -1;
}

/* Whether something is held by version 1.4 alone. */
static bool needs_modern(const las_output *o) {
    bool needs = o->cloud->rows > UINT32_MAX || o->behind > 0 || pc_las_has_projection(o->cloud->header, true);
    for (int d = 0; d < PC_LAS_DIMENSIONS && !needs; d++) {
        const int k = column_of(o, pc_las_dimensions[d].name);
        needs = k >= 0 && !fits_dimension(o, k, d, false) && fits_dimension(o, k, d, true);
    }
    return needs;
}

static void place_at(las_output *o, int column, pcgpu_type type, size_t offset) {
    if (column >= 0) {
        o->places[column] = (place){.type = (uint8_t)type, .offset = offset};
    }
}

/* The columns from k on that are one dimension: name[0], name[1], ..., at most three. */
static int parts_from(const las_output *o, int k) {
    const size_t stem = strcspn(o->cloud->names[k], "[");
    int parts = 0;
    for (; parts < 3 && k + parts < o->cloud->columns && o->places[k + parts].extra; parts++) {
        char label[PCGPU_NAME_SIZE + 8];
        snprintf(label, sizeof label, "%.*s[%d]", (int)stem, o->cloud->names[k], parts);
        if (strcmp(o->cloud->names[k + parts], label) != 0 || o->places[k + parts].type != o->places[k].type) {
            break;
        }
    }
    return parts > 1 ? parts : 1;
}

static void place_dimensions(las_output *o) {
    for (int d = 0; d < PC_LAS_DIMENSIONS; d++) {
        const int k = column_of(o, pc_las_dimensions[d].name);
        if (k >= 0 && fits_dimension(o, k, d, o->modern)) {
            o->places[k] = (place){.type = PCGPU_INT16,
                                   .offset = pc_las_dimensions[d].in[o->modern].at,
                                   .low = pc_las_dimensions[d].in[o->modern].low,
                                   .bits = pc_las_dimensions[d].in[o->modern].bits};
        }
    }
    o->returns = column_of(o, "return_number");
    o->returns = o->returns >= 0 && !o->places[o->returns].extra ? o->returns : -1;
    o->count = column_of(o, "number_of_returns");
    o->count = o->count >= 0 && !o->places[o->count].extra ? o->count : -1;
}

/* Chooses the format, and where each column goes. */
static void place_columns(las_output *o) {
    const int colours[3] = {fitting(o, "red"), fitting(o, "green"), fitting(o, "blue")}, infrared = fitting(o, "nir");
    const int time = column_of(o, "gps_time");
    const bool colour = colours[0] >= 0 && colours[1] >= 0 && colours[2] >= 0;
    uint8_t types[PCGPU_MAX_COLUMNS];
    pc_output_types(o->cloud, types);
    for (int k = 3; k < o->cloud->columns; k++) {
        o->places[k] = (place){.type = types[k], .extra = types[k] != PCGPU_REMAINDER};
    }
    o->modern = needs_modern(o);
    o->format = o->modern ? 6 + (colour ? 1 + (infrared >= 0) : 0) : (time >= 0 ? 1 : 0) + (colour ? 2 : 0);
    const pc_las_layout *layout = &pc_las_layouts[o->format];
    o->stride = layout->size;
    place_dimensions(o);
    place_at(o, time, PCGPU_FLOAT64, layout->time);
    for (int k = 0; k < 3 && colour; k++) {
        place_at(o, colours[k], PCGPU_UINT16, (size_t)layout->colour + 2 * (size_t)k);
    }
    place_at(o, layout->infrared ? infrared : -1, PCGPU_UINT16, layout->infrared);
    for (int k = 3; k < o->cloud->columns; k++) {
        const int parts = o->places[k].extra ? parts_from(o, k) : 0;
        o->extras += parts > 0;
        for (int i = 0; i < parts; i++) {
            o->places[k + i].parts = (uint8_t)(i == 0 ? parts : 0);
            o->places[k + i].offset = o->stride;
            o->stride += pc_type_size(types[k]);
        }
        k += parts > 0 ? parts - 1 : 0;
    }
}

enum { REACH = 2147 }; /* metres, which micrometres in 32 bits reach from the offset */

/* An offset near the middle, where that of the cloud is too far, and the power of ten that lets the coordinates fit
 * into 32 bits. */
static void choose_scale(las_output *o, int axis, double low, double high) {
    const bool near = low >= -REACH && high <= REACH;
    int power = 6;
    o->shift[axis] = near ? 0.0 : round(low / 2 + high / 2);
    const double largest = fmax(fabs(low - o->shift[axis]), fabs(high - o->shift[axis]));
    o->per[axis] = 1e6;
    o->scale[axis] = 1e-6;
    while (largest / o->scale[axis] > 2147483600.0) {
        power--;
        o->scale[axis] = power >= 0 ? 1.0 / pow(10, power) : pow(10, -power);
        o->per[axis] = power >= 0 ? pow(10, power) : 1.0 / o->scale[axis];
    }
}

static int32_t whole(const las_output *o, const float *p, int axis) {
    return (int32_t)llround(((double)p[axis] - o->shift[axis]) * o->per[axis]);
}

/* Scales, bounds and counts, which stand before the points. */
static void measure(las_output *o) {
    double low[3], high[3];
    bool any = false;
    for (int64_t i = 0; i < o->cloud->rows; i++) {
        const float *p = row_of(o, i);
        for (int k = 0; k < 3 && pc_is_finite3(p[0], p[1], p[2]); k++) {
            low[k] = any ? fmin(low[k], (double)p[k]) : (double)p[k];
            high[k] = any ? fmax(high[k], (double)p[k]) : (double)p[k];
        }
        any = any || pc_is_finite3(p[0], p[1], p[2]);
    }
    for (int k = 0; k < 3; k++) {
        choose_scale(o, k, any ? low[k] : 0.0, any ? high[k] : 0.0);
    }
    for (int64_t i = 0; i < o->cloud->rows; i++) {
        const float *p = row_of(o, i);
        if (!pc_is_finite3(p[0], p[1], p[2])) {
            continue;
        }
        for (int k = 0; k < 3; k++) {
            const double v = whole(o, p, k) * o->scale[k] + (o->cloud->offset[k] + o->shift[k]);
            o->low[k] = o->points == 0 || v < o->low[k] ? v : o->low[k];
            o->high[k] = o->points == 0 || v > o->high[k] ? v : o->high[k];
        }
        const int number = o->returns >= 0 ? (int)p[o->returns] : 1;
        o->by_return[number >= 1 && number <= (o->modern ? RETURNS : 5) ? number - 1 : 0]++;
        o->points++;
    }
}

static pcgpu_status put_header(las_output *o) {
    unsigned char out[PC_LAS_HEADER_14] = "LASF";
    const size_t size = o->modern ? PC_LAS_HEADER_14 : PC_LAS_HEADER;
    pc_las_put_begin(o->cloud->header, o->modern, out + 4);
    out[24] = 1;
    out[25] = o->modern ? 4 : 2;
    memcpy(out + 26, "OTHER", 5);
    memcpy(out + 58, "pcgpu", 5);
    const size_t start =
        size + (size_t)o->before_size + (o->extras > 0 ? PC_LAS_VLR + (size_t)o->extras * PC_LAS_EXTRA : 0);
    pc_put_number(out, 94, 2, size);
    pc_put_number(out, 96, 4, start);
    pc_put_number(out, 100, 4, o->before + (o->extras > 0));
    out[104] = (unsigned char)o->format;
    pc_put_number(out, 105, 2, o->stride);
    pc_put_number(out, 107, 4, o->modern ? 0 : o->points);
    for (size_t i = 0; i < 5 && !o->modern; i++) {
        pc_put_number(out, 111 + 4 * i, 4, o->by_return[i]);
    }
    for (size_t k = 0; k < 3; k++) {
        put_real(out, 131 + 8 * k, o->scale[k]);
        put_real(out, 155 + 8 * k, o->cloud->offset[k] + o->shift[k]);
        put_real(out, 179 + 16 * k, o->high[k]);
        put_real(out, 187 + 16 * k, o->low[k]);
    }
    if (o->modern) {
        pc_put_number(out, 235, 8, o->behind > 0 ? start + o->points * o->stride : 0);
        pc_put_number(out, 243, 4, o->behind);
        pc_put_number(out, 247, 8, o->points);
        memcpy(out + 255, o->by_return, sizeof o->by_return);
    }
    return pc_write_bytes(o->file, out, size);
}

static pcgpu_status put_extra(las_output *o) {
    static const uint8_t kinds[] = {[PCGPU_FLOAT32] = 9, [PCGPU_INT8] = 2,  [PCGPU_UINT8] = 1,  [PCGPU_INT16] = 4,
                                    [PCGPU_UINT16] = 3,  [PCGPU_INT32] = 6, [PCGPU_UINT32] = 5, [PCGPU_FLOAT64] = 10};
    unsigned char head[PC_LAS_VLR] = {0};
    memcpy(head + 2, "LASF_Spec", 9);
    pc_put_number(head, 18, 2, 4);
    pc_put_number(head, 20, 2, (uint64_t)o->extras * PC_LAS_EXTRA);
    memcpy(head + 22, "Extra Bytes", 11);
    PC_TRY(pc_write_bytes(o->file, head, PC_LAS_VLR));
    for (int k = 3; k < o->cloud->columns; k++) {
        const int parts = o->places[k].parts;
        if (parts > 0) {
            unsigned char out[PC_LAS_EXTRA] = {0};
            out[2] = (unsigned char)(kinds[o->places[k].type] + 10 * (parts - 1));
            char label[PCGPU_NAME_SIZE];
            snprintf(label, sizeof label, "%.*s", parts > 1 ? (int)strcspn(o->cloud->names[k], "[") : PCGPU_NAME_SIZE,
                     o->cloud->names[k]);
            const bool taken = pc_las_has(label, strlen(label));
            snprintf((char *)out + 4, 32, "%.*s%s", taken ? 25 : 31, label, taken ? PC_LAS_VALUE : "");
            PC_TRY(pc_write_bytes(o->file, out, PC_LAS_EXTRA));
        }
    }
    return PCGPU_OK;
}

static void put_value(unsigned char *record, const place *at, double value) {
    unsigned char *out = record + at->offset;
    const float single = (float)value;
    const int64_t integer = at->type == PCGPU_FLOAT32 || at->type == PCGPU_FLOAT64 ? 0 : (int64_t)value;
    if (at->bits == 16) {
        memcpy(out, &integer, 2);
    } else if (at->bits > 0) {
        *out = (unsigned char)(*out | (integer & ((1 << at->bits) - 1)) << at->low);
    } else {
        memcpy(out,
               at->type == PCGPU_FLOAT32   ? (const void *)&single
               : at->type == PCGPU_FLOAT64 ? (const void *)&value
                                           : &integer,
               pc_type_size(at->type));
    }
}

static pcgpu_status put_points(las_output *o) {
    unsigned char out[38 + PCGPU_MAX_COLUMNS * 8];
    const int bits = pc_las_dimensions[1].in[o->modern].bits; /* of return numbers */
    const int angle = column_of(o, "scan_angle");
    for (int64_t i = 0; i < o->cloud->rows; i++) {
        const float *p = row_of(o, i);
        if (!pc_is_finite3(p[0], p[1], p[2])) {
            continue;
        }
        memset(out, 0, o->stride);
        for (int k = 0; k < 3; k++) {
            const int32_t v = whole(o, p, k);
            memcpy(out + 4 * k, &v, sizeof v);
        }
        for (int k = 3; k < o->cloud->columns; k++) {
            const double v = pc_output_value(o->cloud, i, k);
            if (o->places[k].type == PCGPU_FLOAT32) {
                memcpy(out + o->places[k].offset, p + k, sizeof *p); /* bits: a NaN keeps its own */
            } else if (o->places[k].type != PCGPU_REMAINDER) {
                put_value(out, &o->places[k], k == angle && o->places[k].bits == 16 ? nearbyint(v / PC_LAS_ANGLE) : v);
            }
        }
        if (o->returns < 0) {
            out[14] |= 1;
        }
        if (o->count < 0) { /* at least as many returns as this one */
            const int number = out[14] & ((1 << bits) - 1);
            out[14] = (unsigned char)(out[14] | (number > 1 ? number : 1) << bits);
        }
        PC_TRY(pc_write_bytes(o->file, out, o->stride));
    }
    return PCGPU_OK;
}

static void warn(const las_output *o) {
    const double coarse = fmax(o->scale[0], fmax(o->scale[1], o->scale[2]));
    if (o->points < (uint64_t)o->cloud->rows) {
        pc_warn(
            o->file,
            "%lld points without finite coordinates were left out, since LAS cannot hold them; write .ply to keep them",
            (long long)(o->cloud->rows - (int64_t)o->points));
    }
    if (coarse > 1e-3) {
        pc_warn(o->file,
                "the coordinates span too much for LAS and were rounded to multiples of %g m; remove far outliers",
                coarse);
    }
}

pcgpu_status pc_las_write(const pc_file *file, const pcgpu_cloud *cloud) {
    las_output o = {.file = file, .cloud = cloud};
    if (cloud->columns > MOST_COLUMNS) {
        return pc_fail_file(file, PCGPU_ERROR_ARGUMENT, "LAS takes at most %d columns and the cloud has %d; write .ply",
                            MOST_COLUMNS, cloud->columns);
    }
    pc_las_put_records(NULL, cloud->header, false, &o.before, &o.before_size);
    pc_las_put_records(NULL, cloud->header, true, &o.behind, &o.behind_size);
    place_columns(&o);
    measure(&o);
    PC_TRY(put_header(&o));
    PC_TRY(pc_las_put_records(file, cloud->header, false, &o.before, &o.before_size));
    if (o.extras > 0) {
        PC_TRY(put_extra(&o));
    }
    PC_TRY(put_points(&o));
    PC_TRY(pc_las_put_records(file, cloud->header, true, &o.behind, &o.behind_size));
    warn(&o);
    return PCGPU_OK;
}
