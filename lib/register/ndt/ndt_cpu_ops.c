/* The operations of the CPU back end: jobs of pairs, and sequences. The state of a context serves pairs, that of a
 * sequence its scans. */
#include "ndt_cpu.h"
#include "ndt_optimizer.h"

#include <stdlib.h>
#include <string.h>

/* ---- states ------------------------------------------------------------------------------------------------------ */

static void clear_state(pc_ndt_state *s) {
    for (int i = 0; i < PC_NDT_MAX_LEVELS; i++) {
        pc_ndt_free_grid(&s->level[i]);
    }
    pc_ndt_free_grid(&s->shifted);
    for (int i = 0; i < s->parts_made; i++) {
        pc_ndt_free_grid(&s->part[i]);
    }
    pc_ndt_free_local_map(s);
    pc_buffer_free(&s->part_memory);
    pc_buffer_free(&s->chunks);
    pc_buffer_free(&s->sets);
    for (int i = 0; i < PC_NDT_CLOUDS; i++) {
        pc_buffer_free(&s->points[i]);
    }
}

static void free_state(void *memory) {
    clear_state(memory);
    free(memory);
}

pc_ndt_state *pc_ndt_state_of(pcgpu_context *context) {
    pc_ndt_state *s = pc_keep(context, PC_KEPT_NDT, sizeof *s, free_state);
    if (s) {
        s->simd = pc_context_simd(context);
    }
    return s;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* Runs the optimizer from its start to its end. */
static pcgpu_status follow(pcgpu_context *context, pc_ndt_state *s, pc_ndt_optimizer *optimizer) {
    double sums[PC_NDT_MOST_SUMS][PC_NDT_SUMS];
    pc_ndt_optimizer_begin(optimizer);
    while (optimizer->end == PC_NDT_RUNNING) {
        const pc_ndt_command *command = &optimizer->command;
        PC_TRY(pc_check_cancelled(context));
        if (command->passes) {
            PC_TRY(pc_ndt_add_pass(context, s, &command->pass));
        }
        for (int i = 0; i < command->sums; i++) {
            PC_TRY(pc_ndt_sum(context, s, &command->step[i], sums[i]));
        }
        pc_ndt_optimizer_next(optimizer, sums);
    }
    return PCGPU_OK;
}

static pcgpu_status lend_memory(pcgpu_context *context, int which, size_t bytes, void **memory) {
    pc_ndt_state *s = pc_ndt_state_of(context);
    *memory = s ? pc_buffer_take(&s->points[which], bytes, false) : NULL;
    return *memory ? PCGPU_OK : pc_fail_memory(context, bytes, "the points");
}

/* The threads are still selecting the source: the target is made with its job. */
static pcgpu_status begin_target(pcgpu_context *context, const struct pc_ndt_target *target) {
    (void)context;
    (void)target;
    return PCGPU_OK;
}

static pcgpu_status register_job(pcgpu_context *context, pc_ndt_state *s, pc_ndt_job *job) {
    const double begin = pc_now();
    PC_TRY(pc_ndt_make_target(context, s, &job->target, &job->optimizer.target));
    PC_TRY(pc_ndt_take_source(context, s, &job->source));
    job->target_seconds = pc_now() - begin;
    return follow(context, s, &job->optimizer);
}

static pcgpu_status register_jobs(pcgpu_context *context, struct pc_ndt_job *jobs, int count, pc_host_work beside) {
    (void)beside;
    pc_ndt_state *s = pc_ndt_state_of(context);
    if (!s) {
        return pc_fail_memory(context, sizeof *s, "the registration");
    }
    for (int i = 0; i < count; i++) {
        PC_TRY(register_job(context, s, &jobs[i]));
    }
    return PCGPU_OK;
}

/* ---- a sequence -------------------------------------------------------------------------------------------------- */

static pcgpu_status open_sequence(pcgpu_context *context, void **sequence) {
    pc_ndt_cpu_sequence *q = calloc(1, sizeof *q);
    *sequence = q;
    if (!q) {
        return pc_fail_memory(context, sizeof *q, "the sequence");
    }
    q->voxels.simd = pc_context_simd(context);
    return PCGPU_OK;
}

static void close_sequence(pcgpu_context *context, void *sequence) {
    pc_ndt_cpu_sequence *q = sequence;
    (void)context;
    if (q) {
        for (int i = 0; i < PC_SCANS; i++) {
            pc_buffer_free(&q->scan[i].memory);
        }
        clear_state(&q->voxels);
        free(q);
    }
}

static pcgpu_status lend_scan(pcgpu_context *context, void *sequence, int scan, size_t bytes, void **memory) {
    pc_ndt_cpu_sequence *q = sequence;
    *memory = pc_buffer_take(&q->scan[scan].memory, bytes, false);
    return *memory ? PCGPU_OK : pc_fail_memory(context, bytes, "the points");
}

static pcgpu_status send_scan(pcgpu_context *context, void *sequence, int scan, int64_t n, const float *x,
                              const float *y, const float *z) {
    pc_ndt_cpu_scan *to = &((pc_ndt_cpu_sequence *)sequence)->scan[scan];
    (void)context;
    to->n = n;
    to->x = x;
    to->y = y;
    to->z = z;
    return PCGPU_OK;
}

/* Its voxels are made by the first registration to it. */
static pcgpu_status set_target(pcgpu_context *context, void *sequence, int scan, const struct pc_ndt_target *target) {
    pc_ndt_cpu_sequence *q = sequence;
    const pc_ndt_cpu_scan *from = &q->scan[scan];
    (void)context;
    q->target = *target;
    q->target.n = from->n;
    q->target.x = from->x;
    q->target.y = from->y;
    q->target.z = from->z;
    q->pending = true;
    return PCGPU_OK;
}

static pcgpu_status merge_scan(pcgpu_context *context, void *sequence, int scan, const struct pc_ndt_merge *merge,
                               struct pc_ndt_measure *measure) {
    pc_ndt_cpu_sequence *q = sequence;
    const pc_ndt_cpu_scan *from = &q->scan[scan];
    pc_ndt_merge m = *merge;
    m.scan.n = from->n;
    m.scan.x = from->x;
    m.scan.y = from->y;
    m.scan.z = from->z;
    PC_TRY(pc_ndt_merge_scan(context, &q->voxels, &m, measure));
    q->pending = false;
    return PCGPU_OK;
}

static pcgpu_status keep_voxels(pcgpu_context *context, void *sequence) {
    (void)context;
    pc_ndt_keep(&((pc_ndt_cpu_sequence *)sequence)->voxels);
    return PCGPU_OK;
}

static pcgpu_status cut_voxels(pcgpu_context *context, void *sequence, const struct pc_ndt_merge *merge,
                               struct pc_ndt_measure *measure) {
    pc_ndt_cpu_sequence *q = sequence;
    q->pending = false;
    return pc_ndt_cut(context, &q->voxels, merge, measure);
}

static pcgpu_status register_scan(pcgpu_context *context, void *sequence, int scan, struct pc_ndt_job *job,
                                  pc_host_work beside) {
    (void)beside;
    pc_ndt_cpu_sequence *q = sequence;
    const pc_ndt_cpu_scan *from = &q->scan[scan];
    pc_ndt_source source = job->source;
    source.x = from->x;
    source.y = from->y;
    source.z = from->z;
    const double begin = pc_now();
    if (q->pending) {
        PC_TRY(pc_ndt_make_target(context, &q->voxels, &q->target, &q->measure));
        q->pending = false;
    }
    job->target_seconds = pc_now() - begin;
    if (!q->voxels.on_local_map) {
        job->optimizer.target = q->measure;
    }
    PC_TRY(pc_ndt_take_source(context, &q->voxels, &source));
    return follow(context, &q->voxels, &job->optimizer);
}

const pc_ndt_ops pc_cpu_ndt_ops = {.concurrent_jobs = false,
                                   .memory = lend_memory,
                                   .begin = begin_target,
                                   .register_jobs = register_jobs,
                                   .sequence_open = open_sequence,
                                   .sequence_close = close_sequence,
                                   .sequence_memory = lend_scan,
                                   .sequence_send = send_scan,
                                   .sequence_target = set_target,
                                   .sequence_merge = merge_scan,
                                   .sequence_keep = keep_voxels,
                                   .sequence_cut = cut_voxels,
                                   .sequence_register = register_scan};
