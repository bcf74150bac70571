/* Options against each other. */
#include "options.h"

#include <string.h>

const char *options_later_wins(const option_values *options, const command_info *command, const char *a, const char *b,
                               char *why, size_t why_size) {
    int a_from = options->source[option_index(option_by_name(a, command->bit))];
    int b_from = options->source[option_index(option_by_name(b, command->bit))];
    if (a_from == b_from) {
        snprintf(why, why_size, "%s and %s exclude each other; give one of them", a, b);
        return NULL;
    }
    return a_from > b_from ? b : a;
}

/* The one from the later source wins here, too. */
static bool settle_verbose_and_quiet(option_values *options, char *why, size_t why_size) {
    int verbose_from = options->source[option_index(option_by_name("verbose", FOR_ALL))];
    int quiet_from = options->source[option_index(option_by_name("quiet", FOR_ALL))];
    if (!options->verbose || !options->quiet) {
        return true;
    }
    if (verbose_from == quiet_from) {
        snprintf(why, why_size, "verbose and quiet exclude each other; give one of them");
        return false;
    }
    options->verbose = verbose_from > quiet_from;
    options->quiet = !options->verbose;
    return true;
}

bool options_check(option_values *options, const command_info *command, char *why, size_t why_size) {
    if (!settle_verbose_and_quiet(options, why, why_size) ||
        (option_given(options, "camera", command) && !camera_check(&options->camera, why, why_size)) ||
        (option_given(options, "target-camera", command) && !camera_check(&options->target_camera, why, why_size))) {
        return false;
    }
    return !command->settle || command->settle(options, command, why, why_size);
}
