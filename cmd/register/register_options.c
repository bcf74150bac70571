/* pcgpu register: the command, and checks of its options. */
#include "register.h"
#include "transform_file.h"

#include <string.h>

bool register_resolve_options(option_values *options, const command_info *command, reason *why) {
    const char *wrong = NULL;
    options->registration.search = !options->init               ? PCGPU_SEARCH_RESCUE
                                   : options_init_file(options) ? PCGPU_SEARCH_NEVER
                                                                : PCGPU_SEARCH_ALWAYS;
    if (command->bit == FOR_REGISTER && register_own(options)->all) {
        return register_all_resolve(options, command, why);
    }
    if (command->bit == FOR_REGISTER && register_own(options)->merge && !options->output) {
        wrong = MERGE_WITHOUT_OUTPUT;
    }
    if (options->skip_existing && !(options->pairs && options->output)) {
        wrong = "--skip-existing is for --pairs with --output DIR/; leave it out";
    } else if (options->shard && !options->pairs) {
        wrong = "--shard is for --pairs; leave it out";
    }
    return !wrong || refuse(why, "%s", wrong);
}

static bool take_inputs(session *s, reason *why) {
    return s->input_count == 2 || refuse(why,
                                         "%d inputs; give two, SOURCE TARGET, or --pairs LIST; pcgpu odometry finds "
                                         "the poses of a sequence",
                                         s->input_count);
}

/* ---- --pairs: each pair of a list is a job, and has one line in --transform and on standard output --------------- */

static bool transform_is_stdout(const session *s) {
    return register_own(s->options)->transform && strcmp(register_own(s->options)->transform, "-") == 0;
}

static void end_pair(const job *j, int code) {
    const session *s = j->session;
    const double *T = code == EXIT_DONE ? j->transform : NULL;
    if (j->line == 0) {
        return;
    }
    if (s->lines) {
        transform_write_line(s->lines, T, register_own(s->options)->transform_format);
    }
    if (transform_is_stdout(s) || !session_json_is_stdout(s)) {
        transform_write_line(s->out, T, register_own(s->options)->transform_format);
        fflush(s->out); /* a reader may wait for it; errors are reported at the end */
    }
}

static int run_pairs(session *s) {
    option_values *o = s->options;
    output transforms = {0};
    if (!register_read_init(s, o->registration.init) ||
        (register_own(o)->transform && !transform_is_stdout(s) &&
         !output_open(&transforms, register_own(o)->transform, existing_of(o->force || o->skip_existing), true))) {
        return EXIT_FAILED;
    }
    s->lines = transforms.stream;
    int code = session_run(s);
    s->lines = NULL;
    return !transforms.stream || output_commit(&transforms) ? code : EXIT_FAILED;
}

static int run(session *s) {
    return s->options->pairs ? run_pairs(s) : session_run(s);
}

static const char *const transform_formats[] = {"matrix", "kitti", "tum", NULL};

static const option_row rows[] = {
    {"target-camera", 0, 0, OPTION_INPUT | OPTION_SET, &type_camera, "FX,FY,CX,CY", AT(target_camera), 0, 0, NULL,
     "Camera of TARGET, in the format of --camera, when it differs from that of SOURCE."},
    {"init", 0, 0, OPTION_INPUT, &type_path, "FILE", AT(init), 0, 0, NULL,
     "Start from this T_target_source: a 4x4 matrix, a KITTI line (12 numbers) or a TUM line (7, or 8 with a time). "
     "auto: a search, from features in any rotation and by height grids at any rotation about z. Default: the "
     "identity, and when that does not converge, the search; see STARTS of pcgpu-methods(7)."},
    {"pairs", 0, 0, OPTION_INPUT, &type_path, "LIST", AT(pairs), 0, 0, NULL,
     "Register the pairs of a list, one per line: SOURCE TARGET, with a tab between them when names have blanks; - is "
     "standard input. Prints one line per pair."},
    {"all", 0, 0, 0, &type_flag, NULL, OWN_AT(register_values, all), 0, 0, NULL,
     "Place all inputs, clouds in any order or folders of them, in the frame of one. --transform or -o gets a pose for "
     "each; with --merge -o gets the clouds. See SETS OF CLOUDS."},
    {"transform", 0, 0, OPTION_OUTPUT | OPTION_TEXT, &type_path, "FILE", OWN_AT(register_values, transform), 0, 0, NULL,
     "Write T_target_source, which maps source coordinates into the target's frame."},
    {"transform-format", 0, 0, OPTION_SET, &type_choice, "NAME", OWN_AT(register_values, transform_format), 0, 0,
     transform_formats,
     "matrix: four rows of four numbers; kitti: the upper three rows in one line; tum: time 0, translation and "
     "quaternion x y z w in one line. With --pairs each transform is one line."},
    {"merge", 0, 0, 0, &type_flag, NULL, OWN_AT(register_values, merge), 0, 0, NULL,
     "Write SOURCE and TARGET to --output, both in the frame of TARGET, with a column source: 0 for points of "
     "SOURCE, 1 for those of TARGET. With --all: all clouds that have a pose, with the index of the input as source."},
};

const command_info register_command = {
    .name = "register",
    .bit = FOR_REGISTER,
    .arguments = "[OPTION]... SOURCE TARGET | --pairs LIST | --all CLOUD...",
    .summary = "find the rigid transform that maps SOURCE onto TARGET",
    .examples = {"scan1.bin scan2.bin", "--pairs pairs.txt --transform motions.txt"},
    .main_options = "transform output merge init method voxel-size min-score pairs all camera device",
    .traits = COMMAND_DROPS_ORIGIN | COMMAND_MAY_NOT_CONVERGE | COMMAND_KEEPS_COLUMNS,
    .inputs_per_job = 2,
    .options = ROWS(rows),
    .resolve_options = register_resolve_options,
    .find_inputs = register_find_inputs,
    .take_inputs = take_inputs,
    .check_inputs = register_check,
    .takes_images = register_is_projective,
    .effective_options = register_effective_options,
    .process = register_process,
    .run = run,
    .after_job = end_pair};
