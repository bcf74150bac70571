/* pcgpu_register_device against pcgpu_register_pairs of the same clouds on the CPU: everything that a registration
 * reports, but for times and names. */
#include "device_arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scans of a street. Kinds: as it is; with a carrier; with so large a carrier that half of its radius counts, or more
 * than is left out; with NaN, infinities and points at the origin; the same in other columns, with an offset; far from
 * 0; a depth camera's; no point; one; few; a flat patch; too far apart for voxels. */
enum { STREET, CARRIER, LARGE_CARRIER, TABLE, HOSTILE, OFFSET, FAR_AWAY, CAMERA, EMPTY, ONE, FEW, FLAT, SPREAD, SCANS };

static void fill_street(int64_t i, float *p) {
    const int kind = (int)(i % 5);
    p[0] = 40.0f * random_unit() - 20.0f;
    p[1] = kind == 0   ? 12.0f * random_unit() - 6.0f
           : kind == 1 ? -6.0f
           : kind == 2 ? 7.0f
                       : 20.0f * random_unit() - 10.0f;
    p[2] = kind == 0 ? -1.7f : 5.0f * random_unit() - 1.7f;
    p[0] = kind == 3 ? 21.0f : kind == 4 ? 4.0f * (float)(random_bits() % 9) - 16.5f : p[0];
    for (int k = 0; k < 3; k++) {
        p[k] += 0.02f * random_unit();
    }
}

static void fill(int kind, int64_t i, float *p) {
    static const float odd[] = {0.0f, NAN, INFINITY, -INFINITY};
    fill_street(i, p);
    const int near = kind == CARRIER ? 10 : kind == LARGE_CARRIER ? 50 : kind == TABLE ? 85 : 0;
    if (i % 100 < near) { /* the same places in each scan, two thirds beyond half of the radius, or one */
        const float reach = kind == CARRIER || (kind == TABLE) == (i % 3 > 0) ? 0.6f : 3.0f;
        p[0] = reach * (0.7f + 0.1f * (float)(i % 7) / 7.0f);
        p[1] = reach * (float)(i % 11 - 5) / 12.0f;
        p[2] = 0.3f * (float)(i % 5);
    }
    if ((kind == HOSTILE || kind == OFFSET) && random_bits() % 4 == 0) {
        const float value = odd[random_bits() % 4];
        p[0] = value;
        p[1] = value == 0.0f ? 0.0f : p[1];
        p[2] = value == 0.0f ? 0.0f : p[2];
    }
    if (kind == CAMERA) {
        p[2] = 1.0f + 0.2f * sinf((float)(i % 97)) + 0.3f * (float)(i % 2);
        p[0] = (float)(i % 200 - 100) / 160.0f;
        p[1] = (float)(i / 200 % 150 - 75) / 160.0f;
    }
    p[0] += kind == FAR_AWAY ? 3000.0f : 0.0f;
    p[2] = kind == FLAT ? 0.0f : p[2];
    p[1] += kind == SPREAD && i % 1000 == 9 ? 1e7f : 0.0f;
}

static pcgpu_cloud make_scan(int kind, int64_t n, int columns) {
    n = kind == EMPTY ? 0 : kind == ONE ? 1 : kind == FEW ? 12 : n;
    pcgpu_cloud c = {.rows = n, .columns = columns, .data = malloc((size_t)(n * columns + 1) * sizeof *c.data)};
    for (int64_t i = 0; i < n; i++) {
        float p[3];
        fill(kind, i, p);
        for (int k = 0; k < columns; k++) {
            c.data[i * columns + k] = k < 3 ? p[k] : 0.5f;
        }
    }
    for (int k = 0; k < 3 && kind == OFFSET; k++) {
        c.offset[k] = k < 2 ? 450000.25 * (k + 1) : 0.0;
    }
    return c;
}

/* The cloud in the memory of the GPU. */
static pcgpu_cloud send(const pcgpu_cloud *cloud) {
    const size_t bytes = (size_t)cloud->rows * (size_t)cloud->columns * sizeof *cloud->data;
    pcgpu_cloud there = *cloud;
    there.data = device_take(bytes + 1);
    device_up(there.data, cloud->data, bytes);
    return there;
}

static void forget_run(pcgpu_registration *r) {
    pcgpu_run run = {.points_in = r->run.points_in,
                     .non_finite = r->run.non_finite,
                     .at_origin = r->run.at_origin,
                     .too_near = r->run.too_near,
                     .on_carrier = r->run.on_carrier};
    r->run = run;
}

/* The same with both contexts, also the error. */
static int64_t check(const device_bed *bed, const pcgpu_pair *here, const pcgpu_pair *there, int count,
                     const pcgpu_register_params *params, const char *what, int64_t at) {
    const size_t most = count > 0 ? (size_t)count : 1;
    pcgpu_registration *expected = calloc(most, sizeof *expected), *results = calloc(most, sizeof *results);
    const pcgpu_status status = pcgpu_register_pairs(bed->cpu, here, count, params, expected);
    int64_t on_carrier = 0;
    expect(pcgpu_register_device(bed->cuda, bed->stream, there, count, params, results) == status, what, at, status);
    expect(strcmp(pcgpu_last_error(bed->cuda), pcgpu_last_error(bed->cpu)) == 0, what, at, -1);
    for (int i = 0; i < count; i++) {
        forget_run(&expected[i]);
        forget_run(&results[i]);
        on_carrier += expected[i].run.on_carrier;
        expect(memcmp(&results[i], &expected[i], sizeof *results) == 0, what, at, i);
    }
    free(expected);
    free(results);
    return on_carrier;
}

enum { MOST = 2 * SCANS };

void check_device_register(const device_bed *bed, bool few) {
    pcgpu_cloud here[MOST], there[MOST];
    pcgpu_pair pairs[5 * MOST], on_gpu[5 * MOST];
    pcgpu_register_params params;
    int64_t on_carrier = 0;
    const int64_t n = bed->quick ? 2500 : 30000, more = bed->quick ? 150 : 700;
    for (int i = 0; i < MOST; i++) {
        here[i] = make_scan(i / 2, n + more * i, 3 + i % 3);
        there[i] = send(&here[i]);
    }
    for (int i = 0; i < SCANS; i++) {
        const pcgpu_pair own = {&here[2 * i], &here[2 * i + 1]}, own_there = {&there[2 * i], &there[2 * i + 1]};
        const int ways = few ? i == LARGE_CARRIER || i == HOSTILE : bed->quick ? 3 : 6;
        for (int way = bed->quick && !few ? i % 2 : 0; way < ways; way += bed->quick ? 2 : 1) {
            pcgpu_register_params_init(&params);
            params.max_iterations = bed->quick ? 6 : 20;
            params.voxel = way != 1 ? params.voxel : bed->quick ? 0.8 : 0.3;
            params.search = way == 2 ? PCGPU_SEARCH_NEVER : way == 5 ? PCGPU_SEARCH_ALWAYS : PCGPU_SEARCH_RESCUE;
            params.drop_origin = way != 2;
            params.keep_carrier = way == 1;
            params.method = way == 3 ? PCGPU_REGISTER_PLANE : PCGPU_REGISTER_NDT;
            params.min_range = way == 4 ? 3.0 : 0.0;
            on_carrier += check(bed, &own, &own_there, 1, &params, "register", 10 * i + way);
        }
    }
    expect(on_carrier > 0, "a carrier is left out", on_carrier, 0);
    /* Pairs of all kinds by one call, more than a group holds; those that fail stay out. */
    int count = 0;
    pcgpu_register_params_init(&params);
    params.max_iterations = bed->quick ? 6 : 20;
    params.search = PCGPU_SEARCH_NEVER;
    for (int i = 0; i < (few ? 1 : bed->quick ? MOST : 5 * MOST); i++) {
        const int source = i % MOST, target = (i * 7 + 1) % MOST;
        if (source / 2 != SPREAD && target / 2 != SPREAD) {
            pairs[count] = (pcgpu_pair){&here[source], &here[target]};
            on_gpu[count++] = (pcgpu_pair){&there[source], &there[target]};
        }
    }
    check(bed, pairs, on_gpu, count, &params, "pairs by one call", count);
    check(bed, pairs, on_gpu, 0, &params, "no pair", 0);
    check(bed, pairs, on_gpu, -1, &params, "fewer", 0);
    params.voxel = -3.0;
    check(bed, pairs, on_gpu, 1, &params, "a wrong voxel", 0);
    pcgpu_registration result;
    expect(pcgpu_register_device(bed->cpu, bed->stream, on_gpu, 1, &params, &result) == PCGPU_ERROR_UNAVAILABLE,
           "a context of the CPU", 0, 0);
    for (int i = 0; i < MOST; i++) {
        device_drop(there[i].data);
        free(here[i].data);
    }
}
