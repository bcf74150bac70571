/* pcgpu odometry: the command, and its options against each other. */
#include "register.h"
#include "sequence.h"

#include <string.h>

static bool settle(option_values *o, const command_info *command, char *why, size_t why_size) {
    const char *wrong = NULL;
    o->trajectory = o->trajectory ? o->trajectory : "-";
    if (o->init && !options_init_file(o)) {
        wrong = "init: auto finds the start of a pair; give a FILE with the pose of the first input, or leave it out";
    } else if (o->timestamps && option_given_here(o, "rate", command)) {
        wrong = "timestamps and rate exclude each other; give one of them";
    } else if (o->resume && strcmp(o->trajectory, "-") == 0) {
        wrong = "resume goes on with a file; give --trajectory FILE";
    } else if (o->calibration && !o->ground_truth) {
        wrong = "calibration is of --ground-truth; leave it out";
    }
    if (wrong) {
        snprintf(why, why_size, "%s", wrong);
    }
    return !wrong && register_settle(o, command, why, why_size);
}

static bool take_inputs(session *s, char *why, size_t why_size) {
    if (s->input_count == 0) {
        snprintf(why, why_size, "no input; give the scans or depth images of the sequence");
    }
    return s->input_count > 0;
}

/* The outputs and options of a model, which depth images have. */
static bool check_model(const session *s, char *why, size_t why_size) {
    static const char *const with[] = {"mesh", "map-voxel", "truncation"};
    const option_values *o = s->options;
    if (sequence_has_model(s)) {
        return true;
    }
    for (int i = 0; i < 3; i++) {
        /* What a configuration says of models does not matter to other sequences. */
        if (option_given_here(o, with[i], s->command)) {
            snprintf(why, why_size,
                     "%s is about the model of depth images; leave it out, or give depth images and --reference model",
                     with[i]);
            return false;
        }
    }
    if (o->output || o->mesh) {
        snprintf(why, why_size,
                 "this sequence has a trajectory and no other output; leave out --output, or give depth "
                 "images and --reference model");
        return false;
    }
    return true;
}

/* Options that this kind of sequence does not look at. */
static bool check_kind(const session *s, bool images, char *why, size_t why_size) {
    static const char *const of_scans[] = {"model-range", "deskew", "time-column"};
    static const char *const of_model[] = {"model-range"}, *const of_time[] = {"time-column"};
    const pcgpu_odometry_params *p = &s->options->odometry;
    return register_check_kind(s, !images, images, why, why_size) &&
           (!images || register_refuse(s, of_scans, 3, "is for scans, and depth images are given", why, why_size)) &&
           (p->reference == PCGPU_REFERENCE_MODEL ||
            register_refuse(s, of_model, 1, "is for --reference model", why, why_size)) &&
           (p->deskew == PCGPU_DESKEW_TIME || register_refuse(s, of_time, 1, "is for --deskew time", why, why_size));
}

static bool check(const session *s, char *why, size_t why_size) {
    for (int i = 0; i < s->input_count; i++) {
        if (strcmp(s->inputs[i], "-") == 0) {
            snprintf(why, why_size, "standard input cannot be one of many inputs; give files");
            return false;
        }
    }
    if (s->options->association == ASSOCIATION_PROJECTIVE && !sequence_is_depth(s)) {
        snprintf(why, why_size, "association projective is for depth images; leave it out, scans go by method ndt");
        return false;
    }
    return register_check_scans(s, s->input_count, why, why_size) &&
           check_kind(s, sequence_is_depth(s), why, why_size) && check_model(s, why, why_size);
}

const command_info odometry_command = {.name = "odometry",
                                       .bit = FOR_ODOMETRY,
                                       .arguments = "[OPTION]... INPUT...",
                                       .summary = "find the poses of a sequence of scans or depth images",
                                       .traits = COMMAND_DROPS_ORIGIN | COMMAND_MAY_NOT_CONVERGE,
                                       .settle = settle,
                                       .take_inputs = take_inputs,
                                       .check = check,
                                       .takes_images = register_is_projective,
                                       .effect = register_effect,
                                       .run = sequence_run};
