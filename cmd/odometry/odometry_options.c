/* pcgpu odometry: the command, and its options against each other. */
#include "odometry_map.h"
#include "register.h"

#include <string.h>

static bool settle(option_values *o, const command_info *command, reason *why) {
    const char *wrong = NULL;
    o->trajectory = o->trajectory ? o->trajectory : "-";
    if (o->init && !options_init_file(o) && !(o->map && strcmp(o->init, "auto") == 0)) {
        wrong = "init: auto is for pairs, and for --map; give a FILE with the pose of the first input, or leave it out";
    } else if (o->timestamps && option_given_here(o, "rate", command)) {
        wrong = "timestamps and rate exclude each other; give one of them";
    } else if (o->calibration && !o->ground_truth) {
        wrong = "calibration needs --ground-truth; leave it out";
    }
    return (!wrong || refuse(why, "%s", wrong)) && register_settle(o, command, why);
}

static bool take_inputs(session *s, reason *why) {
    return s->input_count > 0 || refuse(why, "no input; give the scans or depth images of the sequence");
}

/* The outputs and options of a model, which depth images have, and of a map, which scans have. */
static bool check_model(const session *s, reason *why) {
    static const char *const of_model[] = {"mesh", "truncation", "color", "map-voxel"};
    static const char *const of_map[] = {"keep-moving", "memory", "temporary-folder", "map-voxel"};
    const option_values *o = s->options;
    /* A configuration may also serve other sequences: what the command line has is refused. */
    if (!odometry_is_depth(s)) {
        return register_refuse(s, of_model, 3, "is about the model of depth images, and scans are given", why) &&
               (o->output ||
                register_refuse(s, of_map, 4, "is about the map, and none is written without --output", why)) &&
               (!o->mesh || refuse(why, "mesh: scans have a map of points; give -o FILE in its place")) &&
               (!o->output || !path_is_folder(o->output) || refuse(why, "output: the map is one file; give -o FILE"));
    }
    if (!register_refuse(s, of_map, 3, "is about the map of scans, and depth images are given", why)) {
        return false;
    }
    if (!odometry_has_model(s)) {
        return register_refuse(s, of_model, 4, "is about the model of depth images, which needs --reference model",
                               why) &&
               ((!o->output && !o->mesh) || refuse(why, "this sequence has a trajectory and no other output; leave out "
                                                        "--output, or give --reference model"));
    }
    return !option_given_here(o, "color", s->command) || o->output || o->mesh ||
           refuse(why, "color is for the outputs of the model; give -o or --mesh, or leave it out");
}

/* A map takes the place of the references. */
static bool check_map(const session *s, bool images, reason *why) {
    static const char *const of_no_map[] = {"reference", "loops"};
    return !s->options->map ||
           ((!images || refuse(why, "map is for scans, and depth images are given; leave it out, or give scans")) &&
            (s->options->registration.method == PCGPU_REGISTER_NDT ||
             refuse(why, "map: scans are localized by method ndt; leave --method out")) &&
            register_refuse(s, of_no_map, 2, "has no effect with --map, which is what scans are registered to", why));
}

/* With the size of the voxels of the map or the model. */
static void effect(const session *s, const char *const *inputs, int count, option_values *values) {
    register_effect(s, inputs, count, values);
    values->map_voxel = odometry_map_voxel(s);
}

/* Refuses options without an effect on this kind of sequence. */
static bool check_kind(const session *s, bool images, reason *why) {
    static const char *const of_scans[] = {"model-range", "deskew", "time-column"};
    static const char *const of_model[] = {"model-range"}, *const of_time[] = {"time-column"};
    const pcgpu_odometry_params *p = &s->options->odometry;
    return register_check_kind(s, !images, images, why) &&
           (!images || register_refuse(s, of_scans, 3, "is for scans, and depth images are given", why)) &&
           (p->reference == PCGPU_REFERENCE_MODEL ||
            register_refuse(s, of_model, 1, "is for --reference model", why)) &&
           (p->deskew == PCGPU_DESKEW_TIME || register_refuse(s, of_time, 1, "is for --deskew time", why));
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

const command_info odometry_command = {.name = "odometry",
                                       .bit = FOR_ODOMETRY,
                                       .arguments = "[OPTION]... INPUT...",
                                       .summary = "find the poses of a sequence of scans or depth images",
                                       .examples = {"scans/ --trajectory poses.txt -o map.ply",
                                                    "--config camera.yaml depth/ --trajectory poses.txt -o points.ply"},
                                       .traits = COMMAND_DROPS_ORIGIN | COMMAND_MAY_NOT_CONVERGE,
                                       .settle = settle,
                                       .find_inputs = odometry_find_sequence,
                                       .take_inputs = take_inputs,
                                       .check = check,
                                       .takes_images = register_is_projective,
                                       .effect = effect,
                                       .run = odometry_run};
