/* Shared by the files of sets of clouds, which are placed in one frame: register_all.c (the clouds, what they share and
 * the result), all_pairs.c (which clouds may fit each other, and their registrations) and all_graph.c (groups of clouds
 * that fit, and their poses). */
#ifndef PC_REGISTER_ALL_H
#define PC_REGISTER_ALL_H

#include "register_features.h"

/* A registration of two clouds that converged. */
typedef struct pc_all_link {
    pcgpu_set_link found;
    double sigma[2]; /* radians, and metres at the source's centroid */
    int agree;       /* features that found it; of one that the poses found: 0 */
    bool out;        /* it contradicts the others */
} pc_all_link;

typedef struct pc_all {
    pcgpu_context *context;
    int n;
    pc_scan *scans;                /* n */
    pcgpu_register_params *params; /* of each cloud as a target */
    pc_features *features;
    pc_seen *seen;
    pc_view **views;
    pcgpu_set_cloud *clouds; /* their poses, so far */
    int32_t *agree;          /* of each pair, see pc_all_pair: features that agree; -1: it was registered */
    pc_all_link *links;
    int link_count;
    pc_buffer link_memory;
    int registered;
    double variance; /* of the residuals of the graph, in those of the links; 1 where there is no cycle */
    pcgpu_run run;
} pc_all;

/* The index of a pair of two different clouds. */
static inline int64_t pc_all_pair(int i, int j) {
    const int64_t high = i > j ? i : j, low = i > j ? j : i;
    return high * (high - 1) / 2 + low;
}

/* Compares all pairs of clouds by their features. Errors: MEMORY. */
pcgpu_status pc_all_compare(pc_all *a);
/* Registers pairs, a few for each cloud and none twice; *count: how many. joins: those of two groups whose features
 * agree best, else those of one group that overlap most by their poses. */
pcgpu_status pc_all_register(pc_all *a, bool joins, int *count);

/* How two scans of a group compare by their poses. Errors: MEMORY. */
pcgpu_status pc_all_view(pc_all *a, int source, int target, pc_view_comparison *compared);
/* Groups of clouds by the links that do not contradict each other, and the poses of their clouds. Errors: MEMORY. */
pcgpu_status pc_all_place(pc_all *a);

#endif
