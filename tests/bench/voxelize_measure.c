/* Runs the programs of bench_voxelize on a cloud, checks and times them. */
#include "voxelize_bench.h"

#include "voxelize_cuda.h"
#include "voxelize_two_pass.h"

/* What pc_cuda_voxelize_timed and two_pass_voxelize are. */
typedef pcgpu_status timed_fn(pcgpu_context *context, const pc_voxelize_job *job, int repeats, float *milliseconds,
                              size_t cold_bytes, float *means, pcgpu_voxels *out);

static const struct program {
    const char *name;
    timed_fn *run;
    const char *(*check)(const expected *e, const answer *got);
} programs[PROGRAMS] = {
    [OURS] = {"pcgpu", pc_cuda_voxelize_timed, check_bytes},
    [TWO_PASS] = {"two passes", two_pass_voxelize, check_sets},
};

/* Runs before those that count, and these. A scan takes so little that a device reaches its clock rate after many. */
enum { SCAN_WARM = 50, SCAN_TIMED = 100, WARM = 3, TIMED = 20, LARGE_TIMED = 5 };
enum { MOST_RUNS = SCAN_WARM + SCAN_TIMED, ANSWERS = 5, SCAN = 500000, LARGE = 10000000 };
enum { TINY_LIMIT = 700 }; /* of voxels with --tiny: some clouds have more of them, others fewer */

static const pcgpu_features features_of[] = {
    [ARRAY_AND_MEANS] = PCGPU_FEATURES_POINTS,
    [ARRAY] = PCGPU_FEATURES_POINTS,
    [MEANS] = PCGPU_FEATURES_MEAN,
    [PILLARS] = PCGPU_FEATURES_PILLAR,
};

/* ---- what is right --------------------------------------------------------------------------------------------- */

static pc_voxelize_job make_job(bench *b, const pcgpu_cloud *cloud, const grid_case *grid, outputs wanted) {
    const pcgpu_voxelize_params *p = &grid->params;
    double range[6];
    memcpy(range, p->range, sizeof range);
    if (p->range_auto) {
        pcgpu_voxels found;
        bench_check(b->cpu, pcgpu_voxelize(b->cpu, cloud, p, &found));
        memcpy(range, found.range, sizeof range);
        pcgpu_voxels_free(&found);
    }
    pc_voxelize_job job = {.rows = cloud->rows,
                           .columns = cloud->columns,
                           .data = cloud->data,
                           .max_points = p->max_points,
                           .max_voxels = b->tiny && p->max_voxels ? TINY_LIMIT : p->max_voxels,
                           .features = features_of[wanted]};
    for (int k = 0; k < 3; k++) {
        job.grid.min[k] = (float)range[k];
        job.grid.max[k] = (float)range[3 + k];
        job.grid.size[k] = (float)p->size[k];
        job.grid.cells[k] = roundf((job.grid.max[k] - job.grid.min[k]) / job.grid.size[k]);
    }
    return job;
}

static pcgpu_voxels ask_cpu(bench *b, const pc_voxelize_job *job, pcgpu_features features, int64_t max_voxels) {
    pc_voxelize_job other = *job;
    pcgpu_voxels result;
    memset(&result, 0, sizeof result);
    other.features = features;
    other.max_voxels = max_voxels;
    bench_check(b->cpu, pc_backend_cpu.voxelize->voxelize(b->cpu, &other, &result));
    return result;
}

static expected expect_of(bench *b, const pc_voxelize_job *job, outputs wanted) {
    expected e = {.job = *job};
    e.exact = ask_cpu(b, job, job->features, job->max_voxels);
    if (wanted == ARRAY_AND_MEANS) {
        e.exact_means = ask_cpu(b, job, PCGPU_FEATURES_MEAN, job->max_voxels);
    }
    e.all = ask_cpu(b, job, job->max_points ? PCGPU_FEATURES_POINTS : PCGPU_FEATURES_MEAN, 0);
    e.order = sort_by_cell(&job->grid, &e.all);
    for (int64_t i = 0; i < job->rows; i++) {
        for (int k = 0; k < job->columns; k++) {
            double value = fabs((double)job->data[i * job->columns + k]);
            e.largest[k] = value > e.largest[k] && isfinite(value) ? value : e.largest[k];
        }
    }
    return e;
}

static void free_expected(expected *e) {
    pcgpu_voxels_free(&e->exact);
    pcgpu_voxels_free(&e->exact_means);
    pcgpu_voxels_free(&e->all);
    free(e->order);
}

/* The input, read once; the job's outputs, written once. */
static double compulsory_bytes(const expected *e, outputs wanted) {
    const double v = (double)e->exact.count, columns = (double)e->job.columns;
    double values = v * (double)e->exact.capacity * (double)e->exact.columns;
    values += wanted == ARRAY_AND_MEANS ? v * columns : 0.0;
    return 4.0 * ((double)e->job.rows * columns + values + 5.0 * v + (double)e->job.rows);
}

/* ---- running --------------------------------------------------------------------------------------------------- */

/* One call of one program; the state of a row that is being measured. */
typedef struct runner {
    bench *b;
    const char *where;
    const expected *e;
    int program;
    float *means; /* room for them, or NULL */
    int answers;
    bool failed;
} runner;

/* Milliseconds, median of the runs that count; after a failure nothing more is run. */
static double call(runner *r, int warm, int timed, size_t cold_bytes) {
    const struct program *program = &programs[r->program];
    float ms[MOST_RUNS];
    answer got = {.means = r->means};
    memset(&got.voxels, 0, sizeof got.voxels);
    if (r->failed) {
        return NAN;
    }
    if (program->run(r->b->cuda, &r->e->job, warm + timed, ms, cold_bytes, r->means, &got.voxels) != PCGPU_OK) {
        r->failed = !bench_right(false, r->where, r->b->cuda->errors.text);
    } else {
        const char *wrong = program->check(r->e, &got);
        if (wrong) {
            printf("%s is not the CPU's\n", wrong);
            r->failed = !bench_right(false, r->where, program->name);
        }
        r->answers++;
    }
    pcgpu_voxels_free(&got.voxels);
    return r->failed ? (double)NAN : bench_median(ms + warm, timed);
}

static void run_program(runner *r, table_row *result) {
    const int64_t rows = r->e->job.rows;
    const int warm = r->b->tiny    ? 0
                     : rows > SCAN ? WARM
                                   : SCAN_WARM,
              timed = r->b->tiny     ? 2
                      : rows > LARGE ? LARGE_TIMED
                      : rows > SCAN  ? TIMED
                                     : SCAN_TIMED;
    call(r, 0, 1, 0);
    result->us[r->program] = 1e3 * call(r, warm, timed, 0);
    result->cold_us[r->program] = 1e3 * call(r, warm, timed, r->b->cold_bytes);
    while (!r->failed && r->answers < ANSWERS) {
        call(r, 0, 1, 0);
    }
}

table_row measure(bench *b, const char *cloud_name, const pcgpu_cloud *cloud, const grid_case *grid, outputs wanted) {
    char where[120];
    snprintf(where, sizeof where, "%s of %lld points, %s", cloud_name, (long long)cloud->rows, grid->name);
    pc_voxelize_job job = make_job(b, cloud, grid, wanted);
    expected e = expect_of(b, &job, wanted);
    table_row result = {.bytes = compulsory_bytes(&e, wanted)};
    const int64_t most = job.max_voxels && job.max_voxels < job.rows ? job.max_voxels : job.rows; /* voxels */
    for (int program = 0; program < PROGRAMS; program++) {
        runner r = {.b = b, .where = where, .e = &e, .program = program};
        if (wanted == ARRAY_AND_MEANS) {
            r.means = calloc((size_t)(most * cloud->columns), sizeof *r.means);
        }
        run_program(&r, &result);
        free(r.means);
    }
    free_expected(&e);
    return result;
}
