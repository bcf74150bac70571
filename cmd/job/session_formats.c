/* Formats of inputs and outputs before a file is read. */
#include "job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The format by the first bytes of a file, else by its name. `why`: why there is none. */
static const pcgpu_format_info *content_format(const char *path, reason *why) {
    char head[64];
    FILE *file = fopen(path, "rb");
    if (!file) {
        refuse(why, "%s; give a file that can be read", strerror(errno));
        return NULL;
    }
    size_t size = fread(head, 1, sizeof head, file);
    fclose(file);
    return pcgpu_format_of_input(path, head, size, why->text, sizeof why->text);
}

const pcgpu_format_info *input_format(const session *s, const char *path) {
    reason why;
    const char *recorded = recording_format(path);
    const pcgpu_format_info *named = recorded ? pcgpu_format_by_name(recorded) : pcgpu_format_of_path(path);
    return s->options->format     ? pcgpu_format_by_name(s->options->format)
           : named                ? named
           : path_is_stream(path) ? pcgpu_format_by_name("bin")
                                  : content_format(path, &why);
}

const pcgpu_format_info *found_format(const session *s, const char *path, reason *why) {
    return s->options->format ? pcgpu_format_by_name(s->options->format) : content_format(path, why);
}

/* The format of what a file of gzip holds, by its name without .gz; that of gzip when this says nothing. */
static const pcgpu_format_info *packed_format(const char *path) {
    const size_t n = strlen(path);
    char *inner = heap_text("%.*s", n > 3 ? (int)n - 3 : 0, path);
    const pcgpu_format_info *format = pcgpu_format_of_path(inner);
    free(inner);
    return format ? format : pcgpu_format_by_name("gzip");
}

const pcgpu_format_info *output_format(const session *s, const char *path, const char *input) {
    if (s->options->output_format) {
        return pcgpu_format_by_name(s->options->output_format);
    }
    if (path_is_folder(path) && (s->command->traits & COMMAND_WRITES_ARRAYS)) {
        return pcgpu_format_by_name("npz"); /* a .bin of features could be mistaken for a scan */
    }
    if (path_is_folder(path)) {
        const pcgpu_format_info *same = input_format(s, input);
        same = same && strcmp(same->name, "gzip") == 0 ? packed_format(input) : same;
        return same && same->writes ? same : pcgpu_format_by_name(same && !same->depth ? "ply" : "bin");
    }
    const pcgpu_format_info *named = pcgpu_format_of_path(path);
    const bool text = path_ends_in(path, ".txt") || path_ends_in(path, ".asc") || path_ends_in(path, ".tum") ||
                      path_ends_in(path, ".kitti");
    return named || !(text || path_is_stream(path)) ? named : pcgpu_format_by_name(text ? "xyz" : "bin");
}

bool output_is_page(const option_values *values, const option_row *option, const char *path) {
    return (option->flags & OPTION_PAGE) &&
           (values->picture_format == PICTURE_HTML ||
            (values->picture_format == PICTURE_AUTO && (path_ends_in(path, ".html") || path_ends_in(path, ".htm"))));
}

bool output_is_picture(const option_values *values, const option_row *option, const char *path) {
    return ((option->flags & OPTION_PAGE) && values->picture_format == PICTURE_PNG) || path_ends_in(path, ".png");
}

/* Whether the columns decide the format of the output. */
static bool is_open(const job *j) {
    const char *path = j->session->options->output;
    const bool chosen =
        j->session->options->output_format || (path && pcgpu_format_of_path(path) && !path_is_dash(path));
    return !chosen && (!path || path_is_stream(path));
}

const char *cloud_format(const job *j, const pcgpu_cloud *cloud) {
    bool fits = cloud->columns == 4;
    for (int k = 0; k < 4 && fits; k++) {
        fits = cloud->offset[k] == 0;
    }
    return is_open(j) && !fits ? "ply" : j->format->name;
}

unsigned complete_of(const job *j) {
    const bool keeps = j->format && (j->session->command->traits & COMMAND_KEEPS_COLUMNS);
    const char *format = !keeps || is_open(j) ? "ply" : j->format->name;
    const unsigned without_names =
        strcmp(format, "bin") == 0 ? PCGPU_KEEP_HEADER : PCGPU_KEEP_HEADER | PCGPU_EXACT_TIMES;
    return j->session->command->traits & COMMAND_SHOWS_COLUMNS        ? PCGPU_EXACT_TIMES | PCGPU_ALL_COLUMNS
           : !keeps                                                   ? 0
           : strcmp(format, "bin") == 0 || strcmp(format, "npy") == 0 ? without_names
                                                                      : without_names | PCGPU_ALL_COLUMNS;
}

int session_fields(const session *s) {
    return option_given(s->options, "fields", s->command) ? s->options->fields : 0;
}

pcgpu_read_options session_read_options(const session *s) {
    const option_values *o = s->options;
    return (pcgpu_read_options){.struct_size = sizeof(pcgpu_read_options),
                                .format = o->format,
                                .fields = session_fields(s),
                                .camera = option_given(o, "camera", s->command) ? &o->camera : NULL,
                                .force = o->force};
}

/* A depth image becomes a cloud only with a camera. */
static bool check_camera(const session *s, const char *path, reason *why) {
    const pcgpu_format_info *format = input_format(s, path);
    reason content;
    if (!format || !format->depth || (s->command->traits & COMMAND_READS_ITSELF) ||
        option_given(s->options, "camera", s->command)) {
        return true;
    }
    format = s->options->format || path_is_stream(path) ? format : content_format(path, &content);
    if (format && !format->depth) {
        return true; /* the content contradicts the name */
    }
    return refuse(
        why,
        "%s: a depth image becomes points through a camera; give --camera FX,FY,CX,CY, or a --config with camera:, "
        "such as --config kinect",
        input_name(path));
}

/* By its name; the command looks what it is. */
static bool is_no_cloud(const session *s, const char *path) {
    return (s->command->traits & COMMAND_READS_ITSELF) &&
           (path_ends_in(path, ".yaml") || path_ends_in(path, ".yml") || path_ends_in(path, ".json") ||
            (s->command->bit == FOR_INFO && path_ends_in(path, ".glb")));
}

bool session_check_format(const session *s, const char *path, reason *why) {
    reason content;
    if (input_format(s, path) || is_no_cloud(s, path) || path_is_folder(path)) {
        return check_camera(s, path, why);
    }
    if (access(path, R_OK) != 0) {
        return true; /* fails when it is read, as a name with an extension does */
    }
    content_format(path, &content);
    return refuse(why, "%s: %s", path, content.text);
}
