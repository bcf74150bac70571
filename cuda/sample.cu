/* Farthest point sampling on many multiprocessors.
 *
 * Idea: one persistent kernel makes all picks. The points of a cloud are shared out in contiguous ranges among a group
 * of blocks; every thread keeps its points and their distances to the picks in registers (clouds that do not fit: in
 * global memory). A round updates the distances with the newest pick, finds the block's farthest point, and exchanges
 * it with the other blocks of the group; all of them come to the same pick, so nothing returns to the host between
 * picks.
 *
 * The exchange is the whole cost for real scans, so it is one message one way: a candidate is a single 64-bit word
 *
 *     bit 63     phase, tells this round's word from the one two rounds before
 *     bits 32-62 the squared distance, whose bits order as integers do (it is >= 0, so its sign bit is free)
 *     bits 0-31  ~index, so that the largest word is the farthest point with the lowest index
 *
 * that each block stores into its own slot and that every block of the group polls. A word carries its own phase, so it
 * needs no flag and no fence beside it. Slots are used in turn by even and odd rounds: a block stores the word of round
 * r+2 only after it has read all words of round r+1, which the others store only after they have read round r; no word
 * is overwritten before everyone has read it. Blocks that wait for each other must all be resident, hence the
 * cooperative launch whenever a cloud has more than one block. */
#include "common.cuh"

#include <cuda/atomic>
#include <stdlib.h>
#include <string.h>

#define THREADS      512
#define WARPS        (THREADS / 32)
#define LARGEST_HELD 16 /* points a thread holds in registers: 16 x 4 of the 128 there are */
#define PICKED       -1.0f
#define NOTHING      0ull /* a candidate below every point: ~index is never 0 */
#define PHASE        (1ull << 63)

typedef unsigned long long word;

/* A cloud and its group of blocks, on the device. */
typedef struct device_job {
    int64_t n, count, start;
    float min_distance;
    int first_block, blocks;
    const float *x, *y, *z;
    float *nearest;   /* n: squared distances, where registers do not hold them, else NULL */
    word *slots;      /* 2 x blocks, zero at the start */
    int32_t *indices; /* count */
    float *squared;   /* count */
    int64_t *picked;
} device_job;

/* What all threads of a block know about the pick that was made last. */
typedef struct block_state {
    word candidates[WARPS];
    word best;
    float pick[3];
} block_state;

__device__ static word pack(float squared, int64_t index) {
    return squared < 0.0f ? NOTHING : (word)__float_as_uint(squared) << 32 | (uint32_t) ~(uint32_t)index;
}

__device__ static int64_t index_of(word candidate) {
    return (int64_t)(uint32_t) ~(uint32_t)candidate;
}

__device__ static float squared_of(word candidate) {
    return __uint_as_float((uint32_t)(candidate >> 32));
}

__device__ static word larger(word a, word b) {
    return a > b ? a : b;
}

__device__ static word warp_largest(word mine) {
    for (int step = 16; step > 0; step /= 2) {
        mine = larger(mine, __shfl_xor_sync(0xffffffffu, mine, step));
    }
    return mine;
}

/* ---- a thread's points ---------------------------------------------------------------------------------------- */

/* Points begin + tid, begin + tid + THREADS, ... of the block's range, HELD of them in registers; all indices are far
 * below 2^31, since the registers of one device hold the cloud. */
template <int HELD> struct held_points {
    float x[HELD], y[HELD], z[HELD], nearest[HELD];
    int first;

    __device__ void load(const device_job &job, int64_t begin, int64_t end) {
        first = (int)begin + (int)threadIdx.x;
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            int i = first + k * THREADS;
            bool mine = i < end;
            x[k] = mine ? job.x[i] : 0.0f;
            y[k] = mine ? job.y[i] : 0.0f;
            z[k] = mine ? job.z[i] : 0.0f;
            nearest[k] = mine ? HUGE_VALF : PICKED;
        }
    }

    __device__ void mark(const device_job &, int64_t index) {
        int offset = (int)index - first;
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            nearest[k] = offset == k * THREADS ? PICKED : nearest[k];
        }
    }

    __device__ word update(const device_job &, const float pick[3]) {
        float best = PICKED;
        int at = 0;
#pragma unroll
        for (int k = 0; k < HELD; k++) {
            nearest[k] = fminf(nearest[k], pc_squared_distance(x[k], y[k], z[k], pick[0], pick[1], pick[2]));
            bool farther = nearest[k] > best;
            best = farther ? nearest[k] : best;
            at = farther ? k : at;
        }
        return pack(best, first + at * THREADS);
    }
};

/* The same for any number of points, in global memory: a thread reads and writes only its own distances. */
struct stored_points {
    int64_t first, end;

    __device__ void load(const device_job &job, int64_t from, int64_t to) {
        first = from + threadIdx.x;
        end = to;
        for (int64_t i = first; i < end; i += THREADS) {
            job.nearest[i] = HUGE_VALF;
        }
    }

    __device__ void mark(const device_job &job, int64_t index) {
        if (index >= first && index < end && (index - first) % THREADS == 0) {
            job.nearest[index] = PICKED;
        }
    }

    __device__ word update(const device_job &job, const float pick[3]) {
        float best = PICKED;
        int64_t at = 0;
#pragma unroll 4
        for (int64_t i = first; i < end; i += THREADS) {
            float d =
                fminf(job.nearest[i], pc_squared_distance(job.x[i], job.y[i], job.z[i], pick[0], pick[1], pick[2]));
            job.nearest[i] = d;
            bool farther = d > best;
            best = farther ? d : best;
            at = farther ? i : at;
        }
        return pack(best, at);
    }
};

/* ---- a round --------------------------------------------------------------------------------------------------- */

typedef cuda::atomic_ref<word, cuda::thread_scope_device> shared_word;

/* Run by one warp: gives the block's candidate to the group and returns the group's largest. */
__device__ static word exchange(const device_job &job, word mine, int64_t round) {
    word phase = ((round - 1) >> 1 & 1) ? 0 : PHASE; /* rounds 1 and 2 differ from the zeros at the start */
    word *slots = job.slots + (round & 1) * job.blocks;
    int lane = threadIdx.x % 32;
    if (lane == 0) {
        shared_word(slots[blockIdx.x - job.first_block]).store(mine | phase, cuda::memory_order_relaxed);
    }
    for (int b = lane; b < job.blocks; b += 32) {
        word other;
        do {
            other = shared_word(slots[b]).load(cuda::memory_order_relaxed);
        } while ((other & PHASE) != phase);
        mine = larger(mine, other & ~PHASE);
    }
    return warp_largest(mine);
}

/* From every thread's candidate to the pick of the group, known to all threads of the block. */
__device__ static word agree(const device_job &job, block_state *shared, word mine, int64_t round) {
    mine = warp_largest(mine);
    if (threadIdx.x % 32 == 0) {
        shared->candidates[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        mine = warp_largest(threadIdx.x < WARPS ? shared->candidates[threadIdx.x] : NOTHING);
        if (job.blocks > 1) {
            mine = exchange(job, mine, round);
        }
        if (threadIdx.x < 3) {
            const float *axis = threadIdx.x == 0 ? job.x : threadIdx.x == 1 ? job.y : job.z;
            shared->pick[threadIdx.x] = axis[index_of(mine)];
        }
        if (threadIdx.x == 0) {
            shared->best = mine;
        }
    }
    __syncthreads();
    return shared->best;
}

template <typename POINTS> __device__ static void sample(const device_job &job, block_state *shared) {
    int rank = (int)blockIdx.x - job.first_block;
    int64_t block = (job.n + job.blocks - 1) / job.blocks;
    int64_t begin = block * rank < job.n ? block * rank : job.n;
    int64_t end = begin + block < job.n ? begin + block : job.n;
    bool writes = rank == 0 && threadIdx.x == 0;
    POINTS points;
    points.load(job, begin, end);
    word best = pack(HUGE_VALF, job.start);
    float pick[3] = {job.x[job.start], job.y[job.start], job.z[job.start]};
    int64_t round = 0;
    while (true) {
        if (writes) {
            job.indices[round] = (int32_t)index_of(best);
            job.squared[round] = squared_of(best);
        }
        if (++round == job.count) {
            break;
        }
        points.mark(job, index_of(best));
        /* The next write to `shared` that matters here follows the barrier in agree(), which all threads reach later.
         */
        best = agree(job, shared, points.update(job, pick), round);
        for (int k = 0; k < 3; k++) {
            pick[k] = shared->pick[k];
        }
        if (sqrtf(squared_of(best)) < job.min_distance) {
            break;
        }
    }
    if (writes) {
        *job.picked = round;
    }
}

/* block_job: the job of each block. HELD points a thread in registers; 0: in global memory. */
template <int HELD>
__global__ void __launch_bounds__(THREADS, 1) sample_kernel(const device_job *jobs, const int32_t *block_job) {
    __shared__ block_state shared;
    const device_job job = jobs[block_job[blockIdx.x]];
    sample<held_points<HELD>>(job, &shared);
}

template <>
__global__ void __launch_bounds__(THREADS, 1) sample_kernel<0>(const device_job *jobs, const int32_t *block_job) {
    __shared__ block_state shared;
    const device_job job = jobs[block_job[blockIdx.x]];
    sample<stored_points>(job, &shared);
}

/* ---- planning: which clouds run at once, on how many blocks --------------------------------------------------- */

typedef void kernel_fn(const device_job *, const int32_t *);

/* Kernels by the points that a block holds, and the number of blocks the device holds at once. */
typedef struct kernel_form {
    kernel_fn *kernel;
    int held; /* 0 = any number, in global memory */
    int resident;
} kernel_form;

enum { FORMS = 5, STORED = FORMS - 1, FIRST_SHARED = 1 /* clouds of several blocks: 2048 points a block or more */ };

/* A launch: jobs [first, first + count) with a form; blocks_of(job) blocks each. */
typedef struct wave {
    int first, count, form;
    int64_t blocks;
    bool waits; /* a cloud has several blocks */
} wave;

static pcgpu_status list_forms(pcgpu_context *context, kernel_form forms[FORMS]) {
    static const kernel_form all[FORMS] = {{sample_kernel<2>, 2, 0},
                                           {sample_kernel<4>, 4, 0},
                                           {sample_kernel<8>, 8, 0},
                                           {sample_kernel<LARGEST_HELD>, LARGEST_HELD, 0},
                                           {sample_kernel<0>, 0, 0}};
    const struct cudaDeviceProp *p = &pc_cuda_of(context)->properties;
    memcpy(forms, all, sizeof all);
    for (int f = 0; f < FORMS; f++) {
        int a_multiprocessor = 0;
        CUDA_TRY(context,
                 cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a_multiprocessor, forms[f].kernel, THREADS, 0));
        forms[f].resident = a_multiprocessor * p->multiProcessorCount;
        if (forms[f].resident < 1) {
            return pc_fail(context, PCGPU_ERROR_DEVICE,
                           "this GPU cannot run a block of %d threads of the sampling kernel; "
                           "use --cpu",
                           THREADS);
        }
    }
    return PCGPU_OK;
}

/* Blocks that a cloud takes with a form. With few points a block in global memory a single huge cloud takes them all.
 */
static int64_t blocks_of(const pc_sample_job *job, const kernel_form *form) {
    int64_t points = (int64_t)form->held * THREADS;
    int64_t blocks = form->held ? (job->n + points - 1) / points : form->resident;
    return blocks;
}

/* The launch that begins with job `first`: the fewest points a block with which all remaining jobs run at once; else
 * the most points a block and as many jobs as fit. Jobs of one block each never wait and need not be resident. */
static wave plan_wave(const pc_sample_job *jobs, int first, int count, const kernel_form forms[FORMS]) {
    int64_t largest = 0;
    for (int i = first; i < count; i++) {
        largest = jobs[i].n > largest ? jobs[i].n : largest;
    }
    for (int f = 0; f < STORED; f++) {
        if (largest <= (int64_t)forms[f].held * THREADS) {
            wave all = {first, count - first, f, count - first, false};
            return all;
        }
    }
    for (int f = FIRST_SHARED; f < STORED; f++) {
        wave w = {first, 0, f, 0, true};
        for (int i = first; i < count; i++, w.count++) {
            int64_t blocks = blocks_of(&jobs[i], &forms[f]);
            if (w.blocks + blocks > forms[f].resident) {
                break;
            }
            w.blocks += blocks;
        }
        if (w.count == count - first || (f == STORED - 1 && w.count > 0)) {
            return w;
        }
    }
    wave alone = {first, 1, STORED, forms[STORED].resident, true};
    return alone;
}

/* ---- launching ------------------------------------------------------------------------------------------------- */

/* One piece of device memory for a wave, cut into arrays. Called twice: to measure (base NULL), then to place. */
typedef struct layout {
    char *base;
    size_t used;
} layout;

static void *cut(layout *l, size_t bytes) {
    void *at = l->base ? l->base + l->used : NULL;
    l->used += (bytes + 255) / 256 * 256;
    return at;
}

typedef struct device_wave {
    device_job *jobs;
    int32_t *block_job;
    word *slots;
    size_t slot_bytes;
    int64_t *picked;
} device_wave;

/* Fills the host's copy of the jobs with addresses on the device. */
static device_wave place(layout *l, const wave *w, const pc_sample_job *jobs, const kernel_form *form,
                         device_job *out) {
    device_wave d;
    d.jobs = (device_job *)cut(l, (size_t)w->count * sizeof *d.jobs);
    d.block_job = (int32_t *)cut(l, (size_t)w->blocks * sizeof *d.block_job);
    d.slot_bytes = 2 * (size_t)w->blocks * sizeof *d.slots;
    d.slots = (word *)cut(l, d.slot_bytes);
    d.picked = (int64_t *)cut(l, (size_t)w->count * sizeof *d.picked);
    int block = 0;
    for (int i = 0; i < w->count; i++) {
        const pc_sample_job *job = &jobs[w->first + i];
        device_job *to = &out[i];
        size_t bytes = (size_t)job->n * sizeof(float);
        to->n = job->n;
        to->count = job->count;
        to->start = job->start;
        to->min_distance = job->min_distance;
        to->first_block = block;
        to->blocks = (int)blocks_of(job, form);
        to->x = (const float *)cut(l, bytes);
        to->y = (const float *)cut(l, bytes);
        to->z = (const float *)cut(l, bytes);
        to->nearest = form->held ? NULL : (float *)cut(l, bytes);
        to->slots = d.slots ? d.slots + 2 * (size_t)block : NULL;
        to->indices = (int32_t *)cut(l, (size_t)job->count * sizeof(int32_t));
        to->squared = (float *)cut(l, (size_t)job->count * sizeof(float));
        to->picked = d.picked ? d.picked + i : NULL;
        block += to->blocks;
    }
    return d;
}

static pcgpu_status launch(pcgpu_context *context, const wave *w, const kernel_form *form, const device_wave *d) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    const device_job *jobs = d->jobs;
    const int32_t *block_job = d->block_job;
    void *arguments[] = {&jobs, &block_job};
    dim3 grid((unsigned)w->blocks), block(THREADS);
    if (!w->waits) {
        CUDA_TRY(context, cudaLaunchKernel((const void *)form->kernel, grid, block, arguments, 0, stream));
        return PCGPU_OK;
    }
    CUDA_TRY(context, cudaLaunchCooperativeKernel((const void *)form->kernel, grid, block, arguments, 0, stream));
    return PCGPU_OK;
}

static pcgpu_status upload(pcgpu_context *context, const wave *w, const pc_sample_job *jobs, const device_job *placed,
                           const device_wave *d, int32_t *block_job) {
    for (int i = 0; i < w->count; i++) {
        const pc_sample_job *job = &jobs[w->first + i];
        size_t bytes = (size_t)job->n * sizeof(float);
        PC_TRY(pc_cuda_up(context, (void *)placed[i].x, job->x, bytes));
        PC_TRY(pc_cuda_up(context, (void *)placed[i].y, job->y, bytes));
        PC_TRY(pc_cuda_up(context, (void *)placed[i].z, job->z, bytes));
        for (int b = 0; b < placed[i].blocks; b++) {
            block_job[placed[i].first_block + b] = i;
        }
    }
    PC_TRY(pc_cuda_up(context, d->jobs, placed, (size_t)w->count * sizeof *placed));
    PC_TRY(pc_cuda_up(context, d->block_job, block_job, (size_t)w->blocks * sizeof *block_job));
    CUDA_TRY(context, cudaMemsetAsync(d->slots, 0, d->slot_bytes, pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

static pcgpu_status download(pcgpu_context *context, const wave *w, pc_sample_job *jobs, const device_job *placed,
                             const device_wave *d, int64_t *picked) {
    cudaStream_t stream = pc_cuda_of(context)->stream;
    PC_TRY(pc_cuda_down(context, picked, d->picked, (size_t)w->count * sizeof *picked));
    for (int i = 0; i < w->count; i++) {
        pc_sample_job *job = &jobs[w->first + i];
        job->picked = picked[i];
        size_t bytes = (size_t)picked[i] * 4;
        CUDA_TRY(context, cudaMemcpyAsync(job->indices, placed[i].indices, bytes, cudaMemcpyDeviceToHost, stream));
        CUDA_TRY(context, cudaMemcpyAsync(job->squared, placed[i].squared, bytes, cudaMemcpyDeviceToHost, stream));
    }
    CUDA_TRY(context, cudaStreamSynchronize(stream));
    return PCGPU_OK;
}

/* Host memory of a wave: the jobs with device addresses, the job of each block, the numbers of picks. */
typedef struct host_wave {
    device_job *jobs;
    int32_t *block_job;
    int64_t *picked;
} host_wave;

static pcgpu_status run_wave(pcgpu_context *context, const wave *w, pc_sample_job *jobs, const kernel_form *form,
                             const host_wave *h) {
    pc_arena *arena = &pc_cuda_of(context)->arena;
    layout l = {NULL, 0};
    void *memory;
    place(&l, w, jobs, form, h->jobs);
    PC_TRY(pc_arena_reset(context, arena));
    PC_TRY(pc_arena_take(context, arena, l.used, &memory));
    l.base = (char *)memory;
    l.used = 0;
    device_wave d = place(&l, w, jobs, form, h->jobs);
    PC_TRY(upload(context, w, jobs, h->jobs, &d, h->block_job));
    PC_TRY(launch(context, w, form, &d));
    return download(context, w, jobs, h->jobs, &d, h->picked);
}

extern "C" pcgpu_status pc_cuda_sample(pcgpu_context *context, pc_sample_job *jobs, int count) {
    kernel_form forms[FORMS];
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    PC_TRY(list_forms(context, forms));
    for (int first = 0; first < count;) {
        wave w = plan_wave(jobs, first, count, forms);
        host_wave h;
        h.jobs = (device_job *)malloc((size_t)w.count * sizeof *h.jobs);
        h.block_job = (int32_t *)malloc((size_t)w.blocks * sizeof *h.block_job);
        h.picked = (int64_t *)malloc((size_t)w.count * sizeof *h.picked);
        pcgpu_status status = h.jobs && h.block_job && h.picked
                                  ? run_wave(context, &w, jobs, &forms[w.form], &h)
                                  : pc_fail_memory(context, (uint64_t)w.count * sizeof *h.jobs, "a batch");
        free(h.jobs);
        free(h.block_job);
        free(h.picked);
        PC_TRY(status);
        first += w.count;
    }
    return PCGPU_OK;
}
