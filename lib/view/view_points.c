/* Points as discs. Threads share the points; the key of a sample makes their order irrelevant. */
#include "context.h"
#include "view_draw.h"

/* Samples on each side of the middle of a disc of `size` samples in its row `row`; of an odd size the middle is a
 * sample. */
static int chord(int size, int row) {
    const float r = 0.5f * (float)size, y = (float)row + 0.5f - r;
    return (int)(sqrtf(r * r - y * y) + (size % 2 ? 0.0f : 0.5f));
}

static void splat_disc(const canvas *c, int x0, int y0, int size, uint64_t key) {
    const int first = y0 < 0 ? -y0 : 0, last = y0 + size > c->height ? c->height - y0 : size;
    for (int row = first; row < last; row++) {
        const int half = chord(size, row);
        int a = x0 + size / 2 - half, b = x0 + (size + 1) / 2 + half;
        a = a < 0 ? 0 : a;
        b = b > c->width ? c->width : b;
        for (int x = a; x < b; x++) {
            put(c, (int64_t)(y0 + row) * c->width + x, key);
        }
    }
}

void splat(const canvas *c, float x, float y, int size, uint64_t key) {
    const float half = 0.5f * (float)size;
    if (!(x > -half && y > -half && x < (float)c->width + half && y < (float)c->height + half)) {
        return;
    }
    /* floor, for the few negative ones */
    const int x0 = (int)(x - half + 256.5f) - 256, y0 = (int)(y - half + 256.5f) - 256;
    if (size > 3) {
        splat_disc(c, x0, y0, size, key);
        return;
    }
    if (x0 >= 0 && y0 >= 0 && x0 + 3 <= c->width && y0 + 3 <= c->height) { /* most points of a large cloud */
        int64_t at = (int64_t)y0 * c->width + x0;
        for (int row = 0; row < size; row++, at += c->width) {
            put(c, at, key);
            if (size > 1) {
                put(c, at + 1, key);
            }
            if (size > 2) {
                put(c, at + 2, key);
            }
        }
        return;
    }
    const int left = x0 < 0 ? 0 : x0, right = x0 + size > c->width ? c->width : x0 + size;
    const int top = y0 < 0 ? 0 : y0, bottom = y0 + size > c->height ? c->height : y0 + size;
    for (int row = top; row < bottom; row++) {
        for (int column = left; column < right; column++) {
            put(c, (int64_t)row * c->width + column, key);
        }
    }
}

/* A pixel of a depth image. */
static void draw_pixel(const drawing *d, const spot *s, uint64_t key) {
    const canvas *c = d->canvas;
    const float half[2] = {0.5f * d->camera.c->scale[0], 0.5f * d->camera.c->scale[1]};
    const float x0 = s->x - half[0] + 0.5f, x1 = s->x + half[0] + 0.5f, y0 = s->y - half[1] + 0.5f,
                y1 = s->y + half[1] + 0.5f;
    for (int y = y0 > 0.0f ? (int)y0 : 0; y < (int)y1 && y < c->height; y++) {
        for (int x = x0 > 0.0f ? (int)x0 : 0; x < (int)x1 && x < c->width; x++) {
            put(c, (int64_t)y * c->width + x, key);
        }
    }
}

/* The samples of a cloud are far apart in memory, so some points are projected before the first of them is drawn, and
 * its samples are fetched meanwhile. */
enum { AHEAD = 16 };

typedef struct pending {
    spot s;
    int size;
    uint64_t key;
} pending;

/* False: the point is not in the picture. */
static bool prepare(const drawing *d, int64_t i, pending *out) {
    const float *p = pc_layer_row(d->layer, i);
    const canvas *c = d->canvas;
    if (!pc_layer_shows(d->layer, p) || !project(&d->camera, p, &out->s)) {
        return false;
    }
    const float size = d->point_size * out->s.grow + 0.5f;
    const int n = size < 1.0f ? 1 : size > (float)SPLAT_MOST ? SPLAT_MOST : (int)size;
    const float x = out->s.x, y = out->s.y;
    if (!(x > (float)-n && y > (float)-n && x < (float)(c->width + n) && y < (float)(c->height + n))) {
        return false;
    }
    out->size = n;
    out->key = key_of(out->s.depth, d->index, pc_color_of(&d->painter, p, i));
    if (x > 0.0f && y > 0.0f && x < (float)c->width && y < (float)c->height) {
        const uint64_t *at = &c->keys[(int64_t)y * c->width + (int64_t)x];
        __builtin_prefetch(at, 1);
        __builtin_prefetch(at + ((int)y + 1 < c->height ? c->width : 0), 1);
        __builtin_prefetch(at - ((int)y > 0 ? c->width : 0), 1);
    }
    return true;
}

static void draw_range(void *state, int64_t begin, int64_t end) {
    const drawing *d = state;
    const bool image = d->layer->kind == PC_IMAGE;
    for (int64_t i = begin; i < end;) {
        pending batch[AHEAD];
        int n = 0;
        for (; i < end && n < AHEAD; i++) {
            n += prepare(d, i, &batch[n]);
        }
        for (int k = 0; k < n; k++) {
            if (image) {
                draw_pixel(d, &batch[k].s, batch[k].key);
            } else {
                splat(d->canvas, batch[k].s.x, batch[k].s.y, batch[k].size, batch[k].key);
            }
        }
    }
}

void draw_points(const drawing *d) {
    pc_run_ranges(d->context, d->layer->cloud.rows, 1 << 15, draw_range, (void *)(uintptr_t)d);
}
