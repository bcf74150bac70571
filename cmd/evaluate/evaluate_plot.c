/* The errors of each pose, and their charts: evaluate --plot. */
#include "evaluate.h"
#include "plot.h"
#include "transform.h"
#include "view_math.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEGREES 57.29577951308232

enum { WIDTH = 1280, HEIGHT = 960 };

/* ---- the errors of each pose ------------------------------------------------------------------------------------- */

static bool is_there(const double T[16]) {
    bool finite = true;
    for (int i = 0; i < 16; i++) {
        finite = finite && T[i] - T[i] == 0;
    }
    return finite;
}

static double length_of(const double v[3]) {
    return sqrt((v[0] * v[0] + v[1] * v[1]) + v[2] * v[2]);
}

/* The distance of the true position from the estimated one, which T moves to it. */
static double position_error(const double T[16], const double *estimate, const double *truth) {
    const double from[3] = {estimate[3], estimate[7], estimate[11]};
    double d[3];
    pc_transform_apply(T, from, d);
    for (int k = 0; k < 3; k++) {
        d[k] -= truth[4 * k + 3];
    }
    return length_of(d);
}

/* The angle between what the estimate turned by since the first pose, and what the truth did. */
static double rotation_error(const double *first[2], const double *estimate, const double *truth) {
    double A[16], B[16], C[16];
    pc_transform_between(first[0], estimate, A);
    pc_transform_between(first[1], truth, B);
    pc_transform_between(A, B, C);
    const double axis[3] = {C[9] - C[6], C[2] - C[8], C[4] - C[1]};
    return DEGREES * (double)pc_atan2((float)length_of(axis), (float)(((C[0] + C[5]) + C[10]) - 1));
}

void pose_errors_fill(pose_errors *e, const double *estimate, const double *truth, int64_t count) {
    const double *first[2] = {NULL, NULL}, *before = NULL;
    double path = 0;
    e->path = heap_zeroed((size_t)count, 3 * sizeof *e->path);
    e->count = count;
    e->metres = e->path + count;
    e->degrees = e->metres + count;
    for (int64_t i = 0; i < count; i++) {
        const double *T = estimate + 16 * i, *U = truth + 16 * i;
        const bool there = is_there(U), both = there && is_there(T);
        if (there && before) {
            const double step[3] = {U[3] - before[3], U[7] - before[7], U[11] - before[11]};
            path += length_of(step);
        }
        before = there ? U : before;
        if (both) {
            first[0] = first[0] ? first[0] : T;
            first[1] = first[1] ? first[1] : U;
        }
        e->path[i] = path;
        e->metres[i] = both ? position_error(e->all.T_truth_estimate, T, U) : NAN;
        e->degrees[i] = both ? rotation_error(first, T, U) : NAN;
    }
}

void pose_errors_free(pose_errors *e) {
    free(e->path);
    *e = (pose_errors){0};
}

/* ---- the charts -------------------------------------------------------------------------------------------------- */

/* Segments by their length, in ascending order: the lengths of KITTI, and the shorter ones. */
typedef struct segment_curves {
    double length[2][PCGPU_SEGMENTS], translation[2][PCGPU_SEGMENTS], rotation[2][PCGPU_SEGMENTS];
    int count[2];
} segment_curves;

static void take_segments(const pcgpu_evaluation *e, segment_curves *c) {
    for (int i = 0; i < PCGPU_SEGMENTS; i++) {
        const pcgpu_segment_error *g = &e->segments[i];
        const int kind = g->length < 100.0;
        if (g->count > 0) {
            const int n = c->count[kind]++;
            c->length[kind][n] = g->length;
            c->translation[kind][n] = 100.0 * g->translation;
            c->rotation[kind][n] = 100.0 * g->rotation * DEGREES;
        }
    }
}

static void add_segments(pc_chart *chart, segment_curves *c, double (*values)[PCGPU_SEGMENTS], double mean) {
    static const char *const names[] = {"segments of KITTI", "short segments"};
    chart->x_name = "length of a segment";
    chart->x_unit = "m";
    chart->curve_count = 2;
    for (int kind = 0; kind < 2; kind++) {
        chart->curves[kind] = (pc_curve){
            .name = names[kind], .x = c->length[kind], .y = values[kind], .count = c->count[kind], .marks = true};
    }
    chart->levels[0] = (pc_level){"mean of KITTI", mean};
    chart->level_count = 1;
}

static pc_chart along_path(const pose_errors *e, const char *title, const char *unit, const double *values) {
    return (pc_chart){.title = title,
                      .unit = unit,
                      .x_name = "path",
                      .x_unit = "m",
                      .curves = {{.name = "error", .x = e->path, .y = values, .count = e->count}},
                      .curve_count = 1};
}

int evaluate_plot(const session *s, FILE *stream, const pose_errors *e) {
    const pcgpu_evaluation *all = &e->all;
    const char *name = output_shown(s->options->plot);
    segment_curves segments = {.count = {0}};
    pc_picture picture = {0};
    char caption[256];
    pc_chart charts[4] = {along_path(e, "absolute trajectory error after rigid alignment", "m", e->metres),
                          along_path(e, "rotation error since the first pose", "degree", e->degrees),
                          {.title = "translation error of segments", .unit = "%"},
                          {.title = "rotation error of segments", .unit = "degree/100 m"}};
    charts[0].levels[0] = (pc_level){"RMSE", all->ate_rmse};
    charts[0].levels[1] = (pc_level){"mean", all->ate_mean};
    charts[0].levels[2] = (pc_level){"median", all->ate_median};
    charts[0].level_count = 3;
    take_segments(all, &segments);
    add_segments(&charts[2], &segments, segments.translation, 100.0 * all->segment_translation);
    add_segments(&charts[3], &segments, segments.rotation, 100.0 * all->segment_rotation * DEGREES);
    snprintf(caption, sizeof caption, "%.80s against %.80s: %lld poses, %lld missing, %.1f m", path_base(s->inputs[0]),
             path_base(s->options->ground_truth), (long long)all->poses, (long long)all->missing, all->length);
    const bool some = segments.count[0] + segments.count[1] > 0; /* else the path is too short for them */
    pcgpu_status status =
        pc_plot(s->context, caption, charts, some ? 4 : 2, WIDTH, some ? HEIGHT : HEIGHT / 2, &picture);
    status = status == PCGPU_OK ? pc_picture_write(s->context, stream, name, &picture) : status;
    pc_picture_free(&picture);
    return exit_code_of(status, name, s->context);
}
