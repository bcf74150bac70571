/* What the options of pcgpu register mean together. */
#include "options.h"

#include <string.h>

const char *options_init_file(const option_values *options) {
    return options->init && strcmp(options->init, "auto") != 0 ? options->init : NULL;
}

bool options_check_register(option_values *options, char *why, size_t why_size) {
    pcgpu_register_params *p = &options->registration;
    const char *wrong = NULL;
    p->search = !options->init                  ? PCGPU_SEARCH_RESCUE
                : options_init_file(options) ? PCGPU_SEARCH_NEVER
                                             : PCGPU_SEARCH_ALWAYS;
    if (p->method == PCGPU_REGISTER_CELLS && p->kernel != PCGPU_KERNEL_AUTO) {
        wrong = "kernel: the method cells has its own; leave it out or give --method plane, gicp or point";
    } else if (p->kernel_scale != 0 && (p->method == PCGPU_REGISTER_CELLS || p->kernel == PCGPU_KERNEL_NONE)) {
        wrong = "kernel-scale: there is no kernel that it is of; give --method plane, gicp or point and a --kernel";
    }
    if (wrong) {
        snprintf(why, why_size, "%s", wrong);
    }
    return !wrong;
}
