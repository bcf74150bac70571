/* Clouds that are larger than the memory, in pieces. A part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_PIECES_H
#define PCGPU_PIECES_H

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* A file that is read in pieces, as often as it is needed. Its records have the values, names, types and offset that
 * pcgpu_read gives them. */
typedef struct pcgpu_pieces pcgpu_pieces;

/* Whether files of this format can be read in pieces: bin, npy and las. */
bool pcgpu_format_has_pieces(const pcgpu_format_info *format);

/* Opens a regular file; a piece takes at most about `bytes` of memory. The offset of a .las needs one pass over the file. The
 * context is used until pcgpu_pieces_close. *pieces is NULL on failure. Errors: IO, FORMAT, MEMORY, ARGUMENT (a format that
 * is not read in pieces). */
pcgpu_status pcgpu_pieces_open(pcgpu_context *context, const char *path, const pcgpu_read_options *options, size_t bytes,
                               pcgpu_pieces **pieces);
void pcgpu_pieces_close(pcgpu_pieces *pieces); /* accepts NULL */

/* Describes the whole file: rows, columns, names, types and offset; data is NULL. */
void pcgpu_pieces_describe(const pcgpu_pieces *pieces, pcgpu_cloud *cloud);

/* The next piece, in the order of the file. Its data is valid until the next call and is not freed by the caller. Behind the
 * last piece it has 0 rows, and the call after that begins again. Errors: IO, FORMAT (the file became shorter). */
pcgpu_status pcgpu_pieces_next(pcgpu_pieces *pieces, pcgpu_cloud *piece);

/* pcgpu_voxelize of the whole file, with the same bytes, in about `memory` bytes; what is needed depends on the number of voxels:
 * about 24 + 8 F bytes each, with max_points or the features first 24 + 4 F. One pass over the file, and one more with
 * range_auto, and one more for the feature nearest, which needs 40 + 4 F or, without max_points, at least 24 + 8 F bytes. Not the
 * features points and pillar. Of the arrays, point_voxel is NULL, and so are coords and counts unless
 * `arrays`. Errors: as pcgpu_voxelize and pcgpu_pieces_next; ARGUMENT for other features; MEMORY also when there are more voxels
 * than `memory` holds. */
pcgpu_status pcgpu_voxelize_pieces(pcgpu_context *context, pcgpu_pieces *pieces, const pcgpu_voxelize_params *params,
                                   size_t memory, bool arrays, pcgpu_voxels *result);

/* pcgpu_sample of the whole file by PCGPU_SAMPLE_RANDOM without seeds, with the same picks, in about `memory` bytes: 44 + 4 F for
 * each pick. Two passes over the file. `cloud` receives the records in pick order, which pcgpu_cloud_gather would give; the
 * caller frees it. The coverage is NaN. Errors: as pcgpu_sample and pcgpu_pieces_next; ARGUMENT for another method; MEMORY
 * also when the picks need more than `memory`. */
pcgpu_status pcgpu_sample_pieces(pcgpu_context *context, pcgpu_pieces *pieces, const pcgpu_sample_params *params,
                                 size_t memory, pcgpu_sampled *result, pcgpu_cloud *cloud);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
