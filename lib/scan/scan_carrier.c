/* What carries the sensor. A scanner on a car or a robot sees its roof, mirrors or frame at the same place in every
 * scan, which pulls each registration towards "no motion". Returns near the sensor that another scan has at the same
 * place, in the coordinates of the sensor, are those of the carrier and are left out, but for those on the plane that
 * most of the scan around them is on: the ground stays in place too, and is part of the scene.
 *
 * Near is a small part of the distance that the scan reaches, or within the length of half a car where that is not most
 * of it. Scans with few returns there, off the plane, have no carrier. */
#include "scan.h"

#include <string.h>

#define NEAR_SHARE  0.05f /* of the range that 97 of 100 points keep */
#define CAR_METRES  3.0f  /* or this, */
#define CAR_SHARE   0.2f  /* but no more of that range than this */
#define LEAST_SHARE 0.05  /* of the points, near the sensor and off the plane */

/* The plane: of points up to so many radii away; half of its thickness, in radii; and the share of them that it has. */
#define PLANE_REACH 5.0f
#define PLANE_THICK 0.03f
#define PLANE_SHARE 0.3

enum { SAMPLES = 761, SIDE = PC_CARRIER_SIDE, PARTS = 16, PLANES = 64 };

float pc_select_value(float *v, int n, int k) {
    int low = 0, high = n - 1;
    while (low < high) {
        const float pivot = v[(low + high) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot) {
                i++;
            }
            while (v[j] > pivot) {
                j--;
            }
            if (i <= j) {
                const float t = v[i];
                v[i++] = v[j];
                v[j--] = t;
            }
        }
        if (k <= j) {
            high = j;
        } else if (k >= i) {
            low = i;
        } else {
            break;
        }
    }
    return v[k];
}

/* A point and its range. */
typedef struct sample {
    float p[3], range;
} sample;

/* Up to SAMPLES points that are not at the origin, spread over the cloud. */
static int take_samples(const pcgpu_cloud *cloud, sample samples[SAMPLES]) {
    const int64_t every = cloud->rows / SAMPLES > 1 ? cloud->rows / SAMPLES : 1;
    int n = 0;
    for (int64_t i = 0; i < cloud->rows && n < SAMPLES; i += every) {
        float *p = samples[n].p;
        for (int k = 0; k < 3; k++) {
            p[k] = (float)(cloud->offset[k] + (double)cloud->data[i * cloud->columns + k]);
        }
        samples[n].range = sqrtf((p[0] * p[0] + p[1] * p[1]) + p[2] * p[2]);
        n += samples[n].range > 0.0f && samples[n].range < INFINITY;
    }
    return n;
}

static float height_above(const float plane[4], const float p[3]) {
    return fabsf(((plane[0] * p[0] + plane[1] * p[1]) + plane[2] * p[2]) + plane[3]);
}

/* The plane through three points; false where they are in line. */
static bool plane_through(const float *a, const float *b, const float *c, float plane[4]) {
    float u[3], v[3];
    for (int k = 0; k < 3; k++) {
        u[k] = b[k] - a[k], v[k] = c[k] - a[k];
    }
    const float n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
    const float length = sqrtf((n[0] * n[0] + n[1] * n[1]) + n[2] * n[2]);
    for (int k = 0; k < 3; k++) {
        plane[k] = n[k] / (length > 0.0f ? length : 1.0f);
    }
    plane[3] = -((plane[0] * a[0] + plane[1] * a[1]) + plane[2] * a[2]);
    return length > 0.0f;
}

/* The plane with most of the samples beyond the radius but not far (Fischler and Bolles 1981), which come first then;
 * where there is none, `best` stays. */
static void find_plane(sample *samples, int n, float radius, float best[4]) {
    uint32_t state = 1, pick[3];
    int count = 0, most = 0;
    for (int i = 0; i < n; i++) {
        const sample s = samples[i];
        samples[i] = samples[count];
        samples[count] = s;
        count += s.range >= radius && s.range < PLANE_REACH * radius;
    }
    for (int t = 0; t < PLANES && count >= 3; t++) {
        float plane[4];
        int on = 0;
        for (int k = 0; k < 3; k++) {
            state = state * 1664525u + 1013904223u;
            pick[k] = (uint32_t)(((uint64_t)state * (uint32_t)count) >> 32);
        }
        const bool good = plane_through(samples[pick[0]].p, samples[pick[1]].p, samples[pick[2]].p, plane);
        for (int i = 0; i < count && good; i++) {
            on += height_above(plane, samples[i].p) < PLANE_THICK * radius;
        }
        if (on > most && (double)on >= PLANE_SHARE * (double)count) {
            most = on;
            memcpy(best, plane, sizeof plane);
        }
    }
}

/* The cell of a point within the radius and off the plane; false for others. */
static inline bool cell_of(const pc_carrier *carrier, const double offset[3], const float *record, int c[3]) {
    const double per = 0.5 * SIDE / (double)carrier->radius;
    float p[3];
    for (int k = 0; k < 3; k++) {
        const double at = offset[k] + (double)record[k], v = at * per + 0.5 * SIDE;
        if (!(v >= 0.0 && v < SIDE)) {
            return false;
        }
        p[k] = (float)at;
        c[k] = (int)v;
    }
    return height_above(carrier->plane, p) >= PLANE_THICK * carrier->radius;
}

/* Marks the cell of a return and those next to it. */
static void mark(pc_carrier *carrier, const int c[3]) {
    const uint32_t here = UINT32_C(1) << c[2], column = here | here << 1 | here >> 1;
    for (int x = c[0] - 1; x <= c[0] + 1; x++) {
        for (int y = c[1] - 1; y <= c[1] + 1; y++) {
            uint32_t *bits = x >= 0 && x < SIDE && y >= 0 && y < SIDE ? &carrier->bits[y * SIDE + x] : NULL;
            if (bits && (__atomic_load_n(bits, __ATOMIC_RELAXED) & column) != column) {
                __atomic_fetch_or(bits, column, __ATOMIC_RELAXED); /* in any order: threads share the cells */
            }
        }
    }
}

/* Near returns of parts of a cloud, which threads mark. */
typedef struct marking {
    const pcgpu_cloud *cloud;
    pc_carrier *carrier;
} marking;

static void mark_part(void *state, int part) {
    marking *m = state;
    const pcgpu_cloud *cloud = m->cloud;
    const int64_t end = cloud->rows * (part + 1) / PARTS;
    int c[3];
    for (int64_t i = cloud->rows * part / PARTS; i < end; i++) {
        if (cell_of(m->carrier, cloud->offset, cloud->data + i * cloud->columns, c)) {
            mark(m->carrier, c);
        }
    }
}

/* Whether enough samples are near the sensor and off the plane. */
static bool has_returns(const sample *samples, int n, float radius, const float plane[4]) {
    int near = 0;
    for (int i = 0; i < n; i++) {
        near += samples[i].range < radius && height_above(plane, samples[i].p) >= PLANE_THICK * radius;
    }
    return near > 0 && (double)near >= LEAST_SHARE * (double)n;
}

void pc_carrier_find(pcgpu_context *context, const pcgpu_register_params *params, const pcgpu_cloud *cloud,
                     pc_carrier *carrier) {
    sample samples[SAMPLES];
    float ranges[SAMPLES];
    const int n = take_samples(cloud, samples);
    *carrier = (pc_carrier){.plane = {0, 0, 0, INFINITY}};
    for (int i = 0; i < n; i++) {
        ranges[i] = samples[i].range;
    }
    const float reach = n > 0 ? pc_select_value(ranges, n, n * 97 / 100) : 0.0f;
    const float radius = fmaxf(NEAR_SHARE * reach, fminf(CAR_METRES, CAR_SHARE * reach));
    if (params->keep_carrier || !has_returns(samples, n, radius, carrier->plane)) {
        return;
    }
    find_plane(samples, n, radius, carrier->plane);
    if (!has_returns(samples, n, radius, carrier->plane)) {
        return;
    }
    marking m = {.cloud = cloud, .carrier = carrier};
    carrier->radius = radius;
    pc_run_parts(context, PARTS, mark_part, &m);
}

bool pc_carrier_has(const pc_carrier *carrier, const double offset[3], const float *record) {
    int c[3];
    return cell_of(carrier, offset, record, c) && (carrier->bits[c[1] * SIDE + c[0]] >> c[2] & 1u);
}
