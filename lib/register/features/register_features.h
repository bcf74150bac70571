/* Starts of a registration from features: points of voxels with descriptors (features.c), matches of two clouds
 * (matches.c), and the transforms on which many of these agree (consensus.c). */
#ifndef PC_FEATURES_H
#define PC_FEATURES_H

#include "register.h"

/* A descriptor is a fast point feature histogram (FPFH, Rusu et al. 2009): 3 histograms of 10 bins, padded with zeros
 * to what vectors hold. */
enum { PC_DESCRIPTOR_BINS = 10, PC_DESCRIPTOR = 3 * PC_DESCRIPTOR_BINS, PC_DESCRIPTOR_PADDED = 32 };

/* Means of voxels, in metres without the offset of the cloud. */
typedef struct pc_features {
    int n;
    double voxel;         /* metres */
    pc_rows points;       /* xyz; unit normals, zero where there is none */
    int16_t *descriptors; /* PC_DESCRIPTOR_PADDED a point */
} pc_features;

/* Starts in any rotation, of two clouds; `degrees` is not used. Errors: MEMORY. */
pc_search_fn pc_search_features;

/* The points of a cloud: means of voxels of this size, or as much wider, by powers of two, as are needed for no more
 * than `most` points. Then their descriptors: normals point to the sensor where the cloud and those that it is compared
 * with were seen from their origins, else to the side of their neighbours. Free them in any case. Errors: MEMORY. */
enum { PC_FEATURES_MOST = 3000 };
pcgpu_status pc_features_sample(pcgpu_context *context, const pcgpu_register_params *params, const pcgpu_cloud *cloud,
                                double voxel, int most, pc_features *features);
pcgpu_status pc_features_describe(pcgpu_context *context, const pcgpu_cloud *cloud, bool from_origin,
                                  pc_features *features);
void pc_features_free(pc_features *features);

/* A point of the source and one of the target that are each other's nearest by their descriptors. */
typedef struct pc_match {
    int32_t source, target;
} pc_match;
/* At most PC_MATCHES_MOST, of which those that are nearest. Errors: MEMORY. */
enum { PC_MATCHES_MOST = 1024 };
pcgpu_status pc_features_match(pcgpu_context *context, const pc_features *source, const pc_features *target,
                               pc_match matches[PC_MATCHES_MOST], int *count);

/* The transforms on which most matches agree, best first; their scores are the numbers of these matches. Errors:
 * MEMORY. */
pcgpu_status pc_features_agree(pcgpu_context *context, const pc_features *source, const pc_features *target,
                               const pc_match *matches, int count, pc_start starts[PC_STARTS], int *found);

/* The same as starts of a registration, of clouds whose features have voxels of one size. Errors: MEMORY. */
pcgpu_status pc_features_starts(pcgpu_context *context, const pcgpu_register_params *params,
                                const pc_features *of_source, const pc_features *of_target, const pcgpu_cloud *source,
                                const pcgpu_cloud *target, pc_start starts[PC_STARTS], int *count);

#endif
