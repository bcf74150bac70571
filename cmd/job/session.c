/* A run of the program: the checks before the first input is read, the context, the --json file. */
#include "colors.h"
#include "labels.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void session_effective_options(const session *s, const char *const *inputs, int count, option_values *effect) {
    *effect = *s->options;
    if (s->command->effective_options) {
        s->command->effective_options(s, inputs, count, effect);
    }
}

/* The name of --output must select a format that the command can write. */
static bool check_format(const session *s, const char *path, reason *why) {
    const pcgpu_format_info *format = output_format(s, path, s->inputs[0]);
    if (!format) {
        return refuse(why, "%s: the name has no known format; give --output-format, or a name such as out.ply", path);
    }
    if (s->options->batch && !format->writes_arrays) {
        return refuse(why, "%s: %s holds one cloud without the number of the input; give .npz, or leave out --batch",
                      path, format->name);
    }
    return format->writes ||
           (format->writes_arrays && ((s->command->traits & COMMAND_WRITES_ARRAYS) || s->options->batch)) ||
           refuse(why,
                  format->writes_arrays || format->depth
                      ? "%s cannot hold a cloud; give another --output-format, such as ply"
                      : "%s is read and not written; give another --output-format, such as ply",
                  format->name);
}

/* Checks one output: its file or folder, its name, and the terminal. */
static bool check_output(const session *s, const option_row *o, const char *path, reason *why) {
    const char *joins = session_joins(s);
    const bool folder = path_is_folder(path), pairs = s->options->pairs;
    const bool many = pairs ? (o->flags & OPTION_MAIN) : session_job_count(s) > 1 && !joins;
    const char *single = o->flags & OPTION_GROWS ? "trajectory" : pairs && !many ? "list of pairs" : joins;
    if (single && folder) {
        return refuse(why, "%s is a folder and a %s has one %s; give a file", path, single, o->name);
    }
    if (many && !folder && (path_is_dash(path) || !path_is_stream(path))) {
        return refuse(why, "%d %s and one %s%s; give a folder, DIR/%s", session_job_count(s),
                      pairs ? "pairs" : "inputs", o->name, path_is_dash(path) ? " (standard output)" : "",
                      option_by_name("merge", s->command->bit) && !pairs ? ", or --merge" : "");
    }
    if ((o->flags & OPTION_PLY) && !folder && !path_is_stream(path) && !pcgpu_mesh_is_name(path)) {
        return refuse(why, "%s: a mesh is written as .ply, .obj or .glb; give a name that ends in one of them", path);
    }
    if ((o->flags & OPTION_PICTURE) && !folder && !path_is_stream(path) && !output_is_page(s->options, o, path) &&
        !output_is_picture(s->options, o, path)) {
        return refuse(why, "%s: a picture is written as .png%s; give a name that ends in it", path,
                      o->flags & OPTION_PAGE ? ", a page as .html" : "");
    }
    if (path_is_dash(path) && !output_is_text(s, o) && !s->options->force && !s->options->dry_run &&
        isatty(STDOUT_FILENO)) {
        return refuse(why, "binary data would go to the terminal; give -o FILE, or -f to write it anyway");
    }
    return (!(o->flags & OPTION_MAIN) || check_format(s, path, why)) &&
           (!folder || session_check_names(s, o, path, why));
}

/* Whether `path` is `other` or its partial file. */
static bool is_or_extends(const char *path, const char *other) {
    const char *name = path_base(path), *other_name = path_base(other);
    const size_t length = strlen(other_name);
    return strncmp(name, other_name, length) == 0 && (name[length] == '\0' || strcmp(name + length, ".partial") == 0) &&
           path_shares_folder(path, other);
}

/* Whether two outputs have the same file, or one output is the partial file of the other, whatever links lead there. */
static bool same_place(const char *path, const char *other) {
    if (path_is_dash(path) || path_is_dash(other)) {
        return strcmp(path, other) == 0;
    }
    if (path_is_stream(path) || path_is_folder(path)) {
        return false;
    }
    char *a = path_followed(heap_text("%s", path)), *b = path_followed(heap_text("%s", other));
    const bool same = is_or_extends(path, other) || is_or_extends(other, path) || is_or_extends(a, other) ||
                      is_or_extends(b, path) || strcmp(a, b) == 0;
    free(a);
    free(b);
    return same;
}

/* Checks that each output has another file. */
static bool check_outputs(const session *s, reason *why) {
    const char *paths[JOB_OUTPUTS + 1];
    int n = 0;
    if (s->options->json) {
        paths[n++] = s->options->json;
    }
    for (int i = 0; option_at(i); i++) {
        const option_row *o = option_at(i);
        const char *path = output_path(s, o);
        if (!path) {
            continue;
        }
        for (int k = 0; k < n; k++) {
            if (same_place(paths[k], path)) {
                return refuse(why, "two outputs go to %s; give each its own", output_shown(paths[k]));
            }
        }
        if (!check_output(s, o, path, why)) {
            return false;
        }
        paths[n++] = path;
    }
    return true;
}

/* Outputs that exist say that a job is done only where each job has its own. */
static bool check_skipping(const session *s, reason *why) {
    const option_values *o = s->options;
    const char *joins = session_joins(s);
    return !o->skip_existing ||
           (joins      ? refuse(why, "a %s is one output; leave --skip-existing or --%s out", joins, joins)
            : o->force ? refuse(why, "--force replaces outputs and --skip-existing keeps them; give one of them")
                       : true);
}

/* Several GPUs share jobs, not the work of one. */
static bool check_devices(const session *s, reason *why) {
    const device_option *d = &s->options->device;
    const bool one = s->command->inputs_per_job == 0 || s->options->batch;
    return !one || (d->count == 1 && !d->all) ||
           refuse(why, "several GPUs share inputs, and here all inputs are one job; give one, such as --device cuda:%d",
                  d->gpus[0]);
}

bool session_check(session *s, reason *why) {
    return session_check_inputs(s, why) && labels_check(s, why) && check_devices(s, why) &&
           (!s->command->check_inputs || s->command->check_inputs(s, why)) && check_skipping(s, why) &&
           check_outputs(s, why) && session_take_shard(s, why);
}

bool session_skips(const session *s, int i) {
    int outputs = 0;
    bool all = s->options->skip_existing;
    for (int k = 0; option_at(k) && all; k++) {
        const option_row *o = option_at(k);
        const char *path = output_path(s, o);
        if (path && (!s->options->pairs || (o->flags & OPTION_MAIN))) { /* pairs share the others */
            char *name = output_name(s, o, path, session_input_of(s, i));
            all = !path_is_stream(name) && access(name, F_OK) == 0;
            outputs++;
            free(name);
        }
    }
    double unused[16];
    return all && outputs > 0 && (!s->options->pairs || session_pair_before(s, i, unused));
}

/* Opens an input as a check. Not a pipe: closing the pipe would end its writer. */
static bool try_input(const char *path) {
    if (!path || path_is_stream(path) || path_is_folder(path)) {
        return true;
    }
    FILE *stream = input_open(path);
    input_close(stream);
    return stream;
}

/* The first number of OMP_NUM_THREADS, which is the number of threads of OpenMP; 0: none. */
static int threads_of_environment(void) {
    const char *text = getenv("OMP_NUM_THREADS");
    char *end = NULL;
    const long threads = text ? strtol(text, &end, 10) : 0;
    return threads >= 1 && threads <= 4096 && (*end == '\0' || *end == ',') ? (int)threads : 0;
}

void session_settings(session *s, pcgpu_settings *settings) {
    const option_values *o = s->options;
    pcgpu_settings_init(settings);
    settings->device = o->device.device;
    settings->cuda_index = o->device.gpus[0];
    settings->threads = o->threads > 0 ? o->threads : threads_of_environment();
    settings->compression = o->compression > 0 ? o->compression : -1;
    settings->scratch = getenv("TMPDIR");
    settings->scratch = settings->scratch && *settings->scratch ? settings->scratch : NULL;
    settings->names = PCGPU_NAMES_OPTIONS;
    settings->log = report_log;
    settings->log_user = &s->name;
}

/* Takes the GPUs of cuda:all that have kernels, and checks that those of a list exist. */
static bool take_gpus(device_option *d) {
    pcgpu_device_info devices[MOST_GPUS];
    const int found = pcgpu_devices(devices, MOST_GPUS, NULL, 0, NULL), known = found < MOST_GPUS ? found : MOST_GPUS;
    d->count = d->all ? 0 : d->count;
    for (int i = 0; d->all && i < known; i++) {
        if (10 * devices[i].major + devices[i].minor >= 75) {
            d->gpus[d->count++] = i;
        }
    }
    for (int i = 0; i < d->count; i++) {
        if (found > 0 && d->gpus[i] >= found) { /* with none, opening says why */
            report_error(NULL, "CUDA device %d does not exist; this machine has 0 to %d", d->gpus[i], found - 1);
            return false;
        }
    }
    return true;
}

static int open_context(session *s) {
    pcgpu_settings settings;
    device_option *d = &s->options->device;
    if (d->device == PCGPU_DEVICE_CUDA && (d->all || d->count > 1)) {
        if (!take_gpus(d)) {
            return EXIT_NO_CUDA;
        }
    }
    session_settings(s, &settings);
    pcgpu_status status = pcgpu_open(&settings, &s->context);
    if (status == PCGPU_OK) {
        return EXIT_DONE;
    }
    report_failure(NULL, s->context);
    return status == PCGPU_ERROR_UNAVAILABLE ? EXIT_NO_CUDA : status == PCGPU_ERROR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

/* Checks each file of an output. */
static bool try_output(const session *s, const option_row *row, const char *path) {
    int files = path_is_folder(path) ? session_job_count(s) : 1;
    bool good = true;
    if (path_is_folder(path) && access(path, F_OK) != 0) {
        return folder_check(path); /* the run will create it */
    }
    for (int i = 0; i < files; i++) {
        char *name = output_name(s, row, path, session_input_of(s, i)), *folder = path_folder(name);
        if (path_is_folder(path) && access(folder, F_OK) != 0) {
            good = folder_check(folder) && good; /* the run will create the sub-folder */
        } else if (!session_skips(s, i)) {
            good = output_check(name, session_existing(s), output_is_text(s, row)) && good;
        }
        free(folder);
        free(name);
    }
    return good;
}

int session_dry_run(session *s) {
    const option_values *o = s->options;
    int code = session_protect_inputs(s) ? open_context(s) : EXIT_FAILED;
    bool good = true;
    for (int i = 0; i < s->input_count; i++) {
        char *labels = labels_path(s, s->inputs[i]);
        good = try_input(s->inputs[i]) && try_input(s->colors ? s->colors[i] : NULL) && try_input(labels) && good;
        free(labels);
    }
    for (int i = 0; option_at(i); i++) {
        const option_row *row = option_at(i);
        good = try_input(option_input(o, row, s->command)) && good;
        const char *path = output_path(s, row);
        /* A dry run writes no data, so standard output may be a terminal. */
        if (path && !path_is_dash(path)) {
            good = try_output(s, row, path) && good;
        }
    }
    good = session_json_begin(s, true) && good;
    if (good && code == EXIT_DONE) {
        option_values effect;
        session_effective_options(s, s->inputs, s->input_count, &effect);
        options_print_yaml(&effect, s->command, stdout);
    }
    return code ? code : good ? EXIT_DONE : EXIT_FAILED;
}

/* With pipes, one job at a time: the writer of a pipe may wait for the output of the job before. With files, each job
 * keeps its outputs open. */
int session_jobs_at_once(const session *s, int most) {
    bool streams = false;
    for (int i = 0; option_at(i); i++) {
        const char *path = output_path(s, option_at(i));
        streams = streams || (path && path_is_stream(path));
    }
    for (int i = 0; i < s->input_count && !streams; i++) {
        streams = path_is_stream(s->inputs[i]);
    }
    long files = sysconf(_SC_OPEN_MAX), jobs = files < 0 ? most : files / (2 * JOB_OUTPUTS);
    return streams || jobs < 1 ? 1 : jobs < most ? (int)jobs : most;
}

/* Creates the folders DIR/ of the outputs. */
static bool make_folders(const session *s) {
    bool good = true;
    for (int i = 0; option_at(i) && good; i++) {
        const char *path = output_path(s, option_at(i));
        good = !path || !path_is_folder(path) || folder_make(path);
    }
    return good;
}

int session_open(session *s) {
    s->out = stdout;
    PC_TRY(session_protect_inputs(s) && !session_refuse_existing(s) ? open_context(s) : EXIT_FAILED);
    return make_folders(s) && session_json_begin(s, false) ? EXIT_DONE : EXIT_FAILED;
}

int session_close(session *s, int code) {
    code = session_json_end(s, code);
    pcgpu_close(s->context);
    colors_free(s);
    s->context = NULL;
    return code;
}
