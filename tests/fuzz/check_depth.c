/* What must hold for any depth image: an error with a sentence and nothing else, or an image within its limits whose
 * points are those of its pixels; and that no image is larger than its bytes can hold. */
#define _GNU_SOURCE /* fmemopen */
#include "fuzz.h"

#include "pcgpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static uint32_t get32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Puts the checksums right, as far as the chunks go. */
static void repair_png(uint8_t *data, size_t size) {
    for (size_t at = 8; at + 12 <= size;) {
        size_t length = get32(data + at);
        if (length > size - at - 12) {
            return;
        }
        uint32_t sum = (uint32_t)crc32(0, data + at + 4, (uInt)length + 4);
        for (int i = 0; i < 4; i++) {
            data[at + 8 + length + (size_t)i] = (uint8_t)(sum >> (24 - 8 * i));
        }
        at += length + 12;
    }
}

static void check_image(const pcgpu_depth *depth, size_t size) {
    MUST(depth->data && depth->width >= 1 && depth->height >= 1);
    MUST(depth->width <= PCGPU_DEPTH_SIDE && depth->height <= PCGPU_DEPTH_SIDE);
    MUST((uint64_t)depth->width * (uint64_t)depth->height * 2 <= (uint64_t)size * 1032 + 1032);
}

/* The same file read as a cloud: a record for each pixel that is not 0, and the depth is its z. */
static void check_cloud(pcgpu_context *context, const char *format, const uint8_t *data, size_t size,
                        const pcgpu_depth *depth) {
    const pcgpu_camera camera = {
        .struct_size = sizeof(pcgpu_camera), .fx = 2, .fy = 3, .cx = -1, .cy = 0.5, .depth_scale = 1};
    pcgpu_depth_counts n;
    const pcgpu_read_options options = {
        .struct_size = sizeof(pcgpu_read_options), .format = format, .camera = &camera, .depth_counts = &n};
    pcgpu_cloud cloud;
    FILE *f = fuzz_open(data, size);
    MUST(pcgpu_read(context, f, "input", &options, &cloud) == PCGPU_OK);
    fclose(f);
    MUST(cloud.columns == 3 && n.pixels == (int64_t)depth->width * depth->height && n.out_of_range == 0);
    int64_t row = 0;
    for (int64_t i = 0; i < n.pixels; i++) {
        if (depth->data[i] && depth->data[i] != UINT16_MAX) {
            MUST(row < cloud.rows && cloud.data[3 * row + 2] == (float)depth->data[i]);
            MUST(isfinite(cloud.data[3 * row]) && isfinite(cloud.data[3 * row + 1]));
            row++;
        }
    }
    MUST(row == cloud.rows && n.no_return == n.pixels - row);
    pcgpu_cloud_free(&cloud);
}

static int check_bytes(pcgpu_context *context, const char *format, const uint8_t *data, size_t size) {
    pcgpu_depth depth;
    FILE *f = fuzz_open(data, size);
    pcgpu_status status = pcgpu_read_depth(context, f, "input", format, &depth);
    fclose(f);
    if (status != PCGPU_OK) {
        MUST(status == PCGPU_ERROR_FORMAT && !depth.data && depth.width == 0 && depth.height == 0);
        fuzz_check_sentence(pcgpu_last_error(context), "input");
        return 0;
    }
    check_image(&depth, size);
    check_cloud(context, format, data, size, &depth);
    pcgpu_depth_free(&depth);
    return 1;
}

int fuzz_check_depth(const char *format, const uint8_t *data, size_t size) {
    pcgpu_context *context = test_open(PCGPU_DEVICE_CPU, 1);
    int valid = check_bytes(context, format, data, size);
    if (!valid && strcmp(format, "png") == 0) {
        uint8_t *copy = malloc(size + 1);
        MUST(copy);
        memcpy(copy, data, size);
        repair_png(copy, size);
        valid = check_bytes(context, format, copy, size);
        free(copy);
    }
    pcgpu_close(context);
    return valid;
}
