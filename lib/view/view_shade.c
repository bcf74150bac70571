/* From samples to pixels: eye-dome lighting, which darkens what lies behind its neighbours, so that shapes are seen
 * without normals (Boucheny 2009), and the mean of the samples of a pixel. */
#include "context.h"
#include "view_draw.h"

#include <stdlib.h>

enum { NEIGHBOURS = 16, FARTHEST = 3, BLOCK = 32 /* pixels of a row that are done together */ };

typedef struct shading {
    const canvas *c;
    pc_picture *out;
    int radius, pad, pitch;
    float flat, strength; /* slopes below `flat` are not darker */
    float *depth;         /* (height + 2 pad) x pitch: the nearest sample of a pixel, INFINITY without one */
    uint32_t *colors;     /* the mean of the samples with a colour, and their number in the upper byte */
} shading;

static void gather_rows(void *state, int64_t begin, int64_t end) {
    const shading *s = state;
    const int width = s->out->width;
    for (int64_t y = begin; y < end; y++) {
        const uint64_t *rows[SAMPLES] = {s->c->keys + SAMPLES * y * s->c->width,
                                         s->c->keys + (SAMPLES * y + 1) * s->c->width};
        float *depth = s->depth + (y + s->pad) * s->pitch + s->pad;
        for (int x = 0; x < width; x++) {
            const uint64_t k[4] = {rows[0][2 * x], rows[0][2 * x + 1], rows[1][2 * x], rows[1][2 * x + 1]};
            if ((k[0] | k[1] | k[2] | k[3]) == 0) {
                s->colors[y * width + x] = 0;
                continue;
            }
            uint64_t nearest = k[0] > k[1] ? k[0] : k[1];
            nearest = k[2] > nearest ? k[2] : nearest;
            nearest = k[3] > nearest ? k[3] : nearest;
            uint32_t rb = 0, g = 0, n = 0;
            for (int i = 0; i < 4; i++) {
                rb += (uint32_t)k[i] & 0xff00ffu;
                g += (uint32_t)k[i] >> 8 & 255u;
                n += k[i] != 0;
            }
            const uint32_t bits = ~(uint32_t)(nearest >> 32);
            memcpy(&depth[x], &bits, sizeof bits);
            s->colors[y * width + x] = n << 24 | ((rb >> 16) / n) << 16 | (g / n) << 8 | (rb & 0xffffu) / n;
        }
    }
}

/* How far pixels lie behind their neighbours: the mean of the slopes to nearer ones, each limited. */
static void light_block(const shading *s, const float *row, float light[BLOCK]) {
    static const signed char at[NEIGHBOURS][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1},
                                                  {3, 0}, {-3, 0}, {0, 3}, {0, -3}, {2, 2}, {-2, 2}, {2, -2}, {-2, -2}};
    static const float per[NEIGHBOURS / 4] = {1.0f, 0.70710678f, 0.33333333f, 0.35355339f};
    float sum[BLOCK] = {0};
    for (int i = 0; i < NEIGHBOURS; i++) {
        const float *other = row + s->radius * (at[i][1] * s->pitch + at[i][0]);
        const float part = per[i / 4] / (float)s->radius;
        float slope[BLOCK]; /* one loop per step: so they become vectors, without a branch */
        for (int x = 0; x < BLOCK; x++) {
            slope[x] = (row[x] - other[x]) * part - s->flat;
        }
        for (int x = 0; x < BLOCK; x++) {
            slope[x] = slope[x] > 0.0f ? slope[x] : 0.0f;
        }
        for (int x = 0; x < BLOCK; x++) {
            sum[x] += slope[x] < 12.0f ? slope[x] : 12.0f;
        }
    }
    for (int x = 0; x < BLOCK; x++) {
        light[x] = 64.0f + 192.0f / (1.0f + sum[x] * (s->strength / NEIGHBOURS));
    }
}

/* Three colours in one integer, 20 bits each, so that one product scales them. */
static uint64_t spread(uint32_t color) {
    return (uint64_t)(color & 0xff0000u) << 24 | (uint64_t)(color & 0xff00u) << 12 | (color & 0xffu);
}

static void blend_block(const uint32_t *colors, const float *light, int count, uint8_t *rgb) {
    const unsigned most = SAMPLES * SAMPLES;
    const uint64_t background = spread(BACKGROUND), half = spread(0x010101u) * (most * 128);
    for (int x = 0; x < count; x++) {
        const unsigned n = colors[x] >> 24;
        const uint64_t sum =
            spread(colors[x] & 0xffffffu) * ((unsigned)light[x] * n) + background * ((most - n) * 256) + half;
        rgb[3 * x] = (uint8_t)(sum >> 50);
        rgb[3 * x + 1] = (uint8_t)(sum >> 30);
        rgb[3 * x + 2] = (uint8_t)(sum >> 10);
    }
}

static bool is_empty(const uint32_t *colors, int count) {
    uint32_t any = 0;
    for (int x = 0; x < count; x++) {
        any |= colors[x];
    }
    return any == 0;
}

static void shade_rows(void *state, int64_t begin, int64_t end) {
    const shading *s = state;
    const int width = s->out->width;
    uint8_t nothing[3 * BLOCK];
    for (int i = 0; i < 3 * BLOCK; i++) {
        nothing[i] = (uint8_t)(BACKGROUND >> (16 - 8 * (i % 3)) & 255);
    }
    for (int64_t y = begin; y < end; y++) {
        for (int x = 0; x < width; x += BLOCK) {
            const int count = width - x < BLOCK ? width - x : BLOCK;
            const uint32_t *colors = s->colors + y * width + x;
            uint8_t *rgb = s->out->rgb + 3 * (y * width + x);
            if (is_empty(colors, count)) {
                memcpy(rgb, nothing, 3 * (size_t)count);
                continue;
            }
            float light[BLOCK];
            light_block(s, s->depth + (y + s->pad) * s->pitch + s->pad + x, light);
            blend_block(colors, light, count, rgb);
        }
    }
}

pcgpu_status shade(pcgpu_context *context, const canvas *c, int radius, bool quantized, pc_picture *out) {
    shading s = {.c = c,
                 .out = out,
                 .radius = radius,
                 .pad = FARTHEST * radius,
                 .pitch = out->width + BLOCK + 2 * FARTHEST * radius};
    s.flat = quantized ? 1.5f : 0.25f;
    s.strength = quantized ? 0.5f : 0.7f;
    const size_t depths = (size_t)(out->height + 2 * s.pad) * (size_t)s.pitch,
                 pixels = (size_t)out->width * (size_t)out->height;
    s.depth = malloc(depths * sizeof *s.depth);
    s.colors = malloc(pixels * sizeof *s.colors);
    pcgpu_status status = PCGPU_OK;
    if (s.depth && s.colors) {
        for (size_t i = 0; i < depths; i++) {
            s.depth[i] = INFINITY;
        }
        pc_run_ranges(context, out->height, 32, gather_rows, &s);
        pc_run_ranges(context, out->height, 32, shade_rows, &s);
    } else {
        status = pc_fail_memory(context, depths * 8, "the picture");
    }
    free(s.depth);
    free(s.colors);
    return status;
}
