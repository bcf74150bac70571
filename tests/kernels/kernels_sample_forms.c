/* Every form of sampling on the CPU against the plain loop of the reference. */
#include "kernels_sample.h"
#include "scan.h"

bool same(const picks *want, int64_t count, const int32_t *indices, const float *distances) {
    return want->count == count && memcmp(want->indices, indices, (size_t)count * 4) == 0 &&
           memcmp(want->distances, distances, (size_t)count * 4) == 0;
}

/* One form on one context. `want` names records, the job usable points. */
static void check_form(test_bed *bed, int c, const char *name, const pc_points *points,
                       const pcgpu_sample_params *params, const picks *want, const pc_sample_variant *form) {
    int64_t start = 0;
    while (points->rows && points->rows[start] != params->start_index) {
        start++;
    }
    picks got = {0, calloc((size_t)params->count, 4), calloc((size_t)params->count, 4)};
    pc_sample_job job = {.n = points->n,
                         .x = points->x,
                         .y = points->y,
                         .z = points->z,
                         .start = points->rows ? start : params->start_index,
                         .count = params->count,
                         .min_distance = params->min_distance,
                         .indices = got.indices,
                         .squared = got.distances};
    pcgpu_status status = pc_cpu_sample_as(bed->context[c], &job, 1, form);
    for (int64_t i = 0; i < job.picked; i++) {
        got.indices[i] = points->rows ? points->rows[got.indices[i]] : got.indices[i];
        got.distances[i] = sqrtf(got.distances[i]);
    }
    expect(bed, status == PCGPU_OK && same(want, job.picked, got.indices, got.distances),
           "sample, %s, %s, vector form %d, %s of %d: differs from the reference", name, bed->label[c], (int)form->simd,
           form->algorithm == PC_SAMPLE_PLAIN ? "plain loop" : "buckets", form->bucket_points);
    free_picks(&got);
}

void check_forms(test_bed *bed, int threads, const char *name, const pcgpu_cloud *cloud,
                 const pcgpu_sample_params *params, const picks *want) {
    static const int32_t bucket_points[] = {128, 16, 7, 1, 1 << 15};
    for (int c = 0; c < bed->contexts && !bed->cuda; c++) {
        if (bed->context[c]->threads > threads) {
            continue;
        }
        pcgpu_run run = {0};
        pc_points points;
        if (pc_points_select(bed->context[c], cloud, params->drop_origin, &points, &run) != PCGPU_OK) {
            expect(bed, false, "sample, %s: %s", name, bed->context[c]->errors.text);
            return;
        }
        for (int simd = PC_SIMD_BASE; simd < PC_SIMD_FORMS; simd++) {
            if (!pc_cpu_has((pc_simd)simd)) {
                continue;
            }
            pc_sample_variant form = {.simd = (pc_simd)simd, .algorithm = PC_SAMPLE_PLAIN, .points_per_thread = 100};
            check_form(bed, c, name, &points, params, want, &form);
            form.algorithm = PC_SAMPLE_BUCKETS;
            for (size_t i = 0; i < sizeof bucket_points / sizeof bucket_points[0] && c == 0; i++) {
                form.bucket_points = bucket_points[i];
                check_form(bed, c, name, &points, params, want, &form);
            }
        }
        pc_points_free(&points);
    }
}

static void check_all_picks_of(test_bed *bed, const char *name, int64_t rows) {
    static const int32_t bucket_points[] = {128, 16};
    pcgpu_cloud cloud;
    pcgpu_run run = {0};
    pc_points points;
    make_cloud_named(name, bed->seed, rows, &cloud);
    pcgpu_sample_params params;
    pcgpu_sample_params_init(&params);
    params.count = rows;
    params.start = PCGPU_START_INDEX;
    params.start_index = rows / 3;
    picks want = plain_sample(&cloud, params.start_index, rows, 0.0f, false);
    if (rows < 100) {
        check_forms(bed, 2, name, &cloud, &params, &want);
    } else if (pc_points_select(bed->context[0], &cloud, false, &points, &run) == PCGPU_OK) {
        for (int simd = PC_SIMD_BASE; simd < PC_SIMD_FORMS; simd++) {
            for (int i = 0; i < 2 && pc_cpu_has((pc_simd)simd); i++) {
                pc_sample_variant form = {(pc_simd)simd, PC_SAMPLE_BUCKETS, 100, bucket_points[i]};
                check_form(bed, 0, name, &points, &params, &want, &form);
            }
        }
        pc_points_free(&points);
    } else {
        expect(bed, false, "sample, %s: %s", name, bed->context[0]->errors.text);
    }
    free_picks(&want);
    pcgpu_cloud_free(&cloud);
}

void check_all_picks(test_bed *bed) {
    for (int64_t rows = 1; rows < 40 && !bed->cuda; rows++) {
        check_all_picks_of(bed, rows % 2 ? "lattice" : "uniform", rows);
    }
    static const struct {
        const char *name;
        int64_t rows;
    } clouds[] = {{"lattice", 20001}, {"duplicates", 6000}, {"all equal", 6000}, {"rings", 17000},
                  {"outlier", 5000},  {"3e38", 3000},       {"denormal", 3000},  {"collinear", 6000}};
    for (size_t i = 0; i < sizeof clouds / sizeof clouds[0] && !bed->cuda; i++) {
        check_all_picks_of(bed, clouds[i].name, clouds[i].rows);
    }
}
