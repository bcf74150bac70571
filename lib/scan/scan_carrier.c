/* What carries the sensor. A scanner on a car or a robot sees its roof, mirrors or frame at the same place in every
 * scan, which pulls each registration towards "no motion". Returns near the sensor that another scan has at the same
 * place, in the coordinates of the sensor, are those of the carrier or of ground next to it, and are left out.
 *
 * Near is a small part of the distance that the scan reaches, or within the length of half a car where that is not most
 * of it. Scans with few returns there have no carrier. */
#include "scan.h"

#include <string.h>

#define NEAR_SHARE  0.05f /* of the range that 97 of 100 points keep */
#define CAR_METRES  3.0f  /* or this, */
#define CAR_SHARE   0.2f  /* but no more of that range than this */
#define LEAST_SHARE 0.05  /* of the points, near the sensor */

enum { SAMPLES = PC_SAMPLED_RANGES, SIDE = PC_CARRIER_SIDE, PARTS = 16 };

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

static float range_of(const pc_sampled *sampled, int64_t i) {
    const float *from = pc_sampled_record(sampled, PC_SAMPLE_RANGES, i);
    double p[3];
    for (int k = 0; k < 3; k++) {
        p[k] = sampled->cloud->offset[k] + (double)from[k];
    }
    return (float)sqrt((p[0] * p[0] + p[1] * p[1]) + p[2] * p[2]);
}

/* Up to SAMPLES ranges of points that are not at the origin, spread over the cloud. */
static int sample_ranges(const pc_sampled *from, float ranges[SAMPLES]) {
    const int64_t count = pc_sampling_count(PC_SAMPLE_RANGES, from->cloud->rows);
    int n = 0;
    for (int64_t i = 0; i < count && n < SAMPLES; i++) {
        const float range = range_of(from, i);
        ranges[n] = range;
        n += range > 0.0f && range < INFINITY;
    }
    return n;
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
        if (pc_carrier_cell(m->carrier->radius, cloud->offset, cloud->data + i * cloud->columns, c)) {
            mark(m->carrier, c);
        }
    }
}

float pc_carrier_radius(const pcgpu_register_params *params, const pc_sampled *from) {
    float ranges[SAMPLES];
    int near = 0;
    const int n = sample_ranges(from, ranges);
    const float reach = n > 0 ? pc_select_value(ranges, n, n * 97 / 100) : 0.0f;
    const float radius = fmaxf(NEAR_SHARE * reach, fminf(CAR_METRES, CAR_SHARE * reach));
    for (int i = 0; i < n; i++) {
        near += ranges[i] < radius;
    }
    return params->keep_carrier || (double)near < LEAST_SHARE * (double)n || near == 0 ? 0.0f : radius;
}

void pc_carrier_find(pcgpu_context *context, const pcgpu_register_params *params, const pcgpu_cloud *cloud,
                     pc_carrier *carrier) {
    const pc_sampled from = {cloud, NULL};
    marking m = {.cloud = cloud, .carrier = carrier};
    *carrier = (pc_carrier){.radius = pc_carrier_radius(params, &from)};
    if (carrier->radius > 0.0f) {
        pc_run_parts(context, PARTS, mark_part, &m);
    }
}

bool pc_carrier_has(const pc_carrier *carrier, int part, const double offset[3], const float *record) {
    int c[3];
    return pc_carrier_cell(carrier->radius, offset, record, c) && pc_carrier_is_within(part, c) &&
           (carrier->bits[c[1] * SIDE + c[0]] >> c[2] & 1u);
}
