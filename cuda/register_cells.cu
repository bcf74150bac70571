/* Registration by cells on CUDA (lib/register_cells.c says what the method is).
 *
 * Idea: one launch from points to the transform. The blocks of a group make the cells of the target and then follow the
 * path of the registration to its end, with a barrier of the group between what depends on each other; the host sends
 * the points and waits. Integer atomics add up points, so their order does not matter; cells are numbered by their
 * first points and summed in the order of icp_cells.h, so the bits are the CPU's. Several pairs run side by side, each
 * on its own group: a cluster of blocks, or blocks of a cooperative launch.
 *
 * Memory: 12 bytes a point and 8 for its two slots; for each grid 200 bytes a cell and 32 to 64 for the table. Room is
 * made for a cell to every few points of the target, and for one to each point when that was too little, which the
 * blocks say before they number any. */
#include "cuda_register.h"
#include "register_cells_sums.cuh"
#include "register_cells_target.cuh"

#include <stdlib.h>
#include <string.h>

enum { COUNTER_WORDS = 32, ROOM = 4096, POINTS_A_BLOCK = 1024 };

/* Points to a cell, where nothing is known of the target. */
#define SPARING 4.0

/* ---- the kernel -------------------------------------------------------------------------------------------------- */

/* Words of a struct, by all threads of a block. */
__device__ static void copy_words(void *to, const void *from, size_t bytes) {
    for (size_t i = threadIdx.x; i < bytes / sizeof(uint32_t); i += PC_CELLS_THREADS) {
        ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
    }
}

__device__ static void begin_task(const pc_cells_task *task, pc_cells_shared *shared) {
    copy_words(&shared->path, &task->path, sizeof shared->path);
    copy_words(shared->count, task->count, sizeof shared->count);
    __syncthreads();
    if (threadIdx.x == 0) {
        shared->turn = 0;
        shared->grids[0] = task->last[0];
        shared->grids[1] = task->last[1];
        shared->grid_count = task->lasts;
        if (task->work & PC_CELLS_MAKE) {
            pc_cells_measure_of(task, &shared->path.target);
        }
    }
    __syncthreads();
}

__device__ static void end_task(pc_cells_task *task, const pc_cells_shared *shared) {
    copy_words(&task->path, &shared->path, sizeof shared->path);
    copy_words(task->count, shared->count, sizeof shared->count);
    copy_words(task->added, shared->sums[0], sizeof task->added);
    if (threadIdx.x == 0) {
        task->last[0] = shared->grids[0];
        task->last[1] = shared->grids[1];
        task->lasts = shared->grid_count;
    }
}

__device__ static void run_task(pc_cells_group *g, pc_cells_task *task, pc_cells_shared *shared) {
    const uint32_t work = task->work;
    if (work & PC_CELLS_PART) {
        pc_cells_take_parts(g, task);
    }
    if ((work & PC_CELLS_MAKE) && !pc_cells_make(g, task, shared->squares)) {
        return;
    }
    begin_task(task, shared);
    const pc_cells_command *command = &shared->path.command;
    if (work & PC_CELLS_FOLLOW) {
        pc_cells_follow(g, task, shared);
    }
    if (work & PC_CELLS_PASS) {
        pc_cells_add_source(g, task, &command->pass, shared);
        pc_cells_meet(g);
        pc_cells_clear_next(g, task, shared);
    }
    if (work & PC_CELLS_SUM) {
        pc_cells_sum_chunks(g, task, command->step, 1, shared);
        pc_cells_meet(g);
        pc_cells_collect(task, 1, shared);
    }
    pc_cells_meet(g); /* nobody reads any more what is now written */
    if (g->rank == 0) {
        end_task(task, shared);
    }
}

/* `blocks` work on a task; groups take one after the other. arrived: a counter for each group, at 0; NULL for clusters.
 */
__global__ void __launch_bounds__(PC_CELLS_THREADS, 1)
    cells_kernel(pc_cells_task *tasks, int count, int blocks, uint32_t *arrived) {
    __shared__ pc_cells_shared shared;
    const int group = (int)blockIdx.x / blocks, groups = (int)gridDim.x / blocks;
    pc_cells_group g = {(int)blockIdx.x % blocks, blocks, arrived ? arrived + group * COUNTER_WORDS : NULL, 0};
    for (int t = group; t < count; t += groups) {
        run_task(&g, &tasks[t], &shared);
        __syncthreads();
    }
}

/* ---- the state --------------------------------------------------------------------------------------------------- */

/* What a context keeps between registrations. */
typedef struct cells_state {
    pc_arena arena;
    double sparing;     /* points to a cell that were enough so far */
    char *staging;      /* pinned: counters, then tasks */
    size_t staging_bytes;
    pc_cells_task task; /* of a registration that is done step by step, as it is on the device */
} cells_state;

extern "C" void pc_cuda_cells_free(pcgpu_context *context) {
    pc_cuda *cuda = pc_cuda_of(context);
    cells_state *s = (cells_state *)cuda->cells;
    if (s) {
        pc_arena_free(&s->arena);
        cudaFreeHost(s->staging);
        free(s);
        cuda->cells = NULL;
    }
}

static pcgpu_status begin_state(pcgpu_context *context, cells_state **state) {
    pc_cuda *cuda = pc_cuda_of(context);
    cells_state *s = (cells_state *)cuda->cells;
    if (!s) {
        s = (cells_state *)calloc(1, sizeof *s);
        if (!s) {
            return pc_fail_memory(context, sizeof *s, "the registration");
        }
        s->sparing = SPARING;
        cuda->cells = s;
    }
    *state = s;
    return PCGPU_OK;
}

static pcgpu_status take_staging(pcgpu_context *context, cells_state *s, size_t bytes) {
    if (bytes > s->staging_bytes) {
        cudaFreeHost(s->staging);
        s->staging = NULL;
        s->staging_bytes = 0;
        CUDA_TRY(context, cudaMallocHost((void **)&s->staging, bytes));
        s->staging_bytes = bytes;
    }
    return PCGPU_OK;
}

/* ---- memory of a task -------------------------------------------------------------------------------------------- */

/* Parts of one piece of memory; with a base of NULL only their size is found. */
typedef struct carving {
    char *base;
    size_t used;
} carving;

static void *carve(carving *c, size_t bytes) {
    const size_t at = c->used;
    c->used += (bytes + 255) / 256 * 256;
    return c->base ? c->base + at : NULL;
}

static size_t chunks_of(const pc_cells_task *t) {
    return t->capacity / PC_CELLS_CHUNK + 1;
}

/* Points of the target, the cells of all grids, and what blocks tell each other. */
static void carve_target(carving *c, pc_cells_task *t) {
    const size_t n = (size_t)t->target.n, capacity = t->capacity;
    float *xyz = (float *)carve(c, 3 * n * sizeof *xyz);
    t->target.x = xyz;
    t->target.y = xyz ? xyz + n : NULL;
    t->target.z = xyz ? xyz + 2 * n : NULL;
    for (int i = 0; i < PC_CELLS_GRIDS; i++) {
        pc_cells_layer *g = &t->grid[i];
        const bool shifted = i == PC_CELLS_SHIFTED;
        if (i >= t->target.levels && !shifted) {
            continue;
        }
        g->shift = PC_CELLS_BITS + (shifted ? 0 : i);
        g->half = shifted ? 1 << (PC_CELLS_BITS - 1) : 0;
        g->slots = (pc_cells_slot *)carve(c, sizeof *g->slots << t->most_bits);
        g->slot_of = (uint32_t *)carve(c, (shifted || i == 0 ? n : capacity) * sizeof *g->slot_of);
        g->keys = (uint64_t *)carve(c, capacity * sizeof *g->keys);
        g->moments = (pc_cells_moments *)carve(c, capacity * sizeof *g->moments);
        g->blocks = (pc_cells_block *)carve(c, (capacity / PC_CELLS_LANES + 1) * sizeof *g->blocks);
        g->source[0] = (uint4 *)carve(c, capacity * sizeof *g->source[0]);
        g->source[1] = (uint4 *)carve(c, capacity * sizeof *g->source[1]);
    }
    t->counts = (uint32_t *)carve(c, PC_CELLS_GRIDS * PC_CELLS_MAX_BLOCKS * sizeof *t->counts);
    t->levers = (double *)carve(c, 3 * chunks_of(t) * sizeof *t->levers);
    t->sums_half = PC_CELLS_MOST_SUMS * 2 * chunks_of(t) * PC_CELLS_SUMS;
    t->sums = (double *)carve(c, 2 * t->sums_half * sizeof *t->sums);
}

static void carve_source(carving *c, pc_cells_task *t) {
    pc_cells_source *s = &t->source;
    const size_t n = (size_t)s->n;
    float *xyz = (float *)carve(c, 3 * n * sizeof *xyz);
    s->x = xyz;
    s->y = xyz ? xyz + n : NULL;
    s->z = xyz ? xyz + 2 * n : NULL;
    for (int i = 0; i < PC_SETS; i++) {
        t->part[i] = s->every[i] > 1 ? (float *)carve(c, 3 * (size_t)s->points[i] * sizeof(float)) : NULL;
    }
}

static pcgpu_status set_capacity(pcgpu_context *context, pc_cells_task *t, double sparing) {
    const double most = (double)t->target.n + 1.0, room = (double)t->target.n / sparing + ROOM;
    const double capacity = room < most ? room : most;
    if (capacity > (double)(1u << 30)) {
        return pc_fail_memory(context, (uint64_t)capacity * 264, "the cells of the target on the GPU");
    }
    t->capacity = (uint32_t)capacity;
    for (t->most_bits = 1; (uint64_t)1 << t->most_bits < 2 * (uint64_t)t->capacity; t->most_bits++) {
    }
    return PCGPU_OK;
}

/* More room for a task, as long as there can be more cells. */
static double less_sparing(double sparing) {
    return sparing > 4.0 ? 4.0 : 1.0;
}

/* Copies points that lie one after the other, or not. */
static pcgpu_status upload_points(pcgpu_context *context, const float *device, int64_t n, const float *x, const float *y,
                                  const float *z) {
    float *to = (float *)device;
    const size_t bytes = (size_t)n * sizeof *to;
    if (y == x + n && z == y + n) {
        return pc_cuda_up(context, to, x, 3 * bytes);
    }
    PC_TRY(pc_cuda_up(context, to, x, bytes));
    PC_TRY(pc_cuda_up(context, to + n, y, bytes));
    return pc_cuda_up(context, to + 2 * n, z, bytes);
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

static cudaLaunchConfig_t configuration(int groups, int blocks, bool cluster, cudaLaunchAttribute *attribute,
                                        cudaStream_t stream) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(groups * blocks));
    config.blockDim = dim3(PC_CELLS_THREADS);
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    if (cluster) {
        attribute->id = cudaLaunchAttributeClusterDimension;
        attribute->val.clusterDim = {(unsigned)blocks, 1, 1};
    } else {
        attribute->id = cudaLaunchAttributeCooperative;
        attribute->val.cooperative = 1;
    }
    return config;
}

/* Groups of so many blocks that can run at the same time. */
static pcgpu_status resident_groups(pcgpu_context *context, int blocks, bool cluster, int *groups) {
    const struct cudaDeviceProp *p = &pc_cuda_of(context)->properties;
    *groups = 0;
    if (cluster && (p->major < 9 || blocks > 16)) {
        return PCGPU_OK;
    }
    if (cluster) {
        cudaLaunchAttribute attribute;
        if (blocks > 8) {
            CUDA_TRY(context,
                     cudaFuncSetAttribute((const void *)cells_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
        }
        cudaLaunchConfig_t config = configuration(1, blocks, true, &attribute, NULL);
        if (cudaOccupancyMaxActiveClusters(groups, cells_kernel, &config) != cudaSuccess) {
            cudaGetLastError(); /* a size that the device does not offer */
            *groups = 0;
        }
        return PCGPU_OK;
    }
    int a_multiprocessor = 0;
    CUDA_TRY(context, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a_multiprocessor, cells_kernel, PC_CELLS_THREADS, 0));
    *groups = (p->cooperativeLaunch ? a_multiprocessor * p->multiProcessorCount : 1) / blocks;
    return PCGPU_OK;
}

/* Uploads tasks, runs them, and brings back what they have to tell. device: counters and tasks. */
static pcgpu_status run_tasks(pcgpu_context *context, cells_state *s, pc_cells_task *tasks, int count,
                              const pc_cuda_cells_form *form, char *device) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    int groups;
    PC_TRY(resident_groups(context, form->blocks, form->cluster, &groups));
    if (groups < 1) {
        return pc_fail(context, PCGPU_ERROR_UNAVAILABLE, "the device cannot run %d blocks together", form->blocks);
    }
    groups = groups < count || form->cluster ? groups : count;
    groups = form->cluster ? count : groups;
    const size_t counters = (size_t)count * COUNTER_WORDS * sizeof(uint32_t), bytes = (size_t)count * sizeof *tasks;
    PC_TRY(take_staging(context, s, counters + bytes));
    memset(s->staging, 0, counters);
    memcpy(s->staging + counters, tasks, bytes);
    PC_TRY(pc_cuda_up(context, device, s->staging, counters + bytes));
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = configuration(groups, form->blocks, form->cluster, &attribute, stream);
    CUDA_TRY(context, cudaLaunchKernelEx(&config, cells_kernel, (pc_cells_task *)(device + counters), count, form->blocks,
                                         form->cluster ? (uint32_t *)NULL : (uint32_t *)device));
    PC_TRY(pc_cuda_down(context, s->staging + counters, device + counters, bytes));
    memcpy(tasks, s->staging + counters, bytes);
    return PCGPU_OK;
}

static size_t bytes_of_tasks(int count) {
    return (size_t)count * (sizeof(pc_cells_task) + COUNTER_WORDS * sizeof(uint32_t));
}

/* The form for pairs of this size: a block to so many points, as many as there are multiprocessors for each. */
static pcgpu_status choose_form(pcgpu_context *context, int64_t points, int count, pc_cuda_cells_form *form) {
    if (form->blocks == 0) {
        int resident;
        PC_TRY(resident_groups(context, 1, false, &resident));
        int64_t blocks = resident / count;
        blocks = blocks < 8 ? 8 : blocks;
        blocks = blocks < points / POINTS_A_BLOCK ? blocks : points / POINTS_A_BLOCK;
        blocks = blocks < resident ? blocks : resident;
        blocks = blocks < (int64_t)PC_CELLS_MAX_BLOCKS ? blocks : (int64_t)PC_CELLS_MAX_BLOCKS;
        form->blocks = blocks > 1 ? (int)blocks : 1;
        form->cluster = false;
    }
    return PCGPU_OK;
}

/* ---- several pairs ----------------------------------------------------------------------------------------------- */

static pcgpu_status lay_out(pcgpu_context *context, carving *c, const pc_cells_job *job, uint32_t work, double sparing,
                            pc_cells_task *t) {
    memset(t, 0, sizeof *t);
    t->work = work;
    t->target = job->target;
    t->source = job->source;
    t->path = job->path;
    PC_TRY(set_capacity(context, t, sparing));
    carve_target(c, t);
    carve_source(c, t);
    return PCGPU_OK;
}

/* Does the work with so much room; tasks that need more say so by `overflow`. */
static pcgpu_status run_jobs(pcgpu_context *context, cells_state *s, const pc_cells_job *jobs, pc_cells_task *tasks,
                             int count, uint32_t work, double sparing, const pc_cuda_cells_form *form) {
    carving size = {NULL, 0}, c = {NULL, 0};
    carve(&size, bytes_of_tasks(count));
    for (int i = 0; i < count; i++) {
        PC_TRY(lay_out(context, &size, &jobs[i], work, sparing, &tasks[i]));
    }
    PC_TRY(pc_arena_reset(context, &s->arena));
    PC_TRY(pc_arena_take(context, &s->arena, size.used, (void **)&c.base));
    carve(&c, bytes_of_tasks(count));
    for (int i = 0; i < count; i++) {
        const pc_cells_target *target = &jobs[i].target;
        const pc_cells_source *source = &jobs[i].source;
        PC_TRY(lay_out(context, &c, &jobs[i], work, sparing, &tasks[i]));
        PC_TRY(upload_points(context, tasks[i].target.x, target->n, target->x, target->y, target->z));
        PC_TRY(upload_points(context, tasks[i].source.x, source->n, source->x, source->y, source->z));
    }
    return run_tasks(context, s, tasks, count, form, c.base);
}

/* The same with as much room as it takes. */
static pcgpu_status run_with_room(pcgpu_context *context, const pc_cells_job *jobs, pc_cells_task *tasks, int count,
                                  uint32_t work, const pc_cuda_cells_form *form) {
    cells_state *s = NULL;
    PC_TRY(begin_state(context, &s));
    pc_cuda_cells_form chosen = *form;
    int64_t points = 0;
    for (int i = 0; i < count; i++) {
        const int64_t own = jobs[i].target.n + jobs[i].source.n;
        points = own > points ? own : points;
    }
    PC_TRY(choose_form(context, points, count, &chosen));
    double sparing = form->sparing > 0.0 ? form->sparing : s->sparing;
    for (bool again = true; again;) {
        PC_TRY(run_jobs(context, s, jobs, tasks, count, work, sparing, &chosen));
        again = false;
        for (int i = 0; i < count; i++) {
            again = again || tasks[i].overflow;
        }
        if (again && sparing <= 1.0) {
            return pc_fail(context, PCGPU_ERROR_DEVICE, "the cells of a target do not fit, though each point has room");
        }
        if (again) {
            s->sparing = sparing = less_sparing(sparing);
        }
    }
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_cells_as(pcgpu_context *context, struct pc_cells_job *jobs, int count,
                                         const pc_cuda_cells_form *form) {
    pc_cells_task *tasks = (pc_cells_task *)malloc((size_t)count * sizeof *tasks);
    if (!tasks) {
        return pc_fail_memory(context, (uint64_t)count * sizeof *tasks, "the registrations");
    }
    pcgpu_status status =
        run_with_room(context, jobs, tasks, count, PC_CELLS_MAKE | PC_CELLS_PART | PC_CELLS_FOLLOW, form);
    for (int i = 0; i < count && status == PCGPU_OK; i++) {
        jobs[i].path = tasks[i].path;
    }
    free(tasks);
    return status;
}

extern "C" pcgpu_status pc_cuda_cells_register(pcgpu_context *context, struct pc_cells_job *jobs, int count) {
    const pc_cuda_cells_form form = {};
    return pc_cuda_cells_as(context, jobs, count, &form);
}

/* ---- step by step ------------------------------------------------------------------------------------------------ */

/* Does a part of the work on the task that is on the device. */
static pcgpu_status run_step(pcgpu_context *context, uint32_t work) {
    cells_state *s = (cells_state *)pc_cuda_of(context)->cells;
    pc_cuda_cells_form form = {};
    PC_TRY(choose_form(context, s->task.target.n + s->task.source.n, 1, &form));
    s->task.work = work;
    return run_tasks(context, s, &s->task, 1, &form, s->arena.block[0]);
}

extern "C" pcgpu_status pc_cuda_cells_target(pcgpu_context *context, const struct pc_cells_target *target,
                                             struct pc_cells_measure *measure) {
    cells_state *s = NULL;
    const pc_cuda_cells_form form = {};
    pc_cells_job job;
    memset(&job, 0, sizeof job);
    job.target = *target;
    PC_TRY(begin_state(context, &s));
    PC_TRY(run_with_room(context, &job, &s->task, 1, PC_CELLS_MAKE, &form));
    *measure = s->task.path.target;
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_cells_source(pcgpu_context *context, const struct pc_cells_source *source) {
    cells_state *s = (cells_state *)pc_cuda_of(context)->cells;
    carving size = {NULL, 0}, c = {NULL, 0};
    s->task.source = *source;
    carve_source(&size, &s->task);
    PC_TRY(pc_arena_take(context, &s->arena, size.used, (void **)&c.base));
    s->task.source = *source;
    carve_source(&c, &s->task);
    PC_TRY(upload_points(context, s->task.source.x, source->n, source->x, source->y, source->z));
    return run_step(context, PC_CELLS_PART);
}

extern "C" pcgpu_status pc_cuda_cells_pass(pcgpu_context *context, const struct pc_cells_pass *pass) {
    cells_state *s = (cells_state *)pc_cuda_of(context)->cells;
    s->task.path.command.pass = *pass;
    return run_step(context, PC_CELLS_PASS);
}

extern "C" pcgpu_status pc_cuda_cells_sum(pcgpu_context *context, const struct pc_cells_step *step, double *sums) {
    cells_state *s = (cells_state *)pc_cuda_of(context)->cells;
    s->task.path.command.step[0] = *step;
    PC_TRY(run_step(context, PC_CELLS_SUM));
    memcpy(sums, s->task.added, sizeof s->task.added);
    return PCGPU_OK;
}
