/* The columns of a page: what a layer can be painted by, and how many bits each column gets. */
#include "error.h"
#include "page_parts.h"

#include <string.h>

/* Paints a copy of the layer, if that can be. Errors: MEMORY. */
static pcgpu_status try_paint(pcgpu_context *context, const pc_scene *scene, const char *what, const pc_layer *layer,
                              pc_layer *painted, bool *can) {
    pc_scene one = *scene;
    *painted = *layer;
    painted->kind = PC_POINTS; /* a trajectory alone is no exception here */
    one.layers = painted;
    one.count = 1;
    const pcgpu_status status = pc_scene_paint(context, &one, what, PC_VIRIDIS);
    painted->kind = layer->kind;
    *can = status == PCGPU_OK;
    if (status != PCGPU_ERROR_FORMAT) {
        return status;
    }
    pc_clear_error(context); /* it lacks the columns */
    return PCGPU_OK;
}

static pcgpu_status find_column(pcgpu_context *context, const pc_scene *scene, const char *what, const pc_layer *layer,
                                int *column) {
    pc_layer painted;
    bool can;
    const pcgpu_status status = try_paint(context, scene, what, layer, &painted, &can);
    *column = can ? painted.column : -1;
    return status;
}

static void measure(const page_layer *p, page_column *c) {
    bool any = false;
    c->low = c->high = 0;
    c->whole = true;
    for (int64_t i = 0; i < p->count; i++) {
        const double v = (double)page_row(p, i)[c->column];
        if (v - v == 0) {
            c->low = !any || v < c->low ? v : c->low;
            c->high = !any || v > c->high ? v : c->high;
            c->whole = c->whole && v == floor(v);
            any = true;
        }
    }
}

static bool is_exact(const page_column *c, int bytes) {
    return c->whole && c->high - c->low <= (bytes == 1 ? 254 : 65534);
}

static pcgpu_status find_columns(pcgpu_context *context, const pc_scene *scene, page_layer *p) {
    const pc_layer *l = p->layer;
    PC_TRY(try_paint(context, scene, "rgb", l, &p->paint, &p->rgb));
    PC_TRY(find_column(context, scene, "class", l, &p->classes));
    PC_TRY(find_column(context, scene, "normals", l, &p->normals));
    PC_TRY(find_column(context, scene, "intensity", l, &p->intensity));
    for (int k = 3; k < l->cloud.columns; k++) {
        if (k < p->paint.column || k >= p->paint.column + 3 || !p->rgb) {
            page_column *c = &p->columns[p->column_count++];
            c->column = k;
            measure(p, c);
        }
    }
    return PCGPU_OK;
}

/* Gives a column its bytes, as far as they are left. */
static void give(page_layer *p, page_column *c, int bytes, int64_t *left) {
    const int64_t more = (bytes - c->bytes) * p->count;
    if (bytes > c->bytes && (c->bytes == 0 || !is_exact(c, c->bytes)) && more <= *left) {
        c->bytes = bytes;
        *left -= more;
    }
}

static void set_step(page_column *c) {
    const double codes = c->bytes == 1 ? 254 : 65534;
    c->step = is_exact(c, c->bytes) ? 1 : (c->high - c->low) / codes;
}

/* Bytes of positions, indices and colours, and at most two per row for its number. */
static int64_t fixed_bytes(const page_layer *p) {
    const bool mesh = p->layer->kind == PC_TRIANGLES;
    return mesh ? page_mesh_bytes(p->layer) : 6 * p->count + (p->rows ? 2 * p->count : 0);
}

/* Shares `left` bytes between the colours and columns of the layers. */
static void share(const pc_scene *scene, const char *color, int64_t left, page_layer *pages) {
    for (int i = 0; i < scene->count; i++) {
        page_layer *p = &pages[i];
        p->rgb = p->rgb && 3 * p->count <= left;
        left -= p->rgb ? 3 * p->count : 0;
    }
    /* what the page is painted by first; then a byte for each, then a second one */
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < scene->count; i++) {
            page_layer *p = &pages[i];
            const pc_layer *painted = &scene->layers[i];
            for (int k = 0; k < p->column_count; k++) {
                page_column *c = &p->columns[k];
                const bool chosen =
                    strcmp(p->layer->cloud.names[c->column], color) == 0 || painted->column == c->column;
                if (round > 0 || chosen) {
                    give(p, c, round == 2 ? 2 : 1, &left);
                }
            }
        }
    }
    for (int i = 0; i < scene->count; i++) {
        for (int k = 0; k < pages[i].column_count; k++) {
            set_step(&pages[i].columns[k]);
        }
    }
}

pcgpu_status page_choose_columns(pcgpu_context *context, const pc_scene *scene, const char *color, page_layer *pages) {
    int64_t left = PAGE_BYTES;
    for (int i = 0; i < scene->count; i++) {
        PC_TRY(find_columns(context, scene, &pages[i]));
        left -= fixed_bytes(&pages[i]);
    }
    share(scene, color, left, pages);
    return PCGPU_OK;
}
