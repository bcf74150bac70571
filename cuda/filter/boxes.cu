/* Points in oriented boxes on CUDA: a thread per record, the boxes of its cloud by shared memory. */
#include "boxes_math.h"
#include "common.cuh"
#include "filter_ops.h"

enum { THREADS = 256 };

/* blockIdx.y: the cloud. A box that the CPU refuses gets a size of NaN, and holds nothing. */
__global__ static void __launch_bounds__(THREADS) in_boxes_kernel(const pc_boxes_job job) {
    __shared__ pc_box boxes[THREADS];
    const int64_t rows = job.points.rows, cloud = blockIdx.y, record = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const bool there = record < rows;
    const float *p = job.points.data + (cloud * rows + (there ? record : 0)) * job.points.stride;
    const float x = there ? p[0] : NAN, y = there ? p[1] : NAN, z = there ? p[2] : NAN;
    int32_t first = -1;
    for (int64_t begin = 0; begin < job.count; begin += THREADS) {
        const int count = (int)min(job.count - begin, (int64_t)THREADS);
        __syncthreads();
        if ((int)threadIdx.x < count) {
            const float *numbers = job.boxes + (cloud * job.count + begin + threadIdx.x) * PCGPU_BOX_NUMBERS;
            boxes[threadIdx.x] = pc_box_of(numbers);
            boxes[threadIdx.x].half_x = fabsf(numbers[6]) <= 1e6f ? boxes[threadIdx.x].half_x : NAN;
        }
        __syncthreads();
        for (int b = 0; b < count; b++) {
            const bool in = pc_in_box(&boxes[b], x, y, z);
            first = in && first < 0 ? (int32_t)(begin + b) : first;
            if (job.inside && there) {
                job.inside[(cloud * rows + record) * job.count + begin + b] = in;
            }
        }
    }
    if (job.first && there) {
        job.first[cloud * rows + record] = first;
    }
}

static pcgpu_status launch(pcgpu_context *context, const pc_boxes_job *job) {
    for (int64_t first = 0; first < job->points.count && job->points.rows > 0; first += 65535) {
        const int64_t left = job->points.count - first, at = first * job->points.rows;
        pc_boxes_job part = *job;
        part.points.data += at * job->points.stride;
        part.boxes += first * job->count * PCGPU_BOX_NUMBERS;
        part.first = job->first ? job->first + at : NULL;
        part.inside = job->inside ? job->inside + at * job->count : NULL;
        const dim3 grid(pc_blocks(job->points.rows, THREADS), (unsigned)(left < 65535 ? left : 65535));
        PC_LAUNCH(context, in_boxes_kernel, grid, THREADS, part);
    }
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_in_boxes_device(pcgpu_context *context, void *stream, const pc_boxes_job *job) {
    PC_TRY(pc_cuda_start(context));
    PC_TRY(pc_cuda_check_memory(context, job->points.data, "the points"));
    PC_TRY(pc_cuda_check_memory(context, job->boxes, "the boxes"));
    PC_TRY(pc_cuda_check_memory(context, job->first, "the first boxes"));
    PC_TRY(pc_cuda_check_memory(context, job->inside, "the rows of boxes"));
    void *own = pc_cuda_exchange_stream(context, stream);
    const pcgpu_status status = launch(context, job);
    pc_cuda_exchange_stream(context, own);
    return status;
}

/* One cloud of the host after the other. */
static pcgpu_status in_boxes_of_cloud(pcgpu_context *context, const pc_boxes_job *job, int64_t cloud) {
    pc_arena *arena = &pc_cuda_of(context)->arena;
    const int64_t begin = pc_clouds_begin(&job->points, cloud), rows = pc_clouds_begin(&job->points, cloud + 1) - begin;
    const int64_t stride = job->points.stride;
    const size_t points = (size_t)(rows * stride) * sizeof(float), records = (size_t)rows * sizeof(int32_t);
    const size_t boxes = (size_t)(job->count * PCGPU_BOX_NUMBERS) * sizeof(float), cells = (size_t)(rows * job->count);
    pc_boxes_job on = *job;
    void *at[4];
    PC_TRY(pc_arena_reset(context, arena));
    PC_TRY(pc_arena_take(context, arena, points, &at[0]));
    PC_TRY(pc_arena_take(context, arena, boxes, &at[1]));
    PC_TRY(pc_arena_take(context, arena, records, &at[2]));
    PC_TRY(pc_arena_take(context, arena, job->inside ? cells : 0, &at[3]));
    on.points = pcgpu_clouds{(const float *)at[0], stride, 1, rows, NULL};
    on.boxes = (const float *)at[1];
    on.first = job->first ? (int32_t *)at[2] : NULL;
    on.inside = job->inside ? (uint8_t *)at[3] : NULL;
    PC_TRY(pc_cuda_up(context, at[0], job->points.data + begin * stride, points));
    PC_TRY(pc_cuda_up(context, at[1], job->boxes + cloud * job->count * PCGPU_BOX_NUMBERS, boxes));
    PC_TRY(launch(context, &on));
    if (job->first && rows > 0) {
        PC_TRY(pc_cuda_down(context, job->first + begin, at[2], records));
    }
    return job->inside && cells > 0 ? pc_cuda_down(context, job->inside + begin * job->count, at[3], cells) : PCGPU_OK;
}

static pcgpu_status in_boxes(pcgpu_context *context, const pc_boxes_job *job) {
    for (int64_t i = 0; i < job->points.count; i++) {
        PC_TRY(in_boxes_of_cloud(context, job, i));
    }
    return PCGPU_OK;
}

const pc_filter_ops pc_cuda_filter_ops = {in_boxes};
