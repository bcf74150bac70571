/* pcgpu voxelize: the command, and checks of its options. */
#include "sweeps.h"
#include "voxelize.h"

#include <math.h>
#include <string.h>

/* The layouts of detectors have the points themselves; other features are those of the layout pcgpu. Of --features and
 * --layout the later source wins. */
static bool settle_layout(option_values *options, const command_info *command, reason *why) {
    pcgpu_voxelize_params *p = &options->voxelize;
    if (options->layout != LAYOUT_PCGPU && p->features != PCGPU_FEATURES_POINTS &&
        option_given(options, "features", command)) {
        const char *out = options_later_wins(options, command, "features", "layout", why);
        if (!out) {
            return refuse(why,
                          "the voxels of layout openpcdet and mmdet3d are the points; leave --features out, or give "
                          "--layout pcgpu for other features");
        }
        options->layout = strcmp(out, "layout") == 0 ? LAYOUT_PCGPU : options->layout;
        if (options->layout == LAYOUT_PCGPU && !option_given_here(options, "voxelization", command)) {
            options->voxelization = VOXELIZATION_HARD;
        }
    }
    if (options->layout != LAYOUT_PCGPU) {
        p->features = PCGPU_FEATURES_POINTS;
    } else if (options->voxelization == VOXELIZATION_DYNAMIC) {
        return refuse(why,
                      "dynamic voxelization is what encoders of networks take; give --layout openpcdet or mmdet3d");
    }
    if (options->voxelization == VOXELIZATION_DYNAMIC && (p->max_points > 0 || p->max_voxels > 0)) {
        return refuse(why, "dynamic voxelization has no limits; leave --max-points and --max-voxels out, or give "
                           "--set voxelization=hard");
    }
    return true;
}

static bool settle(option_values *options, const command_info *command, reason *why) {
    const pcgpu_voxelize_params *p = &options->voxelize;
    if (option_given(options, "split", command) && !options->detector) {
        return refuse(why, "split is for a --config of OpenPCDet, and none is given; leave it out");
    }
    if (!settle_layout(options, command, why)) {
        return false;
    }
    if (!(p->size[0] > 0 && p->size[1] > 0 && p->size[2] > 0)) {
        return refuse(why, "no voxel size; give --voxel-size SX,SY,SZ in metres or a --config with one");
    }
    if (options->batch && p->range_auto) {
        return refuse(why, "the inputs of a batch need one grid; give --range X0,Y0,Z0,X1,Y1,Z1");
    }
    if (options->memory && options->device.device == PCGPU_DEVICE_CUDA) {
        return refuse(why, "memory: files in pieces are voxelized on the CPU; leave memory or cuda out");
    }
    if (options->memory && options->batch) {
        return refuse(why, "memory: the inputs of a batch are read as a whole; leave memory or batch out");
    }
    return (p->range_auto || range_check(p->range, "range", why)) && sweeps_settle(options, command, why);
}

/* OpenPCDet and mmdetection3d round the number of voxels half to even, spconv and the grid here half up. */
static void warn_broken(const option_values *o) {
    static const char *const package[] = {"spconv", "OpenPCDet", "mmdetection3d"};
    const pcgpu_voxelize_params *p = &o->voxelize;
    for (int k = 0; k < 3 && !p->range_auto; k++) {
        const double length = p->range[3 + k] - p->range[k], voxels = length / p->size[k];
        const double cells = (double)roundf((float)length / (float)p->size[k]);
        const double theirs = o->layout == LAYOUT_PCGPU ? cells : rint(voxels);
        if (fabs(voxels - cells) > 1e-3 + voxels * 0x1p-22) {
            report_warning(NULL,
                           "the range has %.7g voxels in %c, and the grid %.0f; the grid_size of %s is %.0f%s; give a "
                           "range of whole voxels",
                           voxels, "xyz"[k], cells, package[o->layout], theirs,
                           theirs < cells ? ", and the last voxels are outside of it" : "");
        }
    }
}

static int run(session *s) {
    const option_values *o = s->options;
    warn_broken(o);
    if (o->wants_sweeps > 1 && o->sweeps == 0 && o->layout != LAYOUT_PCGPU) {
        report_warning(NULL,
                       "the configuration takes %d sweeps of each scan and a column of their age; without --sweeps the "
                       "inputs must hold both",
                       o->wants_sweeps);
    }
    return s->options->batch ? voxelize_batch(s) : session_run_each(s, voxelize_process);
}

const command_info voxelize_command = {
    .name = "voxelize",
    .bit = FOR_VOXELIZE,
    .arguments = "[OPTION]... [INPUT]...",
    .summary = "group points by voxel and compute one feature row per voxel",
    .examples = {"--config pillar scan.bin -o voxels.npz", "--voxel-size 0.25 scan.bin -o small.ply"},
    .traits = COMMAND_READS_STDIN | COMMAND_PRINTS_DATA | COMMAND_WRITES_ARRAYS,
    .inputs_per_job = 1,
    .settle = settle,
    .reads_pieces = voxelize_reads_pieces,
    .check = sweeps_check,
    .run = run};
