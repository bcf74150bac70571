/* Lets test_io_numpy.py drive the library:
 *   io_tool arrays OUT              writes known arrays to an .npz through a pipe-like stream (never seeks)
 *   io_tool one OUT                 writes one int32 array to an .npy
 *   io_tool indices IN OUT          reads record indices and writes them as an int32 array
 *   io_tool large OUT               writes an .npz whose members exceed 4 GiB */
#include "../support/random.h"
#include "pcgpu.h"

#include <stdlib.h>
#include <string.h>

/* A sparse float array, which deflates; a random one, which does not; integers; an empty one; a single value. */
static pcgpu_status write_known(pcgpu_context *context, FILE *out, const char *name) {
    static float sparse[100][32][4];
    static float noise[4096][3];
    static int32_t coords[50][4];
    static uint16_t half[8] = {0, 0x3c00, 0xc000, 0x7c00};
    static double one = 0.1;
    uint32_t state = 1;
    for (int i = 0; i < 100; i++) {
        sparse[i][i % 32][i % 4] = (float)i;
    }
    for (int i = 0; i < 4096 * 3; i++) {
        state = state * 1664525u + 1013904223u;
        memcpy(&noise[i / 3][i % 3], &(uint32_t){(state & 0x7fffff) | 0x3f800000}, 4);
    }
    for (int i = 0; i < 200; i++) {
        coords[i / 4][i % 4] = i - 100;
    }
    const pcgpu_array arrays[] = {
        {"voxels", PCGPU_FLOAT32, 3, {100, 32, 4}, sparse},
        {"noise", PCGPU_FLOAT32, 2, {4096, 3}, noise},
        {"coords", PCGPU_INT32, 2, {50, 4}, coords},
        {"half", PCGPU_FLOAT16, 1, {8}, half},
        {"empty", PCGPU_UINT8, 2, {0, 7}, NULL},
        {"one", PCGPU_FLOAT64, 1, {1}, &one},
    };
    return pcgpu_write_arrays(context, out, name, NULL, arrays, sizeof arrays / sizeof arrays[0]);
}

static pcgpu_status copy_indices(pcgpu_context *context, const char *in, FILE *out, const char *name) {
    FILE *stream = fopen(in, "rb");
    pcgpu_indices indices;
    if (!stream) {
        return PCGPU_ERROR_IO;
    }
    pcgpu_status status = pcgpu_read_indices(context, stream, in, &indices);
    fclose(stream);
    if (status == PCGPU_OK) {
        const pcgpu_array array = {"indices", PCGPU_INT32, 1, {indices.count}, indices.values};
        status = pcgpu_write_arrays(context, out, name, NULL, &array, 1);
    }
    pcgpu_indices_free(&indices);
    return status;
}

/* 4.3 GB stored and 4.3 GB deflated: 64-bit sizes, and an offset over 4 GiB. */
static pcgpu_status write_large(pcgpu_context *context, FILE *out, const char *name) {
    const int64_t count = INT64_C(4300000000);
    uint8_t *zeros = calloc((size_t)count, 1);
    uint8_t *noise = calloc((size_t)count, 1);
    test_random random = {1};
    pcgpu_status status = PCGPU_ERROR_MEMORY;
    if (zeros && noise) {
        for (int64_t i = 0; i < count; i += 8) {
            const uint64_t bits = test_bits(&random);
            memcpy(noise + i, &bits, count - i < 8 ? (size_t)(count - i) : 8);
        }
        const pcgpu_array arrays[] = {{"noise", PCGPU_UINT8, 1, {count}, noise},
                                      {"zeros", PCGPU_UINT8, 1, {count}, zeros}};
        status = pcgpu_write_arrays(context, out, name, NULL, arrays, 2);
    }
    free(zeros);
    free(noise);
    return status;
}

int main(int argc, char **argv) {
    static const int32_t numbers[] = {7, -8, 9};
    const pcgpu_array one = {"one", PCGPU_INT32, 1, {3}, numbers};
    pcgpu_settings settings;
    pcgpu_context *context;
    pcgpu_status status = PCGPU_ERROR_ARGUMENT;
    pcgpu_settings_init(&settings);
    if (argc < 3 || pcgpu_open(&settings, &context) != PCGPU_OK) {
        return 2;
    }
    const char *name = argv[argc - 1];
    FILE *out = fopen(name, "wb");
    if (!out) {
        return 2;
    }
    if (strcmp(argv[1], "arrays") == 0) {
        status = write_known(context, out, name);
    } else if (strcmp(argv[1], "one") == 0) {
        status = pcgpu_write_arrays(context, out, name, NULL, &one, 1);
    } else if (strcmp(argv[1], "indices") == 0 && argc == 4) {
        status = copy_indices(context, argv[2], out, name);
    } else if (strcmp(argv[1], "large") == 0) {
        status = write_large(context, out, name);
    }
    if (status != PCGPU_OK) {
        fprintf(stderr, "%s\n", pcgpu_last_error(context));
    }
    if (fclose(out) != 0) {
        status = PCGPU_ERROR_IO;
    }
    pcgpu_close(context);
    return status == PCGPU_OK ? 0 : 1;
}
