/* pcgpu_find_outliers_device and pcgpu_find_sparse_device against the CPU: the same masks, also from a CUDA graph. */
#include "device_arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct call {
    const device_bed *bed;
    const float *data;
    int64_t rows;
    int columns, k; /* or others */
    double sigmas;  /* or a radius */
    bool sparse;
    uint8_t *mask;
    pcgpu_status status;
} call;

static void work(void *state) {
    call *c = state;
    void *stream = c->bed->stream;
    c->status = c->sparse ? pcgpu_find_sparse_device(c->bed->cuda, stream, c->data, c->rows, c->columns,
                                                     (float)c->sigmas, c->k, c->mask)
                          : pcgpu_find_outliers_device(c->bed->cuda, stream, c->data, c->rows, c->columns, c->k,
                                                       c->sigmas, c->mask);
}

static void compare(const call *c, const uint8_t *want, const char *what) {
    uint8_t *mask = malloc((size_t)c->rows + 1);
    device_stream_wait(c->bed->stream);
    device_down(mask, c->mask, (size_t)c->rows);
    expect(c->status == PCGPU_OK, c->status == PCGPU_OK ? what : pcgpu_last_error(c->bed->cuda), c->rows, c->k);
    expect(memcmp(mask, want, (size_t)c->rows) == 0, what, c->rows, c->k);
    free(mask);
}

static void check_cloud(const device_bed *bed, int64_t rows, int columns, int k, int kind, bool sparse) {
    const size_t bytes = (size_t)(rows * columns) * sizeof(float), n = (size_t)rows;
    float *points = malloc(bytes + 1), *data = device_take(bytes + 1);
    uint8_t *mask = malloc(n + 1), *want = malloc(n + 1);
    call c = {bed, data, rows, columns, k, random_unit() * 2.0 - 0.5, sparse, device_take(n + 1), PCGPU_OK};
    pcgpu_cloud cloud = {.rows = rows, .columns = columns, .data = points};
    pcgpu_outliers found;
    fill_records(points, columns, rows, kind);
    for (int64_t i = 0; i < rows; i++) {
        mask[i] = kind % 2 == 0 || random_bits() % 8 > 0;
    }
    memcpy(want, mask, n);
    c.sigmas = sparse ? fabs(c.sigmas) + (k == 0 ? 1e-30 : 0.1) : c.sigmas;
    const pcgpu_status status = sparse ? pcgpu_find_sparse(bed->cpu, &cloud, (float)c.sigmas, k, want, &found)
                                       : pcgpu_find_outliers(bed->cpu, &cloud, k, c.sigmas, want, &found);
    expect(status == PCGPU_OK, "outliers on the CPU", rows, k);
    device_up(data, points, bytes);
    device_up(c.mask, mask, n);
    work(&c);
    compare(&c, want, "outliers");
    device_up(c.mask, mask, n);
    device_repeat(bed->stream, 1, work, &c);
    compare(&c, want, "outliers from a graph");
    device_drop(c.mask);
    device_drop(data);
    free(want);
    free(mask);
    free(points);
}

void check_device_filter(const device_bed *bed) {
    static const int64_t rows[] = {0, 1, 2, 33, 4096, 4097, 20000};
    static const int ks[] = {1, 3, 20, 60, 127};
    for (int i = 0; i < (bed->quick ? 7 : 60); i++) {
        const int64_t most = rows[i % 7];
        check_cloud(bed, bed->quick && most > 5000 ? 5000 : most, i % 3 == 0 ? 3 : 4, ks[i % 5], i % KINDS, false);
        check_cloud(bed, bed->quick && most > 5000 ? 5000 : most, i % 3 == 0 ? 3 : 4, ks[i % 5] - 1, i % KINDS, true);
    }
    float *data = device_take(12);
    uint8_t *mask = device_take(1);
    static const struct {
        int64_t rows;
        int columns, k;
        double sigmas;
    } wrong[] = {{-1, 3, 20, 2.0}, {1, 2, 20, 2.0}, {1, 3, 0, 2.0}, {1, 3, 128, 2.0}, {1, 3, 20, NAN}};
    for (int i = 0; i < 5; i++) {
        expect(pcgpu_find_outliers_device(bed->cuda, bed->stream, data, wrong[i].rows, wrong[i].columns, wrong[i].k,
                                          wrong[i].sigmas, mask) == PCGPU_ERROR_ARGUMENT,
               "wrong parameters", i, 0);
    }
    expect(pcgpu_find_sparse_device(bed->cuda, bed->stream, data, 1, 3, 0.0f, 3, mask) == PCGPU_ERROR_ARGUMENT &&
               pcgpu_find_sparse_device(bed->cuda, bed->stream, data, 1, 3, 1.0f, -1, mask) == PCGPU_ERROR_ARGUMENT,
           "wrong parameters of sparse ones", 0, 0);
    expect(pcgpu_find_outliers_device(bed->cpu, bed->stream, data, 1, 3, 20, 2.0, mask) == PCGPU_ERROR_UNAVAILABLE,
           "a context of the CPU", 0, 0);
    device_drop(mask);
    device_drop(data);
}
