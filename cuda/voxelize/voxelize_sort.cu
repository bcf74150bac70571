/* Variant `sort` of voxelization: for any job. The result does not depend on the order in which threads run.
 *
 *   insert      every record finds or claims the slot of its cell in a hash table; the slot keeps its lowest record
 *   assign ids  a voxel's id is a prefix sum over "is the lowest record of its voxel"
 *   sort        a stable radix sort by voxel id puts the records of a voxel side by side, in index order
 *   features    a sum runs over the records of a voxel in that order, one thread per value
 *
 * Memory is 48 to 80 bytes per record beside the records and the result; nothing grows with the volume of the grid.
 * CUB's sort and scan take most of the compile time of this file. */
#include "cub.cuh"
#include "voxelize.cuh"

#define THREADS 256
#define NO_SLOT 0xffffffffu
#define FREE    0xffffffffffffffffull

/* Records that are dropped; integers, so the order of the atomic additions does not matter. */
typedef struct drops {
    unsigned long long non_finite, at_origin;
} drops;

/* Parameters of all kernels, passed by value. */
typedef struct voxel_state {
    pc_grid grid;
    bool skip_origin;
    float skip[3];
    int64_t rows, columns;
    const float *data;
    uint64_t mask;                /* size of the table - 1 */
    unsigned long long *keys;     /* table: key of each slot */
    uint32_t *lowest;             /* table: lowest record, later the id of the voxel */
    uint32_t *slot;               /* rows: slot of each record or NO_SLOT */
    int32_t *rank;                /* rows: number of lowest records of voxels up to this one */
    uint32_t *voxel, *voxel_next; /* rows: voxel of each record, `found` when out of range; sorted */
    int32_t *order, *order_next;  /* rows: records, sorted by voxel */
    int64_t *starts;              /* found + 1: offsets in `order` */
    int64_t found, count, max_points;
    int32_t *point_voxel, *coords, *counts, *selected;
    float *features, *means;
    int64_t capacity;
    bool wide;
    drops *dropped;
} voxel_state;

/* Sums over all voxels; integers, so the order of the atomic additions does not matter. */
typedef struct totals {
    unsigned long long kept, largest, largest_kept;
} totals;

__device__ static int64_t thread_index(void) {
    return (int64_t)blockIdx.x * THREADS + threadIdx.x;
}

/* ---- ids -------------------------------------------------------------------------------------------------------- */

__global__ static void insert_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i >= s.rows) {
        return;
    }
    const float *p = s.data + i * s.columns;
    int64_t key = pc_record_key(&s.grid, s.skip_origin, s.skip, p);
    if (key < 0) {
        if (!pc_is_finite3(p[0], p[1], p[2])) {
            atomicAdd(&s.dropped->non_finite, 1ull);
        } else if (pc_is_skipped(s.skip_origin, s.skip, p)) {
            atomicAdd(&s.dropped->at_origin, 1ull);
        }
        s.slot[i] = NO_SLOT;
        return;
    }
    uint64_t at = pc_hash64((uint64_t)key) & s.mask;
    while (true) {
        unsigned long long there = atomicCAS(&s.keys[at], FREE, (unsigned long long)key);
        if (there == FREE || there == (unsigned long long)key) {
            break;
        }
        at = (at + 1) & s.mask;
    }
    s.slot[i] = (uint32_t)at;
    atomicMin(&s.lowest[at], (uint32_t)i);
}

__global__ static void mark_first_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i < s.rows) {
        uint32_t slot = s.slot[i];
        s.rank[i] = slot != NO_SLOT && s.lowest[slot] == (uint32_t)i;
    }
}

/* After the prefix sum: the first record of a voxel replaces the lowest record by the id. */
__global__ static void id_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i < s.rows && s.rank[i] != (i > 0 ? s.rank[i - 1] : 0)) {
        s.lowest[s.slot[i]] = (uint32_t)(s.rank[i] - 1);
    }
}

__global__ static void assign_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i < s.rows) {
        s.voxel[i] = s.slot[i] == NO_SLOT ? (uint32_t)s.found : s.lowest[s.slot[i]];
        s.order[i] = (int32_t)i;
    }
}

/* ---- the records of each voxel ---------------------------------------------------------------------------------- */

/* Every id 0..found-1 occurs in the sorted array; starts[found] is the number of records in range. */
__global__ static void starts_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i >= s.rows) {
        return;
    }
    uint32_t voxel = s.voxel[i];
    if (i == 0 || s.voxel[i - 1] != voxel) {
        s.starts[voxel] = i;
    }
    if (i == s.rows - 1 && voxel != (uint32_t)s.found) {
        s.starts[s.found] = s.rows;
    }
}

__global__ static void totals_kernel(voxel_state s, totals *sums) {
    int64_t v = thread_index();
    unsigned long long points = v < s.found ? (unsigned long long)(s.starts[v + 1] - s.starts[v]) : 0;
    unsigned long long kept = v < s.count ? (unsigned long long)pc_limited((int64_t)points, s.max_points) : 0;
    unsigned long long largest = points, largest_kept = kept;
    for (int step = 16; step > 0; step /= 2) {
        unsigned long long other = __shfl_xor_sync(0xffffffffu, largest, step);
        largest = other > largest ? other : largest;
        other = __shfl_xor_sync(0xffffffffu, largest_kept, step);
        largest_kept = other > largest_kept ? other : largest_kept;
        kept += __shfl_xor_sync(0xffffffffu, kept, step);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&sums->kept, kept);
        atomicMax(&sums->largest, largest);
        atomicMax(&sums->largest_kept, largest_kept);
    }
}

__global__ static void point_voxel_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i < s.rows) {
        int64_t voxel = s.voxel[i];
        bool kept = voxel < s.count && (!s.max_points || i - s.starts[voxel] < s.max_points);
        s.point_voxel[s.order[i]] = kept ? (int32_t)voxel : -1;
    }
}

__global__ static void describe_kernel(voxel_state s) {
    int64_t v = thread_index();
    if (v < s.count) {
        s.counts[v] = (int32_t)pc_limited(s.starts[v + 1] - s.starts[v], s.max_points);
        pc_voxel_coords(&s.grid, s.data + s.order[s.starts[v]] * s.columns, s.coords + 4 * v);
    }
}

/* ---- features --------------------------------------------------------------------------------------------------- */

/* Means of the first `width` columns, one thread per value. */
__global__ static void means_kernel(voxel_state s, float *means, int width) {
    int64_t i = thread_index();
    if (i < s.count * width) {
        int64_t v = i / width;
        means[i] = pc_voxel_mean(s.data, (int)s.columns, s.order + s.starts[v], s.counts[v], (int)(i % width), s.wide);
    }
}

__global__ static void select_kernel(voxel_state s, bool nearest) {
    int64_t v = thread_index();
    if (v < s.count) {
        const int32_t *rows = s.order + s.starts[v];
        s.selected[v] =
            nearest ? pc_voxel_nearest(s.data, (int)s.columns, rows, s.counts[v], s.means + 3 * v) : rows[0];
    }
}

__global__ static void gather_kernel(voxel_state s) {
    int64_t i = thread_index();
    if (i < s.count * s.columns) {
        s.features[i] = s.data[s.selected[i / s.columns] * s.columns + i % s.columns];
    }
}

/* One thread per value; the host may use several launches, `from` is the first value of this one. */
__global__ static void points_kernel(voxel_state s, int64_t from) {
    int64_t i = from + thread_index();
    if (i < s.count * s.capacity * s.columns) {
        int64_t row = i / s.columns, v = row / s.capacity, offset = row % s.capacity;
        s.features[i] = offset < s.counts[v] ? s.data[s.order[s.starts[v] + offset] * s.columns + i % s.columns] : 0.0f;
    }
}

/* One thread per point of a pillar. */
__global__ static void pillar_kernel(voxel_state s, int64_t from) {
    int64_t i = from + thread_index();
    if (i >= s.count * s.capacity) {
        return;
    }
    int64_t v = i / s.capacity, offset = i % s.capacity;
    float row[PC_PILLAR_COLUMNS] = {0.0f};
    if (offset < s.counts[v]) {
        const float *p = s.data + s.order[s.starts[v] + offset] * s.columns;
        pc_pillar_row(&s.grid, p, (int)s.columns, s.means + 3 * v, s.coords + 4 * v, row);
    }
    for (int k = 0; k < PC_PILLAR_COLUMNS; k++) {
        s.features[i * PC_PILLAR_COLUMNS + k] = row[k];
    }
}

/* ---- host ------------------------------------------------------------------------------------------------------- */

/* Launches a kernel over n items. Only padded features can have more than 2^31 - 1 blocks: see emit_padded. */
#define LAUNCH(context, n, kernel, ...)                                                                                \
    do {                                                                                                               \
        if ((n) > 0) {                                                                                                 \
            PC_LAUNCH(context, kernel, pc_blocks(n, THREADS), THREADS, __VA_ARGS__);                                   \
        }                                                                                                              \
    } while (0)

/* Twice as many slots as there can be voxels. */
static uint64_t table_size(const pc_voxelize_job *job) {
    const uint64_t most = (uint64_t)pc_voxelize_most(job);
    uint64_t size = 1024;
    while (size < 2 * most && size < (1ull << 31)) {
        size *= 2;
    }
    return size;
}

/* Assigns ids to the voxels; afterwards s->voxel and s->order hold each record's voxel and its index. */
static pcgpu_status assign_ids(pcgpu_context *context, voxel_state *s) {
    const uint64_t size = s->mask + 1;
    cudaStream_t stream = pc_cuda_of(context)->stream;
    CUDA_TRY(context, cudaMemsetAsync(s->keys, 0xff, size * sizeof *s->keys, stream));
    CUDA_TRY(context, cudaMemsetAsync(s->lowest, 0xff, size * sizeof *s->lowest, stream));
    CUDA_TRY(context, cudaMemsetAsync(s->dropped, 0, sizeof *s->dropped, stream));
    LAUNCH(context, s->rows, insert_kernel, *s);
    LAUNCH(context, s->rows, mark_first_kernel, *s);
    size_t bytes = 0;
    char *work;
    CUDA_TRY(context, cub::DeviceScan::InclusiveSum(NULL, bytes, s->rank, s->rank, s->rows, stream));
    PC_TRY(pc_voxelize_take(context, (int64_t)bytes, &work));
    CUDA_TRY(context, cub::DeviceScan::InclusiveSum(work, bytes, s->rank, s->rank, s->rows, stream));
    int32_t found;
    PC_TRY(pc_cuda_down(context, &found, s->rank + s->rows - 1, sizeof found));
    s->found = found;
    LAUNCH(context, s->rows, id_kernel, *s);
    LAUNCH(context, s->rows, assign_kernel, *s);
    return PCGPU_OK;
}

/* Sorts the records by voxel; s->starts are the offsets of the voxels. */
static pcgpu_status sort_records(pcgpu_context *context, voxel_state *s) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    cub::DoubleBuffer<uint32_t> voxel(s->voxel, s->voxel_next);
    cub::DoubleBuffer<int32_t> order(s->order, s->order_next);
    int bits = 1;
    while (bits < 32 && (uint64_t)s->found >> bits) {
        bits++;
    }
    size_t bytes = 0;
    char *work;
    CUDA_TRY(context, cub::DeviceRadixSort::SortPairs(NULL, bytes, voxel, order, s->rows, 0, bits, stream));
    PC_TRY(pc_voxelize_take(context, (int64_t)bytes, &work));
    CUDA_TRY(context, cub::DeviceRadixSort::SortPairs(work, bytes, voxel, order, s->rows, 0, bits, stream));
    s->voxel = voxel.Current();
    s->order = order.Current();
    PC_TRY(pc_voxelize_take(context, s->found + 1, &s->starts));
    LAUNCH(context, s->rows, starts_kernel, *s);
    return PCGPU_OK;
}

/* Sets the counts of `out`; *largest = most kept points in a voxel. */
static pcgpu_status count_points(pcgpu_context *context, const pc_voxelize_job *job, voxel_state *s, int64_t *largest,
                                 pcgpu_voxels *out) {
    totals sums = {0, 0, 0}, *device_sums;
    drops dropped;
    int64_t in_range = 0, under_limit = 0;
    s->count = pc_limited(s->found, job->max_voxels);
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
static pcgpu_status emit_padded(pcgpu_context *context, const pc_voxelize_job *job, const voxel_state *s) {
    const int64_t most = (int64_t)1 << 30;
    bool pillar = job->features == PCGPU_FEATURES_PILLAR;
    int64_t items = s->count * s->capacity * (pillar ? 1 : s->columns);
    for (int64_t from = 0; from < items; from += most) {
        LAUNCH(context, items - from < most ? items - from : most, (pillar ? pillar_kernel : points_kernel), *s, from);
    }
    return PCGPU_OK;
}

static pcgpu_status emit_features(pcgpu_context *context, const pc_voxelize_job *job, voxel_state *s) {
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
    return emit_padded(context, job, s);
}

typedef struct call {
    const pc_voxelize_job *job;
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
    s->mask = table_size(job) - 1;
    PC_TRY(pc_arena_reset(context, &pc_cuda_of(context)->arena));
    PC_TRY(pc_voxelize_take(context, (int64_t)s->mask + 1, &s->keys, &s->lowest));
    PC_TRY(pc_voxelize_take(context, 1, &s->dropped));
    PC_TRY(
        pc_voxelize_take(context, s->rows, &s->slot, &s->rank, &s->voxel, &s->voxel_next, &s->order, &s->order_next));
    return pc_voxelize_up(context, job, &s->data);
}

/* The work on the device. The number of voxels is read back in between, since it decides sizes. */
static pcgpu_status work(pcgpu_context *context, void *of) {
    call *c = (call *)of;
    voxel_state *s = &c->s;
    int64_t largest = 0;
    PC_TRY(assign_ids(context, s));
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
    return emit_features(context, c->job, s);
}

static pcgpu_status run(pcgpu_context *context, const pc_voxelize_job *job, const pc_voxelize_clock *clock,
                        pcgpu_voxels *out, bool *done) {
    call c = {job, {}, out};
    PC_TRY(pc_voxelize_repeat(context, clock, prepare, work, &c));
    *done = true;
    return pc_voxelize_down(context, &c.s, (size_t)job->rows, out);
}

const pc_voxelize_variant pc_voxelize_sort = {"sort", NULL, run, NULL};
