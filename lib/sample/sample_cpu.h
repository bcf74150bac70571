/* What the two algorithms of farthest point sampling on the CPU share: sample_cpu.c has the plain loop over all points
 * and the choice of the algorithm, sample_cpu_buckets.c the algorithm that skips points out of reach of a pick,
 * sample_cpu_tree.c its tree of buckets, and sample_cpu_order.c the order of points that makes skipping effective.
 *
 * Distances are stored as the bits of the float. For values >= 0, these sort as integers do; integer minimum and
 * maximum vectorize without relaxed floating-point rules; and every negative integer is below all distances, so it
 * marks a picked point. */
#ifndef PC_CPU_SAMPLE_H
#define PC_CPU_SAMPLE_H

#include "sample_ops.h"
#include "simd.h"

#include <string.h>

enum {
    PC_PICKED = -1,
    PC_PICKS_PER_POLL = 64,
    PC_INFINITE = 0x7f800000, /* the bits of +inf */
    PC_BUCKET_BYTES = 28,     /* maximum memory per point of the bucket algorithm */
};

/* Farthest point sampling with a given variant, for tests; pc_cpu_sample takes the widest vectors of the machine and
 * the fastest algorithm for the size. All variants give the same bits. */
typedef enum pc_sample_algorithm { PC_SAMPLE_CHOOSE, PC_SAMPLE_PLAIN, PC_SAMPLE_BUCKETS } pc_sample_algorithm;

typedef struct pc_sample_variant {
    pc_simd simd;
    pc_sample_algorithm algorithm;
    int64_t points_per_thread; /* plain loop: minimum points per thread, >= 1 */
    int32_t bucket_points;     /* buckets: points per bucket, >= 1 */
} pc_sample_variant;

pcgpu_status pc_cpu_sample_as(pcgpu_context *context, pc_sample_job *jobs, int count, const pc_sample_variant *variant);

/* Whether sampling ends before the next farthest point, whose distance has these bits, or is cancelled. Before the last
 * pick, there is one. `often`: rounds are long. The first ones reach all points. */
PC_INLINE bool pc_sampling_ends(const pc_sample_job *job, int64_t picked, int32_t bits, bool often) {
    return picked == job->count || sqrtf(pc_bits_float(bits)) < job->min_distance ||
           ((picked < PC_PICKS_PER_POLL || picked % PC_PICKS_PER_POLL == 0 || often) && pc_is_cancelled(job->poll));
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

/* The smallest and the largest of n >= 1 values, compared as integers that sort as floats. */
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

/* Samples one cloud, with buckets of bucket_points >= 1 neighbouring points; false when memory is exhausted, or
 * cancelled. With a context, its threads only prepare the buckets; without one, the caller's thread does all work. */
bool pc_sample_by_buckets(pcgpu_context *context, pc_sample_job *job, pc_simd simd, int32_t bucket_points);

/* Memory of whole cache lines, or in a temporary file where the job has them; NULL when there is none. Free it with
 * pc_release. */
void *pc_sample_allocate(const pc_sample_job *job, uint64_t bytes);

/* Writes the points 0..n-1 of the job in an order in which neighbours in space are close to each other; false when
 * memory is exhausted, or cancelled. The order is deterministic. */
bool pc_sample_order(pcgpu_context *context, const pc_sample_job *job, pc_simd simd, int32_t *order);

#endif
