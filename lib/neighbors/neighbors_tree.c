/* Construction of the leaves and boxes of a cloud: select the finite points, sort them along a curve, gather them in
 * this order, and compute the boxes. */
#include "neighbors_tree.h"
#include "sample_cpu.h"
#include "scan.h"

#include <stdlib.h>

enum { LEAVES_PER_PART = 256 };

typedef struct filling {
    pc_neighbors_tree *tree;
    const pc_points *points;
    const int32_t *order;
    pc_simd simd;
} filling;

/* Gathers the points of leaves [begin, end) and computes their boxes. */
PC_INLINE void fill(const filling *f, int64_t begin, int64_t end) {
    pc_neighbors_tree *t = f->tree;
    const float *from[3] = {f->points->x, f->points->y, f->points->z};
    for (int64_t leaf = begin; leaf < end; leaf++) {
        const int64_t first = leaf * PC_LEAF;
        pc_boxes *boxes = &t->level[0][leaf / PC_LEAF];
        int32_t index[PC_LEAF], least = INT32_MAX;
        for (int c = 0; c < PC_LEAF; c++) {
            index[c] = f->order[first + c < t->n ? first + c : t->n - 1];
            t->rows[first + c] = f->points->rows ? f->points->rows[index[c]] : index[c];
        }
        for (int c = 0; c < PC_LEAF; c++) {
            least = t->rows[first + c] < least ? t->rows[first + c] : least;
        }
        t->least[0][leaf] = least;
        for (int a = 0; a < 3; a++) {
            float *to = t->at[a] + first;
            for (int c = 0; c < PC_LEAF; c++) {
                to[c] = from[a][index[c]];
            }
            pc_find_bounds(to, PC_LEAF, &boxes->low[a][leaf % PC_LEAF], &boxes->high[a][leaf % PC_LEAF]);
        }
    }
}

PC_SIMD_FORMS_OF(fill, (const filling *f, int64_t begin, int64_t end), (f, begin, end))

static void fill_part(void *state, int64_t begin, int64_t end) {
    fill_for(((const filling *)state)->simd)(state, begin, end);
}

/* The boxes of level l, each around the children of a node of the level below. */
static void fill_level(const pc_neighbors_tree *t, int l) {
    const int64_t children = t->children[l - 1];
    for (int64_t v = 0; v < t->children[l]; v++) {
        const pc_boxes *from = &t->level[l - 1][v];
        pc_boxes *to = &t->level[l][v / PC_LEAF];
        const int64_t n = children - v * PC_LEAF < PC_LEAF ? children - v * PC_LEAF : PC_LEAF;
        int32_t least = INT32_MAX;
        for (int64_t c = v * PC_LEAF; c < v * PC_LEAF + n; c++) {
            least = t->least[l - 1][c] < least ? t->least[l - 1][c] : least;
        }
        t->least[l][v] = least;
        for (int a = 0; a < 3; a++) {
            float other;
            pc_find_bounds(from->low[a], n, &to->low[a][v % PC_LEAF], &other);
            pc_find_bounds(from->high[a], n, &other, &to->high[a][v % PC_LEAF]);
        }
    }
}

static bool allocate(pc_neighbors_tree *t) {
    int64_t nodes = 0, children = 0, first[PC_NEIGHBORS_LEVELS];
    t->leaves = (t->n + PC_LEAF - 1) / PC_LEAF;
    for (int64_t below = t->leaves; t->levels == 0 || below > 1; t->levels++) {
        t->children[t->levels] = below;
        children += below;
        below = (below + PC_LEAF - 1) / PC_LEAF;
        first[t->levels] = nodes;
        nodes += below;
    }
    const size_t points = (size_t)t->leaves * PC_LEAF;
    pc_boxes *boxes = t->memory[0] = aligned_alloc(64, (size_t)nodes * sizeof *boxes);
    float *at = t->memory[1] = aligned_alloc(64, 3 * points * sizeof *at);
    t->rows = t->memory[2] = malloc((points + (size_t)children) * sizeof *t->rows);
    int32_t *least = t->rows ? t->rows + points : NULL;
    for (int l = 0; l < t->levels && least; least += t->children[l++]) {
        t->least[l] = least;
    }
    for (int l = 0; l < t->levels && boxes; l++) {
        t->level[l] = boxes + first[l];
    }
    for (int a = 0; a < 3 && at; a++) {
        t->at[a] = at + (size_t)a * points;
    }
    return boxes && at && t->rows;
}

static pcgpu_status build(pcgpu_context *context, const pc_points *points, pc_neighbors_tree *t) {
    pc_sample_job job = {.n = points->n, .x = points->x, .y = points->y, .z = points->z, .poll = context};
    int32_t *order = malloc((size_t)points->n * sizeof *order);
    t->n = points->n;
    const bool ok = order && allocate(t) && pc_sample_order(context, &job, pc_context_simd(context), order);
    if (ok) {
        pc_run_ranges(context, t->leaves, LEAVES_PER_PART, fill_part,
                      &(filling){t, points, order, pc_context_simd(context)});
        for (int l = 1; l < t->levels; l++) {
            fill_level(t, l);
        }
    }
    free(order);
    PC_TRY(pc_check_cancelled(context));
    return ok ? PCGPU_OK : pc_fail_memory(context, (uint64_t)points->n * 40, "the neighbours");
}

pcgpu_status pc_neighbors_tree_build(pcgpu_context *context, const pcgpu_clouds *clouds, int64_t i,
                                     pc_neighbors_tree *tree) {
    const int64_t begin = pc_clouds_begin(clouds, i);
    const pcgpu_cloud cloud = {.rows = pc_clouds_begin(clouds, i + 1) - begin,
                               .columns = (int)clouds->stride,
                               .data = (float *)clouds->data + begin * clouds->stride};
    pc_points points = {0};
    pcgpu_run run = {0};
    memset(tree, 0, sizeof *tree);
    PC_TRY(pc_points_select(context, &cloud, false, &points, &run));
    const pcgpu_status status = points.n > 0 ? build(context, &points, tree) : PCGPU_OK;
    pc_points_free(&points);
    if (status != PCGPU_OK) {
        pc_neighbors_tree_free(tree);
    }
    return status;
}

void pc_neighbors_tree_free(pc_neighbors_tree *tree) {
    for (int i = 0; i < 3; i++) {
        free(tree->memory[i]);
    }
    memset(tree, 0, sizeof *tree);
}
