/* The table of options. */
#include "options.h"

#include <string.h>

/* In the order of the library's enums. */
static const char *const sample_methods[] = {"fps", "random", NULL};
static const char *const register_methods[] = {"plane", "point", "ndt", "gicp", NULL};
static const char *const features[] = {"mean", "points", "pillar", "first", "nearest", NULL};
static const char *const paddings[] = {"none", "repeat", "zero", NULL};
static const char *const dtypes[] = {"float32", "float16", NULL};
static const char *const layouts[] = {"pcgpu", "openpcdet", "mmdet3d", NULL};
static const char *const voxelizations[] = {"hard", "dynamic", NULL};
static const char *const splits[] = {"test", "train", NULL};
static const char *const associations[] = {"auto", "projective", "nearest", NULL};
static const char *const transform_formats[] = {"matrix", "kitti", "tum", NULL};
static const char *const references[] = {"previous", "keyframe", "model", NULL};
static const char *const deskews[] = {"none", "time", "counterclockwise", "clockwise", NULL};
static const char *const alignments[] = {"rigid", "sim3", NULL};
static const char *const devices[] = {"auto", "cpu", "cuda", NULL};
static const char *const starts[] = {"first", "center", "random", NULL};
static const char *const automatic[] = {"auto", NULL};
static const char *const froms[] = {"auto", "iso", "top", "side", "front", "sensor", NULL};
static const char *const colormaps[] = {"viridis", "turbo", "grey", NULL};
static const char *const ups[] = {"auto", "x", "y", "z", "-x", "-y", "-z", NULL};
static const char *const picture_formats[] = {"auto", "png", "html", NULL};
static const char *const progress_modes[] = {"auto", "on", "off", NULL};

_Static_assert(sizeof(pcgpu_sample_method) == sizeof(int) && sizeof(pcgpu_register_method) == sizeof(int) &&
                   sizeof(pcgpu_features) == sizeof(int) && sizeof(dtype) == sizeof(int) &&
                   sizeof(pcgpu_reference) == sizeof(int) && sizeof(pcgpu_deskew) == sizeof(int) &&
                   sizeof(split) == sizeof(int) && sizeof(layout) == sizeof(int) && sizeof(padding) == sizeof(int) &&
                   sizeof(voxelization) == sizeof(int) && sizeof(association) == sizeof(int) &&
                   sizeof(transform_format) == sizeof(int),
               "type_choice stores an int");

#define AT(member) offsetof(option_values, member)
#define METRES     1e9 /* far above any cloud, without overflow in float32 squares */
#define FAR        1e6 /* the limit of registration */

/* name, letter, commands, flags, type, argument, field, min, max, choices, help */
static const option_row table[] = {
    /* sample */
    {"count", 'm', FOR_SAMPLE, OPTION_ZERO_IS_NONE, &type_int64, "N", AT(sample.count), 1, 2147483647, NULL,
     "Pick exactly N points. A larger N than the number of points is an error without --at-most and --pad."},
    {"at-most", 0, FOR_SAMPLE, 0, &type_flag, NULL, AT(sample.at_most), 0, 0, NULL,
     "Where there are fewer points than --count, pick all of them."},
    {"pad", 0, FOR_SAMPLE, 0, &type_choice, "KIND", AT(pad), 0, 0, paddings,
     "Where there are fewer points than --count, pick all and fill up: repeat: with the picks once more, in their "
     "order; zero: with rows of zeros, whose index is -1. none: do not."},
    {"batch", 0, FOR_SAMPLE, 0, &type_flag, NULL, AT(batch), 0, 0, NULL,
     "One array for all inputs: --count points of each, inputs x points x columns, as .npz or .npy."},
    {"ratio", 0, FOR_SAMPLE, OPTION_ZERO_IS_NONE | OPTION_ABOVE_MIN, &type_real, "R", AT(sample.ratio), 0, 1, NULL,
     "Pick this fraction of the usable points, in (0, 1]."},
    {"min-distance", 0, FOR_SAMPLE, OPTION_ZERO_IS_NONE | OPTION_ABOVE_MIN, &type_float, "D", AT(sample.min_distance),
     0, METRES, NULL,
     "Stop when the next farthest point is nearer than D metres to the picked ones; alone, or with --count or --ratio "
     "as the upper bound."},
    {"method", 0, FOR_SAMPLE, 0, &type_choice, "NAME", AT(sample.method), 0, 0, sample_methods,
     "fps: farthest point sampling; random: uniform without replacement."},
    {"seed", 0, FOR_SAMPLE, 0, &type_seed, "S", AT(sample.seed), 0, 0, NULL,
     "Seed of everything random; the same seed gives the same bytes on every platform."},
    {"start", 0, FOR_SAMPLE, 0, &type_start, "WHERE", AT(sample), 0, 2147483647, starts,
     "First pick: first (the first usable record), a record index, center (the point farthest from the centroid) or "
     "random (drawn with --seed)."},
    {"seeds", 0, FOR_SAMPLE, OPTION_INPUT, &type_path, "FILE", AT(seeds), 0, 0, NULL,
     "Record indices that count as earlier picks, in the format of --indices; sampling continues from them and "
     "writes only the new picks. For one input, in place of --start."},
    {"indices", 0, FOR_SAMPLE, OPTION_OUTPUT, &type_path, "FILE", AT(indices), 0, 0, NULL,
     "Write the record index of each pick in pick order, int32 little-endian (.npy, .npz or .txt by name)."},
    {"distances", 0, FOR_SAMPLE, OPTION_OUTPUT, &type_path, "FILE", AT(distances), 0, 0, NULL,
     "Write each pick's distance in metres to the earlier picks, infinite for the first pick, float32 little-endian "
     "(.npy, .npz or .txt by name)."},

    /* voxelize */
    {"range", 0, FOR_VOXELIZE, 0, &type_range, "X0,Y0,Z0,X1,Y1,Z1", AT(voxelize), -METRES, METRES, automatic,
     "Range of the grid, round((X1 - X0) / SX) voxels in x, metres; auto: that of the cloud, from a multiple of SX."},
    {"voxel-size", 0, FOR_VOXELIZE, OPTION_ABOVE_MIN, &type_size, "SX,SY,SZ", AT(voxelize.size), 0, METRES, NULL,
     "Size of a voxel in metres; one number makes a cube."},
    {"max-points", 0, FOR_VOXELIZE, 0, &type_int64, "P", AT(voxelize.max_points), 0, 2147483647, NULL,
     "Keep the first P points of a voxel; 0 = all."},
    {"max-voxels", 0, FOR_VOXELIZE, 0, &type_int64, "V", AT(voxelize.max_voxels), 0, 2147483647, NULL,
     "Keep the first V voxels; 0 = all."},
    {"features", 0, FOR_VOXELIZE, 0, &type_choice, "NAME", AT(voxelize.features), 0, 0, features,
     "mean: the mean of a voxel's kept points; points: the points themselves, padded with zeros; pillar: the ten "
     "values per point of PointPillars; first: the first point; nearest: the kept point nearest to the mean."},
    {"layout", 0, FOR_VOXELIZE, 0, &type_choice, "NAME", AT(layout), 0, 0, layouts,
     "Names and shapes of the arrays: pcgpu: by --features; openpcdet, mmdet3d: what the voxel encoders of OpenPCDet "
     "or mmdetection3d take, which a configuration of theirs chooses; see Layouts of pcgpu-voxelize(1)."},
    {"voxelization", 0, FOR_VOXELIZE, SET_IN(FOR_VOXELIZE), &type_choice, "KIND", AT(voxelization), 0, 0, voxelizations,
     "hard: voxels with up to P points each; dynamic: the points, without limits, for encoders that make voxels "
     "themselves. For --layout openpcdet and mmdet3d."},
    {"coords", 0, FOR_VOXELIZE, OPTION_OUTPUT | SET_IN(FOR_VOXELIZE), &type_path, "FILE", AT(coords), 0, 0, NULL,
     "Write the voxel coordinates, int32 V x 4: 0 or the number in the batch, z, y, x (.npy, .npz or .txt by name)."},
    {"counts", 0, FOR_VOXELIZE, OPTION_OUTPUT | SET_IN(FOR_VOXELIZE), &type_path, "FILE", AT(counts), 0, 0, NULL,
     "Write the number of kept points of each voxel, int32 (.npy, .npz or .txt by name)."},
    {"point-voxel", 0, FOR_VOXELIZE, OPTION_OUTPUT | SET_IN(FOR_VOXELIZE), &type_path, "FILE", AT(point_voxel), 0, 0,
     NULL, "Write the voxel that keeps each record of the input, int32, -1 = dropped (.npy, .npz or .txt by name)."},
    {"dtype", 0, FOR_VOXELIZE, 0, &type_choice, "NAME", AT(dtype), 0, 0, dtypes,
     "Type of the feature array; float16 rounds to nearest even."},
    {"compression", 0, FOR_VOXELIZE, 0, &type_int, "N", AT(compression), 0, 9, NULL,
     "Compression of .npz outputs: 0 none; 1 run lengths, fast; 2 to 9 the levels of zlib, slower and smaller."},
    {"memory", 0, FOR_SAMPLE | FOR_VOXELIZE, OPTION_ZERO_IS_NONE | SET_IN(FOR_SWEEPS), &type_bytes, "SIZE", AT(memory),
     1 << 20, 1e15, NULL,
     "Memory for the inputs at a time, such as 3G (K, M, G, T: powers of 1024): a .bin, .npy or .las that needs more "
     "is read in pieces, with the same result. See Large files in pcgpu(1). Default: what is available."},
    {"strict", 0, FOR_VOXELIZE, SET_IN(FOR_VOXELIZE), &type_flag, NULL, AT(strict), 0, 0, NULL,
     "Fail, with exit code 1 and no output, when --max-points or --max-voxels drops a point."},
    {"batch", 0, FOR_VOXELIZE, 0, &type_flag, NULL, AT(batch), 0, 0, NULL,
     "One output for all inputs, one after the other; the first voxel coordinate is the index of the input. "
     "Needs a --range; not for an output that is a cloud."},
    {"split", 0, FOR_VOXELIZE, OPTION_LINE_ONLY | SET_IN(FOR_VOXELIZE), &type_choice, "NAME", AT(split), 0, 0, splits,
     "Selects one of the two limits of voxels in a --config of OpenPCDet: test or train."},
    {"sweeps", 0, FOR_SWEEPS, OPTION_ZERO_IS_NONE | SET_IN(FOR_SAMPLE), &type_int64, "N", AT(sweeps), 1, 1000, NULL,
     "Join each scan with the N - 1 scans before it, moved into its frame, and a column of the seconds that each is "
     "older; see Sweeps of pcgpu-voxelize(1)."},
    {"nuscenes", 0, FOR_SWEEPS, OPTION_INPUT | SET_IN(FOR_SAMPLE), &type_path, "ROOT", AT(nuscenes), 0, 0, NULL,
     "The folder of nuScenes with samples, sweeps and the tables v1.0-..., or that of the tables: times and poses "
     "for --sweeps."},
    {"scans", 0, FOR_SWEEPS, OPTION_INPUT | SET_IN(FOR_SWEEPS), &type_path, "LIST", AT(scans), 0, 0, NULL,
     "The scans of a drive for --sweeps, one per line in the order of time: FILE TIME, in seconds."},
    {"poses", 0, FOR_SWEEPS, OPTION_INPUT | SET_IN(FOR_SWEEPS), &type_path, "FILE", AT(poses), 0, 0, NULL,
     "The poses of the sensor for the scans, one per line, as pcgpu odometry writes them: KITTI (12 numbers), a 4x4 "
     "matrix (16) or TUM (7, or 8 with a time); nan leaves a scan out."},

    /* register */
    {"method", 0, FOR_REGISTRATION, 0, &type_choice, "NAME", AT(registration.method), 0, 0, register_methods,
     "ndt: normal distributions transform, distribution to distribution; plane: point-to-plane ICP; point: "
     "point-to-point ICP; gicp: plane-to-plane ICP."},
    {"association", 0, FOR_REGISTRATION, SET_IN(FOR_REGISTRATION), &type_choice, "NAME", AT(association), 0, 0,
     associations,
     "projective: a pixel of one depth image with the pixel of the other image that it projects to; "
     "nearest: clouds, or the points of depth images, by --method; auto: projective for two depth images "
     "unless --method is given, else nearest."},
    {"level-iterations", 0, FOR_REGISTRATION, SET_IN(FOR_REGISTRATION), &type_level_counts, "N,N,N",
     AT(level_iterations), 0, 100000, NULL,
     "Maximum iterations of each level from coarse to fine, for projective association in place of max-iterations."},
    {"bilateral", 0, FOR_REGISTRATION, SET_IN(FOR_REGISTRATION), &type_real, "S", AT(bilateral), 0, FAR, NULL,
     "Smooth depth images with a bilateral filter with a standard deviation of S metres in depth; 0 = none. "
     "For projective association."},
    {"target-camera", 0, FOR_REGISTER, OPTION_INPUT | SET_IN(FOR_REGISTER), &type_camera, "FX,FY,CX,CY",
     AT(target_camera), 0, 0, NULL,
     "Camera of TARGET, in the format of --camera, when it differs from that of SOURCE."},
    {"init", 0, FOR_REGISTER, OPTION_INPUT, &type_path, "FILE", AT(init), 0, 0, NULL,
     "Start from this T_target_source: a 4x4 matrix, a KITTI line (12 numbers) or a TUM line (7, or 8 with a time). "
     "auto: a coarse search, at any rotation about z and translations of up to 64 voxels; global: the same of an "
     "object in any rotation, for clouds that both have most of its surface. Default: the identity, and when that "
     "does not converge, the search at rotations of up to 30 degrees; see STARTS of pcgpu-methods(7)."},
    {"init", 0, FOR_ODOMETRY, OPTION_INPUT, &type_path, "FILE", AT(init), 0, 0, NULL,
     "The pose of the first input: a 4x4 matrix, a KITTI line (12 numbers) or a TUM line (7, or 8 with a time). "
     "Default: the identity. With --map, near that pose; auto, the default there: anywhere in the map."},
    {"map", 0, FOR_ODOMETRY, OPTION_INPUT, &type_path, "FILE", AT(map), 0, 0, NULL,
     "Localize the scans in this map, any cloud, and leave it as it is: poses are in its coordinates. See "
     "LOCALIZATION of pcgpu-methods(7)."},
    {"pairs", 0, FOR_REGISTER, OPTION_INPUT, &type_path, "LIST", AT(pairs), 0, 0, NULL,
     "Register the pairs of a list, one per line: SOURCE TARGET, with a tab between them when names have blanks; - is "
     "standard input. Prints one line per pair."},
    {"voxel-size", 0, FOR_REGISTRATION, OPTION_AUTO, &type_real, "S", AT(registration.voxel), 0, FAR, NULL,
     "Voxel size of the finest level in metres; 0 = do not downsample. The finest voxels of method ndt are twice as "
     "wide. auto: from the spacing of the target's points, for odometry of the first scan's. Default: auto."},
    {"levels", 0, FOR_REGISTRATION, SET_IN(FOR_REGISTRATION), &type_int, "N", AT(registration.levels), 0, 8, NULL,
     "Levels from coarse to fine; each halves the voxel size and the correspondence distance of the level before. 0: "
     "4 to 6 for method ndt, by the extent of the cloud when --voxel-size is auto, else 4; other methods 3."},
    {"max-distance", 0, FOR_REGISTRATION, OPTION_ABOVE_MIN | OPTION_AUTO | SET_IN(FOR_REGISTRATION), &type_real, "D",
     AT(registration.max_distance), 0, FAR, NULL,
     "Maximum correspondence distance in metres, at the coarsest level; not for method ndt. auto: 8 voxels. Default: "
     "auto."},
    {"max-iterations", 0, FOR_REGISTRATION, SET_IN(FOR_REGISTRATION), &type_int, "N", AT(registration.max_iterations),
     1, 100000, NULL, "Maximum iterations per level."},
    {"translation-epsilon", 0, FOR_REGISTRATION, OPTION_ABOVE_MIN | OPTION_AUTO | SET_IN(FOR_REGISTRATION), &type_real,
     "T", AT(registration.translation_epsilon), 0, FAR, NULL,
     "A level has converged when an update has a translation below T metres and a rotation below rotation-epsilon. "
     "auto: the voxel size divided by 2500. Default: auto."},
    {"rotation-epsilon", 0, FOR_REGISTRATION, OPTION_ABOVE_MIN | SET_IN(FOR_REGISTRATION), &type_real, "A",
     AT(registration.rotation_epsilon), 0, 3.2, NULL, "The limit for the rotation of an update, in radians."},
    {"min-score", 0, FOR_REGISTRATION, SET_IN(FOR_ODOMETRY), &type_real, "S", AT(registration.min_score), 0, 1, NULL,
     "A result with a lower score has not converged. The score measures the consistency of the surfaces and, where "
     "both scans were seen from their origins, falls with the points of one in the free space of the other; see "
     "CONVERGENCE CHECK of pcgpu-methods(7)."},
    {"min-range", 0, FOR_REGISTRATION, SET_IN(FOR_REGISTRATION), &type_real, "M", AT(registration.min_range), 0, FAR,
     NULL,
     "Drop points nearer than M metres to the sensor, the origin of their file, such as returns from the vehicle; 0 "
     "= none. See SCANS of pcgpu-methods(7)."},
    {"beam-correction", 0, FOR_REGISTRATION, SET_IN(FOR_REGISTER), &type_real, "DEGREES",
     AT(registration.beam_correction), -10, 10, NULL,
     "Add this angle to the elevation of each point before all other steps: 0.205 for KITTI, whose sequences have it "
     "by default. See SCANS of pcgpu-methods(7)."},
    {"keep-carrier", 0, FOR_REGISTRATION, SET_IN(FOR_REGISTRATION), &type_flag, NULL, AT(registration.keep_carrier), 0,
     0, NULL, "Keep the returns of the vehicle that carries the sensor. See SCANS of pcgpu-methods(7)."},
    {"transform", 0, FOR_REGISTER, OPTION_OUTPUT | OPTION_TEXT, &type_path, "FILE", AT(transform), 0, 0, NULL,
     "Write T_target_source, which maps source coordinates into the target's frame."},
    {"transform-format", 0, FOR_REGISTER, SET_IN(FOR_REGISTER), &type_choice, "NAME", AT(transform_format), 0, 0,
     transform_formats,
     "matrix: four rows of four numbers; kitti: the upper three rows in one line; tum: time 0, translation and "
     "quaternion x y z w in one line. With --pairs each transform is one line."},
    {"trajectory", 0, FOR_ODOMETRY, OPTION_OUTPUT | OPTION_TEXT | OPTION_GROWS, &type_path, "FILE", AT(trajectory), 0,
     0, NULL,
     "Write the pose of each input to FILE, one per line, in the frame of the first; - is standard output, the "
     "default."},
    {"trajectory-format", 0, FOR_ODOMETRY, 0, &type_choice, "NAME", AT(trajectory_format), 0, 0, transform_formats,
     "matrix: 16 numbers per line; kitti: 12; tum: time, translation and quaternion x y z w."},
    {"reference", 0, FOR_ODOMETRY, 0, &type_choice, "NAME", AT(odometry.reference), 0, 0, references,
     "The reference of the registration: the previous scan, a keyframe, or a local map of all earlier scans."},
    {"model-range", 0, FOR_ODOMETRY, OPTION_ABOVE_MIN | SET_IN(FOR_ODOMETRY), &type_real, "M", AT(odometry.model_range),
     0, FAR, NULL,
     "Minimum extent of the local map from the sensor on each axis, in metres; farther voxels are dropped."},
    {"deskew", 0, FOR_ODOMETRY, 0, &type_choice, "NAME", AT(odometry.deskew), 0, 0, deskews,
     "How scans are corrected for the motion of the sensor: none; time: with a column of times; "
     "counterclockwise, clockwise: as one revolution of the scanner, seen from above, from the first point on."},
    {"time-column", 0, FOR_ODOMETRY, OPTION_ZERO_IS_NONE | SET_IN(FOR_ODOMETRY), &type_int, "N",
     AT(odometry.time_column), 3, 63, NULL,
     "The column of times, counted from 0, for --deskew time. Default: one named so, such as gps_time, else 4."},
    {"timestamps", 0, FOR_TRAJECTORY | FOR_CONVERT, OPTION_INPUT, &type_path, "FILE", AT(timestamps), 0, 0, NULL,
     "The seconds of each input or pose, one per line, or of scans 000000, 000001 and so on one per number; else "
     "--rate determines them."},
    {"rate", 0, FOR_TRAJECTORY | FOR_CONVERT, OPTION_ABOVE_MIN, &type_real, "HZ", AT(rate), 0, FAR, NULL,
     "Scans, images or poses per second."},
    {"loops", 0, FOR_ODOMETRY, 0, &type_flag, NULL, AT(loops), 0, 0, NULL,
     "Find places that the sensor sees again, and correct all poses by them at the end."},
    {"ground-truth", 0, FOR_TRAJECTORY, OPTION_INPUT, &type_path, "FILE", AT(ground_truth), 0, 0, NULL,
     "The true trajectory, in any format of TRAJECTORIES in pcgpu-evaluate(1): print the errors of the poses."},
    {"calibration", 0, FOR_TRAJECTORY | FOR_VIEW, OPTION_INPUT | SET_IN(FOR_ODOMETRY), &type_path, "FILE",
     AT(calibration), 0, 0, NULL,
     "T_truth_sensor when --ground-truth belongs to another sensor, such as a camera: a KITTI calib.txt, or a "
     "transform as for --init."},
    {"time-offset", 0, FOR_EVALUATE, 0, &type_real, "S", AT(time_offset), -METRES, METRES, NULL,
     "Add S seconds to the times of the trajectory before they are matched with those of the truth."},
    {"time-tolerance", 0, FOR_EVALUATE, OPTION_ABOVE_MIN, &type_real, "S", AT(time_tolerance), 0, METRES, NULL,
     "The largest difference in time of a pose and its true pose, in seconds."},
    {"align", 0, FOR_EVALUATE, 0, &type_choice, "NAME", AT(align), 0, 0, alignments,
     "rigid: a rotation and a translation; sim3: a scale, too, as for one camera, whose trajectories have none. All "
     "errors are those of the scaled trajectory."},
    {"plot", 0, FOR_EVALUATE, OPTION_OUTPUT | OPTION_PICTURE, &type_path, "FILE", AT(plot), 0, 0, NULL,
     "Write a .png with charts of the errors: of position and rotation along the path, and of segments by their "
     "length."},

    {"poses", 0, FOR_FUSE, OPTION_INPUT, &type_path, "FILE", AT(poses), 0, 0, NULL,
     "The poses of the images, which map the camera into the world: one per line as KITTI (12 numbers), a 4x4 matrix "
     "(16) or TUM (7, or 8 with a time); .log or .json of Open3D; a folder with NAME.pose.txt per image. nan leaves "
     "an image out. Images named by their times get the pose nearest in time."},
    {"voxel-size", 0, FOR_FUSE, OPTION_ABOVE_MIN, &type_real, "S", AT(volume.voxel_size), 0, 1000, NULL,
     "Voxel size of the model, in metres."},
    {"map-voxel", 0, FOR_ODOMETRY, OPTION_AUTO, &type_real, "S", AT(map_voxel), 1e-4, 1000, NULL,
     "Voxel size of the map of scans, or of the model of depth images, in metres. auto: 0.1, and 0.01 for depth "
     "images. Default: auto."},
    {"keep-moving", 0, FOR_ODOMETRY, SET_IN(FOR_ODOMETRY), &type_flag, NULL, AT(keep_moving), 0, 0, NULL,
     "Keep the points of objects that moved, which are left out of the map since scans have seen through them."},
    {"memory", 0, FOR_ODOMETRY, OPTION_ZERO_IS_NONE | SET_IN(FOR_ODOMETRY), &type_bytes, "SIZE", AT(memory), 1 << 20,
     1e15, NULL,
     "Memory for the voxels of the map, such as 2G (K, M, G, T: powers of 1024); those farthest from the sensor go "
     "to a temporary file. The map does not depend on it. Default: 1G."},
    {"temporary-folder", 0, FOR_ODOMETRY, SET_IN(FOR_ODOMETRY), &type_path, "DIR", AT(temporary_folder), 0, 0, NULL,
     "The folder for the temporary file of the map. Default: that of --output, or of a pipe that of TMPDIR or /tmp."},
    {"truncation", 0, FOR_MODEL, OPTION_ZERO_IS_NONE | SET_IN(FOR_MODEL), &type_real, "T", AT(volume.truncation), 0,
     64000, NULL, "Truncation distance of the model, in metres: 2 to 64 voxels; default 4 voxels."},
    {"color", 0, FOR_MODEL, OPTION_INPUT, &type_path, "FOLDER|LIST", AT(color), 0, 0, NULL,
     "Colour the model by the images, .png, that are registered to the depth images: in FOLDER, with the names of "
     "the depth images or color or rgb for depth in them; or by LIST, one name per line in their order, or the "
     "rgb.txt or associations of TUM RGB-D."},
    {"mesh", 0, FOR_MODEL, OPTION_OUTPUT | OPTION_PLY, &type_path, "FILE", AT(mesh), 0, 0, NULL,
     "Write the surface of the model as triangles, to a file with a name that ends in .ply, .obj or .glb."},

    {"crop", 0, FOR_CONVERT, 0, &type_range, "X0,Y0,Z0,X1,Y1,Z1", AT(voxelize), -METRES, METRES, NULL,
     "Keep points with X0 <= x < X1 and so on, metres; points that are not finite are dropped. After --transform."},
    {"scale", 0, FOR_CONVERT, OPTION_ABOVE_MIN | OPTION_ZERO_IS_NONE, &type_real, "F", AT(scale), 0, FAR, NULL,
     "Multiply the coordinates by F, such as 0.001 for millimetres. Before --transform."},
    {"transform", 0, FOR_CONVERT, OPTION_INPUT, &type_path, "FILE", AT(transform_input), 0, 0, NULL,
     "Move the points by a rigid transform, normals with them: a 4x4 matrix, as register writes it, a KITTI line (12 "
     "numbers) or a TUM line (7, or 8 with a time)."},
    {"columns", 0, FOR_CONVERT, 0, &type_path, "NAMES", AT(columns), 0, 0, NULL,
     "Write these columns in this order: x,y,z, then others; NEW=OLD gives the column OLD the name NEW. After --crop."},
    {"merge", 0, FOR_CONVERT, 0, &type_flag, NULL, AT(merge), 0, 0, NULL,
     "One output for all inputs, one after the other, with a column source: the index of the input of a point, from "
     "0. Columns that not all inputs have are left out."},
    {"merge", 0, FOR_REGISTER, 0, &type_flag, NULL, AT(merge), 0, 0, NULL,
     "Write SOURCE and TARGET to --output, both in the frame of TARGET, with a column source: 0 for points of "
     "SOURCE, 1 for those of TARGET."},
    /* view */
    {"color", 0, FOR_VIEW, 0, &type_path, "NAME", AT(view.color), 0, 0, NULL,
     "Colours by height, intensity, file (one colour per input), order, distance (from the sensor), normals, rgb, "
     "class or a column of this name. Default: by what the inputs have, see COLOURS of pcgpu-view(1)."},
    {"from", 0, FOR_VIEW, 0, &type_choice, "WHERE", AT(view.from), 0, 0, froms,
     "Direction of the view: iso, a perspective from above and behind; top, side and front without perspective; "
     "sensor, the range image of a scan, azimuth by elevation. auto: iso, and top for trajectories alone."},
    {"up", 0, FOR_VIEW, 0, &type_choice, "AXIS", AT(view.up), 0, 0, ups,
     "The axis that points up: x, y, z, -x, -y or -z. auto: z; -y in the frame of a camera, see DESCRIPTION of "
     "pcgpu-view(1)."},
    {"size", 0, FOR_VIEW, 0, &type_pixels, "WxH", AT(view.size), 16, 16384, NULL,
     "Width and height of the picture in pixels. Default: 1280x960; 1920x480 for --from sensor; without --output "
     "that of the terminal."},
    {"colormap", 0, FOR_VIEW, 0, &type_choice, "NAME", AT(view.colormap), 0, 0, colormaps,
     "Colours of a scale from low to high: viridis, turbo or grey."},
    {"point-size", 0, FOR_VIEW, OPTION_ZERO_IS_NONE | OPTION_ABOVE_MIN, &type_real, "N", AT(view.point_size), 0, 32,
     NULL, "Diameter of a point in pixels. Default: by the distance between the points."},
    {"voxel-size", 0, FOR_VIEW, OPTION_ABOVE_MIN, &type_size, "SX,SY,SZ", AT(voxelize.size), 0, METRES, NULL,
     "Of an .npz of voxelize: the size of a voxel in metres. Default: by the features."},
    {"range", 0, FOR_VIEW, 0, &type_range, "X0,Y0,Z0,X1,Y1,Z1", AT(voxelize), -METRES, METRES, automatic,
     "Of an .npz of voxelize: its range, of which the lower corner matters; auto: by the features."},
    {"ground-truth", 0, FOR_VIEW, OPTION_INPUT, &type_path, "FILE", AT(ground_truth), 0, 0, NULL,
     "The true trajectory, as for pcgpu-evaluate(1): trajectories get a column error, in metres, which is their "
     "colour."},
    {"output-format", 0, FOR_VIEW, 0, &type_choice, "NAME", AT(view.format), 0, 0, picture_formats,
     "png, a picture, or html, a page for a browser. auto: by the name of the output, png for standard output and "
     "folders."},
    {"output", 'o', FOR_VIEW, OPTION_OUTPUT | OPTION_PICTURE | OPTION_PAGE, &type_path, "PATH", AT(output), 0, 0, NULL,
     "Write one picture of all inputs to this .png, or one page for a browser to this .html; - is standard output; a "
     "folder (DIR/) gets one per input. Without it the picture is drawn in the terminal."},

    /* common */
    {"output", 'o', FOR_CLOUDS, OPTION_OUTPUT | OPTION_MAIN, &type_path, "PATH", AT(output), 0, 0, NULL,
     "Output file; - is standard output; a folder (DIR/), which is created if it is missing, gets one file per "
     "input, with the name of the input."},
    {"force", 'f', FOR_ALL, 0, &type_flag, NULL, AT(force), 0, 0, NULL,
     "Replace existing output files; write binary data to a terminal."},
    {"format", 'F', FOR_READERS, 0, &type_reader, "NAME", AT(format), 0, 0, NULL,
     "Format of the inputs; default: by the first bytes, else by the file name, else bin for standard input. "
     "npz:NAME is the array NAME of an .npz."},
    {"output-format", 0, FOR_CLOUDS, 0, &type_writer, "NAME", AT(output_format), 0, 0, NULL,
     "Format of the output; default: from the file name, bin for standard output, in a folder the format of the "
     "input, or npz for voxelize."},
    {"recursive", 'r', FOR_FOLDERS, OPTION_MANY, &type_flag, NULL, AT(recursive), 0, 0, NULL,
     "Take the files of the sub-folders of folders, too, but not those of links and of output folders; an output in "
     "a folder keeps the sub-folder."},
    {"follow", 0, FOR_FOLDERS, OPTION_MANY | SET_IN(FOR_FOLDERS), &type_flag, NULL, AT(follow), 0, 0, NULL,
     "Take sub-folders that are links, too, each folder once. For --recursive."},
    {"files-from", 0, FOR_FOLDERS, OPTION_INPUT | OPTION_LINE_ONLY | OPTION_MANY, &type_path, "FILE", AT(files_from), 0,
     0, NULL,
     "Take more inputs from FILE, one name per line; - is standard input. The depth.txt and the associations of TUM "
     "RGB-D are such lists, too."},
    {"null", '0', FOR_FOLDERS, OPTION_LINE_ONLY | OPTION_MANY, &type_flag, NULL, AT(zero_ends), 0, 0, NULL,
     "The names of --files-from end with a zero byte, as find -print0 writes them."},
    {"skip-existing", 0, FOR_SAMPLE | FOR_VOXELIZE | FOR_REGISTER | FOR_CONVERT | FOR_VIEW, OPTION_MANY, &type_flag,
     NULL, AT(skip_existing), 0, 0, NULL,
     "Leave out inputs whose outputs exist: outputs appear complete, so an interrupted run is continued. When only "
     "some outputs of an input exist, the others are written. The file of --json keeps their lines; a pair is left "
     "out when its line is there, else it is registered again."},
    {"shard", 0, FOR_SAMPLE | FOR_VOXELIZE | FOR_REGISTER | FOR_CONVERT | FOR_VIEW | FOR_INFO,
     OPTION_LINE_ONLY | OPTION_MANY, &type_path, "I/N", AT(shard), 0, 0, NULL,
     "Take every N-th input or pair, from the I-th on, so that N runs, such as those of several machines, do all; "
     "slurm: I and N of this task of a Slurm job array."},
    {"fields", 0, FOR_POINTS | FOR_INFO | FOR_VIEW, 0, &type_int, "N", AT(fields), 3, 16, NULL,
     "float32 values in a record of a .bin input: 4 for KITTI, 5 for nuScenes, whose names end in .pcd.bin."},
    {"camera", 0, FOR_READERS, OPTION_INPUT, &type_camera, "FX,FY,CX,CY|FILE", AT(camera), 0, 0, NULL,
     "Camera of depth images, in pixels; width, height, depth_scale, min_depth and max_depth may follow as NAME=VALUE. "
     "A file in place of the numbers: a 3x3 matrix as text, a camera of Open3D (.json), a calib.txt of KITTI. "
     "In a --config the same members as a mapping."},
    {"drop-origin", 0, FOR_POINTS | FOR_VIEW, 0, &type_flag, NULL, AT(drop_origin), 0, 0, NULL,
     "Drop records at exactly (0,0,0), which some sensors write for no return."},
    {"keep-origin", 0, FOR_POINTS | FOR_VIEW, OPTION_ALIAS, &type_no_flag, NULL, AT(drop_origin), 0, 0, NULL,
     "Keep records at exactly (0,0,0)."},
    {"cpu", 0, FOR_DEVICES, OPTION_ALIAS, &type_cpu, NULL, AT(device), 0, 0, NULL, "The same as --device cpu."},
    {"cuda", 0, FOR_DEVICES, OPTION_ALIAS | OPTION_MAYBE_VALUE, &type_cuda, "N,...", AT(device), 0, 1023, NULL,
     "Use CUDA device N (0 when not given), or several ones; without a usable device fail with exit code 3 rather than "
     "run on the CPU."},
    {"device", 0, FOR_DEVICES, 0, &type_device, "NAME", AT(device), 0, 1023, devices,
     "auto, cpu, cuda, cuda:N,... or cuda:all. auto selects CUDA when a device exists and the work repays its "
     "start-up. Several devices share the inputs; those of a device that fails go to the others."},
    {"threads", 0, FOR_READERS, 0, &type_int, "N", AT(threads), 0, 4096, NULL,
     "CPU threads. 0: OMP_NUM_THREADS where that is set, else as many as the affinity mask and the quota of the "
     "control group allow. Results never depend on the number of threads."},
    {"config", 0, FOR_ALL, OPTION_INPUT | OPTION_LINE_ONLY, &type_path, "NAME|FILE", AT(config), 0, 0, NULL,
     "Read options from a YAML file, or from an installed configuration by its name, such as pillar: long option "
     "names with _ for -, flat or under the command's name; voxelize also reads configurations of OpenPCDet. The "
     "command line wins."},
    {"set", 0, FOR_READERS, OPTION_ALIAS, &type_set, "KEY=VALUE", 0, 0, 0, NULL,
     "Set a parameter of experts, which may be a key of --config, too. May be repeated."},
    {"json", 0, FOR_ALL, 0, &type_path, "FILE", AT(json), 0, 0, NULL,
     "Write one JSON object per input, one per line; - is standard output when no data goes there. Shards may have "
     "one FILE; a signal leaves the lines so far in FILE.partial for --skip-existing."},
    {"verbose", 'v', FOR_ALL, 0, &type_flag, NULL, AT(verbose), 0, 0, NULL,
     "Show a summary, the time of each stage, and the chosen back end with the reason."},
    {"quiet", 'q', FOR_ALL, 0, &type_flag, NULL, AT(quiet), 0, 0, NULL, "Show errors only."},
    {"progress", 0, FOR_READERS, OPTION_LINE_ONLY, &type_choice, "WHEN", AT(progress), 0, 0, progress_modes,
     "Show a progress line: auto, on a terminal; on, also elsewhere, for many inputs every 5 s; off."},
    {"dry-run", 0, FOR_ALL, OPTION_LINE_ONLY, &type_flag, NULL, AT(dry_run), 0, 0, NULL,
     "Check everything, print the configuration in effect as YAML and write nothing."},
    {"help", 'h', FOR_ALL, OPTION_LINE_ONLY, &type_flag, NULL, AT(help), 0, 0, NULL, "Show this help."},
    {"version", 'V', FOR_ALL, OPTION_LINE_ONLY, &type_flag, NULL, AT(version), 0, 0, NULL,
     "Show the version; with -v also back ends, GPU architectures, formats and devices."},
};
enum { ROWS = sizeof table / sizeof table[0] };
_Static_assert((int)ROWS <= (int)OPTIONS_MAX, "options.source has an entry for every row");

const option_row *option_at(int i) {
    return i >= 0 && i < ROWS ? &table[i] : NULL;
}

int option_index(const option_row *option) {
    return (int)(option - table);
}
