/* Means and weights of the voxels of the target, a block of lanes at a time. */
#include "ndt_cpu.h"

enum {
    MOMENTS = 10,
    ROWS = 6, /* of a symmetric matrix */
    BLOCKS_A_PART = 2 * PC_NDT_CHUNK / PC_NDT_LANES,
    BLOCKS_ALONE = 32 * PC_NDT_CHUNK / PC_NDT_LANES, /* finished by one thread */
};

/* Inputs of pc_ndt_finish for a block of lanes. */
typedef struct inputs {
    double m[MOMENTS * PC_NDT_LANES], corner[3 * PC_NDT_LANES], normal[ROWS * PC_NDT_LANES];
} inputs;

/* A grid to finish. */
typedef struct finishing {
    const pc_ndt_grid *g, *wider; /* wider: the finished grid of the parents, or NULL */
    const pc_ndt_target *t;
    const double *center;
    double s2;
    pc_simd simd;
} finishing;

/* Fills lane l. Padding has no points. A parent that is not there is voxel 0, whose normal is 0. */
PC_INLINE void take_voxel(const finishing *f, int32_t voxel, inputs *in, int l) {
    enum { L = PC_NDT_LANES };
    const pc_ndt_grid *g = f->g;
    if (voxel >= g->count) {
        return;
    }
    const pc_ndt_moments *from = &g->moments[voxel];
    const int64_t values[MOMENTS] = {from->n,  from->x,  from->y,  from->z,  from->xx,
                                     from->xy, from->xz, from->yy, from->yz, from->zz};
    for (int k = 0; k < MOMENTS; k++) {
        in->m[k * L + l] = (double)values[k];
    }
    const uint64_t key = g->keys[voxel];
    const uint32_t parent = f->wider ? pc_ndt_find(f->wider, pc_ndt_parent_key(key)) : 0;
    for (int k = 0; f->wider && k < ROWS; k++) {
        in->normal[k * L + l] = (double)f->wider->blocks[parent / L].normal[k][parent % L];
    }
    uint32_t c[3];
    pc_ndt_split_key(key, c);
    for (int k = 0; k < 3; k++) {
        in->corner[k * L + l] = pc_ndt_corner(c[k], g->shift, g->half, f->t->unit, f->t->origin[k], f->center[k]);
    }
}

PC_INLINE void finish_lanes(const finishing *f, const inputs *in, pc_ndt_block *block) {
    const double edge = f->t->unit * (double)(1 << f->g->shift), unit = f->t->unit, s2 = f->s2;
    for (int l = 0; l < PC_NDT_LANES; l++) {
        pc_ndt_finish(in->m + l, in->corner + l, in->normal + l, PC_NDT_LANES, unit, edge, s2, block, l);
    }
}

PC_INLINE void finish_blocks(const finishing *f, int32_t begin, int32_t end) {
    for (int32_t b = begin; b < end; b++) {
        inputs in = {0};
        for (int l = 0; l < PC_NDT_LANES; l++) {
            take_voxel(f, b * PC_NDT_LANES + l, &in, l);
        }
        finish_lanes(f, &in, &f->g->blocks[b]);
    }
}

PC_SIMD_FORMS_OF(finish_blocks, (const finishing *f, int32_t begin, int32_t end), (f, begin, end))

/* Finishes up to a block of lanes of voxels that are anywhere. */
PC_INLINE void finish_voxels(const finishing *f, const int32_t *voxels, int count) {
    enum { L = PC_NDT_LANES, VALUES = sizeof(pc_ndt_block) / sizeof(float) / L };
    inputs in = {0};
    pc_ndt_block block;
    for (int l = 0; l < count; l++) {
        take_voxel(f, voxels[l], &in, l);
    }
    finish_lanes(f, &in, &block);
    for (int l = 0; l < count; l++) {
        const float *from = (const float *)&block + l; /* a block is rows of lanes */
        float *to = (float *)&f->g->blocks[voxels[l] / L] + voxels[l] % L;
        for (int k = 0; k < VALUES; k++) {
            to[k * L] = from[k * L];
        }
    }
}

/* The stale lanes of blocks [begin, end): few of a block are. */
PC_INLINE void finish_stale(const finishing *f, int32_t begin, int32_t end) {
    int32_t voxels[PC_NDT_LANES];
    int count = 0;
    for (int32_t b = begin; b < end; b++) {
        for (uint32_t lanes = f->g->stale[b]; lanes; lanes &= lanes - 1) {
            voxels[count++] = b * PC_NDT_LANES + __builtin_ctz(lanes);
            if (count == PC_NDT_LANES) {
                finish_voxels(f, voxels, count);
                count = 0;
            }
        }
        f->g->stale[b] = 0;
    }
    finish_voxels(f, voxels, count);
}

PC_SIMD_FORMS_OF(finish_stale, (const finishing *f, int32_t begin, int32_t end), (f, begin, end))

static void finish_range(void *state, int64_t begin, int64_t end) {
    const finishing *f = state;
    finish_blocks_for(f->simd)(f, (int32_t)begin, (int32_t)end);
}

static void finish_stale_range(void *state, int64_t begin, int64_t end) {
    const finishing *f = state;
    finish_stale_for(f->simd)(f, (int32_t)begin, (int32_t)end);
}

static void run(pcgpu_context *context, const pc_ndt_state *s, const pc_ndt_target *t, const double center[3],
                const pc_ndt_grid *g, const pc_ndt_grid *wider, int64_t blocks, pc_range_fn *function) {
    finishing f = {g, wider, t, center, pc_ndt_sigma2(t->sigma, t->widening, t->unit, g->shift), s->simd};
    pc_run_ranges(context, blocks, blocks > BLOCKS_ALONE ? BLOCKS_A_PART : blocks, function, &f);
}

/* Up to whole chunks, whose padding the sums read. */
static int64_t blocks_of(int64_t voxels) {
    return (voxels + PC_NDT_CHUNK - 1) / PC_NDT_CHUNK * (PC_NDT_CHUNK / PC_NDT_LANES);
}

bool pc_ndt_reserve_blocks(pc_ndt_grid *g, int64_t voxels, bool keep) {
    void *blocks =
        pc_buffer_take(&g->memory[PC_NDT_MEMORY_BLOCKS], (size_t)blocks_of(voxels) * sizeof *g->blocks, keep);
    g->blocks = g->memory[PC_NDT_MEMORY_BLOCKS].memory;
    return blocks;
}

bool pc_ndt_finish_grid(pcgpu_context *context, const pc_ndt_state *s, const pc_ndt_target *t, const double center[3],
                        pc_ndt_grid *g, const pc_ndt_grid *wider) {
    if (!pc_ndt_reserve_blocks(g, g->count, false)) {
        return false;
    }
    run(context, s, t, center, g, wider, blocks_of(g->count), finish_range);
    return true;
}

void pc_ndt_finish_stale(pcgpu_context *context, const pc_ndt_state *s, const pc_ndt_target *t, const double center[3],
                         pc_ndt_grid *g, const pc_ndt_grid *wider) {
    if (g->count % PC_NDT_LANES != 0) { /* the sums read the padding of the last block */
        g->stale[g->count / PC_NDT_LANES] |= (uint16_t)(UINT16_MAX << g->count % PC_NDT_LANES);
    }
    run(context, s, t, center, g, wider, (g->count + PC_NDT_LANES - 1) / PC_NDT_LANES, finish_stale_range);
}
