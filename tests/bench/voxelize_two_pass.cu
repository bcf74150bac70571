/* The algorithm of voxelize-cuda, CUDA-CenterPoint, BEVFusion and spconv:
 *
 *   clear    one memset: the hash table, the number of voxels, the number of points of each
 *   insert   a thread a point: the first to claim the slot of a cell (atomicCAS, linear probing) takes the next number
 *            for the voxel from a counter
 *   scatter  a thread a point: looks the voxel up, takes a place in it (atomicAdd) and copies the point there
 *   finish   some lanes a voxel: mean or pillar features of the kept points, zeroes behind them
 *
 * Means without a limit of points have no places; scatter adds each point to the sums of its voxel (as the scatter
 * operations of dynamic voxelization do), and finish divides.
 *
 * Where the libraries differ, or lose time or points, this takes the better way: 32-bit keys beside the numbers in one
 * table of at most half its slots, probed to the end; no atomic for a key that is there or a voxel that is full; the
 * array is not cleared for the most voxels there may be, but padded for those there are; 16-byte accesses for records
 * of 4 columns. Cells are those of lib/core/geometry.h, so that the voxels are the same. */
#include "voxelize_two_pass.h"

#include "common.cuh"
#include "voxelize_math.h"

#define THREADS 256
#define WARP    32

enum { BLOCKS_A_PROCESSOR = 8, MOST_COLUMNS = 5 };

/* What the kernels share; passed by value. */
typedef struct two_pass_state {
    pc_grid grid;
    int64_t rows;
    const float *data;
    uint32_t mask;     /* slots of the table - 1 */
    uint2 *table;      /* key + 1 (0 = free) and number of the voxel */
    uint32_t *found;   /* voxels, those over the limit included */
    uint32_t *taken;   /* voxels: points, some of those over the limit included */
    float *sums;       /* voxels x columns, without max_points */
    uint32_t voxels;   /* there is room for */
    uint32_t capacity; /* points of a voxel; 0 = no limit */
    int lanes;         /* of a warp that finish a voxel: a power of two */
    float *array;      /* voxels x capacity x columns: the points */
    bool pad;          /* the array is a result */
    float *means;      /* voxels x columns, or NULL */
    float *pillars;    /* voxels x capacity x PC_PILLAR_COLUMNS, or NULL */
    int32_t *coords, *counts;
} two_pass_state;

/* ---- records --------------------------------------------------------------------------------------------------- */

/* Aligned so that one instruction moves a record of 4 columns. */
template <int COLUMNS> struct __align__(COLUMNS == 4 ? 16 : 4) record {
    float value[COLUMNS];
};

template <int COLUMNS> __device__ static record<COLUMNS> load(const float *from) {
    return *(const record<COLUMNS> *)from;
}

template <int COLUMNS> __device__ static void store(float *to, const record<COLUMNS> &r) {
    *(record<COLUMNS> *)to = r;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* The finalizer of MurmurHash3. */
__device__ static uint32_t hash(uint32_t key) {
    key = (key ^ key >> 16) * 0x85ebca6bu;
    key = (key ^ key >> 13) * 0xc2b2ae35u;
    return key ^ key >> 16;
}

/* key + 1 of a record's cell, 0 out of range. */
__device__ static uint32_t key_of(const two_pass_state *s, const float *p) {
    return (uint32_t)(pc_point_key(&s->grid, p[0], p[1], p[2]) + 1);
}

template <int COLUMNS> __global__ static void insert_kernel(two_pass_state s) {
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= s.rows) {
        return;
    }
    record<COLUMNS> p = load<COLUMNS>(s.data + i * COLUMNS);
    uint32_t key = key_of(&s, p.value);
    if (key == 0) {
        return;
    }
    for (uint32_t at = hash(key) & s.mask;; at = (at + 1) & s.mask) {
        uint32_t there = s.table[at].x; /* may be old: then it is 0, and atomicCAS tells */
        there = there ? there : atomicCAS(&s.table[at].x, 0u, key);
        if (there == key) {
            return;
        }
        if (there == 0) {
            uint32_t voxel = atomicAdd(s.found, 1u);
            s.table[at].y = voxel;
            if (voxel < s.voxels) {
                int32_t coords[4];
                pc_voxel_coords(&s.grid, p.value, coords);
                ((uint4 *)s.coords)[voxel] =
                    make_uint4((uint32_t)coords[0], (uint32_t)coords[1], (uint32_t)coords[2], (uint32_t)coords[3]);
            }
            return;
        }
    }
}

template <int COLUMNS> __global__ static void scatter_kernel(two_pass_state s) {
    int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= s.rows) {
        return;
    }
    record<COLUMNS> p = load<COLUMNS>(s.data + i * COLUMNS);
    uint32_t key = key_of(&s, p.value);
    if (key == 0) {
        return;
    }
    uint32_t at = hash(key) & s.mask;
    uint2 slot = s.table[at];
    while (slot.x != key) {
        at = (at + 1) & s.mask;
        slot = s.table[at];
    }
    if (slot.y >= s.voxels) {
        return;
    }
    if (s.capacity == 0) {
        atomicAdd(&s.taken[slot.y], 1u);
        for (int k = 0; k < COLUMNS; k++) {
            atomicAdd(&s.sums[(int64_t)slot.y * COLUMNS + k], p.value[k]);
        }
    } else if (s.taken[slot.y] < s.capacity) { /* may be old: then it is too low, and atomicAdd tells */
        uint32_t place = atomicAdd(&s.taken[slot.y], 1u);
        if (place < s.capacity) {
            store<COLUMNS>(s.array + ((int64_t)slot.y * s.capacity + place) * COLUMNS, p);
        }
    }
}

/* ---- features -------------------------------------------------------------------------------------------------- */

/* One row of pillar features, in words of 8 bytes. */
__device__ static void store_pillar_row(float *to, const float row[PC_PILLAR_COLUMNS]) {
    for (int k = 0; k < PC_PILLAR_COLUMNS / 2; k++) {
        ((uint2 *)to)[k] = make_uint2(__float_as_uint(row[2 * k]), __float_as_uint(row[2 * k + 1]));
    }
}

template <int COLUMNS>
__device__ static void write_pillar(const two_pass_state *s, int64_t voxel, uint32_t place, uint32_t kept,
                                    const record<COLUMNS> &mean) {
    for (; place < s->capacity; place += (uint32_t)s->lanes) {
        int64_t at = voxel * s->capacity + place;
        float row[PC_PILLAR_COLUMNS] = {0.0f};
        if (place < kept) {
            record<COLUMNS> p = load<COLUMNS>(s->array + at * COLUMNS);
            pc_pillar_row(&s->grid, p.value, COLUMNS, mean.value, s->coords + 4 * voxel, row);
        }
        store_pillar_row(s->pillars + at * PC_PILLAR_COLUMNS, row);
    }
}

/* The lanes of a voxel take its places in turn. A warp goes on until all its voxels are done, since lanes exchange. */
template <int COLUMNS> __global__ static void finish_kernel(two_pass_state s) {
    const uint32_t found = *s.found, voxels = found < s.voxels ? found : s.voxels;
    const uint32_t lane = threadIdx.x % WARP, at_once = WARP / (uint32_t)s.lanes;
    const int64_t warp = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
    const int64_t warps = (int64_t)gridDim.x * (THREADS / WARP);
    for (int64_t first = warp * at_once; first < voxels; first += warps * at_once) {
        const int64_t voxel = first + lane / (uint32_t)s.lanes;
        const bool live = voxel < voxels;
        const uint32_t begin = live ? lane % (uint32_t)s.lanes : s.capacity, points = live ? s.taken[voxel] : 0;
        const uint32_t kept = points < s.capacity ? points : s.capacity;
        record<COLUMNS> sum = {{0.0f}};
        for (uint32_t place = begin; place < (s.pad ? s.capacity : kept); place += (uint32_t)s.lanes) {
            float *row = s.array + (voxel * s.capacity + place) * COLUMNS;
            if (place < kept) {
                record<COLUMNS> p = load<COLUMNS>(row);
                for (int k = 0; k < COLUMNS; k++) {
                    sum.value[k] += p.value[k];
                }
            } else {
                const record<COLUMNS> zero = {{0.0f}};
                store<COLUMNS>(row, zero);
            }
        }
        for (int k = 0; k < COLUMNS; k++) {
            for (int step = s.lanes / 2; step > 0; step /= 2) {
                sum.value[k] += __shfl_xor_sync(0xffffffffu, sum.value[k], step);
            }
            sum.value[k] /= (float)kept;
        }
        if (live && begin == 0) {
            s.counts[voxel] = (int32_t)kept;
            if (s.means) {
                store<COLUMNS>(s.means + voxel * COLUMNS, sum);
            }
        }
        if (s.pillars) {
            write_pillar<COLUMNS>(&s, voxel, begin, kept, sum);
        }
    }
}

template <int COLUMNS> __global__ static void divide_kernel(two_pass_state s) {
    const uint32_t found = *s.found, voxels = found < s.voxels ? found : s.voxels;
    const int64_t threads = (int64_t)gridDim.x * THREADS;
    for (int64_t voxel = (int64_t)blockIdx.x * THREADS + threadIdx.x; voxel < voxels; voxel += threads) {
        record<COLUMNS> mean = load<COLUMNS>(s.sums + voxel * COLUMNS);
        for (int k = 0; k < COLUMNS; k++) {
            mean.value[k] /= (float)s.taken[voxel];
        }
        s.counts[voxel] = (int32_t)s.taken[voxel];
        store<COLUMNS>(s.means + voxel * COLUMNS, mean);
    }
}

/* ---- launching ------------------------------------------------------------------------------------------------- */

template <typename T> static pcgpu_status take(pcgpu_context *context, int64_t count, T **pointer) {
    void *memory = NULL;
    PC_TRY(pc_arena_take(context, &pc_cuda_of(context)->arena, (size_t)count * sizeof(T), &memory));
    *pointer = (T *)memory;
    return PCGPU_OK;
}

/* What a call holds beside the state. */
typedef struct two_pass_run {
    const pc_voxelize_job *job;
    two_pass_state state;
    char *cleared, *cold; /* begins with the table and ends with the sums */
    size_t clear_bytes, cold_bytes;
    cudaEvent_t begin, end;
} two_pass_run;

static pcgpu_status check(pcgpu_context *context, const pc_voxelize_job *job, double cells) {
    bool padded = job->features == PCGPU_FEATURES_POINTS || job->features == PCGPU_FEATURES_PILLAR;
    if (job->columns < 3 || job->columns > MOST_COLUMNS || cells >= 4294967295.0 || job->rows < 1 ||
        (!padded && job->features != PCGPU_FEATURES_MEAN) || (padded && job->max_points == 0)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "two passes have no kernel for this job");
    }
    return PCGPU_OK;
}

static size_t aligned(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static pcgpu_status prepare(pcgpu_context *context, two_pass_run *run, bool means_too) {
    const pc_voxelize_job *job = run->job;
    const double cells = (double)job->grid.cells[0] * (double)job->grid.cells[1] * (double)job->grid.cells[2];
    PC_TRY(check(context, job, cells));
    const int64_t most = cells < (double)job->rows ? (int64_t)cells : job->rows; /* voxels there may be */
    const int64_t voxels = job->max_voxels && job->max_voxels < most ? job->max_voxels : most;
    const int64_t values = voxels * job->columns, places = voxels * job->max_points;
    int64_t slots = 1024;
    while (slots < 2 * most) {
        slots *= 2;
    }
    two_pass_state *s = &run->state;
    float *data;
    s->grid = job->grid;
    s->rows = job->rows;
    s->mask = (uint32_t)(slots - 1);
    s->voxels = (uint32_t)voxels;
    s->capacity = (uint32_t)job->max_points;
    s->pad = job->features == PCGPU_FEATURES_POINTS;
    for (s->lanes = 1; s->lanes < WARP && s->lanes < (int)s->capacity;) {
        s->lanes *= 2;
    }
    const size_t table_bytes = aligned((size_t)slots * sizeof *s->table);
    const size_t taken_bytes = aligned((size_t)(voxels + 1) * sizeof *s->taken);
    run->clear_bytes = table_bytes + taken_bytes + (s->capacity ? 0 : (size_t)values * sizeof(float));
    PC_TRY(pc_arena_reset(context, &pc_cuda_of(context)->arena));
    PC_TRY(take(context, (int64_t)run->clear_bytes, &run->cleared));
    s->table = (uint2 *)run->cleared;
    s->taken = (uint32_t *)(run->cleared + table_bytes);
    s->found = s->taken + voxels;
    s->sums = (float *)(run->cleared + table_bytes + taken_bytes);
    PC_TRY(take(context, (int64_t)run->cold_bytes, &run->cold));
    PC_TRY(take(context, job->rows * job->columns, &data));
    PC_TRY(take(context, places * job->columns, &s->array));
    PC_TRY(take(context, voxels * 4, &s->coords));
    PC_TRY(take(context, voxels, &s->counts));
    if (means_too || job->features == PCGPU_FEATURES_MEAN) {
        PC_TRY(take(context, values, &s->means));
    }
    if (job->features == PCGPU_FEATURES_PILLAR) {
        PC_TRY(take(context, places * PC_PILLAR_COLUMNS, &s->pillars));
    }
    s->data = data;
    return pc_cuda_up(context, data, job->data, (size_t)(job->rows * job->columns) * sizeof(float));
}

template <int COLUMNS> static pcgpu_status launch(pcgpu_context *context, const two_pass_run *run) {
    const two_pass_state *s = &run->state;
    const unsigned blocks = pc_blocks(s->rows, THREADS);
    const unsigned some = (unsigned)(pc_cuda_of(context)->properties.multiProcessorCount * BLOCKS_A_PROCESSOR);
    CUDA_TRY(context, cudaMemsetAsync(run->cleared, 0, run->clear_bytes, pc_cuda_of(context)->stream));
    PC_LAUNCH(context, insert_kernel<COLUMNS>, blocks, THREADS, *s);
    PC_LAUNCH(context, scatter_kernel<COLUMNS>, blocks, THREADS, *s);
    if (s->capacity) {
        PC_LAUNCH(context, finish_kernel<COLUMNS>, some, THREADS, *s);
    } else {
        PC_LAUNCH(context, divide_kernel<COLUMNS>, some, THREADS, *s);
    }
    return PCGPU_OK;
}

static pcgpu_status repeat(pcgpu_context *context, const two_pass_run *run, int repeats, float *milliseconds) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    for (int i = 0; i < repeats; i++) {
        CUDA_TRY(context, cudaMemsetAsync(run->cold, i, run->cold_bytes, stream));
        CUDA_TRY(context, cudaEventRecord(run->begin, stream));
        PC_TRY(run->job->columns == 3   ? launch<3>(context, run)
               : run->job->columns == 4 ? launch<4>(context, run)
                                        : launch<5>(context, run));
        CUDA_TRY(context, cudaEventRecord(run->end, stream));
        CUDA_TRY(context, cudaEventSynchronize(run->end));
        CUDA_TRY(context, cudaEventElapsedTime(&milliseconds[i], run->begin, run->end));
    }
    return PCGPU_OK;
}

static pcgpu_status download(pcgpu_context *context, const two_pass_run *run, float *means, pcgpu_voxels *out) {
    const two_pass_state *s = &run->state;
    const bool pillar = run->job->features == PCGPU_FEATURES_PILLAR;
    const float *features = pillar ? s->pillars : s->pad ? s->array : s->means;
    uint32_t found;
    PC_TRY(pc_cuda_down(context, &found, s->found, sizeof found));
    out->voxels_found = found;
    out->count = found < s->voxels ? found : s->voxels;
    PC_TRY(pc_voxels_allocate(context, run->job, 1, out));
    size_t v = (size_t)out->count, values = v * (size_t)(out->capacity * out->columns);
    PC_TRY(pc_cuda_down(context, out->features, features, values * sizeof(float)));
    PC_TRY(pc_cuda_down(context, out->coords, s->coords, v * 4 * sizeof(int32_t)));
    PC_TRY(pc_cuda_down(context, out->counts, s->counts, v * sizeof(int32_t)));
    return means ? pc_cuda_down(context, means, s->means, v * (size_t)run->job->columns * sizeof(float)) : PCGPU_OK;
}

static pcgpu_status run_all(pcgpu_context *context, two_pass_run *run, int repeats, float *milliseconds, float *means,
                            pcgpu_voxels *out) {
    CUDA_TRY(context, cudaEventCreate(&run->begin));
    CUDA_TRY(context, cudaEventCreate(&run->end));
    PC_TRY(prepare(context, run, means != NULL));
    PC_TRY(repeat(context, run, repeats, milliseconds));
    return download(context, run, means, out);
}

extern "C" pcgpu_status two_pass_voxelize(pcgpu_context *context, const pc_voxelize_job *job, int repeats,
                                          float *milliseconds, size_t cold_bytes, float *means, pcgpu_voxels *out) {
    two_pass_run run;
    memset(&run, 0, sizeof run);
    run.job = job;
    run.cold_bytes = cold_bytes;
    pcgpu_status status = run_all(context, &run, repeats, milliseconds, means, out);
    if (run.begin) {
        cudaEventDestroy(run.begin);
    }
    if (run.end) {
        cudaEventDestroy(run.end);
    }
    if (status != PCGPU_OK) {
        pcgpu_voxels_free(out);
    }
    return status;
}
