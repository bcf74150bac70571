/* The exchange of a grid (sample_group.cuh): mailboxes in global memory.
 *
 * Nothing waits for a barrier of all blocks: a reader polls the notes themselves until they are of this round. No note
 * is overwritten before all have read it. A block writes its buckets of a round when it has the new picks of the last
 * round from all blocks, the manager's too, which each tells after reading the buckets of that round. It writes its new
 * picks when it has the buckets of the round from all workers, which these tell after reading the picks of the last
 * round; but the manager has no buckets to tell, and may then still be reading those picks. So the picks of even and of
 * odd rounds lie apart: before a block writes over those of the round before the last, it has had the manager's word of
 * the last. */
#ifndef PC_SAMPLE_GRID_CUH
#define PC_SAMPLE_GRID_CUH

#include "ptx.cuh"
#include "sample_group.cuh"

struct pc_grid_group {
    static constexpr bool CLUSTER = false;
    pc_mailbox *mailboxes;
    pc_bucket *list; /* of the round, in shared memory */
    int workers, room;

    enum {
        REWRITE = 1024,
        XY_BITS = 20, /* of a side: 8 of the exponent, the others of the significand */
        Z_BITS = 12,
        INFINITE_SIDE = 0x7f800000
    };

    __device__ void start(const pc_cloud &cloud, const pc_rounds_shape &shape, char *memory) {
        list = (pc_bucket *)memory;
        room = shape.list;
        mailboxes = cloud.mailboxes;
        workers = shape.workers;
    }

    __device__ bool decides(int rank) const {
        return rank == workers;
    }

    __device__ void end() {
    }

    /* The last word of a note begins with 12 bits of the round. Every REWRITE rounds all notes are written, so that
     * none is older than these can tell. In the first of a bucket's three notes follow 1 bit for "more", 1 for "low"
     * and 6 for the number of buckets. */
    __device__ static uint32_t tag(int round) {
        return (uint32_t)(round + 1) & 0xfffu;
    }

    __device__ static int listed_of(const pc_note &first) {
        return (int)(first.w >> 12 & 0x3fu);
    }

    /* The side of a box from `low` on in the highest bits of a float, rounded up so far that low + side is not below
     * `high` whatever is rounded. */
    __device__ static uint32_t packed_side(float low, float high, int bits) {
        const uint32_t side = __float_as_uint(high - low) + 1u, cut = 31 - bits;
        return min((side + ((1u << cut) - 1u)) >> cut, INFINITE_SIDE >> cut);
    }

    __device__ static float side_of(uint32_t packed, int bits) {
        return __uint_as_float(packed << (31 - bits));
    }

    __device__ void publish(const pc_block &block, int count, int round) {
        pc_note_own(block, count);
        const int i = (int)threadIdx.x, all = round % REWRITE ? (int)PC_SURE : (int)PC_GRID_MESSAGES;
        if (i >= max(count, all) || block.rank == workers) {
            return;
        }
        const pc_round *r = block.round;
        const uint32_t last = tag(round) << 20, told = (uint32_t)r->more << 19 | (uint32_t)r->low << 18;
        pc_note *to = mailboxes[block.rank].buckets[i];
        if (i < count) {
            const pc_bucket &b = block.buckets[block.own[i]];
            const pc_box &box = r->box[i];
            pc_note_store(to, b.largest, b.second, b.inverted,
                          last | told | (uint32_t)count << 12 | packed_side(box.low[2], box.high[2], Z_BITS));
            pc_note_store(to + 1, __float_as_uint(b.at[0]), __float_as_uint(b.at[1]), __float_as_uint(b.at[2]),
                          last | packed_side(box.low[0], box.high[0], XY_BITS));
            pc_note_store(to + 2, __float_as_uint(box.low[0]), __float_as_uint(box.low[1]), __float_as_uint(box.low[2]),
                          last | packed_side(box.low[1], box.high[1], XY_BITS));
        } else {
            for (int k = 0; k < (round % REWRITE ? 1 : 3); k++) {
                pc_note_store(to + k, i == 0 ? r->own_top : 0, 0, 0, last | told | (uint32_t)count << 12);
            }
        }
    }

    /* Between two looks at a note that has not come. A block that stopped telling ends the kernel, and with it the
     * call, after some twenty seconds rather than never. */
    __device__ static void keep_waiting(uint32_t *looks) {
        pc_pause();
        if (++*looks == 1u << 26) {
            __trap();
        }
    }

    /* Waits for the notes of a block's bucket j, or for the first when the block says there that it has not so many.
     * One beyond the first PC_SURE is only read when the block has told of it. */
    __device__ static void receive(const pc_note from[3], int j, int round, pc_note to[3]) {
        for (uint32_t looks = 0;; keep_waiting(&looks)) {
            bool come = true;
            for (int k = 0; k < 3; k++) {
                to[k] = pc_note_load(from + k);
                come = come && (to[k].w >> 20 == tag(round) || (k > 0 && j < PC_SURE && j >= listed_of(to[0])));
            }
            if (come) {
                return;
            }
        }
    }

    __device__ static pc_bucket bucket_of(const pc_note from[3]) {
        const float low[3] = {__uint_as_float(from[2].x), __uint_as_float(from[2].y), __uint_as_float(from[2].z)};
        return pc_bucket{{low[0], low[1], low[2]},
                         {low[0] + side_of(from[1].w & 0xfffffu, XY_BITS),
                          low[1] + side_of(from[2].w & 0xfffffu, XY_BITS),
                          low[2] + side_of(from[0].w & 0xfffu, Z_BITS)},
                         from[0].x,
                         from[0].y,
                         {__uint_as_float(from[1].x), __uint_as_float(from[1].y), __uint_as_float(from[1].z)},
                         from[0].z};
    }

    /* A lane a note: collects the buckets of all blocks in the list. Those that find no room are left for later. */
    __device__ void collect(pc_round *r, int round) {
        const int lane = (int)threadIdx.x % 32;
#pragma unroll 1
        for (int unit = (int)threadIdx.x; (unit & ~31) < workers * PC_SURE; unit += PC_ROUND_THREADS) {
            const int from = unit / PC_SURE;
            int left = from < workers; /* notes to read from this one on */
#pragma unroll 1
            for (int j = unit % PC_SURE; __any_sync(PC_ALL_LANES, left > 0); j += PC_SURE) {
                pc_note notes[3] = {};
                const pc_note &first = notes[0];
                bool good = false;
                if (left > 0) {
                    receive(mailboxes[from].buckets[j], j, round, notes);
                    const int listed = listed_of(first);
                    good = j < listed;
                    left = listed - j - PC_SURE;
                }
                const pc_bucket q = bucket_of(notes);
                __syncwarp();
                const uint32_t open = pc_warp_max(first.x), place = pc_append(&r->listed, good);
                const bool low = first.w >> 18 & 1u;
                const uint32_t kinds = (__any_sync(PC_ALL_LANES, good && !low) ? (uint32_t)PC_USUAL : 0) |
                                       (__any_sync(PC_ALL_LANES, good && low) ? (uint32_t)PC_LOW : 0);
                if (lane == 0) {
                    atomicMax(&r->open, open);
                    atomicOr(&r->kinds, kinds);
                }
                const bool fits = place < (uint32_t)room;
                if (good && fits) {
                    list[place] = q;
                }
                if (good && (!fits || ((first.w >> 19 & 1u) && j == listed_of(first) - 1))) {
                    atomicMax(&r->cut, pc_key(q));
                }
            }
        }
        __syncthreads();
    }

    /* A warp an own bucket and 32 of the list. A division takes as long as a test, so it is done before the wait, as a
     * factor: exact for pairs below 2048. */
    __device__ void test(const pc_block &block, int count, int round) {
        uint32_t factor = (0xffffu + (uint32_t)count) / (uint32_t)max(count, 1);
        pc_settle(factor); /* here, not where it is used */
        collect(block.round, round);
        if (threadIdx.x == 0) {
            pc_cut_low(block.round);
        }
        const int known = min((int)block.round->listed, room), lane = (int)threadIdx.x % 32,
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
        const int known = min((int)round->listed, room);
        for (int i = (int)threadIdx.x; i < known; i += PC_ROUND_THREADS) {
            pc_note_open(round, list[i]);
        }
    }

    __device__ static uint32_t pick_tag(int round) {
        return (uint32_t)(round + 1) & 0x3ffffffu;
    }

    /* By the first warp. More than fit are left for the next round. The last word of a note: the round, 1 bit for
     * "stop", 5 for the number of picks. */
    __device__ void accept(const pc_block &block, word mask, bool stop, int round) {
        const int lane = (int)threadIdx.x;
        if (lane >= 32) {
            return;
        }
        const int count = min(__popcll(mask), (int)PC_GRID_ACCEPTS), place = (int)pc_bits_below(mask, lane);
        const uint32_t last = pick_tag(round) << 6 | (uint32_t)stop << 5 | (uint32_t)count;
        pc_note(*to)[2] = mailboxes[block.rank].fresh[round % 2];
        if ((mask >> lane & 1) && place < count) {
            const float4 p = block.round->at[lane];
            pc_note_store(&to[place][0], __float_as_uint(p.x), __float_as_uint(p.y), __float_as_uint(p.z), last);
            pc_note_store(&to[place][1], __float_as_uint(p.w), block.round->inverted[lane], 0, last);
        }
        if (lane >= count && lane < PC_SURE_FRESH) {
            pc_note_store(&to[lane][0], 0, 0, 0, last);
        }
    }

    /* A lane a note; the one after the workers' is the manager's. */
    __device__ int gather(const pc_block &block, const pc_cloud &cloud, int64_t accepted, int round, float4 *fresh) {
        pc_round *r = block.round;
#pragma unroll 1
        for (int unit = (int)threadIdx.x; (unit & ~31) <= workers * PC_SURE_FRESH; unit += PC_ROUND_THREADS) {
            const int from = unit / PC_SURE_FRESH;
            int left = unit <= workers * PC_SURE_FRESH;
#pragma unroll 1
            for (int j = unit % PC_SURE_FRESH; __any_sync(PC_ALL_LANES, left > 0); j += PC_SURE_FRESH) {
                pc_note pick = {}, key = {};
                bool good = false;
                if (left > 0) {
                    const pc_note *note = mailboxes[from].fresh[round % 2][j];
                    uint32_t looks = 0;
                    while (pick = pc_note_load(note), pick.w >> 6 != pick_tag(round)) {
                        keep_waiting(&looks);
                    }
                    const int told = (int)(pick.w & 0x1fu);
                    good = j < told;
                    left = told - j - PC_SURE_FRESH;
                    while (good && block.rank == workers && (key = pc_note_load(note + 1), key.w != pick.w)) {
                        keep_waiting(&looks);
                    }
                    if (pick.w >> 5 & 1u) {
                        r->fresh = PC_STOP - PC_GRID_BLOCKS * PC_GRID_ACCEPTS; /* whatever is added to it is below 0 */
                    }
                }
                __syncwarp();
                const int place = (int)pc_append((uint32_t *)&r->fresh, good);
                if (good && place >= 0) {
                    fresh[place] =
                        make_float4(__uint_as_float(pick.x), __uint_as_float(pick.y), __uint_as_float(pick.z), 0.0f);
                    if (block.rank == workers) {
                        cloud.accepted[accepted + place] = (word)key.x << 32 | key.y;
                    }
                }
            }
        }
        __syncthreads();
        return r->fresh;
    }
};

#endif
