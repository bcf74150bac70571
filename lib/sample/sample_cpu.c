/* Farthest point sampling on the CPU: the choice between the plain loop and buckets (sample_cpu_buckets.c), and the
 * plain O(points x picks) loop, vectorized and parallel.
 *
 * The points are partitioned; each has its squared distance to the picks so far. A round is one step of the thread
 * pool: it updates the distances with the newest pick, the first round with all seeds, and finds the farthest point of
 * each part. */
#include "sample_cpu.h"
#include "temporary.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    CHUNK = 1024, /* points between two comparisons with the best value; their coordinates and distances stay in L1 */
    /* The synchronization of the threads takes as long as this many points: 2 us at 0.12 ns per point. */
    POINTS_PER_THREAD = 16384,
    PREPARED_PER_THREAD = 16, /* threads that prepare buckets need this many times as many points */
    BUCKET_POINTS = 128,
    MANY_POINTS = 65536, /* of these, a round takes 8 us or longer */
};

/* The synchronization of a round. */
#define WAIT_SECONDS 2e-6

typedef void update_fn(const float *x, const float *y, const float *z, int32_t *nearest, int64_t n, const float *pick,
                       int32_t *farthest);
typedef void update_all_fn(const float *x, int64_t pitch, int dimensions, int32_t *nearest, int64_t n,
                           const float *pick, int32_t *farthest);
typedef void find_fn(const int32_t *nearest, int64_t n, int32_t bits, int32_t *first);

PC_INLINE void update(const float *x, const float *y, const float *z, int32_t *nearest, int64_t n, const float *pick,
                      int32_t *farthest) {
    *farthest = pc_lower_distances(x, y, z, nearest, n, pick);
}

/* The same for points of any dimensions; coordinate k is `pitch` floats after the one before it. */
PC_INLINE void update_all(const float *x, int64_t pitch, int dimensions, int32_t *restrict nearest, int64_t n,
                          const float *pick, int32_t *farthest) {
    float d[CHUNK];
    int32_t best = PC_PICKED;
    for (int k = 0; k < dimensions; k++) {
        const float *restrict values = x + k * pitch;
        const float of_pick = pick[k * pitch];
        for (int64_t i = 0; i < n; i++) {
            const float e = values[i] - of_pick;
            d[i] = (k ? d[i] : 0.0f) + e * e;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        const int32_t bits = pc_float_bits(d[i]), m = nearest[i] < bits ? nearest[i] : bits;
        nearest[i] = m;
        best = m > best ? m : best;
    }
    *farthest = best;
}

/* The first index of `bits`, which occurs among n. */
PC_INLINE void find_first(const int32_t *nearest, int64_t n, int32_t bits, int32_t *first) {
    int32_t slot = INT32_MAX;
    for (int32_t i = 0; i < (int32_t)n; i++) {
        int32_t own = i | (-(int32_t)(nearest[i] != bits) & INT32_MAX);
        slot = own < slot ? own : slot;
    }
    *first = slot;
}

PC_SIMD_FORMS_OF(find_first, (const int32_t *nearest, int64_t n, int32_t bits, int32_t *first),
                 (nearest, n, bits, first))
PC_SIMD_FORMS_OF(update,
                 (const float *x, const float *y, const float *z, int32_t *nearest, int64_t n, const float *pick,
                  int32_t *farthest),
                 (x, y, z, nearest, n, pick, farthest))
PC_SIMD_FORMS_OF(update_all,
                 (const float *x, int64_t pitch, int dimensions, int32_t *nearest, int64_t n, const float *pick,
                  int32_t *farthest),
                 (x, pitch, dimensions, nearest, n, pick, farthest))

/* A point and the bits of its squared distance to the picks so far. */
typedef struct far_point {
    int32_t bits, index;
} far_point;

typedef struct sampler {
    pc_sample_job *job;
    update_fn *update;
    update_all_fn *update_all;
    find_fn *find;
    int32_t *nearest; /* n */
    int parts;
    far_point *found;     /* of each part */
    const int32_t *picks; /* of the round */
    int64_t pick_count;
} sampler;

/* The farthest point of [begin, end) after the points `picks`, with the lowest index on ties; index -1 when all points
 * are picked. */
static far_point search_range(const sampler *s, int64_t begin, int64_t end, const int32_t *picks, int64_t count) {
    const pc_sample_job *job = s->job;
    far_point best = {.bits = PC_PICKED, .index = -1};
    int64_t where = begin;
    for (int64_t k = 0; k < count; k++) {
        if (picks[k] >= begin && picks[k] < end) {
            s->nearest[picks[k]] = PC_PICKED;
        }
    }
    for (int64_t i = begin; i < end; i += CHUNK) {
        int64_t n = end - i < CHUNK ? end - i : CHUNK;
        int32_t bits = PC_PICKED;
        for (int64_t k = 0; k < count && job->dimensions; k++) {
            s->update_all(job->x + i, job->n, job->dimensions, s->nearest + i, n, job->x + picks[k], &bits);
        }
        for (int64_t k = 0; k < count && !job->dimensions; k++) {
            const float position[3] = {job->x[picks[k]], job->y[picks[k]], job->z[picks[k]]};
            s->update(job->x + i, job->y + i, job->z + i, s->nearest + i, n, position, &bits);
        }
        if (bits > best.bits) {
            best.bits = bits;
            where = i;
        }
    }
    if (best.bits != PC_PICKED) {
        int32_t first;
        s->find(s->nearest + where, end - where < CHUNK ? end - where : CHUNK, best.bits, &first);
        best.index = (int32_t)where + first;
    }
    return best;
}

/* The points of a part. No two parts share a cache line of distances. */
static void range_of(const sampler *s, int part, int64_t *begin, int64_t *end) {
    const int64_t n = s->job->n, block = ((n + s->parts - 1) / s->parts + 15) / 16 * 16;
    *begin = block * part < n ? block * part : n;
    *end = *begin + block < n ? *begin + block : n;
}

static void clear_part(void *state, int part) {
    const sampler *s = state;
    int64_t begin, end;
    range_of(s, part, &begin, &end);
    for (int64_t i = begin; i < end; i++) {
        s->nearest[i] = PC_INFINITE;
    }
}

static void search_part(void *state, int part) {
    const sampler *s = state;
    int64_t begin, end;
    range_of(s, part, &begin, &end);
    s->found[part] = search_range(s, begin, end, s->picks, s->pick_count);
}

/* The farthest point of all parts. The parts ascend, so a strict comparison keeps the lowest index. */
static far_point search_all(pcgpu_context *context, sampler *s, const int32_t *picks, int64_t count) {
    far_point best = {.bits = PC_PICKED, .index = -1};
    s->picks = picks;
    s->pick_count = count;
    pc_run_parts(context, s->parts, search_part, s);
    for (int part = 0; part < s->parts; part++) {
        best = s->found[part].bits > best.bits ? s->found[part] : best;
    }
    return best;
}

/* Samples one cloud with the plain loop in this number of parts; false when memory is exhausted. */
static bool sample_plainly(pcgpu_context *context, pc_sample_job *job, pc_simd simd, int parts) {
    sampler s = {.job = job,
                 .update = update_for(simd),
                 .update_all = update_all_for(simd),
                 .find = find_first_for(simd),
                 .parts = parts};
    s.nearest = pc_sample_allocate(job, (uint64_t)job->n * sizeof *s.nearest);
    s.found = malloc((size_t)parts * sizeof *s.found);
    const bool ok = s.nearest && s.found;
    if (ok) {
        far_point pick = {.bits = PC_INFINITE, .index = (int32_t)job->start};
        int64_t picked = 0;
        pc_run_parts(context, parts, clear_part, &s);
        if (job->seed_count) {
            pick = search_all(context, &s, job->seeds, job->seed_count);
        }
        while (!pc_sampling_ends(job, picked, pick.bits, job->n > MANY_POINTS)) {
            job->indices[picked] = pick.index;
            job->squared[picked++] = pc_bits_float(pick.bits);
            pick = search_all(context, &s, &pick.index, 1);
        }
        pc_end_sampling(job, picked, pick.bits);
    }
    pc_release(s.nearest);
    free(s.found);
    return ok;
}

static int thread_count(int threads, const pc_sample_job *job, int64_t points_per_thread) {
    const int64_t points = job->dimensions ? job->n * job->dimensions / 3 : job->n, useful = points / points_per_thread;
    return useful < 1 ? 1 : useful < threads ? (int)useful : threads;
}

/* ---- the choice ------------------------------------------------------------------------------------------------ */

/* The constants below are fitted to minimum times of both algorithms with AVX-512 on one core of a Zen 5 server, on a
 * LiDAR scan and a random cube, 64 to 1,000,000 points and 8 to 16,384 picks. The estimates are within a factor of 1.6
 * of most times. The chosen algorithm is the faster one, except where both take similar times. */

/* 0.11 ns per point and pick in the caches, 0.15 ns beyond. */
static double seconds_plain(const pc_sample_job *job, int64_t rounds) {
    return (20e-9 + 0.13e-9 * (double)job->n * (job->dimensions ? job->dimensions / 3.0 : 1.0)) * (double)rounds;
}

/* 4 to 50 ns per point for the order, more when the points exceed the caches. The first picks reach all buckets, the
 * k-th about one in k. A later pick examines a few buckets: 0.1 us with 1,024 points, 0.3 us with 120,000. */
static double seconds_buckets(const pc_sample_job *job, int64_t rounds) {
    const double points = (double)job->n, picks = (double)rounds;
    const double order = 4e-9 + fmin(8e-15 * points, 45e-9), reach = 0.35e-9 * log2(picks + 1.0);
    const double pick = 60e-9 + 22e-9 * fmax(0.0, log2(points) - 8.0) + 1e-12 * fmin(points, 4e6);
    return job->dimensions ? (double)INFINITY : 2e-6 + points * (order + reach) + picks * pick;
}

/* The number of distance updates: one per seed and pick. */
static int64_t rounds_of(const pc_sample_job *job) {
    return job->seed_count + job->count;
}

double pc_cpu_sample_seconds(const pc_sample_job *jobs, int count, int threads) {
    double idle = count < threads ? (double)threads / count : 1.0; /* buckets use one thread per cloud */
    double seconds = 0.0;
    for (int i = 0; i < count; i++) {
        const int64_t rounds = rounds_of(&jobs[i]);
        seconds += fmin(seconds_plain(&jobs[i], rounds), seconds_buckets(&jobs[i], rounds) * idle);
    }
    return seconds;
}

typedef struct plan {
    bool buckets;
    int threads;
} plan;

static plan choose_plan(const pc_sample_job *job, const pc_sample_variant *variant, int threads) {
    const plan plain = {false, thread_count(threads, job, variant->points_per_thread)};
    const plan buckets = {true, thread_count(threads, job, PREPARED_PER_THREAD * variant->points_per_thread)};
    if (variant->algorithm != PC_SAMPLE_CHOOSE && !job->dimensions) {
        return variant->algorithm == PC_SAMPLE_BUCKETS ? buckets : plain;
    }
    double seconds = seconds_plain(job, rounds_of(job)) / plain.threads;
    if (plain.threads > 1) { /* must be twice as fast: it occupies all cores, and is far slower on a busy machine */
        seconds = 2.0 * (seconds + WAIT_SECONDS * (double)job->count);
    }
    return seconds_buckets(job, rounds_of(job)) < seconds ? buckets : plain;
}

/* Without a context, only the caller's thread works. */
static bool sample_cloud(pcgpu_context *context, pc_sample_job *job, const pc_sample_variant *variant) {
    const plan w = choose_plan(job, variant, context ? context->threads : 1);
    return w.buckets ? pc_sample_by_buckets(w.threads > 1 ? context : NULL, job, variant->simd, variant->bucket_points)
                     : sample_plainly(context, job, variant->simd, w.threads);
}

/* Clouds that are sampled by one thread each. */
typedef struct clouds {
    pc_sample_job *jobs;
    const pc_sample_variant *variant;
    atomic_bool failed;
} clouds;

static void sample_one(void *state, int i) {
    clouds *c = state;
    if (!sample_cloud(NULL, &c->jobs[i], c->variant)) {
        atomic_store(&c->failed, true);
    }
}

pcgpu_status pc_cpu_sample_as(pcgpu_context *context, pc_sample_job *jobs, int count,
                              const pc_sample_variant *variant) {
    clouds all = {.jobs = jobs, .variant = variant};
    PC_TRY(pc_check_cancelled(context));
    int64_t largest = 0;
    bool failed = false;
    int widest = 1;
    for (int i = 0; i < count; i++) {
        const plan w = choose_plan(&jobs[i], variant, context->threads);
        widest = w.threads > widest ? w.threads : widest;
        largest = jobs[i].n > largest ? jobs[i].n : largest;
        jobs[i].poll = context;
    }
    if (count > 1 && (count >= context->threads || widest == 1)) { /* one thread per cloud */
        context->worked = count < context->threads ? count : context->threads;
        pc_run_parts(context, count, sample_one, &all);
        failed = atomic_load(&all.failed);
    } else {
        context->worked = widest;
        for (int i = 0; i < count && !failed; i++) {
            failed = !sample_cloud(context, &jobs[i], variant);
        }
    }
    PC_TRY(pc_check_cancelled(context));
    if (failed) {
        return pc_fail_memory(context, (uint64_t)largest * PC_BUCKET_BYTES, "the distances to the picks");
    }
    return PCGPU_OK;
}

static pcgpu_status pc_cpu_sample(pcgpu_context *context, pc_sample_job *jobs, int count) {
    const pc_sample_variant variant = {
        .points_per_thread = POINTS_PER_THREAD, .bucket_points = BUCKET_POINTS, .simd = pc_context_simd(context)};
    return pc_cpu_sample_as(context, jobs, count, &variant);
}

const pc_sample_ops pc_cpu_sample_ops = {.sample = pc_cpu_sample};
