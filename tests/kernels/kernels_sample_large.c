/* Sampling on the CPU as large clouds have it: brought in order in parts, by several threads, in the coordinates' own
 * memory. And how many threads it says it used. */
#include "kernels_sample.h"
#include "scan.h"

/* One cloud in buckets, keeping the coordinates and giving them up. */
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
        expect(bed, status == PCGPU_OK && same(want, job.picked, got.indices, got.distances),
               "sample, %s, %s, buckets, vector form %d%s: differs from the reference", name, bed->label[c],
               (int)form->simd, disposable ? ", coordinates given up" : "");
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
                pc_sample_variant form = {(pc_simd)simd, PC_SAMPLE_BUCKETS, 1000, 128};
                check_prepared(bed, c, clouds[i].name, &cloud, &want, &form);
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

void check_large(test_bed *bed) {
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
