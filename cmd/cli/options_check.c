/* Options against each other. */
#include "options.h"

#include <string.h>

/* Two options that exclude each other and are both given: the one from the later source stays, two from the same source
 * are an error. Returns the one to leave out, or NULL. */
static const char *later_wins(const option_values *options, const char *a, const char *b, char *why, size_t why_size) {
    int a_from = options->source[option_index(option_by_name(a, FOR_SAMPLE))];
    int b_from = options->source[option_index(option_by_name(b, FOR_SAMPLE))];
    if (a_from == b_from) {
        snprintf(why, why_size, "%s and %s exclude each other; give one of them", a, b);
        return NULL;
    }
    return a_from > b_from ? b : a;
}

static bool settle_count_and_ratio(option_values *options, char *why, size_t why_size) {
    pcgpu_sample_params *p = &options->sample;
    if (p->count == 0 || p->ratio == 0) {
        return true;
    }
    const char *out = later_wins(options, "count", "ratio", why, why_size);
    if (out && strcmp(out, "ratio") == 0) {
        p->ratio = 0;
    } else if (out) {
        p->count = 0;
    }
    return out;
}

/* Seeds come first, so there is nothing to start with. The default excludes nothing: --dry-run prints it. */
static bool settle_seeds_and_start(option_values *options, char *why, size_t why_size) {
    const pcgpu_sample_params *p = &options->sample;
    if (!options->seeds || p->start == PCGPU_START_FIRST) {
        return true;
    }
    const char *out = later_wins(options, "seeds", "start", why, why_size);
    if (out && strcmp(out, "seeds") == 0) {
        options->seeds = NULL;
    } else if (out) {
        options->sample.start = PCGPU_START_FIRST;
        options->sample.start_index = 0;
    }
    return out;
}

static bool check_sample(option_values *options, char *why, size_t why_size) {
    const pcgpu_sample_params *p = &options->sample;
    if (!settle_count_and_ratio(options, why, why_size) || !settle_seeds_and_start(options, why, why_size)) {
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

static bool check_voxelize(const option_values *options, const command_info *command, char *why, size_t why_size) {
    const pcgpu_voxelize_params *p = &options->voxelize;
    if (option_given(options, "split", command) && !options->openpcdet) {
        snprintf(why, why_size, "split is for a --config of OpenPCDet, and none is given; leave it out");
        return false;
    }
    if (!(p->size[0] > 0 && p->size[1] > 0 && p->size[2] > 0)) {
        snprintf(why, why_size, "no voxel size; give --size SX,SY,SZ in metres or a --config with one");
        return false;
    }
    if (options->batch && p->range_auto) {
        snprintf(why, why_size, "the inputs of a batch need one grid; give --range X0,Y0,Z0,X1,Y1,Z1");
        return false;
    }
    for (int k = 0; k < 3 && !p->range_auto; k++) {
        if (!(p->range[k] < p->range[k + 3])) {
            snprintf(why, why_size, "range: %c goes from %g to %g; the first three numbers are the lower corner",
                     "xyz"[k], p -> range[k], p -> range[k + 3]);
            return false;
        }
    }
    return true;
}

/* Values that a configuration may have at their defaults are no mistake without a sequence. */
static bool check_register(const option_values *o, char *why, size_t why_size) {
    const char *wrong = NULL;
    if (o->evaluate && (o->trajectory || o->pairs || o->output || o->transform)) {
        wrong =
            "evaluate compares a trajectory that is there; leave out --trajectory, --pairs, --output and --transform";
    } else if (o->evaluate && !o->ground_truth) {
        wrong = "evaluate compares a trajectory with the truth; give --ground-truth FILE, too";
    } else if (o->trajectory && o->pairs) {
        wrong = "a sequence and a list of pairs are different things; leave out --trajectory or --pairs";
    } else if (o->trajectory && o->registration.symmetric) {
        wrong = "a sequence is registered one way, to what was before; leave out --symmetric or --trajectory";
    } else if (o->trajectory && o->transform) {
        wrong = "a sequence has a trajectory and no single transform; leave out --transform";
    } else if (o->trajectory && o->timestamps &&
               o->source[option_index(option_by_name("rate", FOR_REGISTER))] == FROM_COMMAND_LINE) {
        wrong = "timestamps and rate exclude each other; give one of them";
    } else if (!o->trajectory && (o->resume || (o->timestamps && !o->evaluate))) {
        wrong = "resume and timestamps are for a sequence; give --trajectory FILE, too";
    } else if (!o->trajectory && !o->evaluate && o->ground_truth) {
        wrong = "ground-truth is to be compared with a trajectory; give --trajectory FILE or --evaluate FILE";
    } else if (o->calibration && !o->ground_truth) {
        wrong = "calibration is of --ground-truth; leave it out";
    }
    if (wrong) {
        snprintf(why, why_size, "%s", wrong);
    }
    return !wrong;
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
    switch (command->bit) {
    case FOR_SAMPLE: return check_sample(options, why, why_size);
    case FOR_VOXELIZE: return check_voxelize(options, command, why, why_size);
    case FOR_REGISTER:
        return options_check_register(options, why, why_size) && check_register(options, why, why_size);
    default: return true;
    }
}
