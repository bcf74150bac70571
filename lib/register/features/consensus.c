/* Registration: transforms on which many matches agree.
 *
 * Two matches are compatible when their points have the same distance in both clouds. Wrong matches are compatible by
 * chance, but those that are right are compatible with the same others as well: what counts for a pair of matches is
 * how many third ones are compatible with both (second-order spatial compatibility, SC2-PCR, Chen et al. 2022). Each of
 * the matches with the most compatible others is a seed; those that share most with it give a transform, by the least
 * squares of Horn (1987); the matches that lie on each other by it are counted, and give the next one. Counts are
 * integers and nothing is drawn at random. */
#include "register_features.h"
#include "solve.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORDS = PC_MATCHES_MOST / 64,
    SEEDS = 128,
    ROUNDS = 4, /* of a transform and the matches that lie on each other by it */
    FEWEST = 4, /* matches of a transform */
    PART = 16,
    SWEEPS = 8, /* of Jacobi's method */
};

#define COMPATIBLE 1.5  /* voxels by which distances differ at most */
#define SHORTEST   3.0  /* voxels between points of a match: shorter distances are alike anyway */
#define ON_OTHER   2.0  /* voxels between the points of a match that agrees */
#define SHARED     0.5  /* of the most common compatible matches of a seed: a match that shares as many belongs to it */
#define APART_DOT  0.97 /* of quaternions, 28 degrees */

typedef struct candidate {
    pc_pose pose;
    int agree, seed;
} candidate;

typedef struct consensus {
    const pc_features *source, *target;
    const pc_match *matches;
    int count, seed_count;
    uint64_t (*compatible)[WORDS];
    int *degrees, *order; /* how many are compatible with each; the matches by that */
    candidate *candidates;
} consensus;

static const float *source_of(const consensus *c, int i) {
    return c->source->points.xyz + 3 * (int64_t)c->matches[i].source;
}

static const float *target_of(const consensus *c, int i) {
    return c->target->points.xyz + 3 * (int64_t)c->matches[i].target;
}

static float distance(const float *a, const float *b) {
    return sqrtf(pc_squared_distance(a[0], a[1], a[2], b[0], b[1], b[2]));
}

static bool has(const uint64_t *bits, int i) {
    return bits[i / 64] >> (i % 64) & 1;
}

static void compare_range(void *state, int64_t begin, int64_t end) {
    const consensus *c = state;
    const float most = (float)(COMPATIBLE * c->source->voxel), least = (float)(SHORTEST * c->source->voxel);
    for (int64_t i = begin; i < end; i++) {
        uint64_t *bits = c->compatible[i];
        memset(bits, 0, sizeof *c->compatible);
        c->degrees[i] = 0;
        for (int j = 0; j < c->count; j++) {
            const float a = distance(source_of(c, (int)i), source_of(c, j));
            const float b = distance(target_of(c, (int)i), target_of(c, j));
            if (fabsf(a - b) <= most && a >= least && b >= least) {
                bits[j / 64] |= (uint64_t)1 << (j % 64);
                c->degrees[i]++;
            }
        }
    }
}

static int common(const consensus *c, int i, int j) {
    int sum = 0;
    for (int k = 0; k < (c->count + 63) / 64; k++) {
        sum += __builtin_popcountll(c->compatible[i][k] & c->compatible[j][k]);
    }
    return sum;
}

/* The pose that lays the chosen matches on each other by least squares; false when there are too few. */
static bool fit(const consensus *c, const uint64_t chosen[WORDS], pc_pose *pose) {
    double mean[2][3] = {{0}}, S[9] = {0}, n = 0.0;
    for (int i = 0; i < c->count; i++) {
        for (int k = 0; k < 3 && has(chosen, i); k++) {
            mean[0][k] += (double)source_of(c, i)[k];
            mean[1][k] += (double)target_of(c, i)[k];
            n += k == 0;
        }
    }
    if (n < FEWEST) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        mean[0][k] /= n;
        mean[1][k] /= n;
    }
    for (int i = 0; i < c->count; i++) {
        for (int k = 0; k < 9 && has(chosen, i); k++) {
            S[k] +=
                ((double)source_of(c, i)[k / 3] - mean[0][k / 3]) * ((double)target_of(c, i)[k % 3] - mean[1][k % 3]);
        }
    }
    pc_align_rotation(S, SWEEPS, pose->q);
    pc_quaternion_normalize(pose->q);
    double turned[3];
    pc_quaternion_rotate(pose->q, mean[0], turned);
    for (int k = 0; k < 3; k++) {
        pose->t[k] = mean[1][k] - turned[k];
    }
    return true;
}

/* The matches whose points lie on each other by a pose; how many. */
static int choose_near(const consensus *c, const pc_pose *pose, uint64_t chosen[WORDS]) {
    double R[9];
    const double most = ON_OTHER * c->source->voxel;
    int found = 0;
    pc_quaternion_matrix(pose->q, R);
    memset(chosen, 0, WORDS * sizeof *chosen);
    for (int i = 0; i < c->count; i++) {
        const float *s = source_of(c, i), *t = target_of(c, i);
        double square = 0.0;
        for (int k = 0; k < 3; k++) {
            const double d = ((R[3 * k] * (double)s[0] + R[3 * k + 1] * (double)s[1]) + R[3 * k + 2] * (double)s[2]) +
                             pose->t[k] - (double)t[k];
            square += d * d;
        }
        if (square <= most * most) {
            chosen[i / 64] |= (uint64_t)1 << (i % 64);
            found++;
        }
    }
    return found;
}

/* The transform of a seed. */
static void try_seed(void *state, int64_t begin, int64_t end) {
    const consensus *c = state;
    for (int64_t s = begin; s < end; s++) {
        const int seed = c->order[s];
        candidate *to = &c->candidates[s];
        uint64_t chosen[WORDS] = {0};
        int shared[PC_MATCHES_MOST], most = 0;
        *to = (candidate){.seed = (int)s};
        for (int j = 0; j < c->count; j++) {
            shared[j] = has(c->compatible[seed], j) ? common(c, seed, j) : 0;
            most = shared[j] > most ? shared[j] : most;
        }
        for (int j = 0; j < c->count; j++) {
            if (j == seed || (shared[j] > 0 && (double)shared[j] >= SHARED * most)) {
                chosen[j / 64] |= (uint64_t)1 << (j % 64);
            }
        }
        for (int round = 0; round < ROUNDS; round++) {
            candidate next = {.seed = (int)s};
            if (!fit(c, chosen, &next.pose)) {
                break;
            }
            next.agree = choose_near(c, &next.pose, chosen);
            if (next.agree <= to->agree) {
                break;
            }
            *to = next;
        }
    }
}

static int by_degree(const consensus *c, int i, int j) {
    return c->degrees[i] != c->degrees[j] ? c->degrees[j] - c->degrees[i] : i - j;
}

/* The SEEDS matches that are compatible with most, best first. */
static void choose_seeds(consensus *c) {
    for (int i = 0; i < c->count; i++) {
        int at = c->seed_count < SEEDS ? c->seed_count++ : SEEDS;
        for (; at > 0 && by_degree(c, i, c->order[at - 1]) < 0; at--) {
            if (at < SEEDS) {
                c->order[at] = c->order[at - 1];
            }
        }
        if (at < SEEDS) {
            c->order[at] = i;
        }
    }
}

static int compare_candidates(const void *a, const void *b) {
    const candidate *p = a, *q = b;
    return p->agree != q->agree ? q->agree - p->agree : p->seed - q->seed;
}

static bool is_apart(const consensus *c, const candidate *a, const candidate *b) {
    const double *p = a->pose.q, *q = b->pose.q;
    const double turn = fabs(((p[0] * q[0] + p[1] * q[1]) + p[2] * q[2]) + p[3] * q[3]);
    double square = 0.0;
    for (int k = 0; k < 3; k++) {
        square += (a->pose.t[k] - b->pose.t[k]) * (a->pose.t[k] - b->pose.t[k]);
    }
    return turn < APART_DOT || sqrt(square) > 8.0 * c->source->voxel;
}

static void choose_starts(consensus *c, pc_start starts[PC_STARTS], int *found) {
    int kept[PC_STARTS];
    qsort(c->candidates, (size_t)c->seed_count, sizeof *c->candidates, compare_candidates);
    for (int i = 0; i < c->seed_count && *found < PC_STARTS && c->candidates[i].agree >= FEWEST; i++) {
        bool apart = true;
        for (int k = 0; k < *found; k++) {
            apart = apart && is_apart(c, &c->candidates[i], &c->candidates[kept[k]]);
        }
        if (apart) {
            kept[*found] = i;
            starts[*found] = (pc_start){.score = c->candidates[i].agree};
            pc_pose_matrix(&c->candidates[i].pose, starts[(*found)++].T);
        }
    }
}

pcgpu_status pc_features_agree(pcgpu_context *context, const pc_features *source, const pc_features *target,
                               const pc_match *matches, int count, pc_start starts[PC_STARTS], int *found) {
    consensus c = {.source = source, .target = target, .matches = matches, .count = count};
    c.compatible = malloc(PC_MATCHES_MOST * sizeof *c.compatible);
    c.degrees = malloc(PC_MATCHES_MOST * sizeof *c.degrees);
    c.order = malloc(SEEDS * sizeof *c.order);
    c.candidates = malloc(SEEDS * sizeof *c.candidates);
    *found = 0;
    const bool good = c.compatible && c.degrees && c.order && c.candidates;
    if (good) {
        pc_run_ranges(context, count, PART, compare_range, &c);
        choose_seeds(&c);
        pc_run_ranges(context, c.seed_count, 1, try_seed, &c);
        choose_starts(&c, starts, found);
    }
    free(c.compatible);
    free(c.degrees);
    free(c.order);
    free(c.candidates);
    PC_TRY(pc_check_cancelled(context));
    return good ? PCGPU_OK : pc_fail_memory(context, PC_MATCHES_MOST * sizeof *c.compatible, "the matches of features");
}
