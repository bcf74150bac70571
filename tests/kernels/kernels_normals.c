/* Normals: every back end and form of vectors against one point at a time by jacobi.h, byte for byte. */
#include "context.h"
#include "jacobi.h"
#include "kernels.h"

enum { MOST_K = 17, FORMS = 3 };

static void plain_covariance(const float *xyz, int64_t stride, const int32_t *near, int n, const float *p,
                             double a[9]) {
    double sum[3] = {0}, d[3];
    memset(a, 0, 9 * sizeof *a);
    for (int j = 0; j < n; j++) {
        for (int c = 0; c < 3; c++) {
            sum[c] += (double)xyz[near[j] * stride + c] - (double)p[c];
        }
    }
    for (int j = 0; j < n; j++) {
        for (int c = 0; c < 3; c++) {
            d[c] = ((double)xyz[near[j] * stride + c] - (double)p[c]) - sum[c] / n;
        }
        for (int k = 0; k < 9; k++) {
            a[k] += d[k / 3] * d[k % 3];
        }
    }
}

/* The normal and the curvature of one point with n neighbours; the sensor is at the origin. */
static void plain_normal(const float *xyz, int64_t stride, const int32_t *near, int n, const float *p, float out[4]) {
    double a[9], v[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, toward = 0;
    plain_covariance(xyz, stride, near, n, p, a);
    const double size = a[0] + a[4] + a[8];
    for (int sweep = 0; sweep < 8 && !(fabs(a[1]) + fabs(a[2]) + fabs(a[5]) <= 1e-13 * size); sweep++) {
        pc_jacobi(3, 1, a, v);
    }
    const double sum = (a[0] + a[4]) + a[8];
    const int least = a[0] <= a[4] && a[0] <= a[8] ? 0 : a[4] <= a[8] ? 1 : 2;
    const double normal[3] = {v[least], v[3 + least], v[6 + least]};
    const double length = sqrt((normal[0] * normal[0] + normal[1] * normal[1]) + normal[2] * normal[2]);
    memset(out, 0, 4 * sizeof *out);
    if (n < 3 || !(sum > 0 && sum < INFINITY && length > 0)) {
        return;
    }
    for (int c = 0; c < 3; c++) {
        toward -= normal[c] * (double)p[c];
    }
    const double sign = toward != 0 ? toward : normal[2] != 0 ? normal[2] : normal[1] != 0 ? normal[1] : normal[0];
    for (int c = 0; c < 3; c++) {
        out[c] = (float)(normal[c] / (sign < 0 ? -length : length)) + 0.0f;
    }
    out[3] = (float)(fmax(a[4 * least], 0) / sum);
}

static void check_normals(test_bed *bed) {
    static const int ks[] = {3, 8, MOST_K};
    pcgpu_cloud cloud;
    const char *name;
    for (int kind = 0; make_cloud(kind, bed->seed, bed->quick ? 150 : 400, &cloud, &name); kind++) {
        const size_t rows = (size_t)cloud.rows, bytes = rows * 4 * sizeof(float);
        const pcgpu_clouds points = {cloud.data, cloud.columns, 1, cloud.rows, NULL};
        float *want = malloc(bytes + 1), *got = malloc(bytes + 1);
        int32_t *near = malloc((rows * MOST_K + 1) * sizeof *near), *counts = malloc((rows + 1) * sizeof *counts);
        const pcgpu_neighbor_lists lists = {.indices = near, .index_bytes = 4, .counts = counts};
        memset(cloud.offset, 0, sizeof cloud.offset);
        for (int i = 0; i < 6; i++) {
            pcgpu_neighbors_params p;
            pcgpu_run run;
            pcgpu_neighbors_params_init(&p);
            p.k = ks[i % 3];
            p.radius = i < 3 ? 0.0f : 0.5f;
            expect(bed, pcgpu_neighbors(bed->context[0], &points, &points, &p, &lists, NULL) == PCGPU_OK, "%s", name);
            for (size_t r = 0; r < rows; r++) {
                const float *at = cloud.data + r * (size_t)cloud.columns;
                plain_normal(cloud.data, cloud.columns, near + r * (size_t)p.k, counts[r], at, want + 4 * r);
            }
            for (int c = 0; c < bed->contexts + FORMS - 1; c++) {
                /* Each form on the first context; form 0, the widest, on the others, too. */
                const int form = c < FORMS ? c : 0, at = c < FORMS ? 0 : c - FORMS + 1;
                pcgpu_context *context = bed->context[at];
                context->simd_limit = form;
                memset(got, 77, bytes);
                const pcgpu_status status = pcgpu_find_normals(context, &cloud, p.k, p.radius, NULL, NULL, got, &run);
                context->simd_limit = 0;
                expect(bed, status == PCGPU_OK, "%s: %s", name, pcgpu_last_error(context));
                expect(bed, memcmp(got, want, bytes) == 0, "%s, %s: normals, k %d, radius %g, form %d", name,
                       bed->label[at], p.k, (double)p.radius, form);
            }
        }
        free(want);
        free(got);
        free(near);
        free(counts);
        pcgpu_cloud_free(&cloud);
    }
}

const operation operation_normals = {"normals", check_normals};
