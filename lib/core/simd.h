/* Functions of the CPU back end that are compiled once for each vector form; pc_cpu_has says which can run. */
#ifndef PC_CPU_SIMD_H
#define PC_CPU_SIMD_H

#include <stdbool.h>

/* Vectors that a function may be compiled for; every form gives the same bytes. */
typedef enum pc_simd { PC_SIMD_BASE, PC_SIMD_AVX2, PC_SIMD_AVX512, PC_SIMD_FORMS } pc_simd;

bool pc_cpu_has(pc_simd simd); /* this machine */

/* For bodies that are compiled once for each vector form. */
#define PC_INLINE static inline __attribute__((always_inline))

/* For a loop of few iterations: prevents that GCC unrolls it before vectorization. */
#define PC_KEEP_LOOP _Pragma("GCC unroll 1")

/* Defines f_for(simd), which gives the PC_INLINE function f compiled for that form. */
#define PC_SIMD_FORM_OF(f, form, target, parameters, arguments)                                                        \
    target static void f##_##form parameters {                                                                         \
        f arguments;                                                                                                   \
    }
#if defined(__x86_64__)
#define PC_SIMD_FORMS_OF(f, parameters, arguments)                                                                     \
    PC_SIMD_FORM_OF(f, base, , parameters, arguments)                                                                  \
    PC_SIMD_FORM_OF(f, avx2, __attribute__((target("avx2"))), parameters, arguments)                                   \
    PC_SIMD_FORM_OF(f, avx512, __attribute__((target("avx512f"))), parameters, arguments)                              \
    static void(*f##_for(pc_simd simd)) parameters {                                                                   \
        return simd == PC_SIMD_AVX512 ? f##_avx512 : simd == PC_SIMD_AVX2 ? f##_avx2 : f##_base;                       \
    }
#else
#define PC_SIMD_FORMS_OF(f, parameters, arguments)                                                                     \
    PC_SIMD_FORM_OF(f, base, , parameters, arguments)                                                                  \
    static void(*f##_for(pc_simd simd)) parameters {                                                                   \
        (void)simd;                                                                                                    \
        return f##_base;                                                                                               \
    }
#endif

#endif
