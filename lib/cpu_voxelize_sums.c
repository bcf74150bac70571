/* Sums of voxels while the records go by, by one thread: no list of each voxel's points is made. A float64 sum whose
 * rounding lost something turns into NaN and stays it, as do sums with values that are not finite: their means are made
 * from the points again, exactly. */
#include "cpu_voxelize.h"

/* Four columns at a time: compilers make the widest vectors of the form from it. */
typedef float float4 __attribute__((vector_size(16)));
typedef double double4 __attribute__((vector_size(32)));
typedef int64_t mask4 __attribute__((vector_size(32)));

PC_INLINE void add_narrow(const float *p, int columns, float *sums) {
    int k = 0;
    for (; k + 4 <= columns; k += 4) {
        float4 term, sum;
        memcpy(&term, p + k, sizeof term);
        memcpy(&sum, sums + k, sizeof sum);
        sum += term;
        memcpy(sums + k, &sum, sizeof sum);
    }
    for (; k < columns; k++) {
        sums[k] += p[k];
    }
}

PC_INLINE void add_wide(const float *p, int columns, double *sums) {
    int k = 0;
    for (; k + 4 <= columns; k += 4) {
        float4 value;
        double4 sum;
        memcpy(&value, p + k, sizeof value);
        memcpy(&sum, sums + k, sizeof sum);
        /* pc_addition_error; a comparison is all bits set, which is a NaN, or none */
        const double4 term = __builtin_convertvector(value, double4), next = sum + term, part = next - sum;
        const double4 error = (sum - (next - part)) + (term - part);
        sum = (double4)((mask4)next | (mask4)(error != 0.0));
        memcpy(sums + k, &sum, sizeof sum);
    }
    for (; k < columns; k++) {
        const double term = (double)p[k], next = sums[k] + term;
        sums[k] = pc_addition_error(sums[k], term, next) == 0.0 ? next : (double)NAN;
    }
}

PC_INLINE void add_rows(const pc_voxelize_job *job, int columns, int64_t count, int32_t *voxels, int32_t *cursors,
                        void *sums) {
    const float *p = job->data;
    for (int64_t i = 0; i < job->rows; i++, p += columns) {
        const int64_t voxel = voxels[i];
        if (voxel < 0) {
            continue;
        }
        if (voxel >= count) {
            voxels[i] = -1;
        } else if (job->max_points == 0) {
            add_wide(p, columns, (double *)sums + voxel * columns);
        } else if (cursors[voxel] < job->max_points) {
            cursors[voxel]++;
            add_narrow(p, columns, (float *)sums + voxel * columns);
        } else {
            voxels[i] = -1;
        }
    }
}

PC_INLINE void add_records(const pc_voxelize_job *job, int64_t count, int32_t *voxels, int32_t *cursors, void *sums) {
    if (job->columns == 4) {
        add_rows(job, 4, count, voxels, cursors, sums);
    } else {
        add_rows(job, job->columns, count, voxels, cursors, sums);
    }
}

PC_SIMD_FORMS_OF(add_records,
                 (const pc_voxelize_job *job, int64_t count, int32_t *voxels, int32_t *cursors, void *sums),
                 (job, count, voxels, cursors, sums))

void pc_add_records(const pc_voxelize_job *job, pc_simd simd, int64_t count, int32_t *voxels, int32_t *cursors,
                    void *sums) {
    add_records_for(simd)(job, count, voxels, cursors, sums);
}
