/* Registration by voxels on CUDA: memory, copies, and the operations of the back end; the kernel is in
 * ndt.cu.
 *
 * Points are copied from pinned memory, which the caller fills for that. One pair begins with its target, whose voxels
 * are made while the source is selected and copied; several begin when all are there. */
#include "ndt_cuda.h"
#include "ndt_memory.cuh"

#include <stdlib.h>
#include <string.h>

/* ---- the state --------------------------------------------------------------------------------------------------- */

/* What a context keeps between registrations. */
typedef struct ndt_state {
    pc_arena arena;
    pc_pinned points[PC_NDT_CLOUDS];
    pc_pinned header, results; /* parameters and results of tasks */
    double points_per_voxel;   /* points to a voxel that were enough so far */
    cudaStream_t copies;       /* of the source, while the target is made */
    cudaEvent_t copied;
    int resident;       /* blocks that run at the same time, 0 = not known yet */
    const float *begun; /* the target that is being made, or NULL */
    char *device;       /* of the tasks: see header_of */
    pc_ndt_task task;   /* with the target that is being made, as it is on the device */
} ndt_state;

static pcgpu_status start_state(pcgpu_context *context, ndt_state *s) {
    s->points_per_voxel = PC_NDT_POINTS_PER_VOXEL;
    CUDA_TRY(context, cudaStreamCreateWithFlags(&s->copies, cudaStreamNonBlocking));
    CUDA_TRY(context, cudaEventCreateWithFlags(&s->copied, cudaEventDisableTiming));
    return PCGPU_OK;
}

static pcgpu_status take_state(pcgpu_context *context, ndt_state **state) {
    pc_cuda *cuda = pc_cuda_of(context);
    ndt_state *s = (ndt_state *)cuda->ndt;
    if (!s) {
        s = (ndt_state *)calloc(1, sizeof *s);
        cuda->ndt = s;
        if (!s) {
            return pc_fail_memory(context, sizeof *s, "the registration");
        }
        pcgpu_status status = start_state(context, s);
        if (status != PCGPU_OK) {
            pc_cuda_ndt_free(context);
            return status;
        }
    }
    *state = s;
    return PCGPU_OK;
}

extern "C" void pc_cuda_ndt_free(pcgpu_context *context) {
    pc_cuda *cuda = pc_cuda_of(context);
    ndt_state *s = (ndt_state *)cuda->ndt;
    if (s) {
        cudaStreamSynchronize(cuda->stream); /* a target may have been begun without a source */
        pc_arena_free(&s->arena);
        for (int i = 0; i < PC_NDT_CLOUDS; i++) {
            cudaFreeHost(s->points[i].memory);
        }
        cudaFreeHost(s->header.memory);
        cudaFreeHost(s->results.memory);
        if (s->copied) {
            cudaEventDestroy(s->copied);
        }
        if (s->copies) {
            cudaStreamDestroy(s->copies);
        }
        free(s);
        cuda->ndt = NULL;
    }
}

/* Waits for everything that may still read what the host has filled. */
static pcgpu_status finish(pcgpu_context *context, ndt_state *s) {
    s->begun = NULL;
    CUDA_TRY(context, cudaStreamSynchronize(s->copies));
    CUDA_TRY(context, cudaStreamSynchronize(pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_ndt_memory(pcgpu_context *context, int which, size_t bytes, void **memory) {
    ndt_state *s = NULL;
    PC_TRY(take_state(context, &s));
    if (which == PC_NDT_TARGET) { /* a source is taken while the voxels of its target are made */
        PC_TRY(finish(context, s));
    }
    PC_TRY(pc_take_pinned(context, &s->points[which], bytes));
    *memory = s->points[which].memory;
    return PCGPU_OK;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* Copies points of the host or the device that lie one after the other, or not. */
static pcgpu_status upload_points(pcgpu_context *context, cudaStream_t stream, const float *device, int64_t n,
                                  const float *x, const float *y, const float *z) {
    float *to = (float *)device;
    const size_t bytes = (size_t)n * sizeof *to;
    const float *from[3] = {x, y, z};
    const bool whole = y == x + n && z == y + n;
    for (int k = 0; k < (whole ? 1 : 3); k++) {
        CUDA_TRY(context, cudaMemcpyAsync(to + (size_t)n * (size_t)k, from[k], whole ? 3 * bytes : bytes,
                                          cudaMemcpyDefault, stream));
    }
    return PCGPU_OK;
}

/* How pairs are spread over the device. */
typedef struct shape {
    int blocks, groups;
} shape;

/* For pairs of this size: a block to so many points, as many as there are multiprocessors for each. */
static pcgpu_status choose_shape(pcgpu_context *context, ndt_state *s, int64_t points, int count, shape *out) {
    *out = shape{1, 1};
    if (!s->resident) {
        PC_TRY(pc_ndt_resident(context, &s->resident));
    }
    out->blocks = blocks_for(points, s->resident, count);
    out->groups = s->resident / out->blocks;
    out->groups = out->groups < count ? out->groups : count;
    return PCGPU_OK;
}

/* Sends the parameters of tasks in one copy; `out` gets their device addresses. step: 0 for the first launch, else 1.
 */
static pcgpu_status send_header(pcgpu_context *context, ndt_state *s, cudaStream_t stream, pc_ndt_task *tasks,
                                int count, int step, header *out) {
    PC_TRY(pc_take_pinned(context, &s->header, header_bytes(count)));
    PC_TRY(pc_take_pinned(context, &s->results, (size_t)count * sizeof(pc_ndt_result)));
    pc_carving c = {s->device, 0}, h = {s->header.memory, 0};
    const header there = header_of(&c, count), here = header_of(&h, count);
    for (int i = 0; i < count; i++) {
        tasks[i].persistent = &there.persistent[i];
        tasks[i].result = (pc_ndt_result *)s->results.memory + i;
    }
    char *from = step ? (char *)here.step[step].counters : (char *)here.persistent;
    memset(from, 0, (size_t)((char *)here.step[step].tasks - from));
    memcpy(here.step[step].tasks, tasks, (size_t)count * sizeof *tasks);
    const size_t bytes = (size_t)((char *)(here.step[step].tasks + count) - from);
    *out = there;
    CUDA_TRY(context,
             cudaMemcpyAsync(s->device + (from - s->header.memory), from, bytes, cudaMemcpyHostToDevice, stream));
    return PCGPU_OK;
}

/* What is launched next waits for the copies so far. */
static pcgpu_status wait_for_copies(pcgpu_context *context, ndt_state *s) {
    CUDA_TRY(context, cudaEventRecord(s->copied, s->copies));
    CUDA_TRY(context, cudaStreamWaitEvent(pc_cuda_of(context)->stream, s->copied, 0));
    return PCGPU_OK;
}

/* Launches the task of the state; `stream` copies its parameters. */
static pcgpu_status start_task(pcgpu_context *context, ndt_state *s, cudaStream_t stream, int64_t points, int step) {
    shape shape;
    header h;
    PC_TRY(choose_shape(context, s, points, 1, &shape));
    PC_TRY(send_header(context, s, stream, &s->task, 1, step, &h));
    if (stream == s->copies) {
        PC_TRY(wait_for_copies(context, s));
    }
    return pc_ndt_launch(context, h.step[step].tasks, 1, 1, shape.blocks, h.step[step].counters);
}

/* ---- several pairs ----------------------------------------------------------------------------------------------- */

/* Memory for tasks, with a capacity for one voxel per s->points_per_voxel target points. */
static pcgpu_status take_tasks(pcgpu_context *context, ndt_state *s, const pc_ndt_job *jobs, pc_ndt_task *tasks,
                               int count, uint32_t work) {
    pc_carving size = {NULL, header_bytes(count)}, c = {NULL, header_bytes(count)};
    for (int i = 0; i < count; i++) {
        PC_TRY(lay_out(context, &size, &jobs[i], work, s->points_per_voxel, &tasks[i]));
    }
    PC_TRY(pc_arena_reset(context, &s->arena));
    PC_TRY(pc_arena_take(context, &s->arena, size.used, (void **)&c.base));
    s->device = c.base;
    for (int i = 0; i < count; i++) {
        PC_TRY(lay_out(context, &c, &jobs[i], work, s->points_per_voxel, &tasks[i]));
    }
    return PCGPU_OK;
}

/* As many pairs at a time as there are groups: while they are at work, the points of the next ones are copied. */
static pcgpu_status run_jobs(pcgpu_context *context, ndt_state *s, const pc_ndt_job *jobs, pc_ndt_task *tasks,
                             int count, const shape *shape, pc_host_work beside) {
    const int together = shape->groups;
    header h;
    PC_TRY(finish(context, s));
    PC_TRY(take_tasks(context, s, jobs, tasks, count, PC_NDT_MAKE | PC_NDT_PART | PC_NDT_FOLLOW));
    PC_TRY(send_header(context, s, pc_cuda_of(context)->stream, tasks, count, 0, &h));
    for (int first = 0; first < count; first += together) {
        const int end = first + together < count ? first + together : count;
        for (int i = first; i < end; i++) {
            const pc_ndt_target *t = &jobs[i].target;
            const pc_ndt_source *source = &jobs[i].source;
            PC_TRY(upload_points(context, s->copies, tasks[i].target.x, t->n, t->x, t->y, t->z));
            PC_TRY(upload_points(context, s->copies, tasks[i].source.x, source->n, source->x, source->y, source->z));
        }
        PC_TRY(wait_for_copies(context, s));
        PC_TRY(pc_ndt_launch(context, h.step[0].tasks + first, end - first, end - first, shape->blocks,
                             h.step[0].counters + (size_t)first * (PC_NDT_COUNTER / sizeof(uint32_t))));
    }
    pc_host_work_do(beside);
    return finish(context, s);
}

static const pc_ndt_result *result_of(const ndt_state *s, int i) {
    return (const pc_ndt_result *)s->results.memory + i;
}

/* Repeats the work with a larger capacity until all voxels fit. */
static pcgpu_status run_until_voxels_fit(pcgpu_context *context, ndt_state *s, const pc_ndt_job *jobs,
                                         pc_ndt_task *tasks, int count, pc_host_work beside) {
    shape shape;
    int64_t points = 0;
    for (int i = 0; i < count; i++) {
        const int64_t own = jobs[i].target.n + jobs[i].source.n;
        points = own > points ? own : points;
    }
    PC_TRY(choose_shape(context, s, points, count, &shape));
    for (;;) {
        PC_TRY(run_jobs(context, s, jobs, tasks, count, &shape, beside));
        bool overflow = false;
        for (int i = 0; i < count; i++) {
            overflow = overflow || result_of(s, i)->overflow;
        }
        if (!overflow) {
            return PCGPU_OK;
        }
        if (s->points_per_voxel <= 1.0) {
            return pc_fail(context, PCGPU_ERROR_DEVICE,
                           "the voxels of a target do not fit, though the capacity is one voxel per point");
        }
        s->points_per_voxel = 1.0;
    }
}

static pcgpu_status register_all(pcgpu_context *context, ndt_state *s, struct pc_ndt_job *jobs, int count,
                                 pc_host_work beside) {
    pc_ndt_task *tasks = (pc_ndt_task *)malloc((size_t)count * sizeof *tasks);
    if (!tasks) {
        return pc_fail_memory(context, (uint64_t)count * sizeof *tasks, "the registrations");
    }
    pcgpu_status status = run_until_voxels_fit(context, s, jobs, tasks, count, beside);
    for (int i = 0; i < count && status == PCGPU_OK; i++) {
        jobs[i].optimizer = result_of(s, i)->optimizer;
    }
    free(tasks);
    return status;
}

/* ---- one pair ---------------------------------------------------------------------------------------------------- */

extern "C" pcgpu_status pc_cuda_ndt_begin(pcgpu_context *context, const struct pc_ndt_target *target) {
    ndt_state *s = NULL;
    pc_ndt_job job;
    memset(&job, 0, sizeof job);
    job.target = *target;
    PC_TRY(take_state(context, &s));
    PC_TRY(finish(context, s));
    PC_TRY(take_tasks(context, s, &job, &s->task, 1, PC_NDT_MAKE));
    PC_TRY(upload_points(context, pc_cuda_of(context)->stream, s->task.target.x, target->n, target->x, target->y,
                         target->z));
    PC_TRY(start_task(context, s, pc_cuda_of(context)->stream, 2 * target->n, 0));
    s->begun = target->x;
    return PCGPU_OK;
}

/* The source after the target that was begun. */
static pcgpu_status follow_begun(pcgpu_context *context, ndt_state *s, const pc_ndt_job *job, pc_host_work beside) {
    const pc_ndt_source *source = &job->source;
    pc_carving size = {NULL, 0}, c = {NULL, 0};
    s->task.source = *source;
    carve_source(&size, &s->task);
    PC_TRY(pc_arena_take(context, &s->arena, size.used, (void **)&c.base));
    s->task.source = *source;
    carve_source(&c, &s->task);
    PC_TRY(upload_points(context, s->copies, s->task.source.x, source->n, source->x, source->y, source->z));
    s->task.optimizer = job->optimizer;
    s->task.work = PC_NDT_PART | PC_NDT_FOLLOW;
    PC_TRY(start_task(context, s, s->copies, job->target.n + source->n, 1));
    pc_host_work_do(beside);
    return finish(context, s);
}

extern "C" pcgpu_status pc_cuda_ndt_register(pcgpu_context *context, struct pc_ndt_job *jobs, int count,
                                             pc_host_work beside) {
    ndt_state *s = NULL;
    PC_TRY(take_state(context, &s));
    if (count == 1 && s->begun && s->begun == jobs->target.x && s->task.target.n == jobs->target.n) {
        PC_TRY(follow_begun(context, s, jobs, beside));
        if (!result_of(s, 0)->overflow) {
            jobs->optimizer = result_of(s, 0)->optimizer;
            return PCGPU_OK;
        }
        s->points_per_voxel = 1.0;
    }
    return register_all(context, s, jobs, count, beside);
}

const pc_ndt_ops pc_cuda_ndt_ops = {true,
                                    pc_cuda_ndt_memory,
                                    pc_cuda_ndt_begin,
                                    pc_cuda_ndt_register,
                                    pc_cuda_ndt_sequence_open,
                                    pc_cuda_ndt_sequence_close,
                                    pc_cuda_ndt_sequence_memory,
                                    pc_cuda_ndt_sequence_send,
                                    pc_cuda_ndt_sequence_target,
                                    pc_cuda_ndt_sequence_merge,
                                    pc_cuda_ndt_sequence_keep,
                                    pc_cuda_ndt_sequence_cut,
                                    pc_cuda_ndt_sequence_register};
