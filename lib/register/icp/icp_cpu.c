/* One level of a registration on the CPU: normals of the target, and steps summed in the fixed tree of icp_math.h. */
#include "icp_ops.h"
#include "icp_step.h"

#include <stdlib.h>
#include <string.h>

enum {
    CHUNK_VALUES = PC_ICP_GROUP * PC_ICP_SUMS,
    NORMALS_A_PART = 256,
    CHUNKS_A_PART = 8,
};

typedef struct level {
    pc_icp_grid grid; /* borrowed arrays */
    float *normals;   /* 3 a target point, or NULL */
    int64_t n;
    const float *x, *y, *z; /* borrowed */
    float *source_normals;  /* 3 a point, or NULL */
    double *chunks;         /* PC_ICP_SUMS per chunk of PC_ICP_GROUP source points */
} level;

static void free_level(void *memory) {
    level *v = memory;
    free(v->normals);
    free(v->source_normals);
    free(v->chunks);
    free(v);
}

static void pc_cpu_icp_end(pcgpu_context *context) {
    pc_drop_kept(context, PC_KEPT_ICP);
}

typedef struct estimate {
    const pc_icp_grid *grid;
    float radius;
    bool scatter;
    float *to;
} estimate;

static void estimate_normals(void *state, int64_t begin, int64_t end) {
    const estimate *e = state;
    for (int64_t i = begin; i < end; i++) {
        pc_icp_point p = e->grid->points[i];
        pc_icp_normal(e->grid, p.x, p.y, p.z, e->radius, e->to + 3 * (e->scatter ? p.index : i));
    }
}

/* Normals of n points, 3 each: copied where they are given, else estimated on `grid`, whose points they are; these go
 * to the place of the point before it was grouped when `scatter`. */
static pcgpu_status make_normals(pcgpu_context *context, const pc_icp_grid *grid, int64_t n, const float *given,
                                 float radius, bool scatter, float **normals) {
    const size_t bytes = 3 * (size_t)n * sizeof **normals;
    float *to = malloc(bytes ? bytes : 1);
    *normals = to;
    if (!to) {
        return pc_fail_memory(context, bytes, "the normals");
    }
    if (given) {
        memcpy(to, given, bytes);
        return PCGPU_OK;
    }
    estimate e = {grid, radius, scatter, to};
    pc_run_ranges(context, n, NORMALS_A_PART, estimate_normals, &e);
    return PCGPU_OK;
}

static pcgpu_status pc_cpu_icp_target(pcgpu_context *context, const struct pc_icp_target *target) {
    pc_cpu_icp_end(context);
    level *v = pc_keep(context, PC_KEPT_ICP, sizeof *v, free_level);
    if (!v) {
        return pc_fail_memory(context, sizeof *v, "the registration");
    }
    v->grid = target->grid;
    return target->normals || target->normal_radius > 0.0f
               ? make_normals(context, &v->grid, v->grid.n, target->normals, target->normal_radius, false, &v->normals)
               : PCGPU_OK;
}

static pcgpu_status pc_cpu_icp_source(pcgpu_context *context, const struct pc_icp_source *source) {
    level *v = context->kept[PC_KEPT_ICP].memory;
    size_t bytes = (size_t)((source->n + PC_ICP_GROUP - 1) / PC_ICP_GROUP) * PC_ICP_SUMS * sizeof(double);
    free(v->chunks);
    free(v->source_normals);
    v->source_normals = NULL;
    v->chunks = malloc(bytes ? bytes : 1);
    if (!v->chunks) {
        return pc_fail_memory(context, bytes, "the sums of the registration");
    }
    v->n = source->n;
    v->x = source->x;
    v->y = source->y;
    v->z = source->z;
    return source->normals || source->normal_radius > 0.0f
               ? make_normals(context, source->grid, source->n, source->normals, source->normal_radius, true,
                              &v->source_normals)
               : PCGPU_OK;
}

/* Sums PC_ICP_GROUP rows by halving into the first one. */
static void halve(double *rows) {
    for (int s = PC_ICP_GROUP / 2; s >= 1; s /= 2) {
        for (int i = 0; i < s * PC_ICP_SUMS; i++) {
            rows[i] += rows[s * PC_ICP_SUMS + i];
        }
    }
}

static void sum_chunk(const level *v, const struct pc_icp_step *step, int64_t chunk) {
    double rows[CHUNK_VALUES] = {0};
    int64_t first = chunk * PC_ICP_GROUP;
    int64_t count = v->n - first < PC_ICP_GROUP ? v->n - first : PC_ICP_GROUP;
    for (int64_t i = 0; i < count; i++) {
        int64_t p = first + i;
        double *sums = rows + i * PC_ICP_SUMS;
        if (step->rows == PC_ICP_ROWS_PAIR) {
            const float *n = v->source_normals + 3 * p;
            pc_icp_add_paired_point(&v->grid, v->normals, step, v->x[p], v->y[p], v->z[p], n[0], n[1], n[2], sums);
        } else {
            pc_icp_add_point(&v->grid, v->normals, step, v->x[p], v->y[p], v->z[p], sums);
        }
    }
    halve(rows);
    memcpy(v->chunks + chunk * PC_ICP_SUMS, rows, PC_ICP_SUMS * sizeof *rows);
}

typedef struct summing {
    const level *v;
    const struct pc_icp_step *step;
} summing;

static void sum_chunks(void *state, int64_t begin, int64_t end) {
    const summing *s = state;
    for (int64_t i = begin; i < end; i++) {
        sum_chunk(s->v, s->step, i);
    }
}

static pcgpu_status pc_cpu_icp_step(pcgpu_context *context, const struct pc_icp_step *step, double *sums) {
    const level *v = context->kept[PC_KEPT_ICP].memory;
    int64_t left = (v->n + PC_ICP_GROUP - 1) / PC_ICP_GROUP;
    memset(sums, 0, PC_ICP_SUMS * sizeof *sums);
    summing s = {v, step};
    pc_run_ranges(context, left, CHUNKS_A_PART, sum_chunks, &s);
    while (left > 1) {
        int64_t groups = (left + PC_ICP_GROUP - 1) / PC_ICP_GROUP;
        for (int64_t g = 0; g < groups; g++) {
            double rows[CHUNK_VALUES] = {0};
            int64_t count = left - g * PC_ICP_GROUP < PC_ICP_GROUP ? left - g * PC_ICP_GROUP : PC_ICP_GROUP;
            memcpy(rows, v->chunks + g * CHUNK_VALUES, (size_t)count * PC_ICP_SUMS * sizeof *rows);
            halve(rows);
            memcpy(v->chunks + g * PC_ICP_SUMS, rows, PC_ICP_SUMS * sizeof *rows);
        }
        left = groups;
    }
    if (left == 1) {
        memcpy(sums, v->chunks, PC_ICP_SUMS * sizeof *sums);
    }
    return PCGPU_OK;
}

const pc_icp_ops pc_cpu_icp_ops = {
    .target = pc_cpu_icp_target, .source = pc_cpu_icp_source, .step = pc_cpu_icp_step, .end = pc_cpu_icp_end};
