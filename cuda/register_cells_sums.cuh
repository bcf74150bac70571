/* The source in the cells of the target, sums over them, and the way from the start to the result, by a group of
 * blocks.
 *
 * Every block follows the path for itself, from the same sums to the same commands, so that nobody waits for one that
 * decides. A pass costs a barrier and so does a sum. */
#ifndef PC_REGISTER_CELLS_SUMS_CUH
#define PC_REGISTER_CELLS_SUMS_CUH

#include "register_cells.cuh"

enum {
    PC_CELLS_AT_ONCE = 16,                          /* sums of a chunk that are in shared memory at a time */
    PC_CELLS_ROW = PC_CELLS_CHUNK + PC_CELLS_LANES, /* so that lanes of two rows fall on different banks */
    PC_CELLS_ROWS_AT_ONCE = 128,                    /* of the sums of chunks */
};

/* Shared memory of a block. */
typedef struct pc_cells_shared {
    union {
        float values[PC_CELLS_AT_ONCE][PC_CELLS_ROW];
        double chunks[PC_CELLS_ROWS_AT_ONCE][PC_CELLS_SUMS];
        double squares[3 * PC_CELLS_CHUNK];
    };
    double sums[PC_CELLS_MOST_SUMS][PC_CELLS_SUMS];
    pc_cells_count count[PC_CELLS_GRIDS];
    int grids[2], grid_count; /* of the last pass */
    int turn;                 /* which half of the task's sums is in use: others may still read the one before */
    pc_cells_path path;
} pc_cells_shared;

/* ---- the source -------------------------------------------------------------------------------------------------- */

/* Copies the parts, since every pass goes over one again. */
__device__ static inline void pc_cells_take_parts(const pc_cells_group *g, const pc_cells_task *task) {
    const pc_cells_source *s = &task->source;
    const int64_t stride = (int64_t)g->blocks * PC_CELLS_THREADS;
    for (int p = 0; p < PC_SETS; p++) {
        const int64_t n = task->part[p] ? s->points[p] : 0;
        for (int64_t i = (int64_t)g->rank * PC_CELLS_THREADS + threadIdx.x; i < n; i += stride) {
            const int64_t at = pc_cells_pick(i, s->every[p]);
            task->part[p][i] = s->x[at];
            task->part[p][n + i] = s->y[at];
            task->part[p][2 * n + i] = s->z[at];
        }
    }
}

/* Adds the runs of a warp to the cells of one grid. */
__device__ static inline void pc_cells_add_runs(const pc_cells_layer *s, const pc_cells_count *count,
                                                const int32_t u[3]) {
    const unsigned long long key = pc_cells_key_at(u, s->half, s->shift);
    const pc_cells_run run = pc_cells_run_of(key);
    const uint32_t mask = (1u << s->shift) - 1; /* 15 bits at most, so three sums of 32 fit a word */
    const uint32_t x = (uint32_t)(u[0] + s->half) & mask, y = (uint32_t)(u[1] + s->half) & mask,
                   z = (uint32_t)(u[2] + s->half) & mask;
    const unsigned long long xyz = pc_cells_sum_run(run, (unsigned long long)z << 42 | (unsigned long long)y << 21 | x);
    if (run.head && key != PC_CELLS_NO_KEY) {
        const uint32_t cell = pc_cells_find(s->slots, count->bits, key);
        if (cell) {
            /* Sums of a pass have 31 bits, so two of them are added at once. */
            unsigned long long *to = (unsigned long long *)&s->source[count->now][cell];
            const uint32_t points = (uint32_t)(run.end - run.begin);
            atomicAdd(&to[0], (unsigned long long)(xyz & 0x1fffff) << 32 | points);
            atomicAdd(&to[1], (unsigned long long)(xyz >> 42) << 32 | (xyz >> 21 & 0x1fffff));
        }
    }
}

__device__ static inline void pc_cells_add_source(const pc_cells_group *g, const pc_cells_task *task,
                                                  const pc_cells_pass *pass, pc_cells_shared *shared) {
    __syncthreads();
    if (threadIdx.x == 0) {
        shared->grids[0] = pass->level;
        shared->grids[1] = PC_CELLS_SHIFTED;
        shared->grid_count = pass->grids;
        for (int k = 0; k < pass->grids; k++) {
            shared->count[shared->grids[k]].now ^= 1;
        }
    }
    __syncthreads();
    const int64_t n = task->source.points[pass->set];
    const float *part = task->part[pass->set];
    const float *x = part ? part : task->source.x, *y = part ? part + n : task->source.y,
                *z = part ? part + 2 * n : task->source.z;
    const pc_cells_map map = pass->map;
    const int64_t stride = (int64_t)g->blocks * PC_CELLS_THREADS;
    for (int64_t i = (int64_t)g->rank * PC_CELLS_THREADS + threadIdx.x; (i & ~(int64_t)31) < n; i += stride) {
        int32_t u[3] = {PC_CELLS_OUT, PC_CELLS_OUT, PC_CELLS_OUT};
        if (i < n) {
            pc_cells_quantize(&map, x[i], y[i], z[i], u);
        }
        for (int k = 0; k < pass->grids; k++) {
            const int grid = shared->grids[k];
            pc_cells_add_runs(&task->grid[grid], &shared->count[grid], u);
        }
    }
}

/* Zeros where the pass after this one adds. */
__device__ static inline void pc_cells_clear_next(const pc_cells_group *g, const pc_cells_task *task,
                                                  const pc_cells_shared *shared) {
    const uint32_t stride = (uint32_t)g->blocks * PC_CELLS_THREADS;
    for (int k = 0; k < shared->grid_count; k++) {
        const pc_cells_count *count = &shared->count[shared->grids[k]];
        uint4 *to = task->grid[shared->grids[k]].source[count->now ^ 1];
        for (uint32_t i = (uint32_t)g->rank * PC_CELLS_THREADS + threadIdx.x; i < count->cells; i += stride) {
            to[i] = make_uint4(0, 0, 0, 0);
        }
    }
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

__device__ static inline uint32_t pc_cells_chunks(const pc_cells_shared *shared, int k) {
    return k < shared->grid_count ? (shared->count[shared->grids[k]].cells + PC_CELLS_CHUNK - 1) / PC_CELLS_CHUNK : 0;
}

/* Sums of one chunk: a cell a thread, then a lane of a sum a thread, in the order of icp_cells.h. */
__device__ static inline void pc_cells_sum_chunk(const pc_cells_task *task, const pc_cells_step *step, int grid,
                                                 uint32_t chunk, pc_cells_shared *shared, double *to) {
    const pc_cells_layer *s = &task->grid[grid];
    const pc_cells_count *count = &shared->count[grid];
    const uint32_t cell = chunk * PC_CELLS_CHUNK + threadIdx.x;
    float sums[PC_CELLS_SUMS];
#pragma unroll
    for (int k = 0; k < PC_CELLS_SUMS; k++) {
        sums[k] = 0.0f;
    }
    if (cell < count->cells) {
        const uint4 own = s->source[count->now][cell];
        if (own.x) {
            pc_cells_add(step, &s->blocks[cell / PC_CELLS_LANES], (int)(cell % PC_CELLS_LANES), (int32_t)own.x,
                         (int32_t)own.y, (int32_t)own.z, (int32_t)own.w, sums, 1);
        }
    }
    const int lane = (int)threadIdx.x % PC_CELLS_LANES, row = (int)threadIdx.x / PC_CELLS_LANES;
#pragma unroll
    for (int first = 0; first < PC_CELLS_SUMS; first += PC_CELLS_AT_ONCE) {
#pragma unroll
        for (int k = 0; k < PC_CELLS_AT_ONCE; k++) {
            shared->values[k][threadIdx.x] = sums[first + k];
        }
        __syncthreads();
        if (row < PC_CELLS_AT_ONCE) { /* whole warps */
            float sum = 0.0f;
#pragma unroll
            for (int i = lane; i < PC_CELLS_CHUNK; i += PC_CELLS_LANES) {
                sum += shared->values[row][i];
            }
            double wide = (double)sum;
            for (int half = PC_CELLS_LANES / 2; half >= 1; half /= 2) {
                wide += __shfl_xor_sync(PC_CELLS_ALL, wide, half);
            }
            if (lane == 0) {
                to[first + row] = wide;
            }
        }
        __syncthreads();
    }
}

__device__ static inline double *pc_cells_sums_of_turn(const pc_cells_task *task, const pc_cells_shared *shared) {
    return task->sums + (shared->turn ? task->sums_half : 0);
}

/* Every chunk of the last pass's grids for each of the steps, a block one at a time. */
__device__ static inline void pc_cells_sum_chunks(const pc_cells_group *g, const pc_cells_task *task,
                                                  const pc_cells_step *steps, int count, pc_cells_shared *shared) {
    const uint32_t first = pc_cells_chunks(shared, 0), all = first + pc_cells_chunks(shared, 1);
    double *sums = pc_cells_sums_of_turn(task, shared);
    for (uint32_t item = (uint32_t)g->rank; item < all * (uint32_t)count; item += (uint32_t)g->blocks) {
        const uint32_t chunk = item % all;
        const bool second = chunk >= first;
        pc_cells_sum_chunk(task, &steps[item / all], shared->grids[second], second ? chunk - first : chunk, shared,
                           sums + (size_t)item * PC_CELLS_SUMS);
    }
}

/* After a barrier: adds up the chunks in order, a lane of the first warp a sum. */
__device__ static inline void pc_cells_collect(const pc_cells_task *task, int count, pc_cells_shared *shared) {
    const uint32_t all = pc_cells_chunks(shared, 0) + pc_cells_chunks(shared, 1);
    const double *sums = pc_cells_sums_of_turn(task, shared);
    for (int s = 0; s < count; s++) {
        double sum = 0.0;
        for (uint32_t first = 0; first < all; first += PC_CELLS_ROWS_AT_ONCE) {
            const uint32_t rows = min(all - first, (uint32_t)PC_CELLS_ROWS_AT_ONCE);
            const double *from = sums + ((size_t)s * all + first) * PC_CELLS_SUMS;
            for (uint32_t i = threadIdx.x; i < rows * PC_CELLS_SUMS; i += PC_CELLS_THREADS) {
                (&shared->chunks[0][0])[i] = from[i];
            }
            __syncthreads();
            if (threadIdx.x < PC_CELLS_SUMS) {
#pragma unroll 8
                for (uint32_t i = 0; i < rows; i++) {
                    sum += shared->chunks[i][threadIdx.x];
                }
            }
            __syncthreads();
        }
        if (threadIdx.x < PC_CELLS_SUMS) {
            shared->sums[s][threadIdx.x] = sum;
        }
    }
    if (threadIdx.x == 0) {
        shared->turn ^= 1;
    }
    __syncthreads();
}

/* ---- the path ---------------------------------------------------------------------------------------------------- */

/* By one thread. Not inlined: what it needs of registers is not what the rest needs. */
__device__ static __noinline__ void pc_cells_go_on(pc_cells_path *path, double (*sums)[PC_CELLS_SUMS]) {
    if (sums) {
        pc_cells_path_next(path, sums);
    } else {
        pc_cells_path_begin(path);
    }
}

__device__ static inline void pc_cells_follow(pc_cells_group *g, const pc_cells_task *task, pc_cells_shared *shared) {
    pc_cells_path *path = &shared->path;
    if (threadIdx.x == 0) {
        pc_cells_go_on(path, NULL);
    }
    __syncthreads();
    while (path->end == PC_CELLS_UNDER_WAY) {
        const pc_cells_command *command = &path->command;
        if (command->passes) {
            pc_cells_add_source(g, task, &command->pass, shared);
            pc_cells_meet(g);
            pc_cells_clear_next(g, task, shared);
        }
        pc_cells_sum_chunks(g, task, command->step, command->sums, shared);
        pc_cells_meet(g);
        pc_cells_collect(task, command->sums, shared);
        if (threadIdx.x == 0) {
            pc_cells_go_on(path, shared->sums);
        }
        __syncthreads();
    }
}

#endif
