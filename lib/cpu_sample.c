/* Farthest point sampling on the CPU: the choice between the plain loop and buckets (cpu_sample_buckets.c), and the
 * plain O(points x picks) loop, vectorized and shared out among threads.
 *
 * Each thread owns a fixed range of points and keeps, for each of them, the squared distance to the picks so far. A
 * round updates these with the newest pick, the first one with all seeds, and finds the range's farthest point; after
 * one barrier every thread reads all the candidates and comes to the same pick, so a round needs no second barrier. */
#include "cpu_sample.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef _OPENMP
#include <omp.h>
#endif

enum {
    CHUNK = 1024, /* points between two looks at the best value; its three coordinates and distances stay in L1 */
    SPINS = 2000, /* a few microseconds */
    /* Waiting for each other costs the threads about as much as this many points: 2 us against 0.12 ns a point. */
    POINTS_A_THREAD = 16384,
    PREPARED_A_THREAD = 16, /* times as many repay a thread that prepares buckets */
    BUCKET_POINTS = 128,
};

/* Waiting for each other in a round. */
#define WAIT_SECONDS 2e-6

typedef void update_fn(const float *x, const float *y, const float *z, int32_t *nearest, int64_t n, const float *pick,
                       int32_t *farthest);
typedef void find_fn(const int32_t *nearest, int64_t n, int32_t bits, int32_t *first);

PC_INLINE void update(const float *x, const float *y, const float *z, int32_t *nearest, int64_t n, const float *pick,
                      int32_t *farthest) {
    *farthest = pc_lower_distances(x, y, z, nearest, n, pick);
}

/* The first place of `bits`, which occurs among n. */
PC_INLINE void find_first(const int32_t *nearest, int64_t n, int32_t bits, int32_t *first) {
    int32_t place = INT32_MAX;
    for (int32_t i = 0; i < (int32_t)n; i++) {
        int32_t own = i | (-(int32_t)(nearest[i] != bits) & INT32_MAX);
        place = own < place ? own : place;
    }
    *first = place;
}

PC_SIMD_FORMS_OF(find_first, (const int32_t *nearest, int64_t n, int32_t bits, int32_t *first),
                 (nearest, n, bits, first))
PC_SIMD_FORMS_OF(update,
                 (const float *x, const float *y, const float *z, int32_t *nearest, int64_t n, const float *pick,
                  int32_t *farthest),
                 (x, y, z, nearest, n, pick, farthest))

bool pc_cpu_has(pc_simd simd) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return simd == PC_SIMD_BASE || (simd == PC_SIMD_AVX2 && __builtin_cpu_supports("avx2")) ||
           (simd == PC_SIMD_AVX512 && __builtin_cpu_supports("avx512f"));
#else
    return simd == PC_SIMD_BASE;
#endif
}

/* A point and the bits of its squared distance to the picks so far. */
typedef struct far_point {
    int32_t bits, index;
} far_point;

/* What a thread found in its range; two a thread, used in turn, each on a cache line of its own. `round` is stored last
 * and tells the others that the rest is there. */
typedef struct candidate {
    int32_t bits;
    int32_t index;
    _Atomic int64_t round;
    char padding[48];
} candidate;

typedef struct sampler {
    pc_sample_job *job;
    update_fn *update;
    find_fn *find;
    int32_t *nearest;      /* n */
    candidate *candidates; /* 2 x team, zero at the start */
} sampler;

/* The farthest point of [begin, end) after the points `picks`, the lowest index on ties; index -1 when all have been
 * picked. */
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
        for (int64_t k = 0; k < count; k++) {
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

/* Waits until *round is `wanted`: briefly in a loop, since a round lasts microseconds, then leaving the core to others,
 * since on a busy machine the thread waited for may not be running. */
static void wait_for(_Atomic int64_t *round, int64_t wanted) {
    for (int tries = 0; atomic_load_explicit(round, memory_order_acquire) != wanted; tries++) {
        if (tries >= SPINS) {
            sched_yield();
        }
    }
}

/* Shares what the threads found in this round. Ranges ascend with the thread, so a strict comparison keeps the lowest
 * index. A candidate is overwritten two rounds later: its owner has by then seen everyone's next one, which they stored
 * after they had read this one. */
static far_point agree(const sampler *s, far_point mine, int64_t round, int thread, int team) {
    candidate *all = s->candidates + (round & 1) * team;
    all[thread].bits = mine.bits;
    all[thread].index = mine.index;
    atomic_store_explicit(&all[thread].round, round, memory_order_release);
    far_point best = {.bits = PC_PICKED, .index = -1};
    for (int t = 0; t < team; t++) {
        wait_for(&all[t].round, round);
        if (all[t].bits > best.bits) {
            best = (far_point){.bits = all[t].bits, .index = all[t].index};
        }
    }
    return best;
}

/* The part of one thread in sampling a cloud. */
static void sample_part(const sampler *s, int thread, int team) {
    pc_sample_job *job = s->job;
    int64_t block = (job->n + team - 1) / team;
    block = (block + 15) / 16 * 16; /* no two threads write to one cache line of distances */
    int64_t begin = block * thread < job->n ? block * thread : job->n;
    int64_t end = begin + block < job->n ? begin + block : job->n;
    for (int64_t i = begin; i < end; i++) {
        s->nearest[i] = PC_INFINITE;
    }
    far_point pick = {.bits = PC_INFINITE, .index = (int32_t)job->start};
    int64_t picked = 0, round = 0;
    if (job->seed_count) {
        pick = search_range(s, begin, end, job->seeds, job->seed_count);
        pick = team > 1 ? agree(s, pick, ++round, thread, team) : pick;
    }
    while (!pc_sampling_ends(job, picked, pick.bits)) {
        if (thread == 0) {
            job->indices[picked] = pick.index;
            job->squared[picked] = pc_bits_float(pick.bits);
        }
        picked++;
        pick = search_range(s, begin, end, &pick.index, 1);
        pick = team > 1 ? agree(s, pick, ++round, thread, team) : pick;
    }
    if (thread == 0) {
        pc_end_sampling(job, picked, pick.bits);
    }
}

/* Samples one cloud by the plain loop with a team of threads; false when memory is short. */
static bool sample_plainly(pc_sample_job *job, pc_simd simd, int team) {
    sampler s = {.job = job, .update = update_for(simd), .find = find_first_for(simd)};
    s.nearest = malloc((size_t)job->n * sizeof *s.nearest);
    s.candidates = calloc(2 * (size_t)team, sizeof *s.candidates);
    bool ok = s.nearest && s.candidates;
    if (ok && team == 1) {
        sample_part(&s, 0, 1);
    } else if (ok) {
#ifdef _OPENMP
#pragma omp parallel num_threads(team)
        sample_part(&s, omp_get_thread_num(), omp_get_num_threads());
#endif
    }
    free(s.nearest);
    free(s.candidates);
    return ok;
}

static int team_size(int threads, int64_t n, int64_t points_a_thread) {
#ifdef _OPENMP
    int64_t useful = n / points_a_thread;
    return useful < 1 ? 1 : useful < threads ? (int)useful : threads;
#else
    (void)threads, (void)n, (void)points_a_thread;
    return 1;
#endif
}

/* ---- the choice ------------------------------------------------------------------------------------------------ */

/* The figures below are fitted to least times of either way with AVX-512 on one core of a Zen 5 server, on a LiDAR scan
 * and a random cube, 64 to 1,000,000 points and 8 to 16,384 picks. They are meant for choosing: within a factor of 1.6
 * or so of most times, and the way chosen is the faster one except where both take about as long. */

/* 0.11 ns a point and pick in the caches, 0.15 beyond. */
static double seconds_plain(int64_t n, int64_t rounds) {
    return (20e-9 + 0.13e-9 * (double)n) * (double)rounds;
}

/* 4 to 50 ns a point to bring them in order, the more the less they fit the caches. The first picks reach all buckets,
 * the k-th about one in k. A later pick looks at a few: 0.1 us with 1,024 points, 0.3 us with 120,000. */
static double seconds_buckets(int64_t n, int64_t rounds) {
    const double points = (double)n, picks = (double)rounds;
    const double order = 4e-9 + fmin(8e-15 * points, 45e-9), reach = 0.35e-9 * log2(picks + 1.0);
    const double pick = 60e-9 + 22e-9 * fmax(0.0, log2(points) - 8.0) + 1e-12 * fmin(points, 4e6);
    return 2e-6 + points * (order + reach) + picks * pick;
}

/* How often distances are lowered: by every seed and every pick. */
static int64_t rounds_of(const pc_sample_job *job) {
    return job->seed_count + job->count;
}

double pc_cpu_sample_seconds(const pc_sample_job *jobs, int count, int threads) {
    double idle = count < threads ? (double)threads / count : 1.0; /* buckets use one thread a cloud */
    double seconds = 0.0;
    for (int i = 0; i < count; i++) {
        int64_t n = jobs[i].n, rounds = rounds_of(&jobs[i]);
        seconds += fmin(seconds_plain(n, rounds), seconds_buckets(n, rounds) * idle);
    }
    return seconds;
}

typedef struct way {
    bool buckets;
    int threads;
} way;

static way choose_way(const pc_sample_job *job, const pc_sample_form *form, int threads) {
    const way plain = {false, team_size(threads, job->n, form->points_a_thread)};
    const way buckets = {true, team_size(threads, job->n, PREPARED_A_THREAD * form->points_a_thread)};
    if (form->algorithm != PC_SAMPLE_CHOOSE) {
        return form->algorithm == PC_SAMPLE_BUCKETS ? buckets : plain;
    }
    double seconds = seconds_plain(job->n, rounds_of(job)) / plain.threads;
    if (plain.threads > 1) { /* must win twice over: it takes all cores, and is far slower when others use them */
        seconds = 2.0 * (seconds + WAIT_SECONDS * (double)job->count);
    }
    return seconds_buckets(job->n, rounds_of(job)) < seconds ? buckets : plain;
}

static bool sample_cloud(pc_sample_job *job, const pc_sample_form *form, int threads) {
    const way w = choose_way(job, form, threads);
    return w.buckets ? pc_sample_by_buckets(job, form->simd, w.threads, form->bucket_points)
                     : sample_plainly(job, form->simd, w.threads);
}

pcgpu_status pc_cpu_sample_as(pcgpu_context *context, pc_sample_job *jobs, int count, const pc_sample_form *form) {
    int64_t largest = 0;
    int failed = 0, widest = 1;
    for (int i = 0; i < count; i++) {
        const way w = choose_way(&jobs[i], form, context->threads);
        widest = w.threads > widest ? w.threads : widest;
        largest = jobs[i].n > largest ? jobs[i].n : largest;
    }
    if (count > 1 && (count >= context->threads || widest == 1)) { /* a thread a cloud */
        context->worked = widest = count < context->threads ? count : context->threads;
#pragma omp parallel for num_threads(widest) schedule(dynamic, 1) reduction(+ : failed)
        for (int i = 0; i < count; i++) {
            failed += !sample_cloud(&jobs[i], form, 1);
        }
    } else {
        context->worked = widest;
        for (int i = 0; i < count; i++) {
            failed += !sample_cloud(&jobs[i], form, context->threads);
        }
    }
    if (failed) {
        return pc_fail_memory(context, (uint64_t)largest * PC_BUCKET_BYTES, "the distances to the picks");
    }
    return PCGPU_OK;
}

pcgpu_status pc_cpu_sample(pcgpu_context *context, pc_sample_job *jobs, int count) {
    pc_sample_form form = {.points_a_thread = POINTS_A_THREAD, .bucket_points = BUCKET_POINTS};
    for (int simd = PC_SIMD_BASE; simd < PC_SIMD_FORMS; simd++) {
        if (pc_cpu_has((pc_simd)simd)) {
            form.simd = (pc_simd)simd;
        }
    }
    return pc_cpu_sample_as(context, jobs, count, &form);
}
