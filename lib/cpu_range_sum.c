/* Registration of scans through range images on the CPU: the passes over the source, as cpu_depth_sum.c makes them over
 * depth images. */
#pragma GCC optimize(                                                                                                  \
    "no-trapping-math") /* flags of exceptions, which nobody reads, keep selects from being vectorized */
#include "cpu_depth.h"
#include "icp_range.h"

#include <string.h>

enum { L = PC_DEPTH_LANES, V = PC_RANGE_VALUES };

/* L pixels, value by value. */
typedef struct lanes_of {
    float value[V][L];
} lanes_of;

/* Where they fall. */
typedef struct landings {
    float x[L], y[L], z[L];
    int32_t at[L];
} landings;

PC_INLINE void split(const float *restrict pixels, lanes_of *restrict to) {
    for (int l = 0; l < L; l++) {
        for (int k = 0; k < V; k++) {
            to->value[k][l] = pixels[V * l + k];
        }
    }
}

/* ---- the measure of a frame ------------------------------------------------------------------------------------- */

PC_INLINE void measure_tile(const void *what, int tile_column, int tile_row, float *restrict lanes) {
    const pc_depth_measured *m = what;
    for (int v = tile_row * PC_DEPTH_LOADS; v < (tile_row + 1) * PC_DEPTH_LOADS; v++) {
        const size_t at = (size_t)v * (size_t)m->level.columns + (size_t)(tile_column * L);
        lanes_of own;
        split(m->pixels + V * at, &own);
        for (int l = 0; l < L; l++) {
            pc_range_add_measure(own.value[PC_DEPTH_Z][l], own.value[PC_RANGE_X][l], own.value[PC_RANGE_Y][l],
                                 own.value[PC_RANGE_Z][l], lanes + l, L);
        }
    }
}

PC_SIMD_FORMS_OF(measure_tile, (const void *what, int tile_column, int tile_row, float *lanes),
                 (what, tile_column, tile_row, lanes))

pc_depth_tile_fn *pc_cpu_range_measure(pc_simd simd) {
    return measure_tile_for(simd);
}

/* ---- a pass over the source ------------------------------------------------------------------------------------- */

PC_INLINE void project_row(const pc_depth_pass *given, const lanes_of *restrict own, landings *restrict to) {
    const pc_depth_step step = given->step;
    const pc_depth_level target = given->target;
    for (int l = 0; l < L; l++) {
        pc_depth_landing p;
        pc_range_project(&step, &target, own->value[PC_DEPTH_Z][l], own->value[PC_RANGE_X][l],
                         own->value[PC_RANGE_Y][l], own->value[PC_RANGE_Z][l], &p);
        to->x[l] = p.x;
        to->y[l] = p.y;
        to->z[l] = p.z;
        to->at[l] = p.at;
    }
}

/* The pixels of the target there: whole ones are copied, since gathering values one by one takes as many loads. */
PC_INLINE void fetch(const float *restrict pixels, const int32_t *restrict at, lanes_of *restrict to) {
    float whole[V * L] __attribute__((aligned(64)));
    for (int l = 0; l < L; l++) {
        memcpy(whole + V * l, pixels + V * (ptrdiff_t)at[l], V * sizeof *whole);
    }
    split(whole, to);
}

PC_INLINE void add_row(bool scene, const pc_depth_pass *given, const landings *restrict to,
                       const lanes_of *restrict own, const lanes_of *restrict there, float *restrict lanes) {
    const pc_depth_step step = given->step;
    for (int l = 0; l < L; l++) {
        const pc_depth_landing p = {to->x[l], to->y[l], to->z[l], 0.0f, 0.0f, to->at[l]};
        pc_range_add(scene, &step, &p, own->value[PC_DEPTH_NX][l], own->value[PC_DEPTH_NY][l],
                     own->value[PC_DEPTH_NZ][l], there->value[PC_DEPTH_NX][l], there->value[PC_DEPTH_NY][l],
                     there->value[PC_DEPTH_NZ][l], there->value[PC_DEPTH_Z][l], there->value[PC_RANGE_X][l],
                     there->value[PC_RANGE_Y][l], there->value[PC_RANGE_Z][l], lanes + l, L);
    }
}

PC_INLINE void match_tile(const void *what, int tile_column, int tile_row, float *restrict lanes) {
    const pc_depth_pass *m = what;
    for (int v = tile_row * m->source.loads; v < (tile_row + 1) * m->source.loads; v++) {
        const size_t at = (size_t)v * (size_t)m->source.columns + (size_t)(tile_column * L);
        lanes_of own, there;
        landings to;
        split(m->from + V * at, &own);
        project_row(m, &own, &to);
        fetch(m->to, to.at, &there);
        if (m->scene) {
            add_row(true, m, &to, &own, &there, lanes);
        } else {
            add_row(false, m, &to, &own, &there, lanes);
        }
    }
}

PC_SIMD_FORMS_OF(match_tile, (const void *what, int tile_column, int tile_row, float *lanes),
                 (what, tile_column, tile_row, lanes))

pc_depth_tile_fn *pc_cpu_range_match(pc_simd simd) {
    return match_tile_for(simd);
}
