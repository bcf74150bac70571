/* What the two ways of farthest point sampling on the CPU share: cpu_sample.c holds the plain loop over all points and
 * the choice between the two, cpu_sample_buckets.c the one that skips points which a pick cannot reach, and
 * cpu_sample_order.c the order of the points that makes skipping pay.
 *
 * Distances are kept as the bits of the float: for values >= 0 these order as integers do, integer minimum and maximum
 * vectorize without any relaxation of floating-point rules, and every negative integer is below all of them, which
 * marks a point that has been picked. */
#ifndef PC_CPU_SAMPLE_H
#define PC_CPU_SAMPLE_H

#include "cpu.h"

#include <string.h>

/* For bodies that are compiled once for each vector form. */
#define PC_INLINE static inline __attribute__((always_inline))

enum {
    PC_PICKED = -1,
    PC_INFINITE = 0x7f800000, /* the bits of +inf */
    PC_BUCKET_BYTES = 28,     /* the most that sampling by buckets holds for a point */
};

/* A point and the bits of its squared distance to the picks so far. */
typedef struct pc_far_point {
    int32_t bits, index;
} pc_far_point;

PC_INLINE int32_t pc_float_bits(float value) {
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

PC_INLINE float pc_bits_float(int32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Whether `far`, the next farthest point after `picked` picks, stays unpicked. There is a next one before the last. */
PC_INLINE bool pc_sampling_ends(const pc_sample_job *job, int64_t picked, pc_far_point far) {
    return picked == job->count || sqrtf(pc_bits_float(far.bits)) < job->min_distance;
}

PC_INLINE void pc_end_sampling(pc_sample_job *job, int64_t picked, pc_far_point far) {
    job->picked = picked;
    job->rest = far.bits == PC_PICKED ? 0.0f : pc_bits_float(far.bits);
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

/* Samples one cloud on one thread, bucket_points >= 1 of neighbouring points at a time; false when memory is short. */
bool pc_sample_by_buckets(pc_sample_job *job, pc_simd simd, int32_t bucket_points);

/* Writes the points 0..n-1 of the job to the low halves of `items` so that points near each other in space come near
 * each other in the list; the high halves are of no use. n items and n of scratch. The same for the same cloud. */
void pc_sample_order(const pc_sample_job *job, uint64_t *items, uint64_t *scratch);

#endif
