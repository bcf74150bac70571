/* The exchange of a cluster (sample_group.cuh): every block has all messages in its own shared memory, and the other
 * blocks write them there (distributed shared memory). */
#ifndef PC_SAMPLE_CLUSTER_CUH
#define PC_SAMPLE_CLUSTER_CUH

#include "ptx.cuh"
#include "sample_group.cuh"

#include <cooperative_groups.h>

#if __CUDA_ARCH__ >= 900
struct pc_cluster_group {
    static constexpr bool CLUSTER = true;
    pc_bucket *list; /* messages of block 0, of block 1, ... */
    pc_header *headers;
    word *masks; /* of accepted messages */
    int blocks, blocks_log, messages;

    __device__ void start(const pc_cloud &, const pc_rounds_shape &shape, char *memory) {
        blocks = shape.blocks;
        blocks_log = 31 - __clz(blocks);
        messages = shape.messages;
        list = (pc_bucket *)memory;
        masks = (word *)(list + blocks * messages);
        headers = (pc_header *)(masks + blocks);
        arrive(); /* the first publish waits until the shared memory of all blocks exists */
    }

    __device__ bool decides(int) const {
        return true;
    }

    /* No block exits while another block may access its shared memory. */
    __device__ void end() {
        arrive();
        wait();
    }

    __device__ void arrive() {
        __syncwarp(); /* all lanes of a warp arrive together */
        pc_cluster_arrive();
    }

    __device__ void wait() {
        __syncwarp();
        pc_cluster_wait();
    }

    template <typename T> __device__ static T *in_block(T *mine, int rank) {
        return cooperative_groups::this_cluster().map_shared_rank(mine, (unsigned)rank);
    }

    __device__ void publish(const pc_block &block, int count, int) {
        wait(); /* until all blocks have read the messages of the last round */
        pc_store_own(block, count);
        for (int i = (int)threadIdx.x; i < count << blocks_log; i += PC_ROUND_THREADS) {
            int message = i >> blocks_log, to = i & (blocks - 1);
            const pc_bucket *from = &block.buckets[block.own[message]];
            const pc_box box = block.round->box[message];
            float4 *at = (float4 *)in_block(&list[block.rank * messages + message], to);
            at[0] = make_float4(box.low[0], box.low[1], box.low[2], box.high[0]);
            at[1] =
                make_float4(box.high[1], box.high[2], __uint_as_float(from->largest), __uint_as_float(from->second));
            at[2] = ((const float4 *)from)[2];
        }
        if ((int)threadIdx.x < blocks) {
            const pc_round *r = block.round;
            *in_block(&headers[block.rank], (int)threadIdx.x) = pc_header{(uint32_t)count, r->own_top, r->overflow};
        }
        arrive();
    }

    /* For one warp. */
    __device__ void sum_up(pc_round *round) {
        const int lane = (int)threadIdx.x % 32;
        pc_header h = {0, 0, 0};
        if (lane < blocks) {
            h = headers[lane];
        }
        uint32_t listed = pc_warp_add(h.listed), open = pc_warp_max(h.top);
        if (h.overflow) {
            atomicMax(&round->cut, pc_key(list[lane * messages + (int)h.listed - 1]));
        }
        if (lane == 0) {
            round->listed = listed;
            round->open = open;
        }
    }

    /* One lane per message, numbered over all blocks. Further warps divide the own buckets. */
    __device__ void test(const pc_block &block, int count, int) {
        const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
        wait();
        if (warp == 0) {
            sum_up(block.round);
        }
        int end = lane < blocks ? (int)headers[lane].listed : 0; /* inclusive sum over the blocks */
        for (int step = 1; step < blocks; step *= 2) {
            int before = __shfl_up_sync(PC_ALL_LANES, end, step);
            end += lane >= step ? before : 0;
        }
        const int listed = __shfl_sync(PC_ALL_LANES, end, blocks - 1);
        const int chunks = (listed + 31) / 32, log = 32 - __clz(max(chunks - 1, 0)); /* chunks <= 1 << log */
        const int parts = max(PC_ROUND_WARPS >> log, 1), part = warp >> log;
        for (int chunk = warp & ((1 << log) - 1); part < parts && chunk < chunks; chunk += PC_ROUND_WARPS) {
            const int i = chunk * 32 + lane;
            int from = 0; /* number of blocks whose messages all precede this one */
            for (int step = blocks / 2; step > 0; step /= 2) {
                from += __shfl_sync(PC_ALL_LANES, end, from + step - 1) <= i ? step : 0;
            }
            const int before = __shfl_sync(PC_ALL_LANES, end, max(from - 1, 0));
            pc_bucket q = {};
            if (i < listed) {
                q = list[from * messages + i - (from ? before : 0)];
            }
            pc_test(block, q, part, parts, count);
        }
        __syncthreads();
    }

    __device__ void find_open(pc_round *round) const {
        for (int i = (int)threadIdx.x; i < blocks * messages; i += PC_ROUND_THREADS) {
            if (i % messages < (int)headers[i / messages].listed) {
                pc_match_open(round, list[i]);
            }
        }
    }

    /* `mask` of the first warp has one bit per message of the block. */
    __device__ void accept(const pc_block &block, word mask, bool stop, int) {
        if (stop) {
            return;
        }
        if ((int)threadIdx.x < blocks) {
            *in_block(&masks[block.rank], (int)threadIdx.x) = mask;
        }
        arrive();
    }

    /* One warp per block's messages. */
    __device__ int gather(const pc_block &block, const pc_cloud &cloud, int64_t accepted, int, float4 *fresh) {
        const int lane = (int)threadIdx.x % 32;
        wait();
        const uint32_t count = lane < blocks ? (uint32_t)__popcll(masks[lane]) : 0;
        const int all = (int)pc_warp_add(count);
        for (int from = (int)threadIdx.x / 32; from < blocks; from += PC_ROUND_WARPS) {
            const uint32_t first = pc_warp_add(lane < from ? count : 0);
            const word mask = masks[from];
            for (int message = lane; message < PC_MOST_MESSAGES && mask >> message; message += 32) {
                if (mask >> message & 1) {
                    const pc_bucket &b = list[from * messages + message];
                    uint32_t slot = first + pc_bits_below(mask, message);
                    fresh[slot] = make_float4(b.at[0], b.at[1], b.at[2], 0.0f);
                    if (from == block.rank) {
                        cloud.accepted[accepted + slot] = pc_key(b);
                    }
                }
            }
        }
        __syncthreads();
        arrive(); /* this block has read the messages; the work until the next publish hides the latency of the
                     barrier */
        return all;
    }
};
#endif

#endif
