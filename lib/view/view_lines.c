/* Trajectories: a line through the poses, on top of all other layers, with marks at its ends. */
#include "view_draw.h"

/* In front of everything, in the order of their depths. */
static float on_top(float depth) {
    return depth * 1e-7f;
}

/* Cuts the segment a-b to the samples and a margin, which bounds its length (Liang and Barsky 1984). */
static bool clip(const canvas *c, spot *a, spot *b) {
    const double low = -SPLAT_MOST, high[2] = {c->width + SPLAT_MOST, c->height + SPLAT_MOST};
    const double from[2] = {(double)a->x, (double)a->y}, step[2] = {(double)b->x - from[0], (double)b->y - from[1]};
    double t0 = 0, t1 = 1;
    for (int k = 0; k < 4; k++) {
        const double p = k % 2 ? step[k / 2] : -step[k / 2], q = k % 2 ? high[k / 2] - from[k / 2] : from[k / 2] - low;
        if (!(p - p == 0 && q - q == 0) || (p == 0 && q < 0)) {
            return false;
        }
        const double t = p == 0 ? 0 : q / p;
        t0 = p < 0 && t > t0 ? t : t0;
        t1 = p > 0 && t < t1 ? t : t1;
    }
    const spot s = *a;
    *a = (spot){(float)(from[0] + t0 * step[0]), (float)(from[1] + t0 * step[1]), s.depth, s.grow};
    *b = (spot){(float)(from[0] + t1 * step[0]), (float)(from[1] + t1 * step[1]), b->depth, b->grow};
    return t0 <= t1;
}

/* A line of one colour is pale at its start, so that its direction is seen. */
static uint32_t color_of(const drawing *d, const float *p, int64_t i) {
    const uint32_t color = pc_color_of(&d->painter, p, i);
    const int64_t last = d->layer->cloud.rows - 1, pale = last > 0 ? 160 * (last - i) / last : 0;
    uint32_t out = 0;
    for (int shift = 0; shift < 24; shift += 8) {
        const int64_t c = color >> shift & 255;
        out |= (uint32_t)(c + (255 - c) * pale / 256) << shift;
    }
    return d->layer->paint == PC_PAINT_FLAT ? out : color;
}

static void draw_segment(const drawing *d, spot a, spot b, int size, uint32_t color) {
    const float depth = on_top(0.5f * (a.depth + b.depth));
    if (!clip(d->canvas, &a, &b)) {
        return;
    }
    const float dx = b.x - a.x, dy = b.y - a.y, longest = fabsf(dx) > fabsf(dy) ? fabsf(dx) : fabsf(dy);
    const int steps = (int)longest + 1;
    for (int i = 0; i <= steps; i++) {
        const float t = (float)i / (float)steps;
        splat(d->canvas, a.x + t * dx, a.y + t * dy, size, key_of(depth, d->index, color));
    }
}

static void draw_mark(const drawing *d, const spot *s, int size, uint32_t color) {
    splat(d->canvas, s->x, s->y, size, key_of(on_top(0.2f * s->depth), d->index, 0xffffff));
    splat(d->canvas, s->x, s->y, size * 2 / 3, key_of(on_top(0.1f * s->depth), d->index, color));
}

void draw_line(const drawing *d) {
    const pc_layer *l = d->layer;
    const int width = d->canvas->width < 600 ? 4 : 6;
    spot before = {0}, first = {0}, last = {0};
    bool drawn = false, has_before = false;
    for (int64_t i = 0; i < l->cloud.rows; i++) {
        const float *p = pc_layer_row(l, i);
        spot s;
        if (!pc_layer_shows(l, p) || !project(&d->camera, p, &s)) {
            has_before = false; /* a pose is missing: the line has a gap */
            continue;
        }
        if (has_before) {
            draw_segment(d, before, s, width, color_of(d, p, i));
        }
        first = drawn ? first : s;
        last = before = s;
        drawn = has_before = true;
    }
    if (drawn) {
        draw_mark(d, &first, width * 3, FIRST_MARK);
        draw_mark(d, &last, width * 3, LAST_MARK);
    }
}
