/* The list of a query on the CPU: keys in descending order, in vectors; and the entries that are written. */
#ifndef PC_NEIGHBORS_LIST_H
#define PC_NEIGHBORS_LIST_H

#include "neighbors_math.h"
#include "neighbors_ops.h"
#include "simd.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

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

/* Keys of SORT_LANES lists in columns, plus SORT_OFFSET. As float64, which vectors of every form compare, they have the
 * same order: they are normal numbers, since the bits of no distance make the exponent of an infinity or a NaN. */
enum { SORT_LANES = 8 };
#define SORT_OFFSET ((int64_t)1 << 52)
typedef union __attribute__((aligned(64))) key_columns {
    int64_t key[PC_LEAF][SORT_LANES];
    double value[PC_LEAF][SORT_LANES];
} key_columns;

typedef double value_block __attribute__((vector_size(SORT_LANES * sizeof(double)), may_alias));

PC_INLINE void order_rows(double *a, double *b) {
    value_block *low = (value_block *)(void *)a, *high = (value_block *)(void *)b;
    const key_block x = (key_block)*low, y = (key_block)*high, less = (key_block)(*low < *high);
    *low = (value_block)((x & less) | (y & ~less));
    *high = (value_block)((y & less) | (x & ~less));
}

/* Sorts each column, ascending: Batcher's odd-even merge sort (1968). */
PC_INLINE void sort_columns(key_columns *m) {
    for (int p = 1; p < PC_LEAF; p *= 2) {
        for (int k = p; k > 0; k /= 2) {
            for (int j = k == p ? 0 : k; j + k < PC_LEAF; j += 2 * k) {
                for (int i = j; i < j + k && i + k < PC_LEAF; i++) {
                    if ((i ^ (i + k)) < 2 * p) { /* in one block of 2 p */
                        order_rows(m->value[i], m->value[i + k]);
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
