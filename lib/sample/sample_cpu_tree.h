/* The tree of buckets of sample_cpu_buckets.c: its data, and the update that construction and picking share. */
#ifndef PC_CPU_SAMPLE_TREE_H
#define PC_CPU_SAMPLE_TREE_H

#include "sample_cpu.h"

enum {
    PC_FANOUT = 32,
    PC_LEVELS = 7,          /* 32^7 buckets: more than there are int32 indices */
    PC_DEFERRED = 12,       /* maximum number of deferred picks per bucket */
    PC_NO_INDEX = INT32_MAX /* of an empty slot; larger than all indices */
};

/* The boxes of the children and their farthest points. A slot without a child has bits PC_PICKED and is never near. */
typedef struct pc_node {
    float low[3][PC_FANOUT], high[3][PC_FANOUT];
    int32_t bits[PC_FANOUT], index[PC_FANOUT], bucket[PC_FANOUT]; /* of the farthest point below */
} pc_node;

/* Further data of the buckets below a node of the lowest level: the position of the farthest point, and the deferred
 * picks. */
typedef struct pc_leaf {
    float far[3][PC_FANOUT];
    int32_t slot[PC_FANOUT];
    int32_t deferred[PC_FANOUT];
    float picks[PC_FANOUT][PC_DEFERRED][3];
} pc_leaf;

/* The nodes of one level: child c of node v is node or bucket v * PC_FANOUT + c of the level below. */
typedef struct pc_level {
    pc_node *nodes;
    int64_t count;
    int32_t *visited; /* count: the nodes that the newest pick may change */
    int64_t visits;
} pc_level;

typedef struct pc_tree {
    int64_t n;      /* points */
    int64_t points; /* per bucket; fewer in the last one */
    int64_t buckets;
    float *x, *y, *z;          /* n each, bucket after bucket */
    int32_t *nearest;          /* n: bits of the squared distance to the picks that are not deferred */
    int32_t *index;            /* n: in the cloud */
    pc_leaf *leaves;           /* one for each node of the lowest level */
    pc_level level[PC_LEVELS]; /* from the parents of the buckets to the root */
    int levels;
    float (*first)[3]; /* positions of the seeds or the start, in an order that keeps their rounds short */
    int64_t first_count;
    void *memory[5]; /* to be freed */
} pc_tree;

/* The points of a bucket. */
typedef struct pc_bucket {
    float *x, *y, *z;
    int32_t *nearest, *index;
    int64_t begin, n;
} pc_bucket;

/* Builds a tree of the job's points with the seeds or the start marked as picked, and with the distances to first[0];
 * false when memory is exhausted, or cancelled. Takes over the coordinates of a disposable job. */
bool pc_tree_build(pcgpu_context *context, pc_tree *t, pc_sample_job *job, pc_simd simd, int64_t bucket_points);
void pc_tree_free(pc_tree *t);

PC_INLINE pc_bucket pc_bucket_at(const pc_tree *t, int64_t b) {
    const int64_t at = b * t->points;
    const int64_t n = t->n - at < t->points ? t->n - at : t->points;
    return (pc_bucket){t->x + at, t->y + at, t->z + at, t->nearest + at, t->index + at, at, n};
}

/* The position of `wanted`, which occurs once among n. */
PC_INLINE int32_t pc_slot_of(const int32_t *index, int64_t n, int32_t wanted) {
    int32_t slot = 0;
    PC_KEEP_LOOP
    for (int32_t i = 0; i < (int32_t)n; i++) {
        slot |= -(int32_t)(index[i] == wanted) & i;
    }
    return slot;
}

/* The position of the largest distance, `bits`, with the lowest index. Usually it occurs once. */
PC_INLINE int32_t pc_slot_of_farthest(const int32_t *bits_of, const int32_t *index, int64_t n, int32_t bits) {
    int32_t slot = 0, others = 1, lowest = PC_NO_INDEX;
    PC_KEEP_LOOP
    for (int32_t i = 0; i < (int32_t)n; i++) {
        int32_t same = -(int32_t)(bits_of[i] == bits); /* masks: a conditional would become a branch, without vectors */
        slot |= same & i;
        others += same;
    }
    if (others == 0) {
        return slot;
    }
    PC_KEEP_LOOP
    for (int64_t i = 0; i < n; i++) {
        int32_t own = index[i] | (-(int32_t)(bits_of[i] != bits) & PC_NO_INDEX);
        lowest = own < lowest ? own : lowest;
    }
    return pc_slot_of(index, n, lowest);
}

/* The child with the farthest point. */
PC_INLINE int32_t pc_farthest_child(const pc_node *v) {
    int32_t bits = PC_PICKED;
    PC_KEEP_LOOP
    for (int c = 0; c < PC_FANOUT; c++) {
        bits = v->bits[c] > bits ? v->bits[c] : bits;
    }
    return pc_slot_of_farthest(v->bits, v->index, PC_FANOUT, bits);
}

/* Updates slot c of the node above with the farthest point below node `from`. */
PC_INLINE void pc_update_child(const pc_node *from, pc_node *above, int c) {
    const int32_t far = pc_farthest_child(from);
    above->bits[c] = from->bits[far];
    above->index[c] = from->index[far];
    above->bucket[c] = from->bucket[far];
}

/* Updates the tree with the farthest point of bucket b, at distance `bits`. */
PC_INLINE void pc_update_farthest(const pc_tree *t, int64_t b, int32_t bits) {
    const pc_bucket k = pc_bucket_at(t, b);
    const int32_t slot = pc_slot_of_farthest(k.nearest, k.index, k.n, bits);
    pc_node *v = &t->level[0].nodes[b / PC_FANOUT];
    pc_leaf *f = &t->leaves[b / PC_FANOUT];
    const int c = (int)(b % PC_FANOUT);
    v->bits[c] = bits;
    v->index[c] = k.index[slot];
    f->far[0][c] = k.x[slot];
    f->far[1][c] = k.y[slot];
    f->far[2][c] = k.z[slot];
    f->slot[c] = (int32_t)(k.begin + slot);
}

#endif
