/* pcgpu register: the command, and checks of its options. */
#include "register.h"

#include <string.h>

bool register_settle(option_values *options, const command_info *command, reason *why) {
    (void)command;
    const char *wrong = NULL;
    options->registration.search = !options->init                         ? PCGPU_SEARCH_RESCUE
                                   : options_init_file(options)           ? PCGPU_SEARCH_NEVER
                                   : strcmp(options->init, "global") == 0 ? PCGPU_SEARCH_GLOBAL
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

const command_info register_command = {.name = "register",
                                       .bit = FOR_REGISTER,
                                       .arguments = "[OPTION]... SOURCE TARGET | --pairs LIST",
                                       .summary = "find the rigid transform that maps SOURCE onto TARGET",
                                       .examples = {"scan1.bin scan2.bin", "--pairs pairs.txt --transform motions.txt"},
                                       .traits =
                                           COMMAND_DROPS_ORIGIN | COMMAND_MAY_NOT_CONVERGE | COMMAND_KEEPS_COLUMNS,
                                       .inputs_per_job = 2,
                                       .settle = register_settle,
                                       .take_inputs = take_inputs,
                                       .check = register_check,
                                       .takes_images = register_is_projective,
                                       .effect = register_effect,
                                       .run = run,
                                       .ended = register_end_pair};
