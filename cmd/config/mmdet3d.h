/* Configurations of mmdetection3d (github.com/open-mmlab/mmdetection3d, configs/): the keys of a model for voxels.
 *
 *   model: data_preprocessor: voxel_layer   (1.x; in 0.x model: voxel_layer or pts_voxel_layer)
 *     point_cloud_range                     range
 *     voxel_size                            voxel-size
 *     max_num_points                        max-points; -1 is dynamic voxelization
 *     max_voxels                            max-voxels: a number, or (train, test), chosen by --split
 *   model: data_preprocessor: voxel_type    voxelization: hard or dynamic
 *   model: voxel_encoder or pts_voxel_encoder
 *     type                                  must take the arrays of this voxelization
 *     in_channels, num_features             the number of columns
 *
 * The files are Python; only their literals are read (python_config.h). A missing key of a dict is searched in the
 * files of _base_, unless the dict has _delete_=True. */
#ifndef MMDET3D_H
#define MMDET3D_H

#include "options.h"

/* True for a file name of such a configuration: NAME.py. */
bool mmdet3d_is(const char *path);
/* Sets the options of voxelize. A value that neither the files nor the command line give is an error. */
bool mmdet3d_load(const char *path, const command_info *command, option_values *options, reason *why);

#endif
