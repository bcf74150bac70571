/* The options that several commands share, and the table of all. */
#include "options.h"

#include <string.h>

/* In the order of the library's enums. */
static const char *const register_methods[] = {"plane", "point", "ndt", "gicp", NULL};
static const char *const associations[] = {"auto", "projective", "nearest", NULL};
static const char *const alignments[] = {"rigid", "sim3", NULL};
static const char *const devices[] = {"auto", "cpu", "cuda", NULL};
static const char *const progress_modes[] = {"auto", "on", "off", NULL};

_Static_assert(sizeof(picture_format) == sizeof(int), "type_choice stores an int");

/* name, letter, commands, flags, type, argument, field, min, max, choices, help */
static const option_row shared[] = {
    {"memory", 0, FOR_SWEEPS | FOR_FILTER, OPTION_ZERO_IS_NONE | OPTION_SET, &type_bytes, "SIZE", AT(memory), 1 << 20,
     1e15, NULL,
     "Memory for the inputs at a time, such as 3G (K, M, G, T: powers of 1024): a .bin, .npy or .las that needs more "
     "is read in pieces, with the same result. See Large files in pcgpu(1). Default: what is available."},
    {"sweeps", 0, FOR_SWEEPS, OPTION_ZERO_IS_NONE | SET_IN(FOR_SAMPLE), &type_int64, "N", AT(sweeps), 1, 1000, NULL,
     "Join each scan with the N - 1 scans before it, moved into its frame, and a column of the seconds that each is "
     "older; see Sweeps of pcgpu-voxelize(1)."},
    {"nuscenes", 0, FOR_SWEEPS, OPTION_INPUT | SET_IN(FOR_SAMPLE), &type_path, "ROOT", AT(nuscenes), 0, 0, NULL,
     "The folder of nuScenes with samples, sweeps and the tables v1.0-..., or that of the tables: times and poses "
     "for --sweeps."},
    {"scans", 0, FOR_SWEEPS, OPTION_INPUT | OPTION_SET, &type_path, "LIST", AT(scans), 0, 0, NULL,
     "The scans of a drive for --sweeps, one per line in the order of time: FILE TIME, in seconds."},
    {"poses", 0, FOR_SWEEPS, OPTION_INPUT | OPTION_SET, &type_path, "FILE", AT(poses), 0, 0, NULL,
     "The poses of the sensor for the scans, one per line, as pcgpu odometry writes them: KITTI (12 numbers), a 4x4 "
     "matrix (16) or TUM (7, or 8 with a time); nan leaves a scan out."},

    /* register */
    {"method", 0, FOR_REGISTRATION, 0, &type_choice, "NAME", AT(registration.method), 0, 0, register_methods,
     "ndt: normal distributions transform, distribution to distribution; plane: point-to-plane ICP; point: "
     "point-to-point ICP; gicp: plane-to-plane ICP."},
    {"association", 0, FOR_REGISTRATION, OPTION_SET, &type_choice, "NAME", AT(association), 0, 0, associations,
     "projective: a pixel of one depth image with the pixel of the other image that it projects to; "
     "nearest: clouds, or the points of depth images, by --method; auto: projective for two depth images "
     "unless --method is given, else nearest."},
    {"level-iterations", 0, FOR_REGISTRATION, OPTION_SET, &type_level_counts, "N,N,N", AT(level_iterations), 0, 100000,
     NULL,
     "Maximum iterations of each level from coarse to fine, for projective association in place of max-iterations."},
    {"bilateral", 0, FOR_REGISTRATION, OPTION_SET, &type_real, "S", AT(bilateral), 0, FAR, NULL,
     "Smooth depth images with a bilateral filter with a standard deviation of S metres in depth; 0 = none. "
     "For projective association."},
    {"voxel-size", 0, FOR_REGISTRATION, OPTION_AUTO, &type_real, "S", AT(registration.voxel), 0, FAR, NULL,
     "Voxel size of the finest level in metres; 0 = do not downsample. The finest voxels of method ndt are twice as "
     "wide. auto: from the spacing of the target's points, for odometry of the first scan's. Default: auto."},
    {"levels", 0, FOR_REGISTRATION, OPTION_SET, &type_int, "N", AT(registration.levels), 0, 8, NULL,
     "Levels from coarse to fine; each halves the voxel size and the correspondence distance of the level before. 0: "
     "4 to 6 for method ndt, by the extent of the cloud when --voxel-size is auto, else 4; other methods 3."},
    {"max-distance", 0, FOR_REGISTRATION, OPTION_ABOVE_MIN | OPTION_AUTO | OPTION_SET, &type_real, "D",
     AT(registration.max_distance), 0, FAR, NULL,
     "Maximum correspondence distance in metres, at the coarsest level; not for method ndt. auto: 8 voxels. Default: "
     "auto."},
    {"max-iterations", 0, FOR_REGISTRATION, OPTION_SET, &type_int, "N", AT(registration.max_iterations), 1, 100000,
     NULL, "Maximum iterations per level; the finest of ndt, plane and gicp may take twice as many."},
    {"translation-epsilon", 0, FOR_REGISTRATION, OPTION_ABOVE_MIN | OPTION_AUTO | OPTION_SET, &type_real, "T",
     AT(registration.translation_epsilon), 0, FAR, NULL,
     "A level has converged when an update has a translation below T metres and a rotation below rotation-epsilon. "
     "auto: the voxel size divided by 2500. Default: auto."},
    {"rotation-epsilon", 0, FOR_REGISTRATION, OPTION_ABOVE_MIN | OPTION_SET, &type_real, "A",
     AT(registration.rotation_epsilon), 0, 3.2, NULL, "The limit for the rotation of an update, in radians."},
    {"min-score", 0, FOR_REGISTRATION, SET_IN(FOR_ODOMETRY), &type_real, "S", AT(registration.min_score), 0, 1, NULL,
     "A result with a lower score has not converged. The score measures the consistency of the surfaces and, where "
     "both scans were seen from their origins, falls with the points of one in the free space of the other; see "
     "CONVERGENCE CHECK of pcgpu-methods(7)."},
    {"min-range", 0, FOR_REGISTRATION, OPTION_SET, &type_real, "M", AT(registration.min_range), 0, FAR, NULL,
     "Drop points nearer than M metres to the sensor, the origin of their file, such as returns from the vehicle; 0 "
     "= none. See SCANS of pcgpu-methods(7)."},
    {"beam-correction", 0, FOR_REGISTER, OPTION_SET, &type_real, "DEGREES", AT(registration.beam_correction), -10, 10,
     NULL,
     "Add this angle to the elevation of each point before all other steps: 0.205 for KITTI. See SCANS of "
     "pcgpu-methods(7)."},
    {"keep-carrier", 0, FOR_REGISTRATION, OPTION_SET, &type_flag, NULL, AT(registration.keep_carrier), 0, 0, NULL,
     "Keep the returns of the vehicle that carries the sensor. See SCANS of pcgpu-methods(7)."},
    {"timestamps", 0, FOR_TRAJECTORY | FOR_CONVERT, OPTION_INPUT, &type_path, "FILE", AT(timestamps), 0, 0, NULL,
     "The seconds of each input or pose, one per line, or of scans 000000, 000001 and so on one per number; else "
     "--rate determines them."},
    {"rate", 0, FOR_TRAJECTORY | FOR_CONVERT, OPTION_ABOVE_MIN, &type_real, "HZ", AT(rate), 0, FAR, NULL,
     "Scans, images or poses per second."},
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

    {"truncation", 0, FOR_MODEL, OPTION_ZERO_IS_NONE | OPTION_SET, &type_real, "T", AT(volume.truncation), 0, 64000,
     NULL, "Truncation distance of the model, in metres: 2 to 64 voxels; default 4 voxels."},
    {"color", 0, FOR_MODEL, OPTION_INPUT, &type_path, "FOLDER|LIST", AT(color), 0, 0, NULL,
     "Colour the model by the images, .png, that are registered to the depth images: in FOLDER, with the names of "
     "the depth images or color or rgb for depth in them; or by LIST, one name per line in their order, or the "
     "rgb.txt or associations of TUM RGB-D."},
    {"mesh", 0, FOR_MODEL, OPTION_OUTPUT | OPTION_PLY, &type_path, "FILE", AT(mesh), 0, 0, NULL,
     "Write the surface of the model as triangles, to a file with a name that ends in .ply, .obj or .glb."},

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
    {"follow", 0, FOR_FOLDERS, OPTION_MANY | OPTION_SET, &type_flag, NULL, AT(follow), 0, 0, NULL,
     "Take sub-folders that are links, too, each folder once. For --recursive."},
    {"files-from", 0, FOR_FOLDERS, OPTION_INPUT | OPTION_LINE_ONLY | OPTION_MANY, &type_path, "FILE", AT(files_from), 0,
     0, NULL,
     "Take more inputs from FILE, one name per line; - is standard input. The depth.txt and the associations of TUM "
     "RGB-D are such lists, too."},
    {"null", '0', FOR_FOLDERS, OPTION_LINE_ONLY | OPTION_MANY, &type_flag, NULL, AT(zero_ends), 0, 0, NULL,
     "The names of --files-from end with a zero byte, as find -print0 writes them."},
    {"topic", 0, FOR_RECORDINGS, 0, &type_path, "NAME", AT(topic), 0, 0, NULL,
     "The topic whose clouds or depth images are taken from recordings (.mcap, .bag, .db3). Default: the only one with "
     "clouds, else with depth images."},
    {"from-time", 0, FOR_RECORDINGS, OPTION_ZERO_IS_NONE | OPTION_SET, &type_real, "S", AT(from_time), 0, METRES, NULL,
     "Take the clouds of a recording from S seconds after its first cloud on."},
    {"to-time", 0, FOR_RECORDINGS, OPTION_ZERO_IS_NONE | OPTION_SET, &type_real, "S", AT(to_time), 0, METRES, NULL,
     "Take the clouds of a recording up to S seconds after its first cloud."},
    {"every", 0, FOR_RECORDINGS, OPTION_ZERO_IS_NONE | OPTION_SET, &type_int64, "N", AT(every), 0, METRES, NULL,
     "Take the first of each N clouds of a recording."},
    {"skip-existing", 0, FOR_SAMPLE | FOR_VOXELIZE | FOR_FILTER | FOR_REGISTER | FOR_CONVERT | FOR_VIEW, OPTION_MANY,
     &type_flag, NULL, AT(skip_existing), 0, 0, NULL,
     "Leave out inputs whose outputs exist: outputs appear complete, so an interrupted run is continued. When only "
     "some outputs of an input exist, the others are written. The file of --json keeps their lines; a pair is left "
     "out when its line is there, else it is registered again."},
    {"shard", 0, FOR_SAMPLE | FOR_VOXELIZE | FOR_FILTER | FOR_REGISTER | FOR_CONVERT | FOR_VIEW | FOR_INFO,
     OPTION_LINE_ONLY | OPTION_MANY, &type_path, "I/N", AT(shard), 0, 0, NULL,
     "Process only part I of N (every N-th input or pair), to divide the work among machines; slurm: take I and N "
     "from the task of the Slurm job array."},
    {"fields", 0, FOR_POINTS | FOR_INFO | FOR_VIEW, 0, &type_int, "N", AT(fields), 3, 16, NULL,
     "float32 values in a record of a .bin input: 4 for KITTI, 5 for nuScenes, whose names end in .pcd.bin."},
    {"labels", 0, FOR_LABELS, OPTION_INPUT, &type_path, "FILE|FOLDER", AT(labels), 0, 0, NULL,
     "The labels of the inputs, of SemanticKITTI: a .label file, or in FOLDER NAME.label for NAME.bin. They become the "
     "columns label and instance."},
    {"camera", 0, FOR_READERS, OPTION_INPUT, &type_camera, "FX,FY,CX,CY|FILE", AT(camera), 0, 0, NULL,
     "Camera of depth images, in pixels; width, height, depth_scale, min_depth and max_depth may follow as NAME=VALUE. "
     "A file in place of the numbers: a 3x3 matrix as text, a camera of Open3D or RealSense (.json), a calib.txt of "
     "KITTI, a camera_info of ROS or what OpenCV writes (.yaml). In a --config the same members as a mapping."},
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
    {"help", 'h', FOR_ALL, OPTION_LINE_ONLY, &type_flag, NULL, AT(help), 0, 0, NULL,
     "-h: what most people need of it; --help: all options."},
    {"version", 'V', FOR_ALL, OPTION_LINE_ONLY, &type_flag, NULL, AT(version), 0, 0, NULL,
     "Show the version; with -v also back ends, GPU architectures, formats and devices."},
};
enum { SHARED = sizeof shared / sizeof shared[0] };

/* The rows of each command, then the shared ones; listed by the first call, before there are threads. */
static option_row all[OPTIONS_MAX];
static int all_count;

/* `command`: of all rows, or 0. */
static void list_rows(const option_row *rows, int count, unsigned command) {
    for (int i = 0; i < count && all_count < OPTIONS_MAX; i++) {
        all[all_count] = rows[i];
        all[all_count++].commands |= command;
    }
}

const option_row *option_at(int i) {
    if (all_count == 0) {
        for (int k = 0; command_at(k); k++) {
            list_rows(command_at(k)->options.rows, command_at(k)->options.count, command_at(k)->bit);
        }
        list_rows(shared, SHARED, 0);
    }
    return i >= 0 && i < all_count ? &all[i] : NULL;
}

int option_index(const option_row *option) {
    return (int)(option - all);
}
