/* pcgpu info: what is in a file: a cloud, a depth image, poses, a configuration; without an input one of the
 * configurations of the program, or the properties of this build and machine. */
#include "camera_file.h"
#include "config.h"
#include "info.h"
#include "recording.h"
#include "trajectory.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int describe(job *j, const peek *p) {
    const char *path = j->inputs[0];
    const bool given = j->session->options->format,
               camera = option_given(j->session->options, "camera", j->session->command);
    char why[256];
    const pcgpu_format_info *format = given ? pcgpu_format_by_name(j->session->options->format)
                                            : pcgpu_format_of_input(path, p->head, p->size, why, sizeof why);
    if (!given && p->size >= 4 && memcmp(p->head, "glTF", 4) == 0) {
        return info_model(j, p->stream);
    }
    if (format && strcmp(format->name, "label") == 0) {
        return info_labels(j, p->stream);
    }
    if (!given && pc_recording_begins(p->head, p->size) && !recording_holds(path)) {
        return info_recording(j, p->stream);
    }
    const bool poses = !given && peek_is_text(p) && trajectory_is(p->head, p->size, format);
    if (poses) {
        return info_poses(j, p->stream);
    }
    if (!given && peek_is_text(p) && (!format || strcmp(format->name, "xyz") == 0)) {
        if (camera_file_is(p->head, p->size) && !path_is_dash(path)) {
            return info_camera(j);
        }
        if (info_is_config(path, p->head, p->size)) {
            return info_config(j);
        }
    }
    return format && format->depth && !camera ? info_image(j, p->stream, p->head, p->size) : info_cloud(j, p->stream);
}

static int process(job *j) {
    const double begin = seconds_now();
    peek p;
    if (!peek_open(&p, j->inputs[0])) {
        return EXIT_FAILED;
    }
    const int code = describe(j, &p);
    peek_close(&p);
    j->read_seconds = seconds_now() - begin;
    return code;
}

/* A file or a pipe on standard input is the input, as of other commands. */
static bool take_inputs(session *s, reason *why) {
    static const char *standard_input[] = {"-"};
    struct stat st;
    (void)why;
    if (s->input_count == 0 && !s->options->files_from && !s->options->config && fstat(STDIN_FILENO, &st) == 0 &&
        (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode))) {
        s->inputs = standard_input;
        s->input_count = 1;
    }
    return true;
}

/* Without an input: the configuration of this name, else the machine. */
static int run(session *s) {
    const char *text = s->options->config ? config_built_in(s->options->config) : NULL;
    if (s->input_count > 0 || s->shard > 0) { /* a shard may have none */
        return session_run(s);
    }
    if (!text) {
        return info_machine(s);
    }
    fputs(text, stdout);
    return EXIT_DONE;
}

static const option_row rows[] = {
    {"rows", 0, 0, 0, &type_int64, "N", OWN_AT(info_values, rows), 0, 1000000, NULL,
     "Also show the first N records of a cloud, in the order of its columns."},
};

const command_info info_command = {.name = "info",
                                   .bit = FOR_INFO,
                                   .arguments = "[OPTION]... [INPUT]...",
                                   .summary = "show what is in a file, or what this build and machine can do",
                                   .examples = {"scan.bin", "scans/ --json report.jsonl"},
                                   .main_options = "rows fields format camera recursive json",
                                   .options = ROWS(rows),
                                   .traits = COMMAND_READS_ITSELF | COMMAND_SHOWS_COLUMNS | COMMAND_WITHOUT_INPUT,
                                   .inputs_per_job = 1,
                                   .take_inputs = take_inputs,
                                   .process = process,
                                   .run = run};
