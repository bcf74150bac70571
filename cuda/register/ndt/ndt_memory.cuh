/* Memory of method ndt on CUDA: 12 bytes per point and 8 for its two slots; per grid 220 bytes per voxel and 32 to 64
 * for the table. The first capacity assumes a few target points per voxel. If it is too small, the blocks report that
 * before they assign ids, and the next capacity is one voxel per point. */
#ifndef PC_NDT_MEMORY_CUH
#define PC_NDT_MEMORY_CUH

#include "ndt.cuh"

#include <string.h>

enum { PC_NDT_LEAST_CAPACITY = 4096 }; /* the least capacity for voxels */

/* Points to a voxel, where nothing is known of the target. */
#define PC_NDT_POINTS_PER_VOXEL 4.0

/* Blocks for pairs of so many points, of which a device that runs `resident` blocks together has `count`: as many as
 * there are for each, and no more than have work. */
static inline int blocks_for(int64_t points, int resident, int count) {
    enum { POINTS_A_BLOCK = 1024, FEWEST_BLOCKS = 8 };
    int64_t blocks = resident / count;
    const int64_t useful = points / POINTS_A_BLOCK, most = PC_NDT_MAX_BLOCKS;
    blocks = blocks < (int64_t)FEWEST_BLOCKS ? (int64_t)FEWEST_BLOCKS : blocks;
    blocks = blocks < useful ? blocks : useful;
    blocks = blocks < resident ? blocks : resident;
    blocks = blocks < most ? blocks : most;
    return blocks > 1 ? (int)blocks : 1;
}

/* What tasks have at the beginning of their memory, and the host's pinned copy of it. A second launch has counters and
 * tasks of its own, which are copied while the first is at work. */
enum { PC_NDT_STEPS = 2 };
typedef struct header {
    pc_ndt_persistent *persistent;
    struct {
        uint32_t *counters;
        pc_ndt_task *tasks;
    } step[PC_NDT_STEPS];
} header;

static inline header header_of(pc_carving *c, int count) {
    header h;
    h.persistent = (pc_ndt_persistent *)pc_carve(c, (size_t)count * sizeof *h.persistent);
    for (int i = 0; i < PC_NDT_STEPS; i++) {
        h.step[i].counters = (uint32_t *)pc_carve(c, (size_t)count * PC_NDT_COUNTER);
        h.step[i].tasks = (pc_ndt_task *)pc_carve(c, (size_t)count * sizeof *h.step[i].tasks);
    }
    return h;
}

static inline size_t header_bytes(int count) {
    pc_carving c = {NULL, 0};
    header_of(&c, count);
    return c.used;
}

static inline size_t chunks_of(const pc_ndt_task *t) {
    return t->capacity / PC_NDT_CHUNK + 1;
}

/* The voxels of all grids of a target, and the mailbox of the blocks. */
static inline void carve_voxels(pc_carving *c, pc_ndt_task *t) {
    const size_t n = (size_t)t->target.n, capacity = t->capacity;
    for (int i = 0; i < PC_NDT_GRIDS; i++) {
        pc_ndt_layer *g = &t->grid[i];
        const bool shifted = i == PC_NDT_SHIFTED;
        if (i >= t->target.levels && !shifted) {
            continue;
        }
        g->shift = PC_NDT_BITS + (shifted ? 0 : i);
        g->half = shifted ? 1 << (PC_NDT_BITS - 1) : 0;
        g->slots = (pc_ndt_slot *)pc_carve(c, sizeof *g->slots << t->most_bits);
        g->slot_of = (uint32_t *)pc_carve(c, (shifted || i == 0 ? n : capacity) * sizeof *g->slot_of);
        g->keys = (uint64_t *)pc_carve(c, capacity * sizeof *g->keys);
        g->moments = (pc_ndt_moments *)pc_carve(c, capacity * sizeof *g->moments);
        g->blocks = (pc_ndt_block *)pc_carve(c, (capacity / PC_NDT_LANES + 1) * sizeof *g->blocks);
        for (int k = 0; k < PC_NDT_SOURCES; k++) {
            g->source[k] = (uint4 *)pc_carve(c, capacity * sizeof *g->source[k]);
        }
    }
    t->counts = (uint32_t *)pc_carve(c, PC_NDT_GRIDS * PC_NDT_MAX_BLOCKS * sizeof *t->counts);
    t->gyration_sums = (double *)pc_carve(c, 3 * chunks_of(t) * sizeof *t->gyration_sums);
    t->mailbox_half = PC_NDT_MOST_SUMS * 2 * chunks_of(t) * PC_NDT_SUMS;
    t->mailbox = (uint4 *)pc_carve(c, 2 * t->mailbox_half * sizeof *t->mailbox);
}

/* The same with its points. */
static inline void carve_target(pc_carving *c, pc_ndt_task *t) {
    const size_t n = (size_t)t->target.n;
    float *xyz = (float *)pc_carve(c, 3 * n * sizeof *xyz);
    t->target.x = xyz;
    t->target.y = xyz ? xyz + n : NULL;
    t->target.z = xyz ? xyz + 2 * n : NULL;
    carve_voxels(c, t);
}

static inline void carve_parts(pc_carving *c, pc_ndt_task *t) {
    const pc_ndt_source *s = &t->source;
    for (int i = 0; i < PC_SETS; i++) {
        t->part[i] = s->every[i] > 1 ? (float *)pc_carve(c, 3 * (size_t)s->points[i] * sizeof(float)) : NULL;
    }
}

static inline void carve_source(pc_carving *c, pc_ndt_task *t) {
    pc_ndt_source *s = &t->source;
    const size_t n = (size_t)s->n;
    float *xyz = (float *)pc_carve(c, 3 * n * sizeof *xyz);
    s->x = xyz;
    s->y = xyz ? xyz + n : NULL;
    s->z = xyz ? xyz + 2 * n : NULL;
    carve_parts(c, t);
}

static inline pcgpu_status set_capacity(pcgpu_context *context, pc_ndt_task *t, double points_per_voxel) {
    const double most = (double)t->target.n + 1.0,
                 room = (double)t->target.n / points_per_voxel + PC_NDT_LEAST_CAPACITY;
    const double capacity = room < most ? room : most;
    if (capacity > (double)(1u << 30)) {
        return pc_fail_memory(context, (uint64_t)capacity * 284, "the voxels of the target on the GPU");
    }
    t->capacity = (uint32_t)capacity;
    for (t->most_bits = 1; (uint64_t)1 << t->most_bits < 2 * (uint64_t)t->capacity; t->most_bits++) {
    }
    return PCGPU_OK;
}

static inline pcgpu_status lay_out(pcgpu_context *context, pc_carving *c, const pc_ndt_job *job, uint32_t work,
                                   double points_per_voxel, pc_ndt_task *t) {
    memset(t, 0, sizeof *t);
    t->work = work;
    t->target = job->target;
    t->source = job->source;
    t->optimizer = job->optimizer;
    PC_TRY(set_capacity(context, t, points_per_voxel));
    carve_target(c, t);
    carve_source(c, t);
    return PCGPU_OK;
}

#endif
