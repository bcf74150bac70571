/* See cuda_runtime.h. */
#ifndef EMULATED_COOPERATIVE_GROUPS_H
#define EMULATED_COOPERATIVE_GROUPS_H

#include <cuda_runtime.h>

/* Waits for all blocks of the launch. */
void emulated_sync_blocks(void);
/* The same place in the dynamic shared memory of another block of the cluster. */
void *emulated_in_block(void *mine, unsigned rank);

namespace cooperative_groups {
struct grid_group {
    void sync() {
        emulated_sync_blocks();
    }
};

struct cluster_group {
    template <typename T> T *map_shared_rank(T *mine, unsigned rank) {
        return (T *)emulated_in_block((void *)mine, rank);
    }
};

static inline grid_group this_grid() {
    return grid_group();
}

static inline cluster_group this_cluster() {
    return cluster_group();
}
} // namespace cooperative_groups

#endif
