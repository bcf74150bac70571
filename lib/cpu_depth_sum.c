/* Registration of depth frames on the CPU: the passes over the source. A tile is one vector loop over its lanes for each
 * of its rows; its sums stay in L1, and nothing else is written. */
#include "cpu_depth.h"

#include <string.h>

enum { L = PC_DEPTH_LANES, TILES_A_THREAD = 32 };

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

/* The sums of a group of tiles. */
static void add_group(pc_simd simd, const pc_depth_level *level, pc_depth_tile_fn *tile, const void *what, int group,
                      double *sums) {
    const int across = level->columns / L, tiles = pc_depth_tiles(level), first = group * PC_DEPTH_GROUP;
    memset(sums, 0, PC_ICP_SUMS * sizeof *sums);
    for (int i = first; i < first + PC_DEPTH_GROUP && i < tiles; i++) {
        float lanes[PC_ICP_SUMS * L] __attribute__((aligned(64)));
        double own[PC_ICP_SUMS];
        memset(lanes, 0, sizeof lanes);
        tile(what, i % across, i / across, lanes);
        reduce_lanes_for(simd)(lanes, own);
        for (int k = 0; k < PC_ICP_SUMS; k++) {
            sums[k] += own[k];
        }
    }
}

bool pc_cpu_depth_add_up(pcgpu_context *context, const pc_depth_level *level, pc_depth_tile_fn *tile, const void *what,
                         double sums[PC_ICP_SUMS]) {
    pc_cpu_depth_state *s = context->cpu_depth;
    const int groups = pc_depth_groups(level);
    double *group_sums = pc_buffer_take(&s->sums, (size_t)groups * PC_ICP_SUMS * sizeof *group_sums, false);
    if (!group_sums) {
        return false;
    }
    const int useful = groups * PC_DEPTH_GROUP / TILES_A_THREAD;
    const int team = useful < context->threads ? (useful > 1 ? useful : 1) : context->threads;
#pragma omp parallel for schedule(static) num_threads(team) if (team > 1)
    for (int g = 0; g < groups; g++) {
        add_group(s->simd, level, tile, what, g, group_sums + (size_t)g * PC_ICP_SUMS);
    }
    (void)team;
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

/* ---- the measure of a frame --------------------------------------------------------------------------------------- */

typedef struct measured {
    pc_depth_level level;
    const float *z;
} measured;

static void measure_tile(const void *what, int tile_column, int tile_row, float *lanes) {
    const measured *m = what;
    for (int v = tile_row * PC_DEPTH_LOADS; v < (tile_row + 1) * PC_DEPTH_LOADS; v++) {
        const float y = ((float)v - m->level.cy) * m->level.per_fy;
        const float *z = m->z + (size_t)v * (size_t)m->level.columns + (size_t)(tile_column * L);
        for (int l = 0; l < L; l++) {
            const float x = ((float)(tile_column * L + l) - m->level.cx) * m->level.per_fx;
            pc_depth_add_measure(x, y, z[l], lanes + l, L);
        }
    }
}

bool pc_cpu_depth_measure(pcgpu_context *context, pc_depth_frame *frame) {
    const measured m = {.level = frame->level[0], .z = pc_depth_plane_at(frame, 0, PC_DEPTH_Z)};
    double sums[PC_ICP_SUMS];
    if (!pc_cpu_depth_add_up(context, &m.level, measure_tile, &m, sums)) {
        return false;
    }
    pc_depth_measure_of(sums, &frame->measure);
    return true;
}

/* ---- a pass over the source --------------------------------------------------------------------------------------- */

typedef struct matched {
    pc_depth_step step;
    pc_depth_level source, target;
    const float *from[PC_DEPTH_PLANES], *to[PC_DEPTH_PLANES];
} matched;

PC_INLINE void match_tile(const void *what, int tile_column, int tile_row, float *restrict lanes) {
    const matched m = *(const matched *)what;
    for (int v = tile_row * PC_DEPTH_LOADS; v < (tile_row + 1) * PC_DEPTH_LOADS; v++) {
        const float y = ((float)v - m.source.cy) * m.source.per_fy;
        const size_t at = (size_t)v * (size_t)m.source.columns + (size_t)(tile_column * L);
        const float *nx = m.from[PC_DEPTH_NX] + at, *ny = m.from[PC_DEPTH_NY] + at, *nz = m.from[PC_DEPTH_NZ] + at;
        const float *z = m.from[PC_DEPTH_Z] + at;
        for (int l = 0; l < L; l++) {
            const float x = ((float)(tile_column * L + l) - m.source.cx) * m.source.per_fx;
            const pc_depth_landing to = pc_depth_project(&m.step, &m.target, x, y, z[l]);
            pc_depth_add(&m.step, &m.target, &to, nx[l], ny[l], nz[l], m.to[PC_DEPTH_NX][to.at],
                         m.to[PC_DEPTH_NY][to.at], m.to[PC_DEPTH_NZ][to.at], m.to[PC_DEPTH_Z][to.at], lanes + l, L);
        }
    }
}

PC_SIMD_FORMS_OF(match_tile, (const void *what, int tile_column, int tile_row, float *lanes),
                 (what, tile_column, tile_row, lanes))

static bool match(pcgpu_context *context, const pc_depth_frame *source, const pc_depth_frame *target, int level,
                  const pc_depth_step *step, double *sums) {
    const pc_cpu_depth_state *s = context->cpu_depth;
    matched m = {.step = *step, .source = source->level[level], .target = target->level[level]};
    for (int k = 0; k < PC_DEPTH_PLANES; k++) {
        m.from[k] = pc_depth_plane_at(source, level, k);
        m.to[k] = pc_depth_plane_at(target, level, k);
    }
    return pc_cpu_depth_add_up(context, &m.source, match_tile_for(s->simd), &m, sums);
}

pcgpu_status pc_cpu_depth_register(pcgpu_context *context, struct pc_depth_frame *source,
                                   struct pc_depth_frame *target, struct pc_depth_path *path) {
    double sums[PC_ICP_SUMS];
    if (!pc_cpu_depth_take(context)) {
        return pc_fail_memory(context, sizeof(pc_cpu_depth_state), "a registration");
    }
    path->target = target->measure;
    path->source_points = source->measure.points;
    pc_depth_path_begin(path);
    while (path->end == PC_DEPTH_UNDER_WAY) {
        const int level = path->level;
        const double begin = pc_now();
        if (!match(context, source, target, path->level, &path->step, sums)) {
            return pc_fail_memory(context, 0, "the sums of a pass");
        }
        pc_depth_path_next(path, sums);
        path->seconds[level] += pc_now() - begin;
    }
    return PCGPU_OK;
}
