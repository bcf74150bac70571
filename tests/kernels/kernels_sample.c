/* Farthest point sampling of clouds as files have them against the plain loop; kernels_forms.c has batches and every
 * form. */
#include "reference.h"
#include "simd.h"

void check_sample(test_bed *bed, const char *name, const pcgpu_cloud *cloud, const pcgpu_sample_params *params,
                  const picks *want) {
    for (int c = 0; c < bed->contexts * bed->repeat; c++) {
        const int i = c % bed->contexts;
        pcgpu_sampled got;
        const pcgpu_status status = pcgpu_sample(bed->context[i], cloud, params, &got);
        expect(bed, status == PCGPU_OK && equal_picks(want, got.count, got.indices, got.distances),
               "sample, %s, %s: differs from the reference %s", name, bed->label[i], pcgpu_last_error(bed->context[i]));
        pcgpu_sampled_free(&got);
    }
}

/* One cloud: all or many of its points, from two starts, with and without a least distance. */
static void check_cloud(test_bed *bed, const char *name, const pcgpu_cloud *cloud, int64_t most) {
    for (int variant = 0; variant < 4; variant++) {
        pcgpu_sample_params params;
        pcgpu_sample_params_init(&params);
        params.drop_origin = variant % 2 == 1;
        int64_t first, n = count_usable(cloud, params.drop_origin, &first);
        if (n == 0) {
            return;
        }
        params.start = PCGPU_START_INDEX;
        params.start_index = first;
        params.count = n < most ? n : most;
        if (variant >= 2) {
            test_random r = {.state = bed->seed + (uint64_t)variant};
            int64_t record = (int64_t)(test_bits(&r) % (uint64_t)cloud->rows);
            params.start_index = is_usable(cloud, record, params.drop_origin) ? record : first;
        }
        picks want = plain_sample(cloud, params.start_index, params.count, 0.0f, params.drop_origin);
        if (variant == 3) { /* a distance that occurs: equal is not nearer */
            params.min_distance = want.distances[want.count / 2];
            params.min_distance = isinf(params.min_distance) ? 1e20f : params.min_distance;
            free_picks(&want);
            want = plain_sample(cloud, params.start_index, params.count, params.min_distance, params.drop_origin);
        }
        pcgpu_sample_params as_asked = params;
        if (variant == 0) { /* the default is the same record */
            as_asked.start = PCGPU_START_FIRST;
            as_asked.start_index = 0;
        }
        check_sample(bed, name, cloud, &as_asked, &want);
        free_picks(&want);
    }
}

/* More points than are sorted at once: alike, all but one in a cell of the first step, and all in one place; on the CPU
 * with each kind of vectors. */
static void check_sizes(test_bed *bed) {
    static const char *const clouds[] = {"uniform", "outlier", "all equal"};
    for (size_t i = 0; i < sizeof clouds / sizeof clouds[0]; i++) {
        pcgpu_cloud cloud;
        pcgpu_sample_params params;
        pcgpu_sample_params_init(&params);
        params.count = 12;
        make_cloud_named(clouds[i], bed->seed, 1100000, &cloud);
        picks want = plain_sample(&cloud, 0, params.count, 0.0f, false);
        for (int simd = PC_SIMD_BASE; simd < PC_SIMD_FORMS; simd++) {
            for (int c = 0; c < bed->contexts; c++) {
                bed->context[c]->simd_limit = simd + 1;
            }
            check_sample(bed, clouds[i], &cloud, &params, &want);
        }
        for (int c = 0; c < bed->contexts; c++) {
            bed->context[c]->simd_limit = 0;
        }
        free_picks(&want);
        pcgpu_cloud_free(&cloud);
    }
}

static void check(test_bed *bed) {
    pcgpu_cloud cloud;
    const char *name;
    for (int kind = 0; make_cloud(kind, bed->seed, 0, &cloud, &name); kind++) {
        check_cloud(bed, name, &cloud, cloud.rows > 1000 ? 300 : 1000);
        pcgpu_cloud_free(&cloud);
    }
    /* Where the share of a block or a vector ends: one point more and less. */
    static const int64_t sizes[] = {31, 511, 512, 513, 1024, 1025, 2047, 2048, 4097, 8191, 8192, 8193, 16385};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        make_cloud_named(i % 2 ? "duplicates" : "uniform", bed->seed, sizes[i], &cloud);
        check_cloud(bed, "a size at an edge", &cloud, 120);
        pcgpu_cloud_free(&cloud);
    }
    if (bed->cuda && !bed->quick) { /* more points than the registers of an H200 hold */
        make_cloud_named("uniform", bed->seed, 2200001, &cloud);
        check_cloud(bed, "2.2 million points", &cloud, 12);
        pcgpu_cloud_free(&cloud);
    }
    if (!bed->cuda) {
        check_sizes(bed);
    }
}

const operation operation_sample = {"sample", check};
