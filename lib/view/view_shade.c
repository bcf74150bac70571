/* From samples to pixels: eye-dome lighting, which darkens what lies behind its neighbours, so that shapes are seen without
 * normals (Boucheny 2009), and the mean of the samples of a pixel. */
#include "context.h"
#include "view_draw.h"

#include <stdlib.h>

enum { PAD = 3, NEIGHBOURS = 16 };

#define BACKGROUND 0x15191eu

typedef struct shading {
    const canvas *c;
    pc_picture *out;
    bool lit;
    int pitch;
    float *depth; /* (height + 2 PAD) x pitch: the nearest sample of a pixel, INFINITY without one */
    uint32_t *colors; /* the mean of the samples with a colour, and their number in the upper byte */
} shading;

static void gather_rows(void *state, int64_t begin, int64_t end) {
    const shading *s = state;
    const int width = s->out->width;
    for (int64_t y = begin; y < end; y++) {
        const uint64_t *rows[SAMPLES] = {s->c->keys + SAMPLES * y * s->c->width, s->c->keys + (SAMPLES * y + 1) * s->c->width};
        float *depth = s->depth + (y + PAD) * s->pitch + PAD;
        for (int x = 0; x < width; x++) {
            const uint64_t k[4] = {rows[0][2 * x], rows[0][2 * x + 1], rows[1][2 * x], rows[1][2 * x + 1]};
            uint64_t nearest = k[0] > k[1] ? k[0] : k[1];
            nearest = k[2] > nearest ? k[2] : nearest;
            nearest = k[3] > nearest ? k[3] : nearest;
            uint32_t rb = 0, g = 0, n = 0;
            for (int i = 0; i < 4; i++) {
                rb += (uint32_t)k[i] & 0xff00ffu;
                g += (uint32_t)k[i] >> 8 & 255u;
                n += k[i] != 0;
            }
            const uint32_t bits = nearest ? ~(uint32_t)(nearest >> 32) : 0x7f800000u; /* infinity */
            memcpy(&depth[x], &bits, sizeof bits);
            s->colors[y * width + x] =
                n == 0 ? 0 : n << 24 | ((rb >> 16) / n) << 16 | (g / n) << 8 | (rb & 0xffffu) / n;
        }
    }
}

/* How far a pixel lies behind its neighbours: the mean of the slopes to nearer ones, each limited. */
static void shade_row(const shading *s, int64_t y, float *light) {
    static const signed char at[NEIGHBOURS][2] = {{1, 0},  {-1, 0}, {0, 1},  {0, -1}, {1, 1},  {-1, 1},  {1, -1},  {-1, -1},
                                                  {3, 0},  {-3, 0}, {0, 3},  {0, -3}, {2, 2},  {-2, 2},  {2, -2},  {-2, -2}};
    const int width = s->out->width;
    const float *row = s->depth + (y + PAD) * s->pitch + PAD;
    for (int x = 0; x < width; x++) {
        light[x] = 0.0f;
    }
    for (int i = 0; i < NEIGHBOURS; i++) {
        const float *other = row + at[i][1] * s->pitch + at[i][0];
        const float per = i < 4 ? 1.0f : i < 8 ? 0.7071f : i < 12 ? 0.3333f : 0.3536f;
        for (int x = 0; x < width; x++) {
            float slope = (row[x] - other[x]) * per;
            slope = slope > 0.0f ? slope : 0.0f;
            light[x] += slope < 12.0f ? slope : 12.0f;
        }
    }
    for (int x = 0; x < width; x++) {
        light[x] = 0.25f + 0.75f / (1.0f + light[x] * (0.9f / NEIGHBOURS));
    }
}

static void shade_rows(void *state, int64_t begin, int64_t end) {
    const shading *s = state;
    const int width = s->out->width;
    float light[PC_PICTURE_SIDE];
    for (int64_t y = begin; y < end; y++) {
        uint8_t *rgb = s->out->rgb + 3 * y * width;
        if (s->lit) {
            shade_row(s, y, light);
        }
        for (int x = 0; x < width; x++) {
            const uint32_t color = s->colors[y * width + x];
            const int n = (int)(color >> 24), most = SAMPLES * SAMPLES;
            const int gain = s->lit && n > 0 ? (int)(256.0f * light[x] + 0.5f) : 256;
            for (int k = 0; k < 3; k++) {
                const int shift = 16 - 8 * k, c = (int)(color >> shift & 255) * gain >> 8, b = (int)(BACKGROUND >> shift & 255);
                rgb[3 * x + k] = (uint8_t)((c * n + b * (most - n) + most / 2) / most);
            }
        }
    }
}

pcgpu_status shade(pcgpu_context *context, const canvas *c, bool lit, pc_picture *out) {
    shading s = {.c = c, .out = out, .lit = lit, .pitch = out->width + 2 * PAD};
    const size_t depths = (size_t)(out->height + 2 * PAD) * (size_t)s.pitch, pixels = (size_t)out->width * (size_t)out->height;
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
