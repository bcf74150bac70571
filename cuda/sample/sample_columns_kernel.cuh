/* Farthest point sampling among columns of records, 1 to 64 of them: one persistent kernel, a round per pick.
 *
 * A block has a part of a cloud's points, in shared memory where they fit. In a round it lowers their values (squared
 * distances to the picks so far) by the newest pick and sends its highest point, one word, to the other blocks of the
 * cloud; the highest of these words is the next pick. The word has the value, and below it the inverted index, so that
 * the lower index wins a tie. Blocks of a cluster write into each other's shared memory; others write mailboxes in
 * global memory, which two rounds use in turn: a block writes the mailbox of round r + 2 after it has read all of round
 * r + 1, and each block sent that after it had read all of round r. Bit 63 of a mailbox changes with each use. */
#ifndef PC_SAMPLE_COLUMNS_KERNEL_CUH
#define PC_SAMPLE_COLUMNS_KERNEL_CUH

#include "ptx.cuh"
#include "sample.cuh"
#include "sample_columns.cuh"

#include <cooperative_groups.h>

enum {
    THREADS = 512,
    WARPS = THREADS / 32,
    CLOUDS = 48, /* per launch: they are a parameter of the kernel */
    INBOX = 2 * PC_MOST_BLOCKS,
    VARIABLES = 1024,    /* bytes of static shared memory, at most */
    BEYOND = 0x7f800001, /* +inf, as a value is stored: its bits plus 1; 0: picked, or not usable */
    LAST_INDEX = 0x7fffffff
};

typedef struct columns_cloud {
    const float *data;    /* column k of record i: data[i * record + column[k] * pitch] */
    float *memory;        /* for values that shared memory does not hold */
    const int32_t *seeds; /* seed_count */
    int64_t n, pitch, seed_count;
    int64_t start;     /* -1: the first usable record */
    int64_t count, to; /* picks, and where the first one is in the output */
} columns_cloud;

typedef struct columns_launch {
    columns_cloud clouds[CLOUDS];
    unsigned char column[PCGPU_MAX_COLUMNS];
    int64_t record;
    int dimensions, first, blocks;      /* first: the number of clouds[0]; blocks: per cloud */
    bool drop_origin, resident, metres; /* resident: in shared memory; metres: of the distances, else squares */
    float min_distance;
    word *mailboxes; /* without a cluster: 2 x blocks per cloud, zero at first */
    pcgpu_device_picks out;
    float *rest; /* per cloud, or NULL: the value of the next pick */
} columns_launch;

static_assert(sizeof(columns_launch) <= 4000, "the parameters of a kernel");

__device__ static word key_of(uint32_t stored, int64_t index) {
    return (word)stored << 32 | (uint32_t)(LAST_INDEX - index);
}

__device__ static word warp_best(word mine) {
    const uint32_t value = pc_warp_max((uint32_t)(mine >> 32));
    return (word)value << 32 | pc_warp_max((uint32_t)(mine >> 32) == value ? (uint32_t)mine : 0);
}

/* The highest word of the block, in all threads. */
__device__ static word block_best(word mine, int turn) {
    __shared__ word found[2][WARPS];
    const int lane = (int)threadIdx.x % 32;
    mine = warp_best(mine);
    if (lane == 0) {
        found[turn & 1][threadIdx.x / 32] = mine;
    }
    __syncthreads();
    return warp_best(lane < WARPS ? found[turn & 1][lane] : 0);
}

/* A block and its part of a cloud. */
typedef struct part {
    const columns_launch *g;
    const columns_cloud *c;
    int rank, round, turn;
    int64_t begin, count;
    float *values;  /* dimensions x count */
    uint32_t *open; /* count: the value of a point plus 1, or 0 */
    word *inbox;    /* of a cluster, in shared memory; else the mailboxes of the cloud */
} part;

__device__ static const float *record_of(const part &p, int64_t i) {
    return p.c->data + i * p.g->record;
}

__device__ static bool is_usable(const part &p, int64_t i) {
    const float *record = record_of(p, i);
    bool good = !p.g->drop_origin || record[0] != 0.0f || record[1] != 0.0f || record[2] != 0.0f;
    for (int k = 0; k < p.g->dimensions; k++) {
        const float value = record[p.g->column[k] * p.c->pitch];
        good = good && value - value == 0.0f;
    }
    return good;
}

/* Loads the part; returns its first usable point. */
__device__ static word load(const part &p) {
    word best = 0;
    for (int64_t i = threadIdx.x; i < p.count; i += THREADS) {
        for (int k = 0; k < p.g->dimensions; k++) {
            p.values[k * p.count + i] = record_of(p, p.begin + i)[p.g->column[k] * p.c->pitch];
        }
        p.open[i] = is_usable(p, p.begin + i) ? (uint32_t)BEYOND : 0;
        best = max(best, p.open[i] ? key_of(p.open[i], p.begin + i) : 0);
    }
    return best;
}

/* Lowers the values of the part by a pick, which is out from now on; returns its highest point, 0 without one. */
__device__ static word lower(const part &p, int64_t pick) {
    __shared__ float at[PCGPU_MAX_COLUMNS];
    word best = 0;
    if ((int)threadIdx.x < p.g->dimensions) {
        at[threadIdx.x] = record_of(p, pick)[p.g->column[threadIdx.x] * p.c->pitch];
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < p.count; i += THREADS) {
        const float *value = p.values + i;
        float sum = 0.0f;
#pragma unroll 4
        for (int k = 0; k < p.g->dimensions; k++, value += p.count) {
            const float e = *value - at[k];
            sum += e * e;
        }
        const uint32_t stored = p.begin + i == pick ? 0 : min(p.open[i], __float_as_uint(sum) + 1);
        p.open[i] = stored;
        best = max(best, stored ? key_of(stored, p.begin + i) : 0);
    }
    return best;
}

/* Waits for the mailbox of block threadIdx.x. If that never comes, the kernel, and with it the call, ends with an error
 * after about twenty seconds. */
__device__ static word receive(const word *mailbox, word tag) {
    for (uint32_t looks = 0; looks < 1u << 26; looks++) {
        const word got = pc_word_load(mailbox);
        if (got >> 63 == tag) {
            return got & ~(1ull << 63);
        }
        pc_pause();
    }
    __trap();
    return 0;
}

/* The highest point of the cloud, from that of each thread, in all threads of all its blocks. */
template <bool CLUSTER> __device__ static word exchange(part *p, word mine) {
    const int blocks = p->g->blocks, thread = (int)threadIdx.x, round = p->round++;
    mine = block_best(mine, p->turn++);
#if __CUDA_ARCH__ >= 900
    if (CLUSTER) {
        word *inbox = p->inbox + (round & 1) * PC_MOST_BLOCKS;
        if (thread < blocks) {
            *cooperative_groups::this_cluster().map_shared_rank(inbox + p->rank, (unsigned)thread) = mine;
        }
        __syncwarp();
        pc_cluster_arrive();
        pc_cluster_wait();
        return warp_best(thread % 32 < blocks ? inbox[thread % 32] : 0);
    }
#endif
    if (blocks == 1) {
        return mine;
    }
    word *mailboxes = p->inbox + (round & 1) * blocks;
    const word tag = !(round >> 1 & 1);
    if (thread == 0) {
        pc_word_store(mailboxes + p->rank, mine | tag << 63);
    }
    mine = thread < blocks ? receive(mailboxes + thread, tag) : 0;
    return block_best(mine, p->turn++);
}

template <bool CLUSTER> __device__ static void sample_part(const columns_launch &g, char *memory) {
    const unsigned cloud = blockIdx.x / (unsigned)g.blocks;
    const columns_cloud &c = g.clouds[cloud];
    part p = {&g, &c, (int)(blockIdx.x % (unsigned)g.blocks), 0, 0, 0, 0, NULL, NULL, (word *)memory};
    const int64_t slice = (c.n + g.blocks - 1) / g.blocks;
    p.begin = min(c.n, slice * p.rank);
    p.count = min(c.n, p.begin + slice) - p.begin;
    p.values = g.resident ? (float *)(p.inbox + INBOX) : c.memory + p.begin * (g.dimensions + 1);
    p.open = (uint32_t *)p.values + p.count * g.dimensions;
    p.inbox = CLUSTER ? p.inbox : g.mailboxes + (size_t)cloud * 2 * g.blocks;
#if __CUDA_ARCH__ >= 900
    if (CLUSTER) { /* the shared memory of all blocks exists */
        pc_cluster_arrive();
        pc_cluster_wait();
    }
#endif
    word best = load(p), next;
    for (int64_t s = 0; s < c.seed_count; s++) {
        __syncthreads();
        best = lower(p, c.seeds[s]);
    }
    if (c.seed_count == 0 && c.start >= 0) {
        next = is_usable(p, c.start) ? key_of(BEYOND, c.start) : 0;
    } else {
        next = exchange<CLUSTER>(&p, best);
    }
    int64_t picked = 0;
    float value = 0.0f;
    while (true) {
        value = next ? __uint_as_float((uint32_t)(next >> 32) - 1) : 0.0f;
        if (next == 0 || picked == c.count || sqrtf(value) < g.min_distance) {
            break;
        }
        const int64_t index = LAST_INDEX - (int64_t)(uint32_t)next;
        if (p.rank == 0 && threadIdx.x == 0) {
            pc_write_pick(g.out, c.to + picked, index, g.metres ? sqrtf(value) : value);
        }
        picked++;
        next = exchange<CLUSTER>(&p, lower(p, index));
    }
    for (int64_t k = picked + threadIdx.x; k < c.count && p.rank == 0; k += THREADS) {
        pc_write_pick(g.out, c.to + k, -1, 0.0f);
    }
    if (p.rank == 0 && threadIdx.x == 0) {
        if (g.out.picked) {
            g.out.picked[g.first + cloud] = (int32_t)picked;
        }
        if (g.rest) {
            g.rest[g.first + cloud] = value;
        }
    }
}

__global__ static void __launch_bounds__(THREADS, 1) columns_kernel(const __grid_constant__ columns_launch g) {
    extern __shared__ __align__(16) char memory[];
    sample_part<false>(g, memory);
}

__global__ static void __launch_bounds__(THREADS, 1) columns_cluster_kernel(const __grid_constant__ columns_launch g) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(16) char memory[];
    sample_part<true>(g, memory);
#else
    (void)g;
    __trap(); /* no device before sm_90 gets a cluster */
#endif
}

#endif
