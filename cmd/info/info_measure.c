/* Measures a cloud for info. All sums are in the order of the records. */
#include "cloud.h"
#include "info.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { QUERIES = 512, FEWEST_QUERIES = 64, WORK = 1 << 26, SAMPLE = 4096, SIDE = 2048 };

#define NEAR     0.01 /* of the spacing: nearer positions are near-duplicates */
#define FAR_AWAY 10.0 /* extents of nearly all points, from these: outliers */
#define CELL     16.0 /* spacings */

static const float *row(const pcgpu_cloud *cloud, int64_t i) {
    return cloud->data + i * cloud->columns;
}

/* A point that says something about the cloud. */
static bool counts(const pcgpu_cloud *cloud, const float *p) {
    return pc_cloud_usable(cloud, p, true);
}

static column_info measure_column(const pcgpu_cloud *cloud, int column) {
    column_info c = {.low = NAN, .high = NAN, .mean = NAN};
    double sum = 0;
    int64_t n = 0;
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float v = row(cloud, i)[column];
        if (!isfinite(v)) {
            c.non_finite++;
            continue;
        }
        c.low = n == 0 || v < c.low ? v : c.low;
        c.high = n == 0 || v > c.high ? v : c.high;
        sum += (double)v;
        n++;
    }
    c.mean = n ? sum / (double)n + cloud->offset[column] : NAN;
    return c;
}

/* ---- duplicates -------------------------------------------------------------------------------------------------- */

typedef struct position {
    uint32_t bits[3];
} position;

static int compare_positions(const void *a, const void *b) {
    return memcmp(a, b, sizeof(position));
}

/* Finite points whose coordinates have the same bits as those of an earlier point. False without memory. */
static bool count_duplicates(const pcgpu_cloud *cloud, int64_t *count) {
    size_t rows = (size_t)cloud->rows, n = 0;
    position *p = malloc(rows ? rows * sizeof *p : 1);
    *count = 0;
    for (size_t i = 0; p && i < rows; i++) {
        const float *from = row(cloud, (int64_t)i);
        if (pc_is_finite3(from[0], from[1], from[2])) {
            memcpy(&p[n++], from, sizeof *p);
        }
    }
    if (p) {
        qsort(p, n, sizeof *p, compare_positions);
    }
    for (size_t i = 1; p && i < n; i++) {
        *count += memcmp(&p[i], &p[i - 1], sizeof *p) == 0;
    }
    free(p);
    return p;
}

/* ---- spacing ----------------------------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

typedef struct queries {
    int n;
    float x[QUERIES], y[QUERIES], z[QUERIES], best[QUERIES];
} queries;

/* Points at equal distances in the file, so many that the search takes a fraction of a second. */
static void choose_queries(const pcgpu_cloud *cloud, queries *q) {
    int64_t most = cloud->rows > 0 ? WORK / cloud->rows : 0;
    most = most < FEWEST_QUERIES ? FEWEST_QUERIES : most > QUERIES ? QUERIES : most;
    most = most < cloud->rows ? most : cloud->rows;
    q->n = 0;
    for (int64_t i = 0; i < most; i++) {
        const float *p = row(cloud, (2 * i + 1) * cloud->rows / (2 * most));
        if (counts(cloud, p)) {
            q->x[q->n] = p[0], q->y[q->n] = p[1], q->z[q->n] = p[2];
            q->best[q->n++] = INFINITY;
        }
    }
}

/* The squared distances to the nearest other position; a loop that compilers vectorize. */
static void look_for_nearest(const pcgpu_cloud *cloud, queries *q) {
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *p = row(cloud, i);
        if (!counts(cloud, p)) {
            continue;
        }
        const float x = p[0], y = p[1], z = p[2];
        for (int k = 0; k < q->n; k++) {
            const float dx = q->x[k] - x, dy = q->y[k] - y, dz = q->z[k] - z, d = (dx * dx + dy * dy) + dz * dz;
            q->best[k] = ((d > 0.0f) & (d < q->best[k])) ? d : q->best[k];
        }
    }
}

static void measure_spacing(const pcgpu_cloud *cloud, cloud_info *info) {
    queries q;
    int n = 0, near = 0;
    choose_queries(cloud, &q);
    look_for_nearest(cloud, &q);
    for (int k = 0; k < q.n; k++) {
        if (q.best[k] < INFINITY) {
            q.best[n++] = sqrtf(q.best[k]);
        }
    }
    qsort(q.best, (size_t)n, sizeof q.best[0], ascending);
    info->spacing[0] = n ? (double)q.best[n / 10] : NAN;
    info->spacing[1] = n ? (double)q.best[n / 2] : NAN;
    info->spacing[2] = n ? (double)q.best[n - 1 - n / 10] : NAN;
    while (near < n && (double)q.best[near] < NEAR * info->spacing[1]) {
        near++;
    }
    info->near_duplicates = n ? (double)near / n : 0.0;
}

/* ---- outliers and density ---------------------------------------------------------------------------------------- */

/* The box of nearly all points: 99 of 100 on each axis, of a sample. *found: there are points. False without
 * memory. */
static bool find_core(const pcgpu_cloud *cloud, float low[3], float high[3], bool *found) {
    static const int64_t most = SAMPLE;
    const int64_t take = cloud->rows < most ? cloud->rows : most;
    float *values = malloc((size_t)most * sizeof *values);
    int n = 0;
    for (int k = 0; k < 3 && values; k++) {
        n = 0;
        for (int64_t i = 0; i < take; i++) {
            const float *p = row(cloud, (2 * i + 1) * cloud->rows / (2 * take));
            if (counts(cloud, p)) {
                values[n++] = p[k];
            }
        }
        if (n > 0) {
            qsort(values, (size_t)n, sizeof *values, ascending);
            low[k] = values[n / 200];
            high[k] = values[n - 1 - n / 200];
        }
    }
    const bool good = values;
    free(values);
    *found = n > 0;
    return good;
}

static void count_outliers(const pcgpu_cloud *cloud, const float low[3], const float high[3], cloud_info *info) {
    double wide = 0;
    for (int k = 0; k < 3; k++) {
        wide = fmax(wide, (double)high[k] - (double)low[k]);
    }
    for (int64_t i = 0; i < cloud->rows && wide > 0; i++) {
        const float *p = row(cloud, i);
        bool far = false;
        for (int k = 0; k < 3; k++) {
            far = far || (double)p[k] < (double)low[k] - FAR_AWAY * wide ||
                  (double)p[k] > (double)high[k] + FAR_AWAY * wide;
        }
        if (far && counts(cloud, p)) {
            info->first_outlier = info->outliers++ == 0 ? i : info->first_outlier;
        }
    }
}

/* Points of the box by occupied columns of CELL spacings. False without memory. */
static bool measure_density(const pcgpu_cloud *cloud, const float low[3], const float high[3], cloud_info *info) {
    const double wide = fmax((double)high[0] - (double)low[0], (double)high[1] - (double)low[1]);
    const double cell = fmax(CELL * info->spacing[1], wide / (SIDE - 1));
    unsigned char *seen = calloc((size_t)SIDE * SIDE, 1);
    int64_t points = 0, cells = 0;
    for (int64_t i = 0; i < cloud->rows && seen && cell > 0; i++) {
        const float *p = row(cloud, i);
        const double x = ((double)p[0] - (double)low[0]) / cell, y = ((double)p[1] - (double)low[1]) / cell;
        if (counts(cloud, p) && x >= 0 && y >= 0 && p[0] <= high[0] && p[1] <= high[1]) {
            unsigned char *at = &seen[(size_t)y * SIDE + (size_t)x];
            cells += !*at;
            *at = 1;
            points++;
        }
    }
    const bool good = seen;
    free(seen);
    info->cell = cell;
    info->density = cells > 0 ? (double)points / ((double)cells * cell * cell) : NAN;
    return good;
}

bool cloud_measure(const pcgpu_cloud *cloud, cloud_info *info) {
    float low[3], high[3];
    bool found;
    *info = (cloud_info){.density = NAN, .cell = NAN};
    for (int k = 0; k < cloud->columns; k++) {
        info->columns[k] = measure_column(cloud, k);
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *p = row(cloud, i);
        info->non_finite += !pc_is_finite3(p[0], p[1], p[2]);
        info->at_origin += pc_at_origin(cloud, p);
    }
    for (int k = 0; k < 3; k++) {
        info->extent[k] = (double)info->columns[k].high - (double)info->columns[k].low;
    }
    measure_spacing(cloud, info);
    if (!find_core(cloud, low, high, &found)) {
        return false;
    }
    if (found) {
        count_outliers(cloud, low, high, info);
        if (info->spacing[1] > 0 && !measure_density(cloud, low, high, info)) {
            return false;
        }
    }
    return count_duplicates(cloud, &info->duplicates);
}
