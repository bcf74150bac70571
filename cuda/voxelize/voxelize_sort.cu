/* Voxelization by a sort: memory, launches, and the prefix sum and the sort between the kernels of voxelize_sort.cuh.
 * CUB's sort and scan take most of its compile time. */
#include "voxelize_sort.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

/* Launches a kernel over n items; kernels of more than 2^31-1 blocks do not occur but for the padded features. */
#define LAUNCH(context, n, kernel, ...)                                                                                \
    do {                                                                                                               \
        if ((n) > 0) {                                                                                                 \
            PC_LAUNCH(context, kernel, pc_blocks(n, THREADS), THREADS, __VA_ARGS__);                                   \
        }                                                                                                              \
    } while (0)

/* Slots for at most half a full table: of the records, or of the grid where that has fewer cells. */
static uint64_t table_size(const pc_voxelize_job *job) {
    double cells = (double)job->grid.cells[0] * (double)job->grid.cells[1] * (double)job->grid.cells[2];
    double most = cells < (double)job->rows ? cells : (double)job->rows;
    uint64_t size = 1024;
    while ((double)size < 2.0 * most && size < (1ull << 31)) {
        size *= 2;
    }
    return size;
}

/* Assigns ids to the voxels; afterwards s->voxel and s->order hold each record's voxel and its index. */
static pcgpu_status assign_ids(pcgpu_context *context, uint64_t size, voxel_state *s) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    CUDA_TRY(context, cudaMemsetAsync(s->keys, 0xff, size * sizeof *s->keys, stream));
    CUDA_TRY(context, cudaMemsetAsync(s->lowest, 0xff, size * sizeof *s->lowest, stream));
    CUDA_TRY(context, cudaMemsetAsync(s->dropped, 0, sizeof *s->dropped, stream));
    LAUNCH(context, s->rows, insert_kernel, *s);
    LAUNCH(context, s->rows, mark_first_kernel, *s);
    size_t bytes = 0;
    void *work;
    CUDA_TRY(context, cub::DeviceScan::InclusiveSum(NULL, bytes, s->rank, s->rank, s->rows, stream));
    PC_TRY(pc_voxelize_take(context, (int64_t)bytes, (char **)&work));
    CUDA_TRY(context, cub::DeviceScan::InclusiveSum(work, bytes, s->rank, s->rank, s->rows, stream));
    int32_t found;
    PC_TRY(pc_cuda_down(context, &found, s->rank + s->rows - 1, sizeof found));
    s->found = found;
    LAUNCH(context, s->rows, id_kernel, *s);
    LAUNCH(context, s->rows, assign_kernel, *s);
    return PCGPU_OK;
}

/* Sorts the records by voxel and finds where each voxel begins. */
static pcgpu_status sort_records(pcgpu_context *context, voxel_state *s) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    cub::DoubleBuffer<uint32_t> voxel(s->voxel, s->voxel_next);
    cub::DoubleBuffer<int32_t> order(s->order, s->order_next);
    int bits = 1;
    while (bits < 32 && (uint64_t)s->found >> bits) {
        bits++;
    }
    size_t bytes = 0;
    void *work;
    CUDA_TRY(context, cub::DeviceRadixSort::SortPairs(NULL, bytes, voxel, order, s->rows, 0, bits, stream));
    PC_TRY(pc_voxelize_take(context, (int64_t)bytes, (char **)&work));
    CUDA_TRY(context, cub::DeviceRadixSort::SortPairs(work, bytes, voxel, order, s->rows, 0, bits, stream));
    s->voxel = voxel.Current();
    s->order = order.Current();
    PC_TRY(pc_voxelize_take(context, s->found + 1, &s->starts));
    LAUNCH(context, s->rows, starts_kernel, *s);
    return PCGPU_OK;
}

/* Fills the numbers of `out`; *largest = most kept points in a voxel. */
static pcgpu_status count_points(pcgpu_context *context, const pc_voxelize_job *job, voxel_state *s, int64_t *largest,
                                 pcgpu_voxels *out) {
    totals sums = {0, 0, 0}, *device_sums;
    drops dropped;
    int64_t in_range = 0, under_limit = 0;
    s->count = job->max_voxels && job->max_voxels < s->found ? job->max_voxels : s->found;
    if (s->found > 0) {
        PC_TRY(pc_voxelize_take(context, 1, &device_sums));
        CUDA_TRY(context, cudaMemsetAsync(device_sums, 0, sizeof sums, pc_cuda_of(context)->stream));
        LAUNCH(context, s->found, totals_kernel, *s, device_sums);
        PC_TRY(pc_cuda_down(context, &sums, device_sums, sizeof sums));
        PC_TRY(pc_cuda_down(context, &in_range, s->starts + s->found, sizeof in_range));
        PC_TRY(pc_cuda_down(context, &under_limit, s->starts + s->count, sizeof under_limit));
    }
    PC_TRY(pc_cuda_down(context, &dropped, s->dropped, sizeof dropped));
    out->run.non_finite = (int64_t)dropped.non_finite;
    out->run.at_origin = (int64_t)dropped.at_origin;
    out->voxels_found = s->found;
    out->count = s->count;
    out->in_range = in_range;
    out->kept = (int64_t)sums.kept;
    out->over_points = under_limit - (int64_t)sums.kept;
    out->over_voxels = in_range - under_limit;
    out->largest = (int64_t)sums.largest;
    *largest = (int64_t)sums.largest_kept;
    return PCGPU_OK;
}

/* The padded features, in launches of at most 2^30 items. */
static pcgpu_status fill_padded(pcgpu_context *context, const pc_voxelize_job *job, const voxel_state *s) {
    const int64_t most = (int64_t)1 << 30;
    bool pillar = job->features == PCGPU_FEATURES_PILLAR;
    int64_t items = s->count * s->capacity * (pillar ? 1 : s->columns);
    for (int64_t from = 0; from < items; from += most) {
        int64_t n = items - from < most ? items - from : most;
        if (pillar) {
            LAUNCH(context, n, pillar_kernel, *s, from);
        } else {
            LAUNCH(context, n, points_kernel, *s, from);
        }
    }
    return PCGPU_OK;
}

static pcgpu_status fill_features(pcgpu_context *context, const pc_voxelize_job *job, voxel_state *s) {
    bool nearest = job->features == PCGPU_FEATURES_NEAREST;
    if (nearest || job->features == PCGPU_FEATURES_PILLAR) {
        PC_TRY(pc_voxelize_take(context, s->count * 3, &s->means));
        LAUNCH(context, s->count * 3, means_kernel, *s, s->means, 3);
    }
    if (nearest || job->features == PCGPU_FEATURES_FIRST) {
        PC_TRY(pc_voxelize_take(context, s->count, &s->selected));
        LAUNCH(context, s->count, select_kernel, *s, nearest);
        LAUNCH(context, s->count * s->columns, gather_kernel, *s);
        return PCGPU_OK;
    }
    if (job->features == PCGPU_FEATURES_MEAN) {
        LAUNCH(context, s->count * s->columns, means_kernel, *s, s->features, (int)s->columns);
        return PCGPU_OK;
    }
    return fill_padded(context, job, s);
}

/* ---- the call --------------------------------------------------------------------------------------------------- */

typedef struct call {
    const pc_voxelize_job *job;
    uint64_t size; /* of the table */
    voxel_state s;
    pcgpu_voxels *out;
} call;

static pcgpu_status prepare(pcgpu_context *context, void *of) {
    call *c = (call *)of;
    const pc_voxelize_job *job = c->job;
    voxel_state *s = &c->s;
    memset(s, 0, sizeof *s);
    s->grid = job->grid;
    s->skip_origin = job->skip_origin;
    memcpy(s->skip, job->skip, sizeof s->skip);
    s->rows = job->rows;
    s->columns = job->columns;
    s->max_points = job->max_points;
    s->wide = job->max_points == 0;
    s->mask = c->size - 1;
    PC_TRY(pc_arena_reset(context, &pc_cuda_of(context)->arena));
    PC_TRY(pc_voxelize_take(context, (int64_t)c->size, &s->keys));
    PC_TRY(pc_voxelize_take(context, (int64_t)c->size, &s->lowest));
    PC_TRY(pc_voxelize_take(context, 1, &s->dropped));
    PC_TRY(pc_voxelize_take(context, s->rows, &s->slot));
    PC_TRY(pc_voxelize_take(context, s->rows, &s->rank));
    PC_TRY(pc_voxelize_take(context, s->rows, &s->voxel));
    PC_TRY(pc_voxelize_take(context, s->rows, &s->voxel_next));
    PC_TRY(pc_voxelize_take(context, s->rows, &s->order));
    PC_TRY(pc_voxelize_take(context, s->rows, &s->order_next));
    return pc_voxelize_up(context, job, &s->data);
}

/* All that happens on the device, but for what is asked on the way: how many voxels there are. */
static pcgpu_status work(pcgpu_context *context, void *of) {
    call *c = (call *)of;
    voxel_state *s = &c->s;
    int64_t largest = 0;
    PC_TRY(assign_ids(context, c->size, s));
    PC_TRY(sort_records(context, s));
    PC_TRY(count_points(context, c->job, s, &largest, c->out));
    if (!c->out->features) {
        PC_TRY(pc_voxels_allocate(context, c->job, largest, c->out));
    }
    s->capacity = c->out->capacity;
    PC_TRY(pc_voxelize_take(context, s->rows, &s->point_voxel));
    PC_TRY(pc_voxelize_take(context, s->count, &s->counts));
    PC_TRY(pc_voxelize_take(context, s->count * 4, &s->coords));
    PC_TRY(pc_voxelize_take(context, s->count * s->capacity * c->out->columns, &s->features));
    LAUNCH(context, s->rows, point_voxel_kernel, *s);
    LAUNCH(context, s->count, describe_kernel, *s);
    return fill_features(context, c->job, s);
}

static pcgpu_status bring_down(pcgpu_context *context, const voxel_state *s, pcgpu_voxels *out) {
    const size_t values = (size_t)(out->count * out->capacity * out->columns);
    PC_TRY(pc_cuda_down(context, out->point_voxel, s->point_voxel, (size_t)s->rows * sizeof(int32_t)));
    PC_TRY(pc_cuda_down(context, out->counts, s->counts, (size_t)s->count * sizeof(int32_t)));
    PC_TRY(pc_cuda_down(context, out->coords, s->coords, (size_t)s->count * 4 * sizeof(int32_t)));
    PC_TRY(pc_cuda_down(context, out->features, s->features, values * sizeof(float)));
    if (out->selected) {
        PC_TRY(pc_cuda_down(context, out->selected, s->selected, (size_t)s->count * sizeof(int32_t)));
    }
    return PCGPU_OK;
}

static bool fits(const pc_voxelize_job *job) {
    (void)job;
    return true;
}

static pcgpu_status run(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                        pcgpu_voxels *out, bool *done) {
    call c = {};
    c.job = job;
    c.size = table_size(job);
    c.out = out;
    PC_TRY(pc_voxelize_repeat(context, clock, prepare, work, &c));
    *done = true;
    return bring_down(context, &c.s, out);
}

const pc_voxelize_variant pc_voxelize_sort = {"sort", fits, run};
