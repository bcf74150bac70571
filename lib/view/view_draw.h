/* What the parts of the renderer share: the camera, and the samples that layers are drawn into. */
#ifndef PC_VIEW_DRAW_H
#define PC_VIEW_DRAW_H

#include "view.h"
#include "view_math.h"

enum { SAMPLES = 2 }; /* per pixel and axis */
enum { BACKGROUND = 0x12161b, FIRST_MARK = 0x2ecc71, LAST_MARK = 0xe74c3c /* of a trajectory */ };

typedef enum projection { ORTHOGRAPHIC, PERSPECTIVE, SPHERICAL, PIXELS } projection;

typedef struct camera {
    projection kind;
    double basis[9];       /* rows: right, up, towards the viewer; in the coordinates of the scene */
    double center[3];      /* of the scene, which is (0, 0, 0) of the camera; of SPHERICAL the sensor */
    float distance;        /* of the viewer from the center, PERSPECTIVE */
    float near;            /* the least distance from the viewer that is drawn */
    float scale[2], at[2]; /* sample = at + scale * (right, -up); of SPHERICAL, of angles */
    float depth_scale;     /* to samples, so that slopes and steps of depth have no unit */
    float back;            /* ORTHOGRAPHIC: depth = back - towards */
} camera;

/* A camera for the points of one layer. */
typedef struct layer_camera {
    const camera *c;
    float m[12]; /* right, up, towards = m (x y z 1) */
} layer_camera;

/* Where a point is in the picture. */
typedef struct spot {
    float x, y;  /* samples */
    float depth; /* samples, positive, larger is farther */
    float grow;  /* 1 in the plane of the center, more in front of it */
} spot;

layer_camera camera_of_layer(const camera *c, const pc_layer *layer);

static inline float depth_of(const camera *c, float distance) {
    return (pc_ln(distance) + 88.0f) * c->depth_scale;
}

/* False: not in front of the viewer. */
static inline bool project(const layer_camera *l, const float *p, spot *s) {
    const float *m = l->m;
    const camera *c = l->c;
    const float u = ((m[0] * p[0] + m[1] * p[1]) + m[2] * p[2]) + m[3];
    const float v = ((m[4] * p[0] + m[5] * p[1]) + m[6] * p[2]) + m[7];
    const float w = ((m[8] * p[0] + m[9] * p[1]) + m[10] * p[2]) + m[11];
    if (c->kind == PERSPECTIVE) {
        const float d = c->distance - w;
        if (!(d > c->near)) {
            return false;
        }
        const float f = c->distance / d;
        *s = (spot){c->at[0] + c->scale[0] * (u * f), c->at[1] - c->scale[1] * (v * f), depth_of(c, d), f};
        return true;
    }
    if (c->kind == ORTHOGRAPHIC) {
        const float d = c->back - w;
        *s = (spot){c->at[0] + c->scale[0] * u, c->at[1] - c->scale[1] * v, d * c->depth_scale, 1.0f};
        return d > 0.0f;
    }
    if (c->kind == PIXELS) {
        *s = (spot){c->at[0] + c->scale[0] * u, c->at[1] - c->scale[1] * v, depth_of(c, w), 1.0f};
        return w > 0.0f;
    }
    const float flat = sqrtf(u * u + v * v), r = sqrtf(flat * flat + w * w);
    *s = (spot){c->at[0] - c->scale[0] * pc_atan2(v, u), c->at[1] - c->scale[1] * pc_atan2(w, flat), depth_of(c, r),
                1.0f};
    return r > c->near;
}

/* Places the camera so that the scene fills the picture. Errors: MEMORY, FORMAT. */
pcgpu_status camera_place(pcgpu_context *context, const pc_scene *scene, const pc_view *view, camera *c,
                          float *point_size);

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* The largest key of a sample wins: the bits of a positive float32 are ordered as its values, so the complement of
 * those of the depth is the upper half; then come the lower layer, and the colour. 0: nothing was drawn. */
typedef struct canvas {
    int width, height; /* samples */
    uint64_t *keys;
    bool shared; /* several threads draw */
} canvas;

static inline uint64_t key_of(float depth, int layer, uint32_t color) {
    uint32_t bits;
    memcpy(&bits, &depth, sizeof bits);
    return (uint64_t)~bits << 32 | (uint64_t)(255 - (layer < 255 ? layer : 255)) << 24 | color;
}

static inline void put(const canvas *c, int64_t at, uint64_t key) {
    uint64_t *to = &c->keys[at];
    if (!c->shared) {
        *to = key > *to ? key : *to; /* without a branch, which would be mispredicted */
        return;
    }
    uint64_t old = __atomic_load_n(to, __ATOMIC_RELAXED);
    while (key > old && !__atomic_compare_exchange_n(to, &old, key, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

enum { SPLAT_MOST = 64 }; /* the diameter of a disc, in samples */

/* A disc of `size` samples; a square up to 3. */
void splat(const canvas *c, float x, float y, int size, uint64_t key);

typedef struct drawing {
    pcgpu_context *context;
    const pc_scene *scene;
    const pc_layer *layer;
    int index; /* of the layer */
    layer_camera camera;
    pc_painter painter;
    const canvas *canvas;
    float point_size; /* samples */
} drawing;

void draw_points(const drawing *d);    /* view_points.c */
void draw_line(const drawing *d);      /* view_lines.c */
void draw_triangles(const drawing *d); /* view_triangles.c */
void draw_boxes(const drawing *d);     /* view_triangles.c */

/* view_range.c: closes the gaps between the points and rows of a scanner in a range image. */
pcgpu_status fill_gaps(pcgpu_context *context, const canvas *c, const camera *view);

/* view_shade.c: eye-dome lighting, to neighbours of `radius` pixels and three times that, and the colours of the
 * pixels. `quantized`: depths have steps, which are not to be seen. */
pcgpu_status shade(pcgpu_context *context, const canvas *c, int radius, bool quantized, pc_picture *out);

/* view_legend.c: names, the scale of colours, the scale bar. */
void draw_legend(const pc_scene *scene, const pc_view *view, pc_picture *picture);
/* The height of a line of text of a picture, in pixels. */
float text_height(const pc_view *view);
/* Pixels at the edges that the legend takes: left right top bottom. */
void legend_margins(const pc_scene *scene, const pc_view *view, float margins[4]);
void fill_box(pc_picture *picture, float x, float y, float width, float height, uint32_t color);
/* The largest of 1, 2, 5 x 10^k that is not above `most`. */
double round_length(double most);

/* view_font.c: whether a character of Unicode can be drawn. */
bool text_has_glyph(unsigned code);
/* Draws text with its left end at x and its baseline at y, `height` of a capital letter; returns its width. */
float draw_text(pc_picture *picture, float x, float y, float height, uint32_t color, const char *text);
float text_width(float height, const char *text);
/* A line with round ends, smooth at its edges. */
void draw_stroke(pc_picture *picture, const float from[2], const float to[2], float radius, uint32_t color);

#endif
