/* The layers of a scene: what they own. Their colours are in view_paint.c. */
#include "cloud.h"
#include "context.h"
#include "scene.h"

#include <stdlib.h>
#include <string.h>

void pc_layer_free(pc_layer *layer) {
    pcgpu_cloud_free(&layer->cloud);
    free(layer->indices);
    *layer = (pc_layer){0};
}

void pc_scene_free(pc_scene *scene) {
    for (int i = 0; i < scene->count; i++) {
        pc_layer_free(&scene->layers[i]);
    }
    pc_buffer_free(&scene->memory);
    *scene = (pc_scene){0};
}

enum { CHUNK = 1 << 16 };

/* What a part of the rows has. */
typedef struct part {
    int64_t usable, non_finite;
    float low[3], high[3];
} part;

typedef struct survey {
    const pc_layer *layer;
    part *parts; /* of CHUNK rows each */
} survey;

static void survey_range(void *state, int64_t begin, int64_t end) {
    survey *s = state;
    part *p = &s->parts[begin / CHUNK];
    int64_t finite = 0;
    *p = (part){.low = {INFINITY, INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY, -INFINITY}};
    for (int64_t i = begin; i < end; i++) {
        const float *q = pc_layer_row(s->layer, i);
        finite += (q[0] - q[0]) + (q[1] - q[1]) + (q[2] - q[2]) == 0.0f; /* else NaN */
        if (pc_layer_shows(s->layer, q)) {
            p->usable++;
            for (int k = 0; k < 3; k++) {
                p->low[k] = q[k] < p->low[k] ? q[k] : p->low[k];
                p->high[k] = q[k] > p->high[k] ? q[k] : p->high[k];
            }
        }
    }
    p->non_finite = end - begin - finite;
}

/* Counts and bounds of the rows. False without memory. */
static bool survey_layer(pcgpu_context *context, pc_layer *layer) {
    const int64_t parts = layer->cloud.rows / CHUNK + 1;
    survey s = {.layer = layer, .parts = calloc((size_t)parts, sizeof *s.parts)};
    if (!s.parts) {
        return false;
    }
    pc_run_ranges(context, layer->cloud.rows, CHUNK, survey_range, &s);
    layer->usable = layer->non_finite = 0;
    for (int64_t i = 0; i * CHUNK < layer->cloud.rows; i++) {
        const part *p = &s.parts[i];
        for (int k = 0; k < 3 && p->usable > 0; k++) {
            layer->low[k] = layer->usable == 0 || p->low[k] < layer->low[k] ? p->low[k] : layer->low[k];
            layer->high[k] = layer->usable == 0 || p->high[k] > layer->high[k] ? p->high[k] : layer->high[k];
        }
        layer->usable += p->usable;
        layer->non_finite += p->non_finite;
    }
    free(s.parts);
    if (layer->kind == PC_IMAGE || layer->kind == PC_LINE) {
        layer->non_finite = 0; /* pixels without a depth and missing poses */
    }
    return true;
}

pcgpu_status pc_scene_add(pcgpu_context *context, pc_scene *scene, pc_layer *layer) {
    const size_t bytes = ((size_t)scene->count + 1) * sizeof *layer;
    pc_layer *layers = pc_buffer_take(&scene->memory, bytes, true);
    scene->layers = layers ? layers : scene->layers;
    if (!layers || !survey_layer(context, layer)) {
        pcgpu_status status = pc_fail_memory(context, bytes, layer->name);
        pc_layer_free(layer);
        return status;
    }
    if (scene->count == 0) {
        memcpy(scene->offset, layer->cloud.offset, sizeof scene->offset);
    }
    for (int k = 0; k < 3; k++) {
        layer->origin[k] = layer->cloud.offset[k] - scene->offset[k];
    }
    scene->layers[scene->count++] = *layer;
    *layer = (pc_layer){0};
    return PCGPU_OK;
}
