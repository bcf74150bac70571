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
    /* Waiting for each other costs the threads about as much as this many points: 2 us against 0.4 ns a point. */
    POINTS_A_THREAD = 8192,
    BUCKET_POINTS = 128,
};

/* Waiting for each other in a round. */
#define WAIT_SECONDS 2e-6

typedef int32_t update_fn(const float *x, const float *y, const float *z, int32_t *nearest, int64_t n,
                          const float *pick);

static int32_t update_base(const float *x, const float *y, const float *z, int32_t *nearest, int64_t n,
                           const float *pick) {
    return pc_lower_distances(x, y, z, nearest, n, pick);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static int32_t update_avx2(const float *x, const float *y, const float *z,
                                                           int32_t *nearest, int64_t n, const float *pick) {
    return pc_lower_distances(x, y, z, nearest, n, pick);
}

__attribute__((target("avx512f"))) static int32_t update_avx512(const float *x, const float *y, const float *z,
                                                                int32_t *nearest, int64_t n, const float *pick) {
    return pc_lower_distances(x, y, z, nearest, n, pick);
}

bool pc_cpu_has(pc_simd simd) {
    __builtin_cpu_init();
    return simd == PC_SIMD_BASE || (simd == PC_SIMD_AVX2 && __builtin_cpu_supports("avx2")) ||
           (simd == PC_SIMD_AVX512 && __builtin_cpu_supports("avx512f"));
}

static update_fn *update_for(pc_simd simd) {
    return simd == PC_SIMD_AVX512 ? update_avx512 : simd == PC_SIMD_AVX2 ? update_avx2 : update_base;
}
#else
bool pc_cpu_has(pc_simd simd) {
    return simd == PC_SIMD_BASE;
}

static update_fn *update_for(pc_simd simd) {
    (void)simd;
    return update_base;
}
#endif

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
    int32_t *nearest;      /* n */
    candidate *candidates; /* 2 x team, zero at the start */
} sampler;

/* The farthest point of [begin, end) after the points `picks`, the lowest index on ties; index -1 when all have been
 * picked. */
static pc_far_point search_range(const sampler *s, int64_t begin, int64_t end, const int32_t *picks, int64_t count) {
    const pc_sample_job *job = s->job;
    pc_far_point best = {.bits = PC_PICKED, .index = -1};
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
            bits = s->update(job->x + i, job->y + i, job->z + i, s->nearest + i, n, position);
        }
        if (bits > best.bits) {
            best.bits = bits;
            where = i;
        }
    }
    if (best.bits != PC_PICKED) {
        while (s->nearest[where] != best.bits) {
            where++;
        }
        best.index = (int32_t)where;
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
static pc_far_point agree(const sampler *s, pc_far_point mine, int64_t round, int thread, int team) {
    candidate *all = s->candidates + (round & 1) * team;
    all[thread].bits = mine.bits;
    all[thread].index = mine.index;
    atomic_store_explicit(&all[thread].round, round, memory_order_release);
    pc_far_point best = {.bits = PC_PICKED, .index = -1};
    for (int t = 0; t < team; t++) {
        wait_for(&all[t].round, round);
        if (all[t].bits > best.bits) {
            best = (pc_far_point){.bits = all[t].bits, .index = all[t].index};
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
    pc_far_point pick = {.bits = PC_INFINITE, .index = (int32_t)job->start};
    int64_t picked = 0, round = 0;
    if (job->seed_count) {
        pick = search_range(s, begin, end, job->seeds, job->seed_count);
        pick = team > 1 ? agree(s, pick, ++round, thread, team) : pick;
    }
    while (!pc_sampling_ends(job, picked, pick)) {
        if (thread == 0) {
            job->indices[picked] = pick.index;
            job->squared[picked] = pc_bits_float(pick.bits);
        }
        picked++;
        pick = search_range(s, begin, end, &pick.index, 1);
        pick = team > 1 ? agree(s, pick, ++round, thread, team) : pick;
    }
    if (thread == 0) {
        pc_end_sampling(job, picked, pick);
    }
}

/* Samples one cloud by the plain loop with a team of threads; false when memory is short. */
static bool sample_plainly(pc_sample_job *job, update_fn *form, int team) {
    sampler s = {.job = job, .update = form};
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

/* The figures below are least times of three runs of either way with AVX-512 on a 2.5 GHz Xeon that others used as
 * well, on a LiDAR scan and a random cube, 64 to 1,000,000 points and 8 to 16,384 picks. They are meant for choosing:
 * within a factor of two or so of most times, with the way chosen the faster one except where both take about as long.
 */

/* 0.2 to 0.4 ns a point and pick in the caches, 0.7 and more beyond. */
static double seconds_plain(int64_t n, int64_t rounds) {
    return 0.5e-9 * (double)n * (double)rounds;
}

/* 40 to 90 ns a point to sort and for the first picks, which reach everything. A later pick looks at a few buckets: 0.2
 * us with 1,024 points, 1 us with 120,000. */
static double seconds_buckets(int64_t n, int64_t rounds) {
    return 50e-9 * (double)n + 0.1e-6 * fmax(1.0, log2((double)n) - 8.0) * (double)rounds;
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

/* Threads for the plain loop on a cloud, or 0 for buckets, which take one. */
static int choose_team(const pc_sample_job *job, const pc_sample_form *form, int threads) {
    int team = team_size(threads, job->n, form->points_a_thread);
    if (form->algorithm != PC_SAMPLE_CHOOSE) {
        return form->algorithm == PC_SAMPLE_BUCKETS ? 0 : team;
    }
    double plain = seconds_plain(job->n, rounds_of(job)) / team;
    if (team > 1) { /* must win twice over: it takes all cores, and is far slower when others use them */
        plain = 2.0 * (plain + WAIT_SECONDS * (double)job->count);
    }
    return seconds_buckets(job->n, rounds_of(job)) < plain ? 0 : team;
}

static bool sample_cloud(pc_sample_job *job, const pc_sample_form *form, int threads) {
    int team = choose_team(job, form, threads);
    return team == 0 ? pc_sample_by_buckets(job, form->simd, form->bucket_points)
                     : sample_plainly(job, update_for(form->simd), team);
}

pcgpu_status pc_cpu_sample_as(pcgpu_context *context, pc_sample_job *jobs, int count, const pc_sample_form *form) {
    int64_t largest = 0;
    int failed = 0, widest = 1;
    for (int i = 0; i < count; i++) {
        int team = choose_team(&jobs[i], form, context->threads);
        widest = team > widest ? team : widest;
        largest = jobs[i].n > largest ? jobs[i].n : largest;
    }
    if (count > 1 && (count >= context->threads || widest == 1)) {
#pragma omp parallel for num_threads(context->threads) schedule(dynamic, 1) reduction(+ : failed)
        for (int i = 0; i < count; i++) {
            failed += !sample_cloud(&jobs[i], form, 1);
        }
    } else {
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
