/* The exchange of a grid (sample_group.cuh): notes in global memory.
 *
 * Nothing waits for a barrier of all blocks: a reader polls the notes themselves until they are of this round. No note
 * is overwritten before all have read it. A block writes its buckets of a round when it has the new picks of the last
 * round from all blocks, the manager's too, which each tells after reading the buckets of that round. It writes its new
 * picks when it has the buckets of the round from all workers, which these tell after reading the picks of the last
 * round; but the manager has no buckets to tell, and may then still be reading those picks. So the picks of even and of
 * odd rounds lie apart: before a block writes over those of the round before the last, it has had the manager's word of
 * the last.
 *
 * All blocks look at all notes over and over, so what limits them is how many bytes the L2 cache can deliver: the notes
 * of a kind lie together, PC_SURE (or PC_SURE_FRESH) of a block after those of the block before it, and a bucket has
 * only two. */
#ifndef PC_SAMPLE_GRID_CUH
#define PC_SAMPLE_GRID_CUH

#include "ptx.cuh"
#include "sample_group.cuh"
#include "sample_notes.cuh"

struct pc_grid_group {
    static constexpr bool CLUSTER = false;
    pc_note *notes;
    pc_bucket *list; /* of the round, in shared memory */
    int blocks, workers, room;

    enum { REWRITE = 1024 };

    __device__ void start(const pc_cloud &cloud, const pc_rounds_shape &shape, char *memory) {
        list = (pc_bucket *)memory;
        room = shape.list;
        notes = cloud.notes;
        blocks = shape.blocks;
        workers = shape.workers;
    }

    __device__ bool decides(int rank) const {
        return rank == workers;
    }

    __device__ void end() {
    }

    /* The first note of a block's bucket j; the second is so many further. */
    __device__ pc_note *bucket_note(int block, int j) const {
        return notes + (j / PC_SURE * blocks + block) * PC_SURE + j % PC_SURE;
    }
    __device__ int to_second() const {
        return PC_GRID_MESSAGES * blocks;
    }

    /* The same of a new pick. */
    __device__ pc_note *pick_note(int block, int j, int round) const {
        return notes + (PC_BUCKET_NOTES + round % 2 * 2 * PC_GRID_ACCEPTS) * blocks +
               (j / PC_SURE_FRESH * blocks + block) * PC_SURE_FRESH + j % PC_SURE_FRESH;
    }
    __device__ int to_key() const {
        return PC_GRID_ACCEPTS * blocks;
    }

    /* The last word of a note begins with 12 bits of the round. Every REWRITE rounds all notes are written, so that
     * none is older than these can tell. In the first of a bucket's notes follow 1 bit for "more" and 6 for the number
     * of buckets. */
    __device__ static uint32_t tag(int round) {
        return (uint32_t)(round + 1) & 0xfffu;
    }

    __device__ static int listed_of(const pc_note &first) {
        return (int)(first.w >> 13 & 0x3fu);
    }

    __device__ void publish(const pc_block &block, int count, int round) {
        pc_note_own(block, count);
        const int i = (int)threadIdx.x, all = round % REWRITE ? (int)PC_SURE : (int)PC_GRID_MESSAGES;
        if (i >= max(count, all) || block.rank == workers) {
            return;
        }
        const pc_round *r = block.round;
        const uint32_t last = tag(round) << 20, told = last | (uint32_t)r->more << 19 | (uint32_t)count << 13;
        pc_note *to = bucket_note(block.rank, i);
        if (i < count) {
            const pc_bucket &b = block.buckets[block.own[i]];
            const uint64_t box = pc_packed_box(r->box[i], b.at);
            pc_note_store(to, b.largest, b.inverted, pc_packed_value(b.second) << 11 | (uint32_t)(box >> 33),
                          told | (uint32_t)(box >> 20 & 0x1fffu));
            pc_note_store(to + to_second(), __float_as_uint(b.at[0]), __float_as_uint(b.at[1]),
                          __float_as_uint(b.at[2]), last | (uint32_t)(box & 0xfffffu));
        } else {
            pc_note_store(to, i == 0 ? r->own_top : 0, 0, 0, told);
            if (round % REWRITE == 0) {
                pc_note_store(to + to_second(), 0, 0, 0, last);
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
    __device__ void receive(int from, int j, int round, pc_note *first, pc_note *second) const {
        const pc_note *note = bucket_note(from, j);
        for (uint32_t looks = 0;; keep_waiting(&looks)) {
            *first = pc_note_load(note);
            *second = pc_note_load(note + to_second());
            const bool listed = j >= PC_SURE || j < listed_of(*first);
            if (first->w >> 20 == tag(round) && (!listed || second->w >> 20 == tag(round))) {
                return;
            }
        }
    }

    __device__ static pc_bucket bucket_of(const pc_note &first, const pc_note &second) {
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

    /* A lane a note: collects the buckets of all blocks in the list. Those that find no room are left for later. */
    __device__ void collect(pc_round *r, int round) {
        const int lane = (int)threadIdx.x % 32;
#pragma unroll 1
        for (int unit = (int)threadIdx.x; (unit & ~31) < workers * PC_SURE; unit += PC_ROUND_THREADS) {
            const int from = unit / PC_SURE;
            int left = from < workers; /* notes to read from this one on */
#pragma unroll 1
            for (int j = unit % PC_SURE; __any_sync(PC_ALL_LANES, left > 0); j += PC_SURE) {
                pc_note first = {}, second = {};
                bool good = false;
                if (left > 0) {
                    receive(from, j, round, &first, &second);
                    const int listed = listed_of(first);
                    good = j < listed;
                    left = listed - j - PC_SURE;
                }
                const pc_bucket q = bucket_of(first, second);
                __syncwarp();
                const uint32_t open = pc_warp_max(first.x), place = pc_append(&r->listed, good);
                if (lane == 0) {
                    atomicMax(&r->open, open);
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
        if ((mask >> lane & 1) && place < count) {
            const float4 p = block.round->at[lane];
            pc_note *to = pick_note(block.rank, place, round);
            pc_note_store(to, __float_as_uint(p.x), __float_as_uint(p.y), __float_as_uint(p.z), last);
            pc_note_store(to + to_key(), __float_as_uint(p.w), block.round->inverted[lane], 0, last);
        }
        if (lane >= count && lane < PC_SURE_FRESH) {
            pc_note_store(pick_note(block.rank, lane, round), 0, 0, 0, last);
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
                    const pc_note *note = pick_note(from, j, round);
                    uint32_t looks = 0;
                    while (pick = pc_note_load(note), pick.w >> 6 != pick_tag(round)) {
                        keep_waiting(&looks);
                    }
                    const int told = (int)(pick.w & 0x1fu);
                    good = j < told;
                    left = told - j - PC_SURE_FRESH;
                    while (good && block.rank == workers && (key = pc_note_load(note + to_key()), key.w != pick.w)) {
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
