/* Any bytes as a cloud and the parameters of its filters: eight bytes choose the parameters, and three are a record.
 * What must hold: a wrong parameter is an error with a sentence and changes nothing; one thread and three give the same
 * bytes; only records that took part are removed; the results are those of loops over all pairs of records. Some clouds
 * are repeated until threads share them, without these loops. */
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

static const float *row(const input *in, int i) {
    return in->cloud.data + (int64_t)i * in->cloud.columns;
}

static float squared(const input *in, int i, int j) {
    const float *a = row(in, i), *b = row(in, j), dx = a[0] - b[0], dy = a[1] - b[1], dz = a[2] - b[2];
    return (dx * dx + dy * dy) + dz * dz;
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

static bool within(const input *in, int i, int j, float square) {
    return in->part[i] && in->part[j] && squared(in, i, j) < square;
}

static int count_within(const input *in, int i, float square) {
    int count = 0;
    for (int j = 0; j < in->n; j++) {
        count += within(in, i, j, square);
    }
    return count;
}

/* ---- outliers ---------------------------------------------------------------------------------------------------- */

/* The others that take part, by their squared distance, then by their index, at most `most`; returns their number. */
static int nearest(const input *in, int i, int most, bool itself, int *of) {
    int count = 0;
    for (int j = 0; j < in->n; j++) {
        const float d = squared(in, i, j);
        int at = count;
        if (!in->part[j] || (j == i && !itself)) {
            continue;
        }
        while (at > 0 && d < squared(in, i, of[at - 1])) {
            at--;
        }
        if (at < most) {
            count = count < most ? count + 1 : most;
            memmove(of + at + 1, of + at, sizeof *of * (size_t)(count - 1 - at));
            of[at] = j;
        }
    }
    return count;
}

static void compare_means(const input *in, int k, double sigmas, const uint8_t *mask) {
    double means[MOST], sum = 0, squares = 0;
    int of[MOST], n = 0;
    for (int i = 0; i < in->n; i++) {
        const int count = in->part[i] ? nearest(in, i, k, false, of) : 0;
        int finite = 0;
        means[i] = 0;
        for (; finite < count && isfinite(squared(in, i, of[finite])); finite++) {
            means[i] += (double)sqrtf(squared(in, i, of[finite]));
        }
        means[i] = finite > 0 ? means[i] / finite : -1;
        sum += finite > 0 ? means[i] : 0;
        n += finite > 0;
    }
    const double average = n > 0 ? sum / n : 0;
    for (int i = 0; i < in->n; i++) {
        squares += means[i] >= 0 ? (means[i] - average) * (means[i] - average) : 0;
    }
    const double threshold = average + sigmas * (n > 1 ? sqrt(squares / (n - 1)) : 0);
    for (int i = 0; i < in->n; i++) { /* sums in another order */
        const bool sure = fabs(means[i] - threshold) > 1e-9 * (fabs(threshold) + average * (1 + fabs(sigmas)));
        MUST(!sure || mask[i] == (in->part[i] && means[i] <= threshold));
    }
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
    if (!in->large) {
        compare_means(in, k, s, mask[0]);
    }
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
            const int count = in->large ? 0 : count_within(in, i, radius * radius) - 1;
            mask[t][i] = mask[t][i] != 0;
            MUST(in->large || mask[t][i] == (in->part[i] && (others == 0 || count >= others)));
        }
        MUST(found.removed == count_removed(in, mask[t]));
    }
    MUST(memcmp(mask[0], mask[1], (size_t)in->n) == 0);
    return true;
}

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

/* The clusters by spreading from the lowest record that connects others; returns their number. */
static int spread(const input *in, const pcgpu_cluster_params *p, int32_t *clusters) {
    const float square = p->distance * p->distance;
    bool core[MOST];
    int queue[MOST], sizes[MOST] = {0}, ids[MOST], count = 0, kept = 0;
    for (int i = 0; i < in->n; i++) {
        core[i] = in->part[i] && count_within(in, i, square) >= p->core;
        clusters[i] = -1;
    }
    for (int i = 0; i < in->n; i++) {
        int used = 0;
        if (core[i] && clusters[i] < 0) {
            queue[used++] = i;
            clusters[i] = count++;
        }
        for (int at = 0; at < used; at++) {
            for (int j = 0; j < in->n; j++) {
                if (core[j] && clusters[j] < 0 && within(in, queue[at], j, square)) {
                    clusters[j] = clusters[i];
                    queue[used++] = j;
                }
            }
        }
    }
    for (int i = 0; i < in->n; i++) {
        for (int j = 0; j < in->n && !core[i] && clusters[i] < 0; j++) {
            clusters[i] = core[j] && within(in, i, j, square) ? clusters[j] : -1;
        }
        sizes[clusters[i] >= 0 ? clusters[i] : MOST - 1] += clusters[i] >= 0;
    }
    for (int v = 0; v < count; v++) {
        ids[v] = sizes[v] >= p->least && (p->most == 0 || sizes[v] <= p->most) ? kept++ : -1;
    }
    for (int i = 0; i < in->n; i++) {
        clusters[i] = clusters[i] >= 0 ? ids[clusters[i]] : -1;
    }
    return kept;
}

/* The width along an axis of what takes part. */
static double width(const input *in, int axis) {
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < in->n; i++) {
        low = in->part[i] ? fminf(low, row(in, i)[axis]) : low;
        high = in->part[i] ? fmaxf(high, row(in, i)[axis]) : high;
    }
    return low <= high ? (double)high - (double)low : 0;
}

static bool check_clusters(const input *in) {
    static const float distances[] = {0.5f, 0.125f, 0.13f, 3, 1e-17f, 1e19f, 0, NAN};
    static const int64_t numbers[] = {1, 2, 5, 30, (int64_t)1 << 40, 0, -1};
    pcgpu_cluster_params p;
    int32_t clusters[THREADS][MOST], wanted[MOST];
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
        MUST(in->large || count == spread(in, &p, wanted));
        MUST(memcmp(clusters[t], in->large ? clusters[0] : wanted, sizeof *wanted * (size_t)in->n) == 0);
    }
    return true;
}

/* ---- normals ----------------------------------------------------------------------------------------------------- */

/* How much the neighbours of record i are spread along a direction, and in all. */
static double spread_along(const input *in, int i, const int *of, int count, const double axis[3], double *all) {
    double middle[3] = {0, 0, 0}, along = 0;
    *all = 0;
    for (int j = 0; j < 3 * count; j++) {
        middle[j % 3] += ((double)row(in, of[j / 3])[j % 3] - (double)row(in, i)[j % 3]) / count;
    }
    for (int j = 0; j < count; j++) {
        double d = 0;
        for (int c = 0; c < 3; c++) {
            const double e = ((double)row(in, of[j])[c] - (double)row(in, i)[c]) - middle[c];
            d += e * axis[c];
            *all += e * e;
        }
        along += d * d;
    }
    return along;
}

static void check_normal(const input *in, int i, int k, float radius, const double *viewpoint, const float n[4]) {
    int of[MOST], count = in->part[i] ? nearest(in, i, k, true, of) : 0;
    while (radius > 0 && count > 0 && !(squared(in, i, of[count - 1]) < radius * radius)) {
        count--;
    }
    const double length = sqrt((double)n[0] * (double)n[0] + (double)n[1] * (double)n[1] + (double)n[2] * (double)n[2]);
    const double normal[3] = {(double)n[0], (double)n[1], (double)n[2]};
    double all = 0, toward = 0, far = 0;
    if (length == 0) {
        const double none[3] = {0, 0, 0};
        spread_along(in, i, of, count, none, &all);
        MUST(n[3] == 0.0f && (count < 3 || all == 0));
        return;
    }
    const double least = spread_along(in, i, of, count, normal, &all);
    MUST(count >= 3 && fabs(length - 1) < 1e-6 && n[3] >= 0.0f && (double)n[3] < 1.0 / 3 + 1e-6);
    MUST(fabs((double)n[3] - least / all) < 1e-5);
    for (int axis = 0; axis < 13; axis++) { /* no other direction has less */
        double other[3] = {axis % 3 - 1, axis / 3 % 3 - 1, axis / 9 - 1}, some;
        const double size = sqrt(other[0] * other[0] + other[1] * other[1] + other[2] * other[2]);
        for (int c = 0; c < 3; c++) {
            other[c] /= size;
        }
        MUST(least <= spread_along(in, i, of, count, other, &some) + 1e-5 * all);
    }
    for (int c = 0; c < 3; c++) {
        const double way = (viewpoint ? viewpoint[c] : 0) - in->cloud.offset[c] - (double)row(in, i)[c];
        toward += normal[c] * way;
        far += fabs(way);
    }
    MUST(toward >= -1e-6 * far);
}

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
    for (int i = 0; i < in->n && !in->large; i++) {
        check_normal(in, i, k, radius, from, normals[0] + 4 * i);
    }
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
