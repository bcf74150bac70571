/* Depth images: .png of every kind, and cameras that are refused. Files of fewer bytes: tests/fuzz; the pixels and the
 * points of a camera: tests/oracle/test_depth.py. */
#define _GNU_SOURCE /* open_memstream, fmemopen */
#include "test_io.h"

#include <png.h>

/* ---- images to read --------------------------------------------------------------------------------------------- */

typedef struct image {
    int width, height, bits, colour;
    bool interlaced;
} image;

static uint16_t pixel(int x, int y) {
    return (uint16_t)((unsigned)x * 40503u + (unsigned)y * 30011u);
}

static void append(png_structp png, png_bytep data, size_t size) {
    assert_int_equal(fwrite(data, 1, size, png_get_io_ptr(png)), size);
}

static void no_flush(png_structp png) {
    (void)png;
}

/* A picture by libpng, with every kind of filter; samples beyond the first of a pixel are 7. */
static void make_png(const image *i, char **data, size_t *size) {
    FILE *f = open_memstream(data, size);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_bytep *rows = calloc((size_t)i->height, sizeof *rows);
    png_set_write_fn(png, f, append, no_flush);
    png_set_IHDR(png, info, (png_uint_32)i->width, (png_uint_32)i->height, i->bits, i->colour,
                 i->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_set_filter(png, 0, PNG_ALL_FILTERS);
    if (i->colour == PNG_COLOR_TYPE_PALETTE) {
        png_set_PLTE(png, info, &(png_color){1, 2, 3}, 1);
    }
    png_write_info(png, info);
    png_set_swap(png);
    int samples = png_get_channels(png, info);
    for (int y = 0; y < i->height; y++) {
        uint16_t *row = calloc((size_t)(i->width * samples), sizeof *row);
        for (int x = 0; x < i->width && i->colour != PNG_COLOR_TYPE_PALETTE; x++) {
            for (int k = 0; k < samples; k++) {
                row[x * samples + k] = k ? 7 : pixel(x, y);
            }
        }
        rows[y] = (png_bytep)row;
    }
    png_write_image(png, rows);
    png_write_end(png, NULL);
    png_destroy_write_struct(&png, &info);
    for (int y = 0; y < i->height; y++) {
        free(rows[y]);
    }
    free(rows);
    assert_int_equal(fclose(f), 0);
}

static pcgpu_status read_depth(const void *data, size_t size, pcgpu_depth *depth) {
    FILE *f = fmemopen((void *)(uintptr_t)data, size, "rb");
    assert_non_null(f);
    pcgpu_status status = pcgpu_read_depth(io.context, f, "file", "png", depth);
    fclose(f);
    return status;
}

static void good(const void *data, size_t size, int width, int height) {
    pcgpu_depth depth;
    if (read_depth(data, size, &depth) != PCGPU_OK) {
        fail_msg("%s", pcgpu_last_error(io.context));
    }
    assert_int_equal(depth.width, width);
    assert_int_equal(depth.height, height);
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            assert_int_equal(depth.data[y * width + x], pixel(x, y));
        }
    }
    pcgpu_depth_free(&depth);
    assert_null(depth.data);
}

static void bad(const void *data, size_t size, const char *sentence) {
    pcgpu_depth depth;
    pcgpu_status status = read_depth(data, size, &depth);
    const char *error = pcgpu_last_error(io.context);
    if (status != PCGPU_ERROR_FORMAT || strncmp(error, "file: ", 6) != 0 || !strstr(error, sentence)) {
        fail_msg("status %d, '%s' where '%s' is expected", status, error, sentence);
    }
    assert_null(depth.data);
    assert_int_equal(depth.width, 0);
}

/* ---- .png ------------------------------------------------------------------------------------------------------- */

static void test_depth_png(void **state) {
    static const image images[] = {{1, 1, 16, PNG_COLOR_TYPE_GRAY, true},
                                   {61, 47, 16, PNG_COLOR_TYPE_GRAY, false},
                                   {61, 47, 16, PNG_COLOR_TYPE_GRAY, true}};
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++) {
        char *data;
        size_t size;
        make_png(&images[i], &data, &size);
        good(data, size, images[i].width, images[i].height);
        for (size_t n = 8; n < size; n += 1 + n / 40) { /* every byte counts: checksums */
            data[n] = (char)(data[n] ^ 4);
            pcgpu_depth depth;
            assert_int_equal(read_depth(data, size, &depth), PCGPU_ERROR_FORMAT);
            data[n] = (char)(data[n] ^ 4);
        }
        free(data);
    }
}

/* Colour images of every kind become red, green and blue; each error leaves no colours. */
static void test_depth_color(void **state) {
    static const struct {
        image image;
        int red, green; /* of the second pixel; -1: its value, or its high byte */
    } kinds[] = {
        {{7, 5, 16, PNG_COLOR_TYPE_RGB, false}, -1, 0},   {{7, 5, 16, PNG_COLOR_TYPE_RGB_ALPHA, true}, -1, 0},
        {{7, 5, 16, PNG_COLOR_TYPE_GRAY, true}, -1, -1},  {{7, 5, 16, PNG_COLOR_TYPE_GRAY_ALPHA, false}, -1, -1},
        {{7, 5, 8, PNG_COLOR_TYPE_PALETTE, false}, 1, 2},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char *data;
        size_t size;
        pcgpu_depth depth = {.width = 7, .height = 5}, small = {.width = 6, .height = 5};
        make_png(&kinds[i].image, &data, &size);
        FILE *f = fmemopen(data, size, "rb");
        assert_int_equal(pcgpu_read_color(io.context, f, "color.png", &depth), PCGPU_OK);
        const int high = pixel(1, 0) >> 8;
        assert_int_equal(depth.color[3], kinds[i].red < 0 ? high : kinds[i].red);
        assert_int_equal(depth.color[4], kinds[i].green < 0 ? high : kinds[i].green);
        rewind(f);
        assert_int_equal(pcgpu_read_color(io.context, f, "color.png", &small), PCGPU_ERROR_FORMAT);
        assert_non_null(strstr(pcgpu_last_error(io.context), "has 7 x 5 pixels and the depth image 6 x 5"));
        fclose(f);
        f = fmemopen(data, size - 20, "rb");
        assert_int_equal(pcgpu_read_color(io.context, f, "color.png", &depth), PCGPU_ERROR_FORMAT);
        assert_null(depth.color);
        fclose(f);
        free(data);
    }
    pcgpu_depth depth = {.width = 7, .height = 5};
    FILE *f = fmemopen("\xff\xd8\xff\xe0 JFIF", 9, "rb");
    assert_int_equal(pcgpu_read_color(io.context, f, "color.jpg", &depth), PCGPU_ERROR_FORMAT);
    assert_non_null(strstr(pcgpu_last_error(io.context), "magick mogrify -format png"));
    fclose(f);
}

static void test_depth_png_bad(void **state) {
    static const struct {
        image image;
        const char *sentence;
    } kinds[] = {
        {{4, 4, 8, PNG_COLOR_TYPE_GRAY, false}, "is 8-bit and greyscale; a depth image is 16-bit greyscale"},
        {{4, 4, 16, PNG_COLOR_TYPE_RGB, false}, "is 16-bit and in colour"},
        {{4, 4, 8, PNG_COLOR_TYPE_RGB_ALPHA, false}, "is 8-bit and in colour"},
        {{4, 4, 16, PNG_COLOR_TYPE_GRAY_ALPHA, false}, "is 16-bit and greyscale with transparency"},
        {{4, 4, 8, PNG_COLOR_TYPE_PALETTE, false}, "is 8-bit and of a palette"},
    };
    char *data;
    size_t size;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        make_png(&kinds[i].image, &data, &size);
        bad(data, size, kinds[i].sentence);
        free(data);
    }
    bad("P5 3 4 65535\n", 13, "does not begin as a .png; give format if it is another");
}

/* ---- points ----------------------------------------------------------------------------------------------------- */

static pcgpu_camera camera(void) {
    pcgpu_camera c;
    pcgpu_camera_init(&c);
    assert_true(isnan(c.cx) && isnan(c.cy) && c.fx == 0 && c.depth_scale == 1000 && c.max_depth == 0);
    c.fx = 2;
    c.fy = 4;
    c.cx = 1;
    c.cy = 0.5;
    return c;
}

/* A camera that cannot be one, or not this image's. */
static void test_depth_camera(void **state) {
    uint16_t pixels[6] = {1, 2, 3, 4, 5, 6};
    const pcgpu_depth depth = {3, 2, pixels, NULL};
    const struct {
        size_t member;
        double value;
        const char *sentence;
    } wrong[] = {
        {offsetof(pcgpu_camera, fx), 0, "fx 0, fy 4"},
        {offsetof(pcgpu_camera, fy), -1, "fy -1"},
        {offsetof(pcgpu_camera, fx), INFINITY, "fx inf"},
        {offsetof(pcgpu_camera, cx), NAN, "cx nan"},
        {offsetof(pcgpu_camera, cy), INFINITY, "cy inf"},
        {offsetof(pcgpu_camera, depth_scale), 0, "and 0 depth units a metre is not possible"},
        {offsetof(pcgpu_camera, min_depth), -1, "depths from -1 to 0 m are not possible"},
        {offsetof(pcgpu_camera, max_depth), -1, "depths from 0 to -1 m are not possible"},
        {offsetof(pcgpu_camera, max_depth), NAN, "are not possible"},
        {offsetof(pcgpu_camera, min_depth), NAN, "are not possible"},
    };
    pcgpu_cloud cloud;
    pcgpu_camera c;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        c = camera();
        memcpy((char *)&c + wrong[i].member, &wrong[i].value, sizeof(double));
        assert_int_equal(pcgpu_depth_to_cloud(io.context, &depth, &c, &cloud, NULL), PCGPU_ERROR_ARGUMENT);
        assert_non_null(strstr(pcgpu_last_error(io.context), wrong[i].sentence));
        assert_null(cloud.data);
    }
    c = camera();
    c.width = 640;
    c.height = 480;
    assert_int_equal(pcgpu_depth_to_cloud(io.context, &depth, &c, &cloud, NULL), PCGPU_ERROR_ARGUMENT);
    assert_string_equal(pcgpu_last_error(io.context),
                        "the image has 3 x 2 pixels and the camera 640 x 480; give the camera of this image");
    pcgpu_depth none;
    FILE *f = tmpfile();
    assert_int_equal(pcgpu_read_depth(io.context, f, "a.ply", NULL, &none), PCGPU_ERROR_ARGUMENT);
    fclose(f);
    assert_string_equal(pcgpu_last_error(io.context), "a.ply: ply cannot hold a depth image; use png or pgm");
}

UNIT_GROUP(io_depth, io_set_up, io_tear_down, TEST(test_depth_png), TEST(test_depth_png_bad), TEST(test_depth_color),
           TEST(test_depth_camera))
