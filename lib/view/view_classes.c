/* The classes of points: whose they are, their colours and names, and how many points each has. */
#include "context.h"
#include "view.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = -1, MOST = 1000000, UNLABELED = 0x9aa0a6, UNKNOWN = 0x808080 };

bool pc_layer_is_semantic(const pc_layer *l) {
    static const char *const names[] = {"label", "instance"};
    bool whole = true;
    for (int i = 0; i < 2; i++) {
        const int column = pcgpu_cloud_column(&l->cloud, names[i]);
        const int type = column < 0 ? PCGPU_FLOAT32 : l->cloud.types[column];
        whole = whole && type >= PCGPU_INT8 && type <= PCGPU_UINT32;
    }
    return whole;
}

pc_classes pc_classes_of(const pc_layer *l, int column) {
    static const struct {
        const char *name;
        pc_classes kind;
    } known[] = {{"classification", PC_CLASSES_LAS}, {"class", PC_CLASSES_LAS},       {"label", PC_CLASSES_NUMBER},
                 {"labels", PC_CLASSES_NUMBER},      {"semantic", PC_CLASSES_NUMBER}, {"instance", PC_CLASSES_NUMBER},
                 {"cluster", PC_CLASSES_CLUSTER}};
    const char *name = column < 3 ? "" : l->cloud.names[column];
    pc_classes kind = PC_CLASSES_NONE;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        kind = strcmp(name, known[i].name) == 0 ? known[i].kind : kind;
    }
    return strcmp(name, "label") == 0 && pc_layer_is_semantic(l) ? PC_CLASSES_SEMANTIC : kind;
}

uint32_t pc_color_of_class(pc_classes kind, float value) {
    const float first = kind == PC_CLASSES_CLUSTER ? 0.0f : 1.0f; /* the value before it is grey */
    const pc_label *label = kind == PC_CLASSES_SEMANTIC && value != 0.0f ? pc_label_of(value) : NULL; /* 0 is black */
    return label                            ? label->color
           : value >= first && value < MOST ? pc_class_color((int)(value - first))
           : value == first - 1.0f          ? (uint32_t)UNLABELED
                                            : (uint32_t)UNKNOWN;
}

void pc_class_name(const pc_class_count *c, char *out, size_t size) {
    const pc_label *label = c->kind == PC_CLASSES_SEMANTIC ? pc_label_of((float)c->value) : NULL;
    const char *las = c->kind == PC_CLASSES_LAS ? pc_las_class(c->value) : NULL;
    const bool noise = c->kind == PC_CLASSES_CLUSTER && c->value < 0;
    if (label || las || noise) {
        snprintf(out, size, "%s", label ? label->name : las ? las : "noise");
    } else {
        snprintf(out, size, "%s %d", c->column, c->value);
    }
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

/* Adds the points of the layers with classes of a kind, by value - LEAST. Returns a layer of them, or NULL. */
static const pc_layer *count_points(const pc_scene *scene, pc_classes kind, int64_t *points) {
    const pc_layer *found = NULL;
    for (int i = 0; i < scene->count; i++) {
        const pc_layer *l = &scene->layers[i];
        if (l->paint != PC_PAINT_CLASS || l->classes != kind) {
            continue;
        }
        found = l;
        for (int64_t k = 0; k < l->cloud.rows; k++) {
            const float *row = pc_layer_row(l, k), v = row[l->column];
            if (v >= LEAST && v < MOST && pc_layer_shows(l, row)) {
                points[(int)v - LEAST]++;
            }
        }
    }
    return found;
}

/* Behind those with as many points, which are lower. */
static void insert(pc_scene *scene, const pc_class_count *c) {
    enum { SHOWN = sizeof scene->classes / sizeof *scene->classes };
    int at = scene->class_count;
    while (at > 0 && scene->classes[at - 1].points < c->points) {
        at--;
    }
    if (scene->class_count == SHOWN) {
        scene->more_classes++;
    } else {
        scene->class_count++;
    }
    if (at < SHOWN) {
        memmove(&scene->classes[at + 1], &scene->classes[at], (size_t)(scene->class_count - 1 - at) * sizeof *c);
        scene->classes[at] = *c;
    }
}

pcgpu_status pc_scene_count_classes(pcgpu_context *context, pc_scene *scene) {
    const size_t bytes = (size_t)(MOST - LEAST) * sizeof(int64_t);
    bool any = false;
    for (int i = 0; i < scene->count; i++) {
        any = any || scene->layers[i].paint == PC_PAINT_CLASS;
    }
    for (int kind = PC_CLASSES_NUMBER; kind <= PC_CLASSES_CLUSTER && any; kind++) {
        int64_t *points = calloc(1, bytes);
        if (!points) {
            return pc_fail_memory(context, bytes, "the classes");
        }
        const pc_layer *l = count_points(scene, (pc_classes)kind, points);
        for (int v = LEAST; v < MOST && l; v++) {
            if (points[v - LEAST] > 0) {
                insert(scene, &(pc_class_count){(pc_classes)kind, v, points[v - LEAST], l->cloud.names[l->column]});
            }
        }
        free(points);
    }
    return PCGPU_OK;
}
