/* The layers of a scene: what they own. Their colours are in view_paint.c. */
#include "cloud.h"
#include "context.h"
#include "scene.h"

#include <stdlib.h>
#include <string.h>

void pc_layer_free(pc_layer *layer) {
    if (!layer->borrowed) {
        pcgpu_cloud_free(&layer->cloud);
    }
    free(layer->indices);
    *layer = (pc_layer){0};
}

void pc_scene_free(pc_scene *scene) {
    for (int i = 0; i < scene->count; i++) {
        pc_layer_free(&scene->layers[i]);
    }
    free(scene->layers);
    *scene = (pc_scene){0};
}

typedef struct count_state {
    const pc_layer *layer;
    int64_t usable, non_finite; /* atomic: sums of integers have no order */
} count_state;

static void count_usable(void *state, int64_t begin, int64_t end) {
    count_state *s = state;
    int64_t usable = 0, finite = 0;
    for (int64_t i = begin; i < end; i++) {
        const float *p = pc_layer_row(s->layer, i);
        usable += pc_layer_shows(s->layer, p);
        finite += (p[0] - p[0]) + (p[1] - p[1]) + (p[2] - p[2]) == 0.0f; /* else NaN */
    }
    __atomic_fetch_add(&s->usable, usable, __ATOMIC_RELAXED);
    __atomic_fetch_add(&s->non_finite, end - begin - finite, __ATOMIC_RELAXED);
}

pcgpu_status pc_scene_add(pcgpu_context *context, pc_scene *scene, pc_layer *layer) {
    if (scene->count == scene->capacity) {
        const int capacity = scene->capacity ? 2 * scene->capacity : 8;
        pc_layer *layers = realloc(scene->layers, (size_t)capacity * sizeof *layers);
        if (!layers) {
            pcgpu_status status = pc_fail_memory(context, (uint64_t)capacity * sizeof *layers, layer->name);
            pc_layer_free(layer);
            return status;
        }
        scene->layers = layers;
        scene->capacity = capacity;
    }
    if (scene->count == 0) {
        memcpy(scene->offset, layer->cloud.offset, sizeof scene->offset);
    }
    for (int k = 0; k < 3; k++) {
        layer->origin[k] = layer->cloud.offset[k] - scene->offset[k];
    }
    count_state count = {.layer = layer};
    pc_run_ranges(context, layer->cloud.rows, 1 << 16, count_usable, &count);
    layer->usable = count.usable;
    layer->non_finite = layer->kind == PC_IMAGE || layer->kind == PC_LINE ? 0 : count.non_finite;
    scene->layers[scene->count++] = *layer;
    *layer = (pc_layer){0};
    return PCGPU_OK;
}
