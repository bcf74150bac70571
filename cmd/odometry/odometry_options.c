/* pcgpu odometry: the command, and its options against each other. */
#include "odometry_map.h"
#include "register.h"

#include <string.h>

static bool resolve_options(option_values *o, const command_info *command, reason *why) {
    const char *wrong = NULL;
    const double beams = odometry_own(o)->beam_correction;
    o->trajectory = o->trajectory ? o->trajectory : "-";
    o->registration.beam_correction = beams == PCGPU_AUTO ? 0.0 : beams;
    if (o->init && !options_init_file(o) && !(odometry_map_of(odometry_own(o)) && strcmp(o->init, "auto") == 0)) {
        wrong =
            "init: auto is for pairs, --map and --into; give a FILE with the pose of the first input, or leave it out";
    } else if (o->timestamps && option_given_here(o, "rate", command)) {
        wrong = "timestamps and rate exclude each other; give one of them";
    } else if (o->calibration && !o->ground_truth) {
        wrong = "calibration needs --ground-truth; leave it out";
    }
    return (!wrong || refuse(why, "%s", wrong)) && register_resolve_options(o, command, why);
}

static bool take_inputs(session *s, reason *why) {
    return s->input_count > 0 || refuse(why, "no input; give the scans or depth images of the sequence");
}

/* The outputs and options of a model, which depth images have, and of a map, which scans have. */
static bool check_model(const session *s, reason *why) {
    static const char *const of_model[] = {"mesh", "truncation", "color", "map-voxel"};
    static const char *const of_map[] = {"keep-moving", "memory", "temporary-folder", "labels", "map-voxel"};
    const option_values *o = s->options;
    /* A configuration may also serve other sequences: what the command line has is refused. */
    if (!odometry_is_depth(s)) {
        return register_refuse(s, of_model, 3, "is about the model of depth images, and scans are given", why) &&
               (odometry_has_map(s) ||
                register_refuse(s, of_map, 5, "is about the map, and none is written without --output", why)) &&
               (!o->mesh || refuse(why, "mesh: scans have a map of points; give -o FILE in its place")) &&
               (!o->output || !path_is_folder(o->output) || refuse(why, "output: the map is one file; give -o FILE"));
    }
    if (!register_refuse(s, of_map, 4, "is about the map of scans, and depth images are given", why)) {
        return false;
    }
    if (!odometry_has_model(s)) {
        return register_refuse(s, of_model, 4, "is about the model of depth images, which needs --reference model",
                               why) &&
               ((!o->output && !o->mesh) || refuse(why, "this sequence has a trajectory and no other output; leave out "
                                                        "--output, or give --reference model"));
    }
    return !option_given_here(o, "color", s->command) || o->output || o->mesh ||
           refuse(why, "--color is for the outputs of the model; give -o or --mesh, or leave it out");
}

static bool check_changes(const session *s, reason *why) {
    const odometry_values *own = odometry_own(s->options);
    const pcgpu_format_info *format = own->changes ? pcgpu_format_of_path(own->changes) : NULL;
    return !own->changes ||
           ((own->into || refuse(why, "changes: they are those of an existing map; give --into FILE with it")) &&
            (!own->keep_moving ||
             refuse(why, "changes: with --set keep-moving nothing is seen through; leave one of them out")) &&
            ((format ? format->writes : path_is_stream(own->changes)) ||
             refuse(why, "changes: %s is no name of a cloud; give one that ends in .ply, .pcd or .npy", own->changes)));
}

/* A map takes the place of the references. */
static bool check_map(const session *s, bool images, reason *why) {
    static const char *const of_no_map[] = {"reference", "loops", "prior"};
    const odometry_values *own = odometry_own(s->options);
    const char *name = own->into ? "into" : "map";
    char effect[100];
    snprintf(effect, sizeof effect, "has no effect with --%s, which is what scans are registered to", name);
    return (!own->map || !own->into ||
            refuse(why, "map: --into localizes the scans in a map, too; give one of them")) &&
           check_changes(s, why) &&
           (!odometry_map_of(own) ||
            ((!images ||
              refuse(why, "--%s is for scans, and depth images are given; leave it out, or give scans", name)) &&
             (s->options->registration.method == PCGPU_REGISTER_NDT ||
              refuse(why, "%s: scans are localized by method ndt; leave --method out", name)) &&
             register_refuse(s, of_no_map, 3, effect, why)));
}

/* With the size of the voxels of the map or the model. */
static void effect(const session *s, const char *const *inputs, int count, option_values *values) {
    register_effective_options(s, inputs, count, values);
    odometry_own(values)->map_voxel = odometry_map_voxel(s);
    if (!odometry_own(values)->prior) {
        option_leave_out(values, "prior-sigma", s->command);
        option_leave_out(values, "prior-antenna", s->command);
    }
}

/* Refuses options without an effect on this kind of sequence. */
static bool check_kind(const session *s, bool images, reason *why) {
    static const char *const of_scans[] = {"model-range", "deskew", "time-column", "prior"};
    static const char *const of_model[] = {"model-range"}, *const of_time[] = {"time-column"},
                             *const of_prior[] = {"prior-sigma", "prior-antenna"};
    const pcgpu_odometry_params *p = &odometry_own(s->options)->params;
    return register_check_kind(s, !images, images, why) &&
           (!images || register_refuse(s, of_scans, 4, "is for scans, and depth images are given", why)) &&
           (p->reference == PCGPU_REFERENCE_MODEL ||
            register_refuse(s, of_model, 1, "is for --reference model", why)) &&
           (p->deskew == PCGPU_DESKEW_TIME || p->deskew == PCGPU_DESKEW_AUTO ||
            register_refuse(s, of_time, 1, "is for --deskew time or auto", why)) &&
           (odometry_own(s->options)->prior || register_refuse(s, of_prior, 2, "is for --prior", why));
}

static bool check(const session *s, reason *why) {
    for (int i = 0; i < s->input_count; i++) {
        if (strcmp(s->inputs[i], "-") == 0) {
            return refuse(why, "standard input cannot be one of many inputs; give files");
        }
    }
    if (s->options->association == ASSOCIATION_PROJECTIVE && !odometry_is_depth(s)) {
        return refuse(why, "association projective is for depth images; leave it out, scans go by method ndt");
    }
    return register_check_scans(s, s->input_count, why) && check_map(s, odometry_is_depth(s), why) &&
           check_kind(s, odometry_is_depth(s), why) && check_model(s, why);
}

/* In the order of the library's enums. */
static const char *const transform_formats[] = {"matrix", "kitti", "tum", NULL};
static const char *const references[] = {"previous", "keyframe", "model", NULL};
static const char *const deskews[] = {"none", "time", "counterclockwise", "clockwise", "auto", NULL};

static const option_row rows[] = {
    {"init", 0, 0, OPTION_INPUT, &type_path, "FILE", AT(init), 0, 0, NULL,
     "The pose of the first input: a 4x4 matrix, a KITTI line (12 numbers) or a TUM line (7, or 8 with a time). "
     "Default: the identity. With --map, near that pose; auto, the default there: anywhere in the map."},
    {"map", 0, 0, OPTION_INPUT, &type_path, "FILE", OWN_AT(odometry_values, map), 0, 0, NULL,
     "Localize the scans in this map, any cloud, and leave it as it is: poses are in its coordinates. See "
     "LOCALIZATION of pcgpu-methods(7)."},
    {"into", 0, 0, OPTION_INPUT, &type_path, "FILE", OWN_AT(odometry_values, into), 0, 0, NULL,
     "Localize the scans in this map, as --map does, and extend it: where they leave it, odometry continues, and -o is "
     "the map with what they add. FILE stays as it is. See Sessions."},
    {"changes", 0, 0, OPTION_OUTPUT, &type_path, "FILE", OWN_AT(odometry_values, changes), 0, 0, NULL,
     "With --into: write the voxels that have appeared (column change: 1) and disappeared (2), a cloud."},
    {"guess", 0, 0, OPTION_INPUT, &type_path, "FILE", OWN_AT(odometry_values, guess), 0, 0, NULL,
     "Predict the motion from scan to scan by these poses of the sensor, in any frame, from wheels, an IMU or GNSS: "
     "one per input, or with times, such as TUM, in the clock of --timestamps or of a recording. Scans decide; lost "
     "ones are tried from it."},
    {"prior", 0, 0, OPTION_INPUT, &type_path, "FILE", OWN_AT(odometry_values, prior), 0, 0, NULL,
     "Correct the poses of scans at the end by measured positions, such as GNSS, and move them and the map into their "
     "frame: lines of TUM or a table, in the clock of --timestamps or of a recording. See Positions."},
    {"prior-sigma", 0, 0, OPTION_ABOVE_MIN | OPTION_SET, &type_real, "M", OWN_AT(odometry_values, prior_sigma), 0, 1000,
     NULL, "Standard deviation of a position of --prior on each axis, in metres, where the file has none."},
    {"prior-antenna", 0, 0, OPTION_SET, &type_point, "X,Y,Z", OWN_AT(odometry_values, prior_antenna), -FAR, FAR, NULL,
     "Where the antenna, or what --prior is of, is in the frame of the sensor, in metres."},
    {"trajectory", 0, 0, OPTION_OUTPUT | OPTION_TEXT | OPTION_GROWS, &type_path, "FILE", AT(trajectory), 0, 0, NULL,
     "Write the pose of each input to FILE, one per line, in the frame of the first; - is standard output, the "
     "default."},
    {"trajectory-format", 0, 0, 0, &type_choice, "NAME", OWN_AT(odometry_values, trajectory_format), 0, 0,
     transform_formats, "matrix: 16 numbers per line; kitti: 12; tum: time, translation and quaternion x y z w."},
    {"reference", 0, 0, 0, &type_choice, "NAME", OWN_AT(odometry_values, params.reference), 0, 0, references,
     "The reference of the registration: the previous scan, a keyframe, or a local map of all earlier scans."},
    {"model-range", 0, 0, OPTION_ABOVE_MIN | OPTION_SET, &type_real, "M", OWN_AT(odometry_values, params.model_range),
     0, FAR, NULL,
     "Minimum extent of the local map from the sensor on each axis, in metres; farther voxels are dropped."},
    {"deskew", 0, 0, 0, &type_choice, "NAME", OWN_AT(odometry_values, params.deskew), 0, 0, deskews,
     "How scans are corrected for the motion of the sensor: none; time: with a column of times; "
     "counterclockwise, clockwise: as one revolution of the scanner, seen from above, from the first point on; auto: "
     "with times, where the first scan has a column whose values vary and that has the name of a time or follows the "
     "azimuth of the points."},
    {"time-column", 0, 0, OPTION_ZERO_IS_NONE | OPTION_SET, &type_int, "N", OWN_AT(odometry_values, params.time_column),
     3, 63, NULL,
     "The column of times, counted from 0, for --deskew time or auto. Default: that which auto finds; with time one "
     "named so, such as gps_time, else 4."},
    {"beam-correction", 0, 0, OPTION_AUTO, &type_real, "DEGREES", OWN_AT(odometry_values, beam_correction), -10, 10,
     NULL,
     "Add this angle to the elevation of each point before all other steps. auto: 0.205 for sequences of KITTI; else "
     "what the first 68 m of a drive show, and 0 where they do not. See SCANS of pcgpu-methods(7). Default: auto."},
    {"loops", 0, 0, 0, &type_flag, NULL, OWN_AT(odometry_values, loops), 0, 0, NULL,
     "Find places that the sensor sees again, and correct all poses by them at the end."},
    {"map-voxel", 0, 0, OPTION_AUTO, &type_real, "S", OWN_AT(odometry_values, map_voxel), 1e-4, 1000, NULL,
     "Voxel size of the map of scans, or of the model of depth images, in metres. auto: 0.1, and 0.01 for depth "
     "images. Default: auto."},
    {"keep-moving", 0, 0, OPTION_SET, &type_flag, NULL, OWN_AT(odometry_values, keep_moving), 0, 0, NULL,
     "Keep the points of objects that moved, which are left out of the map since scans have seen through them."},
    {"memory", 0, 0, OPTION_ZERO_IS_NONE | OPTION_SET, &type_bytes, "SIZE", AT(memory), 1 << 20, 1e15, NULL,
     "Memory for the voxels of the map, such as 2G (K, M, G, T: powers of 1024); those farthest from the sensor go "
     "to a temporary file. The map does not depend on it. Default: 1G."},
    {"temporary-folder", 0, 0, OPTION_SET, &type_path, "DIR", OWN_AT(odometry_values, temporary_folder), 0, 0, NULL,
     "The folder for the temporary file of the map. Default: that of --output, or of a pipe that of TMPDIR or /tmp."},
};

static void init(option_values *options) {
    pcgpu_odometry_params_init(&odometry_own(options)->params);
    odometry_own(options)->trajectory_format = TRANSFORM_KITTI;
    odometry_own(options)->map_voxel = PCGPU_AUTO;
    odometry_own(options)->prior_sigma = 1;
    odometry_own(options)->beam_correction = PCGPU_AUTO;
}

const command_info odometry_command = {
    .name = "odometry",
    .bit = FOR_ODOMETRY,
    .arguments = "[OPTION]... INPUT...",
    .summary = "find the poses of a sequence of scans or depth images",
    .examples = {"scans/ --trajectory poses.txt -o map.ply",
                 "--config camera.yaml depth/ --trajectory poses.txt -o points.ply"},
    .main_options = "trajectory output map-voxel loops map ground-truth reference deskew camera device",
    .traits = COMMAND_DROPS_ORIGIN | COMMAND_MAY_NOT_CONVERGE,
    .options = ROWS(rows),
    .init = init,
    .resolve_options = resolve_options,
    .find_inputs = odometry_find_sequence,
    .take_inputs = take_inputs,
    .check_inputs = check,
    .takes_images = register_is_projective,
    .effective_options = effect,
    .run = odometry_run};
