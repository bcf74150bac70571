/* Method ndt: usable points of both clouds, parts of the source, layout of the target's grid. */
#include "threads.h"
#include "ndt.h"
#include "scan.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define OFF_ROUND 0.381966011250105 /* of a voxel; the golden section is far from all simple fractions */

enum {
    COARSE_LEAST = 8192,
    MIDDLE_LEAST = 16384,
    MIDDLE_MOST = 1 << 18,
};

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* Memory for the coordinates of so many points: what was given, or the back end's. */
static pcgpu_status take_memory(const pc_ndt_work *c, int which, size_t rows, float **out) {
    void *memory = c->memory[which];
    if (!memory) {
        PC_TRY(c->backend->ndt->memory(c->w->context, which, 3 * (rows ? rows : 1) * sizeof(float), &memory));
    }
    *out = memory;
    return PCGPU_OK;
}

enum { TARGET, SOURCE, CLOUDS };

static pcgpu_status prepare_selection(const pc_ndt_work *c, const pcgpu_cloud *cloud, int which, pc_points *to,
                                      pc_selection *s) {
    pcgpu_context *context = c->w->context;
    if (cloud->rows > INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld points; more than 2^31 are not possible",
                       (long long)cloud->rows);
    }
    float *memory = NULL;
    PC_TRY(take_memory(c, which, (size_t)cloud->rows, &memory));
    pc_selection_begin(context, cloud, c->w->params->drop_origin, memory, to, s);
    return PCGPU_OK;
}

/* A part of the target, or of the source after those. */
static void select_one(void *state, int i) {
    pc_selection *s = state;
    const int first = s[TARGET].count;
    pc_selection_part(i < first ? &s[TARGET] : &s[SOURCE], i < first ? i : i - first);
}

/* By one thread, beside others that do other pairs. */
static pcgpu_status select_alone(pc_ndt_work *c, pc_selection s[CLOUDS], pc_ndt_target_fn *then, pc_ndt_job *job) {
    pcgpu_run *run = &c->w->result->run;
    pc_run_parts(c->w->context, s[TARGET].count + s[SOURCE].count, select_one, s);
    pc_selection_end(&s[TARGET], run);
    pc_selection_end(&s[SOURCE], run);
    return then(c, job);
}

/* By all threads: `then` is called as soon as the points of the target are there. */
static pcgpu_status select_single(pc_ndt_work *c, pc_selection s[CLOUDS], pc_ndt_target_fn *then, pc_ndt_job *job) {
    pcgpu_context *context = c->w->context;
    if (!pc_context_team(context)) {
        return pc_fail_memory(context, sizeof(void *) * (size_t)context->threads, "the threads");
    }
    pc_team_begin(context->team, s[TARGET].count + s[SOURCE].count, select_one, s);
    while (atomic_load(&s[TARGET].done) < s[TARGET].count) {
        if (!pc_team_help(context->team)) {
            sched_yield();
        }
    }
    pc_selection_end(&s[TARGET], &c->w->result->run);
    pcgpu_status status = then(c, job);
    pc_team_end(context->team);
    pc_selection_end(&s[SOURCE], &c->w->result->run);
    return status;
}

pcgpu_status pc_ndt_select(pc_ndt_work *c, const pcgpu_cloud *source, const pcgpu_cloud *target, pc_ndt_target_fn *then,
                           pc_ndt_job *job) {
    pc_selection s[CLOUDS];
    PC_TRY(prepare_selection(c, target, PC_NDT_TARGET, &c->target, &s[TARGET]));
    PC_TRY(prepare_selection(c, source, PC_NDT_SOURCE, &c->source, &s[SOURCE]));
    return pc_ndt_is_single(c) ? select_single(c, s, then, job) : select_alone(c, s, then, job);
}

/* ---- the source -------------------------------------------------------------------------------------------------- */

static int64_t clamped(int64_t n, int64_t least, int64_t most) {
    return n < least ? least : n > most ? most : n;
}

static void choose_parts(pc_ndt_work *c) {
    pc_ndt_source *s = &c->parts;
    const pc_points *all = &c->source;
    const int64_t most[PC_SETS] = {clamped(all->n / 8, COARSE_LEAST, PC_NDT_MAX_COARSE),
                                   clamped(all->n / 4, MIDDLE_LEAST, MIDDLE_MOST), PC_NDT_MAX_SOURCE};
    *s = (pc_ndt_source){.n = all->n, .x = all->x, .y = all->y, .z = all->z};
    for (int i = 0; i < PC_SETS; i++) {
        s->every[i] = (all->n + most[i] - 1) / most[i];
        s->points[i] = all->n / s->every[i];
    }
}

void pc_ndt_arrange_source(pc_ndt_work *c) {
    choose_parts(c);
    for (int k = 0; k < 3; k++) {
        pc_points_shift(&c->source, k, pc_points_shift_of(c->source.box[k], c->target_shift[k]),
                        &c->w->offset_source[k]);
    }
    pc_register_import_pose(c->w);
}

/* ---- the target -------------------------------------------------------------------------------------------------- */

/* The fixed-point units of the target's box, whose corner is a finest voxel or more away from the points. Voxel faces
 * avoid round coordinates, where walls and floors of synthetic scenes lie. */
static pcgpu_status lay_grid(pc_ndt_work *c, double edge) {
    pc_register_work *w = c->w;
    double wide = edge * (double)(1 << (w->levels - 1));
    c->frame.unit = edge / (double)(1 << PC_NDT_BITS);
    c->frame.per_unit = (double)(1 << PC_NDT_BITS) / edge;
    for (int k = 0; k < 3; k++) {
        double low = (double)c->target.box[k][0], high = (double)c->target.box[k][1];
        c->frame.origin[k] = floor((low - edge) / wide) * wide - OFF_ROUND * edge;
        double voxels = floor((high - c->frame.origin[k]) / edge) + 2.0;
        if (!(voxels < (double)(1 << PC_NDT_AXIS_BITS))) {
            return pc_fail(
                w->context, PCGPU_ERROR_ARGUMENT,
                "the target spans %.3g m, more than %d voxels of %.3g m; remove far outliers or use a larger voxel",
                high - low, 1 << PC_NDT_AXIS_BITS, edge);
        }
        c->frame.limit[k] = (float)(voxels * (double)(1 << PC_NDT_BITS));
    }
    return PCGPU_OK;
}

pcgpu_status pc_ndt_arrange_target(pc_ndt_work *c, double edge) {
    for (int k = 0; k < 3; k++) {
        c->target_shift[k] = pc_points_shift_of(c->target.box[k], 0.0);
        pc_points_shift(&c->target, k, c->target_shift[k], &c->w->offset_target[k]);
    }
    return lay_grid(c, edge);
}
