/* A job: one or two inputs, from opening to the report. */
#include "labels.h"
#include "arrays.h"
#include "cloud.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes the sub-folder of an output. */
static bool make_folder_of(const char *name) {
    char *folder = path_folder(name);
    const bool good = folder_make(folder);
    free(folder);
    return good;
}

/* Opens one output; in a folder its name is derived from the input. */
static bool open_output(job *j, const option_row *option, const char *path) {
    const session *s = j->session;
    job_output *slot = &j->outputs[j->output_count];
    char *name = output_name(s, option, path, j->inputs[0]);
    bool good = !path_is_folder(path) || !strstr(j->inputs[0], "/./") || make_folder_of(name);
    good = good && output_open(&slot->file, name, session_existing(s), output_is_text(s, option));
    free(name);
    if (good) {
        slot->option = option;
        j->output_count++;
    }
    return good;
}

static bool open_outputs(job *j) {
    for (int i = 0; option_at(i); i++) {
        const option_row *o = option_at(i);
        bool shared = j->line > 0 && !(o->flags & OPTION_MAIN); /* all pairs of a list have one file */
        const char *path = !shared && !(o->flags & OPTION_GROWS) ? output_path(j->session, o) : NULL;
        if (path && (o->flags & OPTION_MAIN)) {
            j->format = output_format(j->session, path, j->inputs[0]);
        }
        if (path && !open_output(j, o, path)) {
            return false;
        }
    }
    return true;
}

pcgpu_status job_try_cloud(job *j, int i, FILE *stream, pcgpu_file_info *file) {
    pcgpu_context *context = j->session->context;
    pcgpu_read_options how = session_read_options(j->session);
    if (i == 1 && option_given(j->session->options, "target-camera", j->session->command)) {
        how.camera = &j->session->options->target_camera;
    }
    how.depth_counts = &j->depth[i];
    how.found = &j->input_format[i];
    how.file = file;
    how.force = how.force || (j->session->command->traits & COMMAND_SHOWS_COLUMNS);
    how.complete = complete_of(j);
    progress_begin(j->names[0], "reading");
    return j->projective ? pcgpu_read_depth_for(context, stream, j->inputs[i], &how, &j->images[i])
                         : pcgpu_read(context, stream, j->inputs[i], &how, &j->clouds[i]);
}

int job_read_cloud(job *j, int i, FILE *stream, pcgpu_file_info *file) {
    reason why;
    PC_TRY(exit_code_of(job_try_cloud(j, i, stream, file), j->names[i], j->session->context));
    return j->projective || labels_add(j->session, j->inputs[i], &j->clouds[i], &why)
               ? EXIT_DONE
               : report_error(j->names[i], "%s", why.text);
}

/* Opens all files before it reads, so that a file that cannot be opened costs no time. */
static int read_job(job *j) {
    FILE *streams[JOB_CLOUDS] = {0};
    int code = EXIT_DONE;
    const int count = j->session->command->traits & COMMAND_READS_ITSELF ? 0 : j->count;
    for (int i = 0; i < count && code == EXIT_DONE; i++) {
        streams[i] = input_open(j->inputs[i]);
        code = streams[i] ? EXIT_DONE : EXIT_FAILED;
    }
    if (code == EXIT_DONE && !j->shares && !open_outputs(j)) {
        code = EXIT_FAILED;
    }
    for (int i = 0; i < count && code == EXIT_DONE && !j->in_pieces; i++) {
        j->session->name = j->names[i];
        code = job_read_cloud(j, i, streams[i], NULL);
    }
    for (int i = 0; i < count; i++) {
        input_close(streams[i]);
    }
    j->session->name = j->names[0];
    j->read_seconds = seconds_now() - j->begin;
    return code;
}

FILE *job_stream(const job *j, const char *name) {
    for (int i = 0; i < j->output_count; i++) {
        if (strcmp(j->outputs[i].option->name, name) == 0) {
            return j->outputs[i].file.stream;
        }
    }
    return NULL;
}

static const char *stream_name(const job *j, const FILE *stream) {
    for (int i = 0; i < j->output_count; i++) {
        if (j->outputs[i].file.stream == stream) {
            return output_shown(j->outputs[i].file.path);
        }
    }
    return "output";
}

const char *job_output_name(const job *j, const char *option) {
    return stream_name(j, job_stream(j, option));
}

int exit_code_of(pcgpu_status status, const char *name, const pcgpu_context *context) {
    return status == PCGPU_OK ? EXIT_DONE : report_failure(name, context);
}

int job_code(job *j, pcgpu_status status) {
    if (status == PCGPU_OK) {
        return EXIT_DONE;
    }
    report_failure(j->names[0], j->session->context);
    j->session->device_failed = status == PCGPU_ERROR_MEMORY || status == PCGPU_ERROR_DEVICE;
    j->session->device_lost = status == PCGPU_ERROR_DEVICE;
    return status == PCGPU_ERROR_UNAVAILABLE ? EXIT_NO_CUDA : EXIT_FAILED;
}

long long job_kept_at_origin(const job *j, const pcgpu_cloud *cloud) {
    const option_values *o = j->session->options;
    const bool settled = o->drop_origin || option_given(o, "drop-origin", j->session->command) ||
                         option_given(o, "keep-origin", j->session->command);
    long long count = 0;
    for (int64_t i = 0; i < cloud->rows && !settled; i++) {
        count += pc_at_origin(cloud, cloud->data + i * cloud->columns);
    }
    return count;
}

void job_warn_origin(const job *j) {
    const pcgpu_cloud *cloud = &j->clouds[0];
    const long long count = job_kept_at_origin(j, cloud);
    if (count > 1) { /* one may be a point */
        report_warning(j->names[0],
                       "%lld of %lld records at (0,0,0), which some sensors write for no return, are kept; give "
                       "--drop-origin, or --keep-origin to keep them without this warning",
                       count, (long long)cloud->rows);
    }
}

int job_write_cloud(job *j, const pcgpu_cloud *cloud) {
    FILE *stream = job_stream(j, "output");
    if (!stream) {
        return EXIT_DONE;
    }
    progress_begin(j->names[0], "writing");
    double begin = seconds_now();
    const char *name = stream_name(j, stream);
    j->session->name = name; /* messages of the library are about the output now */
    pcgpu_status status = pcgpu_write(j->session->context, stream, name, cloud_format(j, cloud), cloud);
    j->session->name = j->names[0];
    j->write_seconds += seconds_now() - begin;
    return exit_code_of(status, name, j->session->context);
}

int job_write_arrays(job *j, const char *option_name, const char *format, const pcgpu_array *arrays, int count) {
    FILE *stream = job_stream(j, option_name);
    if (!stream) {
        return EXIT_DONE;
    }
    double begin = seconds_now();
    const char *name = stream_name(j, stream);
    if (!format && count == 1 && path_ends_in(name, ".txt")) {
        array_write_text(stream, arrays); /* output_finish reports errors */
        j->write_seconds += seconds_now() - begin;
        return EXIT_DONE;
    }
    const pcgpu_format_info *named = format ? pcgpu_format_by_name(format) : pcgpu_format_of_path(name);
    format = named && named->writes_arrays ? named->name : "bin";
    pcgpu_status status = pcgpu_write_arrays(j->session->context, stream, name, format, arrays, count);
    j->write_seconds += seconds_now() - begin;
    return exit_code_of(status, name, j->session->context);
}

int job_write_array(job *j, const char *option_name, const pcgpu_array *array) {
    return job_write_arrays(j, option_name, NULL, array, 1);
}

/* ---- commit ---- */

/* Names the files that a job shares with others. */
static void name_shared(const job *j, json *names) {
    for (int i = 0; option_at(i); i++) {
        const option_row *o = option_at(i);
        const char *path = output_path(j->session, o);
        if (path && !(j->line > 0 && (o->flags & OPTION_MAIN))) {
            json_text(names, o->name, path);
        }
    }
}

/* Opens the stream for the result of the job, which --json prints at the end. */
static void open_result(job *j) {
    job_switch(j);
    text_open(&j->members);
    j->result = (json){.out = j->members.stream, .first = true};
}

/* Commits all outputs, or removes all. `members` receives their names for --json. */
static int commit_outputs(job *j, int code, text_stream *members) {
    double begin = seconds_now();
    bool good = code == EXIT_DONE || code == EXIT_NOT_CONVERGED;
    json names = {.out = members->stream, .first = true};
    if (good && (j->shares || j->line > 0)) {
        name_shared(j, &names);
    }
    /* No output is renamed before the data of all is written. */
    for (int i = 0; i < j->output_count && good; i++) {
        json_text(&names, j->outputs[i].option->name, j->outputs[i].file.path);
        good = output_finish(&j->outputs[i].file);
        code = good ? code : EXIT_FAILED;
    }
    text_flush(members);
    text_flush(&j->members);
    for (int i = 0; i < j->output_count; i++) {
        if (!good) {
            output_discard(&j->outputs[i].file);
        } else if (!output_commit(&j->outputs[i].file)) {
            good = false;
            code = EXIT_FAILED;
        }
    }
    j->write_seconds += seconds_now() - begin;
    return code;
}

/* ---- open and close ---- */

void job_switch(job *j) {
    report_keep_error(j->error);
    j->session->name = j->names[0];
}

int job_open(job *j, session *s, const char **inputs, int count) {
    const command_info *command = s->command;
    *j = (job){.session = s, .count = count, .points_out = -1, .begin = seconds_now()};
    j->shares = s->options->batch && inputs != s->inputs;
    j->line = s->options->pairs ? s->pairs.lines[(inputs - s->inputs) / JOB_CLOUDS] : 0;
    for (int i = 0; i < JOB_CLOUDS && (i == 0 || i < count); i++) {
        j->inputs[i] = inputs[i];
        j->names[i] = input_name(inputs[i]);
    }
    j->projective = count > 0 && command->takes_images && command->takes_images(s, inputs, count);
    j->in_pieces = count == 1 && command->reads_pieces && command->reads_pieces(s, inputs[0]);
    open_result(j);
    return read_job(j);
}

int job_read_input(job *j, const char *input) {
    const double begin = seconds_now();
    const pcgpu_depth_counts before = j->depth[0];
    FILE *stream = input_open(input);
    int code = EXIT_FAILED;
    j->inputs[0] = input;
    j->session->name = j->names[0] = input_name(input);
    if (stream) {
        code = job_read_cloud(j, 0, stream, NULL);
        input_close(stream);
    }
    j->depth[0].pixels += before.pixels;
    j->depth[0].no_return += before.no_return;
    j->depth[0].out_of_range += before.out_of_range;
    j->read_seconds += seconds_now() - begin;
    return code;
}

pcgpu_cloud job_take_cloud(job *j) {
    const pcgpu_cloud cloud = j->clouds[0];
    j->clouds[0] = (pcgpu_cloud){0};
    return cloud;
}

void job_open_scan(job *j, session *s, const char *input, pcgpu_cloud *cloud, pcgpu_depth *image,
                   const pcgpu_depth_counts *depth, double read_seconds) {
    *j = (job){.session = s, .count = 1, .points_out = -1, .shares = true, .inputs = {input}, .names = {input}};
    j->begin = seconds_now();
    j->read_seconds = read_seconds;
    j->clouds[0] = *cloud;
    j->images[0] = *image;
    j->depth[0] = *depth;
    *cloud = (pcgpu_cloud){0};
    *image = (pcgpu_depth){0};
    open_result(j);
}

static void job_free(job *j) {
    text_free(&j->members);
    for (int i = 0; i < JOB_CLOUDS; i++) {
        pcgpu_cloud_free(&j->clouds[i]);
        pcgpu_depth_free(&j->images[i]);
    }
}

int job_close(job *j, int code) {
    text_stream outputs;
    text_open(&outputs);
    code = commit_outputs(j, code, &outputs);
    report_keep_error(NULL);
    progress_end();
    if (code == EXIT_DONE || code == EXIT_NOT_CONVERGED) {
        job_report(j);
    }
    job_print_json(j, code, outputs.data);
    text_free(&outputs);
    job_free(j);
    return code;
}

static int run_one(session *s, const char **inputs, int count, int (*process)(job *job)) {
    job j;
    int code = job_open(&j, s, inputs, count);
    code = job_close(&j, code == EXIT_DONE ? process(&j) : code);
    if (s->command->after_job) {
        s->command->after_job(&j, code);
    }
    return code;
}

int job_run(session *s, int i) {
    const int each = s->command->inputs_per_job;
    if (s->options->pairs) {
        report_place(input_name(s->options->pairs), s->pairs.lines[i]);
    }
    const int code = run_one(s, &s->inputs[i * each], each, s->command->process);
    report_place(NULL, 0);
    return code;
}

int job_run_all(session *s, int (*process)(job *job)) {
    return run_one(s, s->inputs, 0, process);
}
