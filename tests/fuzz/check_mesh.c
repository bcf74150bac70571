/* The faces of a .ply: triangles of vertices that exist. */
#include "fuzz.h"

#include "view.h"

int fuzz_check_mesh(const uint8_t *data, size_t size) {
    pc_layer layer = {.kind = PC_POINTS};
    pcgpu_context *context = test_open(PCGPU_DEVICE_CPU, 1);
    FILE *f = fuzz_open(data, size);
    const pcgpu_status status = pc_layer_read_mesh(context, f, "input.ply", &layer);
    fclose(f);
    if (status == PCGPU_OK) {
        MUST(layer.cloud.data && layer.cloud.columns >= 3 && (layer.triangles > 0) == (layer.kind == PC_TRIANGLES));
        for (int64_t i = 0; i < 3 * layer.triangles; i++) {
            MUST(layer.indices[i] >= 0 && layer.indices[i] < layer.cloud.rows);
        }
    } else {
        MUST(status == PCGPU_ERROR_FORMAT && !layer.cloud.data && !layer.indices);
        fuzz_check_sentence(pcgpu_last_error(context), "input.ply");
    }
    pc_layer_free(&layer);
    pcgpu_close(context);
    return status == PCGPU_OK;
}
