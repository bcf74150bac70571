/* Registration by cells along a sequence on CUDA: what a scan leaves on the device for the next.
 *
 * Idea: a scan's points cross the bus once. They are the source when the scan is registered, and when it becomes what
 * the next ones are registered to, the same memory is the target; its cells are then made while the host reads and
 * selects the next scan, and stay as long as it is the target. So a scan costs a copy of its points and one launch that
 * follows the path, and the host waits once. All in the order of one stream: kernels fill the device, and a copy is
 * short against what it could overlap with. */
#include "ndt_scans.cuh"

#include <stdlib.h>
#include <string.h>

/* ---- the state --------------------------------------------------------------------------------------------------- */

static pcgpu_status start(pcgpu_context *context, pc_cells_scans *s) {
    s->sparing = PC_CELLS_SPARING;
    PC_TRY(pc_cells_resident(context, 1, false, &s->resident));
    PC_TRY(take_pinned(context, &s->header, header_bytes(1)));
    PC_TRY(take_pinned(context, &s->results, sizeof(pc_cells_result)));
    CUDA_TRY(context, cudaMalloc((void **)&s->device, header_bytes(1)));
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_scans_open(pcgpu_context *context, void **state) {
    pc_cells_scans *s = (pc_cells_scans *)calloc(1, sizeof *s);
    *state = NULL;
    if (!s) {
        return pc_fail_memory(context, sizeof *s, "the sequence");
    }
    pcgpu_status status = start(context, s);
    if (status != PCGPU_OK) {
        pc_cuda_scans_close(context, s);
        return status;
    }
    *state = s;
    return PCGPU_OK;
}

extern "C" void pc_cuda_scans_close(pcgpu_context *context, void *state) {
    pc_cells_scans *s = (pc_cells_scans *)state;
    if (s) {
        cudaStreamSynchronize(pc_cuda_of(context)->stream);
        for (int i = 0; i < PC_SCANS; i++) {
            cudaFreeHost(s->place[i].host.memory);
            cudaFree(s->place[i].device);
        }
        cudaFreeHost(s->header.memory);
        cudaFreeHost(s->results.memory);
        cudaFree(s->device);
        pc_arena_free(&s->cells);
        pc_arena_free(&s->parts);
        pc_cells_scans_free_model(s);
        free(s);
    }
}

pcgpu_status pc_cells_scans_wait(pcgpu_context *context, pc_cells_scans *s) {
    CUDA_TRY(context, cudaStreamSynchronize(pc_cuda_of(context)->stream));
    s->pending = false;
    for (int i = 0; i < PC_SCANS; i++) {
        s->place[i].sending = false;
    }
    return PCGPU_OK;
}

static pcgpu_status settle(pcgpu_context *context, pc_cells_scans *s) {
    return s->pending ? pc_cells_scans_wait(context, s) : PCGPU_OK;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

extern "C" pcgpu_status pc_cuda_scans_memory(pcgpu_context *context, void *state, int place, size_t bytes,
                                             void **memory) {
    pc_cells_scans *s = (pc_cells_scans *)state;
    pc_cells_place *p = &s->place[place];
    if (p->sending) { /* another's cells may be under way meanwhile */
        PC_TRY(pc_cells_scans_wait(context, s));
    }
    PC_TRY(take_pinned(context, &p->host, bytes));
    *memory = p->host.memory;
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_scans_send(pcgpu_context *context, void *state, int place, int64_t n, const float *x,
                                           const float *y, const float *z) {
    pc_cells_scans *s = (pc_cells_scans *)state;
    pc_cells_place *p = &s->place[place];
    const float *from[3] = {x, y, z};
    const size_t bytes = (size_t)n * sizeof *x;
    if (3 * bytes > p->bytes) {
        const size_t room = 3 * bytes + bytes / 2;
        PC_TRY(settle(context, s)); /* which has read what is there */
        cudaFree(p->device);
        p->device = NULL;
        p->bytes = 0;
        CUDA_TRY(context, cudaMalloc((void **)&p->device, room));
        p->bytes = room;
    }
    const bool whole = y == x + n && z == y + n;
    p->n = n;
    p->sending = s->pending = true;
    for (int k = 0; k < (whole ? 1 : 3) && n > 0; k++) {
        CUDA_TRY(context, cudaMemcpyAsync(p->device + (size_t)n * (size_t)k, from[k], whole ? 3 * bytes : bytes,
                                          cudaMemcpyHostToDevice, pc_cuda_of(context)->stream));
    }
    return PCGPU_OK;
}

/* ---- tasks ------------------------------------------------------------------------------------------------------- */

pcgpu_status pc_cells_scans_lay(pcgpu_context *context, pc_cells_scans *s, int place, const pc_cells_target *target) {
    const pc_cells_place *p = &s->place[place];
    pc_cells_task *t = &s->task;
    carving size = {NULL, 0}, c = {NULL, 0};
    memset(t, 0, sizeof *t);
    s->on_model = false;
    t->work = PC_CELLS_MAKE;
    t->told = (pc_cells_told *)s->device; /* a header begins with it */
    t->target = *target;
    t->target.x = p->device;
    t->target.y = p->device ? p->device + p->n : NULL;
    t->target.z = p->device ? p->device + 2 * p->n : NULL;
    PC_TRY(set_capacity(context, t, s->sparing));
    carve_cells(&size, t);
    PC_TRY(pc_arena_reset(context, &s->cells));
    PC_TRY(pc_arena_take(context, &s->cells, size.used, (void **)&c.base));
    carve_cells(&c, t);
    return PCGPU_OK;
}

pcgpu_status pc_cells_scans_tell(pcgpu_context *context, pc_cells_scans *s, int step, header *out) {
    carving c = {s->device, 0}, h = {s->header.memory, 0};
    const header there = header_of(&c, 1), here = header_of(&h, 1);
    char *from = step ? (char *)here.step[step].counters : (char *)here.told;
    s->task.result = (pc_cells_result *)s->results.memory;
    memset(from, 0, (size_t)((char *)here.step[step].tasks - from));
    *here.step[step].tasks = s->task;
    *out = there;
    s->pending = true;
    CUDA_TRY(context, cudaMemcpyAsync(s->device + (from - s->header.memory), from,
                                      (size_t)((char *)(here.step[step].tasks + 1) - from), cudaMemcpyHostToDevice,
                                      pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

pcgpu_status pc_cells_scans_widen(pcgpu_context *context, pc_cells_scans *s) {
    if (s->sparing <= 1.0) {
        return pc_fail(context, PCGPU_ERROR_DEVICE, "the cells of a scan do not fit, though each point has room");
    }
    s->sparing = s->sparing > PC_CELLS_SPARING ? PC_CELLS_SPARING : 1.0;
    return PCGPU_OK;
}

/* ---- the target -------------------------------------------------------------------------------------------------- */

/* Makes its cells, and does not wait: what they do not fit is found when they are needed. */
static pcgpu_status make_target(pcgpu_context *context, pc_cells_scans *s) {
    header h;
    PC_TRY(settle(context, s)); /* the header of another target */
    PC_TRY(pc_cells_scans_lay(context, s, s->target_place, &s->target));
    PC_TRY(pc_cells_scans_tell(context, s, 0, &h));
    const int blocks = blocks_for(2 * s->target.n, s->resident, 1);
    return pc_cells_launch(context, h.step[0].tasks, 1, 1, blocks, false, h.step[0].counters);
}

extern "C" pcgpu_status pc_cuda_scans_target(pcgpu_context *context, void *state, int place,
                                             const struct pc_cells_target *target) {
    pc_cells_scans *s = (pc_cells_scans *)state;
    s->target = *target;
    s->target_place = place;
    return make_target(context, s);
}

/* ---- registration ------------------------------------------------------------------------------------------------ */

static pcgpu_status follow(pcgpu_context *context, pc_cells_scans *s, int place, const pc_cells_job *job) {
    const pc_cells_place *p = &s->place[place];
    pc_cells_task *t = &s->task;
    carving size = {NULL, 0}, c = {NULL, 0};
    header h;
    t->source = job->source;
    t->source.x = p->device;
    t->source.y = p->device + p->n;
    t->source.z = p->device + 2 * p->n;
    t->path = job->path;
    t->work = PC_CELLS_PART | PC_CELLS_FOLLOW | (s->on_model ? PC_CELLS_MEASURED : 0);
    carve_parts(&size, t);
    PC_TRY(pc_arena_reset(context, &s->parts));
    PC_TRY(pc_arena_take(context, &s->parts, size.used, (void **)&c.base));
    carve_parts(&c, t);
    PC_TRY(pc_cells_scans_tell(context, s, 1, &h));
    const int blocks = blocks_for(2 * p->n, s->resident, 1);
    PC_TRY(pc_cells_launch(context, h.step[1].tasks, 1, 1, blocks, false, h.step[1].counters));
    return pc_cells_scans_wait(context, s);
}

extern "C" pcgpu_status pc_cuda_scans_register(pcgpu_context *context, void *state, int place,
                                               struct pc_cells_job *job) {
    pc_cells_scans *s = (pc_cells_scans *)state;
    PC_TRY(follow(context, s, place, job));
    while (pc_cells_scans_result(s)->overflow) { /* never to the model, which has been given room */
        PC_TRY(pc_cells_scans_widen(context, s));
        PC_TRY(make_target(context, s));
        PC_TRY(follow(context, s, place, job));
    }
    job->path = pc_cells_scans_result(s)->path;
    return PCGPU_OK;
}
