/* Meshes, of .ply ("mesh"), Wavefront .obj ("obj"), and .glb ("glb", whose bytes are the JSON): triangles of vertices
 * that exist. */
#include "fuzz.h"

#include "view.h"

#include <string.h>

static void put(uint8_t *p, size_t value) {
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(value >> (8 * i));
    }
}

/* A .glb of this JSON, with a buffer of four points and six indices. The caller frees it. */
static uint8_t *make_glb(const uint8_t *text, size_t length, size_t *size) {
    enum { BUFFER = 256 };
    *size = 12 + 8 + length + 8 + BUFFER;
    uint8_t *all = calloc(1, *size), *buffer = all ? all + 28 + length : NULL;
    MUST(all);
    memcpy(all, "glTF\2", 5);
    put(all + 8, *size);
    put(all + 12, length);
    memcpy(all + 16, "JSON", 4);
    memcpy(all + 20, text, length);
    put(buffer - 8, BUFFER);
    memcpy(buffer - 4, "BIN", 3);
    for (int i = 0; i < 48; i += 4) {
        buffer[i + 2] = (uint8_t)(i * 3);
        buffer[i + 3] = 0x3f;
    }
    memcpy(buffer + 48, "\0\1\2\2\1\3", 6);
    return all;
}

int fuzz_check_mesh(const char *format, const uint8_t *data, size_t size) {
    uint8_t *whole = strcmp(format, "glb") == 0 ? make_glb(data, size, &size) : NULL;
    data = whole ? whole : data;
    const char *name = strcmp(format, "obj") == 0 ? "input.obj" : "input.ply";
    pcgpu_context *context;
    pc_layer layer = {.kind = PC_POINTS};
    MUST(pcgpu_open(&(pcgpu_settings){.struct_size = sizeof(pcgpu_settings), .device = PCGPU_DEVICE_CPU, .threads = 1},
                    &context) == PCGPU_OK);
    FILE *f = fuzz_open(data, size);
    const pcgpu_status status = pc_layer_read_mesh(context, f, name, &layer);
    fclose(f);
    if (status == PCGPU_OK) {
        MUST(layer.cloud.data && layer.cloud.columns >= 3 && (layer.triangles > 0) == (layer.kind == PC_TRIANGLES));
        for (int64_t i = 0; i < 3 * layer.triangles; i++) {
            MUST(layer.indices[i] >= 0 && layer.indices[i] < layer.cloud.rows);
        }
    } else {
        MUST(status == PCGPU_ERROR_FORMAT && !layer.cloud.data && !layer.indices);
        fuzz_check_sentence(pcgpu_last_error(context), name);
    }
    pc_layer_free(&layer);
    pcgpu_close(context);
    free(whole);
    return status == PCGPU_OK;
}
