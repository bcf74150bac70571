/* PTX without a CUDA C++ intrinsic. tests/emulator implements each of these. */
#ifndef PC_PTX_CUH
#define PC_PTX_CUH

#include <cuda_runtime.h>
#include <stdint.h>

#ifdef __CUDACC__

/* A message: sixteen bytes that other blocks read whole or not at all. */
__device__ static inline uint4 pc_note_load(const uint4 *from) {
    unsigned __int128 v;
    asm volatile("ld.relaxed.gpu.global.b128 %0, [%1];" : "=q"(v) : "l"(from) : "memory");
    return make_uint4((uint32_t)v, (uint32_t)(v >> 32), (uint32_t)(v >> 64), (uint32_t)(v >> 96));
}

__device__ static inline void pc_note_store(uint4 *to, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
    unsigned __int128 v = (unsigned __int128)((uint64_t)w << 32 | z) << 64 | ((uint64_t)y << 32 | x);
    asm volatile("st.relaxed.gpu.global.b128 [%0], %1;" ::"l"(to), "q"(v) : "memory");
}

/* The same for eight bytes. */
__device__ static inline unsigned long long pc_word_load(const unsigned long long *from) {
    unsigned long long v;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(from) : "memory");
    return v;
}

__device__ static inline void pc_word_store(unsigned long long *to, unsigned long long v) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(v) : "memory");
}

/* Adds 1 to a counter with release semantics: writes of this thread, and of the threads it has synchronized with, come
 * first. */
__device__ static inline void pc_arrive(uint32_t *count) {
    asm volatile("fence.acq_rel.gpu;\n\tred.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(count) : "memory");
}

/* Reads the counter with acquire semantics: writes before its increments are visible afterwards. */
__device__ static inline uint32_t pc_arrived(const uint32_t *count) {
    uint32_t v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(count) : "memory");
    return v;
}

/* The same for four bytes. */
__device__ static inline uint32_t pc_half_load(const uint32_t *from) {
    uint32_t v;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
    return v;
}

__device__ static inline void pc_half_store(uint32_t *to, uint32_t v) {
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(to), "r"(v) : "memory");
}

/* Waits between two polls of a word that another block will write. */
__device__ static inline void pc_pause(void) {
}

/* Of kernels that follow each other in a stream with programmatic launch (from sm_90; else they do not overlap): the
 * first lets blocks of the next kernel start as resources become free, the second waits until all kernels before this
 * one have ended. */
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

/* The global clock of the device. */
__device__ static inline unsigned long long pc_nanoseconds(void) {
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

/* Keeps the compiler from moving the computation of `value` to its uses. */
__device__ static inline void pc_settle(uint32_t &value) {
    asm volatile("" : "+r"(value));
}

#if __CUDA_ARCH__ >= 900
/* Arrival and wait of a cluster barrier; whole warps call them. */
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
    return 0; /* fibers run in turns, so times are meaningless */
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
