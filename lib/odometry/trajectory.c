/* Errors of a trajectory: absolute and relative, as the field defines them (Sturm et al. 2012, Geiger et al. 2012). */
#include "pose.h"
#include "odometry.h"
#include "solve.h"

#include <stdlib.h>
#include <string.h>

enum { LONG_SEGMENTS = 8, SEGMENT_STEP = 10 };

static const double lengths[PCGPU_SEGMENTS] = {100, 200, 300, 400, 500, 600, 700, 800, 5, 10, 20, 50};

/* The true poses, one after the other. */
typedef struct common_poses {
    int64_t n, both;
    const double **estimate, **truth; /* NULL: the estimate has none */
    double *times;                    /* NULL without */
    double *path;                     /* metres along the true path */
} common_poses;

static bool is_there(const double T[16]) {
    for (int i = 0; i < 16; i++) {
        if (!(T[i] - T[i] == 0.0)) {
            return false;
        }
    }
    return true;
}

static double distance(const double *a, const double *b) {
    const double path[3] = {a[3] - b[3], a[7] - b[7], a[11] - b[11]};
    return pc_norm3(path);
}

static pcgpu_status find_common(pcgpu_context *context, const double *estimate, const double *truth,
                                const double *times, int64_t count, common_poses *c, int64_t *missing) {
    const size_t n = (size_t)count + 1;
    *c = (common_poses){.estimate = malloc(n * sizeof *c->estimate),
                        .truth = malloc(n * sizeof *c->truth),
                        .times = times ? malloc(n * sizeof *c->times) : NULL,
                        .path = malloc(n * sizeof *c->path)};
    if (!c->estimate || !c->truth || (times && !c->times) || !c->path) {
        return pc_fail_memory(context, 4 * 8 * n, "the trajectories");
    }
    for (int64_t i = 0; i < count; i++) {
        const double *T = is_there(estimate + 16 * i) ? estimate + 16 * i : NULL, *U = truth + 16 * i;
        if (is_there(U)) {
            c->path[c->n] = c->n ? c->path[c->n - 1] + distance(c->truth[c->n - 1], U) : 0.0;
            if (times) {
                c->times[c->n] = times[i];
            }
            c->both += T != NULL;
            c->estimate[c->n] = T;
            c->truth[c->n++] = U;
        }
    }
    *missing = c->n - c->both;
    if (c->both < 2) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld poses in common; at least 2 are needed",
                       (long long)c->both);
    }
    return PCGPU_OK;
}

static void free_common(common_poses *c) {
    free(c->estimate);
    free(c->truth);
    free(c->times);
    free(c->path);
}

/* ---- absolute ------------------------------------------------------------------------------------------------ */

/* The rotation is the same as Umeyama's. */
static void align_positions(const common_poses *c, double T[16]) {
    double center[2][3] = {{0}}, S[9] = {0}, q[4], R[9], t[3];
    for (int64_t i = 0; i < c->n; i++) {
        for (int k = 0; k < 3 && c->estimate[i]; k++) {
            center[0][k] += c->estimate[i][4 * k + 3] / (double)c->both;
            center[1][k] += c->truth[i][4 * k + 3] / (double)c->both;
        }
    }
    for (int64_t i = 0; i < c->n; i++) {
        for (int k = 0; k < 9 && c->estimate[i]; k++) {
            S[k] += (c->estimate[i][4 * (k / 3) + 3] - center[0][k / 3]) *
                    (c->truth[i][4 * (k % 3) + 3] - center[1][k % 3]);
        }
    }
    pc_align_rotation(S, 30, q);
    pc_quaternion_matrix(q, R);
    for (int k = 0; k < 3; k++) {
        t[k] = center[1][k] - ((R[3 * k] * center[0][0] + R[3 * k + 1] * center[0][1]) + R[3 * k + 2] * center[0][2]);
    }
    pc_transform_compose(R, t, T);
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static pcgpu_status absolute(pcgpu_context *context, const common_poses *c, pcgpu_evaluation *e) {
    const int64_t n = c->both;
    double *errors = malloc((size_t)n * sizeof *errors), square = 0.0, sum = 0.0;
    if (!errors) {
        return pc_fail_memory(context, (uint64_t)n * 8, "the errors");
    }
    align_positions(c, e->T_truth_estimate);
    for (int64_t i = 0, to = 0; i < c->n; i++) {
        double moved[16];
        if (c->estimate[i]) {
            pc_transform_multiply(e->T_truth_estimate, c->estimate[i], moved);
            errors[to] = distance(moved, c->truth[i]);
            square += errors[to] * errors[to];
            sum += errors[to++];
        }
    }
    qsort(errors, (size_t)n, sizeof *errors, ascending);
    e->ate_rmse = sqrt(square / (double)n);
    e->ate_mean = sum / (double)n;
    e->ate_median = 0.5 * (errors[(n - 1) / 2] + errors[n / 2]);
    e->ate_max = errors[n - 1];
    free(errors);
    return PCGPU_OK;
}

/* ---- relative ------------------------------------------------------------------------------------------------ */

/* The error of the motion from pose i to pose j: metres and radians of (true motion)^-1 (estimated motion). */
static void motion_error(const common_poses *c, int64_t i, int64_t j, double *metres, double *radians) {
    double truth[16], estimate[16], error[16];
    pc_transform_between(c->truth[i], c->truth[j], truth);
    pc_transform_between(c->estimate[i], c->estimate[j], estimate);
    pc_transform_between(truth, estimate, error);
    *metres = pc_transform_length(error);
    *radians = pcgpu_rotation_angle(error);
}

static bool has_both(const common_poses *c, int64_t i, int64_t j) {
    return c->estimate[i] && c->estimate[j];
}

/* RMSE over pairs of poses that are one apart, or a second. */
static int64_t relative(const common_poses *c, bool second, double *metres, double *radians) {
    double square[2] = {0};
    int64_t count = 0;
    for (int64_t i = 0, j = 1; i < c->n; i++) {
        j = second ? j : i + 1;
        while (second && j < c->n && (c->times[j] - c->times[i] < 1.0 - 1e-6 || !c->estimate[j])) {
            j++;
        }
        /* after a gap there is none a second later */
        if (j < c->n && has_both(c, i, j) && !(second && c->times[j] - c->times[i] > 1.5)) {
            double m, r;
            motion_error(c, i, j, &m, &r);
            square[0] += m * m;
            square[1] += r * r;
            count++;
        }
    }
    *metres = count ? sqrt(square[0] / (double)count) : NAN;
    *radians = count ? sqrt(square[1] / (double)count) : NAN;
    return count;
}

/* Means over pieces of one length that begin at every tenth true pose, at every one for the short lengths; without
 * those that begin or end at a missing one. */
static void measure_segments(const common_poses *c, int which, pcgpu_segment_error *s, double sums[2]) {
    const double length = lengths[which];
    const int64_t step = which < LONG_SEGMENTS ? SEGMENT_STEP : 1;
    double sum[2] = {0};
    *s = (pcgpu_segment_error){.length = length};
    for (int64_t i = 0, j = 0; i < c->n; i += step) {
        while (j < c->n && !(c->path[j] > c->path[i] + length)) {
            j++;
        }
        if (j == c->n) {
            break;
        }
        if (has_both(c, i, j)) {
            double m, r;
            motion_error(c, i, j, &m, &r);
            sum[0] += m / length;
            sum[1] += r / length;
            s->count++;
        }
    }
    s->translation = s->count ? sum[0] / (double)s->count : NAN;
    s->rotation = s->count ? sum[1] / (double)s->count : NAN;
    sums[0] += sum[0];
    sums[1] += sum[1];
}

static void segments(const common_poses *c, pcgpu_evaluation *e) {
    double sums[2][2] = {{0}};
    int64_t counts[2] = {0};
    bool use_short = e->length < lengths[LONG_SEGMENTS - 1];
    for (int i = 0; i < PCGPU_SEGMENTS; i++) {
        const int kind = i >= LONG_SEGMENTS;
        if (kind == 0 || use_short) {
            measure_segments(c, i, &e->segments[i], sums[kind]);
            counts[kind] += e->segments[i].count;
        } else {
            e->segments[i] = (pcgpu_segment_error){.length = lengths[i], .translation = NAN, .rotation = NAN};
        }
    }
    e->segment_translation = counts[0] ? sums[0][0] / (double)counts[0] : NAN;
    e->segment_rotation = counts[0] ? sums[0][1] / (double)counts[0] : NAN;
    e->short_translation = counts[1] ? sums[1][0] / (double)counts[1] : NAN;
    e->short_rotation = counts[1] ? sums[1][1] / (double)counts[1] : NAN;
}

pcgpu_status pcgpu_trajectory_evaluate(pcgpu_context *context, const double *estimate, const double *truth,
                                       const double *times, int64_t count, pcgpu_evaluation *e) {
    common_poses c = {0};
    *e = (pcgpu_evaluation){0};
    pc_clear_error(context);
    if (count < 0 || count >= INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld poses", (long long)count);
    }
    pcgpu_status status;
    PC_TRY_OR(done, status, find_common(context, estimate, truth, times, count, &c, &e->missing));
    e->poses = c.both;
    e->length = c.path[c.n - 1];
    PC_TRY_OR(done, status, absolute(context, &c, e));
    e->rpe_count = relative(&c, false, &e->rpe_translation, &e->rpe_rotation);
    e->rpe_second_translation = e->rpe_second_rotation = NAN;
    if (times) {
        e->rpe_second_count = relative(&c, true, &e->rpe_second_translation, &e->rpe_second_rotation);
    }
    segments(&c, e);
done:
    if (status != PCGPU_OK) {
        *e = (pcgpu_evaluation){0};
    }
    free_common(&c);
    return status;
}
