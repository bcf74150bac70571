/* Farthest point sampling of clouds that lie on the device (lib/pcgpu_device.h): nothing waits, and nothing is known of
 * the points on the host. So a record that is not usable is not left out. It becomes a second point at the place of the
 * first pick, at distance 0 to it, which no round picks. Where rounds end because all points that are left are at
 * distance 0, the last kernel continues by index, and knows the usable records from a bit of each. */
#include "sample_columns.cuh"
#include "sample_wave.cuh"

#include <stdlib.h>

enum { THREADS = 256, FINISH_THREADS = 1024, PUT_CLOUDS = 12 };

/* What a wave has on the device beside the clouds. Each cloud has its words from words_of on. */
typedef struct inputs {
    const float **data; /* count: the first record */
    int64_t stride;
    bool drop_origin;
    int32_t *first;   /* count: the first usable record; large: none */
    uint32_t *usable; /* count: the number of usable records; 0 without a start */
    uint32_t *bits;   /* a bit per record: usable */
    uint32_t *taken;  /* scratch of the same size */
} inputs;

/* Clouds by value, since the memory of the host need not last until the kernel runs. */
typedef struct put_batch {
    pc_cloud clouds[PUT_CLOUDS];
    const float *data[PUT_CLOUDS];
} put_batch;

static_assert(sizeof(put_batch) <= 4000, "the parameters of a kernel");

__device__ static int64_t words_of(const pc_cloud &c, int cloud) {
    return c.first / 32 + cloud;
}

__global__ static void put_kernel(const put_batch batch, int count, pc_cloud *clouds, const float **data) {
    if ((int)threadIdx.x < count) {
        clouds[threadIdx.x] = batch.clouds[threadIdx.x];
        data[threadIdx.x] = batch.data[threadIdx.x];
    }
}

/* blockIdx.y: the cloud, here and below. */
__global__ static void import_kernel(const pc_cloud *clouds, const inputs in) {
    const pc_cloud c = clouds[blockIdx.y];
    const float *data = in.data[blockIdx.y];
    const int lane = (int)threadIdx.x % 32;
    uint32_t lowest = 0xffffffffu, usable = 0;
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i - lane < c.n; i += (int64_t)gridDim.x * THREADS) {
        float p[3] = {NAN, NAN, NAN};
        for (int k = 0; k < 3 && i < c.n; k++) {
            p[k] = data[i * in.stride + k];
        }
        const bool origin = in.drop_origin && p[0] == 0.0f && p[1] == 0.0f && p[2] == 0.0f;
        const bool good = pc_is_finite3(p[0], p[1], p[2]) && !origin;
        const uint32_t those = __ballot_sync(PC_ALL_LANES, good);
        if (i < c.n) {
            ((float *)c.x)[i] = p[0];
            ((float *)c.y)[i] = p[1];
            ((float *)c.z)[i] = p[2];
        }
        if (lane == 0) {
            in.bits[words_of(c, (int)blockIdx.y) + i / 32] = those;
        }
        lowest = good ? min(lowest, (uint32_t)i) : lowest;
        usable += good;
    }
    __syncwarp();
    lowest = ~pc_warp_max(~lowest);
    usable = pc_warp_add(usable);
    if (lane == 0 && usable > 0) {
        atomicMin(&in.first[blockIdx.y], (int32_t)lowest);
        atomicAdd(&in.usable[blockIdx.y], usable);
    }
}

__device__ static bool is_usable(const pc_cloud &c, const inputs &in, int64_t i) {
    return in.bits[words_of(c, (int)blockIdx.y) + i / 32] >> i % 32 & 1;
}

/* Decides the start, and moves records that are not usable to it; without a start, to the origin. */
__global__ static void place_kernel(const pc_cloud *clouds, const inputs in) {
    const pc_cloud c = clouds[blockIdx.y];
    const int64_t start = c.start >= 0 ? c.start : in.first[blockIdx.y];
    const bool good = start < c.n && is_usable(c, in, start);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *(int32_t *)c.seeds = good ? (int32_t)start : 0;
        in.usable[blockIdx.y] = good ? in.usable[blockIdx.y] : 0;
    }
    for (int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x; i < c.n; i += (int64_t)gridDim.x * THREADS) {
        if (!is_usable(c, in, i)) {
            ((float *)c.x)[i] = good ? c.x[start] : 0.0f;
            ((float *)c.y)[i] = good ? c.y[start] : 0.0f;
            ((float *)c.z)[i] = good ? c.z[start] : 0.0f;
        }
    }
}

/* Continues with the usable records that are not picked, by index, from pick `picked` to `target`. */
__device__ static void pick_the_rest(const pc_cloud &c, const inputs &in, const pcgpu_device_picks &out, int64_t to,
                                     int64_t picked, int64_t target) {
    const int64_t words = (c.n + 31) / 32, first = words_of(c, (int)blockIdx.x);
    for (int64_t w = threadIdx.x; w < words; w += FINISH_THREADS) {
        in.taken[first + w] = ~in.bits[first + w];
    }
    __syncthreads();
    for (int64_t k = threadIdx.x; k < picked; k += FINISH_THREADS) {
        atomicOr(&in.taken[first + c.indices[k] / 32], 1u << c.indices[k] % 32);
    }
    __syncthreads();
    for (int64_t base = 0; base < words && picked < target; base += FINISH_THREADS) {
        const int64_t w = base + threadIdx.x;
        uint32_t left = w < words ? ~__ldcg(&in.taken[first + w]) : 0, all;
        int64_t at = picked + pc_block_scan<FINISH_THREADS>((uint32_t)__popc(left), &all);
        for (; left && at < target; left &= left - 1, at++) {
            pc_write_pick(out, to + at, w * 32 + __ffs((int)left) - 1, 0.0f);
        }
        picked += all;
    }
}

/* A block per cloud; `wanted` picks of cloud `first` + blockIdx.x. */
__global__ static void __launch_bounds__(FINISH_THREADS)
    finish_kernel(const pc_cloud *clouds, const inputs in, const pcgpu_device_picks out, int first, int64_t wanted) {
    const pc_cloud c = clouds[blockIdx.x];
    const int64_t usable = in.usable[blockIdx.x], to = (first + (int64_t)blockIdx.x) * wanted;
    const int64_t rounds = c.lead + c.end->valid;
    int64_t target = min(wanted, usable);
    const int64_t picked = c.end->stuck ? 0 : min(rounds, target);
    target = c.end->stuck || c.min_distance > 0.0f ? picked : target;
    for (int64_t k = threadIdx.x; k < picked; k += FINISH_THREADS) {
        pc_write_pick(out, to + k, c.indices[k], sqrtf(c.squared[k]));
    }
    if (picked < target) {
        pick_the_rest(c, in, out, to, picked, target);
    }
    for (int64_t k = target + threadIdx.x; k < wanted; k += FINISH_THREADS) {
        pc_write_pick(out, to + k, -1, 0.0f);
    }
    if (threadIdx.x == 0 && out.picked) {
        out.picked[blockIdx.x + first] = (int32_t)target;
    }
}

/* ---- on the host ------------------------------------------------------------------------------------------------- */

static void lay_out_inputs(pc_carving *l, const pc_wave *w, inputs *in) {
    const size_t count = (size_t)w->count, words = ((size_t)w->points / 32 + count + 1) * sizeof(uint32_t);
    in->data = (const float **)pc_carve(l, count * sizeof *in->data);
    in->first = (int32_t *)pc_carve(l, count * sizeof *in->first);
    in->usable = (uint32_t *)pc_carve(l, count * sizeof *in->usable);
    in->bits = (uint32_t *)pc_carve(l, words);
    in->taken = (uint32_t *)pc_carve(l, words);
}

static pcgpu_status put_clouds(pcgpu_context *context, const pc_wave *w, const pcgpu_clouds *from,
                               const pc_cloud *clouds, const device_wave *d, const inputs *in) {
    for (int first = 0; first < w->count; first += PUT_CLOUDS) {
        put_batch batch = {};
        const int count = w->count - first < PUT_CLOUDS ? w->count - first : (int)PUT_CLOUDS;
        for (int i = 0; i < count; i++) {
            batch.clouds[i] = clouds[first + i];
            batch.data[i] = from->data + pc_clouds_begin(from, w->first + first + i) * from->stride;
        }
        PC_LAUNCH(context, put_kernel, 1, PUT_CLOUDS, batch, count, d->clouds + first, in->data + first);
    }
    return PCGPU_OK;
}

static pcgpu_status run_wave(pcgpu_context *context, const pc_wave *w, const pcgpu_clouds *from,
                             const pc_sample_job *jobs, pc_cloud *clouds, inputs in, const pcgpu_device_picks *picks) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    pc_carving l = {};
    size_t scratch_bytes;
    PC_TRY(pc_sample_order_scratch(context, w->points, &scratch_bytes));
    lay_out_wave(&l, w, jobs, scratch_bytes, clouds);
    lay_out_inputs(&l, w, &in);
    PC_TRY(pc_carve_block(context, &pc_cuda_of(context)->arena, &l));
    device_wave d = lay_out_wave(&l, w, jobs, scratch_bytes, clouds);
    lay_out_inputs(&l, w, &in);
    PC_TRY(put_clouds(context, w, from, clouds, &d, &in));
    CUDA_TRY(context, cudaMemsetAsync(in.first, 0x7f, (size_t)w->count * sizeof *in.first, stream));
    CUDA_TRY(context, cudaMemsetAsync(in.usable, 0, (size_t)w->count * sizeof *in.usable, stream));
    const int64_t most = (int64_t)pc_cuda_of(context)->properties.multiProcessorCount * 8 / w->count + 1;
    const unsigned blocks = pc_blocks(w->largest, THREADS);
    const dim3 grid(blocks < most ? blocks : (unsigned)most, (unsigned)w->count);
    PC_LAUNCH(context, import_kernel, grid, THREADS, d.clouds, in);
    PC_LAUNCH(context, place_kernel, grid, THREADS, d.clouds, in);
    PC_TRY(compute(context, w, &d));
    PC_LAUNCH(context, finish_kernel, dim3((unsigned)w->count), FINISH_THREADS, d.clouds, in, *picks, w->first,
              jobs[0].count);
    return PCGPU_OK;
}

static pcgpu_status run_waves(pcgpu_context *context, const pcgpu_clouds *from, const pcgpu_sample_params *p,
                              const pcgpu_device_picks *picks, pc_sample_job *jobs, pc_cloud *clouds) {
    const pc_cuda_sample_variant variant = {};
    const inputs in = {NULL, from->stride, p->drop_origin, NULL, NULL, NULL, NULL};
    const int count = (int)from->count;
    for (int first = 0; first < count;) {
        pc_wave w;
        PC_TRY(pc_next_wave(context, jobs, first, count, &variant, &w));
        PC_TRY(run_wave(context, &w, from, jobs, clouds, in, picks));
        first += w.count;
    }
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_sample_device(pcgpu_context *context, void *stream, const pcgpu_clouds *from,
                                              const pcgpu_sample_params *p, const pcgpu_device_picks *picks) {
    PC_TRY(pc_cuda_start(context));
    PC_TRY(pc_cuda_check_memory(context, from->data, "the points"));
    PC_TRY(pc_cuda_check_memory(context, picks->indices, "the indices"));
    PC_TRY(pc_cuda_check_memory(context, picks->distances, "the distances"));
    PC_TRY(pc_cuda_check_memory(context, picks->picked, "the numbers of picks"));
    pc_sample_job *jobs = (pc_sample_job *)calloc((size_t)from->count, sizeof *jobs);
    pc_cloud *clouds = (pc_cloud *)malloc((size_t)from->count * sizeof *clouds);
    pcgpu_status status = PCGPU_OK;
    if (!jobs || !clouds) {
        status = pc_fail_memory(context, (uint64_t)from->count * (sizeof *jobs + sizeof *clouds), "a batch");
    }
    for (int64_t i = 0; i < from->count && status == PCGPU_OK; i++) {
        jobs[i].n = pc_clouds_rows(from, i);
        jobs[i].count = p->count;
        jobs[i].min_distance = p->min_distance;
        jobs[i].start = p->start != PCGPU_START_INDEX ? -1 : p->starts ? p->starts[i] : p->start_index;
    }
    if (status == PCGPU_OK) {
        void *own = pc_cuda_exchange_stream(context, stream);
        status = p->column_count ? pc_cuda_sample_columns_device(context, from, p, jobs, picks)
                                 : run_waves(context, from, p, picks, jobs, clouds);
        pc_cuda_exchange_stream(context, own);
    }
    free(jobs);
    free(clouds);
    return status;
}
