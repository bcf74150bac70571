/* Pictures as .png, through libpng. */
#include "error.h"
#include "view.h"

#include <png.h>
#include <setjmp.h>
#include <zlib.h>

typedef struct png_output {
    FILE *stream;
    const pc_picture *picture;
    png_structp png;
    png_infop info;
} png_output;

static void write_bytes(png_structp png, png_bytep data, size_t size) {
    if (fwrite(data, 1, size, png_get_io_ptr(png)) != size) {
        png_error(png, "write");
    }
}

static void flush_bytes(png_structp png) {
    (void)png;
}

static void leave(png_structp png, png_const_charp message) {
    (void)message;
    png_longjmp(png, 1);
}

static void ignore(png_structp png, png_const_charp message) {
    (void)png, (void)message;
}

/* Left by longjmp when the stream refuses data. Run lengths of differences to the pixel on the left: ten times as fast
 * as the default of libpng, and half as large again. */
static bool write_all(png_output *o) {
    if (setjmp(png_jmpbuf(o->png))) {
        return false;
    }
    png_set_write_fn(o->png, o->stream, write_bytes, flush_bytes);
    png_set_IHDR(o->png, o->info, (png_uint_32)o->picture->width, (png_uint_32)o->picture->height, 8,
                 PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_filter(o->png, PNG_FILTER_TYPE_BASE, PNG_FILTER_SUB);
    png_set_compression_level(o->png, 1);
    png_set_compression_strategy(o->png, Z_RLE);
    png_set_compression_buffer_size(o->png, 1 << 16);
    png_write_info(o->png, o->info);
    for (int y = 0; y < o->picture->height; y++) {
        png_write_row(o->png, o->picture->rgb + (size_t)3 * (size_t)y * (size_t)o->picture->width);
    }
    png_write_end(o->png, NULL);
    return true;
}

pcgpu_status pc_picture_write(pcgpu_context *context, FILE *stream, const char *name, const pc_picture *picture) {
    png_output o = {.stream = stream, .picture = picture};
    o.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, leave, ignore);
    o.info = o.png ? png_create_info_struct(o.png) : NULL;
    pcgpu_status status = !o.info         ? pc_fail_memory(context, 1, name)
                          : write_all(&o) ? PCGPU_OK
                                          : pc_fail(context, PCGPU_ERROR_IO,
                                                    "%s: cannot write the picture; check the space of the disk", name);
    png_destroy_write_struct(&o.png, &o.info);
    return status;
}
