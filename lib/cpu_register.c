/* One level of a registration on the CPU: normals of the target, and steps summed in the fixed tree of icp.h. */
#include "cpu.h"
#include "icp.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_VALUES = PC_ICP_GROUP * PC_ICP_SUMS };

typedef struct level {
    pc_icp_grid grid; /* borrowed arrays */
    float *normals;   /* 3 a target point, or NULL */
    int64_t n;
    const float *x, *y, *z; /* borrowed */
    double *chunks;         /* PC_ICP_SUMS a chunk of PC_ICP_GROUP source points */
} level;

void pc_cpu_icp_end(pcgpu_context *context) {
    level *v = context->cpu_icp;
    if (v) {
        free(v->normals);
        free(v->chunks);
        free(v);
        context->cpu_icp = NULL;
    }
}

pcgpu_status pc_cpu_icp_target(pcgpu_context *context, const struct pc_icp_target *target) {
    pc_cpu_icp_end(context);
    level *v = calloc(1, sizeof *v);
    context->cpu_icp = v;
    if (!v) {
        return pc_fail_memory(context, sizeof *v, "the registration");
    }
    v->grid = target->grid;
    float radius = target->normal_radius;
    if (!(radius > 0.0f)) {
        return PCGPU_OK;
    }
    v->normals = malloc(3 * (size_t)v->grid.n * sizeof *v->normals);
    if (!v->normals) {
        return pc_fail_memory(context, 12 * (uint64_t)v->grid.n, "the target's normals");
    }
#pragma omp parallel for schedule(dynamic, 256) num_threads(context->threads)
    for (int64_t i = 0; i < v->grid.n; i++) {
        pc_icp_point p = v->grid.points[i];
        pc_icp_normal(&v->grid, p.x, p.y, p.z, radius, v->normals + 3 * i);
    }
    return PCGPU_OK;
}

pcgpu_status pc_cpu_icp_source(pcgpu_context *context, int64_t n, const float *x, const float *y, const float *z) {
    level *v = context->cpu_icp;
    size_t bytes = (size_t)((n + PC_ICP_GROUP - 1) / PC_ICP_GROUP) * PC_ICP_SUMS * sizeof(double);
    free(v->chunks);
    v->chunks = malloc(bytes ? bytes : 1);
    if (!v->chunks) {
        return pc_fail_memory(context, bytes, "the sums of the registration");
    }
    v->n = n;
    v->x = x;
    v->y = y;
    v->z = z;
    return PCGPU_OK;
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
        pc_icp_add_point(&v->grid, v->normals, step, v->x[p], v->y[p], v->z[p], rows + i * PC_ICP_SUMS);
    }
    halve(rows);
    memcpy(v->chunks + chunk * PC_ICP_SUMS, rows, PC_ICP_SUMS * sizeof *rows);
}

pcgpu_status pc_cpu_icp_step(pcgpu_context *context, const struct pc_icp_step *step, double *sums) {
    const level *v = context->cpu_icp;
    int64_t left = (v->n + PC_ICP_GROUP - 1) / PC_ICP_GROUP;
    memset(sums, 0, PC_ICP_SUMS * sizeof *sums);
#pragma omp parallel for schedule(dynamic, 8) num_threads(context->threads)
    for (int64_t i = 0; i < left; i++) {
        sum_chunk(v, step, i);
    }
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
