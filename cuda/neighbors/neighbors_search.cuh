/* The search for neighbours on CUDA: a warp has a group of 32 queries, one per lane, and the lists of its lanes in
 * registers. Lane c holds the box of child c of the node at hand; the warp visits the children together, in the order
 * of their distance from the middle of the group. See lib/neighbors/neighbors_math.h for the method. */
#ifndef PC_NEIGHBORS_SEARCH_CUH
#define PC_NEIGHBORS_SEARCH_CUH

#include "neighbors_math.h"
#include "neighbors_ops.h"
#include "sample.cuh"

enum { PC_NEIGHBORS_WARPS = 4 /* per block */ };

typedef enum pc_neighbors_mode { PC_MODE_NEAREST, PC_MODE_FIRST, PC_MODE_COUNT } pc_neighbors_mode;

/* The leaves of one cloud, and the boxes above. */
typedef struct pc_neighbors_cloud {
    int64_t record; /* its first one */
    const float4 *sorted;
    const pc_range *level[PC_NEIGHBORS_LEVELS]; /* of the leaves, of the nodes above 32 leaves, ... */
    uint32_t count[PC_NEIGHBORS_LEVELS];
    int levels;
} pc_neighbors_cloud;

typedef struct pc_neighbors_call {
    const pc_neighbors_cloud *points, *queries;
    const float *data; /* of the points, for distances of the first ones */
    int64_t stride;
    int64_t begin; /* the record of `data` at the begin of the wave, for global indices; -1: indices of clouds */
    int k;
    float squared;
    bool pad;
    pcgpu_neighbor_lists lists;
    double *means; /* queries, or NULL: the means in place of the lists */
} pc_neighbors_call;

/* A list in registers: largest key first, -1 behind the last of k. */
template <int K> struct pc_list { int64_t key[K]; };

template <int K> __device__ static void insert(pc_list<K> &list, int64_t key) {
    if (K <= 64) {
#pragma unroll
        for (int j = 0; j < K; j++) {
            const int64_t least = list.key[j] < key ? list.key[j] : key;
            list.key[j] =
                j + 1 < K && list.key[j + 1 < K ? j + 1 : j] > least ? list.key[j + 1 < K ? j + 1 : j] : least;
        }
    } else { /* in local memory */
        int j = 0;
#pragma unroll 1
        for (; j + 1 < K && list.key[j + 1] > key; j++) {
            list.key[j] = list.key[j + 1];
        }
        list.key[j] = key;
    }
}

/* The group of a warp. */
template <int K> struct pc_group {
    float x, y, z; /* the query of this lane; NaN: none */
    float low[3], high[3], middle[3];
    int32_t limit;
    uint32_t largest; /* limit of all lanes */
    int32_t count;
    pc_list<K> list;
};

/* The squared distance between two boxes, as bits. */
__device__ static uint32_t box_gap(const float low[3], const float high[3], const float other_low[3],
                                   const float other_high[3]) {
    const float dx = pc_gap(low[0], high[0], other_low[0], other_high[0]);
    const float dy = pc_gap(low[1], high[1], other_low[1], other_high[1]);
    const float dz = pc_gap(low[2], high[2], other_low[2], other_high[2]);
    return (uint32_t)pc_float_bits((dx * dx + dy * dy) + dz * dz);
}

/* Offers the points of a leaf to all lanes. `leaf`: PC_LEAF points in shared memory. A distance that is NaN has bits
 * above all limits, since arithmetic makes no negative NaN from these. */
template <int K, pc_neighbors_mode MODE>
__device__ static void scan_leaf(const pc_neighbors_call &call, pc_group<K> &g, const pc_range &range,
                                 const float4 *sorted, float4 *leaf) {
    const int lane = (int)threadIdx.x % 32, n = (int)range.count;
    __syncwarp();
    if (lane < n) {
        leaf[lane] = sorted[range.begin + lane];
    }
    __syncwarp();
    uint32_t hits = 0;
    for (int i = 0; i < n; i++) {
        const float4 p = leaf[i];
        const float d = pc_squared_distance(p.x, p.y, p.z, g.x, g.y, g.z);
        const bool hit = d == d && pc_float_bits(d) < g.limit &&
                         (MODE != PC_MODE_FIRST || (int64_t)pc_float_bits(p.w) < g.list.key[0]);
        hits |= hit ? 1u << i : 0u;
    }
    if (MODE == PC_MODE_COUNT) {
        g.count += __popc(hits);
        hits = 0;
    }
    while (__any_sync(PC_ALL_LANES, hits != 0)) {
        if (hits != 0) {
            const float4 p = leaf[__ffs((int)hits) - 1];
            const float d = pc_squared_distance(p.x, p.y, p.z, g.x, g.y, g.z);
            const int32_t index = pc_float_bits(p.w);
            const int64_t key = MODE == PC_MODE_FIRST ? index : pc_neighbor_key(pc_float_bits(d), index);
            if (key < g.list.key[0]) {
                insert(g.list, key);
            }
            hits &= hits - 1;
        }
    }
    g.limit = g.limit == 0 ? 0 : pc_neighbor_limit(MODE == PC_MODE_FIRST, call.squared, g.list.key[0], !call.means);
    g.largest = pc_warp_max((uint32_t)g.limit);
}

/* Visits the children of a node of level l in a loop, those of deeper levels by the stack in shared memory. */
typedef struct pc_open_node {
    uint32_t node, open;
} pc_open_node;

template <int K, pc_neighbors_mode MODE>
__device__ static void search_tree(const pc_neighbors_call &call, const pc_neighbors_cloud &points, pc_group<K> &g,
                                   uint32_t own, float4 *leaf, pc_open_node *stack) {
    const int lane = (int)threadIdx.x % 32, top = points.levels - 1;
    int l = top;
    uint32_t node = 0, open = PC_ALL_LANES, opened = ~0u;
    uint32_t far = 0, near = 0;
    while (true) {
        if (opened != node) { /* load the boxes of the children */
            const int64_t child = (int64_t)node * PC_LEAF + lane;
            const bool there = child < points.count[l];
            const pc_range box = points.level[l][there ? child : 0];
            far = there ? box_gap(box.low, box.high, g.low, g.high) : ~0u;
            near = there ? box_gap(box.low, box.high, g.middle, g.middle) : ~0u;
            opened = node;
        }
        open &= __ballot_sync(PC_ALL_LANES, far < g.largest);
        if (open == 0) {
            if (l == top) {
                return;
            }
            l++;
            node = stack[l].node;
            open = stack[l].open;
            opened = ~0u;
            continue;
        }
        const uint32_t nearest = ~pc_warp_max(open >> lane & 1 ? ~near : 0u);
        const int c = __ffs((int)__ballot_sync(PC_ALL_LANES, (open >> lane & 1) && near == nearest)) - 1;
        open &= ~(1u << c);
        const uint32_t child = node * PC_LEAF + (uint32_t)c;
        const pc_range range = points.level[l][child];
        const float at[3] = {g.x, g.y, g.z};
        if ((l == 0 && child == own) ||
            !__any_sync(PC_ALL_LANES, box_gap(range.low, range.high, at, at) < (uint32_t)g.limit)) {
            continue;
        }
        if (l == 0) {
            scan_leaf<K, MODE>(call, g, range, points.sorted, leaf);
            continue;
        }
        __syncwarp();
        if (lane == 0) {
            stack[l] = pc_open_node{node, open};
        }
        __syncwarp();
        l--;
        node = child;
        open = PC_ALL_LANES;
        opened = ~0u;
    }
}

template <int K>
__device__ static void write_mean(const pc_neighbors_call &call, const pc_group<K> &g, int64_t record) {
    double sum = 0.0, count = 0.0;
#pragma unroll(K <= 64 ? K : 1)
    for (int j = 0; j < K; j++) {
        if (j < call.k - 1) {
            pc_neighbor_mean_add((int32_t)(g.list.key[j] >> 32), &sum, &count);
        }
    }
    call.means[record] = pc_neighbor_mean_of(sum, count);
}

template <int K, pc_neighbors_mode MODE>
__device__ static void write_list(const pc_neighbors_call &call, const pc_neighbors_cloud &points, const pc_group<K> &g,
                                  int64_t record, int64_t empty) {
    const pcgpu_neighbor_lists &lists = call.lists;
    const int64_t begin = call.begin >= 0 ? call.begin + points.record : 0;
    int32_t count = 0;
    int64_t nearest = empty; /* or the first */
#pragma unroll(K <= 64 ? K : 1)
    for (int j = 0; j < K; j++) {
        nearest = j == call.k - 1 ? g.list.key[j] : nearest;
    }
#pragma unroll(K <= 64 ? K : 1)
    for (int j = 0; j < K; j++) {
        if (j < call.k && MODE != PC_MODE_COUNT) {
            const int64_t at = record * call.k + call.k - 1 - j;
            int64_t key = g.list.key[j];
            count += key < empty;
            key = key < empty || !call.pad ? key : nearest;
            const bool there = key < empty;
            const int32_t own = (int32_t)(key & INT32_MAX);
            const int64_t index = there ? begin + own : call.pad ? 0 : -1;
            if (lists.index_bytes == 8) {
                ((int64_t *)lists.indices)[at] = index;
            } else {
                ((int32_t *)lists.indices)[at] = (int32_t)index;
            }
            if (lists.distances) {
                float squared = INFINITY;
                if (there && MODE == PC_MODE_FIRST) {
                    const float *p = call.data + (points.record + own) * call.stride;
                    squared = pc_squared_distance(p[0], p[1], p[2], g.x, g.y, g.z);
                } else if (there) {
                    squared = pc_bits_float((int32_t)(key >> 32));
                }
                lists.distances[at] = sqrtf(squared);
            }
        }
    }
    if (lists.counts) {
        lists.counts[record] = MODE == PC_MODE_COUNT ? g.count : count;
    }
}

/* A warp per group; blockIdx.y: the cloud. */
template <int K, pc_neighbors_mode MODE>
__global__ static void __launch_bounds__(PC_NEIGHBORS_WARPS * 32)
    search_kernel(const pc_neighbors_call call, bool same) {
    __shared__ float4 leaves[PC_NEIGHBORS_WARPS][PC_LEAF];
    __shared__ pc_open_node stacks[PC_NEIGHBORS_WARPS][PC_NEIGHBORS_LEVELS];
    const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    const int64_t id = (int64_t)blockIdx.x * PC_NEIGHBORS_WARPS + warp;
    const pc_neighbors_cloud &points = call.points[blockIdx.y], &queries = call.queries[blockIdx.y];
    if (id >= queries.count[0]) {
        return;
    }
    const pc_range range = queries.level[0][id];
    const bool there = lane < (int)range.count;
    const float4 q = queries.sorted[range.begin + (there ? lane : 0)];
    const bool usable = there && q.x == q.x;
    const int64_t empty = pc_neighbor_empty(MODE == PC_MODE_FIRST, call.squared);
    const int k = MODE == PC_MODE_COUNT ? 1 : call.k;
    pc_group<K> g;
    g.x = usable ? q.x : NAN;
    g.y = q.y;
    g.z = q.z;
    g.count = 0;
    for (int a = 0; a < 3; a++) {
        g.low[a] = range.low[a];
        g.high[a] = range.high[a];
        g.middle[a] = 0.5f * range.low[a] + 0.5f * range.high[a];
    }
#pragma unroll(K <= 64 ? K : 1)
    for (int j = 0; j < K; j++) {
        g.list.key[j] = j < k ? empty : -1;
    }
    g.limit = usable ? pc_neighbor_limit(MODE == PC_MODE_FIRST, call.squared, empty, !call.means) : 0;
    g.largest = pc_warp_max((uint32_t)g.limit);
    if (points.levels > 0 && g.largest > 0) {
        if (same) {
            scan_leaf<K, MODE>(call, g, range, points.sorted, leaves[warp]);
        }
        search_tree<K, MODE>(call, points, g, same ? (uint32_t)id : ~0u, leaves[warp], stacks[warp]);
    }
    if (there && MODE == PC_MODE_NEAREST && call.means) {
        write_mean(call, g, queries.record + pc_float_bits(q.w));
    } else if (there) {
        write_list<K, MODE>(call, points, g, queries.record + pc_float_bits(q.w), empty);
    }
}

#endif
