/* pcgpu sample: the command, and checks of its options. */
#include "sample_run.h"
#include "sweeps.h"

#include <string.h>

static bool settle_count_and_ratio(option_values *options, const command_info *command, reason *why) {
    pcgpu_sample_params *p = &options->sample;
    if (p->count == 0 || p->ratio == 0) {
        return true;
    }
    const char *out = options_later_wins(options, command, "count", "ratio", why);
    if (out && strcmp(out, "ratio") == 0) {
        p->ratio = 0;
    } else if (out) {
        p->count = 0;
    }
    return out;
}

/* Seeds replace the start. The default start is allowed, since --dry-run prints it. */
static bool settle_seeds_and_start(option_values *options, const command_info *command, reason *why) {
    const pcgpu_sample_params *p = &options->sample;
    if (!options->seeds || p->start == PCGPU_START_FIRST) {
        return true;
    }
    const char *out = options_later_wins(options, command, "seeds", "start", why);
    if (out && strcmp(out, "seeds") == 0) {
        options->seeds = NULL;
    } else if (out) {
        options->sample.start = PCGPU_START_FIRST;
        options->sample.start_index = 0;
    }
    return out;
}

static bool settle(option_values *options, const command_info *command, reason *why) {
    const pcgpu_sample_params *p = &options->sample;
    if (!settle_count_and_ratio(options, command, why) || !settle_seeds_and_start(options, command, why)) {
        return false;
    }
    const char *wrong = NULL;
    const bool bounded = p->min_distance != 0;
    if (p->count == 0 && p->ratio == 0 && p->min_distance == 0) {
        wrong = "how many points? give --count N, --ratio R or --min-distance D";
    } else if (p->method == PCGPU_SAMPLE_RANDOM && p->min_distance != 0) {
        wrong = "min-distance is for farthest point sampling; leave it out or give --method fps";
    } else if (p->method == PCGPU_SAMPLE_RANDOM && options->distances) {
        wrong = "random sampling has no distances; leave --distances out or give --method fps";
    } else if (p->method == PCGPU_SAMPLE_FPS && p->start != PCGPU_START_RANDOM &&
               option_given_here(options, "seed", command)) {
        wrong = "seed is for --method random and --start random; give one of them, or leave --seed out";
    } else if (options->pad != PAD_NONE && p->count == 0) {
        wrong = "pad fills up to --count; give it, or leave --pad out";
    } else if (p->at_most && (p->count == 0 || bounded)) {
        wrong = bounded ? "with min-distance --count is an upper bound already; leave --at-most out"
                        : "at-most is for --count; give it, or leave --at-most out";
    } else if (p->at_most && options->pad != PAD_NONE) {
        wrong = "at-most writes fewer points and pad fills them up; give one of them";
    } else if (options->batch && options->seeds) {
        wrong = "seeds are records of one input; leave --batch out";
    } else if (options->batch && (p->count == 0 || p->at_most || (bounded && options->pad == PAD_NONE))) {
        wrong = "the inputs of a batch have one number of points; give --count N, with --pad where some have fewer";
    }
    if (!wrong && options->memory && options->device.device == PCGPU_DEVICE_CUDA) {
        wrong = "memory: files in pieces are sampled on the CPU; leave memory or cuda out";
    } else if (!wrong && options->memory && options->batch) {
        wrong = "memory: the inputs of a batch are read as a whole; leave memory or batch out";
    }
    return wrong ? refuse(why, "%s", wrong) : sweeps_settle(options, command, why);
}

static bool check(const session *s, reason *why) {
    if (s->options->seeds && s->input_count > 1) {
        return refuse(why, "%d inputs and --seeds, which are records of one; give one input", s->input_count);
    }
    return sweeps_check(s, why);
}

static int run(session *s) {
    return s->options->batch ? sample_batch(s) : session_run_each(s, sample_process);
}

const command_info sample_command = {
    .name = "sample",
    .bit = FOR_SAMPLE,
    .arguments = "[OPTION]... [INPUT]...",
    .summary = "pick points of a cloud: farthest point sampling or at random",
    .examples = {"-m 4096 scan.bin -o sampled.ply", "--min-distance 0.5 scans/ -o thin/"},
    .traits = COMMAND_READS_STDIN | COMMAND_PRINTS_DATA | COMMAND_KEEPS_COLUMNS,
    .inputs_per_job = 1,
    .settle = settle,
    .check = check,
    .reads_pieces = sample_reads_pieces,
    .run = run};
