/* A launch of farthest point sampling, whether its clouds come from the host (sample.cu) or lie on the device
 * (sample_device.cu): its memory and its work. */
#ifndef PC_SAMPLE_WAVE_CUH
#define PC_SAMPLE_WAVE_CUH

#include "sample_plan.cuh"

#include <string.h>

typedef struct device_wave {
    pc_cloud *clouds;
    pc_rounds_end *ends;
    void *zeroed; /* arrays that must be zero before a run */
    size_t zeroed_bytes;
    void *scratch;
    size_t scratch_bytes;
} device_wave;

/* Fills the host's copy of the clouds with addresses on the device. */
static inline device_wave lay_out_wave(pc_carving *l, const pc_wave *w, const pc_sample_job *jobs, size_t scratch_bytes,
                                       pc_cloud *out) {
    device_wave d;
    const pc_rounds_shape *s = &w->shape;
    const size_t count = (size_t)w->count;
    d.clouds = (pc_cloud *)pc_carve(l, count * sizeof *d.clouds);
    size_t zeroed = l->used;
    pc_bounds *bounds = (pc_bounds *)pc_carve(l, count * sizeof *bounds);
    uint32_t *pool_used = (uint32_t *)pc_carve(l, count * sizeof *pool_used);
    float *side = (float *)pc_carve(l, count * sizeof *side);
    d.ends = (pc_rounds_end *)pc_carve(l, count * sizeof *d.ends);
    const size_t mailboxes_each = w->cluster ? 0 : (size_t)s->blocks * PC_GRID_MAILBOXES;
    pc_mailbox *mailboxes = (pc_mailbox *)pc_carve(l, count * mailboxes_each * sizeof *mailboxes);
    d.zeroed = bounds;
    d.zeroed_bytes = l->used - zeroed;
    d.scratch = pc_carve(l, scratch_bytes);
    d.scratch_bytes = scratch_bytes;
    word *accepted = (word *)d.scratch; /* the sort is over before the first pick */
    int64_t first = 0;
    for (int i = 0; i < w->count; i++) {
        const pc_sample_job *job = &jobs[w->first + i];
        const size_t n = (size_t)job->n;
        pc_cloud *c = &out[i];
        memset(c, 0, sizeof *c);
        c->n = job->n;
        c->first = first;
        c->start = job->start;
        c->lead = job->seed_count == 0;
        c->seed_count = c->lead ? 1 : job->seed_count;
        c->wanted = job->count - c->lead;
        c->min_distance = job->min_distance;
        c->runs = (uint32_t)pc_runs_of(job->n, s->bucket_points);
        c->pool = (uint32_t)((int64_t)s->workers * s->buckets - c->runs);
        c->x = (const float *)pc_carve(l, n * sizeof(float));
        c->y = (const float *)pc_carve(l, n * sizeof(float));
        c->z = (const float *)pc_carve(l, n * sizeof(float));
        c->seeds = (const int32_t *)pc_carve(l, (size_t)c->seed_count * sizeof(int32_t));
        c->sorted = (float4 *)pc_carve(l, n * sizeof(float4));
        c->nearest = s->stored ? (float *)pc_carve(l, n * sizeof(float)) : NULL;
        c->ranges = (pc_range *)pc_carve(l, (c->runs + c->pool) * sizeof(pc_range));
        c->tiles = (pc_tile *)pc_carve(l, (size_t)pc_tiles_of(job->n) * sizeof(pc_tile));
        c->indices = (int32_t *)pc_carve(l, ((size_t)job->count + 1) * sizeof(int32_t));
        c->squared = (float *)pc_carve(l, ((size_t)job->count + 1) * sizeof(float));
        c->accepted = accepted ? accepted + first : NULL;
        c->bounds = bounds ? bounds + i : NULL;
        c->pool_used = pool_used ? pool_used + i : NULL;
        c->side = side ? side + i : NULL;
        c->end = d.ends ? d.ends + i : NULL;
        c->mailboxes = mailboxes && !w->cluster ? mailboxes + (size_t)i * mailboxes_each : NULL;
        first += job->n;
    }
    return d;
}

/* All work from clouds in device memory to picks in device memory. */
static inline pcgpu_status compute(pcgpu_context *context, const pc_wave *w, const device_wave *d) {
    CUDA_TRY(context, cudaMemsetAsync(d->zeroed, 0, d->zeroed_bytes, pc_cuda_of(context)->stream));
    PC_TRY(pc_sample_order(context, d->clouds, w->points, w->largest, w->count, w->shape.bucket_points, d->scratch,
                           d->scratch_bytes));
    PC_TRY(pc_sample_rounds(context, d->clouds, w->count, &w->shape, w->cluster));
    return pc_sample_rank(context, d->clouds, w->count, w->most_wanted);
}

#endif
