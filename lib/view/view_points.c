/* Points as discs. Threads share the points; the key of a sample makes their order irrelevant. */
#include "context.h"
#include "view_draw.h"

/* Half the chord of a disc of `size` samples in row `row` of it, from its middle. */
static int chord(int size, int row) {
    const float r = 0.5f * (float)size, y = (float)row + 0.5f - r;
    return (int)(sqrtf(r * r - y * y) + 0.5f);
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
    const int left = x0 < 0 ? 0 : x0, right = x0 + size > c->width ? c->width : x0 + size;
    const int top = y0 < 0 ? 0 : y0, bottom = y0 + size > c->height ? c->height : y0 + size;
    for (int row = top; row < bottom; row++) {
        for (int column = left; column < right; column++) {
            put(c, (int64_t)row * c->width + column, key);
        }
    }
}

static void draw_range(void *state, int64_t begin, int64_t end) {
    const drawing *d = state;
    for (int64_t i = begin; i < end; i++) {
        const float *p = pc_layer_row(d->layer, i);
        spot s;
        if (!pc_layer_shows(d->layer, p) || !project(&d->camera, p, &s)) {
            continue;
        }
        const float size = d->point_size * s.grow + 0.5f;
        const int n = size < 1.0f ? 1 : size > (float)SPLAT_MOST ? SPLAT_MOST : (int)size;
        if (s.x > (float)-n && s.y > (float)-n && s.x < (float)(d->canvas->width + n) && s.y < (float)(d->canvas->height + n)) {
            splat(d->canvas, s.x, s.y, n, key_of(s.depth, d->index, pc_color_of(&d->painter, p, i)));
        }
    }
}

void draw_points(const drawing *d) {
    pc_run_ranges(d->context, d->layer->cloud.rows, 1 << 15, draw_range, (void *)(uintptr_t)d);
}
