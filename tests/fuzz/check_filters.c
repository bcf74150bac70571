/* Any bytes as a cloud and the parameters of its filters: eight bytes choose the parameters, and three are a record.
 * What must hold: a wrong parameter is an error with a sentence and changes nothing; one thread and three give the same
 * bytes; only records that took part are removed. Some clouds are repeated until threads share them. What is removed is
 * compared with loops over all pairs in tests/oracle/test_filter.py. */
#include "fuzz.h"

#include "pcgpu.h"

#include <math.h>
#include <string.h>

enum { HEAD = 8, SMALL = 256, MOST = 9000, THREADS = 2, SLOW_WORK = 200000 };

typedef struct input {
    const uint8_t *head;
    pcgpu_cloud cloud; /* x y z and up to three more columns */
    int n;
    bool large;         /* a repeated cloud */
    uint8_t mask[MOST]; /* of the caller: any byte but 0 takes part */
    uint8_t part[MOST]; /* and is finite */
    pcgpu_context *context[THREADS];
} input;

/* Whole multiples of a unit, so that many distances are equal, and at the ends what a damaged file has. */
static float coordinate(uint8_t code, uint8_t unit) {
    static const float units[] = {0.125f, 0.1f, 1.0f, 1e-20f, 1e17f};
    static const float hostile[] = {NAN,   INFINITY, -INFINITY, 3.4e38f, -3.4e38f, 1e19f, -1e19f, 1e-40f,
                                    -0.0f, 1e9f,     1e6f,      -1e6f,   100.1f,   1e30f, 2e-23f, 16777217.0f};
    return code >= 240 ? hostile[code - 240] : (float)(code - 120) * units[unit % 5];
}

/* Whether a status is that of good parameters; an error has a sentence. */
static bool is_good(const input *in, int t, pcgpu_status status, bool good) {
    MUST(status == (good ? PCGPU_OK : PCGPU_ERROR_ARGUMENT));
    MUST(good || *pcgpu_last_error(in->context[t]));
    return good;
}

/* The number of records that took part and are not in the mask any more. */
static int count_removed(const input *in, const uint8_t *mask) {
    int removed = 0;
    for (int i = 0; i < in->n; i++) {
        MUST(mask[i] == 0 || (in->part[i] && mask[i] == 1));
        removed += in->part[i] && !mask[i];
    }
    return removed;
}

static bool check_outliers(const input *in) {
    static const int ks[] = {1, 2, 5, 20, 127, 0, 128, -1};
    static const double sigmas[] = {2, 1, 0, -1, 1e300, -1e300, NAN, INFINITY};
    const int k = ks[in->head[0] % 8];
    const double s = sigmas[in->head[1] % 8];
    const bool good = k > 0 && k < 128 && isfinite(s);
    uint8_t mask[THREADS][MOST];
    pcgpu_outliers found[THREADS];
    for (int t = 0; t < THREADS; t++) {
        memcpy(mask[t], in->mask, sizeof mask[t]);
        if (!is_good(in, t, pcgpu_find_outliers(in->context[t], &in->cloud, k, s, mask[t], &found[t]), good)) {
            MUST(memcmp(mask[t], in->mask, (size_t)in->n) == 0);
            return false;
        }
        for (int i = 0; i < in->n; i++) {
            mask[t][i] = mask[t][i] != 0;
        }
        MUST(found[t].removed == count_removed(in, mask[t]));
    }
    MUST(memcmp(mask[0], mask[1], (size_t)in->n) == 0 && found[0].threshold == found[1].threshold);
    return true;
}

static bool check_sparse(const input *in) {
    static const float radii[] = {0.5f, 0.125f, 3, 1e-30f, 1e19f, 0, NAN, 1e20f};
    static const int64_t numbers[] = {1, 0, 6, (int64_t)1 << 40, -1};
    const float radius = radii[in->head[2] % 8];
    const int64_t others = numbers[in->head[3] % 5];
    const bool good = others >= 0 && radius > 0 && isfinite(radius * radius);
    uint8_t mask[THREADS][MOST];
    for (int t = 0; t < THREADS; t++) {
        pcgpu_outliers found;
        memcpy(mask[t], in->mask, sizeof mask[t]);
        if (!is_good(in, t, pcgpu_find_sparse(in->context[t], &in->cloud, radius, others, mask[t], &found), good)) {
            MUST(memcmp(mask[t], in->mask, (size_t)in->n) == 0);
            return false;
        }
        for (int i = 0; i < in->n; i++) {
            mask[t][i] = mask[t][i] != 0;
        }
        MUST(found.removed == count_removed(in, mask[t]));
    }
    MUST(memcmp(mask[0], mask[1], (size_t)in->n) == 0);
    return true;
}

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

/* The width along an axis of what takes part. */
static double width(const input *in, int axis) {
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < in->n; i++) {
        low = in->part[i] ? fminf(low, in->cloud.data[(int64_t)i * in->cloud.columns + axis]) : low;
        high = in->part[i] ? fmaxf(high, in->cloud.data[(int64_t)i * in->cloud.columns + axis]) : high;
    }
    return low <= high ? (double)high - (double)low : 0;
}

static bool check_clusters(const input *in) {
    static const float distances[] = {0.5f, 0.125f, 0.13f, 3, 1e-17f, 1e19f, 0, NAN};
    static const int64_t numbers[] = {1, 2, 5, 30, (int64_t)1 << 40, 0, -1};
    pcgpu_cluster_params p;
    int32_t clusters[THREADS][MOST];
    pcgpu_cluster_params_init(&p);
    p.distance = distances[in->head[2] % 8];
    p.core = numbers[in->head[3] % 7];
    p.least = numbers[in->head[4] % 7];
    p.most = numbers[in->head[4] / 7 % 7];
    const bool good = p.distance > 0 && isfinite(p.distance * p.distance) && p.core > 0 && p.least > 0 && p.most >= 0 &&
                      (p.most == 0 || p.most >= p.least);
    for (int t = 0; t < THREADS; t++) {
        int64_t count;
        pcgpu_run run;
        const pcgpu_status status =
            pcgpu_find_clusters(in->context[t], &in->cloud, &p, in->mask, clusters[t], &count, &run);
        if (good && status == PCGPU_ERROR_ARGUMENT &&
            fmax(fmax(width(in, 0), width(in, 1)), width(in, 2)) > 1e6 * (double)p.distance) {
            return true;
        }
        if (!is_good(in, t, status, good)) {
            return false;
        }
        for (int i = 0; i < in->n; i++) {
            MUST(clusters[t][i] >= -1 && clusters[t][i] < count && (in->part[i] || clusters[t][i] == -1));
        }
        MUST(memcmp(clusters[t], clusters[0], sizeof clusters[0][0] * (size_t)in->n) == 0);
    }
    return true;
}

/* ---- normals ----------------------------------------------------------------------------------------------------- */

static bool check_normals(const input *in) {
    static const int ks[] = {16, 3, 5, 128, 2, 129};
    static const float radii[] = {0, 0.5f, 3, 1e-30f, -1, NAN};
    static const double viewpoint[3] = {5, -3, 1e6};
    const int k = ks[in->head[5] % 6];
    const float radius = radii[in->head[5] / 6 % 6];
    const double *from = in->head[7] % 2 ? viewpoint : NULL;
    const bool good = k >= 3 && k <= 128 && radius >= 0;
    float normals[THREADS][4 * MOST];
    for (int t = 0; t < THREADS; t++) {
        pcgpu_run run;
        const pcgpu_status status =
            pcgpu_find_normals(in->context[t], &in->cloud, k, radius, from, in->mask, normals[t], &run);
        if (!is_good(in, t, status, good)) {
            return false;
        }
    }
    MUST(memcmp(normals[0], normals[1], 4 * sizeof(float) * (size_t)in->n) == 0);
    return true;
}

/* ---- ground ------------------------------------------------------------------------------------------------------ */

static bool check_ground(const input *in, uint32_t hash) {
    static const float slopes[] = {0.2f, 0.01f, 10, 0.001f, NAN}, tolerances[] = {0, 0.001f, 100, -1, INFINITY},
                       cells[] = {0, 0.1f, 0.75f, 1000, 0.01f};
    pcgpu_ground_params p;
    pcgpu_ground_params_init(&p);
    p.slope = slopes[in->head[6] % 5];
    p.tolerance = tolerances[in->head[6] / 5 % 5];
    p.cell_size = cells[in->head[6] / 25 % 5];
    const bool good = in->head[6] % 5 < 3 && in->head[6] / 5 % 5 < 3 && in->head[6] / 25 % 5 < 4;
    uint8_t ground[THREADS][MOST];
    const double cell = p.cell_size > 0 ? (double)p.cell_size : 0.5, windows = 18 / cell + 1;
    const double work = (width(in, 0) / cell + 1) * (width(in, 1) / cell + 1) * windows;
    if (good && work > SLOW_WORK && (hash % 64 || windows > 2)) {
        return true; /* it would take a second */
    }
    for (int t = 0; t < THREADS; t++) {
        memcpy(ground[t], in->mask, sizeof ground[t]);
        if (!is_good(in, t, pcgpu_find_ground(in->context[t], &in->cloud, &p, ground[t], NULL), good)) {
            return false;
        }
        count_removed(in, ground[t]);
    }
    MUST(memcmp(ground[0], ground[1], (size_t)in->n) == 0);
    return true;
}

int fuzz_check_filters(const uint8_t *data, size_t size) {
    static input in;
    uint32_t hash = 2166136261u;
    if (size < HEAD) {
        return 0;
    }
    const int n = (size - HEAD) / 3 < SMALL ? (int)((size - HEAD) / 3) : SMALL;
    for (int i = 0; i < HEAD + 3 * n; i++) {
        hash = (hash ^ data[i]) * 16777619u;
    }
    in = (input){.head = data, .n = n, .large = n > 0 && hash % 256 == 0};
    in.n = in.large ? MOST : n;
    in.context[0] = test_open(PCGPU_DEVICE_CPU, 1);
    in.context[1] = test_open(PCGPU_DEVICE_CPU, 3);
    MUST(pcgpu_cloud_create(in.context[0], in.n, 3 + data[7] % 4, &in.cloud) == PCGPU_OK);
    memset(in.cloud.data, 0xff, (size_t)in.n * (size_t)in.cloud.columns * sizeof *in.cloud.data);
    for (int i = 0; i < in.n; i++) {
        float *p = in.cloud.data + (int64_t)i * in.cloud.columns;
        for (int k = 0; k < 3; k++) {
            p[k] = coordinate(data[HEAD + 3 * (i % n) + k], data[7] / 4) + (float)(i / n * (k < 2));
        }
        in.mask[i] = data[5] / 36 == 0 || i % (data[5] / 36 + 1) ? (uint8_t)(1 + i % 255) : 0;
        in.part[i] = in.mask[i] && isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]);
    }
    bool good = check_outliers(&in);
    good = check_sparse(&in) && good;
    good = check_clusters(&in) && good;
    good = check_normals(&in) && good;
    good = check_ground(&in, hash) && good;
    pcgpu_cloud_free(&in.cloud);
    pcgpu_close(in.context[0]);
    pcgpu_close(in.context[1]);
    return good;
}
