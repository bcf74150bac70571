/* From a cloud to the columns of a file: types and packed records. */
#include "io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool pc_has_offset(const pcgpu_cloud *cloud) {
    return cloud->offset[0] != 0 || cloud->offset[1] != 0 || cloud->offset[2] != 0;
}

/* Least and largest value of an integer type; false for the others. */
static bool integer_range(int type, double *low, double *high) {
    static const double ranges[][2] = {
        [PCGPU_INT8] = {-128, 127},
        [PCGPU_UINT8] = {0, 255},
        [PCGPU_INT16] = {-32768, 32767},
        [PCGPU_UINT16] = {0, 65535},
        [PCGPU_INT32] = {-2147483648.0, 2147483647.0},
        [PCGPU_UINT32] = {0, 4294967295.0},
    };
    if (type < PCGPU_INT8 || type > PCGPU_UINT32) {
        return false;
    }
    *low = ranges[type][0];
    *high = ranges[type][1];
    return true;
}

static bool column_fits(const pcgpu_cloud *cloud, int column, double low, double high) {
    const float *p = cloud->data + column;
    for (int64_t i = 0; i < cloud->rows; i++, p += cloud->columns) {
        const double v = cloud->offset[column] + (double)*p;
        if (!(v >= low && v <= high) || v != trunc(v)) {
            return false;
        }
    }
    return true;
}

void pc_output_types(const pcgpu_cloud *cloud, uint8_t types[PCGPU_MAX_COLUMNS]) {
    bool wide = pc_has_offset(cloud);
    for (int k = 0; k < cloud->columns; k++) {
        double low, high;
        if (k < 3) {
            types[k] = wide ? PCGPU_FLOAT64 : PCGPU_FLOAT32;
        } else if (pcgpu_column_is_remainder(cloud, k)) {
            types[k] = PCGPU_REMAINDER;
        } else if (integer_range(cloud->types[k], &low, &high) && column_fits(cloud, k, low, high)) {
            types[k] = cloud->types[k];
        } else {
            types[k] =
                cloud->offset[k] != 0.0 || pcgpu_column_is_remainder(cloud, k + 1) ? PCGPU_FLOAT64 : PCGPU_FLOAT32;
        }
    }
}

int pc_color_column(const pcgpu_cloud *cloud, const uint8_t *types) {
    const int first = pcgpu_cloud_column(cloud, pc_color_names[0]);
    bool good = first >= 0 && first + 3 <= cloud->columns;
    for (int k = 0; good && k < 3; k++) {
        good = types[first + k] == PCGPU_UINT8 && strcmp(cloud->names[first + k], pc_color_names[k]) == 0;
    }
    return good ? first : -1;
}

void pc_output_name(const pcgpu_cloud *cloud, int column, char out[PCGPU_NAME_SIZE]) {
    size_t i = 0;
    for (; i < PCGPU_NAME_SIZE - 1 && cloud->names[column][i]; i++) {
        unsigned char c = (unsigned char)cloud->names[column][i];
        out[i] = c > 0x20 && c != 0x7f ? (char)c : '_';
    }
    out[i] = '\0';
    if (i == 0) {
        snprintf(out, PCGPU_NAME_SIZE, "c%d", column);
    }
}

/* Stores one value; integers are known to fit. */
static unsigned char *store(unsigned char *out, int type, double v) {
    size_t size = pc_type_size(type);
    if (type == PCGPU_FLOAT64) {
        memcpy(out, &v, size);
    } else {
        int64_t whole = (int64_t)v; /* two's complement: the low bytes are those of the narrower type */
        memcpy(out, &whole, size);
    }
    return out + size;
}

/* The values of `parts` columns from `values` on, each from 0 to 255, as PCL packs them: blue is the lowest byte. */
static unsigned char *store_color(unsigned char *out, const float *values, int parts) {
    const uint32_t alpha = parts == 4 ? (uint32_t)values[3] : 0;
    const uint32_t packed = alpha << 24 | (uint32_t)values[0] << 16 | (uint32_t)values[1] << 8 | (uint32_t)values[2];
    memcpy(out, &packed, sizeof packed);
    return out + sizeof packed;
}

static unsigned char *store_row(unsigned char *out, const pcgpu_cloud *cloud, int64_t row, const uint8_t *types) {
    const float *values = cloud->data + (size_t)row * (size_t)cloud->columns;
    for (int k = 0; k < cloud->columns; k++) {
        if (types[k] == PCGPU_FLOAT32) {
            memcpy(out, values + k, sizeof(float)); /* bits, not a value: see copy_column */
            out += sizeof(float);
        } else if (types[k] == PC_OUTPUT_RGB || types[k] == PC_OUTPUT_RGBA) {
            const int parts = types[k] == PC_OUTPUT_RGBA ? 4 : 3;
            out = store_color(out, values + k, parts);
            k += parts - 1;
        } else if (types[k] != PCGPU_REMAINDER) {
            out = store(out, types[k], pc_output_value(cloud, row, k));
        }
    }
    return out;
}

pcgpu_status pc_output_rows(const pc_file *file, const pcgpu_cloud *cloud, const uint8_t types[PCGPU_MAX_COLUMNS]) {
    bool same = true;
    for (int k = 0; k < cloud->columns; k++) {
        same = same && types[k] == PCGPU_FLOAT32;
    }
    if (same) {
        return pc_write_bytes(file, cloud->data, (size_t)cloud->rows * (size_t)cloud->columns * sizeof(float));
    }
    unsigned char block[1 << 13];
    unsigned char *end = block;
    for (int64_t i = 0; i < cloud->rows; i++) {
        end = store_row(end, cloud, i, types);
        if (block + sizeof block - end < PCGPU_MAX_COLUMNS * 8 || i + 1 == cloud->rows) {
            PC_TRY(pc_write_bytes(file, block, (size_t)(end - block)));
            end = block;
        }
    }
    return PCGPU_OK;
}

/* One value as text that reads back as the same value. */
static char *print_value(char *out, int type, const pcgpu_cloud *cloud, int64_t row, int k) {
    const double v = pc_output_value(cloud, row, k);
    const float *stored = cloud->data + (size_t)row * (size_t)cloud->columns + (size_t)k;
    return out + (type == PCGPU_FLOAT32 ? pc_format_number(out, (double)(float)v, true)
                  : type == PCGPU_FLOAT64 && !pcgpu_column_is_remainder(cloud, k + 1)
                      ? pc_format_offset(out, cloud->offset[k], *stored)
                  : type == PCGPU_FLOAT64 ? pc_format_number(out, v, false)
                                          : snprintf(out, PC_NUMBER_SIZE, "%.0f", v));
}

pcgpu_status pc_output_text(const pc_file *file, const pcgpu_cloud *cloud, const uint8_t types[PCGPU_MAX_COLUMNS],
                            char separator) {
    for (int64_t i = 0; i < cloud->rows && !ferror(file->stream); i++) {
        char line[PCGPU_MAX_COLUMNS * (PC_NUMBER_SIZE + 1)];
        char *end = line;
        for (int k = 0; k < cloud->columns; k++) {
            if (types[k] != PCGPU_REMAINDER) {
                end = print_value(end, types[k], cloud, i, k);
                *end++ = separator;
            }
        }
        end[-1] = '\n';
        fwrite(line, 1, (size_t)(end - line), file->stream);
    }
    return pc_write_check(file);
}
