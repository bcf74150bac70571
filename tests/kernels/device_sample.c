/* pcgpu_sample_device: strides of 3 to 9 floats, equal and ragged batches, both starts, more picks than usable points,
 * a minimum distance, indices of 4 and 8 bytes. */
#include "device_arrays.h"

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

void time_device_sample(const device_bed *bed, const pcgpu_cloud *scan, int64_t m) {
    enum { CALLS = 1000 };
    call call_ = {.cpu = bed->cpu, .cuda = bed->cuda, .stream = bed->stream, .host = scan->data}, *c = &call_;
    const size_t bytes = (size_t)scan->rows * 4 * sizeof(float);
    float *data = device_take(bytes);
    device_up(data, scan->data, bytes);
    c->clouds = (pcgpu_clouds){data, 4, 1, scan->rows, NULL};
    pcgpu_sample_params_init(&c->params);
    c->params.count = m;
    c->picks = (pcgpu_device_picks){device_take((size_t)m * 8), 8, device_take((size_t)m * 4), device_take(4)};
    work(c);
    device_stream_wait(c->stream);
    const float graph = device_repeat(c->stream, 200, work, c);
    compare(c, "a scan");
    double host = 0.0;
    for (int i = 0; i < CALLS; i++) {
        const double begin = seconds_now();
        work(c);
        host += seconds_now() - begin;
        device_stream_wait(c->stream);
    }
    printf("sample %lld -> %lld: %.3f ms of the device from a graph, %.1f us of the host per call\n",
           (long long)scan->rows, (long long)m, (double)graph, 1e6 * host / CALLS);
    device_drop(c->picks.indices);
    device_drop(c->picks.distances);
    device_drop(c->picks.picked);
    device_drop(data);
}
