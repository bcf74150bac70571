/* The cases that every form of sampling is checked with: clouds of all sizes, made for ties and for rounding, with
 * every use of seeds, counts and a least distance. */
#include "kernels_forms.h"

#include <unistd.h>

/* All points are usable: the jobs are made without lib/sample/sample.c. */
static const char *const kinds[] = {
    "uniform",     "rings",    "lattice",   "duplicates",   "clusters",    "all equal", "collinear", "1e30",
    "3e38",        "denormal", "tiny",      "outlier",      "faces",       "one voxel", "origins",   "cube",
    "street scan", "room",     "eightfold", "wide lattice", "coarse grid", "few bits"};

static int64_t below(test_random *r, int64_t n) {
    return (int64_t)(test_bits(r) % (uint64_t)n);
}

/* As many sizes between 10 and 20 as between 1000 and 2000; one of eight is where a block ends, or beside, not for
 * the few clouds of compute-sanitizer. */
static int64_t draw_size(const test_bed *bed, test_random *r, int64_t least, int64_t most) {
    double ratio = ((double)most + 1.0) / (double)least;
    int64_t n = (int64_t)((double)least * pow(ratio, (double)test_uniform(r, 0.0f, 1.0f)));
    if (bed->clouds == 0 && below(r, 8) == 0) {
        int64_t edge = 1;
        while (2 * edge <= n) {
            edge *= 2;
        }
        n = edge + below(r, 3) - 1;
    }
    return n < least ? least : n > most ? most : n;
}

/* Distinct points in any order. */
static int32_t *draw_seeds(test_random *r, int64_t n, int64_t count) {
    int32_t *all = malloc((size_t)n * sizeof *all);
    for (int64_t i = 0; i < n; i++) {
        all[i] = (int32_t)i;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t k = i + below(r, n - i);
        int32_t other = all[k];
        all[k] = all[i];
        all[i] = other;
    }
    return all;
}

/* None, one, half of the points or all but one. */
static int64_t draw_seed_count(test_random *r, int64_t n, int64_t most) {
    static const int64_t none = 0;
    int64_t counts[] = {none, none, none, 1, n / 2, n - 1};
    int64_t count = counts[below(r, sizeof counts / sizeof counts[0])];
    count = count < n ? count : n - 1;
    return count < most ? count : most;
}

/* All points, one, or some; with seeds none as well. */
static int64_t draw_count(test_random *r, const pc_sample_job *job, int64_t most) {
    int64_t left = job->n - job->seed_count, way = below(r, 6);
    int64_t count = way < 2 ? left : way == 2 ? 1 : 1 + below(r, left);
    if (way == 3 && job->seed_count > 0) {
        return 0;
    }
    return count < most ? count : most;
}

/* Stops at a distance that occurs, which is not below itself, or just above it, and cuts the answer there. */
static void draw_min_distance(test_random *r, pc_sample_job *want) {
    if (want->picked == 0 || below(r, 4) != 0) {
        return;
    }
    float distance = sqrtf(want->squared[below(r, want->picked)]);
    want->min_distance = isinf(distance) ? 1e20f : below(r, 2) ? distance : nextafterf(distance, INFINITY);
    for (int64_t i = want->seed_count ? 0 : 1; i < want->picked; i++) {
        if (sqrtf(want->squared[i]) < want->min_distance) {
            want->rest = want->squared[i];
            want->picked = i;
        }
    }
}

static void take_points(test_bed *bed, const char *kind, uint64_t seed, int64_t n, forms_case *c) {
    pcgpu_cloud cloud;
    pcgpu_run run = {0};
    *c = (forms_case){.kind = kind};
    make_cloud_named(kind, seed, n, &cloud);
    if (pc_points_select(bed->context[0], &cloud, false, &c->points, &run) != PCGPU_OK || c->points.n != n) {
        fprintf(stderr, "kernels: %s of %lld points cannot be used\n", kind, (long long)n);
        exit(1);
    }
    pcgpu_cloud_free(&cloud);
    c->want = (pc_sample_job){.n = n, .x = c->points.x, .y = c->points.y, .z = c->points.z};
}

static void take_outputs(forms_case *c, int64_t count) {
    c->want.count = count;
    c->want.indices = calloc((size_t)count + 1, 4);
    c->want.squared = calloc((size_t)count + 1, 4);
}

static void make_case(test_bed *bed, test_random *r, int64_t n, double work, forms_case *c) {
    const char *kind = kinds[below(r, sizeof kinds / sizeof kinds[0])];
    if (strcmp(kind, "denormal") == 0 || strcmp(kind, "tiny") == 0 || strcmp(kind, "few bits") == 0) {
        work /= 50; /* a denormal number may take the processor that the plain loop runs on a hundred times as long */
    }
    int64_t most = work / (double)n < (double)n ? (int64_t)(work / (double)n) : n;
    take_points(bed, kind, test_bits(r), n, c);
    c->want.seed_count = draw_seed_count(r, n, most / 2);
    c->want.start = c->want.seed_count ? -1 : below(r, n); /* not used with seeds */
    c->seeds = draw_seeds(r, n, c->want.seed_count);
    c->want.seeds = c->want.seed_count ? c->seeds : NULL;
    take_outputs(c, draw_count(r, &c->want, most));
}

void make_whole(test_bed *bed, const char *kind, int64_t n, pack *out) {
    forms_case *c = &out->cases[0];
    pcgpu_status status = PCGPU_OK;
    out->count = 1;
    take_points(bed, kind, bed->seed, n, c);
    take_outputs(c, n);
    c->want.start = n / 3;
    if (bed->cuda) {
        status = pc_backend_cpu.sample->sample(bed->context[0], &c->want, 1);
    } else {
        plain_sample_job(&c->want);
    }
    expect(bed, status == PCGPU_OK, "%s of %lld points, all picked, cpu: %s", kind, (long long)n,
           bed->context[0]->errors.text);
}

void make_pack(test_bed *bed, test_random *r, int count, int64_t least, int64_t most, double work, pack *out) {
    out->count = count;
    for (int i = 0; i < count; i++) {
        make_case(bed, r, draw_size(bed, r, least, most), work, &out->cases[i]);
    }
}

static void answer_one(void *state, int i) {
    pc_sample_job **jobs = state;
    plain_sample_job(jobs[i]);
}

void answer_packs(test_random *r, pack *packs, int count) {
    int cases = 0;
    pc_sample_job **jobs = malloc((size_t)count * MOST_IN_PACK * sizeof *jobs);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < packs[i].count; k++) {
            jobs[cases++] = &packs[i].cases[k].want;
        }
    }
    pc_team *team = pc_team_open((int)sysconf(_SC_NPROCESSORS_ONLN));
    pc_team_run(team, cases, answer_one, jobs);
    pc_team_close(team);
    for (int i = 0; i < cases; i++) {
        draw_min_distance(r, jobs[i]);
    }
    free(jobs);
}

void free_pack(pack *p) {
    for (int i = 0; i < p->count; i++) {
        forms_case *c = &p->cases[i];
        pc_points_free(&c->points);
        free(c->seeds);
        free(c->want.indices);
        free(c->want.squared);
    }
}
