/* A run of the program: checks before anything is read, the context, the --json file. */
#include "job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_dash(const char *path) {
    return path && strcmp(path, "-") == 0;
}

const char *output_path(const session *s, const option_row *option) {
    const option_values *o = s->options;
    const char *path = *(const char *const *)((const char *)o + option->field);
    bool implied = strcmp(option->name, "output") == 0 && (s->command->traits & COMMAND_PRINTS_DATA);
    return path || !implied ? path : "-";
}

static bool is_main(const option_row *option) {
    return option->flags & OPTION_MAIN;
}

/* Jobs of the run, and the input that names the outputs of one. */
int session_job_count(const session *s) {
    const int each = s->command->inputs_per_job;
    return each ? s->input_count / each : 1;
}

void session_effect(const session *s, const char *const *inputs, int count, option_values *effect) {
    *effect = *s->options;
    if (s->command->effect) {
        s->command->effect(s, inputs, count, effect);
    }
}

const char *session_input_of(const session *s, int i) {
    return s->input_count == 0 ? "-" : s->inputs[i * s->command->inputs_per_job];
}

bool output_is_text(const session *s, const option_row *option) {
    const char *format = s->options->output_format;
    return (option->flags & OPTION_TEXT) || (is_main(option) && format && strcmp(format, "ply-ascii") == 0);
}

char *output_name(const session *s, const option_row *option, const char *path, const char *input) {
    char extension[64];
    if (!path_is_folder(path)) {
        return strdup(path);
    }
    if (is_main(option)) {
        snprintf(extension, sizeof extension, "%s", output_format(s, path, input)->extension);
    } else {
        const char *kind = option->flags & OPTION_TEXT ? "txt" : option->flags & OPTION_PLY ? "ply" : "bin";
        snprintf(extension, sizeof extension, ".%s.%s", option->name, kind);
    }
    return path_in_folder(path, input, extension);
}

static bool is_output(const session *s, const option_row *o) {
    return (o->commands & s->command->bit) && (o->flags & OPTION_OUTPUT);
}

/* One name for standard input, so that it is not read twice. */
static const char *standard_input_named(const char *path) {
    return path && strcmp(path, "/dev/stdin") == 0 ? "-" : path;
}

static bool check_input(const session *s, int i, char *why, size_t why_size) {
    const char *path = s->inputs[i];
    if (s->options->pairs) { /* say where in the list */
        int at = snprintf(why, why_size, "%s:%lld: ", input_name(s->options->pairs), (long long)s->pairs.lines[i / 2]);
        why += (size_t)at < why_size ? (size_t)at : 0;
        why_size -= (size_t)at < why_size ? (size_t)at : 0;
    }
    if (s->options->pairs && is_dash(path)) {
        snprintf(why, why_size, "standard input cannot be one of many clouds; give files");
        return false;
    }
    return (s->command->traits & COMMAND_READS_TEXT) || session_check_format(s, path, why, why_size);
}

static bool read_once(int dashes, char *why, size_t why_size) {
    if (dashes > 1) {
        snprintf(why, why_size, "standard input is given %d times; it can be read once", dashes);
    }
    return dashes <= 1;
}

/* Takes the inputs from the list of --pairs. */
static bool take_pairs(session *s, char *why, size_t why_size) {
    if (s->input_count > 0) {
        snprintf(why, why_size, "%d inputs and --pairs, which lists them; leave one of both out", s->input_count);
        return false;
    }
    bool good = pairs_read(s->options->pairs, &s->pairs, why, why_size);
    s->inputs = s->pairs.inputs;
    s->input_count = 2 * s->pairs.count;
    return good;
}

/* How many there are, and that it fits the command. */
static bool count_inputs(session *s, char *why, size_t why_size) {
    static const char *standard_input[] = {"-"};
    if (s->options->pairs) {
        return take_pairs(s, why, why_size);
    }
    if (s->command->take_inputs) {
        return s->command->take_inputs(s, why, why_size);
    }
    if (s->input_count == 0 && (s->command->traits & COMMAND_READS_STDIN)) {
        if (isatty(STDIN_FILENO)) {
            snprintf(why, why_size, "no input; give a file, or - for standard input");
            return false;
        }
        s->inputs = standard_input;
        s->input_count = 1;
    }
    return true;
}

static bool check_inputs(session *s, char *why, size_t why_size) {
    option_values *o = s->options;
    o->seeds = standard_input_named(o->seeds);
    o->init = standard_input_named(o->init);
    o->pairs = standard_input_named(o->pairs);
    o->poses = standard_input_named(o->poses);
    int dashes = is_dash(o->seeds) + is_dash(o->init) + is_dash(o->pairs) + is_dash(o->poses);
    if (!read_once(dashes, why, why_size) || !count_inputs(s, why, why_size)) {
        return false;
    }
    for (int i = 0; i < s->input_count; i++) {
        s->inputs[i] = standard_input_named(s->inputs[i]);
        dashes += is_dash(s->inputs[i]);
        if (!check_input(s, i, why, why_size)) {
            return false;
        }
    }
    return read_once(dashes, why, why_size);
}

/* The name of --output must say a format that the command can write. */
static bool check_format(const session *s, const char *path, char *why, size_t why_size) {
    const pcgpu_format_info *format = output_format(s, path, s->inputs[0]);
    if (!format) {
        snprintf(why, why_size, "%s: the name says no format; give --output-format, or a name such as out.ply", path);
    } else if (s->options->batch && !format->writes_arrays) {
        snprintf(why, why_size,
                 "%s: %s holds a cloud, in which inputs cannot be told apart; give .npz, or leave out --batch", path,
                 format->name);
    } else if (!format->writes && !(format->writes_arrays && (s->command->traits & COMMAND_WRITES_ARRAYS))) {
        snprintf(why, why_size, "%s cannot hold a cloud; give another --output-format, such as ply", format->name);
    } else {
        return true;
    }
    return false;
}

/* One output against its input, its terminal and its name. */
static bool check_output(const session *s, const option_row *o, const char *path, char *why, size_t why_size) {
    bool batch = s->options->batch, folder = path_is_folder(path), pairs = s->options->pairs;
    if ((o->flags & OPTION_GROWS) && folder) {
        snprintf(why, why_size, "%s is a folder and a trajectory is one file; give --%s FILE", path, o->name);
        return false;
    }
    bool many = pairs ? is_main(o) : session_job_count(s) > 1 && !batch;
    if (pairs && !is_main(o) && folder) {
        snprintf(why, why_size, "%s is a folder and what is written of a list is one file; give --%s FILE", path,
                 o->name);
        return false;
    }
    if (batch && folder) {
        snprintf(why, why_size, "%s is a folder and a batch is one file; give --%s FILE", path, o->name);
        return false;
    }
    if (many && !folder && (is_dash(path) || !path_is_stream(path))) {
        snprintf(why, why_size, "%d %s and one --%s%s; give --%s DIR/", session_job_count(s), pairs ? "pairs" : "inputs",
                 o->name, is_dash(path) ? " (standard output)" : "", o->name);
        return false;
    }
    const pcgpu_format_info *named = pcgpu_format_of_path(path);
    if ((o->flags & OPTION_PLY) && !folder && !path_is_stream(path) && !(named && strcmp(named->name, "ply") == 0)) {
        snprintf(why, why_size, "%s: a mesh is written as .ply; give a name that ends in .ply", path);
        return false;
    }
    if (is_dash(path) && !output_is_text(s, o) && !s->options->force && !s->options->dry_run && isatty(STDOUT_FILENO)) {
        snprintf(why, why_size, "binary data would go to the terminal; give -o FILE, or -f to write it anyway");
        return false;
    }
    return (!is_main(o) || check_format(s, path, why, why_size)) &&
           (!many || !folder || session_check_names(s, o, path, why, why_size));
}

/* Whether two outputs go to one place, or one to that of the other until that is complete. */
static bool same_place(const char *path, const char *other) {
    const size_t length = strlen(other);
    return (strcmp(path, other) == 0 && !path_is_folder(path) && (is_dash(path) || !path_is_stream(path))) ||
           (strncmp(path, other, length) == 0 && strcmp(path + length, ".partial") == 0);
}

/* Each output its own place. */
static bool check_outputs(const session *s, char *why, size_t why_size) {
    const char *paths[JOB_OUTPUTS + 1];
    int n = 0;
    if (s->options->json) {
        paths[n++] = s->options->json;
    }
    for (int i = 0; option_at(i); i++) {
        const option_row *o = option_at(i);
        const char *path = is_output(s, o) ? output_path(s, o) : NULL;
        if (!path) {
            continue;
        }
        for (int k = 0; k < n; k++) {
            if (same_place(paths[k], path)) {
                snprintf(why, why_size, "two outputs go to %s; give each its own",
                         is_dash(path) ? "standard output" : paths[k]);
                return false;
            }
        }
        if (!check_output(s, o, path, why, why_size)) {
            return false;
        }
        paths[n++] = path;
    }
    return true;
}

bool session_check(session *s, char *why, size_t why_size) {
    return check_inputs(s, why, why_size) && (!s->command->check || s->command->check(s, why, why_size)) &&
           check_outputs(s, why, why_size);
}

/* From now on no output replaces a file that is read; false when standard output is one. Configurations were protected
 * when they were read. */
static bool protect_inputs(session *s) {
    for (int i = 0; i < s->input_count; i++) {
        input_protect(s->inputs[i]);
    }
    const option_values *o = s->options;
    const char *const also[] = {options_init_file(o), o->seeds,       o->pairs, o->timestamps,
                                o->ground_truth,      o->calibration, o->poses};
    for (size_t i = 0; i < sizeof also / sizeof also[0]; i++) {
        if (also[i]) {
            input_protect(also[i]);
        }
    }
    return output_check_stdout();
}

/* A pipe that is opened and closed would end its writer. */
static bool try_input(const char *path) {
    if (!path || path_is_stream(path)) {
        return true;
    }
    FILE *stream = input_open(path);
    input_close(stream);
    return stream;
}

/* The first number of OMP_NUM_THREADS, as programs with OpenMP take it; 0: it has none. */
static int threads_of_environment(void) {
    const char *text = getenv("OMP_NUM_THREADS");
    char *end = NULL;
    const long threads = text ? strtol(text, &end, 10) : 0;
    return threads >= 1 && threads <= 4096 && (*end == '\0' || *end == ',') ? (int)threads : 0;
}

static int open_context(session *s) {
    pcgpu_settings *settings = &s->options->settings;
    settings->threads = settings->threads > 0 ? settings->threads : threads_of_environment();
    settings->log = report_log;
    settings->log_user = &s->name;
    pcgpu_status status = pcgpu_open(settings, &s->context);
    if (status == PCGPU_OK) {
        return EXIT_DONE;
    }
    report_failure(NULL, s->context);
    return status == PCGPU_ERROR_UNAVAILABLE ? EXIT_NO_CUDA : status == PCGPU_ERROR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

/* Each file that an output would become. */
static bool try_output(const session *s, const option_row *row, const char *path) {
    int files = path_is_folder(path) ? session_job_count(s) : 1;
    bool good = true;
    if (s->options->resume && (row->flags & OPTION_GROWS)) {
        return true; /* it may be there */
    }
    if (path_is_folder(path) && access(path, F_OK) != 0) {
        return folder_check(path); /* it will be made */
    }
    for (int i = 0; i < files; i++) {
        char *name = output_name(s, row, path, session_input_of(s, i));
        good = name && output_check(name, s->options->force, output_is_text(s, row)) && good;
        free(name);
    }
    return good;
}

int session_dry_run(session *s) {
    const option_values *o = s->options;
    int code = protect_inputs(s) ? open_context(s) : EXIT_FAILED;
    bool good = try_input(options_init_file(o)) && try_input(o->seeds) && try_input(o->poses);
    for (int i = 0; i < s->input_count; i++) {
        good = try_input(s->inputs[i]) && good;
    }
    for (int i = 0; option_at(i); i++) {
        const option_row *row = option_at(i);
        const char *path = is_output(s, row) ? output_path(s, row) : NULL;
        /* Nothing is written, so standard output may well be a terminal. */
        if (path && !is_dash(path)) {
            good = try_output(s, row, path) && good;
        }
    }
    if (o->json && !is_dash(o->json)) {
        good = output_check(o->json, o->force, true) && good;
    }
    if (good && code == EXIT_DONE) {
        option_values effect;
        session_effect(s, s->inputs, s->input_count, &effect);
        good = options_print_yaml(&effect, s->command, stdout);
        if (!good) {
            report_error(NULL, "out of memory");
        }
    }
    return code ? code : good ? EXIT_DONE : EXIT_FAILED;
}

/* Pipes take turns: who feeds one may wait for the output of the one before. And each job holds its outputs open. */
int session_jobs_at_once(const session *s, int most) {
    const char *path = output_path(s, option_by_name("output", s->command->bit));
    bool streams = path && path_is_stream(path);
    for (int i = 0; i < s->input_count && !streams; i++) {
        streams = path_is_stream(s->inputs[i]);
    }
    long files = sysconf(_SC_OPEN_MAX), jobs = files < 0 ? most : files / (2 * JOB_OUTPUTS);
    return streams || jobs < 1 ? 1 : jobs < most ? (int)jobs : most;
}

/* Folders that are given as such, DIR/, and are not there yet. */
static bool make_folders(const session *s) {
    bool good = true;
    for (int i = 0; option_at(i) && good; i++) {
        const char *path = is_output(s, option_at(i)) ? output_path(s, option_at(i)) : NULL;
        good = !path || !path_is_folder(path) || folder_make(path);
    }
    return good;
}

int session_open(session *s) {
    int code = protect_inputs(s) ? open_context(s) : EXIT_FAILED;
    if (code == EXIT_DONE && !make_folders(s)) {
        code = EXIT_FAILED;
    }
    if (code == EXIT_DONE && s->options->json && !output_open(&s->json, s->options->json, s->options->force, true)) {
        code = EXIT_FAILED;
    }
    return code;
}

int session_close(session *s, int code) {
    /* A usage error stops the run before its results are complete. */
    if (s->json.stream && code == EXIT_USAGE) {
        output_discard(&s->json);
    } else if (s->json.stream && !output_commit(&s->json)) {
        code = EXIT_FAILED;
    }
    pcgpu_close(s->context);
    s->context = NULL;
    return code;
}
