/* .png: a depth image, 16-bit greyscale, through libpng. */
#include "io.h"

#include <png.h>
#include <setjmp.h>
#include <string.h>

/* Deflate expands a byte to at most 1032 bytes, which bounds the size of the image in a file. */
enum { EXPANSION = 1032 };

typedef struct png_input {
    pcgpu_context *context;
    const char *name;
    const unsigned char *p;
    size_t left;
    bool ended; /* libpng requested more bytes than the file has */
    char why[96];
    png_structp png;
    png_infop info;
    uint64_t width, height;
    int passes; /* 7 of an interlaced image, else 1 */
    int bits, colour;
    pcgpu_depth *depth;
} png_input;

/* ---- what libpng calls ---------------------------------------------------------------------------------------- */

static void take_bytes(png_structp png, png_bytep out, size_t size) {
    png_input *in = png_get_io_ptr(png);
    if (size > in->left) {
        in->ended = true;
        png_error(png, "the file ends");
    }
    memcpy(out, in->p, size);
    in->p += size;
    in->left -= size;
}

static void keep_error(png_structp png, png_const_charp message) {
    png_input *in = png_get_error_ptr(png);
    pc_shown shown = pc_span_show((pc_span){message, strlen(message)});
    snprintf(in->why, sizeof in->why, "%s", shown.text);
    png_longjmp(png, 1);
}

/* Ignores warnings: libpng corrects these defects, such as invalid colour profiles. */
static void ignore_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

/* ---- steps, each left by longjmp when libpng finds a fault: nothing that they change is a local variable ------- */

static bool read_header(png_input *in) {
    if (setjmp(png_jmpbuf(in->png))) {
        return false;
    }
    png_set_read_fn(in->png, in, take_bytes);
    /* pc_depth_check checks the sides and reports the limits */
    png_set_user_limits(in->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_keep_unknown_chunks(in->png, PNG_HANDLE_CHUNK_NEVER, NULL, -1); /* texts and profiles are not expanded */
    png_read_info(in->png, in->info);
    in->width = png_get_image_width(in->png, in->info);
    in->height = png_get_image_height(in->png, in->info);
    in->bits = png_get_bit_depth(in->png, in->info);
    in->colour = png_get_color_type(in->png, in->info);
    return true;
}

static bool read_pixels(png_input *in) {
    if (setjmp(png_jmpbuf(in->png))) {
        return false;
    }
    png_set_swap(in->png); /* the file is big endian */
    in->passes = png_set_interlace_handling(in->png);
    png_read_update_info(in->png, in->info);
    for (int pass = 0; pass < in->passes; pass++) {
        for (int row = 0; row < in->depth->height; row++) {
            png_read_row(in->png, (png_bytep)(in->depth->data + (size_t)row * (size_t)in->depth->width), NULL);
        }
    }
    png_read_end(in->png, NULL); /* checks the last checksum and the end */
    return true;
}

/* ---- errors --------------------------------------------------------------------------------------------------- */

static pcgpu_status fail_damaged(const png_input *in) {
    if (in->ended) {
        return pc_fail(in->context, PCGPU_ERROR_FORMAT,
                       "%s: the file ends before its image does; it is cut short, so copy or export it again",
                       in->name);
    }
    return pc_fail(in->context, PCGPU_ERROR_FORMAT, "%s: is damaged (libpng: %s); copy or export it again", in->name,
                   in->why);
}

static pcgpu_status check_kind(const png_input *in) {
    const char *colour = in->colour == PNG_COLOR_TYPE_GRAY         ? "greyscale"
                         : in->colour == PNG_COLOR_TYPE_GRAY_ALPHA ? "greyscale with transparency"
                         : in->colour == PNG_COLOR_TYPE_PALETTE    ? "of a palette"
                                                                   : "in colour";
    if (in->bits == 16 && in->colour == PNG_COLOR_TYPE_GRAY) {
        return PCGPU_OK;
    }
    return pc_fail(in->context, PCGPU_ERROR_FORMAT,
                   "%s: is %d-bit and %s; a depth image is 16-bit greyscale, so give the depth and not the picture",
                   in->name, in->bits, colour);
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

static pcgpu_status decode(png_input *in) {
    if (!read_header(in)) {
        return fail_damaged(in);
    }
    pcgpu_status status = check_kind(in);
    if (status == PCGPU_OK) {
        status = pc_depth_check(in->context, in->name, in->width, in->height, in->left, EXPANSION);
    }
    if (status == PCGPU_OK) {
        status = pc_depth_create(in->context, in->name, in->width, in->height, in->depth);
    }
    if (status == PCGPU_OK && !read_pixels(in)) {
        status = fail_damaged(in);
    }
    return status;
}

static pcgpu_status read_png(pcgpu_context *context, const pc_bytes *bytes, const char *name, pcgpu_depth *depth) {
    png_input in = {.context = context, .name = name, .p = bytes->data, .left = bytes->size, .depth = depth};
    if (bytes->size < 8 || png_sig_cmp(bytes->data, 0, 8) != 0) {
        return pc_fail(context, PCGPU_ERROR_FORMAT, "%s: does not begin as a .png; give --format if it is another",
                       name);
    }
    in.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &in, keep_error, ignore_warning);
    in.info = in.png ? png_create_info_struct(in.png) : NULL;
    pcgpu_status status = in.info ? decode(&in) : pc_fail_memory(context, 1, name);
    png_destroy_read_struct(&in.png, &in.info, NULL);
    if (status != PCGPU_OK) {
        pcgpu_depth_free(depth);
    }
    return status;
}

const pc_format pc_format_png = {
    .info = {.name = "png",
             .extension = ".png",
             .reads = true,
             .depth = true,
             .description = "a depth image, 16-bit greyscale; its pixels become points through --camera or a --config"},
    .begins = {"\x89PNG\r\n\x1a\n"},
    .read_depth = read_png,
};
