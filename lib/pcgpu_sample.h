/* Sampling. A part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_SAMPLE_H
#define PCGPU_SAMPLE_H

/* Farthest point sampling (Gonzalez 1985; Eldar et al. 1997): the first pick is given; every further pick is the point
 * with the largest distance to the earlier picks, and the lowest index on ties. No point is picked twice.
 * Squared distances are (dx*dx + dy*dy) + dz*dz in float32, of other columns summed in their order, too. */
typedef enum pcgpu_sample_method {
    PCGPU_SAMPLE_FPS,
    PCGPU_SAMPLE_RANDOM /* uniform without replacement, in the order of the draws, which is the same on every platform.
                           Seeds are not drawn. When the seeds are the picks of a call with the same `seed`, the draws
                           continue the sequence of that call */
} pcgpu_sample_method;

typedef enum pcgpu_sample_start {
    PCGPU_START_FIRST,  /* the first usable record */
    PCGPU_START_INDEX,  /* the record `start_index` */
    PCGPU_START_CENTER, /* the point farthest from the centroid (float64 mean in index order, rounded to float32) */
    PCGPU_START_RANDOM  /* a random record, by `seed` */
} pcgpu_sample_start;

typedef struct pcgpu_sample_params {
    size_t struct_size; /* set by pcgpu_sample_params_init */
    pcgpu_sample_method method;
    int64_t count;      /* number of picks, >= 1, without the seeds; 0 = not given */
    double ratio;       /* picks = max(1, floor(ratio * usable points)), in (0, 1]; 0 = not given */
    float min_distance; /* metres: stop when the next farthest point is nearer; 0 = not given. FPS only */
    pcgpu_sample_start start;
    int64_t start_index;   /* of INDEX: a record of the input that is usable; else 0 */
    const int64_t *starts; /* of INDEX: start_index of each cloud of a batch; NULL = start_index for all */
    uint64_t seed;
    bool drop_origin;
    const int32_t *seeds; /* seed_count distinct usable records of the input, which count as picked before the first
                             pick. Farthest point sampling continues from them; `start` then keeps its initial value.
                             For one cloud */
    int64_t seed_count;   /* 0 = none */
    bool coverage;        /* measure the coverage for RANDOM too, which costs a pass of farthest point sampling */
    bool at_most;         /* count is an upper bound: of fewer usable points all are picked, of none no pick. Not on a
                             device */
    int column_count; /* 0: distances have x y z. Else they have the first so many of `columns`, and a point is usable
                         when these are finite. FPS only */
    int columns[PCGPU_MAX_COLUMNS]; /* of the cloud, from 0 */
} pcgpu_sample_params;

typedef struct pcgpu_sampled {
    int64_t count;    /* 0 only with at_most and no usable point, or with seeds, and a minimum distance or at_most */
    int32_t *indices; /* count: records of the input, in pick order */
    float *distances; /* count: distance in metres of each pick to the nearest seed or earlier pick, +inf for the first
                          pick without seeds; FPS only */
    float coverage;   /* metres: the largest distance of a usable point to its nearest seed or pick (covering radius);
                          NaN when it was not measured */
    pcgpu_run run;
} pcgpu_sampled;

void pcgpu_sample_params_init_sized(pcgpu_sample_params *params, size_t struct_size);
#define pcgpu_sample_params_init(params) pcgpu_sample_params_init_sized(params, sizeof *(params))

/* Samples one cloud. Exactly one of count and ratio, or min_distance alone or with one of them as the upper bound.
 * Errors: ARGUMENT (count above the number of usable points that are not seeds without at_most, a start or seed that is
 * not usable, a repeated seed, more than 2^31-1 rows), MEMORY, DEVICE. */
pcgpu_status pcgpu_sample(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_sample_params *params,
                          pcgpu_sampled *result);

/* Samples several clouds with one call; CUDA samples them concurrently. results: `count` structs; all or none are
 * filled. Each equals the result of pcgpu_sample for its cloud, except for the times. */
pcgpu_status pcgpu_sample_batch(pcgpu_context *context, const pcgpu_cloud *const *clouds, int count,
                                const pcgpu_sample_params *params, pcgpu_sampled *results);
void pcgpu_sampled_free(pcgpu_sampled *result);
#endif
