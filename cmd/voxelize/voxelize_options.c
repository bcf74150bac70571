/* pcgpu voxelize: the command, and checks of its options. */
#include "sweeps.h"
#include "voxelize.h"

#include <math.h>
#include <string.h>

/* The layouts of detectors have the points themselves; other features are those of the layout pcgpu. Of --features and
 * --layout the later source wins. */
static bool settle_layout(option_values *options, const command_info *command, reason *why) {
    voxelize_values *own = voxelize_own(options);
    pcgpu_voxelize_params *p = &own->params;
    if (own->layout != LAYOUT_PCGPU && p->features != PCGPU_FEATURES_POINTS &&
        option_given(options, "features", command)) {
        const char *out = options_later_wins(options, command, "features", "layout", why);
        if (!out) {
            return refuse(why,
                          "the voxels of layout openpcdet and mmdet3d are the points; leave --features out, or give "
                          "--layout pcgpu for other features");
        }
        own->layout = strcmp(out, "layout") == 0 ? LAYOUT_PCGPU : own->layout;
        if (own->layout == LAYOUT_PCGPU && !option_given_here(options, "voxelization", command)) {
            own->voxelization = VOXELIZATION_HARD;
        }
    }
    if (own->layout != LAYOUT_PCGPU) {
        p->features = PCGPU_FEATURES_POINTS;
    } else if (own->voxelization == VOXELIZATION_DYNAMIC) {
        return refuse(why,
                      "dynamic voxelization is what encoders of networks take; give --layout openpcdet or mmdet3d");
    }
    if (own->voxelization == VOXELIZATION_DYNAMIC && (p->max_points > 0 || p->max_voxels > 0)) {
        return refuse(why, "dynamic voxelization has no limits; leave --max-points and --max-voxels out, or give "
                           "--set voxelization=hard");
    }
    return true;
}

static bool resolve_options(option_values *options, const command_info *command, reason *why) {
    const pcgpu_voxelize_params *p = &voxelize_own(options)->params;
    if (option_given(options, "split", command) && !voxelize_own(options)->detector) {
        return refuse(why, "--set split is for a --config of OpenPCDet, and none is given; leave it out");
    }
    if (!settle_layout(options, command, why)) {
        return false;
    }
    const voxelize_values *own = voxelize_own(options);
    if (p->keep_voxels != PCGPU_KEEP_FIRST && p->max_voxels == 0 &&
        option_given_here(options, "keep-voxels", command)) {
        return refuse(why, "--keep-voxels is for --max-voxels; give it, or leave --keep-voxels out");
    }
    if (!own->shuffle && option_given_here(options, "seed", command)) {
        return refuse(why, "--seed is for --shuffle; give it, or leave --seed out");
    }
    if (own->shuffle && own->point_voxel && own->voxelization == VOXELIZATION_DYNAMIC) {
        return refuse(why,
                      "--set point-voxel has the order of the inputs, and --shuffle gives the points another; leave "
                      "one of them out");
    }
    if ((p->features == PCGPU_FEATURES_FIRST || p->features == PCGPU_FEATURES_NEAREST) &&
        option_given_here(options, "voxel-labels", command)) {
        return refuse(why,
                      "--set voxel-labels is for --features mean; a point that is selected keeps its classes; leave "
                      "one of them out");
    }
    if (!(p->size[0] > 0 && p->size[1] > 0 && p->size[2] > 0)) {
        return refuse(why, "no voxel size; give --voxel-size SX,SY,SZ in metres or a --config with one");
    }
    if (options->batch && p->range_auto) {
        return refuse(why, "the inputs of a batch need one grid; give --range X0,Y0,Z0,X1,Y1,Z1");
    }
    if (options->memory && options->device.device == PCGPU_DEVICE_CUDA) {
        return refuse(why, "--set memory: files in pieces are voxelized on the CPU; leave --set memory or --cuda out");
    }
    if (options->memory && options->batch) {
        return refuse(why,
                      "--set memory: the inputs of a batch are read as a whole; leave --set memory or --batch out");
    }
    return (p->range_auto || range_check(p->range, "range", why)) && sweeps_settle(options, command, why);
}

/* OpenPCDet and mmdetection3d round the number of voxels half to even, spconv and the grid here half up. */
static void warn_broken(const option_values *o) {
    static const char *const package[] = {"spconv", "OpenPCDet", "mmdetection3d"};
    const pcgpu_voxelize_params *p = &voxelize_own(o)->params;
    for (int k = 0; k < 3 && !p->range_auto; k++) {
        const double length = p->range[3 + k] - p->range[k], voxels = length / p->size[k];
        const double cells = (double)roundf((float)length / (float)p->size[k]);
        const double theirs = voxelize_own(o)->layout == LAYOUT_PCGPU ? cells : rint(voxels);
        if (fabs(voxels - cells) > 1e-3 + voxels * 0x1p-22) {
            report_warning(NULL,
                           "the range has %.7g voxels in %c, and the grid %.0f; the grid_size of %s is %.0f%s; give a "
                           "range of whole voxels, such as %.7g to %.7g in place of %.7g",
                           voxels, "xyz"[k], cells, package[voxelize_own(o)->layout], theirs,
                           theirs < cells ? ", and the last voxels are outside of it" : "", p->range[k],
                           p->range[k] + cells * p->size[k], p->range[3 + k]);
        }
    }
}

static int run(session *s) {
    const option_values *o = s->options;
    warn_broken(o);
    if (voxelize_own(o)->wants_sweeps > 1 && o->sweeps == 0 && voxelize_own(o)->layout != LAYOUT_PCGPU) {
        report_warning(NULL,
                       "the configuration takes %d sweeps of each scan and a column of their age; without --sweeps the "
                       "inputs must hold both",
                       voxelize_own(o)->wants_sweeps);
    }
    if (voxelize_own(o)->wants_points > 0) {
        report_warning(NULL,
                       "sample_points of the configuration takes %d points of each scan, which is not done here; give "
                       "inputs with as many",
                       voxelize_own(o)->wants_points);
    }
    return session_run(s);
}

/* In the order of the library's enums. */
static const char *const features[] = {"mean", "points", "pillar", "first", "nearest", NULL};
static const char *const keeps[] = {"first", "nearest", "most", NULL};
static const char *const dtypes[] = {"float32", "float16", NULL};
static const char *const layouts[] = {"pcgpu", "openpcdet", "mmdet3d", NULL};
static const char *const voxelizations[] = {"hard", "dynamic", NULL};
static const char *const labels[] = {"majority", "first", "mean", NULL};
static const char *const splits[] = {"test", "train", NULL};
static const char *const automatic[] = {"auto", NULL};

static const option_row rows[] = {
    {"range", 0, 0, 0, &type_range, "X0,Y0,Z0,X1,Y1,Z1", OWN_AT(voxelize_values, params), -METRES, METRES, automatic,
     "Range of the grid, round((X1 - X0) / SX) voxels in x, metres; auto: that of the cloud, from a multiple of SX."},
    {"voxel-size", 0, 0, OPTION_ABOVE_MIN, &type_size, "SX,SY,SZ", OWN_AT(voxelize_values, params.size), 0, METRES,
     NULL, "Size of a voxel in metres; one number makes a cube."},
    {"max-points", 0, 0, 0, &type_int64, "P", OWN_AT(voxelize_values, params.max_points), 0, 2147483647, NULL,
     "Keep the first P points of a voxel; 0 = all."},
    {"max-voxels", 0, 0, 0, &type_int64, "V", OWN_AT(voxelize_values, params.max_voxels), 0, 2147483647, NULL,
     "Keep V voxels; 0 = all."},
    {"keep-voxels", 0, 0, 0, &type_choice, "WHICH", OWN_AT(voxelize_values, params.keep_voxels), 0, 0, keeps,
     "Of more than --max-voxels keep the first ones, those nearest to the origin of the file, or those of most "
     "points."},
    {"features", 0, 0, 0, &type_choice, "NAME", OWN_AT(voxelize_values, params.features), 0, 0, features,
     "mean: the mean of a voxel's kept points; points: the points themselves, padded with zeros; pillar: the ten "
     "values per point of PointPillars; first: the first point; nearest: the kept point nearest to the mean."},
    {"layout", 0, 0, 0, &type_choice, "NAME", OWN_AT(voxelize_values, layout), 0, 0, layouts,
     "Names and shapes of the arrays: pcgpu: by --features; openpcdet, mmdet3d: what the voxel encoders of OpenPCDet "
     "or mmdetection3d take, which a configuration of theirs chooses; see Layouts of pcgpu-voxelize(1)."},
    {"voxelization", 0, 0, OPTION_SET, &type_choice, "KIND", OWN_AT(voxelize_values, voxelization), 0, 0, voxelizations,
     "hard: voxels with up to P points each; dynamic: the points, without limits, for encoders that make voxels "
     "themselves. For --layout openpcdet and mmdet3d."},
    {"voxel-labels", 0, 0, OPTION_SET, &type_choice, "HOW", OWN_AT(voxelize_values, params.voxel_labels), 0, 0, labels,
     "A column of classes (whole numbers that are no colours, counts or measured values) has the class of most kept "
     "points of a voxel, the lowest on ties; that of the first point; or the mean. For --features mean."},
    {"coords", 0, 0, OPTION_OUTPUT | OPTION_SET, &type_path, "FILE", OWN_AT(voxelize_values, coords), 0, 0, NULL,
     "Write the voxel coordinates, int32 V x 4: 0 or the number in the batch, z, y, x (.npy, .npz or .txt by name)."},
    {"counts", 0, 0, OPTION_OUTPUT | OPTION_SET, &type_path, "FILE", OWN_AT(voxelize_values, counts), 0, 0, NULL,
     "Write the number of kept points of each voxel, int32 (.npy, .npz or .txt by name)."},
    {"point-voxel", 0, 0, OPTION_OUTPUT | OPTION_SET, &type_path, "FILE", OWN_AT(voxelize_values, point_voxel), 0, 0,
     NULL, "Write the voxel that keeps each record of the input, int32, -1 = dropped (.npy, .npz or .txt by name)."},
    {"dtype", 0, 0, 0, &type_choice, "NAME", OWN_AT(voxelize_values, dtype), 0, 0, dtypes,
     "Type of the feature array; float16 rounds to nearest even."},
    {"compression", 0, 0, 0, &type_int, "N", AT(compression), 0, 9, NULL,
     "Compression of .npz outputs: 0 none; 1 run lengths, fast; 2 to 9 the levels of zlib, slower and smaller."},
    {"shuffle", 0, 0, 0, &type_flag, NULL, OWN_AT(voxelize_values, shuffle), 0, 0, NULL,
     "Shuffle the records of each input before, as sample --method random --ratio 1 does."},
    {"seed", 0, 0, 0, &type_seed, "S", OWN_AT(voxelize_values, seed), 0, 0, NULL,
     "Seed of --shuffle; the same seed gives the same bytes on every platform."},
    {"strict", 0, 0, OPTION_SET, &type_flag, NULL, OWN_AT(voxelize_values, strict), 0, 0, NULL,
     "Fail, with exit code 1 and no output, when --max-points or --max-voxels drops a point."},
    {"batch", 0, 0, 0, &type_flag, NULL, AT(batch), 0, 0, NULL,
     "One output for all inputs, one after the other; the first voxel coordinate is the index of the input. "
     "Needs a --range; not for an output that is a cloud."},
    {"split", 0, 0, OPTION_LINE_ONLY | OPTION_SET, &type_choice, "NAME", OWN_AT(voxelize_values, split), 0, 0, splits,
     "Selects one of the two limits of voxels in a --config of OpenPCDet: test or train."},
};

static void init(option_values *options) {
    pcgpu_voxelize_params_init(&voxelize_own(options)->params);
    voxelize_own(options)->params.range_auto = true; /* the bounds of the cloud fit every input */
}

const command_info voxelize_command = {
    .name = "voxelize",
    .bit = FOR_VOXELIZE,
    .arguments = "[OPTION]... [INPUT]...",
    .summary = "group points by voxel and compute one feature row per voxel",
    .examples = {"--config pillar scan.bin -o voxels.npz", "--voxel-size 0.25 scan.bin -o small.ply"},
    .main_options = "config voxel-size range max-points max-voxels features layout batch output device",
    .traits = COMMAND_READS_STDIN | COMMAND_PRINTS_DATA | COMMAND_WRITES_ARRAYS,
    .options = ROWS(rows),
    .init = init,
    .inputs_per_job = 1,
    .resolve_options = resolve_options,
    .reads_pieces = voxelize_reads_pieces,
    .check_inputs = sweeps_check,
    .process = voxelize_process,
    .sink = &voxelize_sink,
    .run = run};
