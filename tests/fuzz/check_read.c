/* What must hold for any input: an error with a sentence and an empty cloud, or a cloud that keeps the rules and that
 * can be written and read again. */
#define _GNU_SOURCE /* fmemopen */
#include "fuzz.h"

#include "pcgpu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

FILE *fuzz_open(const uint8_t *data, size_t size) {
    FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "rb") : fopen("/dev/null", "rb");
    MUST(f);
    return f;
}

void fuzz_check_sentence(const char *error, const char *name) {
    size_t n = strlen(name);
    MUST(strncmp(error, name, n) == 0 && strncmp(error + n, ": ", 2) == 0 && strlen(error) > n + 15);
    fuzz_check_printable(error);
}

/* Without a format, the bytes may be those of none, and the camera that of another image. */
static void check_error(pcgpu_context *context, pcgpu_status status, bool known, const pcgpu_cloud *cloud) {
    MUST(status == PCGPU_ERROR_FORMAT || (!known && status == PCGPU_ERROR_ARGUMENT));
    fuzz_check_sentence(pcgpu_last_error(context), "input");
    MUST(!cloud->data && cloud->rows == 0 && cloud->columns == 0);
}

static void check_cloud(const pcgpu_cloud *cloud) {
    MUST(cloud->rows >= 0 && cloud->columns >= 3 && cloud->columns <= PCGPU_MAX_COLUMNS && cloud->data);
    for (int k = 0; k < cloud->columns; k++) {
        size_t n = strnlen(cloud->names[k], PCGPU_NAME_SIZE);
        MUST(n > 0 && n < PCGPU_NAME_SIZE && pcgpu_cloud_column(cloud, cloud->names[k]) == k);
        MUST(cloud->types[k] <= PCGPU_UINT32);
    }
    MUST(strcmp(cloud->names[0], "x") == 0 && strcmp(cloud->names[1], "y") == 0 && strcmp(cloud->names[2], "z") == 0);
    unsigned sum = 0;
    for (size_t i = 0; i < (size_t)cloud->rows * (size_t)cloud->columns * sizeof(float); i++) {
        sum += ((const unsigned char *)cloud->data)[i]; /* every byte is readable and was set */
    }
    MUST(sum < (unsigned)-1);
    for (int k = 0; k < 3; k++) {
        MUST(isfinite(cloud->offset[k]) && cloud->offset[k] == round(cloud->offset[k]));
    }
}

static void check_again(pcgpu_context *context, const pcgpu_cloud *cloud, const char *format) {
    pcgpu_cloud again;
    char *data = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&data, &size);
    MUST(pcgpu_write(context, f, "output", format, cloud) == PCGPU_OK && fclose(f) == 0);
    f = fmemopen(data, size, "rb");
    const pcgpu_read_options options = {.struct_size = sizeof options,
                                        .format = strcmp(format, "ply-ascii") == 0 ? "ply" : format};
    MUST(f && pcgpu_read(context, f, "output", &options, &again) == PCGPU_OK);
    MUST(again.rows == cloud->rows && again.columns == cloud->columns);
    for (int64_t i = 0; i < cloud->rows && cloud->offset[0] == 0 && again.offset[0] == 0; i++) {
        float a = cloud->data[i * cloud->columns];
        float b = again.data[i * cloud->columns];
        MUST(a == b || (isnan(a) && isnan(b)));
    }
    fclose(f);
    free(data);
    pcgpu_cloud_free(&again);
}

/* LAS leaves out points without finite coordinates, and has columns of its own. */
static void check_las(pcgpu_context *context, const pcgpu_cloud *cloud) {
    pcgpu_cloud again;
    char *data = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&data, &size);
    const pcgpu_status status = pcgpu_write(context, f, "output", "las", cloud);
    MUST(f && fclose(f) == 0 && (status == PCGPU_OK) == (cloud->columns <= PCGPU_MAX_COLUMNS - 10));
    if (status == PCGPU_OK) {
        f = fmemopen(data, size, "rb");
        const pcgpu_read_options options = {.struct_size = sizeof options, .format = "las"};
        MUST(f && pcgpu_read(context, f, "output", &options, &again) == PCGPU_OK);
        MUST(again.rows <= cloud->rows && again.columns >= cloud->columns);
        for (int k = 0; k < cloud->columns; k++) {
            MUST(cloud->offset[0] != 0 || pcgpu_cloud_column(&again, cloud->names[k]) >= 0 ||
                 strlen(cloud->names[k]) > 24);
        }
        fclose(f);
        pcgpu_cloud_free(&again);
    }
    free(data);
}

int fuzz_check_read(const char *format, const uint8_t *data, size_t size) {
    const bool known = strcmp(format, "content") != 0;
    const pcgpu_camera camera = {
        .struct_size = sizeof camera, .fx = 2, .fy = 2, .cx = 1, .cy = 1, .depth_scale = 1000, .max_depth = 60};
    const pcgpu_format_info *found = NULL;
    const pcgpu_read_options options = {
        .struct_size = sizeof options, .format = known ? format : NULL, .camera = &camera, .found = &found};
    static const char *const outputs[] = {"ply", "ply-ascii", "pcd", "npy", "xyz", "csv"};
    pcgpu_cloud cloud;
    pcgpu_context *context = test_open(PCGPU_DEVICE_CPU, 1);
    FILE *f = fuzz_open(data, size);
    pcgpu_status status = pcgpu_read(context, f, "input", &options, &cloud);
    fclose(f);
    if (status != PCGPU_OK) {
        check_error(context, status, known, &cloud);
    } else {
        MUST(found && found->reads && (!known || strcmp(format, "gzip") == 0 || strcmp(found->name, format) == 0));
        check_cloud(&cloud);
        for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
            check_again(context, &cloud, outputs[i]);
        }
        check_las(context, &cloud);
    }
    pcgpu_cloud_free(&cloud);
    pcgpu_close(context);
    return status == PCGPU_OK;
}
