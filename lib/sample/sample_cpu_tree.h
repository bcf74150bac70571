/* The tree of buckets of sample_cpu_buckets.c: what it holds, and the one step that building it and picking share. */
#ifndef PC_CPU_SAMPLE_TREE_H
#define PC_CPU_SAMPLE_TREE_H

#include "sample_cpu.h"

/* Before a loop over the children of a node: GCC would write it out child by child before it looks for vectors. */
#define PC_KEEP_LOOP _Pragma("GCC unroll 1")

enum {
    PC_FANOUT = 32,
    PC_LEVELS = 7,          /* 32^7 buckets: more than there are int32 indices */
    PC_WAITING = 12,        /* picks that a bucket lets wait */
    PC_NO_INDEX = INT32_MAX /* of an empty place; above every point's */
};

/* The boxes of the children and their farthest points; a place without a child has bits PC_PICKED and is never
 * near. */
typedef struct pc_node {
    float low[3][PC_FANOUT], high[3][PC_FANOUT];
    int32_t bits[PC_FANOUT], index[PC_FANOUT], bucket[PC_FANOUT]; /* of the farthest point below */
} pc_node;

/* What else is known of the buckets below a node of the lowest level: where the farthest point is, and the picks that
 * wait to lower distances. */
typedef struct pc_leaf {
    float far[3][PC_FANOUT];
    int32_t place[PC_FANOUT];
    int32_t waiting[PC_FANOUT];
    float picks[PC_FANOUT][PC_WAITING][3];
} pc_leaf;

/* Nodes of one level, one after the other: child c of node v is node or bucket v * PC_FANOUT + c of the level below. */
typedef struct pc_level {
    pc_node *nodes;
    int64_t count;
    int32_t *visited; /* count: the nodes that the newest pick may change */
    int64_t visits;
} pc_level;

typedef struct pc_tree {
    int64_t n;      /* points */
    int64_t points; /* in a bucket; fewer in the last one */
    int64_t buckets;
    float *x, *y, *z;          /* n each, bucket after bucket */
    int32_t *nearest;          /* n: bits of the squared distance to the picks that do not wait */
    int32_t *index;            /* n: in the cloud */
    pc_leaf *leaves;           /* one for each node of the lowest level */
    pc_level level[PC_LEVELS]; /* from the parents of the buckets to the root */
    int levels;
    float (*first)[3]; /* positions of seeds or start, in an order that keeps their rounds short */
    int64_t first_count;
    void *memory[5]; /* to be freed */
} pc_tree;

/* The points of a bucket. */
typedef struct pc_bucket {
    float *x, *y, *z;
    int32_t *nearest, *index;
    int64_t begin, n;
} pc_bucket;

/* A tree of the job's points with the seeds or the start marked as picked, and the distances to first[0]; false when
 * memory is short. Takes over the coordinates of the job if it may. */
bool pc_tree_build(pcgpu_context *context, pc_tree *t, pc_sample_job *job, pc_simd simd, int64_t bucket_points);
void pc_tree_free(pc_tree *t);

PC_INLINE pc_bucket pc_bucket_at(const pc_tree *t, int64_t b) {
    const int64_t at = b * t->points;
    const int64_t n = t->n - at < t->points ? t->n - at : t->points;
    return (pc_bucket){t->x + at, t->y + at, t->z + at, t->nearest + at, t->index + at, at, n};
}

/* The place of `index`, which occurs once among n. */
PC_INLINE int32_t pc_place_of(const int32_t *index, int64_t n, int32_t wanted) {
    int32_t place = 0;
    PC_KEEP_LOOP
    for (int32_t i = 0; i < (int32_t)n; i++) {
        place |= -(int32_t)(index[i] == wanted) & i;
    }
    return place;
}

/* The place of the largest distance, which is `bits`, with the lowest index. Mostly it occurs once. */
PC_INLINE int32_t pc_place_of_farthest(const int32_t *bits_of, const int32_t *index, int64_t n, int32_t bits) {
    int32_t place = 0, others = 1, lowest = PC_NO_INDEX;
    PC_KEEP_LOOP
    for (int32_t i = 0; i < (int32_t)n; i++) {
        int32_t same = -(int32_t)(bits_of[i] == bits); /* masks: a choice would become a branch, and no vectors */
        place |= same & i;
        others += same;
    }
    if (others == 0) {
        return place;
    }
    PC_KEEP_LOOP
    for (int64_t i = 0; i < n; i++) {
        int32_t own = index[i] | (-(int32_t)(bits_of[i] != bits) & PC_NO_INDEX);
        lowest = own < lowest ? own : lowest;
    }
    return pc_place_of(index, n, lowest);
}

/* The child with the farthest point. */
PC_INLINE int32_t pc_farthest_child(const pc_node *v) {
    int32_t bits = PC_PICKED;
    PC_KEEP_LOOP
    for (int c = 0; c < PC_FANOUT; c++) {
        bits = v->bits[c] > bits ? v->bits[c] : bits;
    }
    return pc_place_of_farthest(v->bits, v->index, PC_FANOUT, bits);
}

/* Notes the farthest point below node `from` at its place c in the node above. */
PC_INLINE void pc_note_child(const pc_node *from, pc_node *above, int c) {
    const int32_t far = pc_farthest_child(from);
    above->bits[c] = from->bits[far];
    above->index[c] = from->index[far];
    above->bucket[c] = from->bucket[far];
}

/* Notes the farthest point of bucket b, at distance `bits`. */
PC_INLINE void pc_note_farthest(const pc_tree *t, int64_t b, int32_t bits) {
    const pc_bucket k = pc_bucket_at(t, b);
    const int32_t place = pc_place_of_farthest(k.nearest, k.index, k.n, bits);
    pc_node *v = &t->level[0].nodes[b / PC_FANOUT];
    pc_leaf *f = &t->leaves[b / PC_FANOUT];
    const int c = (int)(b % PC_FANOUT);
    v->bits[c] = bits;
    v->index[c] = k.index[place];
    f->far[0][c] = k.x[place];
    f->far[1][c] = k.y[place];
    f->far[2][c] = k.z[place];
    f->place[c] = (int32_t)(k.begin + place);
}

#endif
