/* The list of a query on the CPU: keys in descending order, in vectors. */
#ifndef PC_NEIGHBORS_LIST_H
#define PC_NEIGHBORS_LIST_H

#include "simd.h"

#include <stdint.h>

enum { PC_LIST_KEYS = 8 }; /* a list of keys is a multiple, for vectors */

/* Inserts a key that is below keys[0], which leaves. keys[room] is -1. In whole blocks: a load that spans two stores
 * before it has to wait for both. */
typedef int64_t key_block __attribute__((vector_size(PC_LIST_KEYS * sizeof(int64_t)), may_alias));
#ifdef __clang__
#define SHIFT_BLOCK(a, b) __builtin_shufflevector(a, b, 1, 2, 3, 4, 5, 6, 7, 8)
#else
#define SHIFT_BLOCK(a, b) __builtin_shuffle(a, b, (key_block){1, 2, 3, 4, 5, 6, 7, 8})
#endif

PC_INLINE void insert(int64_t *keys, int room, int64_t key) {
    key_block *block = (key_block *)(void *)keys;
    for (int j = 0; j < room && keys[j] > key; j += PC_LIST_KEYS, block++) {
        const key_block next = SHIFT_BLOCK(block[0], block[1]);
        const key_block above = (block[0] < key), least = (block[0] & above) | (key & ~above);
        const key_block later = (next > least);
        block[0] = (next & later) | (least & ~later);
    }
}

#endif
