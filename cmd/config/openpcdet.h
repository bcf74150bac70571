/* Configurations of OpenPCDet (github.com/open-mmlab/OpenPCDet, tools/cfgs/): what a data or model YAML says about
 * voxels.
 *
 *   POINT_CLOUD_RANGE                    range
 *   DATA_PROCESSOR, the entry NAME: transform_points_to_voxels
 *     VOXEL_SIZE                         size
 *     MAX_POINTS_PER_VOXEL               max-points
 *     MAX_NUMBER_OF_VOXELS: train, test  max-voxels, chosen by --split
 *   or NAME: transform_points_to_voxels_placeholder, which has the VOXEL_SIZE alone and no limits
 *   MODEL: VFE: NAME                     features, where they have a name here: PillarVFE pillar, MeanVFE mean
 *
 * A model YAML has the first two under DATA_CONFIG. What a mapping does not say is taken from the file that its
 * _BASE_CONFIG_ names; such a file is only looked for when something is missing. All other keys are passed over. */
#ifndef OPENPCDET_H
#define OPENPCDET_H

#include "document.h"
#include "options.h"

/* True when the top level of a document has keys of such a file. */
bool openpcdet_is(const document *d);
/* Sets the options of voxelize. What neither the file nor the command line says is an error. */
bool openpcdet_read(const document *d, const command_info *command, option_values *options);

#endif
