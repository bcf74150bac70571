/* Points in leaves along a curve, with boxes above them: what the CPU back end searches. */
#ifndef PC_NEIGHBORS_TREE_H
#define PC_NEIGHBORS_TREE_H

#include "neighbors_math.h"
#include "neighbors_ops.h"
#include "simd.h"

typedef struct pc_boxes {
    float low[3][PC_LEAF], high[3][PC_LEAF];
} pc_boxes;

typedef struct pc_neighbors_tree {
    int64_t n, leaves; /* finite points */
    float *at[3];      /* leaves x PC_LEAF each; the last leaf repeats its last point */
    int32_t *rows;     /* the same: the record of a point */
    int levels;
    int64_t children[PC_NEIGHBORS_LEVELS]; /* of all nodes of a level: the leaves, the nodes of the level before, ... */
    pc_boxes
        *level[PC_NEIGHBORS_LEVELS]; /* of the leaves, of the nodes of the level before, ...; the last has one node */
    int32_t *least[PC_NEIGHBORS_LEVELS]; /* children of a level: the lowest record */
    void *memory[3];                     /* to be freed */
} pc_neighbors_tree;

/* The number of points of a leaf. */
static inline int pc_leaf_points(const pc_neighbors_tree *t, int64_t leaf) {
    return t->n - leaf * PC_LEAF < PC_LEAF ? (int)(t->n - leaf * PC_LEAF) : PC_LEAF;
}

/* Sorts the finite points of cloud i. Errors: MEMORY. */
pcgpu_status pc_neighbors_tree_build(pcgpu_context *context, const pcgpu_clouds *clouds, int64_t i,
                                     pc_neighbors_tree *tree);
void pc_neighbors_tree_free(pc_neighbors_tree *tree);

#endif
