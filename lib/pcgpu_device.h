/* Operations on arrays in the memory of a GPU, on a stream of the caller. See pcgpu.h for the conventions.
 *
 * A call returns when its work is in the stream: it does not wait for it, copies nothing to or from the host, and
 * allocates only where an earlier call of the context has not left enough memory. So, after one call with the same
 * shapes, it may be captured in a CUDA graph; the graph is valid until the context is closed or a larger call is made.
 * The memory of a context serves one call after the other: calls of one context go to one stream, or the caller orders
 * them by events.
 *
 * The context is opened with PCGPU_DEVICE_CUDA, for the device that has the arrays. `stream` is a cudaStream_t of this
 * device; NULL is the default stream. Results are those of the operations on host arrays, bit for bit. What those
 * report of the points as an error or a count is a number in device memory here. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_DEVICE_H
#define PCGPU_DEVICE_H

/* Picks, `params->count` (M) per cloud. */
typedef struct pcgpu_device_picks {
    void *indices; /* device, count x M: the record of a pick, counted from 0 in each cloud; -1 behind the last pick */
    int index_bytes;  /* 4: int32, 8: int64 */
    float *distances; /* device, count x M, or NULL: as in pcgpu_sampled; 0 behind the last pick */
    int32_t *picked;  /* device, count, or NULL: the number of picks. It is less than M where fewer points are usable or
                       * the minimum distance ended sampling, and 0 where the first pick is not a usable record */
} pcgpu_device_picks;

/* Farthest point sampling of each cloud: `count` picks, or fewer with a minimum distance. The start is the first usable
 * record or a record (start_index, or one of starts per cloud); columns may be any of a record; ratio, seeds, the other
 * starts and methods are for host arrays.
 * Errors: ARGUMENT (those parameters; M of 0 or more than the records of a cloud; a stride below 3; memory that is not
 * of the context's device), UNAVAILABLE (the context has no CUDA device), MEMORY, DEVICE. */
pcgpu_status pcgpu_sample_device(pcgpu_context *context, void *stream, const pcgpu_clouds *clouds,
                                 const pcgpu_sample_params *params, const pcgpu_device_picks *picks);

/* Voxels, with the shapes of pcgpu_voxels; V is at most `params->max_voxels`, and so many rows have the arrays. Rows
 * behind V are not written. */
typedef struct pcgpu_device_voxels {
    float *features;      /* device: max_voxels x columns, or max_voxels x max_points x columns */
    int32_t *coords;      /* device, max_voxels x 4 */
    int32_t *counts;      /* device, max_voxels */
    int32_t *point_voxel; /* device, rows, or NULL */
    int32_t *count;       /* device, 1: V */
} pcgpu_device_voxels;

/* Voxelization of `rows` records of `columns` floats, one after the other. max_voxels and a range are required; for
 * points and pillar max_points, too.
 * Errors: ARGUMENT (the parameters, as for pcgpu_voxelize; max_points above 64, more than 16 columns or 2^32 - 2 cells;
 * memory that is not of the context's device), UNAVAILABLE (the context has no CUDA device), MEMORY, DEVICE. */
pcgpu_status pcgpu_voxelize_device(pcgpu_context *context, void *stream, const float *data, int64_t rows, int columns,
                                   const pcgpu_voxelize_params *params, const pcgpu_device_voxels *voxels);

/* pcgpu_neighbors of points, queries and lists in device memory.
 * Errors: as pcgpu_neighbors, and for memory that is not of the context's device; UNAVAILABLE (the context has no CUDA
 * device). */
pcgpu_status pcgpu_neighbors_device(pcgpu_context *context, void *stream, const pcgpu_clouds *points,
                                    const pcgpu_clouds *queries, const pcgpu_neighbors_params *params,
                                    const pcgpu_neighbor_lists *lists);

/* pcgpu_register_pairs of clouds whose `data` are in device memory; the other fields of a cloud, and the results, are
 * the host's. Unlike the others, this call waits for the stream and for its own work, and is not for CUDA graphs. With
 * method ndt the clouds stay on the device; ICP, search ALWAYS, min_range, beam_correction, a pair that starts a search
 * and clouds far from 0 are copied to the host.
 * Errors: as pcgpu_register_pairs, and as pcgpu_neighbors_device. */
pcgpu_status pcgpu_register_device(pcgpu_context *context, void *stream, const pcgpu_pair *pairs, int count,
                                   const pcgpu_register_params *params, pcgpu_registration *results);

/* pcgpu_points_in_boxes of arrays in device memory, for clouds of equal numbers of records (offsets NULL). Boxes with
 * numbers that the other refuses hold no point.
 * Errors: as pcgpu_points_in_boxes, and as pcgpu_neighbors_device. */
pcgpu_status pcgpu_points_in_boxes_device(pcgpu_context *context, void *stream, const pcgpu_clouds *points,
                                          const float *boxes, int64_t count, int32_t *first, uint8_t *inside);

/* pcgpu_find_outliers and pcgpu_find_sparse of `rows` records of `columns` floats, one after the other; data and mask
 * are in device memory.
 * Errors: as those, and as pcgpu_neighbors_device. */
pcgpu_status pcgpu_find_outliers_device(pcgpu_context *context, void *stream, const float *data, int64_t rows,
                                        int columns, int k, double sigmas, uint8_t *mask);
pcgpu_status pcgpu_find_sparse_device(pcgpu_context *context, void *stream, const float *data, int64_t rows,
                                      int columns, float radius, int64_t others, uint8_t *mask);
#endif
