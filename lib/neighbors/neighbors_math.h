/* Lists of neighbours, and the boxes that decide which points are looked at, shared by the CPU and the CUDA back end.
 *
 * Both sort the points along a curve, 32 consecutive ones to a leaf with its box, and 32 boxes to a node above. They
 * search for 32 consecutive queries at the same time: a node or leaf is left out if its box is farther from the box of
 * the queries than the farthest entry of all their lists. As lib/sample/sample_cpu_buckets.c explains, a distance
 * between boxes is never rounded above one between points inside, so nothing is lost.
 *
 * A key is the squared distance and the index of a point as one integer: its order is that of the list. With the order
 * FIRST the key is the index alone. A list has its largest key first, and -1 behind the last. */
#ifndef PC_NEIGHBORS_MATH_H
#define PC_NEIGHBORS_MATH_H

#include "geometry.h"

#include <stdbool.h>

enum {
    PC_LEAF = 32,                 /* points per leaf, queries per group, children per node */
    PC_NEIGHBORS_LEVELS = 7,      /* 32^7 leaves: more than there are int32 indices */
    PC_INFINITE_BITS = 0x7f800000 /* of the float +inf */
};

PC_HD_ALWAYS int64_t pc_neighbor_key(int32_t bits, int32_t index) {
    return (int64_t)bits << 32 | (int64_t)index;
}

/* The key of an empty entry: above all keys that may be in the list. A squared distance at the limit is not within. */
PC_HD_ALWAYS int64_t pc_neighbor_empty(bool first, float squared) {
    return first ? INT32_MAX : pc_neighbor_key(pc_float_bits(squared), squared < INFINITY ? 0 : INT32_MAX);
}

/* Only squared distances with bits below the limit are of interest to a list with this largest key. ties: so are points
 * at the distance of the largest key, which a lower index may replace. */
PC_HD_ALWAYS int32_t pc_neighbor_limit(bool first, float squared, int64_t largest, bool ties) {
    const int32_t bits = pc_float_bits(squared);
    return first ? bits : (int32_t)(largest >> 32) + (!ties || (squared < INFINITY && largest >> 32 >= bits) ? 0 : 1);
}

/* Adds a distance, by the bits of its square, to the sum and the count of a mean: from the largest of a list on,
 * without the last one, the query itself. Squared distances beyond float32 are left out. */
PC_HD_ALWAYS void pc_neighbor_mean_add(int32_t bits, double *sum, double *count) {
    const double distance = (double)sqrtf(pc_bits_float(bits));
    *sum += bits < PC_INFINITE_BITS ? distance : 0.0;
    *count += bits < PC_INFINITE_BITS ? 1.0 : 0.0;
}

/* -1: the query has no other point. */
PC_HD_ALWAYS double pc_neighbor_mean_of(double sum, double count) {
    return count > 0.0 ? sum / count : -1.0;
}

/* The distance between two intervals. */
PC_HD_ALWAYS float pc_gap(float low, float high, float other_low, float other_high) {
    const float above = other_low - high, below = low - other_high;
    const float gap = above > below ? above : below;
    return gap > 0.0f ? gap : 0.0f;
}

#endif
