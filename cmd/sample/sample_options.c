/* pcgpu sample: the command, and checks of its options. */
#include "sample_run.h"
#include "columns.h"
#include "sweeps.h"

#include <string.h>

static bool settle_count_and_ratio(option_values *options, const command_info *command, reason *why) {
    pcgpu_sample_params *p = &sample_own(options)->params;
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
    const pcgpu_sample_params *p = &sample_own(options)->params;
    if (!sample_own(options)->seeds || p->start == PCGPU_START_FIRST) {
        return true;
    }
    const char *out = options_later_wins(options, command, "seeds", "start", why);
    if (out && strcmp(out, "seeds") == 0) {
        sample_own(options)->seeds = NULL;
    } else if (out) {
        sample_own(options)->params.start = PCGPU_START_FIRST;
        sample_own(options)->params.start_index = 0;
    }
    return out;
}

static bool check_columns(const option_values *options, reason *why) {
    column_list list;
    if (!columns_split(options->columns, &list, why)) {
        return false;
    }
    if (strchr(options->columns, '=')) {
        return refuse(why, "--columns: \"=\" renames columns, as pcgpu convert does; give names alone");
    }
    return sample_own(options)->params.method == PCGPU_SAMPLE_FPS ||
           refuse(why, "random sampling measures no distances; leave --columns out or give --method fps");
}

static bool resolve_options(option_values *options, const command_info *command, reason *why) {
    const sample_values *own = sample_own(options);
    const pcgpu_sample_params *p = &own->params;
    if (!settle_count_and_ratio(options, command, why) || !settle_seeds_and_start(options, command, why)) {
        return false;
    }
    const char *wrong = NULL;
    const bool bounded = p->min_distance != 0;
    if (p->count == 0 && p->ratio == 0 && p->min_distance == 0) {
        wrong = "how many points? give --count N, --ratio R or --min-distance D";
    } else if (p->method == PCGPU_SAMPLE_RANDOM && p->min_distance != 0) {
        wrong = "--min-distance is for farthest point sampling; leave it out or give --method fps";
    } else if (p->method == PCGPU_SAMPLE_RANDOM && own->distances) {
        wrong = "random sampling has no distances; leave --distances out or give --method fps";
    } else if (p->method == PCGPU_SAMPLE_FPS && p->start != PCGPU_START_RANDOM &&
               option_given_here(options, "seed", command)) {
        wrong = "--seed is for --method random and --start random; give one of them, or leave --seed out";
    } else if (own->pad != PAD_NONE && p->count == 0) {
        wrong = "--pad fills up to --count; give it, or leave --pad out";
    } else if (p->at_most && (p->count == 0 || bounded)) {
        wrong = bounded ? "with --min-distance --count is an upper bound already; leave --at-most out"
                        : "--at-most is for --count; give it, or leave --at-most out";
    } else if (p->at_most && own->pad != PAD_NONE) {
        wrong = "--at-most writes fewer points and --pad fills them up; give one of them";
    } else if (options->batch && own->seeds) {
        wrong = "seeds are records of one input; leave --batch out";
    } else if (options->batch && (p->count == 0 || p->at_most || (bounded && own->pad == PAD_NONE))) {
        wrong = "the inputs of a batch have one number of points; give --count N, with --pad where some have fewer";
    }
    if (!wrong && options->memory && options->device.device == PCGPU_DEVICE_CUDA) {
        wrong = "--set memory: files in pieces are sampled on the CPU; leave --set memory or --cuda out";
    } else if (!wrong && options->memory && options->batch) {
        wrong = "--set memory: the inputs of a batch are read as a whole; leave --set memory or --batch out";
    }
    if (!wrong && options->columns && !check_columns(options, why)) {
        return false;
    }
    return wrong ? refuse(why, "%s", wrong) : sweeps_settle(options, command, why);
}

static bool check(const session *s, reason *why) {
    if (sample_own(s->options)->seeds && s->input_count > 1) {
        return refuse(why, "%d inputs and --seeds, which are records of one; give one input", s->input_count);
    }
    return sweeps_check(s, why);
}

/* In the order of the library's enums. */
static const char *const sample_methods[] = {"fps", "random", NULL};
static const char *const paddings[] = {"none", "repeat", "zero", NULL};
static const char *const starts[] = {"first", "center", "random", NULL};

static const option_row rows[] = {
    {"count", 'm', 0, OPTION_ZERO_IS_NONE, &type_int64, "N", OWN_AT(sample_values, params.count), 1, 2147483647, NULL,
     "Pick exactly N points. A larger N than the number of points is an error without --at-most and --pad."},
    {"at-most", 0, 0, 0, &type_flag, NULL, OWN_AT(sample_values, params.at_most), 0, 0, NULL,
     "Where there are fewer points than --count, pick all of them."},
    {"pad", 0, 0, 0, &type_choice, "KIND", OWN_AT(sample_values, pad), 0, 0, paddings,
     "Where there are fewer points than --count, pick all and fill up: repeat: with the picks once more, in their "
     "order; zero: with rows of zeros, whose index is -1. none: do not."},
    {"batch", 0, 0, 0, &type_flag, NULL, AT(batch), 0, 0, NULL,
     "One array for all inputs: --count points of each, inputs x points x columns, as .npz or .npy."},
    {"ratio", 0, 0, OPTION_ZERO_IS_NONE | OPTION_ABOVE_MIN, &type_real, "R", OWN_AT(sample_values, params.ratio), 0, 1,
     NULL, "Pick this fraction of the usable points, in (0, 1]."},
    {"min-distance", 0, 0, OPTION_ZERO_IS_NONE | OPTION_ABOVE_MIN, &type_float, "D",
     OWN_AT(sample_values, params.min_distance), 0, METRES, NULL,
     "Stop when the next farthest point is nearer than D metres to the picked ones; alone, or with --count or --ratio "
     "as the upper bound."},
    {"method", 0, 0, 0, &type_choice, "NAME", OWN_AT(sample_values, params.method), 0, 0, sample_methods,
     "fps: farthest point sampling; random: uniform without replacement."},
    {"columns", 0, 0, 0, &type_path, "NAMES", AT(columns), 0, 0, NULL,
     "Measure distances in these columns instead of x,y,z, for example x,y,z,intensity."},
    {"seed", 0, 0, 0, &type_seed, "S", OWN_AT(sample_values, params.seed), 0, 0, NULL,
     "Seed of everything random; the same seed gives the same bytes on every platform."},
    {"start", 0, 0, 0, &type_start, "WHERE", OWN_AT(sample_values, params), 0, 2147483647, starts,
     "First pick: first (the first usable record), a record index, center (the point farthest from the centroid) or "
     "random (drawn with --seed)."},
    {"seeds", 0, 0, OPTION_INPUT, &type_path, "FILE", OWN_AT(sample_values, seeds), 0, 0, NULL,
     "Record indices that count as earlier picks, in the format of --indices; sampling continues from them and "
     "writes only the new picks. For one input, in place of --start."},
    {"indices", 0, 0, OPTION_OUTPUT, &type_path, "FILE", OWN_AT(sample_values, indices), 0, 0, NULL,
     "Write the record index of each pick in pick order, int32 little-endian (.npy, .npz or .txt by name)."},
    {"distances", 0, 0, OPTION_OUTPUT, &type_path, "FILE", OWN_AT(sample_values, distances), 0, 0, NULL,
     "Write each pick's distance in metres to the earlier picks, infinite for the first pick, float32 little-endian "
     "(.npy, .npz or .txt by name)."},
};

static void init(option_values *options) {
    pcgpu_sample_params_init(&sample_own(options)->params);
}

const command_info sample_command = {
    .name = "sample",
    .bit = FOR_SAMPLE,
    .arguments = "[OPTION]... [INPUT]...",
    .summary = "pick points of a cloud: farthest point sampling or at random",
    .examples = {"-m 4096 scan.bin -o sampled.ply", "--min-distance 0.5 scans/ -o thin/"},
    .main_options = "count ratio min-distance method seed indices pad recursive output config device",
    .traits = COMMAND_READS_STDIN | COMMAND_PRINTS_DATA | COMMAND_KEEPS_COLUMNS,
    .options = ROWS(rows),
    .init = init,
    .inputs_per_job = 1,
    .resolve_options = resolve_options,
    .check_inputs = check,
    .reads_pieces = sample_reads_pieces,
    .process = sample_process,
    .sink = &sample_sink};
