/* What moved: voxels that panoramas have seen through. See pcgpu_map.h. */
#include "map.h"
#include "map_math.h"

#include <string.h>

enum {
    REACH = 500,       /* voxels from a sensor up to which its panorama is asked */
    NEAREST = 10,      /* and from which on */
    MOST_VIEWS = 128,  /* panoramas of a tile; of more there, so many at equal distances in time */
    BATCH = 16,        /* panoramas in memory at once, at least */
    CHUNK = 512,       /* voxels */
    LEAST_THROUGH = 3, /* panoramas that have seen through a voxel that moved */
    CACHE = 64 << 20   /* bytes of panoramas from tile to tile */
};

#define MARGIN       1.5f    /* voxels behind the surface of a voxel, across it, that a ray must reach, */
#define MARGIN_RANGE 0.0035f /* and per voxel of range, half of a pixel */
#define LEAST_COSINE 0.05f   /* of the angle from the ray to a normal that is not known */
#define AGREE        3.0f    /* voxels along the ray that a return which agrees is off at most */
#define UNIT         16.0f   /* units of a voxel */

/* ---- panoramas of a tile ----------------------------------------------------------------------------------------- */

/* Whether the sensor of panorama i is within reach of the tile. */
static bool reaches(const pcgpu_map *m, const pc_map_tile *tile, int64_t i) {
    const double voxel = m->stats.params.voxel, most = (double)REACH * voxel;
    double square = 0.0;
    for (int k = 0; k < 3; k++) {
        const double low = (double)tile->at[k] * PC_MAP_SIDE * voxel, high = low + PC_MAP_SIDE * voxel;
        const double s = m->panoramas.all[i].T[4 * k + 3], away = s < low ? low - s : s > high ? s - high : 0.0;
        square += away * away;
    }
    return square <= most * most && m->panoramas.all[i].rows > 0;
}

bool pc_map_is_seen(const pcgpu_map *m, const pc_map_tile *tile) {
    bool seen = false;
    for (int64_t i = 0; i < m->panoramas.count && !seen; i++) {
        seen = reaches(m, tile, i);
    }
    return seen;
}

static int64_t find_views(const pcgpu_map *m, const pc_map_tile *tile, int64_t *views) {
    int64_t n = 0;
    for (int64_t i = 0; i < m->panoramas.count; i++) {
        if (reaches(m, tile, i)) {
            views[n++] = i;
        }
    }
    return n;
}

/* ---- voxels in a panorama ---------------------------------------------------------------------------------------- */

typedef struct asking {
    const pc_map_voxels *v;
    const pc_map_panorama *views[BATCH];
    float rows[BATCH][9];   /* from the axes of the world to those of the sensor */
    float sensor[BATCH][3]; /* voxels from the corner of the tile */
    int count;
    float per; /* voxels per metre */
} asking;

static void take_view(asking *a, const pc_map_panorama *p, const pc_map_tile *tile, double voxel) {
    a->views[a->count] = p;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            a->rows[a->count][3 * i + k] = (float)p->T[4 * k + i];
        }
        a->sensor[a->count][i] = (float)(p->T[4 * i + 3] / voxel - (double)tile->at[i] * PC_MAP_SIDE);
    }
    a->count++;
}

/* Where voxels are in a panorama; pixel -1: not to be asked. In units: the range behind which a return in the pixel,
 * and those in its neighbours, show that rays went through; and the ranges between which a return agrees. Its loop is
 * vectorized. */
typedef struct projected {
    int32_t pixel[CHUNK];
    float behind[CHUNK], beyond[CHUNK], front[CHUNK], agree[CHUNK];
} projected;

static void project(const asking *a, int view, int64_t begin, int n, projected *out) {
    const pc_map_voxels *v = a->v;
    const float *R = a->rows[view], *s = a->sensor[view], per = a->per;
    const float first = (float)a->views[view]->first, rows = (float)a->views[view]->rows;
    const float *px = v->at[0] + begin, *py = v->at[1] + begin, *pz = v->at[2] + begin;
    const float *nx = v->normal[0] + begin, *ny = v->normal[1] + begin, *nz = v->normal[2] + begin;
    for (int i = 0; i < n; i++) {
        const float dx = px[i] * per - s[0], dy = py[i] * per - s[1], dz = pz[i] * per - s[2];
        const float x = (R[0] * dx + R[1] * dy) + R[2] * dz, y = (R[3] * dx + R[4] * dy) + R[5] * dz,
                    z = (R[6] * dx + R[7] * dy) + R[8] * dz;
        const float range = sqrtf((x * x + y * y) + z * z) + 1e-6f;
        const float row = pc_map_row(z, range), column = pc_map_column(x, y);
        const float along = fabsf((nx[i] * dx + ny[i] * dy) + nz[i] * dz) / range;
        const float level = fabsf(dz) / range, guess = level > LEAST_COSINE ? level : LEAST_COSINE;
        const float known = (nx[i] * nx[i] + ny[i] * ny[i]) + nz[i] * nz[i];
        const float cosine = known > 0.5f ? along : guess;
        const float margin = (MARGIN + MARGIN_RANGE * range) / (cosine + 1e-6f);
        const float near = margin < AGREE ? margin : AGREE;
        const float at = row - first;
        const int32_t pixel = ((int32_t)row - (int32_t)first) * PC_MAP_COLUMNS + (int32_t)column;
        out->behind[i] = (range + margin) * UNIT;
        out->beyond[i] = (range + (MARGIN + MARGIN_RANGE * range)) * UNIT;
        out->front[i] = (range - near) * UNIT;
        out->agree[i] = (range + near) * UNIT;
        out->pixel[i] = at >= 0.0f && at < rows && range < (float)REACH && range > (float)NEAREST ? pixel : -1;
    }
}

static void ask(void *state, int64_t begin, int64_t end) {
    const asking *a = state;
    projected at;
    for (int view = 0; view < a->count; view++) {
        const uint32_t *pixels = a->views[view]->pixels;
        project(a, view, begin, (int)(end - begin), &at);
        for (int i = 0; i < (int)(end - begin); i++) {
            const uint32_t both = at.pixel[i] >= 0 ? pixels[at.pixel[i]] : 0;
            const float range = (float)(both >> 16), least = (float)(both & UINT16_MAX);
            if (both != 0) {
                const bool through = range > at.behind[i] && least > at.beyond[i];
                const bool agree =
                    (range >= at.front[i] && range <= at.agree[i]) || (least >= at.front[i] && least <= at.agree[i]);
                a->v->through[begin + i] += through;
                a->v->agree[begin + i] += agree && !through;
            }
        }
    }
}

static pcgpu_status ask_all(pcgpu_map *m, const pc_map_tile *tile, uint32_t number, const int64_t *views, int64_t n,
                            pc_map_voxels *v) {
    const int64_t taken = n < MOST_VIEWS ? n : MOST_VIEWS;
    for (int64_t begin = 0; begin < taken; begin += BATCH) {
        asking a = {.v = v, .per = (float)(1.0 / m->stats.params.voxel)};
        for (int64_t i = begin; i < begin + BATCH && i < taken; i++) {
            pc_map_panorama *p = &m->panoramas.all[views[i * n / taken]];
            p->used = number;
            PC_TRY(pc_map_panorama_load(m->context, &m->panoramas, &m->file, views[i * n / taken]));
            take_view(&a, p, tile, m->stats.params.voxel);
        }
        pc_run_ranges(m->context, v->count, CHUNK, ask, &a);
    }
    return PCGPU_OK;
}

/* ---- the decision ------------------------------------------------------------------------------------------------ */

static void decide(pc_map_voxels *v) {
    for (int64_t i = 0; i < v->count; i++) {
        v->behind[i] = v->through[i] >= LEAST_THROUGH && v->through[i] > v->agree[i];
    }
}

/* A voxel among voxels that moved has moved with them, if there is any evidence; one among voxels that did not has
 * not. */
static void vote(void *state, int64_t begin, int64_t end) {
    pc_map_voxels *v = state;
    int64_t cursors[9], near[27];
    memset(cursors, -1, sizeof cursors);
    for (int64_t i = begin; i < end; i++) {
        const int count = pc_map_neighbours(v, i, cursors, near);
        int moved = 0;
        for (int k = 0; k < count; k++) {
            moved += v->behind[near[k]];
        }
        const int own = v->behind[i], others = moved - own, still = count - 1 - others;
        v->moved[i] = own ? 4 * others >= still : v->through[i] > 0 && others > still;
    }
}

pcgpu_status pc_map_find_moved(pcgpu_map *m, const pc_map_tile *tile, uint32_t number, pc_map_voxels *v) {
    int64_t *views = pc_buffer_take(&m->scan, ((size_t)m->panoramas.count + 1) * sizeof *views, false);
    if (!views) {
        return pc_fail_memory(m->context, (uint64_t)m->panoramas.count * sizeof *views, "the panoramas of a tile");
    }
    const int64_t n = find_views(m, tile, views);
    pcgpu_status status = ask_all(m, tile, number, views, n, v);
    if (status == PCGPU_OK) {
        decide(v);
        pc_run_ranges(m->context, v->count, 8 * CHUNK, vote, v);
    }
    if (m->panoramas.bytes > CACHE) {
        pc_map_panoramas_drop(&m->panoramas, number);
    }
    return status;
}
