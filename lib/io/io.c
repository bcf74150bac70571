/* The entry points of reading and writing. */
#include "io_las.h"

#include <stdlib.h>
#include <string.h>

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
static pcgpu_status choose_format(const pc_file *file, const char *format, const pcgpu_format_info *found, use what,
                                  const pc_format **chosen) {
    const pcgpu_format_info *info = format ? pcgpu_format_by_name(format) : found;
    static const char *const verbs[] = {"be read", "hold a depth image", "hold a cloud", "hold these arrays"};
    const bool reads = what == USE_READ || what == USE_READ_DEPTH;
    const char *option = reads ? "--format" : "--output-format";
    char list[128];
    list_formats(list, sizeof list, what);
    if (!info) {
        return format
                   ? pc_fail_file(file, PCGPU_ERROR_ARGUMENT, "'%s' is not a format; %s takes %s", format, option, list)
                   : pc_fail_file(file, PCGPU_ERROR_ARGUMENT, "the name is not that of a format; give %s %s", option,
                                  list);
    }
    *chosen = pc_format_of(info);
    if (reads && strcmp(info->name, "label") == 0) {
        return pc_fail_file(file, PCGPU_ERROR_ARGUMENT,
                            "holds the labels of a scan and not its points; give the scan, and this file to --labels");
    }
    return can(*chosen, what)
               ? PCGPU_OK
               : pc_fail_file(file, PCGPU_ERROR_ARGUMENT, "%s cannot %s; use %s", info->name, verbs[what], list);
}

/* Finds the format of bytes of a file that are here, at least PC_HEAD where it has as many. */
static pcgpu_status find_format(const pc_file *file, const char *name, const char *format, use what,
                                const pc_bytes *bytes, const pc_format **chosen) {
    const pcgpu_format_info *found = NULL;
    char why[256];
    if (!format) {
        const bool pipe = !pc_is_regular(file->stream) && !pcgpu_format_of_path(name);
        found = pcgpu_format_of_input(pipe ? "-" : name, bytes->data, bytes->size, why, sizeof why);
        if (!found) {
            return pc_fail_format(file, "%s", why);
        }
    }
    if (strcmp(format ? format : found->name, "gzip") == 0) {
        return pc_fail_format(file, "does not begin as a file of gzip; give --format if it is another");
    }
    PC_TRY(choose_format(file, format, found, what, chosen));
    return bytes->size > 0 || (*chosen)->may_be_empty ? PCGPU_OK
                                                      : pc_fail_format(file, "is empty; give a file with points");
}

/* Reads the rest of a file of gzip, expands it and finds the format of what it holds, with its name less .gz. */
static pcgpu_status read_gzip(const pc_file *file, const char *name, const char *format, use what,
                              const pc_format **chosen, pc_bytes *bytes) {
    pc_bytes packed = *bytes;
    *bytes = (pc_bytes){NULL, 0};
    PC_TRY(pc_bytes_read(file, &packed));
    pcgpu_status status = pc_inflate(file, packed.data, packed.size, true, pc_bytes_limit(), bytes);
    pc_bytes_free(&packed);
    PC_TRY(status);
    if (pc_gzip_begins(bytes->data, bytes->size)) {
        return pc_fail_format(file, "was compressed twice; expand it once: gzip -dc");
    }
    char *inner = strdup(name);
    if (!inner) {
        return pc_fail_file_memory(file, strlen(name));
    }
    if (pc_has_extension(inner, ".gz")) {
        inner[strlen(inner) - strlen(".gz")] = '\0';
    }
    status = find_format(file, inner, format && strcmp(format, "gzip") == 0 ? NULL : format, what, bytes, chosen);
    free(inner);
    return status;
}

/* Reads a stream. Its format is the given one, or that of its first bytes, or of its name, or bin for a pipe, which has
 * no name. An unsupported format is refused before the rest is read. On failure there is nothing to free. `name` is
 * that of the caller, "-" for standard input. */
static pcgpu_status read_bytes(const pc_file *file, const char *name, const char *format, use what,
                               const pc_format **chosen, pc_bytes *bytes) {
    PC_TRY(pc_bytes_head(file, bytes));
    const bool gzip = pc_gzip_begins(bytes->data, bytes->size);
    pcgpu_status status = gzip ? read_gzip(file, name, format, what, chosen, bytes)
                               : find_format(file, name, format, what, bytes, chosen);
    if (status != PCGPU_OK) {
        pc_bytes_free(bytes);
        return status;
    }
    return gzip ? PCGPU_OK : pc_bytes_read(file, bytes);
}

/* ---- entry points --------------------------------------------------------------------------------------------- */

/* Logs the counts of the pixels; a warning when no point remains, since the camera is then probably wrong. */
static void log_counts(const pc_file *file, const pcgpu_depth_counts *n) {
    int64_t points = n->pixels - n->no_return - n->out_of_range;
    pc_log(file->context, points > 0 ? PCGPU_LOG_INFO : PCGPU_LOG_WARNING,
           "%s: %lld of %lld pixels are points; %lld have no return and %lld are out of the camera's range%s",
           file->name, (long long)points, (long long)n->pixels, (long long)n->no_return, (long long)n->out_of_range,
           n->out_of_range > 0 && points == 0 ? "; check its depth_scale, min_depth and max_depth" : "");
}

/* The error of a camera does not name the file. */
static pcgpu_status fail_named(const pc_file *file, pcgpu_status status) {
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", pcgpu_last_error(file->context));
    return pc_fail_file(file, status, "%s", sentence);
}

/* Reads a depth image for the camera of the options. */
static pcgpu_status read_image(const pc_file *file, const pc_format *format, const pc_bytes *bytes,
                               pcgpu_depth *depth) {
    const pcgpu_camera *camera = file->options->camera;
    pcgpu_depth_counts counts;
    if (!camera) {
        return pc_fail_file(file, PCGPU_ERROR_ARGUMENT,
                            "a depth image becomes points through a camera; give --camera FX,FY,CX,CY, or a --config "
                            "with camera:");
    }
    PC_TRY(format->read_depth(file, bytes, depth));
    pcgpu_status status = pcgpu_depth_count(file->context, depth, camera, &counts);
    if (status != PCGPU_OK) {
        return fail_named(file, status);
    }
    log_counts(file, &counts);
    const char *hint = file->context->depth_hinted ? NULL : pc_depth_hint(depth, camera->depth_scale);
    if (hint) {
        file->context->depth_hinted = true;
        pc_warn(file, "%s", hint);
    }
    if (file->options->depth_counts) {
        *file->options->depth_counts = counts;
    }
    return PCGPU_OK;
}

static pcgpu_status depth_cloud(const pc_file *file, const pc_format *format, const pc_bytes *bytes,
                                pcgpu_cloud *cloud) {
    pcgpu_file_info *info = file->options->file;
    pcgpu_depth depth = {0};
    pcgpu_status status;
    PC_TRY_OR(done, status, read_image(file, format, bytes, &depth));
    status = pcgpu_depth_to_cloud(file->context, &depth, file->options->camera, cloud, NULL);
    if (info) {
        info->width = depth.width;
        info->height = depth.height;
    }
    pc_say_encoding(file, "16-bit greyscale");
done:
    pcgpu_depth_free(&depth);
    return status;
}

void pcgpu_read_options_init_sized(pcgpu_read_options *options, size_t struct_size) {
    const pcgpu_read_options initial = {.fields = 0};
    pc_struct_init(options, struct_size, &initial, sizeof initial);
}

pcgpu_status pcgpu_read(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_read_options *options,
                        pcgpu_cloud *cloud) {
    const pcgpu_read_options defaults = {.struct_size = sizeof defaults};
    options = options ? options : &defaults;
    const pc_file file = {.context = context, .name = pc_input_name(name), .stream = stream, .options = options};
    const pc_format *format = NULL;
    pc_bytes bytes;
    pc_c_locale locale;
    memset(cloud, 0, sizeof *cloud);
    PC_TRY(pc_struct_check(context, "pcgpu_read_options", options->struct_size, sizeof *options));
    PC_TRY(read_bytes(&file, name, options->format, USE_READ, &format, &bytes));
    if (!pc_enter_c_locale(&locale)) {
        pc_bytes_free(&bytes);
        return pc_fail_file_memory(&file, 1);
    }
    if (options->found) {
        *options->found = &format->info;
    }
    if (options->file) {
        *options->file = (pcgpu_file_info){.faces = 0};
    }
    if (strcmp(format->info.name, "bin") != 0) {
        pc_bytes_tidy(&bytes);
    }
    pcgpu_status status =
        format->read_depth ? depth_cloud(&file, format, &bytes, cloud) : format->read(&file, &bytes, cloud);
    pc_leave_c_locale(&locale);
    pc_bytes_free(&bytes);
    if (status != PCGPU_OK) {
        pcgpu_cloud_free(cloud);
    }
    return status;
}

pcgpu_status pcgpu_read_file(pcgpu_context *context, const char *path, const pcgpu_read_options *options,
                             pcgpu_cloud *cloud) {
    pc_file file = {.context = context, .name = path};
    memset(cloud, 0, sizeof *cloud);
    PC_TRY(pc_open(&file));
    pcgpu_status status = pcgpu_read(context, file.stream, path, options, cloud);
    fclose(file.stream);
    return status;
}

/* `options` NULL: whatever the camera is. */
static pcgpu_status read_depth(pcgpu_context *context, FILE *stream, const char *name, const char *format,
                               const pcgpu_read_options *options, pcgpu_depth *depth) {
    const pc_file file = {.context = context, .name = pc_input_name(name), .stream = stream, .options = options};
    const pc_format *chosen = NULL;
    pc_bytes bytes;
    memset(depth, 0, sizeof *depth);
    PC_TRY(read_bytes(&file, name, format, USE_READ_DEPTH, &chosen, &bytes));
    pcgpu_status status = options ? read_image(&file, chosen, &bytes, depth) : chosen->read_depth(&file, &bytes, depth);
    pc_bytes_free(&bytes);
    if (status != PCGPU_OK) {
        pcgpu_depth_free(depth);
    }
    return status;
}

pcgpu_status pcgpu_read_depth(pcgpu_context *context, FILE *stream, const char *name, const char *format,
                              pcgpu_depth *depth) {
    return read_depth(context, stream, name, format, NULL, depth);
}

pcgpu_status pcgpu_read_depth_for(pcgpu_context *context, FILE *stream, const char *name,
                                  const pcgpu_read_options *options, pcgpu_depth *depth) {
    memset(depth, 0, sizeof *depth);
    PC_TRY(pc_struct_check(context, "pcgpu_read_options", options->struct_size, sizeof *options));
    return read_depth(context, stream, name, options->format, options, depth);
}

static const char *output_name(const char *name) {
    return strcmp(name, "-") == 0 ? "standard output" : name;
}

pcgpu_status pcgpu_write(pcgpu_context *context, FILE *stream, const char *name, const char *format,
                         const pcgpu_cloud *cloud) {
    const pc_file file = {.context = context, .name = output_name(name), .stream = stream};
    const pc_format *chosen = NULL;
    pc_c_locale locale;
    PC_TRY(choose_format(&file, format, pcgpu_format_of_path(name), USE_WRITE, &chosen));
    if (cloud->rows < 0 || cloud->columns < 3 || cloud->columns > PCGPU_MAX_COLUMNS) {
        return pc_fail_file(&file, PCGPU_ERROR_ARGUMENT,
                            "a cloud of %lld rows and %d columns cannot be written; 3 to %d columns are possible",
                            (long long)cloud->rows, cloud->columns, PCGPU_MAX_COLUMNS);
    }
    if (!pc_enter_c_locale(&locale)) {
        return pc_fail_file_memory(&file, 1);
    }
    if (pc_las_has_projection(cloud->header, false) && strcmp(chosen->info.name, "las") != 0) {
        pc_warn(&file, "left out: the coordinate system of the input; write .las to keep it");
    }
    pcgpu_status status = chosen->write(&file, cloud);
    pc_leave_c_locale(&locale);
    return status;
}

pcgpu_status pcgpu_write_arrays(pcgpu_context *context, FILE *stream, const char *name, const char *format,
                                const pcgpu_array *arrays, int count) {
    const pc_file file = {.context = context, .name = output_name(name), .stream = stream};
    const pc_format *chosen = NULL;
    PC_TRY(choose_format(&file, format, pcgpu_format_of_path(name), USE_WRITE_ARRAYS, &chosen));
    return chosen->write_arrays(&file, arrays, count);
}
