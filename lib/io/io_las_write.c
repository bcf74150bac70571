/* .las, writing: version 1.2, point format 0 to 3 by the columns. Columns that a format does not have, or whose values do not
 * fit there, become extra bytes with their names, which readers of LAS 1.4 know in older versions, too.
 *
 * Coordinates are whole multiples of a power of ten: a micrometre up to 2 km from the offset, coarser beyond. */
#include "io_las.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 227, VLR = 54, EXTRA = 192, MOST_COLUMNS = PCGPU_MAX_COLUMNS - 10 /* those of the format */ };

/* Where a column goes. */
typedef struct place {
    uint8_t type;  /* pcgpu_type */
    size_t offset; /* in a record */
    bool extra;
} place;

typedef struct las_output {
    pcgpu_context *context;
    const pcgpu_cloud *cloud;
    FILE *stream;
    const char *name;
    int format, extras, returns; /* returns: the column of return numbers, or -1 */
    size_t stride;
    place places[PCGPU_MAX_COLUMNS];
    double shift[3];             /* from the offset of the cloud to that of the file, whole metres */
    double scale[3], per[3];     /* a coordinate is a whole number x scale; per = 1 / scale where that is a whole number */
    double low[3], high[3];
    uint64_t points, by_return[5];
} las_output;

static void put(unsigned char *out, size_t at, size_t size, uint64_t value) {
    memcpy(out + at, &value, size);
}

static void put_real(unsigned char *out, size_t at, double value) {
    memcpy(out + at, &value, sizeof value);
}

static const float *row_of(const las_output *o, int64_t i) {
    return o->cloud->data + i * o->cloud->columns;
}

static bool is_finite_row(const float *p) {
    return isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
}

/* Whether all values are whole numbers from 0 to `most`. */
static bool fits(const las_output *o, int column, double most) {
    for (int64_t i = 0; i < o->cloud->rows; i++) {
        const double v = (double)row_of(o, i)[column];
        if (!(v >= 0.0 && v <= most) || v != trunc(v)) {
            return false;
        }
    }
    return true;
}

/* The column of this name whose values fit, or -1. */
static int column_of(const las_output *o, const char *name, double most) {
    const int k = pcgpu_cloud_column(o->cloud, name);
    return k >= 3 && (most <= 0.0 || fits(o, k, most)) ? k : -1;
}

static void place_at(las_output *o, int column, pcgpu_type type, size_t offset) {
    if (column >= 0) {
        o->places[column] = (place){.type = (uint8_t)type, .offset = offset};
    }
}

/* Chooses the format, and where each column goes. */
static void place_columns(las_output *o) {
    const int red = column_of(o, "red", 65535), green = column_of(o, "green", 65535), blue = column_of(o, "blue", 65535);
    const int time = column_of(o, "gps_time", 0.0), returns = column_of(o, "return_number", 7);
    const bool colour = red >= 0 && green >= 0 && blue >= 0;
    uint8_t types[PCGPU_MAX_COLUMNS];
    pc_output_types(o->cloud, types);
    for (int k = 3; k < o->cloud->columns; k++) {
        o->places[k] = (place){.type = types[k], .extra = true};
    }
    o->format = (time >= 0 ? 1 : 0) + (colour ? 2 : 0);
    o->stride = 20 + (time >= 0 ? 8 : 0) + (colour ? 6 : 0);
    o->returns = returns;
    place_at(o, column_of(o, "intensity", 65535), PCGPU_UINT16, 12);
    place_at(o, returns, PCGPU_UINT8, 14);
    place_at(o, column_of(o, "classification", 31), PCGPU_UINT8, 15);
    place_at(o, time, PCGPU_FLOAT64, 20);
    for (int k = 0; k < 3 && colour; k++) {
        place_at(o, k == 0 ? red : k == 1 ? green : blue, PCGPU_UINT16, o->stride - 6 + 2 * (size_t)k);
    }
    for (int k = 3; k < o->cloud->columns; k++) {
        if (o->places[k].extra) {
            o->places[k].offset = o->stride;
            o->stride += pc_type_size(types[k]);
            o->extras++;
        }
    }
}

enum { REACH = 2147 }; /* metres, which micrometres in 32 bits reach from the offset */

/* An offset near the middle, where that of the cloud is too far, and the power of ten that lets the coordinates fit into 32
 * bits. */
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
        for (int k = 0; k < 3 && is_finite_row(p); k++) {
            low[k] = any ? fmin(low[k], (double)p[k]) : (double)p[k];
            high[k] = any ? fmax(high[k], (double)p[k]) : (double)p[k];
        }
        any = any || is_finite_row(p);
    }
    for (int k = 0; k < 3; k++) {
        choose_scale(o, k, any ? low[k] : 0.0, any ? high[k] : 0.0);
    }
    for (int64_t i = 0; i < o->cloud->rows; i++) {
        const float *p = row_of(o, i);
        if (!is_finite_row(p)) {
            continue;
        }
        for (int k = 0; k < 3; k++) {
            const double v = whole(o, p, k) * o->scale[k] + (o->cloud->offset[k] + o->shift[k]);
            o->low[k] = o->points == 0 || v < o->low[k] ? v : o->low[k];
            o->high[k] = o->points == 0 || v > o->high[k] ? v : o->high[k];
        }
        const int number = o->returns >= 0 ? (int)p[o->returns] : 1;
        o->by_return[number >= 1 && number <= 5 ? number - 1 : 0]++;
        o->points++;
    }
}

static pcgpu_status put_header(las_output *o) {
    unsigned char out[HEADER] = "LASF";
    out[24] = 1;
    out[25] = 2;
    memcpy(out + 26, "OTHER", 5);
    memcpy(out + 58, "pcgpu", 5);
    const size_t records = o->extras > 0 ? VLR + (size_t)o->extras * EXTRA : 0;
    put(out, 94, 2, HEADER);
    put(out, 96, 4, HEADER + records);
    put(out, 100, 4, o->extras > 0);
    out[104] = (unsigned char)o->format;
    put(out, 105, 2, o->stride);
    put(out, 107, 4, o->points);
    for (size_t i = 0; i < 5; i++) {
        put(out, 111 + 4 * i, 4, o->by_return[i]);
    }
    for (size_t k = 0; k < 3; k++) {
        put_real(out, 131 + 8 * k, o->scale[k]);
        put_real(out, 155 + 8 * k, o->cloud->offset[k] + o->shift[k]);
        put_real(out, 179 + 16 * k, o->high[k]);
        put_real(out, 187 + 16 * k, o->low[k]);
    }
    return pc_write_bytes(o->context, o->stream, o->name, out, HEADER);
}

static pcgpu_status put_extra(las_output *o) {
    static const uint8_t kinds[] = {[PCGPU_FLOAT32] = 9, [PCGPU_INT8] = 2,  [PCGPU_UINT8] = 1, [PCGPU_INT16] = 4,
                                    [PCGPU_UINT16] = 3,  [PCGPU_INT32] = 6, [PCGPU_UINT32] = 5};
    unsigned char head[VLR] = {0};
    memcpy(head + 2, "LASF_Spec", 9);
    put(head, 18, 2, 4);
    put(head, 20, 2, (uint64_t)o->extras * EXTRA);
    memcpy(head + 22, "Extra Bytes", 11);
    pcgpu_status status = pc_write_bytes(o->context, o->stream, o->name, head, VLR);
    for (int k = 3; k < o->cloud->columns && status == PCGPU_OK; k++) {
        if (o->places[k].extra) {
            unsigned char out[EXTRA] = {0};
            out[2] = kinds[o->places[k].type];
            const char *label = o->cloud->names[k];
            const bool taken = pc_las_has(label, strlen(label));
            snprintf((char *)out + 4, 32, "%.*s%s", taken ? 25 : 31, label, taken ? PC_LAS_VALUE : "");
            status = pc_write_bytes(o->context, o->stream, o->name, out, EXTRA);
        }
    }
    return status;
}

static void put_value(unsigned char *out, int type, float value) {
    const double wide = (double)value;
    const int64_t integer = type == PCGPU_FLOAT32 || type == PCGPU_FLOAT64 ? 0 : (int64_t)wide;
    memcpy(out, type == PCGPU_FLOAT32 ? (const void *)&value : type == PCGPU_FLOAT64 ? (const void *)&wide : &integer,
           pc_type_size(type));
}

static pcgpu_status put_points(las_output *o) {
    unsigned char out[34 + PCGPU_MAX_COLUMNS * 8];
    pcgpu_status status = PCGPU_OK;
    for (int64_t i = 0; i < o->cloud->rows && status == PCGPU_OK; i++) {
        const float *p = row_of(o, i);
        if (!is_finite_row(p)) {
            continue;
        }
        memset(out, 0, o->stride);
        for (int k = 0; k < 3; k++) {
            const int32_t v = whole(o, p, k);
            memcpy(out + 4 * k, &v, sizeof v);
        }
        out[14] = 1;
        for (int k = 3; k < o->cloud->columns; k++) {
            put_value(out + o->places[k].offset, o->places[k].type, p[k]);
        }
        out[14] = (unsigned char)(out[14] | (out[14] > 1 ? out[14] : 1) << 3); /* at least as many returns as this one */
        status = pc_write_bytes(o->context, o->stream, o->name, out, o->stride);
    }
    return status;
}

static void warn(const las_output *o) {
    const double coarse = fmax(o->scale[0], fmax(o->scale[1], o->scale[2]));
    if (o->points < (uint64_t)o->cloud->rows) {
        pc_log(o->context, PCGPU_LOG_WARNING,
               "%s: %lld points without finite coordinates were left out, since LAS cannot hold them; write .ply to keep them",
               o->name, (long long)(o->cloud->rows - (int64_t)o->points));
    }
    if (coarse > 1e-3) {
        pc_log(o->context, PCGPU_LOG_WARNING,
               "%s: the coordinates span too much for LAS and were rounded to multiples of %g m; remove far outliers", o->name, coarse);
    }
}

pcgpu_status pc_las_write(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_cloud *cloud) {
    las_output o = {.context = context, .cloud = cloud, .stream = stream, .name = name};
    if (cloud->columns > MOST_COLUMNS) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%s: LAS takes at most %d columns and the cloud has %d; write .ply", name,
                       MOST_COLUMNS, cloud->columns);
    }
    if (cloud->rows > UINT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%s: LAS 1.2 holds at most %u points and the cloud has %lld; write .ply", name,
                       (unsigned)UINT32_MAX, (long long)cloud->rows);
    }
    place_columns(&o);
    measure(&o);
    pcgpu_status status = put_header(&o);
    if (status == PCGPU_OK && o.extras > 0) {
        status = put_extra(&o);
    }
    if (status == PCGPU_OK) {
        status = put_points(&o);
    }
    if (status == PCGPU_OK) {
        warn(&o);
    }
    return status;
}
