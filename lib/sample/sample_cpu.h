/* What the two ways of farthest point sampling on the CPU share: sample_cpu.c holds the plain loop over all points and
 * the choice between the two, sample_cpu_buckets.c the one that skips points which a pick cannot reach,
 * sample_cpu_tree.c what this needs to know of the points, and sample_cpu_order.c the order that makes skipping pay.
 *
 * Distances are kept as the bits of the float: for values >= 0 these order as integers do, integer minimum and maximum
 * vectorize without any relaxation of floating-point rules, and every negative integer is below all of them, which
 * marks a point that has been picked. */
#ifndef PC_CPU_SAMPLE_H
#define PC_CPU_SAMPLE_H

#include "sample_ops.h"
#include "simd.h"

#include <string.h>

enum {
    PC_PICKED = -1,
    PC_INFINITE = 0x7f800000, /* the bits of +inf */
    PC_BUCKET_BYTES = 28,     /* the most that sampling by buckets holds for a point */
};

/* Farthest point sampling in a chosen form; pc_cpu_sample takes the widest vectors of the machine and what is fastest
 * for the size. Every form gives the same bits, which is what the tests use this for. */
typedef enum pc_sample_algorithm { PC_SAMPLE_CHOOSE, PC_SAMPLE_PLAIN, PC_SAMPLE_BUCKETS } pc_sample_algorithm;

typedef struct pc_sample_form {
    pc_simd simd;
    pc_sample_algorithm algorithm;
    int64_t points_a_thread; /* for the plain loop: fewest points that are worth one more thread, >= 1 */
    int32_t bucket_points;   /* for buckets: points in one, >= 1 */
} pc_sample_form;

pcgpu_status pc_cpu_sample_as(pcgpu_context *context, pc_sample_job *jobs, int count, const pc_sample_form *form);

/* Whether the next farthest point, whose distance has these bits, stays unpicked. There is one before the last pick. */
PC_INLINE bool pc_sampling_ends(const pc_sample_job *job, int64_t picked, int32_t bits) {
    return picked == job->count || sqrtf(pc_bits_float(bits)) < job->min_distance;
}

PC_INLINE void pc_end_sampling(pc_sample_job *job, int64_t picked, int32_t bits) {
    job->picked = picked;
    job->rest = bits == PC_PICKED ? 0.0f : pc_bits_float(bits);
}

/* Lowers the n distances by those to `pick` and returns the largest. */
PC_INLINE int32_t pc_lower_distances(const float *restrict x, const float *restrict y, const float *restrict z,
                                     int32_t *restrict nearest, int64_t n, const float *pick) {
    const float px = pick[0], py = pick[1], pz = pick[2];
    int32_t best = PC_PICKED;
    for (int64_t i = 0; i < n; i++) {
        int32_t d = pc_float_bits(pc_squared_distance(x[i], y[i], z[i], px, py, pz));
        int32_t m = nearest[i] < d ? nearest[i] : d;
        nearest[i] = m;
        best = m > best ? m : best;
    }
    return best;
}

/* The smallest and the largest of n >= 1 values, compared as integers that order like floats. */
PC_INLINE void pc_find_bounds(const float *values, int64_t n, float *low, float *high) {
    int32_t least = INT32_MAX, most = INT32_MIN;
    for (int64_t i = 0; i < n; i++) {
        int32_t key = pc_in_order(pc_float_bits(values[i]));
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    *low = pc_bits_float(pc_in_order(least));
    *high = pc_bits_float(pc_in_order(most));
}

/* Samples one cloud, bucket_points >= 1 of neighbouring points at a time; false when memory is short. More than one
 * thread only prepare; without a context it is the caller's. */
bool pc_sample_by_buckets(pcgpu_context *context, pc_sample_job *job, pc_simd simd, int32_t bucket_points);

/* Writes the points 0..n-1 of the job so that points near each other in space come near each other; false when memory
 * is short. The same for the same cloud. */
bool pc_sample_order(pcgpu_context *context, const pc_sample_job *job, pc_simd simd, int32_t *order);

#endif
