/* pcgpu register: the command, and checks of its options. */
#include "register.h"

#include <string.h>

bool register_resolve_options(option_values *options, const command_info *command, reason *why) {
    (void)command;
    const char *wrong = NULL;
    options->registration.search = !options->init               ? PCGPU_SEARCH_RESCUE
                                   : options_init_file(options) ? PCGPU_SEARCH_NEVER
                                                                : PCGPU_SEARCH_ALWAYS;
    if (options->merge && !options->output) {
        wrong = "merge is for the clouds of --output, and none is given; give -o FILE";
    }
    if (options->skip_existing && !(options->pairs && options->output)) {
        wrong = "skip-existing is for --pairs with --output DIR/; leave it out";
    }
    return !wrong || refuse(why, "%s", wrong);
}

static bool take_inputs(session *s, reason *why) {
    return s->input_count == 2 || refuse(why,
                                         "%d inputs; give two, SOURCE TARGET, or --pairs LIST; pcgpu odometry finds "
                                         "the poses of a sequence",
                                         s->input_count);
}

static int run(session *s) {
    return s->options->pairs ? register_pairs(s) : session_run_together(s, register_process);
}

static const char *const transform_formats[] = {"matrix", "kitti", "tum", NULL};

static const option_row rows[] = {
    {"target-camera", 0, FOR_REGISTER, OPTION_INPUT | SET_IN(FOR_REGISTER), &type_camera, "FX,FY,CX,CY",
     AT(target_camera), 0, 0, NULL,
     "Camera of TARGET, in the format of --camera, when it differs from that of SOURCE."},
    {"init", 0, FOR_REGISTER, OPTION_INPUT, &type_path, "FILE", AT(init), 0, 0, NULL,
     "Start from this T_target_source: a 4x4 matrix, a KITTI line (12 numbers) or a TUM line (7, or 8 with a time). "
     "auto: a search, from features in any rotation and by height grids at any rotation about z. Default: the "
     "identity, and when that does not converge, the search; see STARTS of pcgpu-methods(7)."},
    {"pairs", 0, FOR_REGISTER, OPTION_INPUT, &type_path, "LIST", AT(pairs), 0, 0, NULL,
     "Register the pairs of a list, one per line: SOURCE TARGET, with a tab between them when names have blanks; - is "
     "standard input. Prints one line per pair."},
    {"transform", 0, FOR_REGISTER, OPTION_OUTPUT | OPTION_TEXT, &type_path, "FILE", OWN_AT(register_values, transform),
     0, 0, NULL, "Write T_target_source, which maps source coordinates into the target's frame."},
    {"transform-format", 0, FOR_REGISTER, SET_IN(FOR_REGISTER), &type_choice, "NAME",
     OWN_AT(register_values, transform_format), 0, 0, transform_formats,
     "matrix: four rows of four numbers; kitti: the upper three rows in one line; tum: time 0, translation and "
     "quaternion x y z w in one line. With --pairs each transform is one line."},
    {"merge", 0, FOR_REGISTER, 0, &type_flag, NULL, AT(merge), 0, 0, NULL,
     "Write SOURCE and TARGET to --output, both in the frame of TARGET, with a column source: 0 for points of "
     "SOURCE, 1 for those of TARGET."},
};

const command_info register_command = {.name = "register",
                                       .bit = FOR_REGISTER,
                                       .arguments = "[OPTION]... SOURCE TARGET | --pairs LIST",
                                       .summary = "find the rigid transform that maps SOURCE onto TARGET",
                                       .examples = {"scan1.bin scan2.bin", "--pairs pairs.txt --transform motions.txt"},
                                       .traits =
                                           COMMAND_DROPS_ORIGIN | COMMAND_MAY_NOT_CONVERGE | COMMAND_KEEPS_COLUMNS,
                                       .inputs_per_job = 2,
                                       .options = ROWS(rows),
                                       .resolve_options = register_resolve_options,
                                       .take_inputs = take_inputs,
                                       .check_inputs = register_check,
                                       .takes_images = register_is_projective,
                                       .effective_options = register_effective_options,
                                       .run = run,
                                       .after_job = register_end_pair};
