/* Nearest neighbours and neighbours within a radius. A part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_NEIGHBORS_H
#define PCGPU_NEIGHBORS_H

/* Clouds in one array of records. A record is `stride` floats, the first three of which are x y z in metres. */
typedef struct pcgpu_clouds {
    const float *data; /* on the host; on the device for a function of pcgpu_device.h */
    int64_t stride;    /* floats from a record to the next one, 3 or more */
    int64_t count;     /* clouds, 1 or more */
    int64_t rows;      /* records per cloud, if `offsets` is NULL */
    /* Host, count + 1, ascending: cloud i has the records offsets[i] to offsets[i + 1] - 1 of `data`. NULL: `rows`
     * records each, one cloud after the other. It may be freed after the call. */
    const int64_t *offsets;
} pcgpu_clouds;

typedef enum pcgpu_neighbors_order {
    PCGPU_NEIGHBORS_NEAREST, /* the k nearest points, ascending by distance, then by index */
    PCGPU_NEIGHBORS_FIRST    /* the k points of the lowest indices within the radius, ascending, which is the ball query
                                of PointNet++ (Qi et al. 2017) */
} pcgpu_neighbors_order;

enum { PCGPU_NEIGHBORS_MOST = 128 };

/* Squared distances are float32, (dx*dx + dy*dy) + dz*dz. A point is within the radius r if its squared distance is
 * less than r*r in float32. A record with a coordinate that is not finite is no neighbour and has none. */
typedef struct pcgpu_neighbors_params {
    size_t struct_size; /* set by pcgpu_neighbors_params_init */
    pcgpu_neighbors_order order;
    int k;        /* 1 to PCGPU_NEIGHBORS_MOST neighbours per query; 0: only their number within the radius */
    float radius; /* metres; 0 (default) = no limit, for NEAREST with k alone */
    bool pad;     /* entries behind the last neighbour repeat the first one, without one they are record 0 at infinity;
                     as in PointNet++ */
    bool global;  /* indices count from record 0 of `data`, not from the first record of the cloud */
} pcgpu_neighbors_params;

/* The neighbours of each record of the queries, in memory of the caller. */
typedef struct pcgpu_neighbor_lists {
    void *indices; /* queries x k: the record, counted from 0 in its cloud; -1 behind the last neighbour, unless pad */
    int index_bytes;  /* 4: int32, 8: int64 */
    float *distances; /* queries x k, metres, or NULL; infinity behind the last neighbour, unless pad */
    int32_t *counts;  /* queries, or NULL: the neighbours listed; for k = 0 all points within the radius */
} pcgpu_neighbor_lists;

void pcgpu_neighbors_params_init_sized(pcgpu_neighbors_params *params, size_t struct_size);
#define pcgpu_neighbors_params_init(params) pcgpu_neighbors_params_init_sized(params, sizeof *(params))

/* Finds the neighbours of the records of cloud i of `queries` among the points of cloud i of `points`; both have the
 * same number of clouds, and may be the same array: then each point is a neighbour of its own. Exact: the lists are
 * those of a loop over all points, on every back end. *run, or NULL: how it ran. Device arrays: pcgpu_neighbors_device.
 * Errors: ARGUMENT (the parameters; another number of clouds; more than 2^31 - 1 records), MEMORY, DEVICE. */
pcgpu_status pcgpu_neighbors(pcgpu_context *context, const pcgpu_clouds *points, const pcgpu_clouds *queries,
                             const pcgpu_neighbors_params *params, const pcgpu_neighbor_lists *lists, pcgpu_run *run);
#endif
