/* .png through libpng: a depth image, 16-bit greyscale, or the colour image that is registered to one. */
#include "io.h"

#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

/* Deflate expands a byte to at most 1032 bytes, which bounds the size of the image in a file. */
enum { EXPANSION = 1032 };

typedef struct png_input {
    const pc_file *file;
    const unsigned char *p;
    size_t left;
    bool ended; /* libpng requested more bytes than the file has */
    char why[96];
    png_structp png;
    png_infop info;
    uint64_t width, height;
    int bits, colour;
    pcgpu_depth *depth;
    bool wants_color; /* an image for depth->color */
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
    snprintf(in->why, sizeof in->why, "%s", pc_span_show((pc_span){message, strlen(message)}).text);
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

/* Pixels of `size` bytes. */
static void read_rows(const png_input *in, png_bytep pixels, size_t size) {
    const int passes = png_set_interlace_handling(in->png); /* 7 of an interlaced image, else 1 */
    png_read_update_info(in->png, in->info);
    for (int pass = 0; pass < passes; pass++) {
        for (int row = 0; row < in->depth->height; row++) {
            png_read_row(in->png, pixels + size * (size_t)row * (size_t)in->depth->width, NULL);
        }
    }
    png_read_end(in->png, NULL); /* checks the last checksum and the end */
}

static bool read_pixels(png_input *in) {
    if (setjmp(png_jmpbuf(in->png))) {
        return false;
    }
    png_set_swap(in->png); /* the file is big endian */
    read_rows(in, (png_bytep)in->depth->data, sizeof *in->depth->data);
    return true;
}

/* Any kind of image becomes 8-bit red, green and blue. */
static bool read_colors(png_input *in) {
    if (setjmp(png_jmpbuf(in->png))) {
        return false;
    }
    png_set_expand(in->png);
    png_set_strip_16(in->png);
    png_set_strip_alpha(in->png);
    png_set_gray_to_rgb(in->png);
    read_rows(in, in->depth->color, 3);
    return true;
}

/* ---- errors --------------------------------------------------------------------------------------------------- */

static pcgpu_status fail_damaged(const png_input *in) {
    if (in->ended) {
        return pc_fail_format(in->file,
                              "the file ends before its image does; it is cut short, so copy or export it again");
    }
    return pc_fail_format(in->file, "is damaged (libpng: %s); copy or export it again", in->why);
}

static pcgpu_status check_kind(const png_input *in) {
    const char *colour = in->colour == PNG_COLOR_TYPE_GRAY         ? "greyscale"
                         : in->colour == PNG_COLOR_TYPE_GRAY_ALPHA ? "greyscale with transparency"
                         : in->colour == PNG_COLOR_TYPE_PALETTE    ? "of a palette"
                                                                   : "in colour";
    if (in->bits == 16 && in->colour == PNG_COLOR_TYPE_GRAY) {
        return PCGPU_OK;
    }
    return pc_fail_format(in->file,
                          "is %d-bit and %s; a depth image is 16-bit greyscale, so give the depth and not the picture",
                          in->bits, colour);
}

/* ---- reading -------------------------------------------------------------------------------------------------- */

/* The colours of a depth image that has been read. */
static pcgpu_status decode_colors(png_input *in) {
    const pcgpu_depth *depth = in->depth;
    const size_t size = 3 * (size_t)depth->width * (size_t)depth->height;
    if (in->width != (uint64_t)depth->width || in->height != (uint64_t)depth->height) {
        return pc_fail_format(
            in->file,
            "has %llu x %llu pixels and the depth image %d x %d; give colour images that are registered to the depth "
            "images, pixel by pixel",
            (unsigned long long)in->width, (unsigned long long)in->height, depth->width, depth->height);
    }
    in->depth->color = malloc(size);
    if (!in->depth->color) {
        return pc_fail_file_memory(in->file, size);
    }
    return read_colors(in) ? PCGPU_OK : fail_damaged(in);
}

static pcgpu_status decode(png_input *in) {
    if (!read_header(in)) {
        return fail_damaged(in);
    }
    if (in->wants_color) {
        return decode_colors(in);
    }
    PC_TRY(check_kind(in));
    PC_TRY(pc_depth_check(in->file, in->width, in->height, in->left, EXPANSION));
    PC_TRY(pc_depth_create(in->file, in->width, in->height, in->depth));
    return read_pixels(in) ? PCGPU_OK : fail_damaged(in);
}

static pcgpu_status read_any(const pc_file *file, const pc_bytes *bytes, bool color, pcgpu_depth *depth) {
    png_input in = {.file = file, .p = bytes->data, .left = bytes->size, .depth = depth, .wants_color = color};
    if (bytes->size < 8 || png_sig_cmp(bytes->data, 0, 8) != 0) {
        return pc_fail_format(file, "does not begin as a .png; give --format if it is another");
    }
    in.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &in, keep_error, ignore_warning);
    in.info = in.png ? png_create_info_struct(in.png) : NULL;
    pcgpu_status status = in.info ? decode(&in) : pc_fail_file_memory(file, 1);
    png_destroy_read_struct(&in.png, &in.info, NULL);
    return status;
}

static pcgpu_status read_png(const pc_file *file, const pc_bytes *bytes, pcgpu_depth *depth) {
    return read_any(file, bytes, false, depth);
}

static pcgpu_status read_colored(const pc_file *file, const pc_bytes *bytes, pcgpu_depth *depth) {
    if (bytes->size >= 3 && memcmp(bytes->data, "\xff\xd8\xff", 3) == 0) {
        return pc_fail_format(
            file,
            "is a JPEG image, and colour images are read as .png; convert them: magick mogrify -format png *.jpg");
    }
    pcgpu_status status = read_any(file, bytes, true, depth);
    if (status != PCGPU_OK) {
        free(depth->color);
        depth->color = NULL;
    }
    return status;
}

pcgpu_status pcgpu_read_color(pcgpu_context *context, FILE *stream, const char *name, pcgpu_depth *depth) {
    const pc_file file = {.context = context, .name = pc_input_name(name), .stream = stream};
    pc_bytes bytes = {NULL, 0};
    free(depth->color);
    depth->color = NULL;
    PC_TRY(pc_bytes_read(&file, &bytes));
    pcgpu_status status = read_colored(&file, &bytes, depth);
    pc_bytes_free(&bytes);
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
