/* pcgpu_sample_device: strides of 3 to 9 floats, equal and ragged batches, both starts, more picks than usable points,
 * a minimum distance, indices of 4 and 8 bytes. */
#include "device_arrays.h"
#include "plain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CLOUDS = 40 };

/* One call: clouds on both sides, and what is wanted of them. */
typedef struct call {
    pcgpu_context *cpu, *cuda;
    void *stream;
    float *host;
    pcgpu_clouds clouds;
    pcgpu_device_picks picks;
    pcgpu_sample_params params;
    pcgpu_status status;
} call;

static void work(void *state_) {
    call *c = state_;
    c->status = pcgpu_sample_device(c->cuda, c->stream, &c->clouds, &c->params, &c->picks);
}

static int64_t rows_of(const call *c, int64_t i) {
    return c->clouds.offsets ? c->clouds.offsets[i + 1] - c->clouds.offsets[i] : c->clouds.rows;
}

static int64_t begin_of(const call *c, int64_t i) {
    return c->clouds.offsets ? c->clouds.offsets[i] : i * c->clouds.rows;
}

/* The picks of the CPU for cloud i: as many of M as there are. */
static void plain(const call *c, int64_t i, pcgpu_sampled *want) {
    const int64_t rows = rows_of(c, i), stride = c->clouds.stride;
    pcgpu_cloud cloud = {.rows = rows, .columns = (int)stride, .data = c->host + begin_of(c, i) * stride};
    pcgpu_sample_params params = c->params;
    params.start_index = params.starts ? params.starts[i] : params.start_index;
    int64_t usable = 0;
    bool start = true;
    for (int64_t k = 0; k < rows; k++) {
        const float *p = cloud.data + k * stride;
        bool good = !(params.drop_origin && p[0] == 0.0f && p[1] == 0.0f && p[2] == 0.0f);
        for (int d = 0; d < (params.column_count ? params.column_count : 3); d++) {
            good = good && isfinite(p[params.column_count ? params.columns[d] : d]);
        }
        usable += good;
        start = start && (good || params.start != PCGPU_START_INDEX || k != params.start_index);
    }
    memset(want, 0, sizeof *want);
    params.starts = NULL;
    params.count = params.count < usable ? params.count : usable;
    if (params.count > 0 && start && pcgpu_sample(c->cpu, &cloud, &params, want) != PCGPU_OK) {
        expect(false, pcgpu_last_error(c->cpu), i, 0);
    }
}

/* Whether `picks` on the device are those of the CPU. */
static void compare(const call *c, const char *what) {
    const int64_t m = c->params.count, count = c->clouds.count;
    const size_t bytes = (size_t)c->picks.index_bytes;
    char *indices = malloc((size_t)(count * m) * bytes);
    float *distances = malloc((size_t)(count * m) * sizeof *distances);
    int32_t *picked = malloc((size_t)count * sizeof *picked);
    expect(c->status == PCGPU_OK, c->status == PCGPU_OK ? what : pcgpu_last_error(c->cuda), 0, 0);
    device_stream_wait(c->stream);
    device_down(indices, c->picks.indices, (size_t)(count * m) * bytes);
    device_down(distances, c->picks.distances, (size_t)(count * m) * sizeof *distances);
    device_down(picked, c->picks.picked, (size_t)count * sizeof *picked);
    for (int64_t i = 0; i < count; i++) {
        pcgpu_sampled want;
        plain(c, i, &want);
        expect(picked[i] == want.count, what, picked[i], want.count);
        bool same = true;
        for (int64_t k = 0; k < m; k++) {
            const char *at = indices + (size_t)(i * m + k) * bytes;
            const int64_t index = bytes == 4 ? *(const int32_t *)at : *(const int64_t *)at;
            const float distance = k < want.count ? want.distances[k] : 0.0f;
            same = same && index == (k < want.count ? want.indices[k] : -1) &&
                   memcmp(&distance, &distances[i * m + k], sizeof distance) == 0;
        }
        expect(same, what, i, rows_of(c, i));
        pcgpu_sampled_free(&want);
    }
    free(indices);
    free(distances);
    free(picked);
}

/* `count` clouds of up to `most` records, ragged or equal. */
static void check_clouds(call *c, int count, int64_t most, int64_t stride, bool ragged, int kind) {
    int64_t offsets[MOST_CLOUDS + 1] = {0}, least = most;
    for (int i = 0; i < count; i++) {
        const int64_t rows = ragged ? most / 2 + random_bits() % (most / 2) : most;
        offsets[i + 1] = offsets[i] + rows;
        least = rows < least ? rows : least;
    }
    const size_t floats = (size_t)(offsets[count] * stride);
    c->host = malloc(floats * sizeof(float));
    for (int i = 0; i < count; i++) {
        fill_records(c->host + offsets[i] * stride, stride, offsets[i + 1] - offsets[i],
                     count > 1 ? (kind + i) % KINDS : kind);
    }
    float *data = device_take(floats * sizeof(float));
    device_up(data, c->host, floats * sizeof(float));
    c->clouds = (pcgpu_clouds){data, stride, count, most, ragged ? offsets : NULL};
    pcgpu_sample_params_init(&c->params);
    c->params.count = random_bits() % 5 == 0 ? least : 1 + random_bits() % least;
    c->params.drop_origin = random_bits() % 2;
    c->params.start = random_bits() % 2 ? PCGPU_START_FIRST : PCGPU_START_INDEX;
    c->params.start_index = c->params.start == PCGPU_START_INDEX ? random_bits() % least : 0;
    for (int k = 0; k < 9; k++) {
        c->params.columns[k] =
            (int[]){2, 0, 1, 3, 4, 7, 8, 5, 6}[k]; /* of a stride of 3, 4, 5 or 9, the first so many */
    }
    c->params.column_count = random_bits() % 2 ? 1 + (int)(random_bits() % stride) : 0;
    int64_t starts[MOST_CLOUDS];
    for (int i = 0; i < count; i++) {
        starts[i] = random_bits() % least;
    }
    c->params.starts = c->params.start == PCGPU_START_INDEX && random_bits() % 2 ? starts : NULL;
    c->params.min_distance = random_bits() % 3 == 0 ? 0.5f : 0.0f;
    const size_t picks = (size_t)(count * c->params.count);
    c->picks.index_bytes = random_bits() % 2 ? 4 : 8;
    c->picks.indices = device_take(picks * (size_t)c->picks.index_bytes);
    c->picks.distances = device_take(picks * sizeof(float));
    c->picks.picked = device_take((size_t)count * sizeof(int32_t));
    work(c);
    compare(c, "a call");
    device_fill(c->picks.indices, 0x55, picks * (size_t)c->picks.index_bytes);
    device_fill(c->picks.distances, 0x55, picks * sizeof(float));
    device_repeat(c->stream, 3, work, c);
    compare(c, "from a graph");
    device_drop(c->picks.indices);
    device_drop(c->picks.distances);
    device_drop(c->picks.picked);
    device_drop(data);
    free(c->host);
}

static void check_refusals(call *c) {
    enum { GOOD, STRIDE, FALLING, HOST };
    static const int64_t falling[] = {0, 60, 30}, beyond = 101;
    static const struct {
        int clouds;
        pcgpu_sample_params p;
        int index_bytes;
        const char *words;
    } cases[] = {
        {GOOD, {.count = 0}, 4, "give 1 or more"},
        {GOOD, {.count = 101}, 4, "count 101 exceeds the 100 records of cloud 0"},
        {GOOD, {.ratio = 0.5}, 4, "ratios are for arrays on the host"},
        {GOOD, {.count = 5, .method = PCGPU_SAMPLE_RANDOM}, 4, "random sampling"},
        {GOOD, {.count = 5, .start = PCGPU_START_CENTER}, 4, "the start of arrays on a GPU"},
        {GOOD, {.count = 5, .start = PCGPU_START_INDEX, .start_index = 100}, 4, "0 to 99"},
        {GOOD, {.count = 5, .start = PCGPU_START_INDEX, .starts = &beyond}, 4, "start record 101"},
        {GOOD, {.count = 5, .min_distance = NAN}, 4, "minimum distance"},
        {GOOD, {.count = 5}, 2, "indices of 2 bytes"},
        {GOOD,
         {.count = 5, .columns = {2, 0, 1, 3, 4}, .column_count = 5},
         4,
         "column 4 of a cloud with columns 0 to 3"},
        {STRIDE, {.count = 5}, 4, "stride of 2"},
        {FALLING, {.count = 5}, 4, "cloud 1 has -30 records"},
#ifndef DEVICE_EMULATED
        {HOST, {.count = 5}, 4, "the memory of the points is not that of CUDA device 0"},
#endif
    };
    static float host[400];
    float *data = device_take(4000);
    const pcgpu_clouds clouds[] = {[GOOD] = {data, 4, 1, 100, NULL},
                                   [STRIDE] = {data, 2, 1, 100, NULL},
                                   [FALLING] = {data, 4, 2, 100, falling},
                                   [HOST] = {host, 4, 1, 100, NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pcgpu_clouds *of = &clouds[cases[i].clouds];
        const pcgpu_device_picks picks = {(void *)(uintptr_t)of->data, cases[i].index_bytes, NULL, NULL};
        pcgpu_sample_params p = cases[i].p;
        p.struct_size = sizeof p;
        const pcgpu_status status = pcgpu_sample_device(c->cuda, c->stream, of, &p, &picks);
        expect(status == PCGPU_ERROR_ARGUMENT && strstr(pcgpu_last_error(c->cuda), cases[i].words), cases[i].words,
               status, 0);
    }
    pcgpu_sample_params params = {.struct_size = sizeof(pcgpu_sample_params), .count = 5};
    const pcgpu_device_picks picks = {data, 4, NULL, NULL};
    expect(pcgpu_sample_device(c->cpu, NULL, &clouds[GOOD], &params, &picks) == PCGPU_ERROR_UNAVAILABLE,
           "a CPU context", 0, 0);
    device_drop(data);
}

void check_device_sample(const device_bed *bed) {
    static const int64_t strides[] = {3, 4, 5, 9};
    const bool quick = bed->quick;
    call c = {.cpu = bed->cpu, .cuda = bed->cuda, .stream = bed->stream};
    for (int kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < (quick ? 2 : 12); i++) {
            check_clouds(&c, 1, 2 + random_bits() % (quick ? 300 : 20000), strides[i % 4], false, kind);
        }
    }
    for (int i = 0; i < (quick ? 4 : 24); i++) {
        check_clouds(&c, 1 + (int)(random_bits() % MOST_CLOUDS), 4 + random_bits() % (quick ? 60 : 2000),
                     strides[i % 4], i % 2, i % KINDS);
    }
    if (!quick) {
        check_clouds(&c, 1, 200000, 4, false, 3);
    }
    check_refusals(&c);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

typedef struct plain_call {
    void *stream;
    int clouds, rows, columns, picks;
    float *points, *nearest;
    int *indices;
} plain_call;

static void plain_work(void *state) {
    const plain_call *p = state;
    plain_sample(p->stream, p->clouds, p->rows, p->columns, p->picks, p->points, p->nearest, p->indices);
}

/* The same clouds in one block each, with fewer picks where that takes long, in which its time is linear. The first
 * picks of each must be ours. */
static float time_plain(const call *c, int columns) {
    const int64_t stride = c->clouds.stride, count = c->clouds.count, rows = count * c->clouds.rows;
    const int64_t most = 1 + (int64_t)3e8 / c->clouds.rows, m = c->params.count;
    plain_call p = {c->stream,
                    (int)count,
                    (int)c->clouds.rows,
                    columns,
                    (int)(m < most ? m : most),
                    NULL,
                    device_take((size_t)rows * sizeof(float)),
                    NULL};
    const size_t bytes = (size_t)(rows * columns) * sizeof(float), picked = (size_t)(count * p.picks) * sizeof(int32_t);
    float *packed = malloc(bytes);
    int32_t *ours = malloc((size_t)(count * m) * sizeof *ours), *theirs = malloc(picked);
    for (int64_t i = 0; i < rows; i++) {
        memcpy(packed + i * columns, c->host + i * stride, (size_t)columns * sizeof *packed);
    }
    p.points = device_take(bytes);
    p.indices = device_take(picked);
    device_up(p.points, packed, bytes);
    const float took = device_repeat(c->stream, 4, plain_work, &p);
    device_stream_wait(c->stream);
    device_down(ours, c->picks.indices, (size_t)(count * m) * sizeof *ours);
    device_down(theirs, p.indices, picked);
    for (int64_t i = 0; i < count; i++) {
        expect(memcmp(ours + i * m, theirs + i * p.picks, (size_t)p.picks * sizeof *ours) == 0, "one block", i, m);
    }
    device_drop(p.points);
    device_drop(p.nearest);
    device_drop(p.indices);
    free(packed);
    free(ours);
    free(theirs);
    return took * (float)m / (float)p.picks;
}

static void time_clouds(const device_bed *bed, float *host, int count, int64_t rows, int stride, int columns, int64_t m,
                        const char *what) {
    call c = {.cpu = bed->cpu, .cuda = bed->cuda, .stream = bed->stream, .host = host};
    const size_t bytes = (size_t)(count * rows * stride) * sizeof(float), picks = (size_t)(count * m);
    float *data = device_take(bytes);
    device_up(data, host, bytes);
    c.clouds = (pcgpu_clouds){data, stride, count, rows, NULL};
    pcgpu_sample_params_init(&c.params);
    c.params.count = m;
    c.params.column_count = columns == 3 ? 0 : columns;
    for (int k = 0; k < columns; k++) {
        c.params.columns[k] = k;
    }
    c.picks = (pcgpu_device_picks){device_take(picks * 4), 4, device_take(picks * 4), device_take((size_t)count * 4)};
    work(&c);
    device_stream_wait(c.stream);
    const float graph = device_repeat(c.stream, rows > 1000000 ? FEW_REPEATS : REPEATS, work, &c);
    compare(&c, "a scan");
    const double us = host_us(bed, work, &c);
    print_row(what, "pcgpu", (double)graph, "ms");
    print_row(what, "one block", (double)time_plain(&c, columns), "ms");
    print_row(what, "host per call", us, "us");
    device_drop(c.picks.indices);
    device_drop(c.picks.distances);
    device_drop(c.picks.picked);
    device_drop(data);
}

void time_device_sample(const device_bed *bed, const pcgpu_cloud *scan) {
    static const int64_t picks[] = {1024, 4096, 16384, 65536};
    enum { CLOUDS = 16 };
    char what[120];
    for (size_t i = 0; i < sizeof picks / sizeof picks[0]; i++) {
        if (scan->rows >= 6 * picks[i] && scan->rows < 800 * picks[i]) {
            snprintf(what, sizeof what, "sample; %lld points, %lld picks", (long long)scan->rows, (long long)picks[i]);
            time_clouds(bed, scan->data, 1, scan->rows, scan->columns, 3, picks[i], what);
        }
    }
    const int64_t rows = scan->rows < 100000 ? 256 : 16384, m = rows / 16;
    for (int columns = 4; columns <= MOST_COLUMNS; columns *= 4) {
        float *features = malloc((size_t)(CLOUDS * rows * columns) * sizeof *features);
        fill_records(features, columns, CLOUDS * rows, 0);
        for (int count = 1; count <= CLOUDS; count *= CLOUDS) {
            snprintf(what, sizeof what, "sample; %d x %lld points of %d columns, %lld picks", count, (long long)rows,
                     columns, (long long)m);
            time_clouds(bed, features, count, rows, columns, columns, m, what);
        }
        free(features);
    }
}
