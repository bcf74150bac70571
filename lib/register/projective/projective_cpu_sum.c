/* Registration of depth frames on the CPU: the passes over the source. A tile is one vector loop over its lanes for
 * each of its rows; its sums stay in L1, and nothing else is written. */
#pragma GCC optimize(                                                                                                  \
    "no-trapping-math") /* exception flags, which are never read, would keep selects from being vectorized */
#include "projective_cpu.h"

#include <stdlib.h>
#include <string.h>

static void free_state(void *memory) {
    pc_cpu_depth_state *s = memory;
    for (int i = 0; i < PC_DEPTH_SPARES; i++) {
        pc_buffer_free(&s->spare[i]);
    }
    pc_buffer_free(&s->depths);
    pc_buffer_free(&s->sums);
    free(s);
}

pc_cpu_depth_state *pc_cpu_depth_take(pcgpu_context *context) {
    pc_cpu_depth_state *s = pc_keep(context, PC_KEPT_PROJECTIVE, sizeof *s, free_state);
    if (s) {
        s->team = pc_context_team(context);
        s->simd = pc_context_simd(context);
    }
    return s && s->team ? s : NULL;
}

enum { L = PC_DEPTH_LANES };

/* ---- the order of additions -------------------------------------------------------------------------------------- */

/* One step of halving the lanes of all sums. */
PC_INLINE void halve_all(const double *restrict from, int half, double *restrict to) {
    for (int k = 0; k < PC_ICP_SUMS; k++) {
        for (int l = 0; l < half; l++) {
            to[k * half + l] = from[2 * k * half + l] + from[(2 * k + 1) * half + l];
        }
    }
}

PC_INLINE void reduce_lanes(const float *lanes, double *to) {
    double wide[PC_ICP_SUMS * L / 2], narrow[PC_ICP_SUMS * L / 4];
    for (int k = 0; k < PC_ICP_SUMS; k++) {
        for (int l = 0; l < L / 2; l++) {
            wide[k * (L / 2) + l] = (double)lanes[k * L + l] + (double)lanes[k * L + L / 2 + l];
        }
    }
    _Static_assert(PC_DEPTH_LANES == 32, "halved five times");
    halve_all(wide, 8, narrow);
    halve_all(narrow, 4, wide);
    halve_all(wide, 2, narrow);
    halve_all(narrow, 1, to);
}

PC_SIMD_FORMS_OF(reduce_lanes, (const float *lanes, double *to), (lanes, to))

typedef struct adding {
    pc_simd simd;
    const pc_depth_level *level;
    int loads;
    pc_depth_tile_fn *tile;
    const void *what;
    double *sums; /* PC_ICP_SUMS a group */
} adding;

static void add_group(void *state, int group) {
    const adding *a = state;
    const int across = a->level->columns / L, tiles = pc_depth_tiles(a->level, a->loads);
    const int first = group * PC_DEPTH_GROUP;
    double *sums = a->sums + (size_t)group * PC_ICP_SUMS;
    memset(sums, 0, PC_ICP_SUMS * sizeof *sums);
    for (int i = first; i < first + PC_DEPTH_GROUP && i < tiles; i++) {
        float lanes[PC_ICP_SUMS * L] __attribute__((aligned(64)));
        double own[PC_ICP_SUMS];
        memset(lanes, 0, sizeof lanes);
        a->tile(a->what, i % across, i / across, lanes);
        reduce_lanes_for(a->simd)(lanes, own);
        for (int k = 0; k < PC_ICP_SUMS; k++) {
            sums[k] += own[k];
        }
    }
}

bool pc_cpu_depth_add_up(pcgpu_context *context, const pc_depth_level *level, int loads, pc_depth_tile_fn *tile,
                         const void *what, double sums[PC_ICP_SUMS]) {
    pc_cpu_depth_state *s = context->kept[PC_KEPT_PROJECTIVE].memory;
    const int groups = pc_depth_groups(level, loads);
    double *group_sums = pc_buffer_take(&s->sums, (size_t)groups * PC_ICP_SUMS * sizeof *group_sums, false);
    if (!group_sums) {
        return false;
    }
    adding a = {.simd = s->simd, .level = level, .loads = loads, .tile = tile, .what = what, .sums = group_sums};
    pc_team_run(s->team, groups, add_group, &a);
    double parts[PC_DEPTH_PARTS][PC_ICP_SUMS] = {{0}};
    for (int g = 0; g < groups; g++) {
        for (int k = 0; k < PC_ICP_SUMS; k++) {
            parts[g % PC_DEPTH_PARTS][k] += group_sums[(size_t)g * PC_ICP_SUMS + (size_t)k];
        }
    }
    memset(sums, 0, PC_ICP_SUMS * sizeof *sums);
    for (int p = 0; p < PC_DEPTH_PARTS; p++) {
        for (int k = 0; k < PC_ICP_SUMS; k++) {
            sums[k] += parts[p][k];
        }
    }
    return true;
}

/* ---- the measure of a frame -------------------------------------------------------------------------------------- */

PC_INLINE void measure_tile(const void *what, int tile_column, int tile_row, float *restrict lanes) {
    const pc_depth_frame *frame = what;
    const pc_depth_level level = frame->level[0];
    for (int v = tile_row * PC_DEPTH_LOADS; v < (tile_row + 1) * PC_DEPTH_LOADS; v++) {
        const float y = ((float)v - level.cy) * level.per_fy;
        const size_t at = (size_t)v * (size_t)level.columns + (size_t)(tile_column * L);
        const float *row = pc_depth_pixels(frame, 0) + PC_DEPTH_VALUES * at;
        for (int l = 0; l < L; l++) {
            const float x = ((float)(tile_column * L + l) - level.cx) * level.per_fx;
            pc_depth_add_measure(x, y, row[PC_DEPTH_VALUES * l + PC_DEPTH_Z], lanes + l, L);
        }
    }
}

PC_SIMD_FORMS_OF(measure_tile, (const void *what, int tile_column, int tile_row, float *lanes),
                 (what, tile_column, tile_row, lanes))

bool pc_cpu_depth_measure(pcgpu_context *context, pc_depth_frame *frame) {
    const pc_cpu_depth_state *s = context->kept[PC_KEPT_PROJECTIVE].memory;
    double sums[PC_ICP_SUMS];
    if (!pc_cpu_depth_add_up(context, &frame->level[0], PC_DEPTH_LOADS, measure_tile_for(s->simd), frame, sums)) {
        return false;
    }
    pc_depth_measure_of(sums, &frame->measure);
    return true;
}

/* ---- a pass over the source -------------------------------------------------------------------------------------- */

/* L pixels, value by value. */
typedef struct lanes_of {
    float value[PC_DEPTH_VALUES][L];
} lanes_of;

/* Where they fall. */
typedef struct landings {
    float x[L], y[L], z[L], u[L], v[L];
    int32_t at[L];
} landings;

/* The values of a pixel, at any address of floats. */
typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

PC_INLINE four pixel_at(const float *pixels, int32_t at) {
    return *(const four *)(pixels + PC_DEPTH_VALUES * (ptrdiff_t)at);
}

/* Four pixels at a time are transposed, which GCC does not do well with a loop. */
PC_INLINE void fetch(const float *restrict pixels, const int32_t *restrict at, lanes_of *restrict to) {
    for (int l = 0; l < L; l += 4) {
        const four a = pixel_at(pixels, at[l]), b = pixel_at(pixels, at[l + 1]);
        const four c = pixel_at(pixels, at[l + 2]), d = pixel_at(pixels, at[l + 3]);
        const four ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), rest = __builtin_shufflevector(a, b, 2, 6, 3, 7);
        const four cd = __builtin_shufflevector(c, d, 0, 4, 1, 5), last = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        *(four *)&to->value[0][l] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
        *(four *)&to->value[1][l] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
        *(four *)&to->value[2][l] = __builtin_shufflevector(rest, last, 0, 1, 4, 5);
        *(four *)&to->value[3][l] = __builtin_shufflevector(rest, last, 2, 3, 6, 7);
    }
}

static const int32_t IN_ORDER[L] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                    16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};

PC_INLINE void project_row(const pc_depth_pass *given, int u, float y, const float *restrict z, landings *restrict to) {
    const pc_depth_step step = given->step;
    const pc_depth_level source = given->source, target = given->target;
    for (int l = 0; l < L; l++) {
        pc_depth_landing p;
        pc_depth_project(&step, &target, ((float)(u + l) - source.cx) * source.per_fx, y, z[l], &p);
        to->x[l] = p.x;
        to->y[l] = p.y;
        to->z[l] = p.z;
        to->u[l] = p.u;
        to->v[l] = p.v;
        to->at[l] = p.at;
    }
}

PC_INLINE void add_row(bool scene, const pc_depth_pass *given, const landings *restrict to,
                       const lanes_of *restrict from, const lanes_of *restrict there, float *restrict lanes) {
    const pc_depth_step step = given->step;
    const pc_depth_level target = given->target;
    for (int l = 0; l < L; l++) {
        const pc_depth_landing p = {to->x[l], to->y[l], to->z[l], to->u[l], to->v[l], to->at[l]};
        pc_depth_add(scene, &step, &target, &p, from->value[PC_DEPTH_NX][l], from->value[PC_DEPTH_NY][l],
                     from->value[PC_DEPTH_NZ][l], there->value[PC_DEPTH_NX][l], there->value[PC_DEPTH_NY][l],
                     there->value[PC_DEPTH_NZ][l], there->value[PC_DEPTH_Z][l], lanes + l, L);
    }
}

PC_INLINE void match_tile(const void *what, int tile_column, int tile_row, float *restrict lanes) {
    const pc_depth_pass *m = what;
    const int rows = m->source.loads, top = tile_row * rows;
    /* All rows at a time: the values of one are written as narrow vectors, and cannot be read as wide ones at once. */
    lanes_of from[PC_DEPTH_LOADS], there[PC_DEPTH_LOADS];
    landings to[PC_DEPTH_LOADS];
    for (int i = 0; i < rows; i++) {
        const size_t at = (size_t)(top + i) * (size_t)m->source.columns + (size_t)(tile_column * L);
        fetch(m->from + PC_DEPTH_VALUES * at, IN_ORDER, &from[i]);
    }
    for (int i = 0; i < rows; i++) {
        const float y = ((float)(top + i) - m->source.cy) * m->source.per_fy;
        project_row(m, tile_column * L, y, from[i].value[PC_DEPTH_Z], &to[i]);
        fetch(m->to, to[i].at, &there[i]);
    }
    for (int i = 0; i < rows; i++) {
        if (m->scene) {
            add_row(true, m, &to[i], &from[i], &there[i], lanes);
        } else {
            add_row(false, m, &to[i], &from[i], &there[i], lanes);
        }
    }
}

PC_SIMD_FORMS_OF(match_tile, (const void *what, int tile_column, int tile_row, float *lanes),
                 (what, tile_column, tile_row, lanes))

static bool match(pcgpu_context *context, const pc_depth_frame *source, const pc_depth_frame *target,
                  const pc_depth_optimizer *optimizer, double *sums) {
    const int level = optimizer->base.level;
    const pc_cpu_depth_state *s = context->kept[PC_KEPT_PROJECTIVE].memory;
    const pc_depth_pass m = {.scene = optimizer->asks_scene,
                             .step = optimizer->step,
                             .source = source->level[level],
                             .target = target->level[level],
                             .from = pc_depth_pixels(source, level),
                             .to = pc_depth_pixels(target, level)};
    return pc_cpu_depth_add_up(context, &m.source, m.source.loads, match_tile_for(s->simd), &m, sums);
}

pcgpu_status pc_cpu_depth_register(pcgpu_context *context, struct pc_depth_frame *source, struct pc_depth_frame *target,
                                   struct pc_depth_optimizer *optimizer) {
    double sums[PC_ICP_SUMS];
    if (!pc_cpu_depth_take(context)) {
        return pc_fail_memory(context, sizeof(pc_cpu_depth_state), "a registration");
    }
    optimizer->target = target->measure;
    optimizer->source_points = source->measure.points;
    optimizer->source_seconds = source->measure.seconds;
    pc_depth_optimizer_begin(optimizer);
    while (optimizer->end == PC_DEPTH_RUNNING) {
        const int level = optimizer->base.level;
        const double begin = pc_now();
        if (!match(context, source, target, optimizer, sums)) {
            return pc_fail_memory(context, 0, "the sums of a pass");
        }
        pc_depth_optimizer_next(optimizer, sums);
        optimizer->seconds[level] += pc_now() - begin;
    }
    return PCGPU_OK;
}
