/* pcgpu_neighbors_device against pcgpu_neighbors of the CPU: strides, equal and ragged batches, empty clouds, indices
 * of 4 and 8 bytes, from a CUDA graph; and times beside the brute-force kernels of PointNet++ (plain.h). */
#include "device_arrays.h"
#include "plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLOUDS = 300 };

/* Clouds on the host and on the device. */
typedef struct clouds {
    pcgpu_clouds host, device;
    int64_t offsets[MOST_CLOUDS + 1];
} clouds;

typedef struct call {
    const device_bed *bed;
    clouds points, queries;
    bool same;
    pcgpu_neighbors_params params;
    pcgpu_neighbor_lists host, device;
    int64_t records;
    pcgpu_status status;
} call;

static void work(void *state) {
    call *c = state;
    c->status = pcgpu_neighbors_device(c->bed->cuda, c->bed->stream, &c->points.device,
                                       c->same ? &c->points.device : &c->queries.device, &c->params, &c->device);
}

static void make_clouds(clouds *c, int count, int64_t most, int64_t stride, bool ragged, int kind) {
    for (int i = 0; i < count; i++) {
        const int64_t rows = !ragged ? most : random_bits() % 7 == 0 ? 0 : 1 + random_bits() % most;
        c->offsets[i + 1] = c->offsets[i] + rows;
    }
    const size_t floats = (size_t)(c->offsets[count] * stride);
    float *host = malloc((floats + 1) * sizeof *host), *device = device_take(floats * sizeof *device);
    for (int i = 0; i < count; i++) {
        fill_records(host + c->offsets[i] * stride, stride, c->offsets[i + 1] - c->offsets[i], (kind + i) % KINDS);
    }
    device_up(device, host, floats * sizeof *device);
    c->host = (pcgpu_clouds){host, stride, count, most, ragged ? c->offsets : NULL};
    c->device = c->host;
    c->device.data = device;
}

static void drop_clouds(clouds *c) {
    free((void *)c->host.data);
    device_drop((void *)c->device.data);
}

static void make_lists(call *c, int index_bytes) {
    const size_t records = (size_t)c->records, entries = records * (size_t)c->params.k;
    const size_t bytes = (size_t)index_bytes;
    c->host = (pcgpu_neighbor_lists){malloc(entries * bytes + 1), index_bytes, malloc(entries * 4 + 4),
                                     malloc(records * 4 + 4)};
    c->device = (pcgpu_neighbor_lists){device_take(entries * bytes), index_bytes, device_take(entries * 4),
                                       device_take(records * 4)};
}

static void clear_lists(const call *c) {
    const size_t records = (size_t)c->records, entries = records * (size_t)c->params.k;
    device_fill(c->device.indices, 0x55, entries * (size_t)c->device.index_bytes);
    device_fill(c->device.distances, 0x55, entries * 4);
    device_fill(c->device.counts, 0x55, records * 4);
}

static void drop_lists(const call *c) {
    free(c->host.indices);
    free(c->host.distances);
    free(c->host.counts);
    device_drop(c->device.indices);
    device_drop(c->device.distances);
    device_drop(c->device.counts);
}

static void compare_bytes(const call *c, const void *host, const void *device, size_t bytes, const char *what) {
    char *copy = malloc(bytes + 1);
    device_down(copy, device, bytes);
    expect(memcmp(copy, host, bytes) == 0, what, c->params.k, (int64_t)c->params.order);
    free(copy);
}

static void compare(const call *c, const char *what) {
    const size_t records = (size_t)c->records, entries = records * (size_t)c->params.k;
    expect(c->status == PCGPU_OK, c->status == PCGPU_OK ? what : pcgpu_last_error(c->bed->cuda), 0, 0);
    device_stream_wait(c->bed->stream);
    compare_bytes(c, c->host.indices, c->device.indices, entries * (size_t)c->host.index_bytes, what);
    compare_bytes(c, c->host.distances, c->device.distances, entries * 4, what);
    compare_bytes(c, c->host.counts, c->device.counts, records * 4, what);
}

static void run(call *c, int index_bytes) {
    const pcgpu_clouds *queries = c->same ? &c->points.host : &c->queries.host;
    c->records = queries->offsets ? queries->offsets[queries->count] : queries->rows * queries->count;
    make_lists(c, index_bytes);
    expect(pcgpu_neighbors(c->bed->cpu, &c->points.host, queries, &c->params, &c->host, NULL) == PCGPU_OK,
           pcgpu_last_error(c->bed->cpu), 0, 0);
    clear_lists(c);
    work(c);
    compare(c, "neighbors: a call");
    clear_lists(c);
    device_repeat(c->bed->stream, 3, work, c);
    compare(c, "neighbors: from a graph");
}

static void check_clouds(const device_bed *bed, int count, int64_t most, int kind) {
    static const int ks[] = {0, 1, 3, 16, 20, 32, 64, 128};
    call c = {.bed = bed, .same = random_bits() % 2};
    const bool ragged = random_bits() % 2;
    make_clouds(&c.points, count, most, 3 + random_bits() % 4, ragged, kind);
    make_clouds(&c.queries, count, most / 3 + 1, 3 + random_bits() % 4, random_bits() % 2, kind + 1);
    pcgpu_neighbors_params_init(&c.params);
    c.params.k = ks[random_bits() % (sizeof ks / sizeof ks[0])];
    c.params.order = c.params.k > 0 && random_bits() % 3 == 0 ? PCGPU_NEIGHBORS_FIRST : PCGPU_NEIGHBORS_NEAREST;
    c.params.radius = c.params.k == 0 || c.params.order || random_bits() % 2 ? 0.2f + 3.0f * random_unit() : 0.0f;
    c.params.pad = random_bits() % 2;
    c.params.global = random_bits() % 2;
    run(&c, random_bits() % 2 ? 4 : 8);
    drop_lists(&c);
    drop_clouds(&c.points);
    drop_clouds(&c.queries);
}

void check_device_neighbors(const device_bed *bed) {
    for (int i = 0; i < (bed->quick ? 10 : 60); i++) {
        check_clouds(bed, 1, 1 + random_bits() % (bed->quick ? 300 : 6000), i);
        check_clouds(bed, 1 + (int)(random_bits() % (bed->quick ? 20 : MOST_CLOUDS)), 1 + random_bits() % 90, i);
    }
    call c = {.bed = bed, .same = true};
    make_clouds(&c.points, 1, bed->quick ? 2000 : 200000, 4, false, 3);
    pcgpu_neighbors_params_init(&c.params);
    c.params.k = 16;
    run(&c, 8);
    static const struct {
        pcgpu_neighbors_params p;
        const char *words;
    } wrong[] = {{{.k = -1}, "give 1 to 128"},
                 {{.k = 129}, "give 1 to 128"},
                 {{.k = 0}, "a radius of 0 m"},
                 {{.k = 1, .radius = NAN}, "a radius of nan m"},
                 {{.k = 1, .order = PCGPU_NEIGHBORS_FIRST}, "a radius of 0 m"},
                 {{.k = 1, .order = (pcgpu_neighbors_order)2}, "order 2"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        c.params = wrong[i].p;
        c.params.struct_size = sizeof c.params;
        work(&c);
        expect(c.status == PCGPU_ERROR_ARGUMENT && strstr(pcgpu_last_error(bed->cuda), wrong[i].words), wrong[i].words,
               c.status, 0);
    }
    drop_lists(&c);
    drop_clouds(&c.points);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static void plain_work(void *state) {
    const call *c = state;
    const pcgpu_clouds *p = &c->points.device, *q = &c->queries.device;
    if (c->params.order == PCGPU_NEIGHBORS_FIRST) {
        plain_ball_query(c->bed->stream, (int)p->count, (int)p->rows, (int)q->rows, c->params.radius, c->params.k,
                         q->data, p->data, c->device.indices);
    } else {
        plain_three_nn(c->bed->stream, (int)p->count, (int)q->rows, (int)p->rows, q->data, p->data, c->device.distances,
                       c->device.indices);
    }
}

/* `count` clouds of `rows` records of x y z, each from other records of a scan, spread over all of it. */
static void take_from(clouds *c, const pcgpu_cloud *scan, int count, int64_t rows, int64_t skip) {
    float *host = malloc((size_t)(count * rows) * 3 * sizeof *host), *device;
    for (int64_t i = 0; i < count * rows; i++) {
        const int64_t row = (i % rows * (scan->rows / rows) + i / rows + skip) % scan->rows;
        memcpy(host + 3 * i, scan->data + row * scan->columns, 3 * sizeof *host);
    }
    const size_t bytes = (size_t)(count * rows) * 3 * sizeof *host;
    device = device_take(bytes);
    device_up(device, host, bytes);
    c->host = (pcgpu_clouds){host, 3, count, rows, NULL};
    c->device = (pcgpu_clouds){device, 3, count, rows, NULL};
}

/* Both return the same neighbours, apart from the padding of a ball, and of ties in brute force. */
static void time_pair(call *c, const char *name) {
    run(c, 4);
    const float ours = device_repeat(c->bed->stream, FEW_REPEATS, work, c);
    compare(c, name);
    plain_work(c);
    device_stream_wait(c->bed->stream);
    const size_t entries = (size_t)c->records * (size_t)c->params.k;
    int32_t *theirs = malloc(entries * sizeof *theirs);
    const int32_t *want = c->host.indices;
    device_down(theirs, c->device.indices, entries * sizeof *theirs);
    int64_t other = 0;
    for (size_t i = 0; i < entries; i++) {
        const int32_t first = want[i - i % (size_t)c->params.k];
        other += theirs[i] != (want[i] >= 0 ? want[i] : first >= 0 ? first : 0);
    }
    expect(other == 0, name, other, (int64_t)entries);
    const float plain = device_repeat(c->bed->stream, FEW_REPEATS, plain_work, c);
    printf("%s: %.3f ms, brute force %.3f ms, %.1f times\n", name, (double)ours, (double)plain, (double)(plain / ours));
    free(theirs);
    drop_lists(c);
    drop_clouds(&c->points);
    drop_clouds(&c->queries);
}

void time_device_neighbors(const device_bed *bed, const pcgpu_cloud *scan) {
    call c = {.bed = bed};
    pcgpu_neighbors_params_init(&c.params);
    take_from(&c.points, scan, 16, 16384 < scan->rows / 4 ? 16384 : 256, 0);
    take_from(&c.queries, scan, 16, 4096 < scan->rows / 16 ? 4096 : 64, 3);
    c.params.k = 32;
    c.params.radius = 0.5f;
    c.params.order = PCGPU_NEIGHBORS_FIRST;
    time_pair(&c, "ball query, 16 x 16,384 points, 4,096 queries, 0.5 m, k = 32");
    take_from(&c.points, scan, 16, 4096 < scan->rows / 16 ? 4096 : 64, 3);
    take_from(&c.queries, scan, 16, 16384 < scan->rows / 4 ? 16384 : 256, 0);
    c.params = (pcgpu_neighbors_params){.struct_size = sizeof c.params, .k = 3};
    time_pair(&c, "three_nn, 16 x 4,096 points, 16,384 queries");
    static const int ks[] = {1, 8, 16, 32, 64};
    for (size_t i = 0; i < sizeof ks / sizeof ks[0]; i++) {
        c.same = true;
        take_from(&c.points, scan, 1, scan->rows, 0);
        c.params.k = ks[i];
        run(&c, 4);
        printf("kNN of %lld points on themselves, k = %d: %.3f ms\n", (long long)scan->rows, c.params.k,
               (double)device_repeat(bed->stream, FEW_REPEATS, work, &c));
        drop_lists(&c);
        drop_clouds(&c.points);
    }
}
