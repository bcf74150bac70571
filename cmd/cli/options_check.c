/* Checks of options against each other. */
#include "options.h"

#include <string.h>

const char *options_later_wins(const option_values *options, const command_info *command, const char *a, const char *b,
                               reason *why) {
    int a_from = options->source[option_index(option_by_name(a, command->bit))];
    int b_from = options->source[option_index(option_by_name(b, command->bit))];
    if (a_from == b_from) {
        refuse(why, "%s and %s exclude each other; give one of them", a, b);
        return NULL;
    }
    return a_from > b_from ? b : a;
}

bool range_check(const double range[6], const char *name, reason *why) {
    for (int k = 0; k < 3; k++) {
        if (!(range[k] < range[k + 3])) {
            return refuse(why, "%s: %c goes from %g to %g; the first three numbers are the lower corner", name,
                          "xyz"[k], range[k], range[k + 3]);
        }
    }
    return true;
}

static bool settle_verbose_and_quiet(option_values *options, const command_info *command, reason *why) {
    if (!options->verbose || !options->quiet) {
        return true;
    }
    const char *out = options_later_wins(options, command, "verbose", "quiet", why);
    options->quiet = out && strcmp(out, "verbose") == 0;
    options->verbose = !options->quiet;
    return out;
}

bool options_check(option_values *options, const command_info *command, reason *why) {
    if (!settle_verbose_and_quiet(options, command, why) ||
        (option_given(options, "camera", command) && !camera_check(&options->camera, why)) ||
        (option_given(options, "target-camera", command) && !camera_check(&options->target_camera, why))) {
        return false;
    }
    return !command->resolve_options || command->resolve_options(options, command, why);
}
