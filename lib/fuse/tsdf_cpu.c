/* Volumes on the CPU: integration of a frame, and ray casting of a view. */
#include "simd.h"
#include "tsdf_color.h"
#include "tsdf_cpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- fusion ----------------------------------------------------------------------------------------------------- */

/* One slice of a block, 64 voxels, at a time: a table has x and y of each voxel, and each step of the update is a loop
 * over the slice. */
enum { SLICE = 64 };

enum { PIXELS_A_PART = 1 << 14, BLOCKS_A_PART = 64, FLAGS_A_PART = 4096, TILES_A_PART = 16 };

typedef struct slice {
    float x[SLICE], y[SLICE];
} slice;

/* Returns whether a voxel is behind a surface after the update. */
PC_INLINE int update_slice(const pc_volume_frame *frame, const slice *places, float bx, float by, float bz,
                           float *restrict distances, float *restrict weights) {
    const pc_volume_view *view = &frame->view;
    const float *T = view->to_camera, *inverse = frame->inverse;
    float z[SLICE], a[SLICE], b[SLICE], stretch[SLICE], m[SLICE], facing[SLICE];
    int32_t at[SLICE], more[SLICE], below[SLICE], inside[SLICE];
    for (int i = 0; i < SLICE; i++) {
        const float x = (bx + T[1] * places->y[i]) + T[0] * places->x[i];
        const float y = (by + T[5] * places->y[i]) + T[4] * places->x[i];
        z[i] = (bz + T[9] * places->y[i]) + T[8] * places->x[i];
        const pc_volume_spot s = pc_volume_project(view, x, y, z[i]);
        at[i] = s.at;
        more[i] = s.more;
        below[i] = s.below;
        a[i] = s.a;
        b[i] = s.b;
        stretch[i] = s.stretch;
        inside[i] = s.inside;
    }
    for (int i = 0; i < SLICE; i++) {
        const pc_volume_reading r =
            pc_volume_read(view, inverse[at[i]], inverse[at[i] + more[i]], inverse[at[i] + below[i]],
                           inverse[at[i] + below[i] + more[i]], a[i], b[i]);
        m[i] = r.inverse;
        facing[i] = r.facing;
    }
    for (int i = 0; i < SLICE; i++) {
        const pc_volume_reading r = {.inverse = m[i], .facing = facing[i]};
        pc_volume_blend(view, r, z[i], stretch[i], inside[i], &distances[i], &weights[i]);
    }
    int behind = 0;
    for (int i = 0; i < SLICE; i++) {
        behind |= distances[i] < 0.0f;
    }
    return behind;
}

PC_INLINE void update_block(const pc_volume_frame *frame, const slice *places, const float corner[3], float *distances,
                            float *weights, uint8_t *behind) {
    const float *T = frame->view.to_camera;
    int any = 0;
    for (int k = 0; k < PC_VOLUME_SIDE; k++) {
        const float z = (float)k;
        any |= update_slice(frame, places, corner[0] + T[2] * z, corner[1] + T[6] * z, corner[2] + T[10] * z,
                            distances + SLICE * k, weights + SLICE * k);
    }
    *behind = (uint8_t)any;
}

PC_SIMD_FORMS_OF(update_block,
                 (const pc_volume_frame *frame, const slice *places, const float corner[3], float *distances,
                  float *weights, uint8_t *behind),
                 (frame, places, corner, distances, weights, behind))

/* Most voxels are too far from the surface for a colour, so that vectors would not help. */
static void paint_block(const pc_volume_frame *frame, const float corner[3], const float *distances, uint16_t *colors) {
    const float *T = frame->view.to_camera;
    for (int i = 0; i < PC_VOLUME_VOXELS; i++) {
        const float x = (float)(i % 8), y = (float)(i / 8 % 8), z = (float)(i / SLICE);
        float p[3];
        for (int k = 0; k < 3; k++) {
            p[k] = ((corner[k] + T[4 * k + 2] * z) + T[4 * k + 1] * y) + T[4 * k] * x;
        }
        pc_volume_paint(frame, p[0], p[1], p[2], distances[i], colors + PC_VOLUME_COLORS * i);
    }
}

/* The pixels of a frame. */
typedef struct inverting {
    const pc_volume_job *job;
    float *inverse;
} inverting;

static void invert(void *state, int64_t begin, int64_t end) {
    const inverting *v = state;
    for (int64_t i = begin; i < end; i++) {
        v->inverse[i] = pc_volume_inverse(v->job, v->job->depth[i]);
    }
}

/* The blocks of a frame, from 1 on. */
typedef struct updating {
    const pc_cpu_volume *v;
    const pc_volume_frame *frame;
    void (*update)(const pc_volume_frame *, const slice *, const float[3], float *, float *, uint8_t *);
    slice places;
    _Atomic int64_t updated;
} updating;

static void update_range(void *state, int64_t begin, int64_t end) {
    updating *u = state;
    const pc_cpu_volume *v = u->v;
    const uint64_t *keys = v->keys.memory;
    int64_t updated = 0;
    for (int64_t b = begin + 1; b <= end; b++) {
        int32_t block[3];
        float corner[3];
        pc_volume_extent extent;
        pc_volume_unpack(keys[b], block);
        if (pc_volume_seen(&u->frame->view, block, &extent)) {
            pc_volume_corner(&u->frame->view, block, corner);
            u->update(u->frame, &u->places, corner, (float *)v->distances.memory + b * PC_VOLUME_VOXELS,
                      (float *)v->weights.memory + b * PC_VOLUME_VOXELS, (uint8_t *)v->behind.memory + b);
            if (u->frame->color) {
                paint_block(u->frame, corner, (float *)v->distances.memory + b * PC_VOLUME_VOXELS,
                            (uint16_t *)v->colors.memory + b * PC_VOLUME_VOXELS * PC_VOLUME_COLORS);
            }
            updated++;
        }
    }
    atomic_fetch_add(&u->updated, updated);
}

static int64_t update_blocks(pcgpu_context *context, const pc_cpu_volume *v, const pc_volume_frame *frame) {
    updating u = {.v = v, .frame = frame, .update = update_block_for(pc_context_simd(context))};
    for (int i = 0; i < SLICE; i++) {
        u.places.x[i] = (float)(i % 8);
        u.places.y[i] = (float)(i / 8);
    }
    pc_run_ranges(context, v->count, BLOCKS_A_PART, update_range, &u);
    return atomic_load(&u.updated);
}

static pcgpu_status integrate(pcgpu_context *context, void *state, struct pc_volume_job *job) {
    pc_cpu_volume *v = state;
    const size_t bytes = (size_t)job->view.width * (size_t)job->view.height * sizeof(float);
    float *inverse = pc_buffer_take(&v->inverse, bytes, false);
    if (!inverse) {
        return pc_fail_memory(context, bytes, "a frame");
    }
    PC_TRY(pc_cpu_volume_allocate(context, v, job));
    inverting pixels = {job, inverse};
    pc_run_ranges(context, (int64_t)job->view.width * job->view.height, PIXELS_A_PART, invert, &pixels);
    const pc_volume_frame frame = {.view = job->view, .inverse = inverse, .color = job->color};
    job->updated_blocks = update_blocks(context, v, &frame);
    job->blocks = v->count;
    job->bytes = (int64_t)(v->keys.bytes + v->distances.bytes + v->weights.bytes + v->neighbours.bytes +
                           v->colors.bytes + (v->mask + 1) * sizeof *v->slots);
    return PCGPU_OK;
}

/* ---- ray casting ------------------------------------------------------------------------------------------------ */

static int32_t tiles_of(int32_t pixels) {
    return (pixels + PC_VOLUME_TILE - 1) / PC_VOLUME_TILE;
}

static void find_active(void *state, int64_t begin, int64_t end) {
    const pc_cpu_volume *v = state;
    uint8_t *active = v->active.memory;
    for (int64_t b = begin + 1; b <= end; b++) {
        active[b] = pc_volume_is_active(v->neighbours.memory, v->behind.memory, b);
    }
}

/* Casts the rays of a view, tile by tile. */
typedef struct casting {
    pc_volume_grid grid;
    pc_volume_cast_fn *cast;
    const pc_volume_view *view;
    int32_t across;
    float (*ranges)[2];
    const pc_maps *maps;
} casting;

static void cast_tiles(void *state, int64_t begin, int64_t end) {
    const casting *c = state;
    for (int32_t i = (int32_t)begin; i < (int32_t)end; i++) {
        c->cast(&c->grid, c->view, i % c->across * PC_VOLUME_TILE, i / c->across * PC_VOLUME_TILE, c->ranges[i],
                c->maps);
    }
}

/* The range of depths in which each tile has blocks with surfaces, and the bits of these blocks. */
static void find_ranges(pc_cpu_volume *v, const pc_volume_view *view, float (*ranges)[2]) {
    const int32_t across = tiles_of(view->width), down = tiles_of(view->height);
    const uint64_t *keys = v->keys.memory;
    const uint8_t *active = v->active.memory;
    for (int32_t i = 0; i < across * down; i++) {
        ranges[i][0] = INFINITY;
        ranges[i][1] = -INFINITY;
    }
    memset(v->rows, 0, sizeof v->rows);
    for (int64_t b = 1; b <= v->count; b++) {
        int32_t block[3];
        pc_volume_extent e;
        pc_volume_unpack(keys[b], block);
        if (!active[b] || !pc_volume_seen(view, block, &e)) {
            continue;
        }
        v->rows[pc_volume_row_of(block[1], block[2])] |= (uint64_t)1 << ((uint32_t)block[0] & 63);
        e.z[0] = pc_volume_begin(view, e.z[0]);
        for (int32_t y = e.v[0] / PC_VOLUME_TILE; y <= e.v[1] / PC_VOLUME_TILE; y++) {
            for (int32_t x = e.u[0] / PC_VOLUME_TILE; x <= e.u[1] / PC_VOLUME_TILE; x++) {
                float *range = ranges[y * across + x];
                range[0] = e.z[0] < range[0] ? e.z[0] : range[0];
                range[1] = e.z[1] > range[1] ? e.z[1] : range[1];
            }
        }
    }
}

static pcgpu_status raycast(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                            const struct pc_maps *maps) {
    pc_cpu_volume *v = state;
    const int32_t across = tiles_of(view->width), tiles = across * tiles_of(view->height);
    const size_t blocks = (size_t)v->count + 1;
    float(*ranges)[2] = pc_buffer_take(&v->ranges, (size_t)tiles * sizeof *ranges, false);
    uint8_t *active = pc_buffer_take(&v->active, blocks, false);
    if (!ranges || !active) {
        return pc_fail_memory(context, (uint64_t)tiles * sizeof *ranges + blocks, "a view of a volume");
    }
    active[0] = 0;
    pc_run_ranges(context, v->count, FLAGS_A_PART, find_active, v);
    find_ranges(v, view, ranges);
    casting c = {.grid = pc_cpu_volume_grid(v),
                 .cast = pc_cpu_volume_cast(pc_context_simd(context)),
                 .view = view,
                 .across = across,
                 .ranges = ranges,
                 .maps = maps};
    pc_run_ranges(context, tiles, TILES_A_PART, cast_tiles, &c);
    return PCGPU_OK;
}

static pcgpu_status cast_maps(pcgpu_context *context, void *state, const struct pc_volume_view *view,
                              struct pc_maps *maps) {
    pc_cpu_volume *v = state;
    const size_t bytes = 3 * (size_t)view->width * (size_t)view->height * sizeof(float);
    float *vertices = pc_buffer_take(&v->maps, bytes, false);
    if (!vertices) {
        return pc_fail_memory(context, bytes, "the model as the camera sees it");
    }
    *maps = (pc_maps){.width = view->width, .height = view->height, .vertices = vertices};
    return raycast(context, state, view, maps);
}

const pc_tsdf_ops pc_cpu_tsdf_ops = {.open = pc_cpu_volume_open,
                                     .close = pc_cpu_volume_close,
                                     .integrate = integrate,
                                     .raycast = raycast,
                                     .maps = cast_maps,
                                     .blocks = pc_cpu_volume_blocks};
