/* pcgpu convert: the command, and checks of its options. */
#include "convert.h"
#include "transform.h"

#include <unistd.h>

static bool settle(option_values *options, const command_info *command, reason *why) {
    (void)command;
    column_list columns;
    options->device.device = PCGPU_DEVICE_CPU; /* nothing here repays the start of a GPU */
    return (options->voxelize.range_auto || range_check(options->voxelize.range, "crop", why)) &&
           (!options->columns || columns_parse(options->columns, &columns, why));
}

/* pcgpu convert IN OUT, as other converters have it. */
static bool check(const session *s, reason *why) {
    const char *last = s->input_count > 1 ? s->inputs[s->input_count - 1] : "-";
    return s->options->output || path_is_dash(last) || access(last, F_OK) == 0 ||
           refuse(why, "%s does not exist; if it is the output, give -o %s", last, last);
}

/* Reads --transform once, since it may be standard input and there may be many inputs. */
static bool read_transform(option_values *o) {
    return transform_read_file(o->transform_input, input_name(o->transform_input), o->T);
}

static int run(session *s) {
    return !read_transform(s->options) ? EXIT_FAILED
           : s->options->merge         ? convert_merge(s)
                                       : session_run_each(s, convert_process);
}

const command_info convert_command = {.name = "convert",
                                      .bit = FOR_CONVERT,
                                      .arguments = "[OPTION]... [INPUT]...",
                                      .summary = "write clouds in another format; select columns, crop, move and merge",
                                      .examples = {"scan.pcd -o scan.ply",
                                                   "--crop=-40,-40,-3,40,40,3 scan.bin -o near.las"},
                                      .traits = COMMAND_READS_STDIN | COMMAND_PRINTS_DATA | COMMAND_KEEPS_COLUMNS,
                                      .inputs_per_job = 1,
                                      .settle = settle,
                                      .check = check,
                                      .run = run};
