/* Iterations of the levels of depth images, one option: 4,5,10 on the command line, a list in a configuration. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

void level_counts_init(level_counts *counts, const command_info *command) {
    pcgpu_register_depth_params pair;
    pcgpu_depth_odometry_params sequence;
    pcgpu_register_depth_params_init(&pair);
    pcgpu_depth_odometry_params_init(&sequence);
    const pcgpu_register_depth_params *params = command->bit == FOR_ODOMETRY ? &sequence.registration : &pair;
    counts->count = params->levels;
    memcpy(counts->values, params->level_iterations, sizeof counts->values);
}

static bool parse_counts(const option_row *o, const char *text, void *field, reason *why) {
    level_counts counts = {0};
    const char *p = text;
    bool good = true;
    while (good) {
        p += strspn(p, " \t");
        char *end;
        const long value = strtol(p, &end, 10);
        good = *p >= '0' && *p <= '9' && value <= (long)o->max && counts.count < PCGPU_DEPTH_LEVELS;
        if (good) {
            counts.values[counts.count++] = (int)value;
            p = end + strspn(end, " \t");
            if (*p == '\0') {
                break;
            }
            good = *p++ == ',';
        }
    }
    if (!good || counts.values[counts.count - 1] < 1) {
        return refuse(
            why,
            "\"%s\" are not the iterations of levels; give 1 to %d whole numbers up to %g such as 4,5,10, the last "
            "one 1 or more",
            text, PCGPU_DEPTH_LEVELS, o->max);
    }
    *(level_counts *)field = counts;
    return true;
}

static bool print_counts(const option_row *o, const void *field, FILE *out) {
    (void)o;
    const level_counts *counts = field;
    for (int i = 0; i < counts->count; i++) {
        fprintf(out, "%s%d", i ? ", " : "[", counts->values[i]);
    }
    fputs("]", out);
    return true;
}

const option_type type_level_counts = {VALUE_TEXT, true, false, parse_counts, print_counts};
