/* The vector extensions of this machine. */
#include "simd.h"

bool pc_cpu_has(pc_simd simd) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    return simd == PC_SIMD_BASE || (simd == PC_SIMD_AVX2 && __builtin_cpu_supports("avx2")) ||
           (simd == PC_SIMD_AVX512 && __builtin_cpu_supports("avx512f"));
#else
    return simd == PC_SIMD_BASE;
#endif
}
