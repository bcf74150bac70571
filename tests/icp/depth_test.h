/* What the tests of the registration of frames share: the order in which pixels of a level are added up, as icp_depth.h
 * says it, written once more without vectors or threads; comparison of paths; and the back ends that run. */
#ifndef DEPTH_TEST_H
#define DEPTH_TEST_H

#include "cpu.h"
#include "icp_depth_maps.h"
#include "icp_depth_path.h"
#include "icp_test.h"

#include <string.h>

enum { SKIPPED = 77, MAX_CONTEXTS = 12 };

/* ---- the order of additions -------------------------------------------------------------------------------------- */

/* Adds pixel (u, v), or nothing where there is none, to sums that lie one after the other. */
typedef void add_pixel_fn(const void *what, int u, int v, float *sums);

static inline void add_tile_in_order(const pc_depth_level *level, int loads, add_pixel_fn *add, const void *what,
                                     int tile, double sums[PC_ICP_SUMS]) {
    const int across = level->columns / PC_DEPTH_LANES;
    double lanes[PC_DEPTH_LANES][PC_ICP_SUMS];
    for (int lane = 0; lane < PC_DEPTH_LANES; lane++) {
        float own[PC_ICP_SUMS] = {0};
        for (int row = 0; row < loads; row++) {
            add(what, tile % across * PC_DEPTH_LANES + lane, tile / across * loads + row, own);
        }
        for (int k = 0; k < PC_ICP_SUMS; k++) {
            lanes[lane][k] = (double)own[k];
        }
    }
    for (int half = PC_DEPTH_LANES / 2; half >= 1; half /= 2) {
        for (int lane = 0; lane < half; lane++) {
            for (int k = 0; k < PC_ICP_SUMS; k++) {
                lanes[lane][k] += lanes[lane + half][k];
            }
        }
    }
    memcpy(sums, lanes[0], sizeof lanes[0]);
}

static inline void add_in_order(const pc_depth_level *level, int loads, add_pixel_fn *add, const void *what,
                                double sums[PC_ICP_SUMS]) {
    double parts[PC_DEPTH_PARTS][PC_ICP_SUMS] = {{0}}, group[PC_ICP_SUMS] = {0}, tile[PC_ICP_SUMS];
    const int tiles = pc_depth_tiles(level, loads);
    for (int i = 0; i < tiles; i++) {
        add_tile_in_order(level, loads, add, what, i, tile);
        const bool ends = i % PC_DEPTH_GROUP == PC_DEPTH_GROUP - 1 || i + 1 == tiles;
        for (int k = 0; k < PC_ICP_SUMS; k++) {
            group[k] += tile[k];
            parts[i / PC_DEPTH_GROUP % PC_DEPTH_PARTS][k] += ends ? group[k] : 0.0;
            group[k] = ends ? 0.0 : group[k];
        }
    }
    memset(sums, 0, PC_ICP_SUMS * sizeof *sums);
    for (int p = 0; p < PC_DEPTH_PARTS; p++) {
        for (int k = 0; k < PC_ICP_SUMS; k++) {
            sums[k] += parts[p][k];
        }
    }
}

/* ---- comparison ------------------------------------------------------------------------------------------------- */

typedef struct place {
    pcgpu_context *context;
    const pc_backend *backend;
    char label[32];
} place; /* a back end in some form */

static inline bool same_double(const double *a, const double *b, int n) {
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static inline void compare(const pc_depth_path *got, const pc_depth_path *wanted, const char *name, const char *label,
                           int64_t at) {
    expect(got->end == wanted->end, name, label, "end", at);
    expect(got->source_points == wanted->source_points, name, label, "points of the source", at);
    expect(same_double(&got->target.points, &wanted->target.points, 7), name, label, "measure of the target", at);
    expect(memcmp(got->iterations, wanted->iterations, sizeof got->iterations) == 0, name, label, "iterations", at);
    expect(same_double(got->worth, wanted->worth, PC_ICP_SUMS), name, label, "sums", at);
    expect(same_double(got->scene, wanted->scene, PC_ICP_SUMS), name, label, "sums of the scene", at);
    expect(same_double(got->pose.q, wanted->pose.q, 4) && same_double(got->pose.t, wanted->pose.t, 3), name, label,
           "pose", at);
    expect(same_double(got->update, wanted->update, 6) && got->converged == wanted->converged, name, label, "update",
           at);
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

static inline int open_cpu(place *places) {
    static const int threads[] = {1, 2, 3, 8};
    int count = 0;
    for (int form = PC_SIMD_BASE; form < PC_SIMD_FORMS; form++) {
        for (int t = 0; t < 4 && pc_cpu_has((pc_simd)form); t++) {
            pcgpu_settings settings;
            pcgpu_settings_init(&settings);
            settings.device = PCGPU_DEVICE_CPU;
            settings.threads = threads[t];
            place *p = &places[count++];
            if (pcgpu_open(&settings, &p->context) != PCGPU_OK) {
                return 0;
            }
            p->context->simd_limit = form + 1;
            p->backend = &pc_backend_cpu;
            snprintf(p->label, sizeof p->label, "form %d, %d threads", form, threads[t]);
        }
    }
    return count;
}

static inline int open_cuda(place *p) {
    pcgpu_settings settings;
    pcgpu_settings_init(&settings);
    settings.device = PCGPU_DEVICE_CUDA;
    if (pcgpu_open(&settings, &p->context) != PCGPU_OK) {
        printf("%s\n", pcgpu_last_error(p->context));
        pcgpu_close(p->context);
        return 0;
    }
    p->backend = pc_backend_cuda();
    snprintf(p->label, sizeof p->label, "cuda");
    return 1;
}

#endif
