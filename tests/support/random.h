/* Random numbers of the tests: splitmix64 (Steele et al. 2014), the same on every machine. The steps are those of
 * pc_hash64, written out: what is tested does not make its own inputs. */
#ifndef TEST_RANDOM_H
#define TEST_RANDOM_H

#include <stdint.h>

typedef struct test_random {
    uint64_t state; /* at first the seed */
} test_random;

static inline uint64_t test_bits(test_random *r) {
    uint64_t z = r->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* In [0, 1). */
static inline double test_unit(test_random *r) {
    return (double)(test_bits(r) >> 11) * 0x1p-53;
}

static inline float test_float(test_random *r) {
    return (float)(test_bits(r) >> 40) * 0x1p-24f;
}

/* In [-1, 1). */
static inline double test_noise(test_random *r) {
    return 2.0 * test_unit(r) - 1.0;
}

#endif
