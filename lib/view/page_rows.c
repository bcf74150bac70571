/* The rows of a layer that a page has: all, or a random sample with a fixed seed, in the order of the file. */
#include "error.h"
#include "page_parts.h"

#include <stdlib.h>

enum { SAMPLE = 1 << 16, FAR_FACTOR = 20 };

typedef struct box {
    double low[3], high[3];
} box;

/* Twenty times the extent without the outermost percentiles: a damaged record must not take the digits of all
 * others. */
static pcgpu_status find_limits(pcgpu_context *context, const pc_layer *l, box *limits) {
    const int64_t step = l->cloud.rows / SAMPLE + 1;
    float *values = malloc((SAMPLE + 1) * sizeof *values);
    double widest = 0;
    if (!values) {
        return pc_fail_memory(context, SAMPLE * sizeof *values, "the page");
    }
    for (int k = 0; k < 3; k++) {
        int64_t n = 0;
        for (int64_t i = 0; i < l->cloud.rows; i += step) {
            const float *p = pc_layer_row(l, i);
            if (pc_layer_shows(l, p)) {
                values[n++] = p[k];
            }
        }
        limits->low[k] = (double)pc_quantile(values, n, 0.01);
        limits->high[k] = (double)pc_quantile(values, n, 0.99);
        widest = limits->high[k] - limits->low[k] > widest ? limits->high[k] - limits->low[k] : widest;
    }
    free(values);
    widest = widest > 0 && l->kind != PC_LINE ? FAR_FACTOR * widest : INFINITY;
    for (int k = 0; k < 3; k++) {
        limits->low[k] -= widest;
        limits->high[k] += widest;
    }
    return PCGPU_OK;
}

static bool is_inside(const box *b, const float *p) {
    bool inside = true;
    for (int k = 0; k < 3; k++) {
        inside = inside && (double)p[k] >= b->low[k] && (double)p[k] <= b->high[k];
    }
    return inside;
}

/* A bit per row, set for a random sample; *bits stays NULL where all rows fit. */
static pcgpu_status choose_sample(pcgpu_context *context, const pc_layer *l, int64_t most, unsigned char **bits) {
    pcgpu_sample_params params;
    pcgpu_sampled sampled;
    *bits = NULL;
    if (l->usable <= most) {
        return PCGPU_OK;
    }
    pcgpu_sample_params_init(&params);
    params.method = PCGPU_SAMPLE_RANDOM;
    params.count = most;
    params.seed = 1;
    params.drop_origin = l->drop_origin;
    PC_TRY(pcgpu_sample(context, &l->cloud, &params, &sampled));
    *bits = calloc((size_t)(l->cloud.rows / 8 + 1), 1);
    for (int64_t i = 0; i < sampled.count && *bits; i++) {
        (*bits)[sampled.indices[i] / 8] |= (unsigned char)(1u << sampled.indices[i] % 8);
    }
    pcgpu_sampled_free(&sampled);
    return *bits ? PCGPU_OK : pc_fail_memory(context, (uint64_t)l->cloud.rows / 8 + 1, "the page");
}

static pcgpu_status take_rows(pcgpu_context *context, const unsigned char *bits, const box *limits, page_layer *p) {
    const pc_layer *l = p->layer;
    const int64_t most = l->usable < PAGE_POINTS ? l->usable : PAGE_POINTS;
    p->rows = malloc((size_t)most * sizeof *p->rows + 1);
    if (!p->rows) {
        return pc_fail_memory(context, (uint64_t)most * sizeof *p->rows, "the page");
    }
    for (int64_t i = 0; i < l->cloud.rows; i += p->every) {
        const float *row = pc_layer_row(l, i);
        if (!pc_layer_shows(l, row)) {
            continue;
        }
        const bool inside = is_inside(limits, row);
        p->outside += !inside;
        if (inside && p->count < most && (!bits || bits[i / 8] >> i % 8 & 1)) {
            p->rows[p->count++] = (int32_t)i;
        }
    }
    if (p->count == l->cloud.rows) { /* all */
        free(p->rows);
        p->rows = NULL;
    }
    return PCGPU_OK;
}

/* 65535 steps from the lowest to the highest coordinate. */
static void measure(page_layer *p) {
    for (int k = 0; k < 3; k++) {
        double low = 0, high = 0;
        bool any = false;
        for (int64_t i = 0; i < p->count; i++) {
            const float *row = page_row(p, i);
            const double v = (double)row[k];
            if (pc_layer_shows(p->layer, row)) { /* not all vertices of a mesh are */
                low = !any || v < low ? v : low;
                high = !any || v > high ? v : high;
                any = true;
            }
        }
        p->low[k] = low;
        p->step[k] = (high - low) / 65535.0;
    }
}

pcgpu_status page_choose_rows(pcgpu_context *context, int64_t most, page_layer *p) {
    const pc_layer *l = p->layer;
    unsigned char *bits = NULL;
    box limits;
    pcgpu_status status = PCGPU_OK;
    p->every = 1;
    if (l->kind == PC_TRIANGLES) { /* triangles refer to all rows */
        p->count = l->cloud.rows;
    } else if (l->cloud.rows > INT32_MAX) {
        status = pc_fail(context, PCGPU_ERROR_ARGUMENT, "%s: a page takes at most 2^31-1 records; sample it before",
                         l->name);
    } else {
        const bool line = l->kind == PC_LINE;
        p->every = line ? (l->cloud.rows + PAGE_POSES - 1) / PAGE_POSES : 1;
        p->every = p->every > 1 ? p->every : 1;
        status = find_limits(context, l, &limits);
        status = status == PCGPU_OK && !line ? choose_sample(context, l, most, &bits) : status;
        status = status == PCGPU_OK ? take_rows(context, bits, &limits, p) : status;
        p->sampled = bits || p->every > 1;
    }
    free(bits);
    measure(p);
    return status;
}
