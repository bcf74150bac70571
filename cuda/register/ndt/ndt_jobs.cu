/* Registration by cells on CUDA: memory, copies, and the operations of the back end; the kernel is in
 * ndt.cu.
 *
 * Points are copied from pinned memory, which the caller fills for that. One pair begins with its target, whose cells
 * are made while the source is selected and copied; several begin when all are there. */
#include "ndt_cuda.h"
#include "ndt_memory.cuh"

#include <stdlib.h>
#include <string.h>

/* ---- the state --------------------------------------------------------------------------------------------------- */

/* What a context keeps between registrations. */
typedef struct cells_state {
    pc_arena arena;
    pinned points[PC_SCRATCHES];
    pinned header, results; /* what tasks are told, and what they say */
    double sparing;         /* points to a cell that were enough so far */
    cudaStream_t copies;    /* of the source, while the target is made */
    cudaEvent_t copied;
    int resident;       /* blocks that run at the same time, 0 = not known yet */
    const float *begun; /* the target that is being made, or NULL */
    char *device;       /* of the tasks: see header_of */
    pc_cells_task task; /* a registration that is done step by step, as it is on the device */
} cells_state;

static pcgpu_status start_state(pcgpu_context *context, cells_state *s) {
    s->sparing = PC_CELLS_SPARING;
    CUDA_TRY(context, cudaStreamCreateWithFlags(&s->copies, cudaStreamNonBlocking));
    CUDA_TRY(context, cudaEventCreateWithFlags(&s->copied, cudaEventDisableTiming));
    return PCGPU_OK;
}

static pcgpu_status take_state(pcgpu_context *context, cells_state **state) {
    pc_cuda *cuda = pc_cuda_of(context);
    cells_state *s = (cells_state *)cuda->cells;
    if (!s) {
        s = (cells_state *)calloc(1, sizeof *s);
        cuda->cells = s;
        if (!s) {
            return pc_fail_memory(context, sizeof *s, "the registration");
        }
        pcgpu_status status = start_state(context, s);
        if (status != PCGPU_OK) {
            pc_cuda_cells_free(context);
            return status;
        }
    }
    *state = s;
    return PCGPU_OK;
}

extern "C" void pc_cuda_cells_free(pcgpu_context *context) {
    pc_cuda *cuda = pc_cuda_of(context);
    cells_state *s = (cells_state *)cuda->cells;
    if (s) {
        cudaStreamSynchronize(cuda->stream); /* a target may have been begun without a source */
        pc_arena_free(&s->arena);
        for (int i = 0; i < PC_SCRATCHES; i++) {
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
        cuda->cells = NULL;
    }
}

/* Waits for everything that may still read what the host has filled. */
static pcgpu_status finish(pcgpu_context *context, cells_state *s) {
    s->begun = NULL;
    CUDA_TRY(context, cudaStreamSynchronize(s->copies));
    CUDA_TRY(context, cudaStreamSynchronize(pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_cells_memory(pcgpu_context *context, int which, size_t bytes, void **memory) {
    cells_state *s = NULL;
    PC_TRY(take_state(context, &s));
    if (which == PC_SCRATCH_TARGET) { /* a source is taken while the cells of its target are made */
        PC_TRY(finish(context, s));
    }
    PC_TRY(take_pinned(context, &s->points[which], bytes));
    *memory = s->points[which].memory;
    return PCGPU_OK;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* Copies points that lie one after the other, or not. */
static pcgpu_status upload_points(pcgpu_context *context, cudaStream_t stream, const float *device, int64_t n,
                                  const float *x, const float *y, const float *z) {
    float *to = (float *)device;
    const size_t bytes = (size_t)n * sizeof *to;
    const float *from[3] = {x, y, z};
    const bool whole = y == x + n && z == y + n;
    for (int k = 0; k < (whole ? 1 : 3); k++) {
        CUDA_TRY(context, cudaMemcpyAsync(to + (size_t)n * (size_t)k, from[k], whole ? 3 * bytes : bytes,
                                          cudaMemcpyHostToDevice, stream));
    }
    return PCGPU_OK;
}

/* How pairs are spread over the device. */
typedef struct shape {
    int blocks, groups;
    bool cluster;
} shape;

/* For pairs of this size: a block to so many points, as many as there are multiprocessors for each, or what is asked
 * for. */
static pcgpu_status choose_shape(pcgpu_context *context, cells_state *s, int64_t points, int count,
                                 const pc_cuda_cells_form *form, shape *out) {
    if (form->blocks) {
        PC_TRY(pc_cells_resident(context, form->blocks, form->cluster, &out->groups));
        if (out->groups < 1 || form->blocks > PC_CELLS_MAX_BLOCKS) {
            return pc_fail(context, PCGPU_ERROR_UNAVAILABLE, "the device cannot run %d blocks together", form->blocks);
        }
        out->blocks = form->blocks;
        out->cluster = form->cluster;
    } else {
        if (!s->resident) {
            PC_TRY(pc_cells_resident(context, 1, false, &s->resident));
        }
        out->blocks = blocks_for(points, s->resident, count);
        out->groups = s->resident / out->blocks;
        out->cluster = false;
    }
    out->groups = out->groups < count ? out->groups : count;
    return PCGPU_OK;
}

/* Sends what tasks are told, in one copy, and gives where it is on the device. step: 0 for the first launch, which has
 * told nothing so far, else 1. */
static pcgpu_status send_header(pcgpu_context *context, cells_state *s, cudaStream_t stream, pc_cells_task *tasks,
                                int count, int step, header *out) {
    PC_TRY(take_pinned(context, &s->header, header_bytes(count)));
    PC_TRY(take_pinned(context, &s->results, (size_t)count * sizeof(pc_cells_result)));
    carving c = {s->device, 0}, h = {s->header.memory, 0};
    const header there = header_of(&c, count), here = header_of(&h, count);
    for (int i = 0; i < count; i++) {
        tasks[i].told = &there.told[i];
        tasks[i].result = (pc_cells_result *)s->results.memory + i;
    }
    char *from = step ? (char *)here.step[step].counters : (char *)here.told;
    memset(from, 0, (size_t)((char *)here.step[step].tasks - from));
    memcpy(here.step[step].tasks, tasks, (size_t)count * sizeof *tasks);
    const size_t bytes = (size_t)((char *)(here.step[step].tasks + count) - from);
    *out = there;
    CUDA_TRY(context,
             cudaMemcpyAsync(s->device + (from - s->header.memory), from, bytes, cudaMemcpyHostToDevice, stream));
    return PCGPU_OK;
}

/* What is launched next waits for the copies so far. */
static pcgpu_status wait_for_copies(pcgpu_context *context, cells_state *s) {
    CUDA_TRY(context, cudaEventRecord(s->copied, s->copies));
    CUDA_TRY(context, cudaStreamWaitEvent(pc_cuda_of(context)->stream, s->copied, 0));
    return PCGPU_OK;
}

/* Work for the task of the state; `stream` copies what it is told. */
static pcgpu_status start_task(pcgpu_context *context, cells_state *s, cudaStream_t stream, int64_t points, int step) {
    const pc_cuda_cells_form form = {};
    shape shape;
    header h;
    PC_TRY(choose_shape(context, s, points, 1, &form, &shape));
    PC_TRY(send_header(context, s, stream, &s->task, 1, step, &h));
    if (stream == s->copies) {
        PC_TRY(wait_for_copies(context, s));
    }
    return pc_cells_launch(context, h.step[step].tasks, 1, 1, shape.blocks, shape.cluster, h.step[step].counters);
}

/* ---- several pairs ----------------------------------------------------------------------------------------------- */

/* Memory for tasks, with so much room for cells. */
static pcgpu_status take_tasks(pcgpu_context *context, cells_state *s, const pc_cells_job *jobs, pc_cells_task *tasks,
                               int count, uint32_t work, double sparing) {
    carving size = {NULL, header_bytes(count)}, c = {NULL, header_bytes(count)};
    for (int i = 0; i < count; i++) {
        PC_TRY(lay_out(context, &size, &jobs[i], work, sparing, &tasks[i]));
    }
    PC_TRY(pc_arena_reset(context, &s->arena));
    PC_TRY(pc_arena_take(context, &s->arena, size.used, (void **)&c.base));
    s->device = c.base;
    for (int i = 0; i < count; i++) {
        PC_TRY(lay_out(context, &c, &jobs[i], work, sparing, &tasks[i]));
    }
    return PCGPU_OK;
}

/* As many pairs at a time as there are groups: while they are at work, the points of the next ones are copied. */
static pcgpu_status run_jobs(pcgpu_context *context, cells_state *s, const pc_cells_job *jobs, pc_cells_task *tasks,
                             int count, uint32_t work, double sparing, const shape *shape) {
    const int together = shape->groups;
    header h;
    PC_TRY(finish(context, s));
    PC_TRY(take_tasks(context, s, jobs, tasks, count, work, sparing));
    PC_TRY(send_header(context, s, pc_cuda_of(context)->stream, tasks, count, 0, &h));
    for (int first = 0; first < count; first += together) {
        const int end = first + together < count ? first + together : count;
        for (int i = first; i < end; i++) {
            const pc_cells_target *t = &jobs[i].target;
            const pc_cells_source *source = &jobs[i].source;
            PC_TRY(upload_points(context, s->copies, tasks[i].target.x, t->n, t->x, t->y, t->z));
            PC_TRY(upload_points(context, s->copies, tasks[i].source.x, source->n, source->x, source->y, source->z));
        }
        PC_TRY(wait_for_copies(context, s));
        PC_TRY(pc_cells_launch(context, h.step[0].tasks + first, end - first, end - first, shape->blocks,
                               shape->cluster,
                               h.step[0].counters + (size_t)first * (PC_CELLS_COUNTER / sizeof(uint32_t))));
    }
    return finish(context, s);
}

static const pc_cells_result *result_of(const cells_state *s, int i) {
    return (const pc_cells_result *)s->results.memory + i;
}

/* Does the work with as much room as it takes. */
static pcgpu_status run_with_room(pcgpu_context *context, cells_state *s, const pc_cells_job *jobs,
                                  pc_cells_task *tasks, int count, uint32_t work, const pc_cuda_cells_form *form) {
    shape shape;
    int64_t points = 0;
    for (int i = 0; i < count; i++) {
        const int64_t own = jobs[i].target.n + jobs[i].source.n;
        points = own > points ? own : points;
    }
    PC_TRY(choose_shape(context, s, points, count, form, &shape));
    double sparing = form->sparing > 0.0 ? form->sparing : s->sparing;
    for (;;) {
        PC_TRY(run_jobs(context, s, jobs, tasks, count, work, sparing, &shape));
        bool overflow = false;
        for (int i = 0; i < count; i++) {
            overflow = overflow || result_of(s, i)->overflow;
        }
        if (!overflow) {
            return PCGPU_OK;
        }
        if (sparing <= 1.0) {
            return pc_fail(context, PCGPU_ERROR_DEVICE, "the cells of a target do not fit, though each point has room");
        }
        s->sparing = sparing = sparing > PC_CELLS_SPARING ? PC_CELLS_SPARING : 1.0;
    }
}

extern "C" pcgpu_status pc_cuda_cells_as(pcgpu_context *context, struct pc_cells_job *jobs, int count,
                                         const pc_cuda_cells_form *form) {
    cells_state *s = NULL;
    PC_TRY(take_state(context, &s));
    pc_cells_task *tasks = (pc_cells_task *)malloc((size_t)count * sizeof *tasks);
    if (!tasks) {
        return pc_fail_memory(context, (uint64_t)count * sizeof *tasks, "the registrations");
    }
    pcgpu_status status =
        run_with_room(context, s, jobs, tasks, count, PC_CELLS_MAKE | PC_CELLS_PART | PC_CELLS_FOLLOW, form);
    for (int i = 0; i < count && status == PCGPU_OK; i++) {
        jobs[i].path = result_of(s, i)->path;
    }
    free(tasks);
    return status;
}

/* ---- one pair ---------------------------------------------------------------------------------------------------- */

extern "C" pcgpu_status pc_cuda_cells_begin(pcgpu_context *context, const struct pc_cells_target *target) {
    cells_state *s = NULL;
    pc_cells_job job;
    memset(&job, 0, sizeof job);
    job.target = *target;
    PC_TRY(take_state(context, &s));
    PC_TRY(finish(context, s));
    PC_TRY(take_tasks(context, s, &job, &s->task, 1, PC_CELLS_MAKE, s->sparing));
    PC_TRY(upload_points(context, pc_cuda_of(context)->stream, s->task.target.x, target->n, target->x, target->y,
                         target->z));
    PC_TRY(start_task(context, s, pc_cuda_of(context)->stream, 2 * target->n, 0));
    s->begun = target->x;
    return PCGPU_OK;
}

/* The source after the target that was begun. */
static pcgpu_status follow_begun(pcgpu_context *context, cells_state *s, const pc_cells_job *job) {
    const pc_cells_source *source = &job->source;
    carving size = {NULL, 0}, c = {NULL, 0};
    s->task.source = *source;
    carve_source(&size, &s->task);
    PC_TRY(pc_arena_take(context, &s->arena, size.used, (void **)&c.base));
    s->task.source = *source;
    carve_source(&c, &s->task);
    PC_TRY(upload_points(context, s->copies, s->task.source.x, source->n, source->x, source->y, source->z));
    s->task.path = job->path;
    s->task.work = PC_CELLS_PART | PC_CELLS_FOLLOW;
    PC_TRY(start_task(context, s, s->copies, job->target.n + source->n, 1));
    return finish(context, s);
}

extern "C" pcgpu_status pc_cuda_cells_register(pcgpu_context *context, struct pc_cells_job *jobs, int count) {
    const pc_cuda_cells_form form = {};
    cells_state *s = NULL;
    PC_TRY(take_state(context, &s));
    if (count == 1 && s->begun && s->begun == jobs->target.x && s->task.target.n == jobs->target.n) {
        PC_TRY(follow_begun(context, s, jobs));
        if (!result_of(s, 0)->overflow) {
            jobs->path = result_of(s, 0)->path;
            return PCGPU_OK;
        }
        s->sparing = 1.0;
    }
    return pc_cuda_cells_as(context, jobs, count, &form);
}

/* ---- step by step ------------------------------------------------------------------------------------------------ */

/* Does a part of the work on the task that is on the device. */
static pcgpu_status run_step(pcgpu_context *context, uint32_t work) {
    cells_state *s = (cells_state *)pc_cuda_of(context)->cells;
    s->task.work = work;
    PC_TRY(start_task(context, s, pc_cuda_of(context)->stream, s->task.target.n + s->task.source.n, 1));
    return finish(context, s);
}

extern "C" pcgpu_status pc_cuda_cells_target(pcgpu_context *context, const struct pc_cells_target *target,
                                             struct pc_cells_measure *measure) {
    const pc_cuda_cells_form form = {};
    cells_state *s = NULL;
    pc_cells_job job;
    memset(&job, 0, sizeof job);
    job.target = *target;
    PC_TRY(take_state(context, &s));
    PC_TRY(run_with_room(context, s, &job, &s->task, 1, PC_CELLS_MAKE, &form));
    *measure = result_of(s, 0)->path.target;
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
    PC_TRY(upload_points(context, pc_cuda_of(context)->stream, s->task.source.x, source->n, source->x, source->y,
                         source->z));
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
    memcpy(sums, result_of(s, 0)->added, PC_CELLS_SUMS * sizeof *sums);
    return PCGPU_OK;
}

const pc_ndt_ops pc_cuda_ndt_ops = {pc_cuda_cells_target,
                                    pc_cuda_cells_source,
                                    pc_cuda_cells_pass,
                                    pc_cuda_cells_sum,
                                    pc_cuda_cells_memory,
                                    pc_cuda_cells_begin,
                                    pc_cuda_cells_register,
                                    NULL, /* a model of scans is that of their sequence */
                                    pc_cuda_scans_open,
                                    pc_cuda_scans_close,
                                    pc_cuda_scans_memory,
                                    pc_cuda_scans_send,
                                    pc_cuda_scans_target,
                                    pc_cuda_scans_model,
                                    pc_cuda_scans_register};
