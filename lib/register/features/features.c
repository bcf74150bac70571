/* Registration: points of voxels, with descriptors of the surface around them. */
#include "register_features.h"
#include "icp.h"
#include "icp_grid.h"
#include "simd.h"

#include <stdlib.h>
#include <string.h>

enum {
    PART = 64,             /* points of a part */
    MOST_NEIGHBOURS = 256, /* of a point, in the order of the grid */
    FEWEST_NEIGHBOURS = 5,
    DESCRIPTOR_SUM = 200, /* of a histogram */
    FEWEST_LEVELS = 2,
    MOST_CELLS = 1 << 18, /* of voxels along the clouds */
};

#define NORMAL_RADIUS  2.5 /* voxels */
#define FEATURE_RADIUS 5.0
#define START_VOXELS   2.0

/* The histograms of a point and its neighbours (simplified point feature histograms); the padding takes pairs without
 * angles. */
typedef struct histogram {
    float bins[PC_DESCRIPTOR_PADDED];
} histogram;

typedef struct describing {
    pc_features *f;
    pc_icp_grid grid;
    const double *offset;
    bool from_origin;
    uint16_t *neighbours; /* MOST_NEIGHBOURS a point */
    int32_t *counts;
    histogram *own;
    pc_simd simd;
} describing;

/* ---- neighbours and normals -------------------------------------------------------------------------------------- */

/* The direction in which points with these moments spread least; zero where they are too few. */
static void least_direction(const pc_icp_moments *m, float normal[3]) {
    memset(normal, 0, 3 * sizeof *normal);
    if (m->n < (double)PC_ICP_MIN_NEIGHBOURS) {
        return;
    }
    const double xy = m->xy - m->x * m->y / m->n, xz = m->xz - m->x * m->z / m->n, yz = m->yz - m->y * m->z / m->n;
    double a[9] = {m->xx - m->x * m->x / m->n, xy, xz, xy, m->yy - m->y * m->y / m->n, yz, xz, yz,
                   m->zz - m->z * m->z / m->n};
    double v[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    pc_jacobi(3, 6, a, v);
    const int least = a[0] <= a[4] && a[0] <= a[8] ? 0 : a[4] <= a[8] ? 1 : 2;
    const double n[3] = {v[least], v[3 + least], v[6 + least]}, length = sqrt(pc_dot3(n, n));
    for (int k = 0; k < 3 && length > 0.0; k++) {
        normal[k] = (float)(n[k] / length);
    }
}

/* Towards the sensor, or to the side where the neighbours are. */
static void make_normal(const describing *d, const float *p, const pc_icp_moments *m, float n[3]) {
    const double mean[3] = {m->x, m->y, m->z};
    double side = 0.0;
    least_direction(m, n);
    for (int k = 0; k < 3; k++) {
        side += (double)n[k] * (d->from_origin ? -((double)p[k] + d->offset[k]) : mean[k]);
    }
    for (int k = 0; k < 3 && side < 0.0; k++) {
        n[k] = -n[k];
    }
}

/* Lists the neighbours of a point; its normal follows from the nearest of them. */
static void find_neighbours(const describing *d, int64_t i) {
    const float *p = d->f->points.xyz + 3 * i, radius = (float)(FEATURE_RADIUS * d->f->voxel),
                near = (float)(NORMAL_RADIUS * d->f->voxel);
    uint16_t *to = d->neighbours + i * MOST_NEIGHBOURS;
    const double reach = (double)radius * d->grid.inverse_edge;
    pc_icp_moments m = {.n = 1.0};
    int32_t low[3], high[3], found = 0;
    for (int k = 0; k < 3; k++) {
        const double u = ((double)p[k] - d->grid.origin[k]) * d->grid.inverse_edge;
        const double from = floor(u - reach), last = floor(u + reach);
        low[k] = from > 0.0 ? (int32_t)from : 0;
        high[k] = last < (double)d->grid.cells[k] ? (int32_t)last : d->grid.cells[k] - 1;
    }
    for (int32_t z = low[2]; z <= high[2]; z++) {
        for (int32_t y = low[1]; y <= high[1]; y++) {
            for (int32_t x = low[0]; x <= high[0]; x++) {
                const pc_icp_slot slot = pc_icp_find(&d->grid, x, y, z);
                for (int32_t j = slot.start; j < slot.start + slot.count && found < MOST_NEIGHBOURS; j++) {
                    const pc_icp_point q = d->grid.points[j];
                    const float square = pc_squared_distance(p[0], p[1], p[2], q.x, q.y, q.z);
                    to[found] = (uint16_t)q.index;
                    found += square > 0.0f && square <= radius * radius;
                    if (square > 0.0f && square <= near * near) {
                        pc_icp_moments_add(&m, (double)q.x - (double)p[0], (double)q.y - (double)p[1],
                                           (double)q.z - (double)p[2]);
                    }
                }
            }
        }
    }
    d->counts[i] = found;
    make_normal(d, p, &m, d->f->points.normals + 3 * i);
}

static void find_range(void *state, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        find_neighbours(state, i);
    }
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

/* The neighbours of a point, by coordinates. */
typedef struct surroundings {
    float at[3][MOST_NEIGHBOURS], normal[3][MOST_NEIGHBOURS];
    int32_t bins[3][MOST_NEIGHBOURS];
} surroundings;

/* The bin of a value from -1 to 1 in histogram h. */
PC_INLINE int32_t bin_of(float value, int h) {
    const int32_t bin = (int32_t)(0.5f * (value + 1.0f) * (float)PC_DESCRIPTOR_BINS);
    return h * PC_DESCRIPTOR_BINS + (bin < 0 ? 0 : bin < PC_DESCRIPTOR_BINS ? bin : PC_DESCRIPTOR_BINS - 1);
}

/* The bins of the angles between the normals n at p and those of the neighbours and the lines between them (Darboux
 * frame). In place of the angle in the plane of u and w, which would need an arc tangent, there is a value that grows
 * with it: libraries differ. */
PC_INLINE void find_bins(const float *p, const float *n, int32_t count, surroundings *s) {
    for (int32_t j = 0; j < count; j++) {
        const float m[3] = {s->normal[0][j], s->normal[1][j], s->normal[2][j]};
        const float step[3] = {s->at[0][j] - p[0], s->at[1][j] - p[1], s->at[2][j] - p[2]};
        const float distance = sqrtf((step[0] * step[0] + step[1] * step[1]) + step[2] * step[2]);
        const float line[3] = {step[0] / distance, step[1] / distance, step[2] / distance};
        const float u[3] = {line[1] * n[2] - line[2] * n[1], line[2] * n[0] - line[0] * n[2],
                            line[0] * n[1] - line[1] * n[0]};
        const float length = sqrtf((u[0] * u[0] + u[1] * u[1]) + u[2] * u[2]);
        const float v[3] = {u[0] / length, u[1] / length, u[2] / length};
        const float w[3] = {n[1] * v[2] - n[2] * v[1], n[2] * v[0] - n[0] * v[2], n[0] * v[1] - n[1] * v[0]};
        const float x = (n[0] * m[0] + n[1] * m[1]) + n[2] * m[2], y = (w[0] * m[0] + w[1] * m[1]) + w[2] * m[2];
        const float sum = fabsf(x) + fabsf(y), turn = sum > 0.0f ? y / sum : 0.0f; /* -1 to 1 where x > 0 */
        const float around = x >= 0.0f ? turn : y >= 0.0f ? 2.0f - turn : -2.0f - turn;
        const bool framed = length > 1e-6f;
        s->bins[0][j] = framed ? bin_of((v[0] * m[0] + v[1] * m[1]) + v[2] * m[2], 0) : PC_DESCRIPTOR;
        s->bins[1][j] = framed ? bin_of((n[0] * line[0] + n[1] * line[1]) + n[2] * line[2], 1) : PC_DESCRIPTOR;
        s->bins[2][j] = framed ? bin_of(0.5f * around, 2) : PC_DESCRIPTOR;
    }
}

PC_INLINE void make_own(const describing *d, int64_t begin, int64_t end) {
    const float *xyz = d->f->points.xyz, *normals = d->f->points.normals;
    surroundings s;
    for (int64_t i = begin; i < end; i++) {
        const uint16_t *neighbours = d->neighbours + i * MOST_NEIGHBOURS;
        const int32_t count = d->counts[i];
        float *bins = d->own[i].bins;
        for (int32_t j = 0; j < count; j++) {
            for (int k = 0; k < 3; k++) {
                s.at[k][j] = xyz[3 * neighbours[j] + k];
                s.normal[k][j] = normals[3 * neighbours[j] + k];
            }
        }
        find_bins(xyz + 3 * i, normals + 3 * i, count, &s);
        memset(bins, 0, sizeof d->own[i].bins);
        for (int32_t j = 0; j < count; j++) {
            for (int h = 0; h < 3; h++) {
                bins[s.bins[h][j]] += 1.0f;
            }
        }
        for (int k = 0; k < PC_DESCRIPTOR && count > 0; k++) {
            bins[k] /= (float)count;
        }
        bins[PC_DESCRIPTOR] = 0.0f;
    }
}

/* The histograms of a point and, by distance, of its neighbours. */
PC_INLINE void make_descriptors(const describing *d, int64_t begin, int64_t end) {
    const float *xyz = d->f->points.xyz;
    for (int64_t i = begin; i < end; i++) {
        int16_t *to = d->f->descriptors + i * PC_DESCRIPTOR_PADDED;
        const float *p = xyz + 3 * i;
        float bins[PC_DESCRIPTOR_PADDED] = {0};
        memset(to, 0, PC_DESCRIPTOR_PADDED * sizeof *to);
        if (d->counts[i] < FEWEST_NEIGHBOURS) {
            continue;
        }
        for (int32_t j = 0; j < d->counts[i]; j++) {
            const int32_t other = d->neighbours[i * MOST_NEIGHBOURS + j];
            const float *q = xyz + 3 * other, *from = d->own[other].bins;
            const float weight = (float)d->f->voxel / sqrtf(pc_squared_distance(p[0], p[1], p[2], q[0], q[1], q[2]));
            for (int k = 0; k < PC_DESCRIPTOR_PADDED; k++) {
                bins[k] += weight * from[k];
            }
        }
        for (int h = 0; h < 3; h++) {
            float sum = 0.0f;
            float *of = bins + h * PC_DESCRIPTOR_BINS;
            for (int k = 0; k < PC_DESCRIPTOR_BINS; k++) {
                of[k] = of[k] / (float)d->counts[i] + d->own[i].bins[h * PC_DESCRIPTOR_BINS + k];
                sum += of[k];
            }
            for (int k = 0; k < PC_DESCRIPTOR_BINS && sum > 0.0f; k++) {
                to[h * PC_DESCRIPTOR_BINS + k] = (int16_t)(of[k] / sum * (float)DESCRIPTOR_SUM + 0.5f);
            }
        }
    }
}
PC_SIMD_FORMS_OF(make_own, (const describing *d, int64_t begin, int64_t end), (d, begin, end))
PC_SIMD_FORMS_OF(make_descriptors, (const describing *d, int64_t begin, int64_t end), (d, begin, end))

static void own_range(void *state, int64_t begin, int64_t end) {
    const describing *d = state;
    make_own_for(d->simd)(d, begin, end);
}

static void descriptor_range(void *state, int64_t begin, int64_t end) {
    const describing *d = state;
    make_descriptors_for(d->simd)(d, begin, end);
}

pcgpu_status pc_features_describe(pcgpu_context *context, const pcgpu_cloud *cloud, bool from_origin, pc_features *f) {
    const size_t n = (size_t)f->n;
    describing d = {.f = f, .offset = cloud->offset, .from_origin = from_origin, .simd = pc_context_simd(context)};
    pcgpu_status status = PCGPU_OK;
    if (n == 0) {
        return PCGPU_OK;
    }
    f->points.normals = calloc(3 * n, sizeof *f->points.normals);
    f->descriptors = malloc(n * PC_DESCRIPTOR_PADDED * sizeof *f->descriptors);
    d.neighbours = malloc(n * MOST_NEIGHBOURS * sizeof *d.neighbours);
    d.counts = malloc(n * sizeof *d.counts);
    d.own = malloc(n * sizeof *d.own);
    if (!f->points.normals || !f->descriptors || !d.neighbours || !d.counts || !d.own) {
        status = pc_fail_memory(context, n * MOST_NEIGHBOURS * sizeof *d.neighbours, "the features");
        goto done;
    }
    PC_TRY_OR(done, status, pc_icp_grid_build(context, f->n, f->points.xyz, FEATURE_RADIUS * f->voxel, &d.grid));
    pc_run_ranges(context, f->n, PART, find_range, &d);
    PC_TRY_OR(done, status, pc_check_cancelled(context));
    pc_run_ranges(context, f->n, PART, own_range, &d);
    pc_run_ranges(context, f->n, PART, descriptor_range, &d);
    status = pc_check_cancelled(context);
done:
    pc_icp_grid_free(&d.grid);
    free(d.neighbours);
    free(d.counts);
    free(d.own);
    return status;
}

/* ---- voxels ------------------------------------------------------------------------------------------------------ */

/* The longest side of the box of points. */
static double span_of(const pc_rows *all) {
    double span = 0.0;
    for (int i = 0; i < 3; i++) {
        float low = INFINITY, high = -INFINITY;
        for (int64_t k = 0; k < all->n; k++) {
            const float v = all->xyz[3 * k + i];
            low = v < low ? v : low;
            high = v > high ? v : high;
        }
        span = (double)high - (double)low > span ? (double)high - (double)low : span;
    }
    return span;
}

pcgpu_status pc_features_sample(pcgpu_context *context, const pcgpu_register_params *params, const pcgpu_cloud *cloud,
                                double voxel, int most, pc_features *f) {
    pcgpu_registration ignored = {0};
    pcgpu_register_params own = *params;
    own.method = PCGPU_REGISTER_POINT; /* which takes no normals */
    pc_register_work w = {.context = context, .backend = context->cpu, .params = &own, .result = &ignored};
    pc_rows all = {0};
    pcgpu_status status;
    pc_features_free(f);
    PC_TRY_OR(done, status, pc_rows_select(&w, cloud, &all));
    f->voxel = fmax(voxel, span_of(&all) / MOST_CELLS); /* where a grid can have it */
    while (all.n > 0 && f->voxel > 0.0) {               /* 0: of points at one place */
        PC_TRY_OR(done, status, pc_rows_downsample(&w, &all, f->voxel, &f->points));
        if (f->points.n <= most) {
            f->n = (int)f->points.n;
            break;
        }
        f->voxel *= 2.0;
    }
done:
    pc_rows_free(&all);
    return status;
}

void pc_features_free(pc_features *features) {
    pc_rows_free(&features->points);
    free(features->descriptors);
    *features = (pc_features){0};
}

/* ---- the search -------------------------------------------------------------------------------------------------- */

/* The levels of ndt whose coarsest cells are as wide as START_VOXELS of the features: starts are off by about one. */
static int levels_for(const pcgpu_register_params *params, double voxel) {
    int levels = FEWEST_LEVELS;
    while (levels < PC_NDT_MAX_LEVELS && 2.0 * params->voxel * (double)(1 << (levels - 1)) < START_VOXELS * voxel) {
        levels++;
    }
    return levels;
}

/* T of points as they are becomes that of the coordinates of the files. */
static void add_offsets(const pcgpu_cloud *source, const pcgpu_cloud *target, double T[16]) {
    for (int k = 0; k < 3; k++) {
        const double *row = T + 4 * k, *s = source->offset;
        T[4 * k + 3] += target->offset[k] - ((row[0] * s[0] + row[1] * s[1]) + row[2] * s[2]);
    }
}

pcgpu_status pc_features_starts(pcgpu_context *context, const pcgpu_register_params *params,
                                const pc_features *of_source, const pc_features *of_target, const pcgpu_cloud *source,
                                const pcgpu_cloud *target, pc_start starts[PC_STARTS], int *count) {
    pc_match *matches = malloc(PC_MATCHES_MOST * sizeof *matches);
    int found = 0;
    pcgpu_status status;
    *count = 0;
    if (!matches) {
        return pc_fail_memory(context, PC_MATCHES_MOST * sizeof *matches, "the features");
    }
    PC_TRY_OR(done, status, pc_features_match(context, of_source, of_target, matches, &found));
    PC_TRY_OR(done, status, pc_features_agree(context, of_source, of_target, matches, found, starts, count));
    for (int i = 0; i < *count; i++) {
        starts[i].levels = levels_for(params, of_source->voxel);
        add_offsets(source, target, starts[i].T);
    }
done:
    free(matches);
    return status;
}

/* Whether both clouds were seen from their origins, as scans are, and not maps and objects. */
static bool seen_from_origins(pcgpu_context *context, const pcgpu_cloud *clouds[2], double voxel) {
    pc_view *views[2] = {NULL, NULL};
    pc_seen seen[2];
    pc_register_see(clouds[0], clouds[1], seen, views);
    pc_view_make(context, seen, 2, voxel);
    const bool both = pc_view_is_from_origin(views[0]) && pc_view_is_from_origin(views[1]);
    pc_view_drop(&views[0]);
    pc_view_drop(&views[1]);
    return both;
}

/* Of both clouds, with one size of voxels. */
static pcgpu_status make_features(pcgpu_context *context, const pcgpu_register_params *params,
                                  const pcgpu_cloud *clouds[2], pc_features f[2]) {
    double voxel = params->voxel, extent;
    if (voxel <= 0.0) {
        PC_TRY(pc_scan_spacing(context, clouds[1], params->drop_origin, &voxel, &extent));
    }
    for (int i = 0; i < 2; i++) {
        PC_TRY(pc_features_sample(context, params, clouds[i], voxel, PC_FEATURES_MOST, &f[i]));
    }
    const double common = fmax(f[0].voxel, f[1].voxel);
    for (int i = 0; i < 2; i++) {
        PC_TRY(f[i].voxel < common ? pc_features_sample(context, params, clouds[i], common, PC_FEATURES_MOST, &f[i])
                                   : PCGPU_OK);
    }
    const bool from_sensors = f[0].n > 0 && f[1].n > 0 && seen_from_origins(context, clouds, params->voxel);
    for (int i = 0; i < 2; i++) {
        PC_TRY(pc_features_describe(context, clouds[i], from_sensors, &f[i]));
    }
    return PCGPU_OK;
}

pcgpu_status pc_search_features(pcgpu_context *context, const pcgpu_register_params *params, double degrees,
                                const pcgpu_cloud *source, const pcgpu_cloud *target, pc_start starts[PC_STARTS],
                                int *count) {
    (void)degrees;
    pc_features f[2] = {{0}};
    pcgpu_status status;
    *count = 0;
    PC_TRY_OR(done, status, make_features(context, params, (const pcgpu_cloud *[2]){source, target}, f));
    PC_TRY_OR(done, status, pc_features_starts(context, params, &f[0], &f[1], source, target, starts, count));
done:
    pc_features_free(&f[0]);
    pc_features_free(&f[1]);
    return status;
}
