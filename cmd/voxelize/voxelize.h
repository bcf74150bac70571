/* Between the files of pcgpu voxelize: the voxels of a job, and what files hold of them as arrays or as a cloud. */
#ifndef VOXELIZE_H
#define VOXELIZE_H

#include "job.h"

/* True for features with a row for each point. */
bool features_are_padded(pcgpu_features features);
/* Those of the library, from the options in effect. */
pcgpu_voxelize_params voxelize_parameters(const job *j);

/* Voxelizes the cloud of a job, fills its run and result, and says what was dropped; with --strict dropped points are
 * an error. Returns an exit code; on failure there is nothing to free. */
int voxelize_cloud(job *j, pcgpu_voxels *v);

/* Features are relative to the cloud's offset, arrays hold the coordinates of the file: adds the offset, and warns
 * about what float32 cannot hold. */
void voxels_add_offset(const job *j, pcgpu_voxels *v);

/* Writes --output as arrays: .npz has the features, coords, num_points and the `count` <= 3 arrays `more`, others have
 * the features alone. Returns an exit code. */
int voxels_write(job *j, const pcgpu_voxels *v, const pcgpu_array *more, int count);
/* --coords, --counts, --point-voxel. */
int voxels_write_sides(job *j, const pcgpu_voxels *v);
/* Writes --output as a cloud of one point a voxel with the input's columns: the point that first and nearest chose,
 * else the mean. Returns an exit code. */
int voxels_write_cloud(job *j, const pcgpu_voxels *v);
/* The voxel of each record. */
pcgpu_array voxels_point_array(const pcgpu_voxels *v);

int voxelize_process(job *j);
int voxelize_batch(session *s); /* all inputs into one file */

#endif
