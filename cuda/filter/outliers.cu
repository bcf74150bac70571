/* Outliers on CUDA, by the search for neighbours: of the mean distances the average and the deviation, in the order of
 * outliers_math.h, and the records beyond; or the records with too few others within a radius. */
#include "common.cuh"
#include "filter_ops.h"
#include "neighbors_ops.h"
#include "outliers_math.h"

enum { THREADS = 256 };

typedef struct outliers_work {
    pc_outliers_job job;
    int64_t block_count;
    float *points;   /* rows x 3; NaN: no part */
    double *means;   /* rows, or for sparse ones */
    int32_t *within; /* rows */
    pc_mean_sum *blocks;
    double *average, *threshold;
} outliers_work;

__global__ static void __launch_bounds__(THREADS) select_kernel(const outliers_work w) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < w.job.rows) {
        const float *p = w.job.data + i * w.job.columns;
        const bool has_part = w.job.mask[i] && pc_is_finite3(p[0], p[1], p[2]);
        for (int k = 0; k < 3; k++) {
            w.points[3 * i + k] = has_part ? p[k] : NAN;
        }
    }
}

/* A thread sums, since its order is that of the CPU; the others load. */
__global__ static void __launch_bounds__(THREADS) sum_kernel(const outliers_work w, bool squares) {
    __shared__ double means[PC_OUTLIERS_BLOCK];
    const int64_t begin = (int64_t)blockIdx.x * PC_OUTLIERS_BLOCK, left = w.job.rows - begin;
    const int n = left < PC_OUTLIERS_BLOCK ? (int)left : (int)PC_OUTLIERS_BLOCK;
    const double middle = squares ? *w.average : 0.0;
    for (int i = (int)threadIdx.x; i < n; i += THREADS) {
        means[i] = w.means[begin + i];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        pc_mean_sum sum = {0.0, 0};
        for (int i = 0; i < n; i++) {
            pc_mean_sum_add(&sum, means[i], middle, squares);
        }
        w.blocks[blockIdx.x] = sum;
    }
}

/* One thread. */
__global__ static void join_kernel(const outliers_work w, bool squares) {
    pc_mean_sum sum = {0.0, 0};
    for (int64_t b = 0; b < w.block_count; b++) {
        pc_mean_sum_join(&sum, &w.blocks[b]);
    }
    if (squares) {
        *w.threshold = *w.average + w.job.sigmas * pc_deviation_of(&sum);
    } else {
        *w.average = pc_average_of(&sum);
    }
}

__global__ static void __launch_bounds__(THREADS) clear_kernel(const outliers_work w) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i < w.job.rows) {
        const float x = w.points[3 * i];
        const bool goes = w.job.sparse ? pc_is_sparse(w.within[i], w.job.others) : w.means[i] > *w.threshold;
        w.job.mask[i] = x == x && !goes;
    }
}

static void carve(pc_carving *c, outliers_work *w) {
    const size_t rows = (size_t)w->job.rows;
    w->points = (float *)pc_carve(c, 3 * rows * sizeof *w->points);
    w->means = w->job.sparse ? NULL : (double *)pc_carve(c, rows * sizeof *w->means);
    w->within = w->job.sparse ? (int32_t *)pc_carve(c, rows * sizeof *w->within) : NULL;
    w->blocks = (pc_mean_sum *)pc_carve(c, (size_t)w->block_count * sizeof *w->blocks);
    w->average = (double *)pc_carve(c, 2 * sizeof *w->average);
    w->threshold = w->average + 1;
}

/* The neighbours and the threshold, on the stream of the context. */
static pcgpu_status measure(pcgpu_context *context, const outliers_work *w) {
    pc_neighbors_job search = {};
    search.points = pcgpu_clouds{w->points, 3, 1, w->job.rows, NULL};
    search.queries = search.points;
    search.k = w->job.sparse ? 0 : w->job.k + 1;
    search.squared = w->job.sparse ? w->job.radius * w->job.radius : INFINITY;
    search.means = w->means;
    search.lists.counts = w->within;
    PC_TRY(pc_cuda_neighbors_run(context, &search));
    for (int squares = 0; squares < 2 && !w->job.sparse; squares++) {
        PC_LAUNCH(context, sum_kernel, (unsigned)w->block_count, THREADS, *w, squares);
        PC_LAUNCH(context, join_kernel, 1, 1, *w, squares);
    }
    return PCGPU_OK;
}

static pcgpu_status find(pcgpu_context *context, const pc_outliers_job *job) {
    pc_carving c = {};
    outliers_work w = {};
    w.job = *job;
    w.block_count = (job->rows + PC_OUTLIERS_BLOCK - 1) / PC_OUTLIERS_BLOCK;
    carve(&c, &w);
    PC_TRY(pc_carve_block(context, &pc_cuda_of(context)->filter_arena, &c));
    carve(&c, &w);
    PC_LAUNCH(context, select_kernel, pc_blocks(job->rows, THREADS), THREADS, w);
    PC_TRY(measure(context, &w));
    PC_LAUNCH(context, clear_kernel, pc_blocks(job->rows, THREADS), THREADS, w);
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_find_outliers_device(pcgpu_context *context, void *stream, const pc_outliers_job *job) {
    PC_TRY(pc_cuda_start(context));
    PC_TRY(pc_cuda_check_memory(context, job->data, "the points"));
    PC_TRY(pc_cuda_check_memory(context, job->mask, "the mask"));
    void *own = pc_cuda_exchange_stream(context, stream);
    const pcgpu_status status = find(context, job);
    pc_cuda_exchange_stream(context, own);
    return status;
}
