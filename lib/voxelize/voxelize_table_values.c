/* The values of the voxels of a file in pieces: sums or a record. */
#include "voxelize_table.h"

#include <stdlib.h>

pcgpu_status pc_table_fail_small(const pc_voxel_table *t) {
    return pc_fail(t->context, PCGPU_ERROR_MEMORY,
                   "%.4g GB of memory are not enough for pieces of this file; give more by --set memory",
                   (double)t->memory / 1e9);
}

/* ---- exact sums -------------------------------------------------------------------------------------------------- */

/* The highest digit has bits for what is above it. */
static void add_digit(pc_exact_sum *sum, int digit, int64_t value) {
    const int above = digit - (PC_SUM_DIGITS - 1);
    sum->digit[above > 0 ? PC_SUM_DIGITS - 1 : digit] += above > 0 ? value * ((int64_t)1 << 32 * above) : value;
}

/* Adds a finite float64 that is a sum of float32 values, so that its bits lie within those of the fixed point. */
static void add_double(pc_exact_sum *sum, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const int exponent = (int)(bits >> 52 & 0x7ff);
    uint64_t significand = (bits & 0xfffffffffffffu) | (exponent ? (uint64_t)1 << 52 : 0);
    int shift = (exponent ? exponent : 1) - 1075 + 149; /* of the lowest bit, in units of 2^-149 */
    const int64_t sign = bits >> 63 ? -1 : 1;
    if (shift < 0) {
        significand = shift > -64 ? significand >> -shift : 0; /* these bits are 0 */
        shift = 0;
    }
    for (int part = 0; part < 2; part++, shift += 32) {
        const uint64_t term = (part ? significand >> 32 : significand & 0xffffffffu) << shift % 32;
        add_digit(sum, shift / 32, sign * (int64_t)(term & 0xffffffffu));
        add_digit(sum, shift / 32 + 1, sign * (int64_t)(term >> 32));
    }
}

/* Gives a voxel sums in fixed point, which continue its float64 sums. */
static pcgpu_status widen(pc_voxel_table *t, pc_table_voxel *e, const double *sums) {
    const size_t columns = (size_t)t->job->columns;
    if (t->exact_count == t->exact_capacity) {
        const int64_t capacity = t->exact_capacity ? 2 * t->exact_capacity : 16;
        const size_t bytes = (size_t)capacity * columns * sizeof *t->exact;
        pc_exact_sum *more = bytes > t->memory ? NULL : realloc(t->exact, bytes);
        if (!more) {
            return bytes > t->memory ? pc_table_fail_small(t) : pc_fail_memory(t->context, bytes, "exact sums");
        }
        t->exact = more;
        t->exact_capacity = capacity;
    }
    pc_exact_sum *exact = t->exact + (size_t)t->exact_count * columns;
    memset(exact, 0, columns * sizeof *exact);
    for (size_t k = 0; k < columns; k++) {
        add_double(&exact[k], sums[k]);
    }
    e->exact = ++t->exact_count;
    return PCGPU_OK;
}

/* Adds finite values of many records: the digits have bits for the carries of 2^30 of them. */
static void carry(pc_exact_sum *sum) {
    for (int i = 0; i + 1 < PC_SUM_DIGITS; i++) {
        const int64_t above = sum->digit[i] >> 32;
        sum->digit[i] -= above * ((int64_t)1 << 32);
        sum->digit[i + 1] += above;
    }
}

/* ---- the records of a voxel of the piece ------------------------------------------------------------------------- */

/* Continues the sums in fixed point. */
static void add_fixed(const pc_voxel_table *t, const pc_table_voxel *e, const int32_t *rows, int64_t count,
                      const float *data) {
    const int columns = t->job->columns;
    pc_exact_sum *sums = t->exact + (e->exact - 1) * columns;
    for (int64_t i = 0; i < count; i++) {
        for (int k = 0; k < columns; k++) {
            pc_exact_add(&sums[k], data[(int64_t)rows[i] * columns + k]);
        }
    }
    for (int k = 0; k < columns; k++) {
        carry(&sums[k]);
    }
}

/* Continues the sums in float64; false, and no change, when an addition is not exact. */
PC_INLINE bool add_float64(int columns, double *sums, const int32_t *rows, int64_t count, const float *data) {
    double next[PCGPU_MAX_COLUMNS], lost[PCGPU_MAX_COLUMNS] = {0};
    bool exact = true;
    memcpy(next, sums, (size_t)columns * sizeof *sums);
    for (int64_t i = 0; i < count; i++) {
        const float *p = data + (int64_t)rows[i] * columns;
        for (int k = 0; k < columns; k++) {
            const double value = (double)p[k], sum = next[k] + value, error = pc_addition_error(next[k], value, sum);
            lost[k] += error * error; /* more than 0 for any error of sums of float32; NaN remains */
            next[k] = sum;
        }
    }
    for (int k = 0; k < columns; k++) {
        exact = exact && lost[k] == 0.0;
    }
    if (exact) {
        memcpy(sums, next, (size_t)columns * sizeof *sums);
    }
    return exact;
}

/* As pc_voxel_nearest: the first of the records with the least distance. */
static void compare_distances(const pc_voxel_table *t, pc_near *near, const int32_t *rows, int64_t count,
                              const float *data) {
    const int columns = t->job->columns;
    for (int64_t i = 0; i < count; i++) {
        const float *p = data + (int64_t)rows[i] * columns;
        const float d = pc_squared_distance(p[0], p[1], p[2], near->mean[0], near->mean[1], near->mean[2]);
        if (!near->seen || d < near->least) {
            near->seen = true;
            near->least = d < near->least ? d : near->least;
            memcpy(near + 1, p, (size_t)columns * sizeof *p);
        }
    }
}

bool pc_table_add_records(const pc_voxel_table *t, int64_t i, const int32_t *rows, int64_t count, const float *data) {
    const pc_table_voxel *e = &t->voxels[i];
    const int columns = t->job->columns;
    void *values = pc_table_values(t, i);
    if (t->kind == PC_TABLE_NEAREST) {
        compare_distances(t, values, rows, count, data);
    } else if (t->kind == PC_TABLE_FIRST) {
        if (e->points == 0) {
            memcpy(values, data + (int64_t)rows[0] * columns, t->width);
        }
    } else if (e->exact) {
        add_fixed(t, e, rows, count, data);
    } else {
        return columns == 4 ? add_float64(4, values, rows, count, data)
                            : add_float64(columns, values, rows, count, data);
    }
    return true;
}

pcgpu_status pc_table_add_inexact(pc_voxel_table *t, int64_t i, const int32_t *rows, int64_t count, const float *data) {
    PC_TRY(widen(t, &t->voxels[i], pc_table_values(t, i)));
    add_fixed(t, &t->voxels[i], rows, count, data);
    return PCGPU_OK;
}

float pc_table_mean(const pc_voxel_table *t, int64_t i, int k) {
    const pc_table_voxel *e = &t->voxels[i];
    const void *values = pc_table_values(t, i);
    return pc_rounded_mean(e->exact ? pc_exact_round(&t->exact[(e->exact - 1) * t->job->columns + k])
                                    : ((const double *)values)[k],
                           e->points);
}
