/* pcgpu_voxelize_device: all features, 3 to 9 columns, grids of few and of many cells, limits that are reached and that
 * are not. */
#include "device_arrays.h"
#include "plain.h"
#include "voxelize_grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct call {
    pcgpu_context *cuda;
    void *stream;
    const float *data;
    int64_t rows;
    int columns;
    pcgpu_voxelize_params params;
    pcgpu_device_voxels out;
    pcgpu_status status;
} call;

static void work(void *state) {
    call *c = state;
    c->status = pcgpu_voxelize_device(c->cuda, c->stream, c->data, c->rows, c->columns, &c->params, &c->out);
}

enum { UNTOUCHED = 0x55 };

/* Whether the first bytes are those wanted and the others untouched. */
static void compare_bytes(const void *device, const void *want, size_t bytes, size_t all, const char *what) {
    char *got = malloc(all ? all : 1);
    bool untouched = true;
    device_down(got, device, all);
    expect(memcmp(got, want, bytes) == 0, what, (int64_t)bytes, (int64_t)all);
    for (size_t i = bytes; i < all; i++) {
        untouched = untouched && got[i] == UNTOUCHED;
    }
    expect(untouched, "behind the voxels", (int64_t)bytes, (int64_t)all);
    free(got);
}

/* Values of a row of the features. */
static size_t width_of(const call *c) {
    const int columns = c->params.features == PCGPU_FEATURES_PILLAR ? 10 : c->columns;
    const bool padded = c->params.features == PCGPU_FEATURES_POINTS || c->params.features == PCGPU_FEATURES_PILLAR;
    return (size_t)columns * (padded ? (size_t)c->params.max_points : 1);
}

static void compare(const call *c, const pcgpu_voxels *want, const char *what) {
    const size_t most = (size_t)c->params.max_voxels, found = (size_t)want->count, width = width_of(c) * sizeof(float);
    int32_t count = -1;
    expect(c->status == PCGPU_OK, c->status == PCGPU_OK ? what : pcgpu_last_error(c->cuda), 0, 0);
    device_stream_wait(c->stream);
    device_down(&count, c->out.count, sizeof count);
    expect(count == want->count, what, count, want->count);
    compare_bytes(c->out.coords, want->coords, found * 16, most * 16, what);
    compare_bytes(c->out.counts, want->counts, found * 4, most * 4, what);
    compare_bytes(c->out.features, want->features, found * width, most * width, what);
    if (c->out.point_voxel) {
        compare_bytes(c->out.point_voxel, want->point_voxel, (size_t)c->rows * 4, (size_t)c->rows * 4, what);
    }
}

static void clear(const call *c) {
    const size_t most = (size_t)c->params.max_voxels;
    device_fill(c->out.coords, UNTOUCHED, most * 16);
    device_fill(c->out.counts, UNTOUCHED, most * 4);
    device_fill(c->out.features, UNTOUCHED, most * width_of(c) * sizeof(float));
}

static void take(call *c) {
    const size_t most = (size_t)c->params.max_voxels;
    c->out = (pcgpu_device_voxels){.features = device_take(most * width_of(c) * sizeof(float)),
                                   .coords = device_take(most * 16),
                                   .counts = device_take(most * 4),
                                   .point_voxel = random_bits() % 4 ? device_take((size_t)c->rows * 4) : NULL,
                                   .count = device_take(4)};
}

static void drop(call *c) {
    device_drop(c->out.features);
    device_drop(c->out.coords);
    device_drop(c->out.counts);
    device_drop(c->out.point_voxel);
    device_drop(c->out.count);
}

static void check_cloud(const device_bed *bed, int64_t rows, int columns, int kind) {
    call c = {.cuda = bed->cuda, .stream = bed->stream, .rows = rows, .columns = columns};
    const size_t bytes = (size_t)(rows * columns) * sizeof(float);
    pcgpu_cloud cloud = {.rows = rows, .columns = columns, .data = malloc(bytes)};
    float *data = device_take(bytes);
    fill_records(cloud.data, columns, rows, kind);
    device_up(data, cloud.data, bytes);
    c.data = data;
    pcgpu_voxelize_params_init(&c.params);
    const double size = random_bits() % 2 ? 0.4 : 4.0;
    for (int k = 0; k < 3; k++) {
        c.params.range[k] = -9.0;
        c.params.range[3 + k] = 11.0;
        c.params.size[k] = k == 2 && random_bits() % 2 ? 20.0 : size;
    }
    c.params.features = (pcgpu_features)(random_bits() % 5);
    c.params.max_points = 1 + random_bits() % (random_bits() % 2 ? 12 : 40);
    c.params.max_voxels = 1 + random_bits() % (random_bits() % 2 ? 50 : (uint32_t)rows);
    c.params.drop_origin = random_bits() % 2;
    if (c.params.features != PCGPU_FEATURES_POINTS && c.params.features != PCGPU_FEATURES_PILLAR &&
        random_bits() % 3 == 0) {
        c.params.max_points = 0;
    }
    pcgpu_voxels want;
    expect(pcgpu_voxelize(bed->cpu, &cloud, &c.params, &want) == PCGPU_OK, pcgpu_last_error(bed->cpu), 0, 0);
    take(&c);
    clear(&c);
    work(&c);
    compare(&c, &want, "a call");
    clear(&c);
    device_repeat(c.stream, 3, work, &c);
    compare(&c, &want, "from a graph");
    clear(&c);
    work(&c);
    compare(&c, &want, "after a graph");
    pcgpu_voxels host; /* the table of the context serves host arrays, too */
    expect(pcgpu_voxelize(bed->cuda, &cloud, &c.params, &host) == PCGPU_OK, pcgpu_last_error(bed->cuda), 0, 0);
    expect(host.count == want.count && host.in_range == want.in_range && host.kept == want.kept &&
               host.largest == want.largest && host.run.non_finite == want.run.non_finite,
           "a call of the host after it", host.in_range, want.in_range);
    pcgpu_voxels_free(&host);
    pcgpu_voxels_free(&want);
    drop(&c);
    device_drop(data);
    free(cloud.data);
}

static void refuse(call *c, const pcgpu_voxelize_params *params, int64_t rows, int columns, const char *words) {
    const pcgpu_status status = pcgpu_voxelize_device(c->cuda, c->stream, c->data, rows, columns, params, &c->out);
    expect(status == PCGPU_ERROR_ARGUMENT && strstr(pcgpu_last_error(c->cuda), words), words, status, 0);
}

static void check_refusals(const device_bed *bed) {
    call c = {.cuda = bed->cuda, .stream = bed->stream, .rows = 10, .columns = 4};
    float *data = device_take(400);
    pcgpu_voxelize_params good, bad;
    c.data = data;
    pcgpu_voxelize_params_init(&good);
    good = (pcgpu_voxelize_params){.struct_size = sizeof(pcgpu_voxelize_params),
                                   .range = {0, 0, 0, 1, 1, 1},
                                   .size = {1, 1, 1},
                                   .max_points = 4,
                                   .max_voxels = 10,
                                   .features = PCGPU_FEATURES_POINTS};
    c.params = good;
    take(&c);
#define REFUSE(WORDS, CHANGE)                                                                                          \
    bad = good;                                                                                                        \
    bad.CHANGE;                                                                                                        \
    refuse(&c, &bad, 10, 4, WORDS)
    REFUSE("need a range", range_auto = true);
    REFUSE("need max_voxels", max_voxels = 0);
    REFUSE("need max_points", max_points = 0);
    REFUSE("65 points per voxel", max_points = 65);
    REFUSE("a voxel size of -1 m in y", size[1] = -1);
#undef REFUSE
    refuse(&c, &good, -1, 4, "-1 records");
    refuse(&c, &good, 10, 2, "of 2 columns");
    pcgpu_device_voxels whole = c.out;
    c.out.coords = NULL;
    refuse(&c, &good, 10, 4, "no memory for the result");
    c.out = whole;
    work(&(call){.cuda = c.cuda, .stream = c.stream, .columns = 4, .params = good, .out = c.out}); /* no records */
    int32_t count = -1;
    device_stream_wait(c.stream);
    device_down(&count, c.out.count, sizeof count);
    expect(count == 0, "no records", count, 0);
#ifndef DEVICE_EMULATED
    int32_t host = 0;
    c.out.count = &host;
    refuse(&c, &good, 10, 4, "the memory of the number of voxels is not that of CUDA device 0");
    c.out = whole;
#endif
    drop(&c);
    device_drop(data);
}

void check_device_voxelize(const device_bed *bed) {
    static const int columns[] = {4, 3, 5, 9, 4, 4};
    for (int i = 0; i < (bed->quick ? 24 : 400); i++) {
        check_cloud(bed, 1 + random_bits() % (bed->quick ? 2000 : 20000), columns[i % 6], i % KINDS);
    }
    if (!bed->quick) { /* beyond small clouds, and the fused kernel */
        for (int i = 0; i < 12; i++) {
            check_cloud(bed, 70000 + (int64_t)(i % 4) * 200000, columns[i % 6], i % 2 ? 0 : 3);
        }
    }
    check_refusals(bed);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

typedef struct plain_call {
    void *stream;
    plain_voxels voxels;
} plain_call;

static void plain_work(void *state) {
    const plain_call *p = state;
    plain_voxelize(p->stream, &p->voxels);
}

typedef struct ordered {
    int64_t key, at;
} ordered;

static int compare_keys(const void *a, const void *b) {
    const int64_t x = ((const ordered *)a)->key, y = ((const ordered *)b)->key;
    return (x > y) - (x < y);
}

static int compare_points(const void *a, const void *b) {
    return memcmp(a, b, 4 * sizeof(float));
}

/* Voxels in the order of their cells. */
static ordered *order_of(const int32_t *coords, int64_t count) {
    ordered *order = malloc((size_t)count * sizeof *order);
    for (int64_t i = 0; i < count; i++) {
        const int32_t *c = coords + 4 * i;
        order[i] = (ordered){(int64_t)c[1] << 42 | (int64_t)c[2] << 21 | c[3], i};
    }
    qsort(order, (size_t)count, sizeof *order, compare_keys);
    return order;
}

/* The same voxels and counts, and the same points as sets but for voxels that leave some out. */
static void compare_sets(const pcgpu_voxels *want, const plain_voxels *p) {
    const size_t size = (size_t)p->capacity * 4, count = (size_t)want->count;
    uint32_t *taken = malloc(((size_t)p->voxels + 1) * sizeof *taken);
    int32_t *coords = malloc(count * 16);
    float *features = malloc(count * size * sizeof *features);
    device_down(taken, p->taken, ((size_t)p->voxels + 1) * sizeof *taken);
    device_down(coords, p->coords, count * 16);
    device_down(features, p->features, count * size * sizeof *features);
    expect(taken[p->voxels] == count, "voxels of two passes", taken[p->voxels], want->count);
    ordered *ours = order_of(want->coords, want->count), *theirs = order_of(coords, want->count);
    int64_t other = 0;
    for (size_t i = 0; i < count; i++) {
        float *a = want->features + (size_t)ours[i].at * size, *b = features + (size_t)theirs[i].at * size;
        const size_t points = (size_t)want->counts[ours[i].at], all = taken[theirs[i].at];
        const bool full = points == (size_t)p->capacity;
        qsort(a, full ? 0 : points, 4 * sizeof *a, compare_points);
        qsort(b, full ? 0 : points, 4 * sizeof *b, compare_points);
        other += ours[i].key != theirs[i].key || (full ? all < points : all != points) ||
                 (!full && memcmp(a, b, size * sizeof *a) != 0);
    }
    expect(other == 0, "two passes", other, want->count);
    free(ours);
    free(theirs);
    free(taken);
    free(coords);
    free(features);
}

static float time_plain(const device_bed *bed, const call *c, const pcgpu_cloud *scan, const pcgpu_voxels *want) {
    const size_t most = (size_t)c->params.max_voxels;
    plain_call p = {c->stream, {.rows = (int)c->rows, .points = c->data, .slots = 1024}};
    double range[6];
    expect(pc_voxelize_grid(bed->cpu, scan, &c->params, NULL, &p.voxels.grid, range) == PCGPU_OK, "a grid", 0, 0);
    p.voxels.voxels = (int)most;
    p.voxels.capacity = (int)c->params.max_points;
    while (p.voxels.slots < 2 * c->rows) {
        p.voxels.slots *= 2;
    }
    p.voxels.table = device_take(p.voxels.slots * sizeof *p.voxels.table);
    p.voxels.taken = device_take((most + 1) * sizeof *p.voxels.taken);
    p.voxels.features = device_take(most * width_of(c) * sizeof(float));
    p.voxels.coords = device_take(most * 16);
    const float took = device_repeat(c->stream, REPEATS, plain_work, &p);
    device_stream_wait(c->stream);
    if (want->count < (int64_t)most) {
        compare_sets(want, &p.voxels);
    }
    device_drop(p.voxels.table);
    device_drop(p.voxels.taken);
    device_drop(p.voxels.features);
    device_drop(p.voxels.coords);
    return took;
}

static void time_case(const device_bed *bed, const pcgpu_cloud *scan, const pcgpu_voxelize_params *params,
                      const char *name) {
    call c = {
        .cuda = bed->cuda, .stream = bed->stream, .rows = scan->rows, .columns = scan->columns, .params = *params};
    const size_t bytes = (size_t)(scan->rows * scan->columns) * sizeof(float);
    float *data = device_take(bytes);
    char what[120];
    device_up(data, scan->data, bytes);
    c.data = data;
    pcgpu_voxels want;
    expect(pcgpu_voxelize(bed->cpu, scan, params, &want) == PCGPU_OK, pcgpu_last_error(bed->cpu), 0, 0);
    take(&c);
    clear(&c);
    work(&c);
    compare(&c, &want, "a scan");
    const float graph = device_repeat(c.stream, REPEATS, work, &c);
    const double us = host_us(bed, work, &c);
    snprintf(what, sizeof what, "voxelize; %lld points, %s", (long long)scan->rows, name);
    print_row(what, "pcgpu", 1e3 * (double)graph, "us");
    print_row(what, "host per call", us, "us");
    if (params->features == PCGPU_FEATURES_POINTS && scan->columns == 4) {
        print_row(what, "two passes", 1e3 * (double)time_plain(bed, &c, scan, &want), "us");
    }
    pcgpu_voxels_free(&want);
    drop(&c);
    device_drop(data);
}

void time_device_voxelize(const device_bed *bed, const pcgpu_cloud *scan) {
    const pcgpu_voxelize_params pillar = {.struct_size = sizeof(pcgpu_voxelize_params),
                                          .range = {0, -39.68, -3, 69.12, 39.68, 1},
                                          .size = {0.16, 0.16, 4},
                                          .max_points = 32,
                                          .max_voxels = 40000,
                                          .features = PCGPU_FEATURES_POINTS};
    pcgpu_voxelize_params voxel = {.struct_size = sizeof(pcgpu_voxelize_params),
                                   .range = {-54, -54, -5, 54, 54, 3},
                                   .size = {0.075, 0.075, 0.2},
                                   .max_points = 10,
                                   .max_voxels = 160000,
                                   .features = PCGPU_FEATURES_MEAN};
    time_case(bed, scan, &pillar, "pillar 0.16 m");
    time_case(bed, scan, &voxel, "voxel 0.075 m, means");
    voxel.features = PCGPU_FEATURES_POINTS;
    time_case(bed, scan, &voxel, "voxel 0.075 m, points");
}
