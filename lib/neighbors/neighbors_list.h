/* The list of a query on the CPU: keys in descending order, in vectors; and the entries that are written. */
#ifndef PC_NEIGHBORS_LIST_H
#define PC_NEIGHBORS_LIST_H

#include "neighbors_math.h"
#include "neighbors_ops.h"
#include "simd.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* A list is in descending order, in whole blocks with -1 behind the last entry. Of keys for lists of neighbours, of the
 * bits of squared distances for their means, which no index changes. */
typedef int64_t key_block __attribute__((vector_size(64), may_alias));
typedef int32_t bits_block __attribute__((vector_size(64), may_alias));
enum { PC_LIST_KEYS = 8, PC_LIST_BITS = 16 };

#ifdef __clang__
#define SHIFT_KEYS(a, b) __builtin_shufflevector(a, b, 1, 2, 3, 4, 5, 6, 7, 8)
#define SHIFT_BITS(a, b) __builtin_shufflevector(a, b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
#else
#define SHIFT_KEYS(a, b) __builtin_shuffle(a, b, (key_block){1, 2, 3, 4, 5, 6, 7, 8})
#define SHIFT_BITS(a, b) __builtin_shuffle(a, b, (bits_block){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
#endif

/* Defines name(list, blocks, from, mask), which inserts from[c] for each bit c of the mask; the largest entry of the
 * list leaves each time, or from[c] itself where it is not smaller. A short list stays in registers. */
#define PC_OFFER_OF(name, element, block, shift)                                                                       \
    PC_INLINE void name##_blocks(element *list, const int blocks, const element *from, uint32_t mask) {                \
        block *memory = (block *)(void *)list, b[PCGPU_NEIGHBORS_MOST / PC_LIST_KEYS + 1];                             \
        for (int i = 0; i < blocks; i++) {                                                                             \
            b[i] = memory[i];                                                                                          \
        }                                                                                                              \
        b[blocks] = (block){0} - 1;                                                                                    \
        for (; mask; mask &= mask - 1) {                                                                               \
            const element key = from[__builtin_ctz(mask)];                                                             \
            for (int i = 0; i < blocks && (blocks <= 4 || b[i][0] > key); i++) {                                       \
                const block next = shift(b[i], b[i + 1]), above = (block)(b[i] < key);                                 \
                const block least = (b[i] & above) | (key & ~above), later = (block)(next > least);                    \
                b[i] = (next & later) | (least & ~later);                                                              \
            }                                                                                                          \
        }                                                                                                              \
        for (int i = 0; i < blocks; i++) {                                                                             \
            memory[i] = b[i];                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    PC_INLINE void name(element *list, int blocks, const element *from, uint32_t mask) {                               \
        switch (blocks) {                                                                                              \
        case 1: name##_blocks(list, 1, from, mask); break;                                                             \
        case 2: name##_blocks(list, 2, from, mask); break;                                                             \
        case 3: name##_blocks(list, 3, from, mask); break;                                                             \
        case 4: name##_blocks(list, 4, from, mask); break;                                                             \
        default: name##_blocks(list, blocks, from, mask);                                                              \
        }                                                                                                              \
    }

PC_OFFER_OF(offer_keys, int64_t, key_block, SHIFT_KEYS)
PC_OFFER_OF(offer_bits, int32_t, bits_block, SHIFT_BITS)

/* Entries of lists in columns. Keys are there plus SORT_OFFSET: as float64, which vectors of every form compare, they
 * have the same order, since they are normal numbers: the bits of no distance make the exponent of an infinity or a
 * NaN. */
#define SORT_OFFSET ((int64_t)1 << 52)
typedef union __attribute__((aligned(64))) list_columns {
    int64_t key[PC_LEAF][PC_LIST_KEYS];
    double value[PC_LEAF][PC_LIST_KEYS];
    int32_t bits[PC_LEAF][PC_LIST_BITS];
} list_columns;

typedef double value_block __attribute__((vector_size(64), may_alias));

PC_INLINE void order_keys(list_columns *m, int i, int j) {
    value_block *low = (value_block *)(void *)m->value[i], *high = (value_block *)(void *)m->value[j];
    const key_block x = (key_block)*low, y = (key_block)*high, less = (key_block)(*low < *high);
    *low = (value_block)((x & less) | (y & ~less));
    *high = (value_block)((y & less) | (x & ~less));
}

PC_INLINE void order_bits(list_columns *m, int i, int j) {
    int32_t *low = m->bits[i], *high = m->bits[j];
    for (int w = 0; w < PC_LIST_BITS; w++) {
        const int32_t x = low[w], y = high[w];
        low[w] = x < y ? x : y;
        high[w] = x < y ? y : x;
    }
}

/* Sorts each column, ascending: Batcher's odd-even merge sort (1968). */
PC_INLINE void sort_columns(list_columns *m, void (*order)(list_columns *m, int i, int j)) {
    for (int p = 1; p < PC_LEAF; p *= 2) {
        for (int k = p; k > 0; k /= 2) {
            for (int j = k == p ? 0 : k; j + k < PC_LEAF; j += 2 * k) {
                for (int i = j; i < j + k && i + k < PC_LEAF; i++) {
                    if ((i ^ (i + k)) < 2 * p) { /* in one block of 2 p */
                        order(m, i, i + k);
                    }
                }
            }
        }
    }
}

/* Writes k entries from entry `at` on, of which `count` are neighbours. */
static void write_entries(const pc_neighbors_job *job, int64_t at, int64_t begin, int count, int32_t *indices,
                          float *distances) {
    const pcgpu_neighbor_lists *lists = &job->lists;
    const int k = job->k;
    for (int j = count; j < k; j++) {
        indices[j] = !job->pad ? -1 : count > 0 ? indices[0] : 0;
    }
    for (int j = count; j < k && lists->distances; j++) {
        distances[j] = job->pad && count > 0 ? distances[0] : INFINITY;
    }
    const int listed = job->global ? job->pad && count > 0 ? k : count : 0; /* the others have no cloud */
    for (int j = 0; j < k && lists->index_bytes == 8; j++) {
        ((int64_t *)lists->indices)[at + j] = j < listed ? begin + indices[j] : indices[j];
    }
    for (int j = 0; j < k && lists->index_bytes == 4; j++) {
        ((int32_t *)lists->indices)[at + j] = j < listed ? (int32_t)begin + indices[j] : indices[j];
    }
    if (lists->distances && k > 0) {
        memcpy(lists->distances + at, distances, (size_t)k * sizeof *distances);
    }
}

/* The lists of the records of a cloud, as if none had a neighbour. */
static void write_empty(const pc_neighbors_job *job, int64_t begin, int64_t end) {
    int32_t indices[PCGPU_NEIGHBORS_MOST];
    float distances[PCGPU_NEIGHBORS_MOST];
    for (int64_t record = begin; record < end && job->means; record++) {
        job->means[record] = -1.0;
    }
    for (int64_t record = begin; record < end && !job->means; record++) {
        write_entries(job, record * job->k, 0, 0, indices, distances);
    }
    for (int64_t record = begin; record < end && job->lists.counts; record++) {
        job->lists.counts[record] = 0;
    }
}

#endif
