/* pcgpu voxelize: the command, and checks of its options. */
#include "voxelize.h"

static bool settle(option_values *options, const command_info *command, reason *why) {
    const pcgpu_voxelize_params *p = &options->voxelize;
    if (option_given(options, "split", command) && !options->openpcdet) {
        return refuse(why, "split is for a --config of OpenPCDet, and none is given; leave it out");
    }
    if (!(p->size[0] > 0 && p->size[1] > 0 && p->size[2] > 0)) {
        return refuse(why, "no voxel size; give --voxel-size SX,SY,SZ in metres or a --config with one");
    }
    if (options->batch && p->range_auto) {
        return refuse(why, "the inputs of a batch need one grid; give --range X0,Y0,Z0,X1,Y1,Z1");
    }
    return p->range_auto || range_check(p->range, "range", why);
}

static int run(session *s) {
    return s->options->batch ? voxelize_batch(s) : session_run_each(s, voxelize_process);
}

const command_info voxelize_command = {.name = "voxelize",
                                       .bit = FOR_VOXELIZE,
                                       .arguments = "[OPTION]... [INPUT]...",
                                       .summary = "group points by voxel and compute one feature row per voxel",
                                       .traits = COMMAND_READS_STDIN | COMMAND_PRINTS_DATA | COMMAND_WRITES_ARRAYS,
                                       .inputs_per_job = 1,
                                       .settle = settle,
                                       .run = run};
