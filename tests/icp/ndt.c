/* Registration by voxels on every back end against a plain reference, byte for byte: voxels cpu|cuda [SEED].
 *
 * The reference knows no table, no runs, no merging of levels and no vectors: it looks for the voxel of every point
 * among all voxels and adds it up by itself. Only the formulas of ndt_math.h are shared. On the CPU every form of
 * vectors runs with 1, 2, 5 and 16 threads. Exit code 0 passed, 1 failed, 77 no such device or nothing to test in the
 * back end. */
#include "ndt_ops.h"
#include "ndt_math.h"
#include "../support/backends.h"

enum { LEVELS = 3 };

/* ---- clouds ---------------------------------------------------------------------------------------------------- */

/* As a scanner goes: neighbours follow each other. */
static void fill_rings(int64_t i, float p[3]) {
    p[0] = 5.0f + 0.01f * (float)(i % 700);
    p[1] = 0.4f * (float)(i / 700 % 9) + 0.01f * test_float(&numbers);
    p[2] = 0.2f * test_float(&numbers);
}

/* On faces of voxels and fixed-point units. */
static void fill_lattice(int64_t i, float p[3]) {
    (void)i;
    for (int k = 0; k < 3; k++) {
        p[k] = 0.25f * (float)(test_bits(&numbers) % 16);
    }
}

static void fill_duplicates(int64_t i, float p[3]) {
    p[0] = p[1] = 1.3f;
    p[2] = i % 9 == 8 ? 2.0f : 1.0f;
}

/* ---- the reference --------------------------------------------------------------------------------------------- */

typedef struct voxel {
    int64_t c[3];
    pc_ndt_moments moments;
    int32_t source[4];
} voxel;

/* Voxel 0 is none. */
typedef struct grid {
    int shift;
    int32_t half;
    int count;
    voxel *voxels;
    pc_ndt_block *blocks;
} grid;

static bool place(const pc_ndt_map *map, const grid *g, const float *xyz, int64_t n, int64_t i, int64_t c[3],
                  int64_t inside[3]) {
    int32_t u[3];
    pc_ndt_quantize(map, xyz[i], xyz[n + i], xyz[2 * n + i], u);
    for (int k = 0; k < 3; k++) {
        c[k] = ((int64_t)u[k] + g->half) >> g->shift;
        inside[k] = (int64_t)u[k] + g->half - c[k] * ((int64_t)1 << g->shift);
    }
    return u[0] != PC_NDT_OUT;
}

static int find(const grid *g, const int64_t c[3]) {
    for (int i = 1; i < g->count; i++) {
        if (memcmp(g->voxels[i].c, c, sizeof g->voxels[i].c) == 0) {
            return i;
        }
    }
    return 0;
}

static grid reference_grid(const pc_ndt_target *t, const float *xyz, int shift, int32_t half) {
    grid g = {.shift = shift, .half = half, .count = 1};
    g.voxels = calloc((size_t)t->n + 1, sizeof *g.voxels);
    for (int64_t i = 0; i < t->n; i++) {
        int64_t c[3], p[3];
        if (!place(&t->map, &g, xyz, t->n, i, c, p)) {
            continue;
        }
        int at = find(&g, c);
        at = at ? at : g.count++;
        memcpy(g.voxels[at].c, c, sizeof c);
        pc_ndt_moments *m = &g.voxels[at].moments;
        m->n++;
        m->x += p[0], m->y += p[1], m->z += p[2];
        m->xx += p[0] * p[0], m->xy += p[0] * p[1], m->xz += p[0] * p[2];
        m->yy += p[1] * p[1], m->yz += p[1] * p[2], m->zz += p[2] * p[2];
    }
    return g;
}

static void reference_center(const pc_ndt_target *t, const float *xyz, double center[3]) {
    grid whole = {.shift = 30};
    int64_t n = 0, sum[3] = {0};
    for (int64_t i = 0; i < t->n; i++) {
        int64_t c[3], p[3];
        if (place(&t->map, &whole, xyz, t->n, i, c, p)) {
            n++;
            sum[0] += p[0], sum[1] += p[1], sum[2] += p[2];
        }
    }
    for (int k = 0; k < 3; k++) {
        center[k] = t->origin[k] + ((double)sum[k] / (double)(n ? n : 1) + 0.5) * t->unit;
    }
}

/* The normal of the voxel of `wider` that has the centre of a voxel, or zeros. */
static void reference_normal(const grid *g, const int64_t c[3], const grid *wider, double normal[6]) {
    int64_t parent[3], edge = (int64_t)1 << g->shift;
    for (int k = 0; k < 3; k++) {
        parent[k] = (c[k] * edge - g->half + edge / 2) / (2 * edge);
    }
    int at = wider ? find(wider, parent) : 0;
    for (int k = 0; k < 6; k++) {
        normal[k] = at ? (double)wider->blocks[at / PC_NDT_LANES].normal[k][at % PC_NDT_LANES] : 0.0;
    }
}

static void reference_blocks(const pc_ndt_target *t, const double center[3], const grid *wider, grid *g) {
    double edge = t->unit * (double)(1 << g->shift), wide = g->shift > PC_NDT_BITS ? t->widening * edge : 0.0;
    g->blocks = calloc((size_t)g->count / PC_NDT_LANES + 1, sizeof *g->blocks);
    for (int i = 1; i < g->count; i++) {
        const pc_ndt_moments *m = &g->voxels[i].moments;
        double values[10] = {(double)m->n,  (double)m->x,  (double)m->y,  (double)m->z,  (double)m->xx,
                             (double)m->xy, (double)m->xz, (double)m->yy, (double)m->yz, (double)m->zz};
        double corner[3], normal[6];
        reference_normal(g, g->voxels[i].c, wider, normal);
        for (int k = 0; k < 3; k++) {
            int64_t low = g->voxels[i].c[k] * ((int64_t)1 << g->shift) - g->half;
            corner[k] = ((double)low * t->unit + t->origin[k]) - center[k];
        }
        pc_ndt_finish(values, corner, normal, 1, t->unit, edge, t->sigma * t->sigma + wide * wide,
                      &g->blocks[i / PC_NDT_LANES], i % PC_NDT_LANES);
    }
}

static void reference_pass(const pc_ndt_pass *p, const pc_ndt_source *source, const float *xyz, grid *g) {
    for (int i = 0; i < g->count; i++) {
        memset(g->voxels[i].source, 0, sizeof g->voxels[i].source);
    }
    for (int64_t i = 0; i < source->points[p->set]; i++) {
        int64_t c[3], inside[3], from = pc_pick(i, source->every[p->set]);
        int at = place(&p->map, g, xyz, source->n, from, c, inside) ? find(g, c) : 0;
        g->voxels[at].source[0] += at > 0;
        for (int k = 0; k < 3 && at; k++) {
            g->voxels[at].source[1 + k] += (int32_t)inside[k];
        }
    }
}

/* Lanes of a chunk in float32, lanes by halving in float64, chunks in order. */
static void reference_sum(const pc_ndt_step *step, const grid *g, double *sums) {
    enum { L = PC_NDT_LANES };
    for (int chunk = 0; chunk < g->count; chunk += PC_NDT_CHUNK) {
        float part[PC_NDT_SUMS * L] = {0};
        for (int i = chunk; i < chunk + PC_NDT_CHUNK && i < g->count; i++) {
            const int32_t *s = g->voxels[i].source;
            if (s[0]) {
                pc_ndt_add(step, &g->blocks[i / L], i % L, s[0], s[1], s[2], s[3], part + i % L, L);
            }
        }
        for (int k = 0; k < PC_NDT_SUMS; k++) {
            double lanes[L];
            for (int l = 0; l < L; l++) {
                lanes[l] = (double)part[k * L + l];
            }
            for (int half = L / 2; half >= 1; half /= 2) {
                for (int l = 0; l < half; l++) {
                    lanes[l] += lanes[l + half];
                }
            }
            sums[k] += lanes[0];
        }
    }
}

/* The rms distances of the means from the axes, by points, in the same order. */
static void reference_gyration(const grid *g, double gyration[3]) {
    enum { L = PC_NDT_LANES };
    double square[3] = {0}, n = 0.0;
    for (int chunk = 0; chunk < g->count; chunk += PC_NDT_CHUNK) {
        double lanes[3][L] = {{0}};
        for (int i = chunk; i < chunk + PC_NDT_CHUNK && i < g->count; i++) {
            double points = (double)g->voxels[i].moments.n;
            n += points;
            for (int k = 0; k < 3; k++) {
                double d = (double)g->blocks[i / L].mean[k][i % L];
                lanes[k][i % L] += points * (d * d);
            }
        }
        for (int k = 0; k < 3; k++) {
            for (int half = L / 2; half >= 1; half /= 2) {
                for (int l = 0; l < half; l++) {
                    lanes[k][l] += lanes[k][l + half];
                }
            }
            square[k] += lanes[k][0];
        }
    }
    for (int k = 0; k < 3; k++) {
        double length = n > 0.0 ? sqrt((square[(k + 1) % 3] + square[(k + 2) % 3]) / n) : 0.0;
        gyration[k] = length > 0.0 ? length : 1.0;
    }
}

/* ---- comparison ------------------------------------------------------------------------------------------------ */

typedef struct scene {
    const char *name;
    fill_fn *fill;
    int64_t targets, sources;
    double edge;
} scene;

/* The optimizer, with the passes and sums of the reference. */
static void reference_follow(pc_ndt_job *job, const float *source, grid grids[LEVELS + 1]) {
    pc_ndt_optimizer *o = &job->optimizer;
    grid *seen[2] = {NULL, &grids[LEVELS]};
    int count = 0;
    pc_ndt_optimizer_begin(o);
    while (o->end == PC_NDT_RUNNING) {
        double sums[PC_NDT_MOST_SUMS][PC_NDT_SUMS] = {{0}};
        const pc_ndt_command *c = &o->command;
        seen[0] = c->passes ? &grids[c->pass.level] : seen[0];
        count = c->passes ? c->pass.grids : count;
        for (int k = 0; k < count; k++) {
            if (c->passes) {
                reference_pass(&c->pass, &job->source, source, seen[k]);
            }
            for (int i = 0; i < c->sums; i++) {
                reference_sum(&c->step[i], seen[k], sums[i]);
            }
        }
        pc_ndt_optimizer_next(o, sums);
    }
}

static void make_grids(const pc_ndt_target *t, const float *target, grid grids[LEVELS + 1], pc_ndt_measure *measure) {
    reference_center(t, target, measure->center);
    for (int l = 0; l <= LEVELS; l++) { /* the second one of the finest level last */
        bool shifted = l == LEVELS;
        grids[l] = reference_grid(t, target, PC_NDT_BITS + (shifted ? 0 : l), shifted ? 1 << (PC_NDT_BITS - 1) : 0);
    }
    for (int l = LEVELS - 1; l >= 0; l--) {
        reference_blocks(t, measure->center, l + 1 < LEVELS ? &grids[l + 1] : NULL, &grids[l]);
    }
    reference_blocks(t, measure->center, &grids[1], &grids[LEVELS]);
    reference_gyration(&grids[0], measure->gyration);
    measure->voxels = grids[0].count - 1;
}

static void check_scene(const scene *s) {
    /* quaternions about z, and metres */
    static const pc_pose starts[] = {{.q = {1, 0, 0, 0}}, {.q = {0.9998, 0, 0, 0.02}, .t = {0.03, 0.0, -0.02}}};
    float *target = make_columns(s->fill, s->targets), *source = make_columns(s->fill, s->sources);
    pc_ndt_frame frame = frame_about(target, s->targets, s->edge);
    frame.limit[0] *= 0.8f; /* points at the end of the first axis are left out */
    pc_ndt_job job = {.target = {.n = s->targets,
                                 .x = target,
                                 .y = target + s->targets,
                                 .z = target + 2 * s->targets,
                                 .map = pc_ndt_map_at(&frame, &starts[0]),
                                 .unit = frame.unit,
                                 .sigma = 0.03,
                                 .widening = 0.05,
                                 .levels = LEVELS},
                      .source = {.n = s->sources,
                                 .x = source,
                                 .y = source + s->sources,
                                 .z = source + 2 * s->sources,
                                 .points = {s->sources / 3, s->sources / 2, s->sources},
                                 .every = {3, 2, 1}},
                      .optimizer = {.frame = frame,
                                    .points = {s->sources / 3, s->sources / 2, s->sources},
                                    .levels = LEVELS,
                                    .max_iterations = 4,
                                    .single = true,
                                    .edge = s->edge,
                                    .reach = 8.0 * s->edge,
                                    .metres = 1e-5,
                                    .radians = 1e-6}};
    pc_ndt_measure measure = {{0}, {0}, 0};
    grid grids[LEVELS + 1];
    memcpy(job.target.origin, frame.origin, sizeof frame.origin);
    make_grids(&job.target, target, grids, &measure);
    for (int i = 0; i < 2; i++) {
        job.optimizer.start = starts[i];
        pc_ndt_job expected = job;
        expected.optimizer.target = measure;
        reference_follow(&expected, source, grids);
        for (int c = 0; c < platform_count; c++) {
            pc_ndt_job got = job;
            const bool good =
                platforms[c].backend->ndt->register_jobs(platforms[c].context, &got, 1, (pc_host_work){0}) == PCGPU_OK;
            expect(good && memcmp(&got.optimizer.target, &measure, sizeof measure) == 0, s->name, platforms[c].label,
                   "target", i);
            expect(good && same_optimizer(&got.optimizer, &expected.optimizer), s->name, platforms[c].label, "path", i);
        }
    }
    for (int l = 0; l <= LEVELS; l++) {
        free(grids[l].voxels);
        free(grids[l].blocks);
    }
    free(target);
    free(source);
}

void test_ndt(bool cuda, char **options) {
    static const int teams[] = {1, 2, 5, 16};
    static const scene scenes[] = {
        {"room", fill_room, 3000, 4000, 0.5},          {"room, small voxels", fill_room, 9000, 3000, 0.03},
        {"room, one voxel", fill_room, 700, 1100, 90}, {"rings", fill_rings, 9000, 7000, 0.5},
        {"lattice", fill_lattice, 2000, 2000, 0.25},   {"duplicates", fill_duplicates, 5000, 300, 0.5},
        {"line", fill_line, 500, 1100, 0.3},           {"one point", fill_room, 1, 40, 0.5},
        {"a block", fill_room, 128, 128, 0.5},         {"one more", fill_room, 129, 127, 0.5},
        {"no source", fill_room, 300, 0, 0.5},         {"many threads", fill_rings, 40000, 40000, 0.7},
    };
    (void)options;
    open_platforms(cuda, teams, 4, true);
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        check_scene(&scenes[i]);
    }
}
