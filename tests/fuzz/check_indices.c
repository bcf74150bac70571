/* What must hold for any input of record indices: an error with a sentence and nothing else, or indices that can be
 * written in each of the ways they are read, and read again. */
#define _GNU_SOURCE /* open_memstream */
#include "fuzz.h"

#include "pcgpu.h"

#include <stdlib.h>
#include <string.h>

static pcgpu_status read_indices(pcgpu_context *context, const char *name, const uint8_t *data, size_t size,
                                 pcgpu_indices *indices) {
    FILE *f = fuzz_open(data, size);
    pcgpu_status status = pcgpu_read_indices(context, f, name, indices);
    fclose(f);
    return status;
}

static void check_again(pcgpu_context *context, const char *name, const char *format, const pcgpu_indices *indices) {
    const pcgpu_array array = {"indices", PCGPU_INT32, 1, {indices->count}, indices->values};
    char *data = NULL;
    size_t size = 0;
    pcgpu_indices again;
    FILE *f = open_memstream(&data, &size);
    MUST(f);
    if (format) {
        MUST(pcgpu_write_arrays(context, f, name, format, &array, 1) == PCGPU_OK);
    }
    for (int64_t i = 0; i < indices->count && !format; i++) {
        MUST(fprintf(f, "%ld\n", (long)indices->values[i]) > 0);
    }
    MUST(fclose(f) == 0);
    MUST(read_indices(context, name, (const uint8_t *)data, size, &again) == PCGPU_OK);
    MUST(again.count == indices->count);
    for (int64_t i = 0; i < again.count; i++) {
        MUST(again.values[i] == indices->values[i]);
    }
    pcgpu_indices_free(&again);
    free(data);
}

static int check_named(pcgpu_context *context, const char *name, const uint8_t *data, size_t size) {
    pcgpu_indices indices;
    pcgpu_status status = read_indices(context, name, data, size, &indices);
    if (status != PCGPU_OK) {
        MUST(status == PCGPU_ERROR_FORMAT);
        fuzz_check_sentence(pcgpu_last_error(context), name);
        MUST(!indices.values && indices.count == 0);
        return 0;
    }
    /* A value takes a byte at least, and a byte of text is no more than an index. */
    MUST(indices.values && indices.count >= 0 && (uint64_t)indices.count <= size);
    for (int64_t i = 0; i < indices.count; i++) {
        MUST(indices.values[i] >= 0);
    }
    check_again(context, "again.npy", "npy", &indices);
    check_again(context, "again", "npy", &indices);
    check_again(context, "again.txt", NULL, &indices);
    check_again(context, "again", NULL, &indices);
    pcgpu_indices_free(&indices);
    return 1;
}

int fuzz_check_indices(const uint8_t *data, size_t size) {
    pcgpu_context *context = test_open(PCGPU_DEVICE_CPU, 1);
    check_named(context, "input.npy", data, size);
    check_named(context, "input.txt", data, size);
    int valid = check_named(context, "input", data, size);
    pcgpu_close(context);
    return valid;
}
