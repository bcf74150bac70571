/* The exchange of a grid (sample_group.cuh): mailboxes in global memory.
 *
 * There is no barrier of all blocks: a reader polls the mailboxes until their tags are of this round. No mailbox is
 * overwritten before all blocks have read it. A block writes its buckets of a round after it has the new picks of the
 * last round from all blocks, including the manager; every block publishes its picks after reading the buckets of that
 * round. A block writes its new picks after it has the buckets of the round from all workers, which publish them after
 * reading the picks of the last round. But the manager has no buckets, so it may still be reading those picks.
 * Therefore even and odd rounds have separate mailboxes for picks: before a block overwrites those of the round before
 * the last, it has read the manager's mailbox of the last round.
 *
 * All blocks poll all mailboxes, so the bandwidth of the L2 cache is the limit. Hence the mailboxes of a kind are
 * contiguous, PC_FIXED (or PC_FIXED_FRESH) of a block after those of the block before it, and a bucket has only two. */
#ifndef PC_SAMPLE_GRID_CUH
#define PC_SAMPLE_GRID_CUH

#include "ptx.cuh"
#include "sample_group.cuh"
#include "sample_packed.cuh"

struct pc_grid_group {
    static constexpr bool CLUSTER = false;
    pc_mailbox *mailboxes;
    pc_bucket *list; /* of the round, in shared memory */
    int blocks, workers, capacity;

    enum { REWRITE = 1024 };

    __device__ void start(const pc_cloud &cloud, const pc_rounds_shape &shape, char *memory) {
        list = (pc_bucket *)memory;
        capacity = shape.list;
        mailboxes = cloud.mailboxes;
        blocks = shape.blocks;
        workers = shape.workers;
    }

    __device__ bool decides(int rank) const {
        return rank == workers;
    }

    __device__ void end() {
    }

    /* The first mailbox of a block's bucket j; to_second is the distance to the second one. */
    __device__ pc_mailbox *bucket_mailbox(int block, int j) const {
        return mailboxes + (j / PC_FIXED * blocks + block) * PC_FIXED + j % PC_FIXED;
    }
    __device__ int to_second() const {
        return PC_GRID_MESSAGES * blocks;
    }

    /* The same for a new pick. */
    __device__ pc_mailbox *pick_mailbox(int block, int j, int round) const {
        return mailboxes + (PC_BUCKET_MAILBOXES + round % 2 * 2 * PC_GRID_ACCEPTS) * blocks +
               (j / PC_FIXED_FRESH * blocks + block) * PC_FIXED_FRESH + j % PC_FIXED_FRESH;
    }
    __device__ int to_key() const {
        return PC_GRID_ACCEPTS * blocks;
    }

    /* The last word of a mailbox begins with 12 bits of the round as its tag. Every REWRITE rounds all mailboxes are
     * written, so that no old tag can match. In the first mailbox of a bucket, 1 bit for `overflow` and 6 bits for the
     * number of buckets follow. */
    __device__ static uint32_t tag(int round) {
        return (uint32_t)(round + 1) & 0xfffu;
    }

    __device__ static int listed_of(const pc_mailbox &first) {
        return (int)(first.w >> 13 & 0x3fu);
    }

    __device__ void publish(const pc_block &block, int count, int round) {
        pc_store_own(block, count);
        const int i = (int)threadIdx.x, all = round % REWRITE ? (int)PC_FIXED : (int)PC_GRID_MESSAGES;
        if (i >= max(count, all) || block.rank == workers) {
            return;
        }
        const pc_round *r = block.round;
        const uint32_t last = tag(round) << 20, header = last | (uint32_t)r->overflow << 19 | (uint32_t)count << 13;
        pc_mailbox *to = bucket_mailbox(block.rank, i);
        if (i < count) {
            const pc_bucket &b = block.buckets[block.own[i]];
            const uint64_t box = pc_packed_box(r->box[i], b.at);
            pc_note_store(to, b.largest, b.inverted, pc_packed_value(b.second) << 11 | (uint32_t)(box >> 33),
                          header | (uint32_t)(box >> 20 & 0x1fffu));
            pc_note_store(to + to_second(), __float_as_uint(b.at[0]), __float_as_uint(b.at[1]),
                          __float_as_uint(b.at[2]), last | (uint32_t)(box & 0xfffffu));
        } else {
            pc_note_store(to, i == 0 ? r->own_top : 0, 0, 0, header);
            if (round % REWRITE == 0) {
                pc_note_store(to + to_second(), 0, 0, 0, last);
            }
        }
    }

    /* Between two polls of a mailbox. If a block never writes it, the kernel, and with it the call, ends with an error
     * after about twenty seconds. */
    __device__ static void keep_waiting(uint32_t *looks) {
        pc_pause();
        if (++*looks == 1u << 26) {
            __trap();
        }
    }

    /* Waits for the mailboxes of a block's bucket j, or only for the first one when its header has a smaller number of
     * buckets. Buckets beyond the first PC_FIXED are only read when the header includes them. */
    __device__ void receive(int from, int j, int round, pc_mailbox *first, pc_mailbox *second) const {
        const pc_mailbox *mailbox = bucket_mailbox(from, j);
        for (uint32_t looks = 0;; keep_waiting(&looks)) {
            *first = pc_note_load(mailbox);
            *second = pc_note_load(mailbox + to_second());
            const bool listed = j >= PC_FIXED || j < listed_of(*first);
            if (first->w >> 20 == tag(round) && (!listed || second->w >> 20 == tag(round))) {
                return;
            }
        }
    }

    __device__ static pc_bucket bucket_of(const pc_mailbox &first, const pc_mailbox &second) {
        pc_bucket q = {{0.0f, 0.0f, 0.0f},
                       {0.0f, 0.0f, 0.0f},
                       first.x,
                       pc_unpacked_value(first.z >> 11),
                       {__uint_as_float(second.x), __uint_as_float(second.y), __uint_as_float(second.z)},
                       first.y};
        pc_unpack_box((uint64_t)(first.z & 0x7ffu) << 33 | (uint64_t)(first.w & 0x1fffu) << 20 | (second.w & 0xfffffu),
                      q.at, q.low, q.high);
        return q;
    }

    /* One lane per mailbox: collects the buckets of all blocks in the list. Buckets beyond its capacity wait for a
     * later round. */
    __device__ void collect(pc_round *r, int round) {
        const int lane = (int)threadIdx.x % 32;
#pragma unroll 1
        for (int unit = (int)threadIdx.x; (unit & ~31) < workers * PC_FIXED; unit += PC_ROUND_THREADS) {
            const int from = unit / PC_FIXED;
            int left = from < workers; /* mailboxes to read from this one on */
#pragma unroll 1
            for (int j = unit % PC_FIXED; __any_sync(PC_ALL_LANES, left > 0); j += PC_FIXED) {
                pc_mailbox first = {}, second = {};
                bool good = false;
                if (left > 0) {
                    receive(from, j, round, &first, &second);
                    const int listed = listed_of(first);
                    good = j < listed;
                    left = listed - j - PC_FIXED;
                }
                const pc_bucket q = bucket_of(first, second);
                __syncwarp();
                const uint32_t open = pc_warp_max(first.x), slot = pc_append(&r->listed, good);
                if (lane == 0) {
                    atomicMax(&r->open, open);
                }
                const bool fits = slot < (uint32_t)capacity;
                if (good && fits) {
                    list[slot] = q;
                }
                if (good && (!fits || ((first.w >> 19 & 1u) && j == listed_of(first) - 1))) {
                    atomicMax(&r->cut, pc_key(q));
                }
            }
        }
        __syncthreads();
    }

    /* One warp per own bucket and 32 buckets of the list. A division takes as long as a test, so a factor for it is
     * computed before the wait; it is exact for pairs below 2048. */
    __device__ void test(const pc_block &block, int count, int round) {
        uint32_t factor = (0xffffu + (uint32_t)count) / (uint32_t)max(count, 1);
        pc_settle(factor); /* computes the factor here, before the wait */
        collect(block.round, round);
        const int known = min((int)block.round->listed, capacity), lane = (int)threadIdx.x % 32,
                  pairs = (known + 31) / 32 * count;
        for (int pair = (int)threadIdx.x / 32; pair < pairs; pair += PC_ROUND_WARPS) {
            const int chunk = (int)((uint32_t)pair * factor >> 16), own = pair - chunk * count, i = chunk * 32 + lane;
            const bool blocks = i < known && pc_blocks(block, list[i], own);
            if (__any_sync(PC_ALL_LANES, blocks) && lane == 0) {
                atomicOr(&block.round->blocked, 1ull << own);
            }
        }
        __syncthreads();
    }

    __device__ void find_open(pc_round *round) const {
        const int known = min((int)round->listed, capacity);
        for (int i = (int)threadIdx.x; i < known; i += PC_ROUND_THREADS) {
            pc_match_open(round, list[i]);
        }
    }

    __device__ static uint32_t pick_tag(int round) {
        return (uint32_t)(round + 1) & 0x3ffffffu;
    }

    /* For the first warp. Picks beyond the limit wait for the next round. The last word of a mailbox: the round, 1 bit
     * for "stop", 5 bits for the number of picks. */
    __device__ void accept(const pc_block &block, word mask, bool stop, int round) {
        const int lane = (int)threadIdx.x;
        if (lane >= 32) {
            return;
        }
        const int count = min(__popcll(mask), (int)PC_GRID_ACCEPTS), slot = (int)pc_bits_below(mask, lane);
        const uint32_t last = pick_tag(round) << 6 | (uint32_t)stop << 5 | (uint32_t)count;
        if ((mask >> lane & 1) && slot < count) {
            const float4 p = block.round->at[lane];
            pc_mailbox *to = pick_mailbox(block.rank, slot, round);
            pc_note_store(to, __float_as_uint(p.x), __float_as_uint(p.y), __float_as_uint(p.z), last);
            pc_note_store(to + to_key(), __float_as_uint(p.w), block.round->inverted[lane], 0, last);
        }
        if (lane >= count && lane < PC_FIXED_FRESH) {
            pc_note_store(pick_mailbox(block.rank, lane, round), 0, 0, 0, last);
        }
    }

    /* One lane per mailbox; the one after the workers' belongs to the manager. */
    __device__ int gather(const pc_block &block, const pc_cloud &cloud, int64_t accepted, int round, float4 *fresh) {
        pc_round *r = block.round;
#pragma unroll 1
        for (int unit = (int)threadIdx.x; (unit & ~31) <= workers * PC_FIXED_FRESH; unit += PC_ROUND_THREADS) {
            const int from = unit / PC_FIXED_FRESH;
            int left = unit <= workers * PC_FIXED_FRESH;
#pragma unroll 1
            for (int j = unit % PC_FIXED_FRESH; __any_sync(PC_ALL_LANES, left > 0); j += PC_FIXED_FRESH) {
                pc_mailbox pick = {}, key = {};
                bool good = false;
                if (left > 0) {
                    const pc_mailbox *mailbox = pick_mailbox(from, j, round);
                    uint32_t looks = 0;
                    while (pick = pc_note_load(mailbox), pick.w >> 6 != pick_tag(round)) {
                        keep_waiting(&looks);
                    }
                    const int picks = (int)(pick.w & 0x1fu);
                    good = j < picks;
                    left = picks - j - PC_FIXED_FRESH;
                    while (good && block.rank == workers && (key = pc_note_load(mailbox + to_key()), key.w != pick.w)) {
                        keep_waiting(&looks);
                    }
                    if (pick.w >> 5 & 1u) {
                        r->fresh = PC_STOP - PC_GRID_BLOCKS * PC_GRID_ACCEPTS; /* negative after all additions */
                    }
                }
                __syncwarp();
                const int slot = (int)pc_append((uint32_t *)&r->fresh, good);
                if (good && slot >= 0) {
                    fresh[slot] =
                        make_float4(__uint_as_float(pick.x), __uint_as_float(pick.y), __uint_as_float(pick.z), 0.0f);
                    if (block.rank == workers) {
                        cloud.accepted[accepted + slot] = (word)key.x << 32 | key.y;
                    }
                }
            }
        }
        __syncthreads();
        return r->fresh;
    }
};

#endif
