/* What CUDA C++ has no name for. tests/emulator has its own of each. */
#ifndef PC_PTX_CUH
#define PC_PTX_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#ifdef __CUDACC__

/* Sixteen bytes that other blocks see whole or not at all. */
__device__ static inline uint4 pc_note_load(const uint4 *from) {
    unsigned __int128 v;
    asm volatile("ld.relaxed.gpu.global.b128 %0, [%1];" : "=q"(v) : "l"(from) : "memory");
    return make_uint4((uint32_t)v, (uint32_t)(v >> 32), (uint32_t)(v >> 64), (uint32_t)(v >> 96));
}

__device__ static inline void pc_note_store(uint4 *to, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
    unsigned __int128 v = (unsigned __int128)((uint64_t)w << 32 | z) << 64 | ((uint64_t)y << 32 | x);
    asm volatile("st.relaxed.gpu.global.b128 [%0], %1;" ::"l"(to), "q"(v) : "memory");
}

/* The same of eight bytes. */
__device__ static inline unsigned long long pc_word_load(const unsigned long long *from) {
    unsigned long long v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(from) : "memory");
    return v;
}

__device__ static inline void pc_word_store(unsigned long long *to, unsigned long long v) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(v) : "memory");
}

/* Adds 1 to a count after everything that this thread, and those it has met, have written. */
__device__ static inline void pc_arrive(uint32_t *count) {
    asm volatile("fence.acq_rel.gpu;\n\tred.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
}

/* The count; what was written before its arrivals is seen afterwards. */
__device__ static inline uint32_t pc_arrived(const uint32_t *count) {
    uint32_t v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(count) : "memory");
    return v;
}

/* And of four. */
__device__ static inline uint32_t pc_half_load(const uint32_t *from) {
    uint32_t v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
    return v;
}

__device__ static inline void pc_half_store(uint32_t *to, uint32_t v) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(v) : "memory");
}

/* Between two looks at what another block is to write. */
__device__ static inline void pc_pause(void) {
}

/* Of kernels that follow each other in a stream with programmatic launch (from sm_90; else they do not overlap): lets
 * the next one's blocks come as room becomes free, and waits until all before this one has ended. */
__device__ static inline void pc_launch_next(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ static inline void pc_wait_for_last(void) {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* A clock that all multiprocessors share. */
__device__ static inline unsigned long long pc_nanoseconds(void) {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

/* Computes a value here rather than where it is used. */
__device__ static inline void pc_settle(uint32_t &value) {
    asm volatile("" : "+r"(value));
}

#if __CUDA_ARCH__ >= 900
/* The two halves of a barrier of all threads of a cluster; by whole warps. */
__device__ static inline void pc_cluster_arrive(void) {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

__device__ static inline void pc_cluster_wait(void) {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
#endif

#else
uint4 pc_note_load(const uint4 *from);
void pc_note_store(uint4 *to, uint32_t x, uint32_t y, uint32_t z, uint32_t w);
unsigned long long pc_word_load(const unsigned long long *from);
void pc_word_store(unsigned long long *to, unsigned long long v);
uint32_t pc_half_load(const uint32_t *from);
void pc_half_store(uint32_t *to, uint32_t v);
void pc_arrive(uint32_t *count);
uint32_t pc_arrived(const uint32_t *count);
void pc_pause(void);
static inline unsigned long long pc_nanoseconds(void) {
    return 0; /* fibers take turns, so time tells nothing */
}
static inline void pc_launch_next(void) {
}
static inline void pc_wait_for_last(void) {
}
void pc_settle(uint32_t &value);
void pc_cluster_arrive(void);
void pc_cluster_wait(void);
#endif

#endif
