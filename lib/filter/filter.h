/* What the filters of a cloud share. A mask has a byte per record: 0 = the record takes no part. */
#ifndef PC_FILTER_H
#define PC_FILTER_H

#include "neighbors_ops.h"

/* The finite records of a mask, one after the other. */
typedef struct pc_subset {
    int64_t n;
    float *xyz;    /* n x 3 */
    int32_t *rows; /* n: the record of each */
    void *memory;  /* to be freed */
} pc_subset;

/* mask NULL: all records. Counts points_in and non_finite in `run`. Free it. Errors: ARGUMENT (2^31 records),
 * MEMORY. */
pcgpu_status pc_subset_select(pcgpu_context *context, const pcgpu_cloud *cloud, const uint8_t *mask, pc_subset *subset,
                              pcgpu_run *run);
void pc_subset_free(pc_subset *subset);

/* run = how the search ran, with the counts of `counts`, which may be `run`. */
void pc_subset_add_run(pcgpu_run *run, const pcgpu_run *search, const pcgpu_run *counts);

static inline pcgpu_clouds pc_subset_clouds(const pc_subset *subset) {
    return (pcgpu_clouds){.data = subset->xyz, .stride = 3, .count = 1, .rows = subset->n};
}

/* counts[i]: the points of the subset within the radius of its point i, itself included. `run` gets the back end.
 * Errors: as pcgpu_neighbors. */
pcgpu_status pc_subset_count(pcgpu_context *context, const pc_subset *subset, float radius, int32_t *counts,
                             pcgpu_run *run);

#endif
