/* Meshes that are too large for a page: vertices in one voxel of a grid become one, at their mean, and triangles with
 * two such corners go (Rossignac and Borrel 1993). */
#include "cloud.h"
#include "error.h"
#include "page_parts.h"

#include <stdlib.h>
#include <string.h>

int64_t page_mesh_bytes(const pc_layer *l) {
    return 6 * l->cloud.rows + (l->cloud.rows > 65536 ? 12 : 6) * l->triangles;
}

bool page_has_triangle(const pc_layer *l, int64_t triangle) {
    const int32_t *c = l->indices + 3 * triangle;
    return pc_layer_shows(l, pc_layer_row(l, c[0])) && pc_layer_shows(l, pc_layer_row(l, c[1])) &&
           pc_layer_shows(l, pc_layer_row(l, c[2]));
}

/* The triangles whose corners are in three voxels, by the ids of these. */
static int64_t take_triangles(const pc_layer *l, const int32_t *voxel_of, int32_t *out) {
    int64_t n = 0;
    for (int64_t i = 0; i < l->triangles; i++) {
        const int32_t *c = l->indices + 3 * i;
        const int32_t v[3] = {voxel_of[c[0]], voxel_of[c[1]], voxel_of[c[2]]};
        if (v[0] >= 0 && v[1] >= 0 && v[2] >= 0 && v[0] != v[1] && v[1] != v[2] && v[0] != v[2]) {
            memcpy(out + 3 * n++, v, sizeof v);
        }
    }
    return n;
}

typedef struct grid {
    double range[6]; /* the bounds of the vertices that are shown */
    double size;
} grid;

/* A mesh on a grid. */
static pcgpu_status simplify(pcgpu_context *context, const pc_layer *l, const grid *g, pc_layer *out) {
    pcgpu_voxelize_params params;
    pcgpu_voxels v;
    pcgpu_voxelize_params_init(&params);
    params.range_auto = false;
    for (int k = 0; k < 3; k++) {
        params.size[k] = g->size;
        params.range[k] = g->range[k];
        params.range[3 + k] = g->range[k] + g->size * (floor((g->range[3 + k] - g->range[k]) / g->size) + 2);
    }
    params.max_points = params.max_voxels = 0;
    params.features = PCGPU_FEATURES_MEAN;
    pcgpu_status status = pcgpu_voxelize(context, &l->cloud, &params, &v);
    if (status != PCGPU_OK) {
        return status;
    }
    *out = *l;
    out->indices = malloc((size_t)l->triangles * 3 * sizeof *out->indices + 1);
    status = pc_cloud_create_like(context, &l->cloud, v.count, &out->cloud);
    if (status == PCGPU_OK && !out->indices) {
        status = pc_fail_memory(context, (uint64_t)l->triangles * 12, "the page");
    }
    if (status == PCGPU_OK) {
        memcpy(out->cloud.data, v.features, (size_t)v.count * (size_t)v.columns * sizeof(float));
        out->triangles = take_triangles(l, v.point_voxel, out->indices);
        out->usable = v.count;
    } else {
        pc_layer_free(out);
    }
    pcgpu_voxels_free(&v);
    return status;
}

/* To begin with, the edge of a square per triangle that fits, were the mesh the surface of its bounds. */
static grid first_grid(const pc_layer *l, int64_t most_bytes) {
    grid g = {{0}, 0};
    double edge[3];
    for (int k = 0; k < 3; k++) {
        float low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < l->cloud.rows; i++) {
            const float *p = pc_layer_row(l, i);
            if (pc_layer_shows(l, p)) {
                low = p[k] < low ? p[k] : low;
                high = p[k] > high ? p[k] : high;
            }
        }
        g.range[k] = (double)low + l->cloud.offset[k];
        edge[k] = high > low ? (double)high - (double)low : 0;
        g.range[3 + k] = g.range[k] + edge[k];
    }
    const double area = edge[0] * edge[1] + edge[1] * edge[2] + edge[2] * edge[0],
                 longest = fmax(edge[0], fmax(edge[1], edge[2]));
    g.size = fmax(sqrt(area / ((double)most_bytes / 30.0)), fmax(longest / 1e6, 1e-9));
    return g;
}

pcgpu_status page_simplify(pcgpu_context *context, int64_t most_bytes, page_layer *p) {
    const pc_layer *l = p->layer;
    grid g = first_grid(l, most_bytes);
    pcgpu_status status = PCGPU_OK;
    do {
        pc_layer_free(&p->own);
        status = simplify(context, l, &g, &p->own);
        g.size *= 1.25;
    } while (status == PCGPU_OK && page_mesh_bytes(&p->own) > most_bytes);
    if (status == PCGPU_OK) {
        p->layer = &p->own;
        p->sampled = true;
    }
    return status;
}
