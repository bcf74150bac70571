/* Voxelization. A part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_VOXELIZE_H
#define PCGPU_VOXELIZE_H

typedef enum pcgpu_features {
    PCGPU_FEATURES_MEAN,   /* V x F: mean of the kept points. With max_points: float32 sum in index order / count.
                              Without: the exact sum, rounded to float64, / count, rounded to float32; it does not
                              depend on the order, and |mean - exact mean m| <= (2^-24 + 2^-51) |m| + 2^-150. NaN and
                              infinities follow IEEE addition */
    PCGPU_FEATURES_POINTS, /* V x P x F: the kept points in index order, padded with zeros */
    PCGPU_FEATURES_PILLAR, /* V x P x 10: x y z r, x y z minus the mean of the kept points, x y z minus the pillar's
                              centre, padded with zeros (PointPillars, Lang et al. 2019); r = column 3, 0 without one */
    PCGPU_FEATURES_FIRST,  /* V x F: the voxel's first point */
    PCGPU_FEATURES_NEAREST /* V x F: the kept point nearest to the mean of the kept points, lowest index on ties */
} pcgpu_features;

/* Which voxels stay of more than max_voxels; lower ids on ties. They keep the order of their first points. */
typedef enum pcgpu_keep {
    PCGPU_KEEP_FIRST,
    PCGPU_KEEP_NEAREST, /* those whose center is nearest to the origin of the file */
    PCGPU_KEEP_MOST     /* those of most points, before max_points */
} pcgpu_keep;

/* What the mean of a voxel has of the classes of its kept points: of columns behind x y z whose type is a whole number
 * and whose names are not of colours, counts or measured values, such as intensity and time. */
typedef enum pcgpu_voxel_labels {
    PCGPU_VOXEL_LABELS_MAJORITY, /* the class of most points, the lowest on ties */
    PCGPU_VOXEL_LABELS_FIRST,    /* that of the first point */
    PCGPU_VOXEL_LABELS_MEAN      /* the mean, with a warning */
} pcgpu_voxel_labels;

/* Voxelization, first come first served, in float32: a point is in range when its cell c = floor((p - min) / size)
 * satisfies 0 <= c < cells, cells = round((max - min) / size), on each axis, as in spconv. So a point at max may be in
 * range by rounding, and the last cell is a whole one where the range is not. Voxel ids follow the order of the first
 * points. A voxel keeps its first max_points points. Voxels beyond max_voxels are dropped with their points. */
typedef struct pcgpu_voxelize_params {
    size_t struct_size; /* set by pcgpu_voxelize_params_init */
    bool range_auto;    /* range = the cloud's own bounds, its lower corner at a multiple of the size */
    double range[6];    /* x0 y0 z0 x1 y1 z1, metres, in the coordinates of the file */
    double size[3];     /* metres, > 0 */
    int64_t max_points; /* P >= 1; 0 = no limit (for points and pillar P is then the largest count) */
    int64_t max_voxels; /* 0 = no limit */
    pcgpu_features features;
    bool drop_origin;
    bool mask_xy;           /* also drop points with x > max or y > max, as OpenPCDet does before it makes voxels */
    pcgpu_keep keep_voxels; /* other than FIRST it takes up to three times as long; not on a device */
    pcgpu_voxel_labels voxel_labels; /* for PCGPU_FEATURES_MEAN; arrays on a device have no types, so no classes */
} pcgpu_voxelize_params;

typedef struct pcgpu_voxels {
    int64_t count;        /* V */
    int64_t capacity;     /* P of points and pillar, else 1 */
    int columns;          /* values per feature row: F, or 10 for pillar */
    float *features;      /* V x columns, or V x P x columns; x y z relative to the cloud's offset */
    int32_t *coords;      /* V x 4: batch (0), z, y, x */
    int32_t *counts;      /* V: kept points */
    int32_t *point_voxel; /* input rows: the voxel that keeps the point, -1 = dropped */
    int32_t *selected;    /* V: the record chosen by first and nearest, else NULL */
    double range[6];      /* the range in effect */
    int32_t cells[3];     /* x, y, z */
    int64_t in_range, kept, out_of_range, over_points, over_voxels; /* in_range = kept + over_points + over_voxels */
    int64_t voxels_found;                                           /* before max_voxels */
    int64_t largest;                                                /* most points in one voxel, before max_points */
    uint8_t types[PCGPU_MAX_COLUMNS]; /* of the columns: those of the cloud, FLOAT32 of means of whole numbers */
    pcgpu_run run;
} pcgpu_voxels;

void pcgpu_voxelize_params_init_sized(pcgpu_voxelize_params *params, size_t struct_size);
#define pcgpu_voxelize_params_init(params) pcgpu_voxelize_params_init_sized(params, sizeof *(params))

/* Errors: ARGUMENT (invalid size or range, more than 2^24 cells per axis or 2^62 in total), MEMORY, DEVICE. */
pcgpu_status pcgpu_voxelize(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_voxelize_params *params,
                            pcgpu_voxels *result);
void pcgpu_voxels_free(pcgpu_voxels *result);
#endif
