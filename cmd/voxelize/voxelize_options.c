/* pcgpu voxelize: the command, and its options against each other. */
#include "voxelize.h"

static bool settle(option_values *options, const command_info *command, char *why, size_t why_size) {
    const pcgpu_voxelize_params *p = &options->voxelize;
    if (option_given(options, "split", command) && !options->openpcdet) {
        snprintf(why, why_size, "split is for a --config of OpenPCDet, and none is given; leave it out");
        return false;
    }
    if (!(p->size[0] > 0 && p->size[1] > 0 && p->size[2] > 0)) {
        snprintf(why, why_size, "no voxel size; give --voxel-size SX,SY,SZ in metres or a --config with one");
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

static int run(session *s) {
    return s->options->batch ? voxelize_batch(s) : session_run_each(s, voxelize_process);
}

const command_info voxelize_command = {.name = "voxelize",
                                       .bit = FOR_VOXELIZE,
                                       .arguments = "[OPTION]... [INPUT]...",
                                       .summary = "group points by voxel and compute one feature row a voxel",
                                       .traits = COMMAND_READS_STDIN | COMMAND_PRINTS_DATA | COMMAND_WRITES_ARRAYS,
                                       .inputs_per_job = 1,
                                       .settle = settle,
                                       .run = run};
