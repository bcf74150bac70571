/* Kernels of libraries for learning on point clouds, which the device operations are measured beside. Arrays on the
 * device; a context's back end may be CUDA or the emulator. */
#ifndef PLAIN_H
#define PLAIN_H

#include "geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* PointNet++ (Qi et al. 2017), as its implementations have them: a block per cloud, a thread per query, which compares
 * all points. x y z each. */
/* b clouds of n points and m queries; indices: b x m x k, padded with the first neighbour, 0 without one. */
void plain_ball_query(void *stream, int b, int n, int m, float radius, int k, const float *queries, const float *points,
                      int *indices);
/* b clouds of n queries and m points; the three nearest. */
void plain_three_nn(void *stream, int b, int n, int m, const float *queries, const float *points, float *distances,
                    int *indices);

/* furthest_point_sampling of PointNet++, OpenPCDet and MMCV; with more columns fps of torch_cluster. One block of 1,024
 * threads per cloud, distances in global memory; each pick passes over all points. Where the original defines no answer
 * ties go to the lowest index, and no point is picked twice. points: b x n x columns; nearest: b x n, scratch; indices:
 * b x m, from point 0. */
void plain_sample(void *stream, int b, int n, int columns, int m, const float *points, float *nearest, int *indices);

/* The two passes of voxelize-cuda, CUDA-CenterPoint, BEVFusion and spconv: insert cells into a hash table, scatter
 * points into voxels, fill up with zeroes. Points have 4 columns. */
typedef struct plain_voxels {
    pc_grid grid; /* of fewer than 2^32 cells */
    int rows, voxels, capacity;
    const float *points;
    uint32_t slots;  /* a power of two, at least twice the voxels in range */
    uint64_t *table; /* slots: key + 1 (0 = free) and number of the voxel; cleared by the call */
    uint32_t *taken; /* voxels + 1: points of each, some over the capacity included, and voxels found; cleared */
    float *features; /* voxels x capacity x 4, 16-byte aligned */
    int32_t *coords; /* voxels x 4: 0, z, y, x; 16-byte aligned */
} plain_voxels;

void plain_voxelize(void *stream, const plain_voxels *v);

#ifdef __cplusplus
}
#endif
#endif
