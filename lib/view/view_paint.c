/* The colours of the layers. */
#include "cloud.h"
#include "context.h"
#include "scene.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 1 << 15 };

/* The first of `names` (NULL ends them) that the layer has, or -1. */
static int column_of(const pc_layer *l, const char *const *names) {
    int column = -1;
    for (int i = 0; names[i] && column < 0; i++) {
        column = pcgpu_cloud_column(&l->cloud, names[i]);
    }
    return column;
}

static int intensity_column(const pc_layer *l) {
    static const char *const names[] = {"intensity", "i", "reflectance", "reflectivity", "remission", NULL};
    return column_of(l, names);
}

static int class_column(const pc_layer *l) {
    static const char *const names[] = {"classification", "class", "label", "labels", "semantic", NULL};
    return column_of(l, pc_layer_is_semantic(l) ? names + 2 : names);
}

static int rgb_column(const pc_layer *l) {
    static const char *const reds[] = {"red", "r", "diffuse_red", NULL},
                             *const greens[] = {"green", "g", "diffuse_green", NULL},
                             *const blues[] = {"blue", "b", "diffuse_blue", NULL};
    const int red = column_of(l, reds);
    return red >= 0 && column_of(l, greens) == red + 1 && column_of(l, blues) == red + 2 ? red : -1;
}

/* ---- one layer --------------------------------------------------------------------------------------------------- */

/* Colours are 0..1, 0..255 or 0..65535, by the largest of them. */
static float scale_of_rgb(const pc_layer *l, int column) {
    float largest = 0;
    const int64_t step = l->cloud.rows / SAMPLE + 1;
    for (int64_t i = 0; i < l->cloud.rows; i += step) {
        for (int k = 0; k < 3; k++) {
            const float v = pc_layer_row(l, i)[column + k];
            largest = v > largest ? v : largest;
        }
    }
    return largest <= 1.0f ? 255.0f : largest <= 255.0f ? 1.0f : 255.0f / 65535.0f;
}

static pcgpu_status fail_column(pcgpu_context *context, const pc_layer *l, const char *what) {
    char list[512] = "";
    size_t used = 0;
    for (int i = 0; i < l->cloud.columns && used < sizeof list - PCGPU_NAME_SIZE - 2; i++) {
        used += (size_t)snprintf(list + used, sizeof list - used, " %s", l->cloud.names[i]);
    }
    return pc_fail(context, PCGPU_ERROR_FORMAT,
                   "%s: has no %s, only the columns%s; give --color height, or one of them", l->name, what, list);
}

static void set_height(const pc_scene *scene, pc_layer *l) {
    l->paint = PC_PAINT_COLUMN;
    l->column = pc_up_axis(scene->up);
    l->sign = pc_up_sign(scene->up);
    l->shift = (double)l->sign * (l->origin[l->column] + scene->offset[l->column]);
}

static pcgpu_status set_column(pcgpu_context *context, pc_layer *l, pc_paint paint, int column, const char *what) {
    if (column < 0) {
        return fail_column(context, l, what);
    }
    l->paint = paint;
    l->column = column;
    l->shift = column < 3 ? l->cloud.offset[column] : 0;
    l->classes = paint == PC_PAINT_CLASS ? pc_classes_of(l, column) : PC_CLASSES_NONE;
    l->rgb_scale = paint == PC_PAINT_RGB ? scale_of_rgb(l, column) : 1.0f;
    return PCGPU_OK;
}

static pcgpu_status paint_layer(pcgpu_context *context, const pc_scene *scene, pc_layer *l, const char *what) {
    l->sign = 1;
    l->shift = 0;
    if (strcmp(what, "file") == 0) {
        l->paint = PC_PAINT_FLAT;
    } else if (strcmp(what, "order") == 0) {
        l->paint = PC_PAINT_ORDER;
    } else if (strcmp(what, "distance") == 0) {
        l->paint = PC_PAINT_DISTANCE;
    } else if (strcmp(what, "height") == 0) {
        set_height(scene, l);
    } else if (strcmp(what, "intensity") == 0) {
        return set_column(context, l, PC_PAINT_COLUMN, intensity_column(l), what);
    } else if (strcmp(what, "class") == 0) {
        return set_column(context, l, PC_PAINT_CLASS, class_column(l),
                          "column of classes (classification, class, label)");
    } else if (strcmp(what, "rgb") == 0) {
        return set_column(context, l, PC_PAINT_RGB, rgb_column(l), "columns red green blue");
    } else if (strcmp(what, "normals") == 0) {
        return set_column(context, l, PC_PAINT_NORMAL, pc_normal_column(&l->cloud), "columns nx ny nz");
    } else {
        const int column = pcgpu_cloud_column(&l->cloud, what);
        return set_column(context, l, pc_classes_of(l, column) ? PC_PAINT_CLASS : PC_PAINT_COLUMN, column, what);
    }
    return PCGPU_OK;
}

uint32_t pc_layer_color_other(const pc_layer *l, const float *p) {
    const float *v = p + l->column;
    if (l->paint == PC_PAINT_CLASS) {
        return pc_color_of_class(l->classes, *v);
    }
    uint32_t rgb = 0;
    for (int k = 0; k < 3; k++) {
        const float x = l->paint == PC_PAINT_NORMAL ? 127.5f + 127.5f * v[k] : v[k] * l->rgb_scale;
        rgb = rgb << 8 | (uint32_t)(x >= 255.0f ? 255 : x > 0.0f ? (int)(x + 0.5f) : 0);
    }
    return rgb;
}

/* ---- the scene --------------------------------------------------------------------------------------------------- */

/* How many layers are no lines. */
static int count_others(const pc_scene *scene) {
    int n = 0;
    for (int i = 0; i < scene->count; i++) {
        n += scene->layers[i].kind != PC_LINE;
    }
    return n;
}

static bool has_rgb(const pc_layer *l) {
    return rgb_column(l) >= 0;
}

static bool all_have(const pc_scene *scene, bool (*has)(const pc_layer *l)) {
    bool all = true;
    for (int i = 0; i < scene->count; i++) {
        all = all && (scene->layers[i].kind == PC_LINE || has(&scene->layers[i]));
    }
    return all;
}

bool pc_scene_is_black(const pc_scene *scene) {
    bool black = count_others(scene) > 0 && all_have(scene, has_rgb);
    for (int i = 0; i < scene->count && black; i++) {
        const pc_layer *l = &scene->layers[i];
        const int column = rgb_column(l);
        for (int64_t k = 0; k < l->cloud.rows && black && column >= 0; k++) {
            const float *color = pc_layer_row(l, k) + column;
            black = color[0] == 0 && color[1] == 0 && color[2] == 0;
        }
    }
    return black;
}

const char *pc_scene_default_paint(const pc_scene *scene) {
    const int others = count_others(scene);
    const pc_layer *first = &scene->layers[0];
    if (others == 0) {
        return scene->count == 1 ? "order" : "file";
    }
    if (first->kind == PC_IMAGE) {
        return "depth";
    }
    if (all_have(scene, has_rgb) && !pc_scene_is_black(scene)) {
        return "rgb";
    }
    if (all_have(scene, pc_layer_is_semantic)) {
        return "class";
    }
    if (others > 1) {
        return "file";
    }
    return first->kind == PC_BOXES && pcgpu_cloud_column(&first->cloud, "count") >= 0 ? "count"
           : first->kind == PC_TRIANGLES                                              ? "file"
                                                                                      : "height";
}

static int64_t sample_values(const pc_scene *scene, const pc_layer *l, float *out) {
    const int64_t rows = l->cloud.rows, step = rows / SAMPLE + 1;
    int64_t n = 0;
    for (int64_t i = 0; i < rows; i += step) {
        const float *p = pc_layer_row(l, i);
        const float v = (float)((double)pc_layer_value(l, p, i) + l->shift - scene->scale.low);
        if (pc_layer_shows(l, p) && v - v == 0.0f) {
            out[n++] = v;
        }
    }
    return n;
}

/* Of the order: from the first to the last of the longest layer. */
static void set_order_limits(pc_scene *scene) {
    scene->scale.used = true;
    for (int i = 0; i < scene->count; i++) {
        const double last = (double)scene->layers[i].cloud.rows - 1;
        scene->scale.high = last > scene->scale.high ? last : scene->scale.high;
    }
}

/* The limits of the scale. `scale.low` is a point near the values until then, so that float32 holds their
 * differences. */
static pcgpu_status find_limits(pcgpu_context *context, pc_scene *scene) {
    float *values = malloc((size_t)scene->count * (SAMPLE + 1) * sizeof *values);
    int64_t n = 0;
    if (!values) {
        return pc_fail_memory(context, (uint64_t)scene->count * SAMPLE * sizeof *values, "the colours");
    }
    for (int i = 0; i < scene->count; i++) {
        const pc_layer *l = &scene->layers[i];
        if (pc_layer_is_scaled(l) && !scene->scale.used) {
            scene->scale.used = true;
            scene->scale.low = l->shift;
        }
        n += pc_layer_is_scaled(l) ? sample_values(scene, l, values + n) : 0;
    }
    const double zero = scene->scale.low;
    const double least = zero + (double)pc_quantile(values, n, 0.0), most = zero + (double)pc_quantile(values, n, 1.0);
    double low = zero + (double)pc_quantile(values, n, 0.01), high = zero + (double)pc_quantile(values, n, 0.99);
    if (!(high > low)) { /* few values differ: all of them then */
        low = least;
        high = most;
    }
    free(values);
    scene->scale.below = least < low;
    scene->scale.above = most > high;
    scene->scale.low = low;
    scene->scale.high = high;
    return PCGPU_OK;
}

/* Whether lines have a column of this name, and no other layer. */
static bool only_lines_have(const pc_scene *scene, const char *name) {
    bool lines = false, others = false;
    for (int i = 0; i < scene->count; i++) {
        const bool has = pcgpu_cloud_column(&scene->layers[i].cloud, name) >= 0;
        lines = lines || (has && scene->layers[i].kind == PC_LINE);
        others = others || (has && scene->layers[i].kind != PC_LINE);
    }
    return lines && !others;
}

pcgpu_status pc_scene_paint(pcgpu_context *context, pc_scene *scene, const char *what, pc_colormap map) {
    pc_scale *scale = &scene->scale;
    *scale = (pc_scale){.unit = ""};
    scene->class_count = scene->more_classes = 0;
    const bool lines = count_others(scene) == 0, column = only_lines_have(scene, what);
    const bool metres = strcmp(what, "height") == 0 || strcmp(what, "distance") == 0 || strcmp(what, "depth") == 0 ||
                        (column && strcmp(what, "error") == 0);
    int path = 0;
    snprintf(scale->name, sizeof scale->name, "%s", lines && strcmp(what, "order") == 0 ? "pose" : what);
    scale->unit = metres ? "m" : "";
    pc_palette_fill(map, scale->palette);
    for (int i = 0; i < scene->count; i++) {
        pc_layer *l = &scene->layers[i];
        l->color = count_others(scene) == 1 && l->kind == PC_TRIANGLES ? 0xd8d2c4u : pc_class_color(i);
        l->color = l->kind == PC_LINE && !lines && path++ == 0 ? 0xff4d4du : l->color; /* red is none of the others */
        l->color = column && l->kind != PC_LINE ? 0x717b87u : l->color;
        if (column ? l->kind != PC_LINE : l->kind == PC_LINE && !lines) {
            l->paint = PC_PAINT_FLAT;
        } else {
            PC_TRY(paint_layer(context, scene, l, what));
        }
    }
    if (strcmp(what, "order") == 0) {
        set_order_limits(scene);
        return PCGPU_OK;
    }
    PC_TRY(pc_scene_count_classes(context, scene));
    return find_limits(context, scene);
}

pc_painter pc_painter_of(const pc_scene *scene, const pc_layer *layer) {
    const pc_scale *s = &scene->scale;
    const double width = s->high - s->low;
    const bool flat = !(width > 0); /* one value: the middle of the scale */
    return (pc_painter){.layer = layer,
                        .palette = s->palette,
                        .factor = flat ? 255.0f : (float)(255.0 / width),
                        .zero = (float)(s->low - layer->shift - (flat ? 0.5 : 0.0))};
}
