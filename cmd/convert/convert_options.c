/* pcgpu convert: the command, and checks of its options. */
#include "convert.h"
#include "transform_file.h"

#include <stdlib.h>
#include <unistd.h>

static bool resolve_options(option_values *options, const command_info *command, reason *why) {
    column_list columns;
    options->device.device = PCGPU_DEVICE_CPU; /* nothing here repays the start of a GPU */
    static const char *const of_clouds[] = {"crop",  "boxes",       "transform", "columns", "merge",
                                            "scale", "drop-origin", "fields",    "labels"};
    static const char *const of_poses[] = {"timestamps", "rate"};
    const bool poses = convert_is_poses(options);
    const char *const *others = poses ? of_clouds : of_poses;
    for (size_t i = 0; i < (poses ? sizeof of_clouds : sizeof of_poses) / sizeof *others; i++) {
        if (option_given_here(options, others[i], command)) {
            return refuse(why, "--%s is for %s; leave it out, or give %s", others[i], poses ? "clouds" : "poses",
                          poses ? "an output that is a cloud" : "-o NAME.tum");
        }
    }
    if (convert_own(options)->outside && !convert_own(options)->boxes_input) {
        return refuse(why, "--set outside is for --boxes; give boxes, or leave it out");
    }
    return (convert_own(options)->crop.range_auto || range_check(convert_own(options)->crop.range, "crop", why)) &&
           (!options->columns || columns_parse(options->columns, &columns, why));
}

/* pcgpu convert IN OUT, as other converters have it. */
static bool check(const session *s, reason *why) {
    const char *last = s->input_count > 1 ? s->inputs[s->input_count - 1] : "-";
    if (convert_is_poses(s->options) && s->input_count != 1) {
        return refuse(why, "%d inputs and one file of poses; give one input", s->input_count);
    }
    for (int i = 0; i < s->input_count; i++) {
        if (!boxes_check(convert_own(s->options)->boxes_input, s->inputs[i], why)) {
            return false;
        }
    }
    return s->options->output || path_is_dash(last) || access(last, F_OK) == 0 ||
           refuse(why, "%s does not exist; if it is the output, give -o %s", last, last);
}

/* Reads --transform once, since it may be standard input and there may be many inputs. */
static bool read_transform(option_values *o) {
    return transform_read_file(convert_own(o)->transform_input, input_name(convert_own(o)->transform_input),
                               convert_own(o)->T);
}

static int run(session *s) {
    convert_values *own = convert_own(s->options);
    int code = read_transform(s->options) ? boxes_read_once(own) : EXIT_FAILED;
    if (code == EXIT_DONE) {
        code = convert_is_poses(s->options) ? job_run_all(s, convert_poses) : session_run(s);
    }
    free(own->boxes.boxes);
    return code;
}

static const option_row rows[] = {
    {"crop", 0, 0, 0, &type_range, "X0,Y0,Z0,X1,Y1,Z1", OWN_AT(convert_values, crop), -METRES, METRES, NULL,
     "Keep points with X0 <= x < X1 and so on, metres; points that are not finite are dropped. After --transform."},
    {"boxes", 0, 0, OPTION_INPUT, &type_path, "FILE", OWN_AT(convert_values, boxes_input), 0, 0, NULL,
     "Keep points in any oriented box of a .txt or .npy: x y z dx dy dz heading, metres and radians, as OpenPCDet. A "
     "folder has the boxes of each input under its name. After --transform."},
    {"outside", 0, 0, OPTION_SET, &type_flag, NULL, OWN_AT(convert_values, outside), 0, 0, NULL,
     "Keep the points outside of all --boxes instead."},
    {"scale", 0, 0, OPTION_ABOVE_MIN | OPTION_ZERO_IS_NONE, &type_real, "F", OWN_AT(convert_values, scale), 0, FAR,
     NULL, "Multiply the coordinates by F, such as 0.001 for millimetres. Before --transform."},
    {"transform", 0, 0, OPTION_INPUT, &type_path, "FILE", OWN_AT(convert_values, transform_input), 0, 0, NULL,
     "Move the points by a rigid transform, normals with them: a 4x4 matrix, as register writes it, a KITTI line (12 "
     "numbers) or a TUM line (7, or 8 with a time)."},
    {"columns", 0, 0, 0, &type_path, "NAMES", AT(columns), 0, 0, NULL,
     "Write these columns in this order: x,y,z, then others; NEW=OLD gives the column OLD the name NEW. After --crop."},
    {"merge", 0, 0, 0, &type_flag, NULL, AT(merge), 0, 0, NULL,
     "One output for all inputs, one after the other, with a column source: the index of the input of a point, from "
     "0. Columns that not all inputs have are left out."},
};

static void init(option_values *options) {
    convert_own(options)->crop.range_auto = true;
}

const command_info convert_command = {
    .name = "convert",
    .bit = FOR_CONVERT,
    .arguments = "[OPTION]... [INPUT]...",
    .summary = "write clouds in another format; select columns, crop, move and merge",
    .examples = {"scan.pcd -o scan.ply", "--crop=-40,-40,-3,40,40,3 scan.bin -o near.las"},
    .main_options = "output output-format columns crop boxes transform scale merge recursive camera",
    .traits = COMMAND_READS_STDIN | COMMAND_PRINTS_DATA | COMMAND_KEEPS_COLUMNS,
    .options = ROWS(rows),
    .init = init,
    .inputs_per_job = 1,
    .resolve_options = resolve_options,
    .check_inputs = check,
    .process = convert_process,
    .sink = &convert_sink,
    .run = run};
