/* Farthest point sampling and random sampling against the plain loop. */
#include "reference.h"
#include "sample_cpu.h"
#include "scan.h"

/* ---- comparing ------------------------------------------------------------------------------------------------ */

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

/* ---- large clouds on the CPU, and its threads ----------------------------------------------------------------- */

/* One cloud, keeping the coordinates and giving them up. */
static void check_prepared(test_bed *bed, int c, const char *name, const pcgpu_cloud *cloud, const picks *want,
                           pc_sample_variant *form) {
    for (int disposable = 0; disposable < 2; disposable++) {
        pcgpu_run run = {0};
        pc_points points;
        if (pc_points_select(bed->context[c], cloud, false, &points, &run) != PCGPU_OK) {
            expect(bed, false, "sample, %s: %s", name, bed->context[c]->errors.text);
            return;
        }
        picks got = {0, calloc((size_t)want->count, 4), calloc((size_t)want->count, 4)};
        pc_sample_job job = {.n = points.n,
                             .x = points.x,
                             .y = points.y,
                             .z = points.z,
                             .disposable = disposable != 0,
                             .count = want->count,
                             .indices = got.indices,
                             .squared = got.distances};
        pcgpu_status status = pc_cpu_sample_as(bed->context[c], &job, 1, form);
        for (int64_t i = 0; i < job.picked; i++) {
            got.distances[i] = sqrtf(got.distances[i]);
        }
        expect(bed, status == PCGPU_OK && equal_picks(want, job.picked, got.indices, got.distances),
               "sample, %s, %s, %s, vector form %d%s: differs from the reference", name, bed->label[c],
               form->algorithm == PC_SAMPLE_PLAIN ? "the plain loop" : "buckets", (int)form->simd,
               disposable ? ", coordinates given up" : "");
        free_picks(&got);
        pc_points_free(&points);
    }
}

/* More points than are sorted at once: alike, all but one in a cell of the first step, and all in one place. */
static void check_sizes(test_bed *bed) {
    static const struct {
        const char *name;
        int64_t rows;
    } clouds[] = {{"uniform", 1100000}, {"outlier", 1100000}, {"all equal", 1100000}, {"rings", 70000}};
    for (size_t i = 0; i < sizeof clouds / sizeof clouds[0]; i++) {
        pcgpu_cloud cloud;
        make_cloud_named(clouds[i].name, bed->seed, clouds[i].rows, &cloud);
        picks want = plain_sample(&cloud, 0, 12, 0.0f, false);
        for (int simd = PC_SIMD_BASE; simd < PC_SIMD_FORMS; simd++) {
            for (int c = 0; c < bed->contexts && pc_cpu_has((pc_simd)simd); c++) {
                pc_sample_variant buckets = {(pc_simd)simd, PC_SAMPLE_BUCKETS, 1000, 128};
                pc_sample_variant plain = {(pc_simd)simd, PC_SAMPLE_PLAIN, 1000, 0};
                check_prepared(bed, c, clouds[i].name, &cloud, &want, &buckets);
                check_prepared(bed, c, clouds[i].name, &cloud, &want, &plain);
            }
        }
        free_picks(&want);
        pcgpu_cloud_free(&cloud);
    }
}

static void check_used(test_bed *bed, int count, int64_t rows, int64_t samples, int want) {
    pcgpu_cloud cloud;
    make_cloud_named("uniform", bed->seed, rows, &cloud);
    const pcgpu_cloud **clouds = calloc((size_t)count, sizeof *clouds);
    pcgpu_sampled *got = calloc((size_t)count, sizeof *got);
    for (int i = 0; i < count; i++) {
        clouds[i] = &cloud;
    }
    pcgpu_context *context = bed->context[bed->contexts - 1];
    pcgpu_sample_params params;
    pcgpu_sample_params_init(&params);
    params.count = samples;
    pcgpu_status status = pcgpu_sample_batch(context, clouds, count, &params, got);
    expect(bed, status == PCGPU_OK && got[0].run.threads == want, "%d clouds of %lld points: %d threads, not %d", count,
           (long long)rows, got[0].run.threads, want);
    for (int i = 0; i < count; i++) {
        pcgpu_sampled_free(&got[i]);
    }
    free(clouds);
    free(got);
    pcgpu_cloud_free(&cloud);
}

static void check_large(test_bed *bed) {
    if (bed->cuda) {
        return;
    }
    check_sizes(bed);
    const int all = bed->context[bed->contexts - 1]->threads; /* 1 where the build has no threads */
    check_used(bed, 1, 300, 100, 1);                          /* the plain loop on a small cloud */
    check_used(bed, 1, 5000, 4000, 1);                        /* buckets */
    check_used(bed, 5, 300, 100, all < 5 ? all : 5);          /* a thread a cloud */
    check_used(bed, 40, 300, 100, all);
}

/* ---- batches -------------------------------------------------------------------------------------------------- */

static void compare_batch(test_bed *bed, const pcgpu_cloud *const *clouds, int count, double ratio) {
    pcgpu_sample_params params;
    pcgpu_sample_params_init(&params);
    params.start = PCGPU_START_RANDOM;
    params.seed = bed->seed;
    params.ratio = ratio;
    pcgpu_sampled *got = calloc((size_t)count, sizeof *got);
    for (int c = 0; c < bed->contexts; c++) {
        pcgpu_status status = pcgpu_sample_batch(bed->context[c], clouds, count, &params, got);
        expect(bed, status == PCGPU_OK, "batch, %s: %s", bed->label[c], pcgpu_last_error(bed->context[c]));
        for (int i = 0; i < count && status == PCGPU_OK; i++) {
            pcgpu_sampled one;
            status = pcgpu_sample(bed->context[c], clouds[i], &params, &one);
            picks want = {one.count, one.indices, one.distances};
            expect(bed, status == PCGPU_OK && equal_picks(&want, got[i].count, got[i].indices, got[i].distances),
                   "batch, cloud %d, %s: differs from the cloud alone", i, bed->label[c]);
            pcgpu_sampled_free(&one);
        }
        for (int i = 0; i < count; i++) {
            pcgpu_sampled_free(&got[i]);
        }
    }
    free(got);
}

static void check_batches(test_bed *bed) {
    enum { CLOUDS = 40 };
    pcgpu_cloud clouds[CLOUDS];
    const pcgpu_cloud *list[CLOUDS];
    const char *name;
    int64_t first;
    int n = 0;
    for (int kind = 0; n < CLOUDS && make_cloud(kind, bed->seed, 0, &clouds[n], &name); kind++) {
        list[n] = &clouds[n];
        if (count_usable(list[n], false, &first) > 0) {
            n++;
        } else {
            pcgpu_cloud_free(&clouds[n]);
        }
    }
    compare_batch(bed, list, n, 0.02);
    compare_batch(bed, list, 1, 0.05);
    for (int i = 0; i < n; i++) {
        pcgpu_cloud_free(&clouds[i]);
    }
    if (bed->cuda && !bed->quick) { /* more blocks than any device holds at once: several launches */
        for (int i = 0; i < CLOUDS; i++) {
            make_cloud_named("uniform", bed->seed + (uint64_t)i, 60000 + 1000 * i, &clouds[i]);
            list[i] = &clouds[i];
        }
        compare_batch(bed, list, CLOUDS, 0.0005);
        for (int i = 0; i < CLOUDS; i++) {
            pcgpu_cloud_free(&clouds[i]);
        }
    }
}

/* ---- random draws --------------------------------------------------------------------------------------------- */

/* The draws are the same on every platform and in every version. The numbers come from a separate implementation of the
 * generator; among 300,000 draws from 300,000 three had to be repeated to be unbiased. */
static void check_pinned_draws(test_bed *bed) {
    static const int32_t pinned[10] = {0, 4, 7, 9, 3, 8, 5, 1, 2, 6};
    pcgpu_sample_params params = {
        .struct_size = sizeof(pcgpu_sample_params), .method = PCGPU_SAMPLE_RANDOM, .seed = 42};
    for (int64_t n = 10; n <= 300000; n *= 30000) {
        pcgpu_cloud cloud;
        pcgpu_sampled got;
        make_cloud_named("uniform", bed->seed, n, &cloud);
        params.count = n;
        pcgpu_status status = pcgpu_sample(bed->context[0], &cloud, &params, &got);
        expect(bed, status == PCGPU_OK, "random: %s", pcgpu_last_error(bed->context[0]));
        uint64_t hash = 0;
        for (int64_t i = 0; i < got.count; i++) {
            hash = hash * 0x100000001B3ull + (uint64_t)got.indices[i];
        }
        expect(bed,
               n == 10 ? got.count == n && memcmp(got.indices, pinned, sizeof pinned) == 0
                       : hash == 0x9d4e63921b49c41cull,
               "random: seed 42 of %lld no longer gives the documented draws", (long long)n);
        pcgpu_sampled_free(&got);
        pcgpu_cloud_free(&cloud);
    }
}

/* Every record equally often in each place: 20000 seeds, 10 records, 3 draws; six standard deviations of slack. */
static void check_random(test_bed *bed) {
    enum { SEEDS = 20000, RECORDS = 10, DRAWS = 3 };
    int64_t seen[DRAWS][RECORDS] = {{0}};
    pcgpu_cloud cloud;
    make_cloud_named("uniform", bed->seed, RECORDS, &cloud);
    pcgpu_sample_params params;
    pcgpu_sample_params_init(&params);
    params.method = PCGPU_SAMPLE_RANDOM;
    params.count = DRAWS;
    bool distinct = true;
    for (int s = 0; s < SEEDS; s++) {
        pcgpu_sampled got;
        params.seed = (uint64_t)s;
        if (pcgpu_sample(bed->context[0], &cloud, &params, &got) != PCGPU_OK) {
            expect(bed, false, "random: %s", pcgpu_last_error(bed->context[0]));
            break;
        }
        for (int i = 0; i < DRAWS; i++) {
            seen[i][got.indices[i]]++;
        }
        distinct = distinct && got.indices[0] != got.indices[1] && got.indices[0] != got.indices[2] &&
                   got.indices[1] != got.indices[2] && got.count == DRAWS && !got.distances;
        pcgpu_sampled_free(&got);
    }
    expect(bed, distinct, "random: a record was drawn twice");
    for (int i = 0; i < DRAWS; i++) {
        for (int k = 0; k < RECORDS; k++) {
            double off = fabs((double)seen[i][k] - (double)SEEDS / RECORDS);
            expect(bed, off < 6.0 * sqrt(SEEDS * 0.09), "random: record %d came %lld times in place %d", k,
                   (long long)seen[i][k], i);
        }
    }
    pcgpu_cloud_free(&cloud);
    check_pinned_draws(bed);
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
    check_large(bed);
    check_batches(bed);
    check_random(bed);
}

const operation operation_sample = {"sample", check};
