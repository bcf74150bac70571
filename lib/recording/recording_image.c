/* Depth images: sensor_msgs/Image of 16UC1 or 32FC1, and the PNG of compressedDepth. */
#include "recording.h"

#include <stdlib.h>

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
        return pc_fail_message(file, m, "is no depth image of its size");
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

static pcgpu_status put_png(const pc_file *file, const pc_message *m, FILE **stream) {
    pc_span png;
    if (!take_png(m, &png)) {
        return pc_fail_message(file, m, "has no PNG of 16-bit depths");
    }
    *stream = fmemopen(NULL, png.n + 1, "w+"); /* and a zero byte, which the library writes */
    return *stream && fwrite(png.p, 1, png.n, *stream) == png.n && fflush(*stream) == 0
               ? PCGPU_OK
               : pc_fail_file_memory(file, png.n);
}

pcgpu_status pc_put_depth(const pc_file *file, const pc_message *m, FILE **stream) {
    return m->topic->kind == PC_MESSAGE_PNG ? put_png(file, m, stream) : put_pgm(file, m, stream);
}
