/* Messages as files that other readers take: clouds as .mcap, depth images as .pgm or .png, poses as lines. */
#include "recording.h"

#include <math.h>
#include <stdlib.h>

static pcgpu_status fail_message(const pc_file *file, const pc_message *m, const char *what) {
    return pc_fail_format(file, "a message of %zu bytes on %s %s; record it again", m->size, m->topic->name, what);
}

/* ---- depth images ------------------------------------------------------------------------------------------------ */

typedef struct depth_image {
    uint64_t height, width, step;
    bool metres; /* float32; else uint16 */
    bool swap;
    pc_span data;
} depth_image;

static bool take_image(const pc_message *m, depth_image *image) {
    int64_t stamp;
    pc_cursor c = pc_message_open(m, &stamp);
    image->height = pc_take(&c, 4);
    image->width = pc_take(&c, 4);
    const pc_span encoding = pc_take_text(&c);
    const pc_span name = {encoding.p, encoding.n - (encoding.n > 0 && encoding.p[encoding.n - 1] == '\0')}; /* of CDR */
    image->metres = pc_span_is(name, "32FC1");
    image->swap = pc_take(&c, 1) != 0;
    image->step = pc_take(&c, 4);
    image->data = pc_take_text(&c);
    return !c.bad && (image->metres || pc_span_is(name, "16UC1") || pc_span_is(name, "mono16"));
}

/* The bytes of a PNG, after the head of the format "16UC1; compressedDepth png". */
static bool take_png(const pc_message *m, pc_span *png) {
    enum { HEAD = 12, BEGIN = 8 };
    static const char begin[] = "\x89PNG\r\n\x1a\n";
    int64_t stamp;
    pc_cursor c = pc_message_open(m, &stamp);
    const pc_span format = pc_take_text(&c), data = pc_take_text(&c);
    const bool is = !c.bad && format.n >= 5 && memcmp(format.p, "16UC1", 5) == 0 && data.n >= HEAD + BEGIN &&
                    memcmp(data.p + HEAD, begin, BEGIN) == 0;
    *png = is ? (pc_span){data.p + HEAD, data.n - HEAD} : (pc_span){"", 0};
    return is;
}

bool pc_message_is_depth(const pc_message *m) {
    depth_image image;
    pc_span png;
    return m->topic->kind == PC_MESSAGE_PNG ? take_png(m, &png) : take_image(m, &image);
}

/* Millimetres of metres; 0, no return, where they do not fit. */
static unsigned millimetres(const unsigned char *p, bool swap) {
    const uint32_t bits = (uint32_t)pc_load_bits(p, 4, swap);
    float metres;
    memcpy(&metres, &bits, sizeof metres);
    const double d = (double)metres * 1000.0 + 0.5;
    return d >= 1.0 && d < UINT16_MAX ? (unsigned)d : 0;
}

static pcgpu_status put_pgm(const pc_file *file, const pc_message *m, FILE **stream) {
    enum { HEAD = 40 };
    depth_image image;
    const bool is = take_image(m, &image);
    const uint64_t bytes = image.metres ? 4 : 2, used = image.width * bytes; /* of 32 bits each */
    if (!is || image.width < 1 || image.height < 1 || image.step < used ||
        image.data.n < (image.height - 1) * image.step + used || image.width * image.height > PCGPU_DEPTH_PIXELS) {
        return fail_message(file, m, "is no depth image of its size");
    }
    const size_t all = HEAD + 2 * (size_t)(image.width * image.height);
    unsigned char *row = malloc(2 * (size_t)image.width);
    *stream = row ? fmemopen(NULL, all, "w+") : NULL;
    bool good = *stream && fprintf(*stream, "P5 %llu %llu 65535\n", (unsigned long long)image.width,
                                   (unsigned long long)image.height) > 0;
    for (uint64_t v = 0; v < image.height && good; v++) {
        for (uint64_t u = 0; u < image.width; u++) {
            const unsigned char *p = (const unsigned char *)image.data.p + v * image.step + u * bytes;
            const unsigned d = image.metres ? millimetres(p, image.swap) : (unsigned)pc_load_bits(p, 2, image.swap);
            row[2 * u] = (unsigned char)(d >> 8);
            row[2 * u + 1] = (unsigned char)d;
        }
        good = fwrite(row, 2, (size_t)image.width, *stream) == image.width;
    }
    free(row);
    return good && fflush(*stream) == 0 ? PCGPU_OK : pc_fail_file_memory(file, all);
}

/* The names of a camera_info and of its images have the same beginning; it is one level up for compressed ones. */
static bool is_beside(const char *info, const char *image) {
    const char *end = strrchr(info, '/');
    const size_t n = end ? (size_t)(end - info) + 1 : 0;
    int below = 0;
    for (const char *p = image; strncmp(info, image, n) == 0 && (p = strchr(p + (p == image ? n : 1), '/'));) {
        below++;
    }
    return strncmp(info, image, n) == 0 && below <= 1;
}

/* The camera of a sensor_msgs/CameraInfo. */
static bool take_camera(const pc_file *file, const pc_message *m, pcgpu_camera *camera) {
    int64_t stamp;
    double K[9];
    bool distorted = false;
    pc_cursor c = pc_message_open(m, &stamp);
    pcgpu_camera_init(camera);
    camera->height = (int)pc_take(&c, 4);
    camera->width = (int)pc_take(&c, 4);
    pc_take_text(&c); /* the model of the distortion */
    const uint64_t coefficients = pc_take(&c, 4);
    for (uint64_t i = 0; i < coefficients && !c.bad; i++) {
        distorted = pc_take_double(&c) != 0.0 || distorted;
    }
    for (int i = 0; i < 9; i++) {
        K[i] = pc_take_double(&c);
    }
    camera->fx = K[0];
    camera->cx = K[2];
    camera->fy = K[4];
    camera->cy = K[5];
    const bool good = !c.bad && camera->width > 0 && camera->height > 0 && K[0] > 0 && K[4] > 0;
    if (good && distorted) {
        pc_warn(file, "the camera on %s has distortion, which is not corrected; record rectified images",
                m->topic->name);
    }
    return good;
}

bool pc_recording_camera(pc_recording *r, const pc_file *file, const char *topic, pcgpu_camera *camera) {
    bool found = false;
    for (int64_t i = 0; i < r->entries && !found; i++) {
        const pc_topic *t = pc_recording_topics(r) + ((const pc_entry *)r->entry.memory)[i].topic;
        pc_message message;
        if (t->kind == PC_MESSAGE_CAMERA && is_beside(t->name, topic) &&
            pc_recording_message(r, file, i, &message) == PCGPU_OK) {
            found = take_camera(file, &message, camera);
            pc_recording_release(r, &message);
        }
    }
    return found;
}

/* ---- clouds ------------------------------------------------------------------------------------------------------ */

const char *pc_message_format(pc_message_kind kind) {
    return kind == PC_MESSAGE_IMAGE ? "pgm" : kind == PC_MESSAGE_PNG ? "png" : "mcap";
}

/* A message with a head before it. */
static pcgpu_status put_points(const pc_file *file, const pc_message *m, FILE **stream) {
    const size_t all = strlen(m->topic->type) + strlen(m->topic->name) + m->size + 256;
    *stream = fmemopen(NULL, all, "w+");
    return *stream && pc_put_mcap(*stream, m) && fflush(*stream) == 0 ? PCGPU_OK : pc_fail_file_memory(file, all);
}

static pcgpu_status put_png(const pc_file *file, const pc_message *m, FILE **stream) {
    pc_span png;
    if (!take_png(m, &png)) {
        return fail_message(file, m, "has no PNG of 16-bit depths");
    }
    *stream = fmemopen(NULL, png.n + 1, "w+"); /* and a zero byte, which the library writes */
    return *stream && fwrite(png.p, 1, png.n, *stream) == png.n && fflush(*stream) == 0
               ? PCGPU_OK
               : pc_fail_file_memory(file, png.n);
}

/* The stream begins anew, or is closed after a failure. */
static pcgpu_status rewind_stream(FILE **stream, pcgpu_status status) {
    if (status == PCGPU_OK) {
        rewind(*stream);
    } else if (*stream) {
        fclose(*stream);
        *stream = NULL;
    }
    return status;
}

pcgpu_status pc_message_stream(const pc_file *file, const pc_message *m, FILE **stream) {
    *stream = NULL;
    return rewind_stream(stream, m->topic->kind == PC_MESSAGE_IMAGE ? put_pgm(file, m, stream)
                                 : m->topic->kind == PC_MESSAGE_PNG ? put_png(file, m, stream)
                                                                    : put_points(file, m, stream));
}

/* ---- poses ------------------------------------------------------------------------------------------------------- */

enum { NO_FIX = 0xff /* -1 of int8 */ };

/* Appends the line of a message, if it has values. */
static pcgpu_status put_line(const pc_file *file, const pc_message *m, FILE *out) {
    int64_t stamp;
    double v[7];
    pc_cursor c = pc_message_open(m, &stamp);
    const bool position = m->topic->kind == PC_MESSAGE_POSITION;
    if (m->topic->kind == PC_MESSAGE_TRANSFORM) {
        pc_take_text(&c); /* the frame that moves */
    }
    const bool fixed = !position || pc_take(&c, 1) != NO_FIX;
    if (position) {
        pc_take(&c, 2); /* services */
    }
    for (int i = 0; i < (position ? 3 : 7); i++) {
        v[i] = pc_take_double(&c);
    }
    if (c.bad) {
        return fail_message(file, m, "ends too early");
    }
    const long long seconds = stamp / 1000000000, rest = stamp % 1000000000;
    if (position && fixed) {
        fprintf(out, "%lld.%09lld,%.17g,%.17g,%.17g\n", seconds, rest, v[0], v[1], v[2]);
    } else if (!position) {
        fprintf(out, "%lld.%09lld %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", seconds, rest, v[0], v[1], v[2], v[3],
                v[4], v[5], v[6]);
    }
    return PCGPU_OK;
}

pcgpu_status pc_recording_path(pc_recording *r, const pc_file *file, bool head, FILE *out) {
    for (int64_t i = 0; i < r->entries; i++) {
        pc_message message;
        PC_TRY(pc_recording_message(r, file, i, &message));
        if (head && i == 0 && message.topic->kind == PC_MESSAGE_POSITION) {
            fputs("time,latitude,longitude,height\n", out);
        }
        const pcgpu_status status = put_line(file, &message, out);
        pc_recording_release(r, &message);
        PC_TRY(status);
    }
    return fflush(out) == 0 ? PCGPU_OK : pc_fail_file_memory(file, 0);
}
