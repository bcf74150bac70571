/* Draws a scene: places the camera, draws the layers into samples, shades the pixels, writes the legend on them. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */
#include "view.h"
#include "context.h"
#include "view_draw.h"

#include <stdlib.h>
#include <sys/mman.h>

void pc_picture_free(pc_picture *picture) {
    free(picture->rgb);
    *picture = (pc_picture){0};
}

static void draw_layer(const drawing *d) {
    switch (d->layer->kind) {
    case PC_LINE: draw_line(d); break;
    case PC_TRIANGLES: draw_triangles(d); break;
    case PC_BOXES: draw_boxes(d); break;
    default: draw_points(d);
    }
}

static void draw_layers(pcgpu_context *context, const pc_scene *scene, const camera *c, const canvas *to,
                        float point_size) {
    for (int i = 0; i < scene->count; i++) {
        const pc_layer *l = &scene->layers[i];
        const drawing d = {.context = context,
                           .scene = scene,
                           .layer = l,
                           .index = i,
                           .camera = camera_of_layer(c, l),
                           .painter = pc_painter_of(scene, l),
                           .canvas = to,
                           .point_size = point_size};
        draw_layer(&d);
    }
}

enum { MOST_HUGE = 128 << 20 };

/* Samples that are all empty: fresh pages are zero already, which calloc does not rely on for memory of the heap. */
static bool open_canvas(canvas *c, size_t *bytes) {
    *bytes = (size_t)c->width * (size_t)c->height * sizeof *c->keys;
    void *pages = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    c->keys = pages == MAP_FAILED ? NULL : pages;
    if (c->keys && *bytes <= MOST_HUGE) { /* of a larger picture, points touch few pages */
        madvise(pages, *bytes, MADV_HUGEPAGE);
    }
    return c->keys;
}

pcgpu_status pc_render(pcgpu_context *context, const pc_scene *scene, const pc_view *view, pc_picture *picture) {
    camera c;
    float point_size = 0;
    size_t bytes = 0;
    const size_t pixels = (size_t)view->width * (size_t)view->height;
    canvas samples = {.width = SAMPLES * view->width, .height = SAMPLES * view->height, .shared = context->threads > 1};
    *picture = (pc_picture){.width = view->width, .height = view->height};
    PC_TRY(camera_place(context, scene, view, &c, &point_size));
    pcgpu_status status;
    picture->rgb = malloc(pixels * 3);
    if (open_canvas(&samples, &bytes) && picture->rgb) {
        point_size = view->point_size > 0 ? (float)(SAMPLES * view->point_size) : point_size;
        draw_layers(context, scene, &c, &samples, point_size);
        status = c.kind == SPHERICAL ? fill_gaps(context, &samples, &c) : PCGPU_OK;
        /* across at least a pixel of a depth image */
        const float zoom = c.kind == PIXELS ? c.scale[0] / SAMPLES + 0.99f : 1.0f;
        status = status != PCGPU_OK ? status
                                    : shade(context, &samples,
                                            zoom > 16.0f  ? 16
                                            : zoom < 1.0f ? 1
                                                          : (int)zoom,
                                            c.kind == PIXELS, picture);
    } else {
        status = pc_fail_memory(context, bytes, "a picture of this size");
    }
    if (samples.keys) {
        munmap(samples.keys, bytes);
    }
    if (status != PCGPU_OK) {
        pc_picture_free(picture);
        return status;
    }
    picture->from = view->from == PC_FROM_AUTO ? PC_FROM_ISO : view->from;
    picture->metres_per_pixel = c.kind == SPHERICAL || c.kind == PIXELS ? 0 : (double)SAMPLES / (double)c.scale[0];
    if (!view->plain) {
        draw_legend(scene, view, picture);
    }
    return status;
}
