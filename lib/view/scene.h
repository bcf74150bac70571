/* A scene: layers of coloured points, triangles, lines and boxes in one frame, with names and bounds. What shows it, as
 * a picture or as a page, needs this header alone. */
#ifndef PC_SCENE_H
#define PC_SCENE_H

#include "buffer.h"
#include "cloud.h"
#include "pcgpu.h"
#include "semantic.h"

#include <math.h>

typedef enum pc_layer_kind { PC_POINTS, PC_TRIANGLES, PC_LINE, PC_BOXES, PC_IMAGE } pc_layer_kind;

/* What gives an element its colour. */
typedef enum pc_paint {
    PC_PAINT_FLAT,     /* `color` */
    PC_PAINT_COLUMN,   /* a value of a column, by the scale of the scene */
    PC_PAINT_ORDER,    /* the index */
    PC_PAINT_DISTANCE, /* from the origin of the file, which is the sensor of a scan */
    PC_PAINT_CLASS,    /* a whole number of a column: a colour per class */
    PC_PAINT_RGB,      /* three adjacent columns, red green blue */
    PC_PAINT_NORMAL    /* three adjacent columns, nx ny nz */
} pc_paint;

/* Whose classes a column has. */
typedef enum pc_classes {
    PC_CLASSES_NONE,
    PC_CLASSES_NUMBER, /* without names; 0: none */
    PC_CLASSES_LAS,
    PC_CLASSES_SEMANTIC, /* of SemanticKITTI */
    PC_CLASSES_CLUSTER   /* of pcgpu filter; -1: noise */
} pc_classes;

/* The points of a class. */
typedef struct pc_class_count {
    pc_classes kind;
    int value;
    int64_t points;
    const char *column; /* its name */
} pc_class_count;

enum { PC_LAYER_NAME = 128, PC_CLASSES_SHOWN = 40 };

typedef struct pc_layer {
    pc_layer_kind kind;
    char name[PC_LAYER_NAME]; /* of the file, without its folder */
    pcgpu_cloud cloud;     /* points, vertices, the poses of a line, centres of boxes, pixels (column, -row, depth) */
    double origin[3];      /* of the cloud's coordinates in the scene: scene = origin + data */
    int64_t usable;        /* rows that are shown: finite, nearer than PC_VIEW_FAR, and not a record without a return */
    float low[3], high[3]; /* the bounds of these rows, relative to `origin`; 0 without one */
    int64_t non_finite;    /* rows that are not, but for a missing pose and a pixel without depth */
    bool drop_origin;      /* records at exactly (0,0,0) are not shown */
    int64_t triangles;     /* of PC_TRIANGLES */
    int32_t *indices;      /* 3 each */
    float half[3];         /* half the edges of a box */
    pc_paint paint;
    int column;         /* the first column of the paint */
    pc_classes classes; /* of PC_PAINT_CLASS */
    float sign;         /* 1 or -1: of a column that is a height where up is a negative axis */
    double shift;       /* added to a column: the origin of a height */
    float rgb_scale;    /* to 0..255 */
    uint32_t color;     /* 0xRRGGBB */
} pc_layer;

enum { PC_PALETTE = 256 };

/* The scale of colours that the layers share. */
typedef struct pc_scale {
    bool used;
    char name[PCGPU_NAME_SIZE + 16]; /* "height" */
    const char *unit;                /* "m", or "" */
    double low, high;                /* the limits: percentiles, so that few outliers do not take the colours */
    bool below, above;               /* there are values beyond them */
    uint32_t palette[PC_PALETTE];    /* 0xRRGGBB */
} pc_scale;

typedef enum pc_colormap { PC_VIRIDIS, PC_TURBO, PC_GREY } pc_colormap;

typedef struct pc_scene {
    pc_layer *layers;
    pc_buffer memory; /* of the layers */
    int count;
    double offset[3]; /* of the scene's coordinates in those of the files */
    pc_up up;         /* never AUTO once the scene is complete */
    pc_scale scale;
    pc_class_count classes[PC_CLASSES_SHOWN]; /* that it is painted by: those of most points first, */
    int class_count, more_classes;            /* and the number of others */
} pc_scene;

/* Appends a layer and takes over its cloud and indices, also on failure. */
pcgpu_status pc_scene_add(pcgpu_context *context, pc_scene *scene, pc_layer *layer);
void pc_scene_free(pc_scene *scene); /* accepts a zeroed struct */
void pc_layer_free(pc_layer *layer);

/* Colours the layers by `what`: "height", "intensity", "file", "order", "distance", "normals", "rgb", "class" or the
 * name of a column. Sets the scale and its limits. Trajectories over other layers keep a colour of their own, but
 * where only trajectories have the column, the other layers are grey. Errors: FORMAT (a layer without that column). */
pcgpu_status pc_scene_paint(pcgpu_context *context, pc_scene *scene, const char *what, pc_colormap map);
/* What fits the layers. */
const char *pc_scene_default_paint(const pc_scene *scene);
/* Whether there are colours, and all are 0: some writers make them so where they have none. */
bool pc_scene_is_black(const pc_scene *scene);

/* view_colors.c */
void pc_palette_fill(pc_colormap map, uint32_t palette[PC_PALETTE]);
enum { PC_CLASS_COLORS = 36 };
uint32_t pc_class_color(int i); /* again from PC_CLASS_COLORS on */
/* `part` of `whole` from a to b. */
uint32_t pc_mix_colors(uint32_t a, uint32_t b, int part, int whole);

static inline const float *pc_layer_row(const pc_layer *l, int64_t i) {
    return l->cloud.data + i * l->cloud.columns;
}

/* Beyond it coordinates are those of a damaged file, and their squares leave float32. */
#define PC_VIEW_FAR 1e18f

static inline bool pc_layer_shows(const pc_layer *l, const float *p) {
    const bool finite = fabsf(p[0]) < PC_VIEW_FAR && fabsf(p[1]) < PC_VIEW_FAR && fabsf(p[2]) < PC_VIEW_FAR;
    return finite && !(l->drop_origin && pc_at_origin(&l->cloud, p));
}

/* The value on the scale, relative to layer->shift. */
static inline float pc_layer_value(const pc_layer *l, const float *p, int64_t i) {
    switch (l->paint) {
    case PC_PAINT_ORDER: return (float)i;
    case PC_PAINT_DISTANCE: return sqrtf((p[0] * p[0] + p[1] * p[1]) + p[2] * p[2]);
    default: return l->sign * p[l->column];
    }
}

static inline bool pc_layer_is_scaled(const pc_layer *l) {
    return l->paint == PC_PAINT_COLUMN || l->paint == PC_PAINT_ORDER || l->paint == PC_PAINT_DISTANCE;
}

/* Multiplies and adds for the index of the palette. */
typedef struct pc_painter {
    const pc_layer *layer;
    const uint32_t *palette;
    float factor, zero;
} pc_painter;

pc_painter pc_painter_of(const pc_scene *scene, const pc_layer *layer);

static inline uint32_t pc_palette_color(const pc_painter *c, float value) {
    const float t = (value - c->zero) * c->factor;
    return t != t ? 0x808080u : c->palette[t <= 0.0f ? 0 : t >= 255.0f ? 255 : (int)(t + 0.5f)];
}

uint32_t pc_layer_color_other(const pc_layer *l, const float *p);

/* view_classes.c: whether a layer has columns of integers label and instance, the labels of SemanticKITTI. */
bool pc_layer_is_semantic(const pc_layer *l);
/* Whose classes a column has, by its name. */
pc_classes pc_classes_of(const pc_layer *l, int column);
uint32_t pc_color_of_class(pc_classes kind, float value);
/* "ground", or "cluster 12". */
void pc_class_name(const pc_class_count *c, char *out, size_t size);
/* Fills the classes of a painted scene. Errors: MEMORY. */
pcgpu_status pc_scene_count_classes(pcgpu_context *context, pc_scene *scene);

/* 0xRRGGBB of row i. */
static inline uint32_t pc_color_of(const pc_painter *c, const float *p, int64_t i) {
    const pc_layer *l = c->layer;
    return l->paint == PC_PAINT_FLAT ? l->color
           : pc_layer_is_scaled(l)   ? pc_palette_color(c, pc_layer_value(l, p, i))
                                     : pc_layer_color_other(l, p);
}

/* The value below which a fraction of `values` lies; no NaN among them. Reorders nothing. */
float pc_quantile(const float *values, int64_t n, double fraction);

#endif
