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

/* Memory of a search among the points of a subset, per point, with the subset, a number for each, and what the heap
 * loses from tile to tile. */
enum { PC_SEARCH_BYTES = 128 };

/* Part of a cloud. */
typedef struct pc_tile {
    double low[3], high[3]; /* low <= x < high */
    double reach;           /* the width of the margin around it */
    pc_subset points;       /* of the tile and its margin */
} pc_tile;

static inline bool pc_is_in_tile(const pc_tile *t, const float *p, double margin) {
    bool is = true;
    for (int k = 0; k < 3; k++) {
        is &= (double)p[k] >= t->low[k] - margin && (double)p[k] < t->high[k] + margin;
    }
    return is;
}

/* A filter of the points of a tile. `run` has their counts, and gets how it ran. */
typedef pcgpu_status pc_tile_fn(pcgpu_context *context, void *state, const pc_tile *tile, pcgpu_run *run);

/* Runs a filter on tiles that have each finite record of the mask once, and in their margins all that are within
 * `radius`, 0 = no limit, of one. There is one tile, of all records, unless the context has a limit of memory, of which
 * a point takes `bytes`. Errors: ARGUMENT (2^31 records), MEMORY (also too many points within the radius), and those of
 * the filter. */
pcgpu_status pc_run_tiles(pcgpu_context *context, const pcgpu_cloud *cloud, const uint8_t *mask, float radius,
                          int bytes, pc_tile_fn *function, void *state, pcgpu_run *run);

/* The most bytes of an array with an element per record that are not in a temporary file: see pc_allocate. */
uint64_t pc_filter_heap(const pcgpu_context *context);

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
