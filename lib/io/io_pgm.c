/* .pgm of Netpbm: a depth image, 16-bit and binary (P5 with a largest value from 256 to 65535, big endian). */
#include "io.h"

#include <string.h>

typedef struct pgm_input {
    const pc_file *file;
    const unsigned char *p, *end;
    uint64_t width, height, largest;
} pgm_input;

static pcgpu_status fail_header(const pgm_input *in, const char *what) {
    return pc_fail_format(in->file, "%s; a depth image is 16-bit greyscale: .png, or .pgm that begins with P5", what);
}

/* Takes blanks, comments (# to the end of the line) and then a number below 2^32. */
static bool take_number(pgm_input *in, uint64_t *value) {
    while (in->p < in->end && (pc_is_blank((char)*in->p) || *in->p == '#')) {
        if (*in->p == '#') {
            while (in->p < in->end && *in->p != '\n' && *in->p != '\r') {
                in->p++;
            }
        } else {
            in->p++;
        }
    }
    const unsigned char *begin = in->p;
    *value = 0;
    while (in->p < in->end && *in->p >= '0' && *in->p <= '9' && *value <= UINT32_MAX) {
        *value = *value * 10 + (uint64_t)(*in->p++ - '0');
    }
    return in->p > begin && *value <= UINT32_MAX;
}

/* The magic number, width, height, largest value, and the one blank before the pixels. */
static pcgpu_status read_header(pgm_input *in) {
    size_t size = (size_t)(in->end - in->p);
    if (size >= 2 && in->p[0] == 'P' && in->p[1] == '2') {
        return fail_header(in, "is a plain .pgm, with its pixels as text");
    }
    if (size < 2 || in->p[0] != 'P' || in->p[1] != '5') {
        return fail_header(in, "does not begin as a .pgm");
    }
    in->p += 2;
    if (!take_number(in, &in->width) || !take_number(in, &in->height) || !take_number(in, &in->largest) ||
        in->p == in->end || !pc_is_blank((char)*in->p)) {
        return fail_header(in, "its header is not width, height and largest value");
    }
    in->p++;
    if (in->largest < 256) {
        return fail_header(in, "has pixels of 8 bits");
    }
    return in->largest > UINT16_MAX ? fail_header(in, "says a largest value above 65535") : PCGPU_OK;
}

static pcgpu_status read_pixels(const pgm_input *in, pcgpu_depth *depth) {
    size_t present = (size_t)(in->end - in->p), pixels = (size_t)(in->width * in->height);
    if (present / 2 < pixels) {
        return pc_fail_short(in->file, present / 2, pixels, "pixels");
    }
    if (present > 2 * pixels) {
        return pc_fail_format(in->file, "%zu bytes follow its %llu x %llu pixels; give one image a file",
                              present - 2 * pixels, (unsigned long long)in->width, (unsigned long long)in->height);
    }
    PC_TRY(pc_depth_create(in->file, in->width, in->height, depth));
    for (size_t i = 0; i < pixels; i++) {
        unsigned value = (unsigned)in->p[2 * i] << 8 | in->p[2 * i + 1];
        depth->data[i] = (uint16_t)value;
        if (value > in->largest) {
            return pc_fail_format(
                in->file,
                "row %zu, column %zu: %u is above %llu, which the header says is the largest value; export it again",
                i / (size_t)in->width, i % (size_t)in->width, value, (unsigned long long)in->largest);
        }
    }
    return PCGPU_OK;
}

static pcgpu_status read_pgm(const pc_file *file, const pc_bytes *bytes, pcgpu_depth *depth) {
    pgm_input in = {.file = file, .p = bytes->data, .end = bytes->data + bytes->size};
    PC_TRY(read_header(&in));
    PC_TRY(pc_depth_check(file, in.width, in.height, SIZE_MAX, 1));
    return read_pixels(&in, depth);
}

const pc_format pc_format_pgm = {
    .info = {.name = "pgm", .extension = ".pgm", .reads = true, .depth = true, .description = "the same, binary (P5)"},
    .read_depth = read_pgm,
};
