/* What reading and writing of .las and .laz share. */
#ifndef PC_IO_LAS_H
#define PC_IO_LAS_H

#include "io.h"

/* The header of a file: checked, except for the number of points, against the bytes that are there. */
typedef struct pc_las {
    size_t header, start, records;          /* bytes of the header, where the points begin, variable length records */
    uint64_t extended_at, extended;         /* the extended ones, of version 1.4 */
    bool compressed;
    int format;                             /* of points: 0 to 10 */
    size_t stride, size;                    /* bytes of a point, and of those that its format has */
    size_t time, colour, infrared;          /* where a point has them; 0: nowhere */
    uint64_t points;
    double scale[3], offset[3];
} pc_las;

/* A column that a format has and whose values do not fit there is an extra dimension of its name with this behind it: two
 * dimensions with one name confuse readers. */
#define PC_LAS_VALUE "_value"
/* Whether point formats have a dimension of this name, or of it without PC_LAS_VALUE. */
bool pc_las_has(const char *label, size_t length);

/* io_laz.c: expands the points to records as a .las has them, from byte 0 on. Errors: FORMAT (also: LASzip is not
 * installed), MEMORY; there is then nothing to free. */
pcgpu_status pc_laz_expand(pcgpu_context *context, const char *name, const pc_bytes *bytes, const pc_las *las, pc_bytes *out);

/* io_las_write.c */
pcgpu_status pc_las_write(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_cloud *cloud);

#endif
