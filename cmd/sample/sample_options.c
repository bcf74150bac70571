/* pcgpu sample: the command, and its options against each other. */
#include "sample_run.h"

#include <string.h>

static bool settle_count_and_ratio(option_values *options, const command_info *command, char *why, size_t why_size) {
    pcgpu_sample_params *p = &options->sample;
    if (p->count == 0 || p->ratio == 0) {
        return true;
    }
    const char *out = options_later_wins(options, command, "count", "ratio", why, why_size);
    if (out && strcmp(out, "ratio") == 0) {
        p->ratio = 0;
    } else if (out) {
        p->count = 0;
    }
    return out;
}

/* Seeds come first, so there is nothing to start with. The default excludes nothing: --dry-run prints it. */
static bool settle_seeds_and_start(option_values *options, const command_info *command, char *why, size_t why_size) {
    const pcgpu_sample_params *p = &options->sample;
    if (!options->seeds || p->start == PCGPU_START_FIRST) {
        return true;
    }
    const char *out = options_later_wins(options, command, "seeds", "start", why, why_size);
    if (out && strcmp(out, "seeds") == 0) {
        options->seeds = NULL;
    } else if (out) {
        options->sample.start = PCGPU_START_FIRST;
        options->sample.start_index = 0;
    }
    return out;
}

static bool settle(option_values *options, const command_info *command, char *why, size_t why_size) {
    const pcgpu_sample_params *p = &options->sample;
    if (!settle_count_and_ratio(options, command, why, why_size) ||
        !settle_seeds_and_start(options, command, why, why_size)) {
        return false;
    }
    const char *wrong = NULL;
    if (p->count == 0 && p->ratio == 0 && p->min_distance == 0) {
        wrong = "how many points? give --count N, --ratio R or --min-distance D";
    } else if (p->method == PCGPU_SAMPLE_RANDOM && p->min_distance != 0) {
        wrong = "min-distance is for farthest point sampling; leave it out or give --method fps";
    } else if (p->method == PCGPU_SAMPLE_RANDOM && options->distances) {
        wrong = "random sampling has no distances; leave --distances out or give --method fps";
    }
    if (wrong) {
        snprintf(why, why_size, "%s", wrong);
    }
    return !wrong;
}

static bool check(const session *s, char *why, size_t why_size) {
    if (s->options->seeds && s->input_count > 1) {
        snprintf(why, why_size, "%d inputs and --seeds, which are records of one; give one input", s->input_count);
        return false;
    }
    return true;
}

const command_info sample_command = {.name = "sample",
                                     .bit = FOR_SAMPLE,
                                     .arguments = "[OPTION]... [INPUT]...",
                                     .summary = "pick points of a cloud: farthest point sampling or at random",
                                     .traits = COMMAND_READS_STDIN | COMMAND_PRINTS_DATA,
                                     .inputs_per_job = 1,
                                     .settle = settle,
                                     .check = check,
                                     .run = sample_run};
