/* The entry points of reading and writing. */
#include "io_las.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- choosing a format ---------------------------------------------------------------------------------------- */

typedef enum use { USE_READ, USE_READ_DEPTH, USE_WRITE, USE_WRITE_ARRAYS } use;

static bool can(const pc_format *format, use what) {
    switch (what) {
    case USE_READ: return format->info.reads;
    case USE_READ_DEPTH: return format->info.reads && format->info.depth;
    case USE_WRITE: return format->info.writes;
    default: return format->info.writes_arrays;
    }
}

/* The names of the formats with a capability: "bin, ply or pcd". */
static void list_formats(char *out, size_t size, use what) {
    int left = 0;
    for (int i = 0; pc_formats[i]; i++) {
        left += can(pc_formats[i], what);
    }
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; pc_formats[i]; i++) {
        if (can(pc_formats[i], what) && used < size) {
            left--;
            const char *between = left == 0 ? "" : left == 1 ? " or " : ", ";
            used += (size_t)snprintf(out + used, size - used, "%s%s", pc_formats[i]->info.name, between);
        }
    }
}

/* The format with the name `format`, else `found`, which is NULL for an unknown format. */
static pcgpu_status choose_format(pcgpu_context *context, const char *shown, const char *format,
                                  const pcgpu_format_info *found, use what, const pc_format **chosen) {
    const pcgpu_format_info *info = format ? pcgpu_format_by_name(format) : found;
    static const char *const verbs[] = {"be read", "hold a depth image", "hold a cloud", "hold these arrays"};
    const bool reads = what == USE_READ || what == USE_READ_DEPTH;
    const char *option = reads ? "--format" : "--output-format";
    char list[128];
    list_formats(list, sizeof list, what);
    if (!info) {
        return format ? pc_fail(context, PCGPU_ERROR_ARGUMENT, "%s: '%s' is not a format; %s takes %s", shown, format,
                                option, list)
                      : pc_fail(context, PCGPU_ERROR_ARGUMENT, "%s: the name is not that of a format; give %s %s",
                                shown, option, list);
    }
    for (int i = 0; pc_formats[i]; i++) {
        if (&pc_formats[i]->info == info) {
            *chosen = pc_formats[i];
        }
    }
    if (!can(*chosen, what)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%s: %s cannot %s; use %s", shown, info->name, verbs[what], list);
    }
    return PCGPU_OK;
}

/* Finds the format of bytes of a file that are here, at least PC_HEAD where it has as many. */
static pcgpu_status find_format(pcgpu_context *context, FILE *stream, const char *name, const char *format, use what,
                                const pc_bytes *bytes, const pc_format **chosen) {
    const char *shown = pc_input_name(name);
    const pcgpu_format_info *found = NULL;
    char why[256];
    if (!format) {
        const bool pipe = !pc_is_regular(stream) && !pcgpu_format_of_path(name);
        found = pcgpu_format_of_input(pipe ? "-" : name, bytes->data, bytes->size, why, sizeof why);
        if (!found) {
            return pc_fail(context, PCGPU_ERROR_FORMAT, "%s: %s", shown, why);
        }
    }
    if (strcmp(format ? format : found->name, "gzip") == 0) {
        return pc_fail(context, PCGPU_ERROR_FORMAT,
                       "%s: does not begin as a file of gzip; give --format if it is another", shown);
    }
    PC_TRY(choose_format(context, shown, format, found, what, chosen));
    return bytes->size > 0 || (*chosen)->may_be_empty
               ? PCGPU_OK
               : pc_fail(context, PCGPU_ERROR_FORMAT, "%s: is empty; give a file with points", shown);
}

/* Reads the rest of a file of gzip, expands it and finds the format of what it holds, with its name less .gz. */
static pcgpu_status read_gzip(pcgpu_context *context, FILE *stream, const char *name, const char *format, use what,
                              const pc_format **chosen, pc_bytes *bytes) {
    const char *shown = pc_input_name(name);
    pc_bytes packed = *bytes;
    *bytes = (pc_bytes){NULL, 0};
    PC_TRY(pc_bytes_read(context, stream, shown, &packed));
    pcgpu_status status = pc_inflate(context, shown, packed.data, packed.size, true, pc_bytes_limit(), bytes);
    pc_bytes_free(&packed);
    PC_TRY(status);
    char *inner = strdup(name);
    if (!inner) {
        return pc_fail_memory(context, strlen(name), shown);
    }
    if (pc_has_extension(inner, ".gz")) {
        inner[strlen(inner) - strlen(".gz")] = '\0';
    }
    if (pc_gzip_begins(bytes->data, bytes->size)) {
        status = pc_fail(context, PCGPU_ERROR_FORMAT, "%s: was compressed twice; expand it once: gzip -dc", shown);
    } else {
        status = find_format(context, stream, inner, format && strcmp(format, "gzip") == 0 ? NULL : format, what, bytes,
                             chosen);
    }
    free(inner);
    return status;
}

/* Reads a stream. Its format is the given one, or that of its first bytes, or of its name, or bin for a pipe, which has
 * no name. An unsupported format is refused before the rest is read. On failure there is nothing to free. */
static pcgpu_status read_bytes(pcgpu_context *context, FILE *stream, const char *name, const char *format, use what,
                               const pc_format **chosen, pc_bytes *bytes) {
    PC_TRY(pc_bytes_head(context, stream, pc_input_name(name), bytes));
    const bool gzip = pc_gzip_begins(bytes->data, bytes->size);
    pcgpu_status status = gzip ? read_gzip(context, stream, name, format, what, chosen, bytes)
                               : find_format(context, stream, name, format, what, bytes, chosen);
    if (status != PCGPU_OK) {
        pc_bytes_free(bytes);
        return status;
    }
    return gzip ? PCGPU_OK : pc_bytes_read(context, stream, pc_input_name(name), bytes);
}

/* ---- entry points --------------------------------------------------------------------------------------------- */

/* Logs the counts of the pixels; a warning when no point remains, since the camera is then probably wrong. */
static void log_counts(pcgpu_context *context, const char *shown, const pcgpu_depth_counts *n) {
    int64_t points = n->pixels - n->no_return - n->out_of_range;
    pc_log(context, points > 0 ? PCGPU_LOG_INFO : PCGPU_LOG_WARNING,
           "%s: %lld of %lld pixels are points; %lld have no return and %lld are out of the camera's range%s", shown,
           (long long)points, (long long)n->pixels, (long long)n->no_return, (long long)n->out_of_range,
           n->out_of_range > 0 && points == 0 ? "; check its depth_scale, min_depth and max_depth" : "");
}

/* The error of a camera does not name the file. */
static pcgpu_status fail_named(pcgpu_context *context, pcgpu_status status, const char *shown) {
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", pcgpu_last_error(context));
    return pc_fail(context, status, "%s: %s", shown, sentence);
}

/* Reads a depth image for a camera. */
static pcgpu_status read_image(pcgpu_context *context, const pc_format *format, const pc_bytes *bytes,
                               const char *shown, const pcgpu_read_options *options, pcgpu_depth *depth) {
    pcgpu_depth_counts counts;
    if (!options->camera) {
        return pc_fail(
            context, PCGPU_ERROR_ARGUMENT,
            "%s: a depth image becomes points through a camera; give --camera FX,FY,CX,CY, or a --config with "
            "camera:",
            shown);
    }
    PC_TRY(format->read_depth(context, bytes, shown, depth));
    pcgpu_status status = pcgpu_depth_count(context, depth, options->camera, &counts);
    if (status != PCGPU_OK) {
        pcgpu_depth_free(depth);
        return fail_named(context, status, shown);
    }
    log_counts(context, shown, &counts);
    const char *hint = context->depth_hinted ? NULL : pc_depth_hint(depth, options->camera->depth_scale);
    if (hint) {
        context->depth_hinted = true;
        pc_log(context, PCGPU_LOG_WARNING, "%s: %s", shown, hint);
    }
    if (options->depth_counts) {
        *options->depth_counts = counts;
    }
    return PCGPU_OK;
}

static pcgpu_status depth_cloud(pcgpu_context *context, const pc_format *format, const pc_bytes *bytes,
                                const char *shown, const pcgpu_read_options *options, pcgpu_cloud *cloud) {
    pcgpu_depth depth = {0};
    PC_TRY(read_image(context, format, bytes, shown, options, &depth));
    pcgpu_status status = pcgpu_depth_to_cloud(context, &depth, options->camera, cloud, NULL);
    if (options->file) {
        options->file->width = depth.width;
        options->file->height = depth.height;
    }
    pc_say_encoding(options, "16-bit greyscale");
    pcgpu_depth_free(&depth);
    return status;
}

pcgpu_status pcgpu_read(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_read_options *options,
                        pcgpu_cloud *cloud) {
    const pcgpu_read_options defaults = {0};
    const char *shown = pc_input_name(name);
    const pc_format *format = NULL;
    pc_bytes bytes;
    pc_c_locale locale;
    memset(cloud, 0, sizeof *cloud);
    options = options ? options : &defaults;
    PC_TRY(read_bytes(context, stream, name, options->format, USE_READ, &format, &bytes));
    if (!pc_enter_c_locale(&locale)) {
        pc_bytes_free(&bytes);
        return pc_fail_memory(context, 1, shown);
    }
    if (options->found) {
        *options->found = &format->info;
    }
    if (options && options->file) {
        *options->file = (pcgpu_file_info){.faces = 0};
    }
    if (strcmp(format->info.name, "bin") != 0) {
        pc_bytes_tidy(&bytes);
    }
    pcgpu_status status = format->read_depth ? depth_cloud(context, format, &bytes, shown, options, cloud)
                                             : format->read(context, &bytes, shown, options, cloud);
    pc_leave_c_locale(&locale);
    pc_bytes_free(&bytes);
    if (status != PCGPU_OK) {
        memset(cloud, 0, sizeof *cloud);
    }
    return status;
}

pcgpu_status pcgpu_read_file(pcgpu_context *context, const char *path, const pcgpu_read_options *options,
                             pcgpu_cloud *cloud) {
    memset(cloud, 0, sizeof *cloud);
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        return pc_fail(context, PCGPU_ERROR_IO, "%s: cannot be opened: %s; check the name", path, strerror(errno));
    }
    pcgpu_status status = pcgpu_read(context, stream, path, options, cloud);
    fclose(stream);
    return status;
}

/* for_camera NULL: whatever the camera is. */
static pcgpu_status read_depth(pcgpu_context *context, FILE *stream, const char *name, const char *format,
                               const pcgpu_read_options *for_camera, pcgpu_depth *depth) {
    const char *shown = pc_input_name(name);
    const pc_format *chosen = NULL;
    pc_bytes bytes;
    memset(depth, 0, sizeof *depth);
    PC_TRY(read_bytes(context, stream, name, format, USE_READ_DEPTH, &chosen, &bytes));
    pcgpu_status status = for_camera ? read_image(context, chosen, &bytes, shown, for_camera, depth)
                                     : chosen->read_depth(context, &bytes, shown, depth);
    pc_bytes_free(&bytes);
    if (status != PCGPU_OK) {
        memset(depth, 0, sizeof *depth);
    }
    return status;
}

pcgpu_status pcgpu_read_depth(pcgpu_context *context, FILE *stream, const char *name, const char *format,
                              pcgpu_depth *depth) {
    return read_depth(context, stream, name, format, NULL, depth);
}

pcgpu_status pcgpu_read_depth_for(pcgpu_context *context, FILE *stream, const char *name,
                                  const pcgpu_read_options *options, pcgpu_depth *depth) {
    return read_depth(context, stream, name, options->format, options, depth);
}

static const char *shown_output(const char *name) {
    return strcmp(name, "-") == 0 ? "standard output" : name;
}

pcgpu_status pcgpu_write(pcgpu_context *context, FILE *stream, const char *name, const char *format,
                         const pcgpu_cloud *cloud) {
    const pc_format *chosen = NULL;
    pc_c_locale locale;
    PC_TRY(choose_format(context, shown_output(name), format, pcgpu_format_of_path(name), USE_WRITE, &chosen));
    if (cloud->rows < 0 || cloud->columns < 3 || cloud->columns > PCGPU_MAX_COLUMNS) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "%s: a cloud of %lld rows and %d columns cannot be written; 3 to %d "
                       "columns are possible",
                       shown_output(name), (long long)cloud->rows, cloud->columns, PCGPU_MAX_COLUMNS);
    }
    if (!pc_enter_c_locale(&locale)) {
        return pc_fail_memory(context, 1, shown_output(name));
    }
    if (pc_las_has_projection(cloud->header, false) && strcmp(chosen->info.name, "las") != 0) {
        pc_log(context, PCGPU_LOG_WARNING, "%s: left out: the coordinate system of the input; write .las to keep it",
               shown_output(name));
    }
    pcgpu_status status = chosen->write(context, stream, shown_output(name), cloud);
    pc_leave_c_locale(&locale);
    return status;
}

pcgpu_status pcgpu_write_arrays(pcgpu_context *context, FILE *stream, const char *name, const char *format,
                                const pcgpu_array *arrays, int count) {
    const pc_format *chosen = NULL;
    PC_TRY(choose_format(context, shown_output(name), format, pcgpu_format_of_path(name), USE_WRITE_ARRAYS, &chosen));
    return chosen->write_arrays(context, stream, shown_output(name), arrays, count);
}
