/* Farthest point sampling among other columns than x y z, 1 to 64, against the plain loop. */
#include "reference.h"

/* Records of 64 columns: random, few values (ties and equal points), far apart and not finite, or all equal. */
static void make_wide(uint64_t seed, int kind, int64_t rows, pcgpu_cloud *cloud) {
    test_random r = {.state = seed * 31 + (uint64_t)kind};
    if (pcgpu_cloud_create(NULL, rows, PCGPU_MAX_COLUMNS, cloud) != PCGPU_OK) {
        exit(2);
    }
    for (int64_t i = 0; i < rows * PCGPU_MAX_COLUMNS; i++) {
        const bool broken = kind == 2 && test_bits(&r) % 300 == 0 && i >= PCGPU_MAX_COLUMNS;
        cloud->data[i] = kind == 0   ? test_uniform(&r, -1.0f, 1.0f)
                         : kind == 1 ? (float)(test_bits(&r) % 2)
                         : broken    ? (i % 2 ? NAN : -INFINITY)
                         : kind == 2 ? test_uniform(&r, -1.6e38f, 1.6e38f)
                                     : 7.5f;
    }
}

/* Whole, from another start, with a least distance that occurs, and continued after its first picks. */
static void check_wide(test_bed *bed, int kind, int64_t rows, int dimensions, int64_t most) {
    int columns[PCGPU_MAX_COLUMNS];
    char name[64];
    pcgpu_cloud cloud;
    pcgpu_sample_params params;
    make_wide(bed->seed, kind, rows, &cloud);
    for (int k = 0; k < dimensions; k++) {
        columns[k] = (k * 5 + 61) % PCGPU_MAX_COLUMNS;
    }
    pcgpu_sample_params_init(&params);
    memcpy(params.columns, columns, sizeof columns);
    params.column_count = dimensions;
    params.count = most;
    params.at_most = true;
    snprintf(name, sizeof name, "%d columns of kind %d, %lld rows", dimensions, kind, (long long)rows);
    picks want = plain_sample_columns(&cloud, columns, dimensions, NULL, 0, 0, most, 0.0f);
    check_sample(bed, name, &cloud, &params, &want);
    picks after = {want.count - want.count / 2, want.indices + want.count / 2, want.distances + want.count / 2};
    params.seeds = want.indices;
    params.seed_count = want.count / 2;
    params.count = after.count;
    params.at_most = false;
    if (params.seed_count > 0) {
        check_sample(bed, name, &cloud, &params, &after);
    }
    params.seed_count = 0;
    params.start = PCGPU_START_INDEX;
    params.start_index = want.indices[want.count - 1];
    params.min_distance = isinf(want.distances[want.count / 2]) ? 1e20f : want.distances[want.count / 2];
    free_picks(&want);
    want = plain_sample_columns(&cloud, columns, dimensions, NULL, 0, params.start_index, params.count,
                                params.min_distance);
    check_sample(bed, name, &cloud, &params, &want);
    free_picks(&want);
    pcgpu_cloud_free(&cloud);
}

/* A column of zeros changes nothing: four columns are x y z, from every start, with coverage. */
static void check_zeros(test_bed *bed) {
    pcgpu_cloud cloud;
    make_cloud_named("uniform", bed->seed, 2000, &cloud);
    for (int64_t i = 0; i < cloud.rows; i++) {
        cloud.data[i * cloud.columns + 3] = 0.0f;
    }
    for (int start = PCGPU_START_FIRST; start <= PCGPU_START_RANDOM; start++) {
        pcgpu_sample_params params;
        pcgpu_sample_params_init(&params);
        params.ratio = 0.05;
        params.start = (pcgpu_sample_start)start;
        params.drop_origin = true;
        for (int k = 0; k < 4; k++) {
            params.columns[k] = k;
        }
        for (int c = 0; c < bed->contexts; c++) {
            pcgpu_sampled want, got;
            params.column_count = 0;
            bool good = pcgpu_sample(bed->context[c], &cloud, &params, &want) == PCGPU_OK;
            params.column_count = 4;
            good = pcgpu_sample(bed->context[c], &cloud, &params, &got) == PCGPU_OK && good;
            picks of = {want.count, want.indices, want.distances};
            expect(bed,
                   good && equal_picks(&of, got.count, got.indices, got.distances) && got.coverage == want.coverage,
                   "a column of zeros, start %d, %s: not what x y z give", start, bed->label[c]);
            pcgpu_sampled_free(&want);
            pcgpu_sampled_free(&got);
        }
    }
    pcgpu_cloud_free(&cloud);
}

static void check(test_bed *bed) {
    static const int dimensions[] = {1, 2, 4, 5, 8, PCGPU_MAX_COLUMNS};
    static const int64_t rows[] = {1, 70, 1300};
    for (int kind = 0; kind < bed->clouds; kind++) { /* for tools that are slow */
        check_wide(bed, kind % 4, 70, 5 + kind, 20);
    }
    if (bed->clouds > 0) {
        return;
    }
    for (size_t d = 0; d < sizeof dimensions / sizeof dimensions[0]; d++) {
        for (int kind = 0; kind < 4; kind++) {
            for (size_t i = 0; i < (bed->quick ? 2 : sizeof rows / sizeof rows[0]); i++) {
                check_wide(bed, kind, rows[i], dimensions[d], rows[i] > 1000 ? 150 : rows[i]);
            }
        }
    }
    check_wide(bed, 0, 40000, 5, 12); /* threads; on a device, more than a block */
    check_wide(bed, 1, 40000, 8, 12);
    check_zeros(bed);
}

const operation operation_columns = {"columns", check};
