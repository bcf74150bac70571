/* Range images: a scanner has tens of rows, and a picture hundreds. What lies between two rows is interpolated where
 * they have about the same distance, else belongs to the nearer row; a gap that is wider than most stays open. */
#include "context.h"
#include "view_draw.h"

#include <stdlib.h>

enum { COLUMNS = 64 };

typedef struct rows_state {
    const canvas *c;
    int64_t *histogram; /* of gaps, by their rows; atomic: sums of integers have no order */
    int widest;         /* gap that is closed */
    float step;         /* the largest difference of depths that is interpolated */
} rows_state;

static float depth_of_key(uint64_t key) {
    const uint32_t bits = ~(uint32_t)(key >> 32);
    float depth;
    memcpy(&depth, &bits, sizeof depth);
    return depth;
}

static uint64_t between(uint64_t first, uint64_t last, int part, int whole) {
    const float a = depth_of_key(first), b = depth_of_key(last);
    const uint32_t color = pc_mix_colors((uint32_t)first, (uint32_t)last, part, whole);
    return key_of(a + (b - a) * ((float)part / (float)whole), 255 - (int)(first >> 24 & 255), color);
}

/* The samples between `from` and the one that is `gap` steps farther. */
static void close_gap(const rows_state *s, int64_t from, int gap, int64_t step) {
    uint64_t *keys = s->c->keys + from;
    const uint64_t first = keys[0], last = keys[gap * step];
    const bool smooth = fabsf(depth_of_key(first) - depth_of_key(last)) < s->step;
    for (int i = 1; i < gap; i++) {
        keys[i * step] = smooth ? between(first, last, i, gap) : i <= gap - i ? first : last;
    }
}

/* Points of a row. */
static void close_columns(void *state, int64_t begin, int64_t end) {
    const rows_state *s = state;
    const canvas *c = s->c;
    for (int64_t y = begin; y < end; y++) {
        int last = -1;
        for (int x = 0; x < c->width; x++) {
            if (c->keys[y * c->width + x] != 0) {
                if (last >= 0 && x - last > 1 && x - last <= s->widest) {
                    close_gap(s, y * c->width + last, x - last, 1);
                }
                last = x;
            }
        }
    }
}

/* Counts the gaps of columns, or closes them. */
static void walk(void *state, int64_t begin, int64_t end) {
    const rows_state *s = state;
    const canvas *c = s->c;
    int last[COLUMNS];
    for (int64_t k = 0; k < end - begin; k++) {
        last[k] = -1;
    }
    for (int y = 0; y < c->height; y++) {
        for (int64_t x = begin; x < end; x++) {
            const int gap = y - last[x - begin];
            if (c->keys[(int64_t)y * c->width + x] == 0) {
                continue;
            }
            if (gap > 1 && last[x - begin] >= 0 && s->widest == 0) {
                __atomic_fetch_add(&s->histogram[gap], 1, __ATOMIC_RELAXED);
            } else if (gap > 1 && gap <= s->widest && last[x - begin] >= 0) {
                close_gap(s, (int64_t)last[x - begin] * c->width + x, gap, c->width);
            }
            last[x - begin] = y;
        }
    }
}

#define COARSEST 0.009f /* radians: a scanner with fewer points per turn is one that leaves gaps */

pcgpu_status fill_gaps(pcgpu_context *context, const canvas *c, const camera *view) {
    int64_t *histogram = calloc((size_t)c->height + 1, sizeof *histogram), gaps = 0, seen = 0;
    if (!histogram) {
        return pc_fail_memory(context, ((uint64_t)c->height + 1) * sizeof *histogram, "the picture");
    }
    rows_state s = {.c = c, .histogram = histogram, .step = 0.15f * view->depth_scale}; /* 15 % of the distance */
    const float widest = COARSEST * view->scale[0];
    s.widest = widest < 32.0f ? (int)widest : 32;
    pc_run_ranges(context, c->height, 16, close_columns, &s);
    s.widest = 0;
    pc_run_ranges(context, c->width, COLUMNS, walk, &s);
    for (int i = 0; i <= c->height; i++) {
        gaps += histogram[i];
    }
    while (s.widest < c->height / 16 && 10 * seen < 9 * gaps) {
        seen += histogram[++s.widest];
    }
    if (s.widest > 0) {
        s.widest = s.widest * 3 / 2;
        pc_run_ranges(context, c->width, COLUMNS, walk, &s);
    }
    free(histogram);
    return PCGPU_OK;
}
