/* From the columns of a file to a cloud: order, types, offset, rounding. */
#include "io.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = PC_TABLE_BLOCK };

/* Copies a name, cut to fit, with control characters and blanks replaced. */
static void copy_name(char out[PCGPU_NAME_SIZE], const char *field, size_t length) {
    size_t n = length < PCGPU_NAME_SIZE - 1 ? length : PCGPU_NAME_SIZE - 1;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)field[i];
        out[i] = c > 0x20 && c != 0x7f ? field[i] : '_';
    }
    out[n] = '\0';
}

pcgpu_status pc_table_add(const pc_file *file, pc_table *table, const char *field, size_t length, int type,
                          size_t offset) {
    if (table->columns == PCGPU_MAX_COLUMNS) {
        return pc_fail_format(file, "more than %d values a point; remove the ones not needed", PCGPU_MAX_COLUMNS);
    }
    pc_field *f = &table->fields[table->columns];
    char base[PCGPU_NAME_SIZE];
    copy_name(base, field, length);
    if (base[0] == '\0') {
        snprintf(base, sizeof base, "c%d", table->columns);
    }
    *f = (pc_field){.type = (uint8_t)type, .offset = offset, .unset = PC_NO_DEFAULT};
    memcpy(f->name, base, sizeof base);
    for (int i = 2; pc_table_find(table, f->name) >= 0; i++) {
        char suffix[16];
        int n = snprintf(suffix, sizeof suffix, "_%d", i);
        snprintf(f->name, sizeof f->name, "%.*s%s", PCGPU_NAME_SIZE - 1 - n, base, suffix);
    }
    table->columns++;
    return PCGPU_OK;
}

pcgpu_status pc_table_add_unnamed(const pc_file *file, pc_table *table, int columns, int type, size_t step,
                                  size_t stride) {
    pcgpu_cloud model;
    pcgpu_status status = pcgpu_cloud_create(file->context, 0, columns, &model);
    for (int k = 0; k < columns && status == PCGPU_OK; k++) {
        status = pc_table_add(file, table, model.names[k], strlen(model.names[k]), type, (size_t)k * step);
        table->fields[k].stride = stride;
    }
    pcgpu_cloud_free(&model);
    return status;
}

/* Whether a field is a packed colour; its parts are then `parts` bytes of it, the last first. */
static bool is_packed_color(const pc_table *table, const pc_field *f, int *parts) {
    const bool alpha = strcmp(f->name, "rgba") == 0;
    *parts = alpha ? 4 : 3;
    return (alpha || strcmp(f->name, "rgb") == 0) && pc_table_find(table, pc_color_names[0]) < 0 &&
           (f->type == PCGPU_FLOAT32 || f->type == PCGPU_UINT32 || f->type == PCGPU_INT32) && f->mask == 0 &&
           f->scale == 0 && table->columns + *parts - 1 <= PCGPU_MAX_COLUMNS;
}

void pc_table_split_color(pc_table *table) {
    static const size_t bytes[PC_COLORS] = {2, 1, 0, 3};
    for (int k = 0; k < table->columns; k++) {
        const pc_field packed = table->fields[k];
        int parts;
        if (is_packed_color(table, &packed, &parts)) {
            memmove(table->fields + k + parts, table->fields + k + 1,
                    (size_t)(table->columns - k - 1) * sizeof *table->fields);
            table->columns += parts - 1;
            for (int i = 0; i < parts; i++) {
                pc_field *f = &table->fields[k + i];
                *f = packed;
                snprintf(f->name, sizeof f->name, "%s", pc_color_names[i]);
                f->type = PCGPU_UINT8;
                f->offset += table->swap ? 3 - bytes[i] : bytes[i];
            }
        }
    }
}

pcgpu_status pc_table_order(const pc_file *file, pc_table *table) {
    pc_table_rename(table);
    for (int axis = 0; axis < 3; axis++) {
        const char wanted[2] = {(char)('x' + axis), '\0'};
        int k = axis;
        while (k < table->columns && strcmp(table->fields[k].name, wanted) != 0) {
            k++;
        }
        if (k >= table->columns) {
            char list[512] = "";
            size_t used = 0;
            for (int i = 0; i < table->columns && used < sizeof list - PCGPU_NAME_SIZE - 2; i++) {
                used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? " " : "", table->fields[i].name);
            }
            return pc_fail_format(file, "points have no '%s', only: %s; name the coordinates x y z", wanted,
                                  used ? list : "nothing");
        }
        pc_field field = table->fields[k];
        memmove(&table->fields[axis + 1], &table->fields[axis], (size_t)(k - axis) * sizeof field);
        table->fields[axis] = field;
    }
    return PCGPU_OK;
}

/* float32 bits are copied and never pass through arithmetic: packed colours may look like signalling NaN. */
static void copy_column(const pc_table *table, const pc_field *field, const unsigned char *data, int64_t row, int rows,
                        float *out, size_t columns) {
    const unsigned char *p = data + table->start + field->offset + (size_t)row * field->stride;
    for (int i = 0; i < rows; i++, p += field->stride, out += columns) {
        uint32_t bits;
        memcpy(&bits, p, sizeof bits);
        if (table->swap) {
            bits = __builtin_bswap32(bits);
        }
        memcpy(out, &bits, sizeof bits);
    }
}

/* Converts a block of a column that is not float32. */
static void round_column(const pc_table *table, const pc_field *field, const unsigned char *data, int64_t row, int rows,
                         double offset, float *out, size_t columns, pc_rounding *r) {
    double values[BLOCK];
    pc_load_fields(data + table->start + field->offset + (size_t)row * field->stride, field, table->swap, rows, values);
    for (int i = 0; i < rows; i++, out += columns) {
        const double v = values[i] - offset;
        float f = (float)v;
        if (field->remainder) {
            f = isfinite(f) ? (float)(v - (double)f) : 0.0f;
        }
        const double change = fabs((double)f - v);
        r->changed += (double)f != v && v == v;
        r->largest = change > r->largest && isfinite(f) ? change : r->largest; /* which nothing reads of a remainder */
        *out = f;
    }
}

bool pc_table_is_cloud(const pc_table *table) {
    for (int k = 0; k < table->columns; k++) {
        const pc_field *f = &table->fields[k];
        if (!pc_is_plain_float32(f) || f->offset != (size_t)k * 4 || f->stride != (size_t)table->columns * 4) {
            return false;
        }
    }
    return !table->swap;
}

static void take_memory(const pc_table *table, pc_bytes *bytes, pcgpu_cloud *cloud) {
    size_t size = (size_t)table->rows * (size_t)table->columns * sizeof(float);
    if (table->start > 0) {
        memmove(bytes->data, bytes->data + table->start, size);
    }
    void *smaller = bytes->size > size + size / 8 + 4096 ? realloc(bytes->data, size ? size : 1) : NULL;
    cloud->data = smaller ? smaller : (void *)bytes->data;
    *bytes = (pc_bytes){NULL, 0};
}

void pc_table_warn(const pc_file *file, const pc_table *table, int64_t rows, const pc_rounding *rounded) {
    double largest = fmax(rounded[0].largest, fmax(rounded[1].largest, rounded[2].largest));
    if (largest > 1e-3) {
        pc_warn(file, "the coordinates span too much for float32 and were rounded by up to %.3g m; remove far outliers",
                largest);
    }
    if (table->left_out[0]) {
        pc_warn(file, "left out: %s; write .las, .ply, .pcd or .csv to keep them", table->left_out);
    }
    for (int k = 3; k < table->columns; k++) {
        const pc_field *f = &table->fields[k];
        const bool whole =
            f->remainder || (k + 1 < table->columns && f[1].remainder) ||
            (f->scale != 0.0 && rounded[k].largest < 0.25 * fabs(f->scale)); /* the integer is found again */
        if (f->first != 0.0 && !(file->options->complete & PCGPU_EXACT_TIMES)) {
            pc_warn(file, "column '%s' has values that float32 cannot hold; its first one, %.17g, was subtracted",
                    f->name, f->first);
        } else if (f->first == 0.0 && rounded[k].changed > 0 && !whole) {
            pc_warn(file, "column '%s' is %s; %lld of %lld values were rounded to float32, by up to %.2g", f->name,
                    pc_type_name(f->type), (long long)rounded[k].changed, (long long)rows, rounded[k].largest);
        }
    }
}

void pc_table_convert(const pc_table *table, const unsigned char *data, const double offset[3], float *values,
                      pc_rounding *rounded) {
    size_t columns = (size_t)table->columns;
    for (int64_t row = 0; row < table->rows; row += BLOCK) {
        int rows = table->rows - row < BLOCK ? (int)(table->rows - row) : BLOCK;
        for (int k = 0; k < table->columns; k++) {
            const pc_field *f = &table->fields[k];
            float *out = values + (size_t)row * columns + k;
            if (pc_is_plain_float32(f)) {
                copy_column(table, f, data, row, rows, out, columns);
            } else {
                round_column(table, f, data, row, rows, k < 3 ? offset[k] : f->first, out, columns, &rounded[k]);
            }
        }
    }
}

static pcgpu_status convert(const pc_file *file, pc_table *table, const unsigned char *data, pcgpu_cloud *cloud) {
    pc_rounding rounded[PCGPU_MAX_COLUMNS] = {{0}};
    pc_axis axes[PCGPU_MAX_COLUMNS];
    pc_table_begin(table, data + table->start);
    for (int k = 0; k < table->columns; k++) {
        axes[k] = pc_no_axis;
        pc_axis_add(table, k, data, &axes[k]);
    }
    pc_table_settle(file, table, axes, cloud->offset);
    const size_t size = (size_t)table->rows * (size_t)table->columns * sizeof(float);
    cloud->data = malloc(size ? size : 1);
    if (!cloud->data) {
        return pc_fail_file_memory(file, size);
    }
    pc_table_convert(table, data, cloud->offset, cloud->data, rounded);
    pc_table_warn(file, table, table->rows, rounded);
    return PCGPU_OK;
}

void pc_table_describe(const pc_table *table, pcgpu_cloud *cloud) {
    cloud->rows = table->rows;
    cloud->columns = table->columns;
    for (int k = 0; k < table->columns; k++) {
        const pc_field *f = &table->fields[k];
        memcpy(cloud->names[k], f->name, sizeof f->name);
        cloud->offset[k] = k < 3 ? cloud->offset[k] : f->first;
        cloud->types[k] = f->remainder                                ? PCGPU_REMAINDER
                          : f->type == PCGPU_FLOAT16                  ? PCGPU_FLOAT32
                          : f->type >= PCGPU_INT64 || f->scale != 0.0 ? PCGPU_FLOAT64
                                                                      : f->type;
    }
}

pcgpu_status pc_table_to_cloud(const pc_file *file, pc_table *table, pc_bytes *bytes, pcgpu_cloud *cloud) {
    memset(cloud, 0, sizeof *cloud);
    PC_TRY(pc_table_order(file, table));
    if ((uint64_t)table->rows > SIZE_MAX / sizeof(float) / PCGPU_MAX_COLUMNS) {
        return pc_fail_file_memory(file, UINT64_MAX);
    }
    if (pc_table_is_cloud(table)) {
        take_memory(table, bytes, cloud);
    } else {
        PC_TRY(convert(file, table, bytes->data, cloud));
    }
    pc_table_describe(table, cloud);
    return PCGPU_OK;
}
