/* Configurations of OpenPCDet (github.com/open-mmlab/OpenPCDet, tools/cfgs/): the keys of a data or model YAML for
 * voxels.
 *
 *   POINT_CLOUD_RANGE                    range
 *   DATA_PROCESSOR, the entry NAME: transform_points_to_voxels
 *     VOXEL_SIZE                         size
 *     MAX_POINTS_PER_VOXEL               max-points
 *     MAX_NUMBER_OF_VOXELS: train, test  max-voxels, chosen by --set split
 *   or NAME: transform_points_to_voxels_placeholder, which has only VOXEL_SIZE and no limits
 *   MODEL: VFE: NAME                     layout openpcdet: voxelization hard (PillarVFE, MeanVFE) or dynamic (Dyn...);
 *                                        with --layout pcgpu features: PillarVFE pillar, MeanVFE mean
 *   POINT_FEATURE_ENCODING: src_feature_list, used_feature_list: the number of columns, and fields
 *
 * A model YAML has the first two under DATA_CONFIG. A missing key of a mapping is searched in the file of its
 * _BASE_CONFIG_, which is opened only then. All other keys are ignored. */
#ifndef OPENPCDET_H
#define OPENPCDET_H

#include "document.h"
#include "options.h"

/* True when the top level of a document has keys of such a configuration. */
bool openpcdet_is(const document *d);
/* Sets the options of voxelize. A value that neither the file nor the command line gives is an error. */
bool openpcdet_read(const document *d, const command_info *command, option_values *options);

#endif
