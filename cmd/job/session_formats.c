/* Formats of inputs and outputs, as far as they are known before a file is read. */
#include "job.h"

/* By the first bytes of a file whose name says nothing. `why`: what it is instead. */
static const pcgpu_format_info *content_format(const char *path, char *why, size_t why_size) {
    char head[64];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(head, 1, sizeof head, file) : 0;
    if (file) {
        fclose(file);
    }
    return pcgpu_format_of_content(head, size, why, why_size);
}

const pcgpu_format_info *input_format(const session *s, const char *path) {
    char why[256];
    const pcgpu_format_info *named = pcgpu_format_of_path(path);
    return s->options->format     ? pcgpu_format_by_name(s->options->format)
           : named                ? named
           : path_is_stream(path) ? pcgpu_format_by_name("bin")
                                  : content_format(path, why, sizeof why);
}

const pcgpu_format_info *output_format(const session *s, const char *path, const char *input) {
    if (s->options->output_format) {
        return pcgpu_format_by_name(s->options->output_format);
    }
    if (path_is_folder(path) && (s->command->traits & COMMAND_WRITES_ARRAYS)) {
        return pcgpu_format_by_name("npz"); /* values alone, named like a scan, would be taken for one */
    }
    if (path_is_folder(path)) {
        const pcgpu_format_info *same = input_format(s, input);
        return same && same->writes ? same : pcgpu_format_by_name("bin");
    }
    const pcgpu_format_info *named = pcgpu_format_of_path(path);
    return !named && path_is_stream(path) ? pcgpu_format_by_name("bin") : named;
}

/* A depth image is no cloud without a camera. */
static bool check_camera(const session *s, const char *path, char *why, size_t why_size) {
    const pcgpu_format_info *format = input_format(s, path);
    char content[256];
    if (!format || !format->depth || option_given(s->options, "camera", s->command)) {
        return true;
    }
    format = s->options->format || path_is_stream(path) ? format : content_format(path, content, sizeof content);
    if (format && !format->depth) {
        return true; /* its name is wrong */
    }
    snprintf(
        why, why_size,
        "%s: a depth image becomes points through a camera; give --camera FX,FY,CX,CY, or a --config with camera:, "
        "such as configs/kinect.yaml",
        input_name(path));
    return false;
}

bool session_check_format(const session *s, const char *path, char *why, size_t why_size) {
    char content[256];
    if (input_format(s, path) || path_is_folder(path)) {
        return check_camera(s, path, why, why_size);
    }
    content_format(path, content, sizeof content);
    snprintf(why, why_size, "%s: %s", path,
             content[0] ? content
                        : "neither the name nor the content says a format; give -F bin, ply, pcd, npy, png or pgm");
    return false;
}
