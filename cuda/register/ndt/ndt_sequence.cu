/* Method ndt along a sequence on CUDA: the state of a sequence on the device.
 *
 * Idea: a scan's points cross the bus once. They are the source when the scan is registered, and when it becomes what
 * the next ones are registered to, the same memory is the target; its voxels are then made while the host reads and
 * selects the next scan, and stay as long as it is the target. So a scan costs one copy of its points and one launch of
 * the optimizer, and the host waits once. All in the order of one stream: kernels fill the device, and a copy is short
 * against what it could overlap with. */
#include "ndt_sequence.cuh"

#include <stdlib.h>
#include <string.h>

/* ---- the state --------------------------------------------------------------------------------------------------- */

static pcgpu_status start(pcgpu_context *context, pc_ndt_sequence *s) {
    s->points_per_voxel = PC_NDT_POINTS_PER_VOXEL;
    PC_TRY(pc_ndt_resident(context, &s->resident));
    PC_TRY(pc_take_pinned(context, &s->header, header_bytes(1)));
    PC_TRY(pc_take_pinned(context, &s->results, sizeof(pc_ndt_result)));
    CUDA_TRY(context, cudaMalloc((void **)&s->device, header_bytes(1)));
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_ndt_sequence_open(pcgpu_context *context, void **state) {
    pc_ndt_sequence *s = (pc_ndt_sequence *)calloc(1, sizeof *s);
    *state = NULL;
    if (!s) {
        return pc_fail_memory(context, sizeof *s, "the sequence");
    }
    pcgpu_status status = start(context, s);
    if (status != PCGPU_OK) {
        pc_cuda_ndt_sequence_close(context, s);
        return status;
    }
    *state = s;
    return PCGPU_OK;
}

extern "C" void pc_cuda_ndt_sequence_close(pcgpu_context *context, void *state) {
    pc_ndt_sequence *s = (pc_ndt_sequence *)state;
    if (s) {
        cudaStreamSynchronize(pc_cuda_of(context)->stream);
        for (int i = 0; i < PC_SCANS; i++) {
            cudaFreeHost(s->place[i].host.memory);
            cudaFree(s->place[i].device);
        }
        cudaFreeHost(s->header.memory);
        cudaFreeHost(s->results.memory);
        cudaFree(s->device);
        pc_arena_free(&s->voxels);
        pc_arena_free(&s->parts);
        pc_ndt_sequence_free_local_map(s);
        free(s);
    }
}

pcgpu_status pc_ndt_sequence_wait(pcgpu_context *context, pc_ndt_sequence *s) {
    CUDA_TRY(context, cudaStreamSynchronize(pc_cuda_of(context)->stream));
    s->pending = false;
    for (int i = 0; i < PC_SCANS; i++) {
        s->place[i].sending = false;
    }
    return PCGPU_OK;
}

static pcgpu_status settle(pcgpu_context *context, pc_ndt_sequence *s) {
    return s->pending ? pc_ndt_sequence_wait(context, s) : PCGPU_OK;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

extern "C" pcgpu_status pc_cuda_ndt_sequence_memory(pcgpu_context *context, void *state, int place, size_t bytes,
                                                    void **memory) {
    pc_ndt_sequence *s = (pc_ndt_sequence *)state;
    pc_ndt_place *p = &s->place[place];
    if (p->sending) { /* the voxels of another scan may be being built */
        PC_TRY(pc_ndt_sequence_wait(context, s));
    }
    PC_TRY(pc_take_pinned(context, &p->host, bytes));
    *memory = p->host.memory;
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_ndt_sequence_send(pcgpu_context *context, void *state, int place, int64_t n,
                                                  const float *x, const float *y, const float *z) {
    pc_ndt_sequence *s = (pc_ndt_sequence *)state;
    pc_ndt_place *p = &s->place[place];
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

pcgpu_status pc_ndt_sequence_lay(pcgpu_context *context, pc_ndt_sequence *s, int place, const pc_ndt_target *target) {
    const pc_ndt_place *p = &s->place[place];
    pc_ndt_task *t = &s->task;
    pc_carving size = {NULL, 0}, c = {NULL, 0};
    memset(t, 0, sizeof *t);
    s->on_local_map = false;
    t->work = PC_NDT_MAKE;
    t->persistent = (pc_ndt_persistent *)s->device; /* a header begins with it */
    t->target = *target;
    t->target.x = p->device;
    t->target.y = p->device ? p->device + p->n : NULL;
    t->target.z = p->device ? p->device + 2 * p->n : NULL;
    PC_TRY(set_capacity(context, t, s->points_per_voxel));
    carve_voxels(&size, t);
    PC_TRY(pc_arena_reset(context, &s->voxels));
    PC_TRY(pc_arena_take(context, &s->voxels, size.used, (void **)&c.base));
    carve_voxels(&c, t);
    return PCGPU_OK;
}

pcgpu_status pc_ndt_sequence_upload(pcgpu_context *context, pc_ndt_sequence *s, int step, header *out) {
    pc_carving c = {s->device, 0}, h = {s->header.memory, 0};
    const header there = header_of(&c, 1), here = header_of(&h, 1);
    char *from = step ? (char *)here.step[step].counters : (char *)here.persistent;
    s->task.result = (pc_ndt_result *)s->results.memory;
    memset(from, 0, (size_t)((char *)here.step[step].tasks - from));
    *here.step[step].tasks = s->task;
    *out = there;
    s->pending = true;
    CUDA_TRY(context, cudaMemcpyAsync(s->device + (from - s->header.memory), from,
                                      (size_t)((char *)(here.step[step].tasks + 1) - from), cudaMemcpyHostToDevice,
                                      pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

pcgpu_status pc_ndt_sequence_widen(pcgpu_context *context, pc_ndt_sequence *s) {
    if (s->points_per_voxel <= 1.0) {
        return pc_fail(context, PCGPU_ERROR_DEVICE,
                       "the voxels of a scan do not fit, though the capacity is one voxel per point");
    }
    s->points_per_voxel = s->points_per_voxel > PC_NDT_POINTS_PER_VOXEL ? PC_NDT_POINTS_PER_VOXEL : 1.0;
    return PCGPU_OK;
}

/* ---- the target -------------------------------------------------------------------------------------------------- */

/* Makes its voxels, and does not wait: what they do not fit is found when they are needed. */
static pcgpu_status make_target(pcgpu_context *context, pc_ndt_sequence *s) {
    header h;
    PC_TRY(settle(context, s)); /* the header of another target */
    PC_TRY(pc_ndt_sequence_lay(context, s, s->target_place, &s->target));
    PC_TRY(pc_ndt_sequence_upload(context, s, 0, &h));
    const int blocks = blocks_for(2 * s->target.n, s->resident, 1);
    return pc_ndt_launch(context, h.step[0].tasks, 1, 1, blocks, h.step[0].counters);
}

extern "C" pcgpu_status pc_cuda_ndt_sequence_target(pcgpu_context *context, void *state, int place,
                                                    const struct pc_ndt_target *target) {
    pc_ndt_sequence *s = (pc_ndt_sequence *)state;
    s->target = *target;
    s->target_place = place;
    return make_target(context, s);
}

/* ---- registration ------------------------------------------------------------------------------------------------ */

static pcgpu_status follow(pcgpu_context *context, pc_ndt_sequence *s, int place, const pc_ndt_job *job,
                           pc_host_work beside) {
    const pc_ndt_place *p = &s->place[place];
    pc_ndt_task *t = &s->task;
    pc_carving size = {NULL, 0}, c = {NULL, 0};
    header h;
    t->source = job->source;
    t->source.x = p->device;
    t->source.y = p->device + p->n;
    t->source.z = p->device + 2 * p->n;
    t->optimizer = job->optimizer;
    t->work = PC_NDT_PART | PC_NDT_FOLLOW | (s->on_local_map ? PC_NDT_MEASURED : 0);
    carve_parts(&size, t);
    PC_TRY(pc_arena_reset(context, &s->parts));
    PC_TRY(pc_arena_take(context, &s->parts, size.used, (void **)&c.base));
    carve_parts(&c, t);
    PC_TRY(pc_ndt_sequence_upload(context, s, 1, &h));
    const int blocks = blocks_for(2 * p->n, s->resident, 1);
    PC_TRY(pc_ndt_launch(context, h.step[1].tasks, 1, 1, blocks, h.step[1].counters));
    pc_host_work_do(beside);
    return pc_ndt_sequence_wait(context, s);
}

extern "C" pcgpu_status pc_cuda_ndt_sequence_register(pcgpu_context *context, void *state, int place,
                                                      struct pc_ndt_job *job, pc_host_work beside) {
    pc_ndt_sequence *s = (pc_ndt_sequence *)state;
    PC_TRY(follow(context, s, place, job, beside));
    while (pc_ndt_sequence_result(s)->overflow) { /* never with the local map, whose capacity has been checked */
        PC_TRY(pc_ndt_sequence_widen(context, s));
        PC_TRY(make_target(context, s));
        PC_TRY(follow(context, s, place, job, beside));
    }
    job->optimizer = pc_ndt_sequence_result(s)->optimizer;
    return PCGPU_OK;
}
