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
#ifndef PC_SAMPLE_CUH
#define PC_SAMPLE_CUH

#include "common.cuh"

#include <cuda/atomic>

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

#endif
