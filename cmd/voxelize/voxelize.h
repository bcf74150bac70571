/* What the files of pcgpu voxelize share: the voxels of a job, and their output as arrays or as a cloud. */
#ifndef VOXELIZE_H
#define VOXELIZE_H

#include "cloud.h"
#include "job.h"

typedef enum dtype { DTYPE_FLOAT32, DTYPE_FLOAT16 } dtype;
typedef enum split { SPLIT_TEST, SPLIT_TRAIN } split;
/* Whose names and shapes the arrays have. */
typedef enum layout { LAYOUT_PCGPU, LAYOUT_OPENPCDET, LAYOUT_MMDET3D } layout;
/* Hard: points padded per voxel, with limits; dynamic: all points, for encoders that make voxels themselves. */
typedef enum voxelization { VOXELIZATION_HARD, VOXELIZATION_DYNAMIC } voxelization;

/* The values of its own options. */
typedef struct voxelize_values {
    pcgpu_voxelize_params params;
    const char *coords, *counts, *point_voxel;
    dtype dtype;
    bool strict;
    layout layout;
    voxelization voxelization;
    split split;  /* of a configuration of a detector */
    bool shuffle; /* by `seed` */
    uint64_t seed;
    /* By that configuration, and no options: */
    bool detector;                   /* it was read */
    int wants_columns, wants_sweeps; /* of each input; 0 = any */
    int wants_points;                /* that sample_points takes; 0 = all */
} voxelize_values;
OWN_VALUES(voxelize)

/* The parameters of the library, from the options in effect. */
pcgpu_voxelize_params voxelize_parameters(const job *j);

/* Voxelizes the cloud of a job, fills its run and result, and reports the dropped points; with strict, dropped points
 * are an error. Returns an exit code; on failure `v` owns nothing. */
int voxelize_cloud(job *j, pcgpu_voxels *v);
/* Fails when the cloud has not the columns that the encoder of a detector's configuration takes. */
int voxels_check_columns(const job *j);
/* What both do with the voxels. */
int voxels_check(job *j, pcgpu_voxels *v);
/* Whether an input needs more memory than there is, so that it is read in pieces. */
bool voxelize_reads_pieces(const session *session, const char *input);

/* Adds the offset of the cloud to the features, since arrays have the coordinates of the file. Warns when float32 loses
 * precision. */
void voxels_add_offset(const job *j, pcgpu_voxels *v);

/* The warning about coordinates that float32 rounds by up to `largest`; nothing for 0. */
void voxels_warn_rounded(const job *j, double largest);

/* Writes --output: .npz has all arrays, other formats the first, which is float32 and gets the type of --dtype. Returns
 * an exit code. */
int voxels_write_arrays(job *j, pcgpu_array *arrays, int count);
/* Writes --output as arrays: .npz has the features, coords, num_points and the `count` <= 3 arrays `more`; other
 * formats have only the features. Returns an exit code. */
int voxels_write(job *j, const pcgpu_voxels *v, const pcgpu_array *more, int count);
/* Writes --set coords, --set counts and --set point-voxel. Returns an exit code. */
int voxels_write_sides(job *j, const pcgpu_voxels *v);
/* Writes --output as a cloud of one point per voxel with the columns of the input: the point that first or nearest
 * selected, else the mean; the features move into it. Returns an exit code. */
int voxels_write_cloud(job *j, pcgpu_voxels *v);
/* The voxel of each record. */
pcgpu_array voxels_point_array(const pcgpu_voxels *v);

/* The arrays of dynamic voxelization, for one input or a batch. */
typedef struct dynamic_points {
    float *values;   /* count x columns */
    int32_t *coords; /* layout mmdet3d: count x 4: batch, z, y, x; else NULL */
    int64_t count;
    int columns;
} dynamic_points;

/* Appends the points of a job, whose number in the batch is `batch`. `v` has the voxel of each point. Return exit
 * codes. */
int dynamic_add(const job *j, const pcgpu_voxels *v, int batch, dynamic_points *points);
int dynamic_write(job *j, const dynamic_points *points);
void dynamic_free(dynamic_points *points);

int voxelize_process(job *j);
extern const job_sink voxelize_sink; /* all inputs into one file */

#endif
