/* Runs the kernels of cuda/ on the CPU, so that a machine without a GPU finds their mistakes: every block is a thread
 * of the operating system, so that blocks that wait for each other run at the same time and in any order, and every
 * thread of a block a fiber of it, which goes on to the next where it waits for others. Slow, and another order of
 * events than a GPU's, which is the point: an exchange that is right only because a GPU is quick stands still here. */
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "ptx.cuh"

#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

enum {
    STACK = 64 << 10,
    MOST_THREADS = 1024, /* of a block */
    PATIENCE = 2,        /* looks of every fiber before the block lets others run */
};

thread_local uint3 threadIdx, blockIdx;
thread_local dim3 blockDim, gridDim;
extern thread_local char memory[]; /* the name that kernels give their dynamic shared memory */
alignas(1024) thread_local char memory[EMULATED_SHARED];

typedef struct fiber {
    jmp_buf at;
    bool started, ended;
    unsigned arrival; /* at the barrier of the cluster: what its generation was */
} fiber;

typedef struct warp {
    emulated_lanes given, seen;
    int arrived, live;
    unsigned generation;
} warp;

/* Blocks that run at the same time. */
typedef struct gang {
    unsigned blocks, threads; /* in all */
    std::vector<char *> shared;
    std::atomic<unsigned> ready{0}, arrived_blocks{0}, block_generation{0}, arrived_threads{0}, thread_generation{0};
} gang;

typedef struct block {
    std::vector<fiber> fibers;
    std::vector<warp> warps;
    char *stacks;
    int current, live;
    int arrived, sum, result; /* at the barrier of the block */
    unsigned generation;
    size_t looks;
    gang *with;
    const std::function<void()> *kernel;
    jmp_buf end;
} block;

static thread_local block *own;

/* ---- fibers ----------------------------------------------------------------------------------------------------- */

static void begin_fiber();

static void go_on(int next) {
    fiber *f = &own->fibers[(size_t)next];
    own->current = next;
    threadIdx = uint3{(unsigned)next, 0, 0};
    if (f->started) {
        _longjmp(f->at, 1);
    }
    f->started = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = own->stacks + (size_t)next * STACK;
    context.uc_stack.ss_size = STACK;
    context.uc_link = NULL;
    makecontext(&context, begin_fiber, 0);
    setcontext(&context);
}

/* The next fiber that has not ended, or -1. */
static int next_fiber() {
    const int count = (int)own->fibers.size();
    for (int i = 1; i <= count; i++) {
        int next = own->current + i < count ? own->current + i : own->current + i - count;
        if (!own->fibers[(size_t)next].ended) {
            return next;
        }
    }
    return -1;
}

static void let_others() {
    const int next = next_fiber();
    if (next != own->current && _setjmp(own->fibers[(size_t)own->current].at) == 0) {
        go_on(next);
    }
}

static void meet_warp(warp *w) {
    w->seen = w->given;
    w->given.present = 0;
    w->arrived = 0;
    w->generation++;
}

static void meet_block() {
    own->result = own->sum;
    own->sum = own->arrived = 0;
    own->generation++;
}

static void begin_fiber() {
    (*own->kernel)();
    warp *w = &own->warps[(size_t)own->current / 32];
    own->fibers[(size_t)own->current].ended = true;
    own->live--;
    w->live--;
    if (w->arrived && w->arrived == w->live) {
        meet_warp(w);
    }
    if (own->arrived && own->arrived == own->live) {
        meet_block();
    }
    const int next = next_fiber();
    if (next < 0) {
        _longjmp(own->end, 1);
    }
    go_on(next);
}

/* ---- meeting ---------------------------------------------------------------------------------------------------- */

const emulated_lanes *emulated_exchange(uint64_t value) {
    warp *w = &own->warps[(size_t)own->current / 32];
    const int lane = own->current % 32;
    const unsigned generation = w->generation;
    w->given.value[lane] = value;
    w->given.present |= 1u << lane;
    if (++w->arrived == w->live) {
        meet_warp(w);
    }
    while (w->generation == generation) {
        let_others();
    }
    w->seen.lane = lane; /* no other lane runs before this one waits again */
    return &w->seen;
}

int emulated_syncthreads(int value) {
    const unsigned generation = own->generation;
    own->sum += value;
    if (++own->arrived == own->live) {
        meet_block();
    }
    while (own->generation == generation) {
        let_others();
    }
    return own->result;
}

/* The last of `all` to come starts the next generation. */
static void arrive(std::atomic<unsigned> *arrived, std::atomic<unsigned> *generation, unsigned all) {
    if (++*arrived == all) {
        *arrived = 0;
        ++*generation;
    }
}

void emulated_sync_blocks(void) {
    gang *g = own->with;
    __syncthreads();
    if (own->current == 0) {
        const unsigned generation = g->block_generation;
        arrive(&g->arrived_blocks, &g->block_generation, g->blocks);
        while (g->block_generation == generation) {
            pc_pause();
        }
    }
    __syncthreads();
}

void *emulated_in_block(void *mine, unsigned rank) {
    return own->with->shared[rank] + ((char *)mine - memory);
}

/* ---- cuda/core/ptx.cuh ------------------------------------------------------------------------------------------------ */

uint4 pc_note_load(const uint4 *from) {
    unsigned __int128 v = __atomic_load_n((const unsigned __int128 *)from, __ATOMIC_SEQ_CST);
    return make_uint4((uint32_t)v, (uint32_t)(v >> 32), (uint32_t)(v >> 64), (uint32_t)(v >> 96));
}

void pc_note_store(uint4 *to, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
    unsigned __int128 v = (unsigned __int128)((uint64_t)w << 32 | z) << 64 | ((uint64_t)y << 32 | x);
    __atomic_store_n((unsigned __int128 *)to, v, __ATOMIC_SEQ_CST);
}

unsigned long long pc_word_load(const unsigned long long *from) {
    return __atomic_load_n(from, __ATOMIC_SEQ_CST);
}

void pc_word_store(unsigned long long *to, unsigned long long v) {
    __atomic_store_n(to, v, __ATOMIC_SEQ_CST);
}

uint32_t pc_half_load(const uint32_t *from) {
    return __atomic_load_n(from, __ATOMIC_SEQ_CST);
}

void pc_half_store(uint32_t *to, uint32_t v) {
    __atomic_store_n(to, v, __ATOMIC_SEQ_CST);
}

void pc_arrive(uint32_t *count) {
    __atomic_fetch_add(count, 1, __ATOMIC_SEQ_CST);
}

uint32_t pc_arrived(const uint32_t *count) {
    return __atomic_load_n(count, __ATOMIC_SEQ_CST);
}

void pc_pause(void) {
    if (++own->looks > PATIENCE * own->fibers.size()) {
        own->looks = 0;
        sched_yield();
    }
    let_others();
}

void pc_settle(uint32_t &) {
}

void pc_cluster_arrive(void) {
    gang *g = own->with;
    own->fibers[(size_t)own->current].arrival = g->thread_generation;
    arrive(&g->arrived_threads, &g->thread_generation, g->threads);
}

void pc_cluster_wait(void) {
    while (own->with->thread_generation == own->fibers[(size_t)own->current].arrival) {
        pc_pause();
    }
}

/* ---- launching -------------------------------------------------------------------------------------------------- */

static std::mutex stacks_lock;
static std::vector<char *> spare_stacks;

static char *take_stacks() {
    std::lock_guard<std::mutex> hold(stacks_lock);
    if (!spare_stacks.empty()) {
        char *stacks = spare_stacks.back();
        spare_stacks.pop_back();
        return stacks;
    }
    void *stacks = mmap(NULL, (size_t)STACK * MOST_THREADS, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stacks == MAP_FAILED) {
        fprintf(stderr, "emulator: no memory for stacks\n");
        abort();
    }
    return (char *)stacks;
}

static void give_stacks(char *stacks) {
    std::lock_guard<std::mutex> hold(stacks_lock);
    spare_stacks.push_back(stacks);
}

/* Blocks of a cluster or of a cooperative launch begin when all are there. */
static void run_block(gang *g, unsigned rank, unsigned index, dim3 grid, dim3 threads,
                      const std::function<void()> &kernel) {
    block b = {};
    b.fibers.resize(threads.x);
    b.warps.resize((threads.x + 31) / 32);
    for (unsigned i = 0; i < threads.x; i++) {
        b.warps[i / 32].live++;
    }
    b.live = (int)threads.x;
    b.stacks = take_stacks();
    b.with = g;
    b.kernel = &kernel;
    own = &b;
    blockDim = threads;
    gridDim = grid;
    blockIdx = uint3{index % grid.x, index / grid.x, 0};
    memset(memory, 0x5a, sizeof memory); /* shared memory begins with anything */
    g->shared[rank] = memory;
    for (g->ready++; g->ready < g->blocks;) {
        sched_yield();
    }
    if (_setjmp(b.end) == 0) {
        go_on(0);
    }
    give_stacks(b.stacks);
}

void emulated_launch(dim3 grid, dim3 threads, unsigned together, const std::function<void()> &kernel) {
    const unsigned all = grid.x * grid.y;
    for (unsigned first = 0; first < all; first += together) {
        together = together < all - first ? together : all - first;
        gang g;
        g.blocks = together;
        g.threads = together * threads.x;
        g.shared.resize(together);
        std::vector<std::thread> others;
        for (unsigned rank = 1; rank < together; rank++) {
            others.emplace_back(run_block, &g, rank, first + rank, grid, threads, std::cref(kernel));
        }
        run_block(&g, 0, first, grid, threads, kernel);
        for (std::thread &t : others) {
            t.join();
        }
    }
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int) {
    *properties = cudaDeviceProp();
    snprintf(properties->name, sizeof properties->name, "emulator");
    const char *capability = getenv("EMULATED_CAPABILITY"); /* 61 for 6.1 */
    properties->major = capability ? atoi(capability) / 10 : 9;
    properties->minor = capability ? atoi(capability) % 10 : 0;
    properties->multiProcessorCount = EMULATED_MULTIPROCESSORS;
    properties->cooperativeLaunch = 1;
    properties->totalGlobalMem = (size_t)4 << 30;
    properties->sharedMemPerBlockOptin = EMULATED_SHARED;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **allocated, size_t bytes) {
    static std::atomic<int> asked;
    const char *most = getenv("EMULATED_ALLOCATIONS"); /* that succeed */
    if (most && asked++ >= atoi(most)) {
        return cudaErrorMemoryAllocation;
    }
    *allocated = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!*allocated) {
        return cudaErrorMemoryAllocation;
    }
    memset(*allocated, 0xa5, bytes); /* so does device memory */
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *event = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
    return cudaSuccess;
}
