/* number and gather of voxelize_hashed.cuh after insert_many, in four kernels, a thread a record that was listed:
 * voxels begin here and there and in crowds. */
#ifndef PC_VOXELIZE_NUMBER_MANY_CUH
#define PC_VOXELIZE_NUMBER_MANY_CUH

#include "voxelize_insert_many.cuh"
#include "voxelize_number.cuh"

enum {
    LIST_THREADS = 1024, /* of the kernels that go through lists, a list a block */
    WORDS_EACH = 16,     /* words of `begins` a thread */
    TILE_WORDS = WORDS_EACH * PC_NUMBER_THREADS
};

/* Sets the bits of those that begin a voxel, and lists where these are in the list: s.late_rows has room for that until
 * there are late records. */
__global__ static void __launch_bounds__(LIST_THREADS) begin_kernel(const pc_hashed s, const pc_lists l) {
    __shared__ uint32_t begun;
    if (threadIdx.x == 0) {
        begun = 0;
    }
    __syncthreads();
    pc_launch_next();
    pc_wait_for_last();
    const uint32_t first = blockIdx.x * l.room, end = first + l.count[blockIdx.x];
    for (uint32_t base = first; base < end; base += LIST_THREADS) {
        const uint32_t at = base + threadIdx.x, place = at < end ? s.place[at] : 0;
        bool begins = false;
        if (place & PC_MAYBE) {
            const uint32_t record = l.record[at];
            begins = s.slots[PC_SLOT_OF(place)].first == record;
            if (begins) {
                atomicOr(&l.begins[record / 32], 1u << record % 32);
            }
        }
        const uint32_t to = first + take_places(__ballot_sync(PC_ALL_LANES, begins), &begun);
        if (begins) {
            s.late_rows[to] = at;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        l.begun[blockIdx.x] = begun;
    }
}

/* Counts what begins before each word. */
__global__ static void __launch_bounds__(PC_NUMBER_THREADS) rank_kernel(const pc_hashed s, const pc_lists l) {
    enum { FOUR = 4, TIMES = WORDS_EACH / FOUR };
    const uint32_t first = (blockIdx.x * PC_NUMBER_THREADS + threadIdx.x) * WORDS_EACH;
    uint4 words[TIMES];
    uint32_t count = 0;
    pc_launch_next();
    pc_wait_for_last();
#pragma unroll
    for (int k = 0; k < TIMES; k++) {
        words[k] = ((const uint4 *)(l.begins + first))[k];
        words[k] = make_uint4(__popc(words[k].x), __popc(words[k].y), __popc(words[k].z), __popc(words[k].w));
        count += words[k].x + words[k].y + words[k].z + words[k].w;
    }
    uint32_t before = voxels_of(place_among_all(s, count * VOXEL));
#pragma unroll
    for (int k = 0; k < TIMES; k++) {
        const uint4 upto = {before, before + words[k].x, before + words[k].x + words[k].y,
                            before + words[k].x + words[k].y + words[k].z};
        ((uint4 *)(l.before + first))[k] = upto;
        before = upto.w + words[k].w;
    }
}

/* Sets down the voxels. Where the late records of each go does not matter, so places are taken as blocks come. */
__global__ static void __launch_bounds__(LIST_THREADS)
    number_lists_kernel(const pc_hashed s, const pc_cells c, const pc_lists l) {
    __shared__ uint32_t taken;
    block_sums sums = {0, 0, 0, 0};
    pc_launch_next();
    pc_wait_for_last();
    const uint32_t first = blockIdx.x * l.room, end = first + l.begun[blockIdx.x];
    for (uint32_t base = first; base < end; base += LIST_THREADS) {
        const bool there = base + threadIdx.x < end;
        const uint32_t at = there ? s.late_rows[base + threadIdx.x] : 0, slot = there ? PC_SLOT_OF(s.place[at]) : 0;
        beginning b = {};
        uint32_t number = 0, late = 0, all;
        if (there) {
            const uint32_t record = l.record[at], word = l.begins[record / 32];
            b = begin_of(s, slot);
            number = l.before[record / 32] + (uint32_t)__popc(word & ((1u << record % 32) - 1));
            late = late_of(s, b.head);
        }
        const uint32_t before = sum_before<LIST_THREADS>(late, &all);
        if (threadIdx.x == 0 && all > 0) {
            taken = atomicAdd(&s.counters->late, all);
        }
        __syncthreads();
        if (there) {
            set_down(s, b, slot, number, late > 0 ? taken + before : 0, &sums);
            if (b.head.w != PC_NO_ROW) { /* as the next call wants it; fill knows of late ones only */
                c.notes[slot] = ~0ull;
                s.late[slot].x = 0;
            }
        }
    }
    add_up<LIST_THREADS>(pc_sums_of(s), sums);
}

/* Puts late records where the others of their voxels are. */
__global__ static void __launch_bounds__(LIST_THREADS) gather_lists_kernel(const pc_hashed s, const pc_lists l) {
    pc_launch_next();
    pc_wait_for_last();
    const uint32_t first = blockIdx.x * l.room, end = first + l.count[blockIdx.x];
#pragma unroll 4
    for (uint32_t at = first + threadIdx.x; at < end; at += LIST_THREADS) {
        const uint32_t place = s.place[at];
        const uint32_t to = place & PC_LATE ? s.late[PC_SLOT_OF(place)].y : NOT_WANTED;
        if (to != NOT_WANTED) {
            s.late_rows[to - 1 + s.rank[at]] = l.record[at];
        }
    }
}

#endif
