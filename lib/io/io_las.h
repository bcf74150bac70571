/* What reading and writing of .las and .laz share. */
#ifndef PC_IO_LAS_H
#define PC_IO_LAS_H

#include "io.h"

/* Bytes of headers: of version 1.2 and 1.4, of a variable length record and an extended one; of the description of an
 * extra dimension. */
enum { PC_LAS_HEADER = 227, PC_LAS_HEADER_14 = 375, PC_LAS_VLR = 54, PC_LAS_EXTENDED = 60, PC_LAS_EXTRA = 192 };

/* The header of a file: checked, except for the number of points, against the bytes that are there. */
typedef struct pc_las {
    size_t header, start, records;  /* bytes of the header, where the points begin, variable length records */
    uint64_t extended_at, extended; /* the extended ones, of version 1.4 */
    bool compressed;
    int format;                    /* of points: 0 to 10 */
    size_t stride, size;           /* bytes of a point, and of those that its format has */
    size_t time, colour, infrared; /* where a point has them; 0: nowhere */
    uint64_t points;
    double scale[3], offset[3];
} pc_las;

/* A dimension of whole numbers that are bits of a point: in formats 0 to 5, and from 6 on. */
typedef struct pc_las_dimension {
    const char *name;
    struct {
        uint8_t at, low, bits; /* bits 0: the formats do not have it */
    } in[2];
    int8_t unset; /* what a file means that has no such column, or PC_NO_DEFAULT: always a column */
} pc_las_dimension;

enum { PC_LAS_DIMENSIONS = 14 };
extern const pc_las_dimension pc_las_dimensions[PC_LAS_DIMENSIONS];

/* Steps of scan_angle from format 6 on, degrees; 1 before. */
#define PC_LAS_ANGLE 0.006

/* The dimensions that stand apart: x y z, floating point and colours. Where a format has what; 0 = nowhere. */
typedef struct pc_las_layout {
    uint8_t size, time, colour, infrared;
} pc_las_layout;

enum { PC_LAS_FORMATS = 11 };
extern const pc_las_layout pc_las_layouts[PC_LAS_FORMATS];

/* A column that a format has and whose values do not fit there is an extra dimension of its name with this behind it:
 * two dimensions with one name confuse readers. */
#define PC_LAS_VALUE "_value"
/* Whether point formats have a dimension of this name, or of it without PC_LAS_VALUE. */
bool pc_las_has(const char *label, size_t length);

/* io_laz.c: expands the points to records as a .las has them, from byte 0 on. Errors: FORMAT (also: LASzip is not
 * installed), MEMORY; there is then nothing to free. */
pcgpu_status pc_laz_expand(const pc_file *file, const pc_bytes *bytes, const pc_las *las, pc_bytes *out);

/* io_las_records.c: keeps what the file holds besides points, and warns of what no cloud holds: `lost` and more.
 * `bytes`: all of the file, or its part before the points. Errors: MEMORY. */
pcgpu_status pc_las_keep(const pc_file *file, const pc_bytes *bytes, const pc_las *las, const char *lost,
                         pcgpu_header **header);
/* Whether there is a coordinate system, or one as text, which only version 1.4 has. */
bool pc_las_has_projection(const pcgpu_header *header, bool text);
/* Bytes 4 to 23 of a file: what is kept of those of another one. `modern`: of point format 6 or more. The header may be
 * NULL here and below. */
void pc_las_put_begin(const pcgpu_header *header, bool modern, unsigned char out[20]);
/* The records that stand before the points, or behind them; how many, and their bytes. The file is NULL to count
 * them. */
pcgpu_status pc_las_put_records(const pc_file *file, const pcgpu_header *header, bool behind, uint32_t *count,
                                uint64_t *size);

/* io_las_write.c */
pcgpu_status pc_las_write(const pc_file *file, const pcgpu_cloud *cloud);

#endif
