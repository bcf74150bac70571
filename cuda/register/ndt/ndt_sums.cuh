/* Source points in the target's voxels, sums over voxels, and the optimizer, by a group of blocks.
 *
 * Every block runs the optimizer for itself: the same sums give the same commands, so no block waits for a decision of
 * another. A pass costs a barrier. Sums cost less: blocks publish them in messages that carry the number of their
 * command. */
#ifndef PC_NDT_SUMS_CUH
#define PC_NDT_SUMS_CUH

#include "ndt_target.cuh"

enum {
    PC_NDT_AT_ONCE = 16,                      /* sums of a chunk that are in shared memory at a time */
    PC_NDT_ROW = PC_NDT_CHUNK + PC_NDT_LANES, /* so that lanes of two rows fall on different banks */
    PC_NDT_ROWS_AT_ONCE = 64,                 /* of the sums of chunks */
};

/* Points that a thread adds in each pass over a part; it keeps those of its first turns in registers. */
enum { PC_NDT_TURNS = 2 };
typedef struct pc_ndt_held {
    float x[PC_NDT_TURNS], y[PC_NDT_TURNS], z[PC_NDT_TURNS];
} pc_ndt_held;

/* Shared memory of a block. */
typedef struct pc_ndt_shared {
    union {
        pc_ndt_making making;
        float values[PC_NDT_AT_ONCE][PC_NDT_ROW];
        struct {
            double chunks[PC_NDT_ROWS_AT_ONCE][PC_NDT_SUMS];
            double sums[PC_NDT_MOST_SUMS][PC_NDT_SUMS];
        };
    };
    float held[PC_NDT_TURNS][3][PC_NDT_THREADS]; /* x, y and z */
    int held_set;                                /* of the source; -1 = none so far */
    pc_ndt_count count[PC_NDT_GRIDS];
    int grids[2], grid_count; /* of the last pass */
    uint32_t tag;             /* of the next messages: counts the commands */
    pc_ndt_optimizer optimizer;
} pc_ndt_shared;

/* ---- the source -------------------------------------------------------------------------------------------------- */

/* Copies the parts, since every pass goes over one again. */
__device__ static inline void pc_ndt_take_parts(const pc_ndt_group *g, const pc_ndt_task *task) {
    const pc_ndt_source *s = &task->source;
    const int64_t stride = (int64_t)g->blocks * PC_NDT_THREADS;
    for (int p = 0; p < PC_SETS; p++) {
        const int64_t n = task->part[p] ? s->points[p] : 0;
        for (int64_t i = (int64_t)g->rank * PC_NDT_THREADS + threadIdx.x; i < n; i += stride) {
            const int64_t at = pc_pick(i, s->every[p]);
            task->part[p][i] = s->x[at];
            task->part[p][n + i] = s->y[at];
            task->part[p][2 * n + i] = s->z[at];
        }
    }
}

/* The tiles of a turn are assigned to the blocks round-robin, so that all have work when there is little. */
__device__ static inline int64_t pc_ndt_first_point(const pc_ndt_group *g) {
    return ((int64_t)(threadIdx.x / 32) * g->blocks + g->rank) * 32 + pc_ndt_lane();
}

/* Points [first, first + PC_NDT_TURNS * stride) of a part, as far as there are. */
__device__ static inline void pc_ndt_hold(const pc_ndt_task *task, int set, int64_t first, int64_t stride,
                                          pc_ndt_held *held) {
    const int64_t n = task->source.points[set];
    const float *part = task->part[set];
    const float *x = part ? part : task->source.x, *y = part ? part + n : task->source.y,
                *z = part ? part + 2 * n : task->source.z;
#pragma unroll
    for (int t = 0; t < PC_NDT_TURNS; t++) {
        const int64_t i = first + t * stride;
        const bool good = i < n;
        held->x[t] = good ? x[i] : 0.0f;
        held->y[t] = good ? y[i] : 0.0f;
        held->z[t] = good ? z[i] : 0.0f;
    }
}

__device__ static inline void pc_ndt_keep(const pc_ndt_held *held, pc_ndt_shared *shared) {
#pragma unroll
    for (int t = 0; t < PC_NDT_TURNS; t++) {
        shared->held[t][0][threadIdx.x] = held->x[t];
        shared->held[t][1][threadIdx.x] = held->y[t];
        shared->held[t][2][threadIdx.x] = held->z[t];
    }
}

__device__ static inline void pc_ndt_take_kept(const pc_ndt_shared *shared, pc_ndt_held *held) {
#pragma unroll
    for (int t = 0; t < PC_NDT_TURNS; t++) {
        held->x[t] = shared->held[t][0][threadIdx.x];
        held->y[t] = shared->held[t][1][threadIdx.x];
        held->z[t] = shared->held[t][2][threadIdx.x];
    }
}

/* Adds those points to the voxels of the pass. All slots are loaded before the first is used: a load takes as long as
 * the rest of the work on a point. */
__device__ static inline void pc_ndt_add_held(const pc_ndt_task *task, const pc_ndt_pass *pass, int64_t first,
                                              int64_t stride, const pc_ndt_held *held, const pc_ndt_shared *shared) {
    const int64_t n = task->source.points[pass->set];
    const pc_ndt_map map = pass->map;
    const int grids = pass->grids;
    unsigned long long key[PC_NDT_TURNS][2], xyz[PC_NDT_TURNS][2];
    uint4 slot[PC_NDT_TURNS][2];
    uint32_t at[PC_NDT_TURNS][2], points[PC_NDT_TURNS][2];
#pragma unroll
    for (int t = 0; t < PC_NDT_TURNS; t++) {
        const int64_t i = first + t * stride;
        int32_t u[3] = {PC_NDT_OUT, PC_NDT_OUT, PC_NDT_OUT};
        if (i < n) {
            pc_ndt_quantize(&map, held->x[t], held->y[t], held->z[t], u);
        }
#pragma unroll
        for (int k = 0; k < 2; k++) {
            points[t][k] = 0;
            if (k < grids && (i & ~(int64_t)31) < n) { /* all of a warp or none */
                const int grid = shared->grids[k];
                const pc_ndt_layer *s = &task->grid[grid];
                const int32_t half = s->half;
                const int shift = s->shift;
                key[t][k] = pc_ndt_key_at(u, half, shift);
                at[t][k] = pc_ndt_hash(key[t][k], shared->count[grid].bits);
                const pc_ndt_run run = pc_ndt_run_of(key[t][k]);
                if (run.head && key[t][k] != PC_NDT_NO_KEY) {
                    slot[t][k] = *(const uint4 *)&s->slots[at[t][k]];
                    points[t][k] = (uint32_t)(run.end - run.begin);
                }
                const uint32_t mask = (1u << shift) - 1; /* 15 bits at most, so three sums of 32 fit a word */
                const uint32_t x = (uint32_t)(u[0] + half) & mask, y = (uint32_t)(u[1] + half) & mask,
                               z = (uint32_t)(u[2] + half) & mask;
                xyz[t][k] = pc_ndt_sum_run(run, (unsigned long long)z << 42 | (unsigned long long)y << 21 | x);
            }
        }
    }
#pragma unroll
    for (int t = 0; t < PC_NDT_TURNS; t++) {
#pragma unroll
        for (int k = 0; k < 2; k++) {
            if (points[t][k]) {
                const int grid = shared->grids[k];
                const pc_ndt_layer *s = &task->grid[grid];
                const pc_ndt_count *count = &shared->count[grid];
                const uint32_t voxel = pc_ndt_find_from(s->slots, count->bits, key[t][k], at[t][k], slot[t][k]);
                if (voxel) {
                    /* Sums of a pass have 31 bits, so two of them are added at once. */
                    unsigned long long *to = (unsigned long long *)&s->source[count->now][voxel];
                    atomicAdd(&to[0], (unsigned long long)(xyz[t][k] & 0x1fffff) << 32 | points[t][k]);
                    atomicAdd(&to[1], (unsigned long long)(xyz[t][k] >> 42) << 32 | (xyz[t][k] >> 21 & 0x1fffff));
                }
            }
        }
    }
}

/* Clears the array of the next pass. Of the three arrays one is in use, the previous one has been read, and the barrier
 * after this pass precedes all additions of the next. */
__device__ static inline void pc_ndt_clear_next(const pc_ndt_group *g, const pc_ndt_task *task,
                                                const pc_ndt_shared *shared) {
    const uint32_t stride = (uint32_t)g->blocks * PC_NDT_THREADS;
    for (int k = 0; k < shared->grid_count; k++) {
        const pc_ndt_count *count = &shared->count[shared->grids[k]];
        uint4 *to = task->grid[shared->grids[k]].source[pc_ndt_next_source(count->now)];
        for (uint32_t i = (uint32_t)pc_ndt_first_point(g); i < count->voxels; i += stride) {
            to[i] = make_uint4(0, 0, 0, 0);
        }
    }
}

/* Of the points of a part those from `first` on, by turns of `stride`. Not inlined, like the sums of a chunk: their
 * register use differs from that of the rest, and each has two callers. */
__device__ static __noinline__ void pc_ndt_add_part(const pc_ndt_task *task, const pc_ndt_pass *pass, int64_t first,
                                                    int64_t stride, pc_ndt_shared *shared) {
    const int64_t n = task->source.points[pass->set];
    const bool kept = shared->held_set == pass->set;
    __syncthreads(); /* the set is read, the grids are written */
    if (threadIdx.x == 0) {
        shared->held_set = pass->set;
    }
    for (int64_t i = first; (i & ~(int64_t)31) < n; i += PC_NDT_TURNS * stride) {
        pc_ndt_held held;
        if (kept && i == first) {
            pc_ndt_take_kept(shared, &held);
        } else {
            pc_ndt_hold(task, pass->set, i, stride, &held);
        }
        if (!kept && i == first) {
            pc_ndt_keep(&held, shared);
        }
        pc_ndt_add_held(task, pass, i, stride, &held, shared);
    }
}

__device__ static inline void pc_ndt_add_source(const pc_ndt_group *g, const pc_ndt_task *task, const pc_ndt_pass *pass,
                                                pc_ndt_shared *shared) {
    if (threadIdx.x == 0) {
        shared->grids[0] = pass->level;
        shared->grids[1] = PC_NDT_SHIFTED;
        shared->grid_count = pass->grids;
        for (int k = 0; k < pass->grids; k++) {
            pc_ndt_count *count = &shared->count[shared->grids[k]];
            count->now = pc_ndt_next_source(count->now);
        }
    }
    pc_ndt_add_part(task, pass, pc_ndt_first_point(g), (int64_t)g->blocks * PC_NDT_THREADS, shared);
    pc_ndt_clear_next(g, task, shared);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

__device__ static inline uint32_t pc_ndt_chunks(const pc_ndt_shared *shared, int k) {
    return k < shared->grid_count ? (shared->count[shared->grids[k]].voxels + PC_NDT_CHUNK - 1) / PC_NDT_CHUNK : 0;
}

/* Data of a target voxel for a step. */
__device__ static inline void pc_ndt_take_voxel(const pc_ndt_block *from, int l, pc_ndt_block *to) {
    to->n[0] = from->n[l];
    to->seen[0] = from->seen[l];
    to->line[0] = from->line[l];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        to->inside[k][0] = from->inside[k][l];
        to->mean[k][0] = from->mean[k][l];
    }
#pragma unroll
    for (int k = 0; k < 6; k++) {
        to->weight[k][0] = from->weight[k][l];
        to->normal[k][0] = from->normal[k][l];
    }
}

/* A message: the bits of a float64 and the number of its command, which other blocks read whole or not at all. */
__device__ static inline void pc_ndt_publish(uint4 *message, double value, uint32_t tag) {
    const unsigned long long bits = (unsigned long long)__double_as_longlong(value);
    pc_note_store(message, (uint32_t)bits, (uint32_t)(bits >> 32), tag, 0);
}

/* Sums of one chunk: one voxel per thread, then one lane of a sum per thread, in the order of ndt_math.h. */
__device__ static __noinline__ void pc_ndt_sum_chunk(const pc_ndt_task *task, const pc_ndt_step *step, int grid,
                                                     uint32_t chunk, pc_ndt_shared *shared, uint4 *to) {
    const pc_ndt_layer *s = &task->grid[grid];
    const pc_ndt_count *count = &shared->count[grid];
    const uint32_t voxel = chunk * PC_NDT_CHUNK + threadIdx.x;
    float sums[PC_NDT_SUMS];
#pragma unroll
    for (int k = 0; k < PC_NDT_SUMS; k++) {
        sums[k] = 0.0f;
    }
    if (voxel < count->voxels) {
        const uint4 own = s->source[count->now][voxel];
        pc_ndt_block block; /* its lane 0; loaded speculatively, since the test takes as long */
        pc_ndt_take_voxel(&s->blocks[voxel / PC_NDT_LANES], (int)(voxel % PC_NDT_LANES), &block);
        if (own.x) {
            pc_ndt_add(step, &block, 0, (int32_t)own.x, (int32_t)own.y, (int32_t)own.z, (int32_t)own.w, sums, 1);
        }
    }
    const int lane = (int)threadIdx.x % PC_NDT_LANES, row = (int)threadIdx.x / PC_NDT_LANES;
#pragma unroll
    for (int first = 0; first < PC_NDT_SUMS; first += PC_NDT_AT_ONCE) {
#pragma unroll
        for (int k = 0; k < PC_NDT_AT_ONCE; k++) {
            shared->values[k][threadIdx.x] = sums[first + k];
        }
        __syncthreads();
        if (row < PC_NDT_AT_ONCE) { /* whole warps */
            float sum = 0.0f;
#pragma unroll
            for (int i = lane; i < PC_NDT_CHUNK; i += PC_NDT_LANES) {
                sum += shared->values[row][i];
            }
            double wide = (double)sum;
            for (int half = PC_NDT_LANES / 2; half >= 1; half /= 2) {
                wide += __shfl_xor_sync(PC_NDT_ALL, wide, half);
            }
            if (lane == 0) {
                pc_ndt_publish(&to[first + row], wide, shared->tag);
            }
        }
        __syncthreads();
    }
}

/* Messages of two commands, in turns: other blocks may still read those of the previous command. */
__device__ static inline uint4 *pc_ndt_mailbox(const pc_ndt_task *task, const pc_ndt_shared *shared) {
    return task->mailbox + (shared->tag & 1 ? task->mailbox_half : 0);
}

/* Every chunk of the last pass's grids for each of the steps, one at a time per block. */
__device__ static inline void pc_ndt_sum_chunks(const pc_ndt_group *g, const pc_ndt_task *task,
                                                const pc_ndt_step *steps, int count, pc_ndt_shared *shared) {
    const uint32_t first = pc_ndt_chunks(shared, 0), all = first + pc_ndt_chunks(shared, 1);
    uint4 *mailbox = pc_ndt_mailbox(task, shared);
    for (uint32_t item = (uint32_t)g->rank; item < all * (uint32_t)count; item += (uint32_t)g->blocks) {
        const uint32_t chunk = item % all;
        const bool second = chunk >= first;
        pc_ndt_sum_chunk(task, &steps[item / all], shared->grids[second], second ? chunk - first : chunk, shared,
                         mailbox + (size_t)item * PC_NDT_SUMS);
    }
}

/* Waits for `rows` of messages and puts their values into shared memory. */
__device__ static inline void pc_ndt_receive(const uint4 *from, uint32_t rows, pc_ndt_shared *shared) {
    enum { EACH = PC_NDT_ROWS_AT_ONCE * PC_NDT_SUMS / PC_NDT_THREADS };
    uint4 message[EACH];
    uint32_t looks = 0;
    bool all;
    do {
        all = true;
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            const uint32_t i = threadIdx.x + (uint32_t)k * PC_NDT_THREADS;
            message[k] = i < rows * PC_NDT_SUMS ? pc_note_load(from + i) : make_uint4(0, 0, shared->tag, 0);
        }
#pragma unroll
        for (int k = 0; k < EACH; k++) {
            all = all && message[k].z == shared->tag;
        }
        if (!all) {
            pc_pause();
            if (++looks == 1u << 26) {
                __trap(); /* as in pc_ndt_barrier */
            }
        }
    } while (!all);
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        (&shared->chunks[0][0])[threadIdx.x + (uint32_t)k * PC_NDT_THREADS] =
            __longlong_as_double((long long)pc_ndt_pair(message[k].x, message[k].y));
    }
}

/* Adds up the chunks in order as the blocks publish them; each lane of the first warp has one sum. */
__device__ static inline void pc_ndt_collect(const pc_ndt_task *task, int count, pc_ndt_shared *shared) {
    const uint32_t all = pc_ndt_chunks(shared, 0) + pc_ndt_chunks(shared, 1);
    const uint4 *mailbox = pc_ndt_mailbox(task, shared);
    for (int s = 0; s < count; s++) {
        double sum = 0.0;
        for (uint32_t first = 0; first < all; first += PC_NDT_ROWS_AT_ONCE) {
            const uint32_t rows = min(all - first, (uint32_t)PC_NDT_ROWS_AT_ONCE);
            pc_ndt_receive(mailbox + ((size_t)s * all + first) * PC_NDT_SUMS, rows, shared);
            __syncthreads();
            if (threadIdx.x < PC_NDT_SUMS) {
#pragma unroll 8
                for (uint32_t i = 0; i < rows; i++) {
                    sum += shared->chunks[i][threadIdx.x];
                }
            }
            __syncthreads();
        }
        if (threadIdx.x < PC_NDT_SUMS) {
            shared->sums[s][threadIdx.x] = sum;
        }
    }
    if (threadIdx.x == 0) {
        shared->tag++;
    }
    __syncthreads();
}

/* ---- the path ---------------------------------------------------------------------------------------------------- */

/* By one thread. Not inlined, like the passes. */
__device__ static __noinline__ void pc_ndt_continue(pc_ndt_optimizer *optimizer, double (*sums)[PC_NDT_SUMS]) {
    if (sums) {
        pc_ndt_optimizer_next(optimizer, sums);
    } else {
        pc_ndt_optimizer_begin(optimizer);
    }
}

__device__ static inline void pc_ndt_follow(pc_ndt_group *g, const pc_ndt_task *task, pc_ndt_shared *shared) {
    pc_ndt_optimizer *optimizer = &shared->optimizer;
    int since = 0; /* commands since the last barrier: the second command after a message overwrites it */
    if (threadIdx.x == 0) {
        pc_ndt_continue(optimizer, NULL);
    }
    __syncthreads();
    while (optimizer->end == PC_NDT_RUNNING) {
        const pc_ndt_command *command = &optimizer->command;
        if (command->passes) {
            pc_ndt_add_source(g, task, &command->pass, shared);
        }
        if (command->passes || since == 2) {
            pc_ndt_barrier(g);
            since = 0;
        }
        pc_ndt_sum_chunks(g, task, command->step, command->sums, shared);
        pc_ndt_collect(task, command->sums, shared);
        since++;
        if (threadIdx.x == 0) {
            pc_ndt_continue(optimizer, shared->sums);
        }
        __syncthreads();
    }
}

#endif
