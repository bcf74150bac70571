/* The voxels of the target, made by a group of blocks.
 *
 * Points find or take the slots of their voxels of level 0, in both of its grids; voxels are numbered, and moments
 * added up by number; consecutive points in one voxel are summed within a warp. Wider voxels are made of those of level
 * 0 in likewise, all levels at once. */
#ifndef PC_NDT_TARGET_CUH
#define PC_NDT_TARGET_CUH

#include "ndt_number.cuh"

/* ---- zeros ------------------------------------------------------------------------------------------------------- */

/* Memory that a group clears: words of 16 bytes. */
__device__ static inline void pc_ndt_fill(const pc_ndt_group *g, void *memory, size_t bytes, uint4 with) {
    uint4 *words = (uint4 *)memory;
    const size_t stride = (size_t)g->blocks * PC_NDT_THREADS;
    for (size_t i = (size_t)g->rank * PC_NDT_THREADS + threadIdx.x; i < bytes / sizeof *words; i += stride) {
        words[i] = with;
    }
}

__device__ static inline void pc_ndt_clear_slots(const pc_ndt_group *g, const pc_ndt_layer *s, int bits) {
    pc_ndt_fill(g, s->slots, sizeof *s->slots << bits, make_uint4(~0u, ~0u, ~0u, 0));
}

/* Of the voxels that there are. */
__device__ static inline void pc_ndt_clear_voxels(const pc_ndt_group *g, const pc_ndt_layer *s, uint32_t voxels) {
    const uint4 zero = make_uint4(0, 0, 0, 0);
    pc_ndt_fill(g, s->moments, voxels * sizeof *s->moments, zero);
    for (int i = 0; i < PC_NDT_SOURCES; i++) {
        pc_ndt_fill(g, s->source[i], voxels * sizeof *s->source[i], zero);
    }
    if (g->rank == 0 && threadIdx.x == 0) {
        s->keys[0] = PC_NDT_NO_KEY;
    }
}

/* Shared memory of a block that makes a target. */
typedef struct pc_ndt_making {
    double squares[3 * PC_NDT_CHUNK];
    pc_ndt_numbering numbering;
} pc_ndt_making;

/* ---- points of level 0 ------------------------------------------------------------------------------------------- */

__device__ static inline void pc_ndt_target_point(const pc_ndt_target *t, int64_t i, int32_t u[3]) {
    u[0] = u[1] = u[2] = PC_NDT_OUT;
    if (i < t->n) {
        pc_ndt_quantize(&t->map, t->x[i], t->y[i], t->z[i], u);
    }
}

/* Claims slots for one item per lane; the heads of runs do it. */
__device__ static inline void pc_ndt_take_slots(const pc_ndt_task *task, const pc_ndt_layer *s, int bits,
                                                unsigned long long key, int64_t item, bool good, uint32_t probes) {
    const pc_ndt_run run = pc_ndt_run_of(key);
    uint32_t slot = PC_NDT_NO_SLOT;
    if (run.head && key != PC_NDT_NO_KEY) {
        slot = pc_ndt_insert(s->slots, bits, key, (uint32_t)item, probes);
        if (slot == PC_NDT_NO_SLOT) {
            task->persistent->overflow = 1;
        }
    }
    slot = __shfl_sync(PC_NDT_ALL, slot, run.begin);
    if (good) {
        s->slot_of[item] = slot;
    }
}

/* Adds the values of all threads of a block to `to`. */
__device__ static inline void pc_ndt_add_totals(const long long value[4], unsigned long long *to) {
    __shared__ unsigned long long sum[4];
    __syncthreads();
    if (threadIdx.x < 4) {
        sum[threadIdx.x] = 0;
    }
    __syncthreads();
    for (int k = 0; k < 4; k++) {
        unsigned long long v = (unsigned long long)value[k];
        for (int by = 16; by > 0; by /= 2) {
            v += __shfl_xor_sync(PC_NDT_ALL, v, by);
        }
        if (pc_ndt_lane() == 0) {
            atomicAdd(&sum[k], v);
        }
    }
    __syncthreads();
    if (threadIdx.x < 4) {
        atomicAdd(&to[threadIdx.x], sum[threadIdx.x]);
    }
}

__device__ static inline void pc_ndt_place_points(const pc_ndt_group *g, const pc_ndt_task *task) {
    const pc_ndt_target *t = &task->target;
    const uint32_t probes = task->capacity > (uint64_t)t->n ? ~0u : (uint32_t)PC_NDT_PROBES;
    const pc_ndt_range own = pc_ndt_own(g, t->n);
    long long total[4] = {0, 0, 0, 0};
    for (int64_t tile = own.begin; tile < own.end; tile++) {
        const int64_t i = tile * 32 + pc_ndt_lane();
        int32_t u[3];
        pc_ndt_target_point(t, i, u);
        const bool in = u[0] >= 0;
        for (int k = 0; k < 2; k++) {
            const pc_ndt_layer *s = &task->grid[k ? PC_NDT_SHIFTED : 0];
            pc_ndt_take_slots(task, s, task->most_bits, pc_ndt_key_at(u, s->half, s->shift), i, i < t->n, probes);
        }
        total[0] += in;
        for (int k = 0; k < 3; k++) {
            total[1 + k] += in ? u[k] : 0;
        }
    }
    pc_ndt_add_totals(total, task->persistent->total);
}

__device__ static inline void pc_ndt_add_atomic(pc_ndt_moments *to, const pc_ndt_moments &m) {
    unsigned long long *words = (unsigned long long *)to;
    const int64_t values[10] = {m.n, m.x, m.y, m.z, m.xx, m.xy, m.xz, m.yy, m.yz, m.zz};
#pragma unroll
    for (int k = 0; k < 10; k++) {
        atomicAdd(&words[k], (unsigned long long)values[k]);
    }
}

/* Of 32 points: coordinates have 10 bits and products 20, so three and two sums of them fit a word. */
__device__ static inline pc_ndt_moments pc_ndt_moments_of_run(const pc_ndt_run &run, const int32_t u[3], int32_t half) {
    const uint32_t mask = (1u << PC_NDT_BITS) - 1;
    const uint32_t x = (uint32_t)(u[0] + half) & mask, y = (uint32_t)(u[1] + half) & mask,
                   z = (uint32_t)(u[2] + half) & mask;
    const unsigned long long xyz = pc_ndt_sum_run(run, (unsigned long long)z << 42 | (unsigned long long)y << 21 | x);
    const unsigned long long xx_yy = pc_ndt_sum_run(run, pc_ndt_pair(x * x, y * y));
    const unsigned long long zz_xy = pc_ndt_sum_run(run, pc_ndt_pair(z * z, x * y));
    const unsigned long long xz_yz = pc_ndt_sum_run(run, pc_ndt_pair(x * z, y * z));
    return pc_ndt_moments{run.end - run.begin,      (int64_t)(xyz & 0x1fffff), (int64_t)(xyz >> 21 & 0x1fffff),
                          (int64_t)(xyz >> 42),     (int64_t)(uint32_t)xx_yy,  (int64_t)(zz_xy >> 32),
                          (int64_t)(uint32_t)xz_yz, (int64_t)(xx_yy >> 32),    (int64_t)(xz_yz >> 32),
                          (int64_t)(uint32_t)zz_xy};
}

__device__ static inline void pc_ndt_add_points(const pc_ndt_group *g, const pc_ndt_task *task) {
    const pc_ndt_target *t = &task->target;
    const pc_ndt_range own = pc_ndt_own(g, t->n);
    for (int64_t tile = own.begin; tile < own.end; tile++) {
        const int64_t i = tile * 32 + pc_ndt_lane();
        int32_t u[3];
        pc_ndt_target_point(t, i, u);
        pc_ndt_run run[2];
        uint32_t number[2]; /* of both grids' voxels, asked for together */
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const pc_ndt_layer *s = &task->grid[pc_ndt_grid_at(k, 0)];
            const uint32_t slot = i < t->n ? s->slot_of[i] : PC_NDT_NO_SLOT;
            run[k] = pc_ndt_run_of(slot);
            number[k] = run[k].head && slot != PC_NDT_NO_SLOT ? s->slots[slot].number : 0;
        }
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const pc_ndt_layer *s = &task->grid[pc_ndt_grid_at(k, 0)];
            const pc_ndt_moments m = pc_ndt_moments_of_run(run[k], u, s->half);
            if (number[k]) {
                pc_ndt_add_atomic(&s->moments[number[k]], m);
            }
        }
    }
}

/* ---- wider voxels, of those of level 0 --------------------------------------------------------------------------- */

__device__ static inline unsigned long long pc_ndt_wide_key(uint64_t key, int level) {
    uint32_t c[3];
    pc_ndt_split_key(key, c);
    return pc_ndt_key(c[0] >> level, c[1] >> level, c[2] >> level);
}

/* A tile of voxels and a level at a time. */
__device__ static inline void pc_ndt_place_voxels(const pc_ndt_group *g, const pc_ndt_task *task, uint32_t voxels) {
    const int64_t wide = task->target.levels - 1, tiles = ((int64_t)voxels + 31) / 32;
    const pc_ndt_range own = pc_ndt_own(g, tiles * wide * 32);
    for (int64_t j = own.begin; j < own.end; j++) {
        const int64_t i = j / wide * 32 + pc_ndt_lane();
        const int l = 1 + (int)(j % wide);
        const bool good = i > 0 && i < voxels;
        const uint64_t key = good ? task->grid[0].keys[i] : 0;
        pc_ndt_take_slots(task, &task->grid[l], task->persistent->count[l].bits,
                          good ? pc_ndt_wide_key(key, l) : PC_NDT_NO_KEY, i, i < voxels, ~0u);
    }
}

/* A voxel and a level at a time. */
__device__ static inline void pc_ndt_add_voxels(const pc_ndt_group *g, const pc_ndt_task *task, uint32_t voxels) {
    const pc_ndt_layer *fine = &task->grid[0];
    const int64_t stride = (int64_t)g->blocks * PC_NDT_THREADS, wide = task->target.levels - 1;
    for (int64_t j = (int64_t)g->rank * PC_NDT_THREADS + threadIdx.x; j < voxels * wide; j += stride) {
        const int64_t i = j % voxels;
        const int l = 1 + (int)(j / voxels);
        if (i == 0) {
            continue;
        }
        const pc_ndt_layer *s = &task->grid[l];
        const uint32_t slot = s->slot_of[i], inside = (1u << l) - 1;
        const pc_ndt_moments m = fine->moments[i];
        uint32_t c[3];
        pc_ndt_split_key(fine->keys[i], c);
        pc_ndt_add_atomic(&s->moments[s->slots[slot].number], pc_ndt_moved(&m, (int64_t)(c[0] & inside) << fine->shift,
                                                                           (int64_t)(c[1] & inside) << fine->shift,
                                                                           (int64_t)(c[2] & inside) << fine->shift));
    }
}

/* ---- means and weights ------------------------------------------------------------------------------------------- */

__device__ static inline void pc_ndt_center_of(const pc_ndt_task *task, double center[3]) {
    for (int k = 0; k < 3; k++) {
        center[k] = pc_ndt_center((int64_t)task->persistent->total[1 + k], (int64_t)task->persistent->total[0],
                                  task->target.origin[k], task->target.unit);
    }
}

/* A finished grid that has the parents of voxels, and the bits of its table; without slots there is none. */
typedef struct pc_ndt_wider {
    const pc_ndt_slot *slots;
    const pc_ndt_block *blocks;
    int bits;
} pc_ndt_wider;

/* The rows of `normal` of the parent of a voxel, or 0. */
__device__ static inline void pc_ndt_parent_normal(const pc_ndt_wider *wider, uint64_t key, double normal[6]) {
    uint32_t number = 0;
    if (wider->slots && key != PC_NDT_NO_KEY) {
        const uint64_t parent = pc_ndt_parent_key(key);
        const uint32_t at = pc_ndt_hash(parent, wider->bits);
        number = pc_ndt_find_from(wider->slots, wider->bits, parent, at, *(const uint4 *)&wider->slots[at]);
    }
    for (int k = 0; k < 6; k++) {
        normal[k] = number ? (double)wider->blocks[number / PC_NDT_LANES].normal[k][number % PC_NDT_LANES] : 0.0;
    }
}

/* One voxel; center: of the target. */
__device__ static inline void pc_ndt_finish_voxel(const pc_ndt_target *t, const pc_ndt_layer *s,
                                                  const pc_ndt_wider *wider, const double center[3], int64_t i) {
    const double edge = t->unit * (double)(1 << s->shift);
    const double s2 = pc_ndt_sigma2(t->sigma, t->widening, t->unit, s->shift);
    const pc_ndt_moments of = s->moments[i];
    const double m[10] = {(double)of.n,  (double)of.x,  (double)of.y,  (double)of.z,  (double)of.xx,
                          (double)of.xy, (double)of.xz, (double)of.yy, (double)of.yz, (double)of.zz};
    uint32_t c[3];
    double corner[3], normal[6];
    pc_ndt_split_key(s->keys[i], c);
    for (int a = 0; a < 3; a++) {
        corner[a] = pc_ndt_corner(c[a], s->shift, s->half, t->unit, t->origin[a], center[a]);
    }
    pc_ndt_parent_normal(wider, s->keys[i], normal);
    pc_ndt_finish(m, corner, normal, 1, t->unit, edge, s2, &s->blocks[i / PC_NDT_LANES], (int)(i % PC_NDT_LANES));
}

/* Level l with `voxels` voxels, and with it the other grid of level 0 with `shifted` ones, so that different threads
 * have them. bits: of the tables of the wider levels, of which the next is finished. */
__device__ static inline void pc_ndt_finish_voxels(const pc_ndt_group *g, const pc_ndt_task *task, int l,
                                                   uint32_t voxels, uint32_t shifted, int bits) {
    const int64_t stride = (int64_t)g->blocks * PC_NDT_THREADS;
    pc_ndt_wider wider = {NULL, NULL, bits};
    double center[3];
    if (l + 1 < task->target.levels) {
        wider.slots = task->grid[l + 1].slots;
        wider.blocks = task->grid[l + 1].blocks;
    }
    pc_ndt_center_of(task, center);
    for (int64_t j = (int64_t)g->rank * PC_NDT_THREADS + threadIdx.x; j < (int64_t)voxels + shifted; j += stride) {
        const bool other = j >= voxels;
        pc_ndt_finish_voxel(&task->target, &task->grid[other ? (int)PC_NDT_SHIFTED : l], &wider, center,
                            other ? j - voxels : j);
    }
}

/* Squares for the radii of gyration: one block per chunk of level 0. `rows`: shared memory for 3 x PC_NDT_CHUNK. */
__device__ static inline void pc_ndt_add_squares(const pc_ndt_group *g, const pc_ndt_task *task, uint32_t voxels,
                                                 double *rows) {
    const pc_ndt_layer *s = &task->grid[0];
    const int lane = (int)threadIdx.x % PC_NDT_LANES, axis = (int)threadIdx.x / PC_NDT_LANES;
    for (uint32_t chunk = (uint32_t)g->rank; chunk * PC_NDT_CHUNK < voxels; chunk += (uint32_t)g->blocks) {
        const uint32_t i = chunk * PC_NDT_CHUNK + threadIdx.x;
        for (int k = 0; k < 3; k++) {
            rows[k * PC_NDT_CHUNK + threadIdx.x] =
                i < voxels
                    ? pc_ndt_square_of(s->blocks[i / PC_NDT_LANES].mean[k][i % PC_NDT_LANES], (double)s->moments[i].n)
                    : 0.0;
        }
        __syncthreads();
        if (threadIdx.x < 64) { /* whole warps; three axes of lanes of them */
            double sum = 0.0;
            for (int k = lane; k < PC_NDT_CHUNK && axis < 3; k += PC_NDT_LANES) {
                sum += rows[axis * PC_NDT_CHUNK + k];
            }
            for (int half = PC_NDT_LANES / 2; half >= 1; half /= 2) {
                sum += __shfl_xor_sync(PC_NDT_ALL, sum, half);
            }
            if (lane == 0 && axis < 3) {
                task->gyration_sums[3 * chunk + (uint32_t)axis] = sum;
            }
        }
        __syncthreads();
    }
}

/* Measure of the target for the optimizer, computed by every block. `rows` as above. */
__device__ static inline void pc_ndt_measure_of(const pc_ndt_task *task, double *rows, pc_ndt_measure *measure) {
    const uint32_t voxels = task->persistent->count[0].voxels, chunks = (voxels + PC_NDT_CHUNK - 1) / PC_NDT_CHUNK;
    double square = 0.0; /* a thread an axis */
    for (uint32_t first = 0; first < chunks; first += PC_NDT_CHUNK) {
        const uint32_t count = 3 * min(chunks - first, (uint32_t)PC_NDT_CHUNK);
        for (uint32_t i = threadIdx.x; i < count; i += PC_NDT_THREADS) {
            rows[i] = task->gyration_sums[3 * first + i];
        }
        __syncthreads();
        for (uint32_t i = threadIdx.x; threadIdx.x < 3 && i < count; i += 3) {
            square += rows[i];
        }
        __syncthreads();
    }
    if (threadIdx.x < 3) {
        rows[threadIdx.x] = square;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        pc_ndt_center_of(task, measure->center);
        pc_ndt_gyration(rows, (double)task->persistent->total[0], measure->gyration);
        measure->voxels = voxels - 1;
    }
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* Voxels of all grids; sets `overflow` when they exceed the capacity. */
__device__ static inline void pc_ndt_make(pc_ndt_group *g, const pc_ndt_task *task, pc_ndt_making *shared) {
    pc_ndt_numbering *n = &shared->numbering;
    const pc_ndt_target *t = &task->target;
    const pc_ndt_layer *const both[2] = {&task->grid[0], &task->grid[PC_NDT_SHIFTED]};
    for (int k = 0; k < 2; k++) {
        pc_ndt_clear_slots(g, both[k], task->most_bits);
    }
    pc_ndt_barrier(g);
    pc_ndt_place_points(g, task);
    pc_ndt_barrier(g);
    if (task->persistent->overflow) {
        return;
    }
    pc_ndt_count_firsts(g, task, 0, 2, t->n, n);
    pc_ndt_barrier(g);
    pc_ndt_add_counts(g, task, 0, 2, n);
    const uint32_t voxels = n->all[0];
    if (n->all[0] > task->capacity || n->all[1] > task->capacity) {
        task->persistent->overflow = 1;
        return;
    }
    int bits = 32 - __clz((int)voxels) + 1;
    bits = bits < task->most_bits ? bits : task->most_bits;
    pc_ndt_number(g, task, 0, 2, t->n, n);
    for (int k = 0; k < 2; k++) {
        pc_ndt_clear_voxels(g, both[k], n->all[k]);
    }
    const uint32_t shifted = n->all[1];
    /* Clears the messages of an earlier registration. Both grids of level 0 have the most chunks. */
    const size_t most =
        (size_t)((voxels + PC_NDT_CHUNK - 1) / PC_NDT_CHUNK + (shifted + PC_NDT_CHUNK - 1) / PC_NDT_CHUNK) *
        PC_NDT_MOST_SUMS * PC_NDT_SUMS;
    for (int i = 0; i < 2; i++) {
        pc_ndt_fill(g, task->mailbox + (i ? task->mailbox_half : 0), most * sizeof *task->mailbox,
                    make_uint4(0, 0, 0, 0));
    }
    for (int l = 1; l < t->levels; l++) {
        pc_ndt_clear_slots(g, &task->grid[l], bits);
    }
    if (g->rank == 0 && (int)threadIdx.x < PC_NDT_GRIDS) {
        const bool wide = threadIdx.x > 0 && threadIdx.x < PC_NDT_SHIFTED;
        task->persistent->count[threadIdx.x].bits = wide ? bits : task->most_bits;
    }
    pc_ndt_barrier(g);
    pc_ndt_add_points(g, task);
    pc_ndt_place_voxels(g, task, voxels);
    pc_ndt_barrier(g);
    pc_ndt_count_firsts(g, task, 1, t->levels, voxels, n);
    pc_ndt_barrier(g);
    pc_ndt_add_counts(g, task, 1, t->levels, n);
    pc_ndt_number(g, task, 1, t->levels, voxels, n);
    for (int l = 1; l < t->levels; l++) {
        pc_ndt_clear_voxels(g, &task->grid[l], n->all[l]);
    }
    pc_ndt_barrier(g);
    pc_ndt_add_voxels(g, task, voxels);
    pc_ndt_barrier(g);
    for (int l = t->levels - 1; l >= 0; l--) {
        pc_ndt_finish_voxels(g, task, l, n->all[l], l == 0 ? shifted : 0, bits);
        pc_ndt_barrier(g);
    }
    pc_ndt_add_squares(g, task, voxels, shared->squares);
    pc_ndt_barrier(g);
}

#endif
