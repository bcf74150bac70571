/* pcgpu register: the command, and what options of registration mean together. */
#include "register.h"

bool register_settle(option_values *options, const command_info *command, char *why, size_t why_size) {
    (void)command;
    pcgpu_register_params *p = &options->registration;
    const char *wrong = NULL;
    p->search = !options->init               ? PCGPU_SEARCH_RESCUE
                : options_init_file(options) ? PCGPU_SEARCH_NEVER
                                             : PCGPU_SEARCH_ALWAYS;
    if (p->method == PCGPU_REGISTER_NDT && p->kernel != PCGPU_KERNEL_AUTO) {
        wrong = "kernel: method ndt has its own; leave it out or give --method plane, gicp or point";
    } else if (p->kernel_scale != 0 && (p->method == PCGPU_REGISTER_NDT || p->kernel == PCGPU_KERNEL_NONE)) {
        wrong = "kernel-scale: there is no kernel that it is of; give --method plane, gicp or point and a --kernel";
    }
    if (wrong) {
        snprintf(why, why_size, "%s", wrong);
    }
    return !wrong;
}

bool register_refuse(const session *s, const char *const *names, int count, const char *reason, char *why,
                     size_t why_size) {
    for (int i = 0; i < count; i++) {
        if (option_given_here(s->options, names[i], s->command)) {
            snprintf(why, why_size, "%s %s; leave it out", names[i], reason);
            return false;
        }
    }
    return true;
}

bool register_check_kind(const session *s, bool clouds, bool images, char *why, size_t why_size) {
    static const char *const of_images[] = {"level-iterations", "bilateral"};
    static const char *const of_clouds[] = {"voxel-size", "kernel", "kernel-scale", "max-iterations"};
    static const char *const of_icp[] = {"max-distance"};
    const bool cells = s->options->registration.method == PCGPU_REGISTER_NDT;
    return (images ||
            register_refuse(s, of_images, 2, "is for depth images by projective association", why, why_size)) &&
           (clouds || register_refuse(s, of_clouds, 4, "is for clouds, and depth images are given", why, why_size)) &&
           (images || !cells || register_refuse(s, of_icp, 1, "has no effect on method ndt", why, why_size));
}

static bool take_inputs(session *s, char *why, size_t why_size) {
    if (s->input_count != 2) {
        snprintf(why, why_size,
                 "%d inputs; give two, SOURCE TARGET, or --pairs LIST; poses of a sequence are found by pcgpu odometry",
                 s->input_count);
    }
    return s->input_count == 2;
}

static int run(session *s) {
    return s->options->pairs ? register_pairs(s) : session_run_together(s, register_process);
}

const command_info register_command = {.name = "register",
                                       .bit = FOR_REGISTER,
                                       .arguments = "[OPTION]... SOURCE TARGET | --pairs LIST",
                                       .summary = "find the rigid transform that maps SOURCE onto TARGET",
                                       .traits = COMMAND_DROPS_ORIGIN | COMMAND_MAY_NOT_CONVERGE,
                                       .inputs_per_job = 2,
                                       .settle = register_settle,
                                       .take_inputs = take_inputs,
                                       .check = register_check,
                                       .takes_images = register_is_projective,
                                       .effect = register_effect,
                                       .run = run};
