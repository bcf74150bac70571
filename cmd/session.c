/* A run of the program: checks before anything is read, the context, the --json file. */
#include "job.h"

#include <string.h>
#include <unistd.h>

static bool is_dash(const char *path) {
    return path && strcmp(path, "-") == 0;
}

const char *output_path(const session *s, const option_row *option) {
    const option_values *o = s->options;
    const char *path = *(const char *const *)((const char *)o + option->field);
    if (path || is_dash(o->json)) {
        return path;
    }
    if (strcmp(option->name, "transform") == 0) {
        return NULL; /* register prints it in any case */
    }
    if (strcmp(option->name, "output") != 0 || s->command->bit == FOR_REGISTER) {
        return NULL;
    }
    /* Without -o data goes to standard output, unless another output was sent there. */
    bool taken = is_dash(o->indices) || is_dash(o->distances) || is_dash(o->coords) || is_dash(o->counts) ||
                 is_dash(o->point_voxel);
    return taken ? NULL : "-";
}

static bool is_output(const session *s, const option_row *o) {
    return (o->commands & s->command->bit) && (o->flags & OPTION_OUTPUT);
}

static bool check_inputs(session *s, char *why, size_t why_size) {
    static const char *standard_input[] = {"-"};
    int dashes = 0;
    if (s->command->bit == FOR_REGISTER) {
        if (s->input_count != 2) {
            snprintf(why, why_size, "%d inputs; give two: SOURCE TARGET", s->input_count);
            return false;
        }
    } else if (s->input_count == 0 && s->command->bit != FOR_INFO) {
        if (isatty(STDIN_FILENO)) {
            snprintf(why, why_size, "no input; give a file, or - for standard input");
            return false;
        }
        s->inputs = standard_input;
        s->input_count = 1;
    }
    for (int i = 0; i < s->input_count; i++) {
        dashes += is_dash(s->inputs[i]);
    }
    if (dashes > 1) {
        snprintf(why, why_size, "standard input is given %d times; it can be read once", dashes);
        return false;
    }
    return true;
}

/* Each output its own place, folders where there are many inputs. */
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
        bool many = s->input_count > 1 && s->command->bit != FOR_REGISTER;
        if (many && !path_is_folder(path) && (is_dash(path) || !path_is_stream(path))) {
            snprintf(why, why_size, "%d inputs and one --%s%s; give --%s DIR/", s->input_count, o->name,
                     is_dash(path) ? " (standard output)" : "", o->name);
            return false;
        }
        for (int k = 0; k < n; k++) {
            if (strcmp(paths[k], path) == 0 && !path_is_folder(path) && (is_dash(path) || !path_is_stream(path))) {
                snprintf(why, why_size, "two outputs go to %s; give each its own",
                         is_dash(path) ? "standard output" : path);
                return false;
            }
        }
        paths[n++] = path;
    }
    return true;
}

/* The name of --output must say a format that the command can write. */
static bool check_format(const session *s, char *why, size_t why_size) {
    const option_row *o = option_by_name("output", s->command->bit);
    const char *path = o ? output_path(s, o) : NULL;
    const char *name = s->options->output_format;
    if (!path) {
        return true;
    }
    const pcgpu_format_info *format = name ? pcgpu_format_by_name(name) : pcgpu_format_of_path(path);
    if (!name && (path_is_stream(path) || path_is_folder(path))) {
        return true;
    }
    if (!format) {
        snprintf(why, why_size, "the name %s says no format; give --output-format, or a name such as out.ply", path);
        return false;
    }
    if (!format->writes && !(format->writes_arrays && s->command->bit == FOR_VOXELIZE)) {
        snprintf(why, why_size, "%s cannot hold a cloud; give another --output-format, such as ply", format->name);
        return false;
    }
    return true;
}

bool session_check(session *s, char *why, size_t why_size) {
    return check_inputs(s, why, why_size) && check_outputs(s, why, why_size) && check_format(s, why, why_size);
}

static void protect_inputs(session *s) {
    for (int i = 0; i < s->input_count; i++) {
        input_protect(s->inputs[i]);
    }
    const char *const also[] = {s->options->config, s->options->init};
    for (int i = 0; i < 2; i++) {
        if (also[i]) {
            input_protect(also[i]);
        }
    }
}

static bool try_input(const char *path) {
    FILE *stream = input_open(path);
    input_close(stream);
    return stream != NULL;
}

static int open_context(session *s) {
    pcgpu_settings *settings = &s->options->settings;
    settings->log = report_log;
    settings->log_user = &s->name;
    pcgpu_status status = pcgpu_open(settings, &s->context);
    if (status == PCGPU_OK) {
        return EXIT_DONE;
    }
    report_failure(NULL, s->context);
    return status == PCGPU_ERROR_UNAVAILABLE ? EXIT_NO_CUDA : status == PCGPU_ERROR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

int session_dry_run(session *s) {
    const option_values *o = s->options;
    protect_inputs(s);
    int code = open_context(s);
    bool good = !o->init || try_input(o->init);
    for (int i = 0; i < s->input_count; i++) {
        good = try_input(s->inputs[i]) && good;
    }
    for (int i = 0; option_at(i); i++) {
        const option_row *row = option_at(i);
        const char *path = is_output(s, row) ? output_path(s, row) : NULL;
        /* Nothing is written, so standard output may well be a terminal. */
        if (path && !path_is_folder(path) && !is_dash(path)) {
            good = output_check(path, o->force, row->flags & OPTION_TEXT) && good;
        }
    }
    if (o->json && !is_dash(o->json)) {
        good = output_check(o->json, o->force, true) && good;
    }
    if (good && code == EXIT_DONE) {
        options_print_yaml(o, s->command, stdout);
    }
    return code ? code : good ? EXIT_DONE : EXIT_FAILED;
}

int session_open(session *s) {
    protect_inputs(s);
    int code = open_context(s);
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
