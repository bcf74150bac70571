/* Points in oriented boxes: checks, the choice of the back end, and the CPU back end. */
#include "boxes_math.h"
#include "filter_ops.h"

#include <stdlib.h>

enum { RECORDS_PER_PART = 2048 };

/* ---- the CPU back end -------------------------------------------------------------------------------------------- */

typedef struct searching {
    const pc_boxes_job *job;
    const pc_box *boxes; /* of the cloud */
    int64_t begin;       /* the first record of the cloud */
    uint8_t *inside;     /* of the cloud */
} searching;

static void search_records(void *state, int64_t begin, int64_t end) {
    const searching *s = state;
    const pc_boxes_job *job = s->job;
    for (int64_t i = begin; i < end; i++) {
        const float *p = job->points.data + (s->begin + i) * job->points.stride;
        int32_t first = -1;
        for (int64_t b = job->count - 1; b >= 0; b--) {
            const int in = pc_in_box(&s->boxes[b], p[0], p[1], p[2]);
            first = in ? (int32_t)b : first;
            if (s->inside) {
                s->inside[i * job->count + b] = (uint8_t)in;
            }
        }
        if (job->first) {
            job->first[s->begin + i] = first;
        }
    }
}

static pcgpu_status search(pcgpu_context *context, const pc_boxes_job *job) {
    pc_box *boxes = malloc(((size_t)job->count + 1) * sizeof *boxes);
    if (!boxes) {
        return pc_fail_memory(context, (uint64_t)job->count * sizeof *boxes, "the boxes");
    }
    for (int64_t i = 0; i < job->points.count; i++) {
        const int64_t begin = pc_clouds_begin(&job->points, i), rows = pc_clouds_begin(&job->points, i + 1) - begin;
        for (int64_t b = 0; b < job->count; b++) {
            boxes[b] = pc_box_of(job->boxes + (i * job->count + b) * PCGPU_BOX_NUMBERS);
        }
        searching s = {job, boxes, begin, job->inside ? job->inside + i * rows * job->count : NULL};
        pc_run_ranges(context, rows, RECORDS_PER_PART, search_records, &s);
    }
    free(boxes);
    return PCGPU_OK;
}

const pc_filter_ops pc_cpu_filter_ops = {.in_boxes = search};

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static pcgpu_status check(pcgpu_context *context, const pcgpu_clouds *points, int64_t count, const uint8_t *inside) {
    PC_TRY(pc_clouds_check(context, points, " of the points"));
    if (count < 0 || count > INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld boxes; give 0 to 2^31 - 1", (long long)count);
    }
    return inside && points->offsets && points->count > 1
               ? pc_fail(context, PCGPU_ERROR_ARGUMENT,
                         "a row per record and box is for clouds of equal numbers of records")
               : PCGPU_OK;
}

static pcgpu_status check_boxes(pcgpu_context *context, const float *boxes, int64_t count) {
    for (int64_t b = 0; b < count; b++) {
        const float *n = boxes + b * PCGPU_BOX_NUMBERS;
        bool good = fabsf(n[6]) <= 1e6f;
        for (int k = 0; k < 6; k++) {
            good = good && isfinite(n[k]) && (k < 3 || n[k] >= 0.0f);
        }
        if (!good) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                           "box %lld is %g %g %g %g %g %g %g; give finite numbers, sizes of 0 or more and radians",
                           (long long)b, (double)n[0], (double)n[1], (double)n[2], (double)n[3], (double)n[4],
                           (double)n[5], (double)n[6]);
        }
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_points_in_boxes(pcgpu_context *context, const pcgpu_clouds *points, const float *boxes,
                                   int64_t count, int32_t *first, uint8_t *inside, pcgpu_run *run) {
    const pc_boxes_job job = {*points, boxes, count, first, inside};
    const pc_backend *backend = NULL;
    pcgpu_run own = {0};
    pcgpu_status status;
    PC_TRY(check(context, points, count, inside));
    PC_TRY(check_boxes(context, boxes, count * points->count));
    const double records = (double)(pc_clouds_begin(points, points->count) - pc_clouds_begin(points, 0));
    const double cpu = records * (2e-9 + 3e-9 * (double)count);
    const double cuda = 100e-6 + records * (2e-9 + (inside ? 0.2e-9 * (double)count : 0.0));
    do {
        status = pc_choose_backend(context, cpu, cuda, &own, &backend);
        status = status == PCGPU_OK ? backend->filter->in_boxes(context, &job) : status;
    } while (pc_goes_to_cpu(context, backend, status));
    if (run) {
        *run = status == PCGPU_OK ? own : (pcgpu_run){0};
    }
    return status;
}

pcgpu_status pcgpu_points_in_boxes_device(pcgpu_context *context, void *stream, const pcgpu_clouds *points,
                                          const float *boxes, int64_t count, int32_t *first, uint8_t *inside) {
    const pc_boxes_job job = {*points, boxes, count, first, inside};
    PC_TRY(pc_context_need_cuda(context));
    PC_TRY(check(context, points, count, inside));
    if (points->offsets) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "arrays on a GPU are clouds of equal numbers of records here");
    }
    return pc_cuda_in_boxes_device(context, stream, &job);
}
