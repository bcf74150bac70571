/* A heap of items by their keys; equal keys by the lower item, so that the order is always the same. An item may be in
 * it several times: the caller of pop knows whether the key still counts. */
#ifndef PC_HEAP_H
#define PC_HEAP_H

#include "buffer.h"

#include <stdint.h>

typedef struct pc_heap_entry {
    double key;
    int32_t item;
} pc_heap_entry;

/* All zero: empty. */
typedef struct pc_heap {
    pc_heap_entry *entries;
    int64_t count;
    pc_buffer memory; /* of the entries; free it */
} pc_heap;

static inline bool pc_heap_before(pc_heap_entry a, pc_heap_entry b) {
    return a.key != b.key ? a.key < b.key : a.item < b.item;
}

/* False when memory is short. */
static inline bool pc_heap_push(pc_heap *h, double key, int32_t item) {
    const pc_heap_entry e = {key, item};
    pc_heap_entry *entries = pc_buffer_take(&h->memory, ((size_t)h->count + 1) * sizeof e, true);
    if (!entries) {
        return false;
    }
    h->entries = entries;
    int64_t at = h->count++;
    for (; at > 0 && pc_heap_before(e, h->entries[(at - 1) / 2]); at = (at - 1) / 2) {
        h->entries[at] = h->entries[(at - 1) / 2];
    }
    h->entries[at] = e;
    return true;
}

/* The entry of the least key; the heap must not be empty. */
static inline pc_heap_entry pc_heap_pop(pc_heap *h) {
    const pc_heap_entry first = h->entries[0], last = h->entries[--h->count];
    int64_t at = 0;
    for (int64_t child; (child = 2 * at + 1) < h->count; at = child) {
        child += child + 1 < h->count && pc_heap_before(h->entries[child + 1], h->entries[child]);
        if (!pc_heap_before(h->entries[child], last)) {
            break;
        }
        h->entries[at] = h->entries[child];
    }
    h->entries[at] = last;
    return first;
}

#endif
