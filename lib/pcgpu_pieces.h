/* Clouds that are larger than the memory, in pieces. A part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_PIECES_H
#define PCGPU_PIECES_H

/* A file that is read in pieces, as often as it is needed. Its records have the values, names, types and offset that
 * pcgpu_read gives them. */
typedef struct pcgpu_pieces pcgpu_pieces;

/* Whether files of this format can be read in pieces: bin, npy and las. */
bool pcgpu_format_has_pieces(const pcgpu_format_info *format);

/* Opens a regular file; a piece takes at most about `bytes` of memory. The offset of a .las needs one pass over the
 * file. The context is used until pcgpu_pieces_close. *pieces is NULL on failure. Errors: IO, FORMAT, MEMORY, ARGUMENT
 * (a format that is not read in pieces). */
pcgpu_status pcgpu_pieces_open(pcgpu_context *context, const char *path, const pcgpu_read_options *options,
                               size_t bytes, pcgpu_pieces **pieces);
void pcgpu_pieces_close(pcgpu_pieces *pieces); /* accepts NULL */

/* Describes the whole file: rows, columns, names, types and offset; data is NULL, and its header is that of the pieces,
 * so that nothing is freed. */
void pcgpu_pieces_describe(const pcgpu_pieces *pieces, pcgpu_cloud *cloud);

/* The next piece, in the order of the file. Its data is valid until the next call and is not freed by the caller.
 * Behind the last piece it has 0 rows, and the call after that begins again. Errors: IO, FORMAT (the file became
 * shorter). */
pcgpu_status pcgpu_pieces_next(pcgpu_pieces *pieces, pcgpu_cloud *piece);

/* pcgpu_voxelize of the whole file, with the same bytes, in about `memory` bytes and by all threads, for means, first
 * and nearest points, without max_points and max_voxels. A pass over the file makes as many voxels as the memory holds:
 * each needs 24 bytes and its values: 8 F, for first 4 F, for nearest 24 + 4 F and at least 8 F. So it takes one pass,
 * or more where there are more voxels. One more is for range_auto; nearest takes each pass twice. Classes of means take
 * one or more at the end, and 4 bytes per record.
 * An array that the memory does not hold is in a temporary file in the folder settings.scratch, with a reservation of
 * the disk; pcgpu_voxels_free releases it.
 * `wanted`: coords and counts, and point_voxel, are NULL without their bits; selected always is. The file may have more
 * than 2^31 - 1 records. Errors: as pcgpu_voxelize and pcgpu_pieces_next; IO also where the disk is full; ARGUMENT also
 * for limits and other features, and where a count of points or an id of a voxel that is wanted exceeds 32 bits. */
enum { PCGPU_PIECES_ARRAYS = 1, PCGPU_PIECES_POINT_VOXEL = 2 };
pcgpu_status pcgpu_voxelize_pieces(pcgpu_context *context, pcgpu_pieces *pieces, const pcgpu_voxelize_params *params,
                                   size_t memory, unsigned wanted, pcgpu_voxels *result);

/* pcgpu_sample of the whole file, with the same picks. At random, without seeds: two passes over the file in about
 * `memory` bytes, 96 + 4 F for each pick. Farthest point sampling, of at most 2^31 - 1 records: three passes, and 30
 * bytes for each usable point; what `memory` does not hold of them is in temporary files in the folder
 * settings.scratch, whose pages the system keeps in memory as long as it has some. `cloud` receives the records in pick
 * order, which pcgpu_cloud_gather would give; the caller frees it. Of a file with more than 2^31 - 1 records *wide has
 * the records of the picks, which the caller frees, and result->indices is NULL; else *wide is NULL. The coverage of
 * picks at random is NaN. Errors: as pcgpu_sample and pcgpu_pieces_next; IO also where the disk is full; ARGUMENT for
 * seeds at random; MEMORY also when the picks need more than `memory`. */
pcgpu_status pcgpu_sample_pieces(pcgpu_context *context, pcgpu_pieces *pieces, const pcgpu_sample_params *params,
                                 size_t memory, pcgpu_sampled *result, int64_t **wide, pcgpu_cloud *cloud);
#endif
