/* Loops: poses in the world of measured positions, such as those of GNSS, and corrected by them. */
#include "error.h"
#include "jacobi.h"
#include "loops.h"
#include "solve.h"

#include <stdlib.h>
#include <string.h>

#define KERNEL   3.0  /* of Geman and McClure's kernel, in standard deviations */
#define NARROWER 1.4  /* from round to round */
#define OUTLIER  0.1  /* the weight of one is less */
#define TILT     0.1  /* radians: deviation of the odometry's z axis from up */
#define DRIFT    0.01 /* of the extent of the path: what its shape is off, when it is aligned as a whole */
#define OPEN     1e6  /* deviation of what an edge leaves open */

enum { ALIGNMENTS = 50, ROUNDS = 100, ITERATIONS = 50, SWEEPS = 30 };

typedef struct anchor {
    pcgpu_loops *loops;
    const pcgpu_position *positions;
    int64_t count;
    double antenna[16];     /* T_sensor_antenna */
    double *off;            /* of each position, in standard deviations */
    double *poses;          /* the world, then each frame's antenna */
    pcgpu_pose_edge *edges; /* of the positions, of the first pose, and of the loops */
} anchor;

static pcgpu_status check(anchor *a) {
    const pcgpu_loops *l = a->loops;
    int64_t frame = 0;
    if (l->backend || l->solved < l->frames) {
        return pc_fail(l->context, PCGPU_ERROR_ARGUMENT, "positions are for loops of scans, after pcgpu_loops_solve");
    }
    if (a->count < 3) {
        return pc_fail(l->context, PCGPU_ERROR_ARGUMENT,
                       "%lld scans with a pose have a position; give 3 or more, in the clock of the scans",
                       (long long)a->count);
    }
    for (int64_t i = 0; i < a->count; i++) {
        const pcgpu_position *p = &a->positions[i];
        while (frame < l->frames && l->ids[frame] != p->id) {
            frame++;
        }
        a->edges[i] = (pcgpu_pose_edge){.from = 0, .to = ++frame, .sigma = {OPEN, 0.0}};
        if (frame > l->frames || !(fabs(p->at[0]) + fabs(p->at[1]) + fabs(p->at[2]) < 1e12) ||
            !(p->sigma > 1e-6 && p->sigma < 1e6)) {
            return pc_fail(l->context, PCGPU_ERROR_ARGUMENT,
                           "position %lld, of frame %lld: %g %g %g with a deviation of %g m; give frames that were "
                           "added, in their order, and finite metres",
                           (long long)i, (long long)p->id, p->at[0], p->at[1], p->at[2], p->sigma);
        }
    }
    return PCGPU_OK;
}

/* The position relative to the first one, which keeps the digits of large coordinates. */
static void position_of(const anchor *a, int64_t i, double to[3]) {
    for (int k = 0; k < 3; k++) {
        to[k] = a->positions[i].at[k] - a->positions[0].at[k];
    }
}

/* How far the antenna, with its poses moved by T, is from each position. */
static void measure(anchor *a, const double T[16]) {
    for (int64_t i = 0; i < a->count; i++) {
        const double *pose = a->poses + 16 * a->edges[i].to, at[3] = {pose[3], pose[7], pose[11]};
        double to[3], d[3];
        position_of(a, i, to);
        pc_transform_apply(T, at, d);
        for (int k = 0; k < 3; k++) {
            d[k] -= to[k];
        }
        a->off[i] = pc_norm3(d) / a->positions[i].sigma;
    }
}

/* ---- alignment --------------------------------------------------------------------------------------------------- */

/* Weighted means and second moments of the antenna, relative to its first position, and of the positions. */
typedef struct moments {
    double mean[6], C[6][6], variance;
} moments;

static moments moments_of(const anchor *a) {
    const double *first = a->poses + 16 * a->edges[0].to;
    double v[6], sum = 0.0;
    moments m = {{0}, {{0}}, 0.0};
    for (int64_t i = 0; i < a->count; i++) {
        const double *pose = a->poses + 16 * a->edges[i].to, sigma = a->positions[i].sigma,
                     w = 1.0 / (sigma * sigma * fmax(a->off[i], 1.0));
        position_of(a, i, v + 3);
        for (int k = 0; k < 3; k++) {
            v[k] = pose[4 * k + 3] - first[4 * k + 3];
        }
        for (int k = 0; k < 36; k++) {
            m.C[k / 6][k % 6] += w * v[k / 6] * v[k % 6];
            m.mean[k / 6] += k % 6 == 0 ? w * v[k / 6] : 0.0;
        }
        m.variance += w * sigma * sigma;
        sum += w;
    }
    m.variance /= sum;
    for (int k = 0; k < 6; k++) {
        m.mean[k] /= sum;
    }
    for (int k = 0; k < 36; k++) {
        m.C[k / 6][k % 6] = m.C[k / 6][k % 6] / sum - m.mean[k / 6] * m.mean[k % 6];
    }
    return m;
}

/* The rotation and translation of least distances. That the z axis of the odometry is up counts as three positions that
 * are as far off as the drift. *line: it decides the rotation about the main axis of the path. */
static void align_moments(const anchor *a, const moments *m, double T[16], bool *line) {
    const double *first = a->poses + 16 * a->edges[0].to, extent = m->C[0][0] + m->C[1][1] + m->C[2][2],
                 up = fmax(m->variance, DRIFT * DRIFT * extent) / (3.0 * TILT * TILT);
    double S[9], own[9], axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, q[4], R[9], t[3];
    for (int k = 0; k < 9; k++) {
        S[k] = m->C[k / 3][3 + k % 3] + (k == 8 ? up : 0.0);
        own[k] = m->C[k / 3][k % 3];
    }
    pc_jacobi(3, SWEEPS, own, axes);
    *line = extent - fmax(own[0], fmax(own[4], own[8])) - fmin(own[0], fmin(own[4], own[8])) < up;
    pc_align_rotation(S, SWEEPS, q);
    pc_quaternion_matrix(q, R);
    for (int k = 0; k < 3; k++) {
        t[k] = m->mean[3 + k];
        for (int c = 0; c < 3; c++) {
            t[k] -= R[3 * k + c] * (m->mean[c] + first[4 * c + 3]);
        }
    }
    pc_transform_compose(R, t, T);
}

static pcgpu_status align(anchor *a, pcgpu_anchor_result *result) {
    moments m;
    for (int64_t i = 0; i < a->count; i++) {
        a->off[i] = 1.0;
    }
    for (int round = 0; round < ALIGNMENTS; round++) {
        m = moments_of(a);
        align_moments(a, &m, result->T_prior_world, &result->line);
        measure(a, result->T_prior_world);
    }
    const double spread = m.C[3][3] + m.C[4][4];
    return spread >= m.variance
               ? PCGPU_OK
               : pc_fail(a->loops->context, PCGPU_ERROR_ARGUMENT,
                         "the positions extend by %.3g m, which is less than their deviation of %.3g "
                         "m, and give no direction; give those of a longer path, or a smaller deviation",
                         sqrt(fmax(spread, 0.0)), sqrt(m.variance));
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

/* The edges at the present poses. Returns how many. */
static int64_t make_edges(anchor *a) {
    const int64_t first = a->count + 1, count = first + pc_loops_edges(a->loops, a->edges + first);
    a->edges[a->count] = (pcgpu_pose_edge){.from = 0, .to = 1, .sigma = {TILT, OPEN}};
    for (int64_t i = 0; i < first; i++) {
        pcgpu_pose_edge *e = &a->edges[i];
        double to[3];
        memcpy(e->T_from_to, a->poses + 16 * e->to, sizeof e->T_from_to);
        for (int k = 0; k < 3 && i < a->count; k++) {
            position_of(a, i, to);
            e->T_from_to[4 * k + 3] = to[k];
        }
    }
    for (int64_t i = first; i < count; i++) {
        pcgpu_pose_edge *e = &a->edges[i];
        e->from++;
        e->to++;
        pc_transform_multiply(e->T_from_to, a->antenna, e->T_from_to);
        pc_transform_between(a->antenna, e->T_from_to, e->T_from_to);
    }
    return count;
}

static double weight_of(double off) {
    const double w = KERNEL * KERNEL / (KERNEL * KERNEL + off * off);
    return fmax(w * w, 1e-15);
}

/* Solves the graph with the weights of the last solution, again and again. Deviations begin as large as the alignment
 * is off, and narrow: else a path bends to outliers while it is far from all positions. */
static pcgpu_status solve(anchor *a, pcgpu_anchor_result *result) {
    const int64_t count = make_edges(a);
    double change = 1.0, sum = 0.0, square = 0.0;
    for (int64_t i = 0; i < a->count; i++) { /* the harmonic mean, which outliers do not enlarge */
        sum += 1.0 / fmax(a->off[i], 1.0);
    }
    double wider = fmax(1.0, 2.0 * (double)a->count / sum);
    for (int round = 0; round < ROUNDS && change > 1e-8; round++) {
        change = 0.0;
        for (int64_t i = 0; i < a->count; i++) {
            double *sigma = &a->edges[i].sigma[1];
            const double next = a->positions[i].sigma * wider / sqrt(weight_of(a->off[i] / wider));
            change = fmax(change, fabs(next / *sigma - 1.0)); /* infinite at first */
            *sigma = next;
        }
        PC_TRY(pcgpu_pose_graph_solve(a->loops->context, a->poses, a->loops->frames + 1, a->edges, count, ITERATIONS,
                                      &result->graph));
        measure(a, pc_identity);
        wider = fmax(1.0, wider / NARROWER);
    }
    for (int64_t i = 0; i < a->count; i++) {
        const bool outlier = weight_of(a->off[i]) < OUTLIER;
        const double metres = outlier ? 0.0 : a->off[i] * a->positions[i].sigma;
        result->outliers += outlier;
        square += metres * metres;
    }
    result->rms = sqrt(square / fmax(1.0, (double)(a->count - result->outliers)));
    return PCGPU_OK;
}

static pcgpu_status run(anchor *a, pcgpu_anchor_result *result) {
    pcgpu_loops *l = a->loops;
    double back[16];
    PC_TRY(check(a));
    pc_transform_invert(a->antenna, back);
    memcpy(a->poses, pc_identity, sizeof pc_identity);
    for (int64_t i = 0; i < l->frames; i++) {
        pc_transform_multiply(l->poses + 16 * i, a->antenna, a->poses + 16 * (i + 1));
    }
    PC_TRY(align(a, result));
    for (int64_t i = 1; i <= l->frames; i++) {
        pc_transform_multiply(result->T_prior_world, a->poses + 16 * i, a->poses + 16 * i);
    }
    PC_TRY(solve(a, result));
    for (int64_t i = 0; i <= l->frames; i++) {
        double *T = i < l->frames ? l->poses + 16 * i : result->T_prior_world;
        if (i < l->frames) {
            pc_transform_multiply(a->poses + 16 * (i + 1), back, T);
        }
        for (int k = 0; k < 3; k++) {
            T[4 * k + 3] += a->positions[0].at[k];
        }
    }
    pc_loops_describe(l);
    return PCGPU_OK;
}

pcgpu_status pcgpu_loops_anchor(pcgpu_loops *l, const pcgpu_position *positions, int64_t count, const double antenna[3],
                                pcgpu_anchor_result *result) {
    const size_t n = count > 0 ? (size_t)count : 0, poses = (size_t)l->frames + 1,
                 bytes = (poses + (size_t)l->link_count + n + 1) * sizeof(pcgpu_pose_edge);
    anchor a = {.loops = l, .positions = positions, .count = count};
    *result = (pcgpu_anchor_result){0};
    pc_clear_error(l->context);
    memcpy(a.antenna, pc_identity, sizeof a.antenna);
    for (int k = 0; k < 3 && antenna; k++) {
        a.antenna[4 * k + 3] = antenna[k];
    }
    a.off = malloc((n + 16 * poses) * sizeof *a.off);
    a.poses = a.off + n;
    a.edges = malloc(bytes);
    const pcgpu_status status = a.off && a.edges ? run(&a, result) : pc_fail_memory(l->context, bytes, "the positions");
    free(a.off);
    free(a.edges);
    return status;
}
