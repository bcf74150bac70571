/* Neighbours on CUDA: memory, the order of the points, launches. The points and the queries are sorted into leaves of
 * 32 by the curve of farthest point sampling (cuda/sample/sample_order.cu); then warps search, see
 * neighbors_search.cuh. */
#include "neighbors_search.cuh"

enum { THREADS = 256, PUT_CLOUDS = 256, MOST_CLOUDS = 32768 };

/* Clouds that one launch sorts or searches. */
typedef struct wave {
    int first, count;
    int64_t points, largest; /* records, of all and of one */
} wave;

/* One side of a wave on the device. The arrays of cloud i begin at its first record, those of its leaves at
 * leaf_of(first record, i), and so on for the levels above. */
typedef struct side {
    const float *data; /* from the first record of the wave on */
    int64_t stride;
    int count;
    int64_t *records; /* count + 1: where the clouds begin, from 0 on */
    pc_cloud *clouds;
    pc_neighbors_cloud *trees;
    pc_bounds *bounds; /* count */
    uint32_t *pool_used;
    float *side;
    float *x, *y, *z;
    uint32_t *usable; /* a bit per record */
    float4 *sorted;
    pc_range *level[PC_NEIGHBORS_LEVELS];
    void *scratch;
    size_t scratch_bytes;
    int levels; /* of the largest cloud */
} side;

typedef struct put_batch {
    int64_t records[PUT_CLOUDS + 1];
} put_batch;

static_assert(sizeof(put_batch) <= 4000, "the parameters of a kernel");

/* Offsets by value, since the memory of the host need not last until the kernel runs. */
__global__ static void put_kernel(const put_batch batch, int count, int64_t *records) {
    for (int i = (int)threadIdx.x; i < count; i += THREADS) {
        records[i] = batch.records[i];
    }
}

/* Where a level of cloud i begins, if the level below, or the records, begin at `below`. Clouds do not overlap. */
__host__ __device__ static int64_t leaf_of(int64_t below, int64_t i) {
    return below / PC_LEAF + i;
}

__global__ static void lay_out_kernel(const side s) {
    const int i = (int)(blockIdx.x * THREADS + threadIdx.x);
    if (i >= s.count) {
        return;
    }
    const int64_t first = s.records[i], n = s.records[i + 1] - first;
    int64_t at = first, count = n;
    pc_neighbors_cloud t = {};
    t.record = first;
    t.sorted = s.sorted + first;
    for (int l = 0; l < s.levels && (l == 0 || count > 1); l++) {
        at = leaf_of(at, i);
        count = (count + PC_LEAF - 1) / PC_LEAF;
        t.level[l] = s.level[l] + at;
        t.count[l] = (uint32_t)count;
        t.levels = count > 0 ? l + 1 : 0;
    }
    /* The root has all nodes of the last level as children, so the level with one node is not needed. */
    t.levels = t.levels > 1 ? t.levels - 1 : t.levels;
    s.trees[i] = t;
    pc_cloud c = {};
    c.n = n;
    c.first = first;
    c.x = s.x + first;
    c.y = s.y + first;
    c.z = s.z + first;
    c.sorted = s.sorted + first;
    c.runs = t.count[0];
    c.ranges = (pc_range *)t.level[0];
    c.side = s.side + i;
    c.pool_used = s.pool_used + i;
    c.bounds = s.bounds + i;
    s.clouds[i] = c;
}

/* blockIdx.y: the cloud, here and below. A record that is not usable gets the place of one of the 32 around it, or the
 * origin, so that it neither widens nor spoils the boxes. */
__global__ static void import_kernel(const side s) {
    const pc_cloud c = s.clouds[blockIdx.y];
    const float *data = s.data + c.first * s.stride;
    const int lane = (int)threadIdx.x % 32;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i - lane < c.n; i += (int64_t)gridDim.x * THREADS) {
        float p[3] = {NAN, NAN, NAN};
        for (int k = 0; k < 3 && i < c.n; k++) {
            p[k] = data[i * s.stride + k];
        }
        const uint32_t good = __ballot_sync(PC_ALL_LANES, pc_is_finite3(p[0], p[1], p[2]));
        const int other = good ? __ffs((int)good) - 1 : 0;
        for (int k = 0; k < 3; k++) {
            const float near = __shfl_sync(PC_ALL_LANES, p[k], other);
            p[k] = good >> lane & 1 ? p[k] : good ? near : 0.0f;
        }
        if (i < c.n) {
            ((float *)c.x)[i] = p[0];
            ((float *)c.y)[i] = p[1];
            ((float *)c.z)[i] = p[2];
        }
        if (lane == 0) {
            s.usable[leaf_of(c.first, blockIdx.y) + i / PC_LEAF] = good;
        }
    }
}

/* A warp per leaf: marks the points that are not usable by NaN. */
__global__ static void mark_kernel(const side s) {
    const pc_cloud c = s.clouds[blockIdx.y];
    const uint32_t *usable = s.usable + leaf_of(c.first, blockIdx.y);
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < c.n; i += (int64_t)gridDim.x * THREADS) {
        const int32_t index = pc_float_bits(c.sorted[i].w);
        if (!(usable[index / PC_LEAF] >> index % PC_LEAF & 1)) {
            c.sorted[i].x = NAN;
        }
    }
}

/* A warp per node of level l: the box of its children. */
__global__ static void level_kernel(const side s, int l) {
    const pc_neighbors_cloud t = s.trees[blockIdx.y];
    const int lane = (int)threadIdx.x % 32;
    const uint32_t step = gridDim.x * (THREADS / 32);
    for (uint32_t v = (blockIdx.x * THREADS + threadIdx.x) / 32; l < t.levels && v < t.count[l]; v += step) {
        const int64_t child = min((int64_t)v * PC_LEAF + lane, (int64_t)t.count[l - 1] - 1);
        const pc_range box = t.level[l - 1][child];
        pc_bounds bounds = {{0, 0, 0}, {0, 0, 0}};
        pc_bound(&bounds, box.low[0], box.low[1], box.low[2]);
        pc_bound(&bounds, box.high[0], box.high[1], box.high[2]);
        pc_range all = {};
        for (int a = 0; a < 3; a++) {
            all.low[a] = pc_from_ordered(~pc_warp_max(bounds.inverted_low[a]));
            all.high[a] = pc_from_ordered(pc_warp_max(bounds.high[a]));
        }
        if (lane == 0) {
            ((pc_range *)t.level[l])[v] = all;
        }
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static pcgpu_status lay_out(pcgpu_context *context, pc_carving *m, const wave *w, side *s) {
    const size_t count = (size_t)w->count, n = (size_t)w->points;
    s->count = w->count;
    PC_TRY(pc_sample_order_scratch(context, w->points, &s->scratch_bytes));
    s->records = (int64_t *)pc_carve(m, (count + 1) * sizeof *s->records);
    s->clouds = (pc_cloud *)pc_carve(m, count * sizeof *s->clouds);
    s->trees = (pc_neighbors_cloud *)pc_carve(m, count * sizeof *s->trees);
    s->bounds = (pc_bounds *)pc_carve(m, count * (sizeof *s->bounds + sizeof *s->pool_used));
    s->pool_used = (uint32_t *)(s->bounds + count);
    s->side = (float *)pc_carve(m, count * sizeof *s->side);
    s->x = (float *)pc_carve(m, 3 * n * sizeof *s->x);
    s->y = s->x + n;
    s->z = s->y + n;
    s->sorted = (float4 *)pc_carve(m, n * sizeof *s->sorted);
    s->scratch = pc_carve(m, s->scratch_bytes);
    int64_t all = w->points, one = w->largest;
    s->usable = (uint32_t *)pc_carve(m, (size_t)(leaf_of(all, w->count) + 1) * sizeof *s->usable);
    for (s->levels = 0; s->levels == 0 || one > 1; s->levels++) {
        all = leaf_of(all, w->count) + 1;
        one = (one + PC_LEAF - 1) / PC_LEAF;
        s->level[s->levels] = (pc_range *)pc_carve(m, (size_t)all * sizeof **s->level);
    }
    return PCGPU_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static dim3 grid_of(pcgpu_context *context, int64_t items, int count) {
    const int64_t most = (int64_t)pc_cuda_of(context)->properties.multiProcessorCount * 8 / count + 1;
    const int64_t blocks = (items + THREADS - 1) / THREADS;
    return dim3((unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most), (unsigned)count);
}

/* Sorts the clouds of a wave, whose records begin at `data`. */
static pcgpu_status build(pcgpu_context *context, const pcgpu_clouds *from, const float *data, const wave *w, side *s) {
    const int64_t begin = pc_clouds_begin(from, w->first);
    s->data = data;
    s->stride = from->stride;
    for (int first = 0; first <= w->count; first += PUT_CLOUDS) {
        put_batch batch;
        const int count = w->count + 1 - first < PUT_CLOUDS ? w->count + 1 - first : (int)PUT_CLOUDS;
        for (int i = 0; i < count; i++) {
            batch.records[i] = pc_clouds_begin(from, w->first + first + i) - begin;
        }
        PC_LAUNCH(context, put_kernel, 1, THREADS, batch, count, s->records + first);
    }
    PC_LAUNCH(context, lay_out_kernel, pc_blocks(w->count, THREADS), THREADS, *s);
    if (w->points == 0) {
        return PCGPU_OK;
    }
    CUDA_TRY(context, cudaMemsetAsync(s->bounds, 0, (size_t)w->count * (sizeof *s->bounds + sizeof *s->pool_used),
                                      pc_cuda_of(context)->stream));
    const dim3 grid = grid_of(context, w->largest, w->count);
    PC_LAUNCH(context, import_kernel, grid, THREADS, *s);
    PC_TRY(pc_sample_order(context, s->clouds, w->points, w->largest, w->count, PC_RUN, s->scratch, s->scratch_bytes));
    PC_LAUNCH(context, mark_kernel, grid, THREADS, *s);
    int64_t nodes = (w->largest + PC_LEAF - 1) / PC_LEAF;
    for (int l = 1; l < s->levels - 1; l++) {
        nodes = (nodes + PC_LEAF - 1) / PC_LEAF;
        PC_LAUNCH(context, level_kernel, grid_of(context, nodes * 32, w->count), THREADS, *s, l);
    }
    return PCGPU_OK;
}

template <int K, pc_neighbors_mode MODE>
static pcgpu_status search(pcgpu_context *context, const wave *w, const pc_neighbors_call *call, bool same) {
    const int64_t groups = (w->largest + PC_LEAF - 1) / PC_LEAF;
    const dim3 grid(pc_blocks(groups, PC_NEIGHBORS_WARPS), (unsigned)w->count);
    void (*kernel)(const pc_neighbors_call, bool) = search_kernel<K, MODE>;
    PC_LAUNCH(context, kernel, grid, PC_NEIGHBORS_WARPS * 32, *call, same);
    return PCGPU_OK;
}

template <pc_neighbors_mode MODE>
static pcgpu_status search_k(pcgpu_context *context, const wave *w, const pc_neighbors_call *call, bool same) {
    return call->k <= 4    ? search<4, MODE>(context, w, call, same)
           : call->k <= 16 ? search<16, MODE>(context, w, call, same)
           : call->k <= 32 ? search<32, MODE>(context, w, call, same)
           : call->k <= 64 ? search<64, MODE>(context, w, call, same)
                           : search<PCGPU_NEIGHBORS_MOST, MODE>(context, w, call, same);
}

/* What a wave has on the device. */
typedef struct memory {
    side points, queries;
    float *points_data, *queries_data;
    pcgpu_neighbor_lists lists; /* of the records of the wave */
    double *means;
} memory;

/* Arrays of the caller on the device are used where they lie, those on the host get a copy. */
static pcgpu_status lay_out_wave(pcgpu_context *context, pc_carving *m, const pc_neighbors_job *job, const wave *points,
                                 const wave *queries, bool same, bool host, memory *to) {
    const int64_t begin = pc_clouds_begin(&job->queries, queries->first), k = job->k;
    const size_t records = (size_t)queries->points, entries = records * (size_t)k;
    const pcgpu_neighbor_lists *l = &job->lists;
    PC_TRY(lay_out(context, m, points, &to->points));
    PC_TRY(same ? PCGPU_OK : lay_out(context, m, queries, &to->queries));
    to->lists = *l;
    if (!host) {
        to->means = job->means ? job->means + begin : NULL;
        to->points_data = (float *)job->points.data + pc_clouds_begin(&job->points, points->first) * job->points.stride;
        to->queries_data = (float *)job->queries.data + begin * job->queries.stride;
        to->lists.indices = (char *)l->indices + begin * k * l->index_bytes;
        to->lists.distances = l->distances ? l->distances + begin * k : NULL;
        to->lists.counts = l->counts ? l->counts + begin : NULL;
        return PCGPU_OK;
    }
    to->points_data = (float *)pc_carve(m, (size_t)(points->points * job->points.stride) * sizeof(float));
    to->queries_data =
        same ? NULL : (float *)pc_carve(m, (size_t)(queries->points * job->queries.stride) * sizeof(float));
    to->lists.indices = pc_carve(m, entries * (size_t)l->index_bytes);
    to->lists.distances = l->distances ? (float *)pc_carve(m, entries * sizeof(float)) : NULL;
    to->lists.counts = l->counts ? (int32_t *)pc_carve(m, records * sizeof(int32_t)) : NULL;
    to->means = job->means ? (double *)pc_carve(m, records * sizeof(double)) : NULL;
    return PCGPU_OK;
}

static pcgpu_status upload(pcgpu_context *context, const pcgpu_clouds *from, const wave *w, float *to) {
    return pc_cuda_up(context, to, from->data + pc_clouds_begin(from, w->first) * from->stride,
                      (size_t)(w->points * from->stride) * sizeof(float));
}

static pcgpu_status download(pcgpu_context *context, const pc_neighbors_job *job, const wave *w, const memory *on) {
    const int64_t begin = pc_clouds_begin(&job->queries, w->first), k = job->k;
    const pcgpu_neighbor_lists *from = &on->lists;
    const pcgpu_neighbor_lists *to = &job->lists;
    const size_t entries = (size_t)(w->points * k), each = (size_t)to->index_bytes;
    if (job->means) {
        return pc_cuda_down(context, job->means + begin, on->means, (size_t)w->points * sizeof *on->means);
    }
    if (k > 0) {
        PC_TRY(pc_cuda_down(context, (char *)to->indices + (size_t)(begin * k) * each, from->indices, entries * each));
    }
    if (k > 0 && to->distances) {
        PC_TRY(pc_cuda_down(context, to->distances + begin * k, from->distances, entries * sizeof(float)));
    }
    return to->counts ? pc_cuda_down(context, to->counts + begin, from->counts, (size_t)w->points * sizeof *to->counts)
                      : PCGPU_OK;
}

static pcgpu_status run_wave(pcgpu_context *context, const pc_neighbors_job *job, const wave *points,
                             const wave *queries, bool same, bool host) {
    memory on = {};
    pc_carving m = {};
    PC_TRY(lay_out_wave(context, &m, job, points, queries, same, host, &on));
    PC_TRY(pc_carve_block(context, &pc_cuda_of(context)->arena, &m));
    PC_TRY(lay_out_wave(context, &m, job, points, queries, same, host, &on));
    if (host) {
        PC_TRY(upload(context, &job->points, points, on.points_data));
        PC_TRY(same ? PCGPU_OK : upload(context, &job->queries, queries, on.queries_data));
    }
    PC_TRY(build(context, &job->points, on.points_data, points, &on.points));
    PC_TRY(same ? PCGPU_OK : build(context, &job->queries, on.queries_data, queries, &on.queries));
    if (queries->points == 0) {
        return PCGPU_OK;
    }
    const int64_t begin = job->global ? pc_clouds_begin(&job->points, points->first) : -1;
    const pc_neighbors_call call = {on.points.trees, same ? on.points.trees : on.queries.trees,
                                    on.points_data,  job->points.stride,
                                    begin,           job->k,
                                    job->squared,    job->pad,
                                    on.lists,        on.means};
    const pcgpu_status status = job->k == 0  ? search<1, PC_MODE_COUNT>(context, queries, &call, same)
                                : job->first ? search_k<PC_MODE_FIRST>(context, queries, &call, same)
                                             : search_k<PC_MODE_NEAREST>(context, queries, &call, same);
    return status == PCGPU_OK && host ? download(context, job, queries, &on) : status;
}

/* Adds cloud i to a wave if the sort has a key for it. */
static bool join_wave(wave *w, const pcgpu_clouds *clouds, int64_t i) {
    const int64_t n = pc_clouds_begin(clouds, i + 1) - pc_clouds_begin(clouds, i);
    const int64_t largest = n > w->largest ? n : w->largest;
    const int bits = 32 - pc_sample_key_bits(largest);
    if (w->count > 0 && (w->points + n > INT32_MAX || w->count >= MOST_CLOUDS || w->count >= 1ll << bits)) {
        return false;
    }
    w->points += n;
    w->largest = largest;
    w->count++;
    return true;
}

static pcgpu_status run_waves(pcgpu_context *context, const pc_neighbors_job *job, bool host) {
    const bool same = memcmp(&job->points, &job->queries, sizeof job->points) == 0;
    for (int64_t i = 0; i < job->points.count;) {
        wave points = {(int)i, 0, 0, 0}, queries = points;
        for (; i < job->points.count; i++) {
            const wave before = points;
            if (!join_wave(&points, &job->points, i) || !join_wave(&queries, &job->queries, i)) {
                points = before;
                break;
            }
        }
        PC_TRY(run_wave(context, job, &points, &queries, same, host));
    }
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_neighbors_device(pcgpu_context *context, void *stream, const pc_neighbors_job *job) {
    PC_TRY(pc_cuda_start(context));
    PC_TRY(pc_cuda_check_memory(context, job->points.data, "the points"));
    PC_TRY(pc_cuda_check_memory(context, job->queries.data, "the queries"));
    PC_TRY(pc_cuda_check_memory(context, job->lists.indices, "the indices"));
    PC_TRY(pc_cuda_check_memory(context, job->lists.distances, "the distances"));
    PC_TRY(pc_cuda_check_memory(context, job->lists.counts, "the counts"));
    void *own = pc_cuda_exchange_stream(context, stream);
    const pcgpu_status status = run_waves(context, job, false);
    pc_cuda_exchange_stream(context, own);
    return status;
}

extern "C" pcgpu_status pc_cuda_neighbors_run(pcgpu_context *context, const pc_neighbors_job *job) {
    return run_waves(context, job, false);
}

static pcgpu_status search_host(pcgpu_context *context, const pc_neighbors_job *job) {
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    return run_waves(context, job, true);
}

const pc_neighbors_ops pc_cuda_neighbors_ops = {search_host};
