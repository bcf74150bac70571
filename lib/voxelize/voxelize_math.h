/* The features of a voxel: arithmetic shared by both back ends (see geometry.h for its rules), and the memory of the
 * result.
 *
 * A voxel's kept points are a run of row numbers in index order; `wide` selects the sums. With max_points, sums are
 * float32 in index order, as in the training of the networks: the first P points are few, and their order is known.
 * Without, sums are exact and rounded once (voxelize_sum.h): a voxel may have millions of points, which a GPU must be
 * able to add in any order. The point nearest to the mean is determined by that mean: least squared distance in
 * float32, lowest row. */
#ifndef PC_VOXEL_H
#define PC_VOXEL_H

#include "voxelize_ops.h"
#include "voxelize_sum.h"

enum { PC_PILLAR_COLUMNS = 10 };

/* Whether a record is at the origin, and the origin is skipped. */
PC_HD bool pc_is_skipped(bool skip_origin, const float skip[3], const float *p) {
    return skip_origin && p[0] == skip[0] && p[1] == skip[1] && p[2] == skip[2];
}

/* The key of a record's cell, or -1 when the record is out of range, not finite, or at a skipped origin. */
PC_HD int64_t pc_record_key(const pc_grid *grid, bool skip_origin, const float skip[3], const float *p) {
    return pc_is_skipped(skip_origin, skip, p) ? -1 : pc_point_key(grid, p[0], p[1], p[2]);
}

/* The row of the i-th point: rows[i], or i where `rows` is NULL. */
PC_HD int64_t pc_voxel_row(const int32_t *rows, int64_t i) {
    return rows ? (int64_t)rows[i] : i;
}

/* The sum of column k over the rows, exact before it is rounded to float64. */
PC_HD double pc_voxel_sum(const float *data, int columns, const int32_t *rows, int64_t count, int k) {
    double sum = 0.0;
    bool exact = true;
    for (int64_t i = 0; i < count; i++) {
        double value = (double)data[pc_voxel_row(rows, i) * columns + k], next = sum + value;
        exact = exact && pc_addition_error(sum, value, next) == 0.0;
        sum = next;
    }
    if (exact) {
        return sum;
    }
    pc_exact_sum wide;
    memset(&wide, 0, sizeof wide);
    for (int64_t i = 0; i < count; i++) {
        pc_exact_add(&wide, data[pc_voxel_row(rows, i) * columns + k]);
    }
    return pc_exact_round(&wide);
}

/* The mean of column k over the `count` >= 1 rows. */
PC_HD float pc_voxel_mean(const float *data, int columns, const int32_t *rows, int64_t count, int k, bool wide) {
    if (wide) {
        return pc_rounded_mean(pc_voxel_sum(data, columns, rows, count, k), count);
    }
    float sum = 0.0f;
    if (rows) {
        for (int64_t i = 0; i < count; i++) {
            sum += data[(int64_t)rows[i] * columns + k];
        }
    } else {
        const float *value = data + k;
        for (int64_t i = 0; i < count; i++, value += columns) {
            sum += *value;
        }
    }
    return pc_one_nan(sum / (float)count);
}

/* The row nearest to `mean`, the first one on ties; `rows` may be NULL, too. */
PC_HD int32_t pc_voxel_nearest(const float *data, int columns, const int32_t *rows, int64_t count,
                               const float mean[3]) {
    int64_t best = pc_voxel_row(rows, 0);
    float least = HUGE_VALF;
    for (int64_t i = 0; i < count; i++) {
        const float *p = data + pc_voxel_row(rows, i) * columns;
        float d = pc_squared_distance(p[0], p[1], p[2], mean[0], mean[1], mean[2]);
        if (d < least) {
            least = d;
            best = pc_voxel_row(rows, i);
        }
    }
    return (int32_t)best;
}

/* The cell of a point that is in range, and (batch, z, y, x) of its voxel. */
PC_HD void pc_voxel_coords(const pc_grid *grid, const float *p, int32_t coords[4]) {
    coords[0] = 0;
    for (int k = 0; k < 3; k++) {
        coords[3 - k] = pc_axis_cell(grid, k, p[k]);
    }
}

/* The ten values of a point in a pillar: x y z r, minus the mean, minus the centre of the cell. */
PC_HD float pc_pillar_value(const pc_grid *grid, const float *p, int columns, const float mean[3],
                            const int32_t coords[4], int value) {
    if (value < 3) {
        return p[value];
    }
    if (value == 3) {
        return columns > 3 ? p[3] : 0.0f;
    }
    const int k = (value - 4) % 3;
    const float centre = grid->min[k] + ((float)coords[3 - k] + 0.5f) * grid->size[k];
    return value < 7 ? p[k] - mean[k] : p[k] - centre;
}

PC_HD void pc_pillar_row(const pc_grid *grid, const float *p, int columns, const float mean[3], const int32_t coords[4],
                         float out[PC_PILLAR_COLUMNS]) {
    for (int value = 0; value < PC_PILLAR_COLUMNS; value++) {
        out[value] = pc_pillar_value(grid, p, columns, mean, coords, value);
    }
}

#ifdef __cplusplus
extern "C" {
#endif

/* Sets capacity and columns and allocates the arrays of `out` (point_voxel unless it exists), uninitialized, for
 * out->count voxels; `largest` is the largest number of kept points in a voxel. Fails, with NULL arrays, when a padded
 * array exceeds the memory of this machine. */
pcgpu_status pc_voxels_allocate(pcgpu_context *context, const pc_voxelize_job *job, int64_t largest, pcgpu_voxels *out);

#ifdef __cplusplus
}
#endif
#endif
