/* info of a depth image without a camera, of images that hold no depth, and of a camera in a file. */
#include "camera_file.h"
#include "info.h"

#include <string.h>

typedef struct image_info {
    const char *format;
    long width, height;
    int bits, channels; /* per channel */
    int64_t no_depth, saturated;
    unsigned low, high; /* of the pixels with a depth */
} image_info;

static unsigned long big_endian(const char *p) {
    const unsigned char *u = (const unsigned char *)p;
    return (unsigned long)u[0] << 24 | (unsigned long)u[1] << 16 | (unsigned long)u[2] << 8 | u[3];
}

/* The header of a .png that is no depth image: another number of bits or channels. */
static bool is_picture(const char *head, size_t size, image_info *info) {
    static const int channels[] = {1, 0, 3, 3, 2, 0, 4}; /* by colour type; of a palette: what it selects */
    if (size < 26 || memcmp(head, "\x89PNG\r\n\x1a\n", 8) != 0 || memcmp(head + 12, "IHDR", 4) != 0 ||
        (unsigned char)head[25] > 6) {
        return false;
    }
    info->width = (long)big_endian(head + 16);
    info->height = (long)big_endian(head + 20);
    info->bits = (unsigned char)head[24];
    info->channels = channels[(unsigned char)head[25]];
    return info->width > 0 && info->height > 0 && info->channels > 0 && !(info->bits == 16 && info->channels == 1);
}

/* A .pgm of 8 bits. */
static bool is_grey_picture(const char *head, size_t size, image_info *info) {
    unsigned width, height, largest;
    char text[128];
    snprintf(text, sizeof text, "%.*s", (int)(size < 100 ? size : 100), head);
    if (sscanf(text, "P5%*[ \t\r\n]%9u%*[ \t\r\n]%9u%*[ \t\r\n]%9u", &width, &height, &largest) != 3 || largest > 255 ||
        !width || !height) {
        return false;
    }
    info->width = (long)width;
    info->height = (long)height;
    info->bits = 8;
    info->channels = 1;
    return true;
}

static void count_pixels(const pcgpu_depth *depth, image_info *info) {
    info->low = UINT16_MAX;
    for (int64_t i = 0; i < (int64_t)depth->width * depth->height; i++) {
        const unsigned v = depth->data[i];
        info->no_depth += v == 0;
        info->saturated += v == UINT16_MAX;
        if (v != 0 && v != UINT16_MAX) {
            info->low = v < info->low ? v : info->low;
            info->high = v > info->high ? v : info->high;
        }
    }
}

static void add_result(json *out, const image_info *info, bool depth) {
    const double pixels = (double)info->width * (double)info->height;
    json_text(out, "kind", depth ? "depth image" : "picture");
    json_text(out, "format", info->format);
    json_integer(out, "width", info->width);
    json_integer(out, "height", info->height);
    json_integer(out, "bits", info->bits);
    json_integer(out, "channels", info->channels);
    if (depth) {
        json_integer(out, "min", info->high ? info->low : 0);
        json_integer(out, "max", info->high);
        json_number(out, "without_depth", (double)(info->no_depth + info->saturated) / pixels);
        json_integer(out, "saturated", info->saturated);
    }
}

static void print(const job *j, const image_info *info, bool depth) {
    FILE *out = j->session->out;
    const double pixels = (double)info->width * (double)info->height;
    print_shown(out, j->names[0]);
    fprintf(out, ": %s, %ld x %ld pixels, %d-bit, %s\n", info->format, info->width, info->height, info->bits,
            depth                 ? "a depth image"
            : info->channels == 1 ? "greyscale: a picture and no depth, which has 16 bits"
                                  : "in colour: a picture and no depth, which is 16-bit greyscale");
    if (!depth) {
        return;
    }
    if (info->high > 0) {
        fprintf(out, "  depth: %u to %u units; where a unit is a millimetre, %g to %g m\n", info->low, info->high,
                info->low / 1e3, info->high / 1e3);
    }
    fprintf(out, "  without depth: %lld pixels, %.1f %%", (long long)(info->no_depth + info->saturated),
            100.0 * (double)(info->no_depth + info->saturated) / pixels);
    fprintf(out, info->saturated > 0 ? ", of which %lld are saturated (65535)\n" : "\n", (long long)info->saturated);
    fputs(info->high > 0 ? "  its points need a camera: --camera FX,FY,CX,CY, or a --config, such as kinect\n"
                         : "  odd: no pixel has a depth\n",
          out);
}

int info_image(job *j, FILE *stream, const char *head, size_t size) {
    image_info info = {.format = "png", .bits = 16, .channels = 1};
    pcgpu_depth depth = {0};
    const bool png = size > 1 && head[1] == 'P' && head[0] != 'P';
    info.format = png ? "png" : "pgm";
    const bool picture = is_picture(head, size, &info) || is_grey_picture(head, size, &info);
    if (!picture) {
        PC_TRY(job_code(
            j, pcgpu_read_depth(j->session->context, stream, j->inputs[0], j->session->options->format, &depth)));
        info.width = depth.width;
        info.height = depth.height;
        count_pixels(&depth, &info);
        pcgpu_depth_free(&depth);
    }
    add_result(&j->result, &info, !picture);
    if (!session_json_is_stdout(j->session)) {
        print(j, &info, !picture);
    }
    return EXIT_DONE;
}

/* ---- a camera in a file ---- */

int info_camera(job *j) {
    pcgpu_camera camera;
    const char *format;
    reason why;
    json *out = &j->result;
    pcgpu_camera_init(&camera);
    if (!camera_file_read(j->inputs[0], &camera, &format, &why)) {
        return report_error(NULL, "%s", why.text);
    }
    json_text(out, "kind", "camera");
    json_text(out, "format", format);
    json_integer(out, "width", camera.width);
    json_integer(out, "height", camera.height);
    json_numbers(out, "fx_fy_cx_cy", (const double[]){camera.fx, camera.fy, camera.cx, camera.cy}, 4);
    if (!session_json_is_stdout(j->session)) {
        print_shown(j->session->out, j->names[0]);
        fprintf(j->session->out, ": a camera, %s: fx %.9g, fy %.9g, cx %.9g, cy %.9g pixels", format, camera.fx,
                camera.fy, camera.cx, camera.cy);
        fprintf(j->session->out, camera.width > 0 ? ", %d x %d\n" : "\n", camera.width, camera.height);
        fputs("  --camera takes this file\n", j->session->out);
    }
    return EXIT_DONE;
}
