/* One level of a registration on every back end against a plain reference, byte for byte: icp cpu|cuda [SEED].
 *
 * The reference knows no grid: it looks at every target point for the nearest one and for the neighbours of a normal,
 * and adds up by recursion. Only the formulas of icp_step.h are shared, and these are checked by what they promise.
 * Exit code 0 passed, 1 failed, 77 no CUDA device. */
#include "icp_ops.h"
#include "icp_grid.h"
#include "icp_step.h"
#include "../support/backends.h"

/* ---- clouds ---------------------------------------------------------------------------------------------------- */

/* Equal distances everywhere. */
static void fill_lattice(int64_t i, float p[3]) {
    (void)i;
    for (int k = 0; k < 3; k++) {
        p[k] = 0.5f * (float)(test_bits(&numbers) % 8);
    }
}

static void fill_duplicates(int64_t i, float p[3]) {
    p[0] = (float)(i % 5);
    p[1] = (float)(i % 3);
    p[2] = 1.0f;
}

static void fill_plane(int64_t i, float p[3]) {
    (void)i;
    p[0] = 10.0f * test_float(&numbers);
    p[1] = 10.0f * test_float(&numbers);
    p[2] = 0.0f;
}

/* Far from the origin, where float32 is coarse, with a few points very far away. */
static void fill_far(int64_t i, float p[3]) {
    for (int k = 0; k < 3; k++) {
        p[k] = 20000.0f + 6.0f * test_float(&numbers) + (i % 100 == 99 ? 30000.0f * test_float(&numbers) : 0.0f);
    }
}

static float *make(fill_fn *fill, int64_t n) {
    float *xyz = malloc((size_t)(n ? n : 1) * 3 * sizeof *xyz);
    for (int64_t i = 0; i < n; i++) {
        fill(i, xyz + 3 * i);
    }
    return xyz;
}

/* ---- the reference --------------------------------------------------------------------------------------------- */

typedef struct scene {
    const char *name;
    int64_t targets, sources;
    float *target, *source, *split; /* x y z by rows; the source again as x[] y[] z[] */
    double edge;
    float radius;
    bool given;             /* the normals are, else estimated */
    float *normals;         /* by target row */
    float *source_normals;  /* by source row */
    float *grouped_normals; /* the target's in the order of the grid */
} scene;

static int64_t cell_of(const float *points, int64_t n, double edge, int32_t row) {
    int64_t key = 0;
    for (int k = 2; k >= 0; k--) {
        float low = points[k];
        for (int64_t i = 0; i < n; i++) {
            low = fminf(low, points[3 * i + k]);
        }
        key = key << PC_ICP_AXIS_BITS | (int64_t)floor(((double)points[3 * row + k] - (double)low) * (1.0 / edge));
    }
    return key;
}

static int64_t *cells; /* for compare_visits */

static int compare_visits(const void *a, const void *b) {
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    return cells[i] != cells[j] ? (cells[i] > cells[j]) - (cells[i] < cells[j]) : (i > j) - (i < j);
}

/* Normals of n points by rows, estimated: neighbours in the order of their cells, then of their rows. */
static float *reference_normals(const scene *s, const float *points, int64_t n) {
    float *normals = malloc((size_t)(n ? n : 1) * 3 * sizeof *normals);
    int32_t *visits = malloc((size_t)(n ? n : 1) * sizeof *visits);
    cells = malloc((size_t)(n ? n : 1) * sizeof *cells);
    for (int32_t i = 0; i < n; i++) {
        visits[i] = i;
        cells[i] = cell_of(points, n, s->edge, i);
    }
    qsort(visits, (size_t)n, sizeof *visits, compare_visits);
    free(cells);
    for (int64_t i = 0; i < n; i++) {
        const float *p = points + 3 * i;
        pc_icp_moments m = {0};
        for (int64_t v = 0; v < n; v++) {
            const float *q = points + 3 * (int64_t)visits[v];
            if (pc_squared_distance(p[0], p[1], p[2], q[0], q[1], q[2]) <= s->radius * s->radius) {
                pc_icp_moments_add(&m, (double)q[0] - p[0], (double)q[1] - p[1], (double)q[2] - p[2]);
            }
        }
        pc_icp_plane(&m, normals + 3 * i);
    }
    free(visits);
    return normals;
}

/* Normals as a file may give them: some points have none. */
static float *made_up_normals(int64_t n) {
    float *normals = calloc((size_t)(n ? n : 1) * 3, sizeof *normals);
    for (int64_t i = 0; i < n; i++) {
        float v[3], length = 0.0f;
        for (int k = 0; k < 3; k++) {
            v[k] = 2.0f * test_float(&numbers) - 1.0f;
            length += v[k] * v[k];
        }
        for (int k = 0; k < 3 && i % 5 && length > 0.0f; k++) {
            normals[3 * i + k] = v[k] / sqrtf(length);
        }
    }
    return normals;
}

static void reference_point(const scene *s, const pc_icp_step *step, int64_t row, double *sums) {
    const float *p = s->source + 3 * row;
    float q[3];
    int64_t best = -1;
    float least = step->max_correspondence_squared;
    for (int k = 0; k < 3; k++) {
        const double *r = step->R + 3 * k;
        q[k] = (float)(((r[0] * (double)p[0] + r[1] * (double)p[1]) + r[2] * (double)p[2]) + step->t[k]);
    }
    for (int64_t i = 0; i < s->targets; i++) {
        const float *m = s->target + 3 * i;
        float d = pc_squared_distance(q[0], q[1], q[2], m[0], m[1], m[2]);
        if (d < least || (d == least && best < 0)) {
            best = i;
            least = d;
        }
    }
    if (best < 0) {
        return;
    }
    const float *n = s->normals + 3 * best;
    double a[3], d[3];
    for (int k = 0; k < 3; k++) {
        a[k] = (double)q[k] - step->center[k];
        d[k] = (double)q[k] - (double)s->target[3 * best + k];
    }
    sums[PC_ICP_MATCHES] += 1.0;
    sums[PC_ICP_D2] += (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2];
    double squared = (d[0] * d[0] + d[1] * d[1]) + d[2] * d[2];
    if (step->rows == PC_ICP_ROWS_PAIR) {
        const float *from = s->source_normals + 3 * row;
        double own[3];
        for (int k = 0; k < 3; k++) {
            const double *r = step->R + 3 * k;
            own[k] = (r[0] * (double)from[0] + r[1] * (double)from[1]) + r[2] * (double)from[2];
        }
        pc_icp_symmetric W = pc_icp_pair_weight((double)n[0], (double)n[1], (double)n[2], own[0], own[1], own[2]);
        pc_icp_add_pair(sums, a[0], a[1], a[2], d[0], d[1], d[2], W, step);
        return;
    }
    bool planar = (n[0] != 0.0f || n[1] != 0.0f || n[2] != 0.0f) && step->rows != PC_ICP_ROWS_POINT;
    if (planar) {
        double r = ((double)n[0] * d[0] + (double)n[1] * d[1]) + (double)n[2] * d[2];
        pc_icp_add_row(sums, a[0], a[1], a[2], (double)n[0], (double)n[1], (double)n[2], r,
                       pc_icp_weight(step->kernel, step->scale_squared, r * r));
    }
    for (int k = 0; k < 3 && !planar && step->rows != PC_ICP_ROWS_PLANE; k++) {
        pc_icp_add_row(sums, a[0], a[1], a[2], k == 0, k == 1, k == 2, d[k],
                       pc_icp_weight(step->kernel, step->scale_squared, squared));
    }
}

static void reference_node(const double *rows, int64_t n, int64_t first, int64_t span, double *sums);

/* Halving of `count` nodes of `span` points each, every `stride`-th from the point `first` on: the last addition joins
 * the even and the odd ones. */
static void reference_halves(const double *rows, int64_t n, int64_t first, int count, int64_t stride, int64_t span,
                             double *sums) {
    double odd[PC_ICP_SUMS];
    if (count == 1) {
        reference_node(rows, n, first, span, sums);
        return;
    }
    reference_halves(rows, n, first, count / 2, 2 * stride, span, sums);
    reference_halves(rows, n, first + stride * span, count / 2, 2 * stride, span, odd);
    for (int k = 0; k < PC_ICP_SUMS; k++) {
        sums[k] += odd[k];
    }
}

/* A node of the tree: one point, or PC_ICP_GROUP smaller nodes; nothing past the last point. */
static void reference_node(const double *rows, int64_t n, int64_t first, int64_t span, double *sums) {
    if (first >= n) {
        memset(sums, 0, PC_ICP_SUMS * sizeof *sums);
    } else if (span == 1) {
        memcpy(sums, rows + first * PC_ICP_SUMS, PC_ICP_SUMS * sizeof *sums);
    } else {
        reference_halves(rows, n, first, PC_ICP_GROUP, 1, span / PC_ICP_GROUP, sums);
    }
}

static void reference_step(const scene *s, const pc_icp_step *step, int64_t n, double *sums) {
    double *rows = calloc((size_t)n * PC_ICP_SUMS, sizeof *rows);
    int64_t span = PC_ICP_GROUP;
    for (int64_t i = 0; i < n; i++) {
        reference_point(s, step, i, rows + i * PC_ICP_SUMS);
    }
    while (span < n) {
        span *= PC_ICP_GROUP;
    }
    reference_node(rows, n, 0, span, sums);
    free(rows);
}

/* ---- what the formulas promise ----------------------------------------------------------------------------------- */

static void check_kernels(void) {
    const double s2 = 0.25; /* a scale of 0.5 */
    const struct {
        pc_icp_kernel kernel;
        double at_scale, far; /* weights at the scale and at four times that */
    } known[] = {{PC_ICP_KERNEL_NONE, 1.0, 1.0},
                 {PC_ICP_KERNEL_CAUCHY, 0.5, 1.0 / 17.0},
                 {PC_ICP_KERNEL_GEMAN, 0.25, 1.0 / 289.0}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        double before = 1.0;
        expect(pc_icp_weight(known[i].kernel, s2, 0.0) == 1.0, "kernel", "formula", "weight of 0", (int64_t)i);
        expect(fabs(pc_icp_weight(known[i].kernel, s2, s2) - known[i].at_scale) < 1e-15, "kernel", "formula",
               "weight at the scale", (int64_t)i);
        expect(fabs(pc_icp_weight(known[i].kernel, s2, 16.0 * s2) - known[i].far) < 1e-15, "kernel", "formula",
               "weight far away", (int64_t)i);
        for (double r = 0.0; r < 3.0; r += 0.01) {
            double w = pc_icp_weight(known[i].kernel, s2, r * r);
            expect(w <= before && w >= 0.0, "kernel", "formula", "never rises", (int64_t)i);
            before = w;
        }
    }
}

/* W (Cm + Cn) = 2e I, and the sums are those of J^T W J and J^T W d with the rows of J written out. */
static void check_pairs(void) {
    for (int i = 0; i < 200; i++) {
        float *normals = made_up_normals(4);
        const float *m = normals + 3 * (i % 3 ? 1 : 0), *n = normals + 3 * (i % 4 ? 2 : 0); /* the first is zero */
        pc_icp_symmetric w =
            pc_icp_pair_weight((double)m[0], (double)m[1], (double)m[2], (double)n[0], (double)n[1], (double)n[2]);
        double W[3][3] = {{w.xx, w.xy, w.xz}, {w.xy, w.yy, w.yz}, {w.xz, w.yz, w.zz}}, C[3][3], sums[PC_ICP_SUMS] = {0};
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c < 3; c++) {
                C[r][c] = 2.0 * (r == c) - (1.0 - PC_ICP_PAIR_EPSILON) * ((double)m[r] * m[c] + (double)n[r] * n[c]);
            }
        }
        double worst = 0.0;
        for (int r = 0; r < 3; r++) {
            for (int c = 0; c < 3; c++) {
                double product = W[r][0] * C[0][c] + W[r][1] * C[1][c] + W[r][2] * C[2][c];
                worst = fmax(worst, fabs(product - 2.0 * PC_ICP_PAIR_EPSILON * (r == c)));
            }
        }
        expect(worst < 1e-12, "pair", "formula", "the inverse", i);
        const pc_icp_step step = {.kernel = PC_ICP_KERNEL_CAUCHY, .scale_squared = 0.3};
        const double a[3] = {3.0 * test_float(&numbers), -2.0, 5.0 * test_float(&numbers)},
                     d[3] = {0.2, -0.1 * test_float(&numbers), 0.3};
        const double J[3][6] = {{0, a[2], -a[1], 1, 0, 0}, {-a[2], 0, a[0], 0, 1, 0}, {a[1], -a[0], 0, 0, 0, 1}};
        double r2 = 0.0, Wd[3];
        for (int r = 0; r < 3; r++) {
            Wd[r] = W[r][0] * d[0] + W[r][1] * d[1] + W[r][2] * d[2];
            r2 += d[r] * Wd[r];
        }
        double weight = step.scale_squared / (step.scale_squared + r2);
        pc_icp_add_pair(sums, a[0], a[1], a[2], d[0], d[1], d[2], w, &step);
        int at = PC_ICP_JJ;
        worst = fmax(fabs(sums[PC_ICP_R2] - r2), fabs(sums[PC_ICP_COST] - weight * r2));
        for (int r = 0; r < 6; r++) {
            double gradient = 0.0;
            for (int k = 0; k < 3; k++) {
                gradient += weight * J[k][r] * Wd[k];
            }
            worst = fmax(worst, fabs(sums[PC_ICP_JR + r] - gradient));
            for (int c = r; c < 6; c++) {
                double entry = 0.0;
                for (int k = 0; k < 9; k++) {
                    entry += weight * J[k / 3][r] * W[k / 3][k % 3] * J[k % 3][c];
                }
                worst = fmax(worst, fabs(sums[at++] - entry));
            }
        }
        expect(worst < 1e-12, "pair", "formula", "the equations", i);
        free(normals);
    }
}

/* ---- comparison ------------------------------------------------------------------------------------------------ */

/* One source size: every pose, maximum correspondence distance and kind of equation; of many points, every eighth
 * combination of these. */
static void check_steps(const scene *s, int64_t n) {
    static const double turns[][2] = {{1.0, 0.0}, {0.8, 0.6}, {-1.0, 0.0}}; /* cosine and sine about z */
    const float gates[] = {0.3f, 2.5f, (float)(64.0 * s->edge * s->edge)};  /* register.c has no larger one in cells */
    const int every = n > 33 ? 8 : 1;
    for (int i = 0; i < 3 * 3 * 5; i += every) {
        const double *turn = turns[i / 15];
        pc_icp_step step = {.R = {turn[0], -turn[1], 0, turn[1], turn[0], 0, 0, 0, 1},
                            .t = {0.0, i % 2 ? 0.25 : 0.0, 0.01 * i},
                            .center = {1.0, -2.0, 0.5},
                            .max_correspondence_squared = gates[i / 5 % 3],
                            .scale_squared = 0.01,
                            .kernel = (pc_icp_kernel)(i % 3),
                            .rows = (pc_icp_rows)((i + i / 5) % 4)};
        double expected[PC_ICP_SUMS], sums[PC_ICP_SUMS];
        reference_step(s, &step, n, expected);
        for (int c = 0; c < platform_count; c++) {
            memset(sums, 0xff, sizeof sums);
            pcgpu_status status = platforms[c].backend->icp->step(platforms[c].context, &step, sums);
            expect(status == PCGPU_OK && memcmp(sums, expected, sizeof sums) == 0, s->name, platforms[c].label, "sums",
                   i);
        }
    }
}

static void set_source(const scene *s, int64_t n, const pc_icp_grid *grid) {
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            s->split[k * n + i] = s->source[3 * i + k];
        }
    }
    for (int c = 0; c < platform_count; c++) {
        pc_icp_source source = {.n = n,
                                .x = s->split,
                                .y = s->split + n,
                                .z = s->split + 2 * n,
                                .normals = s->given ? s->source_normals : NULL,
                                .grid = grid,
                                .normal_radius = s->radius};
        expect(platforms[c].backend->icp->source(platforms[c].context, &source) == PCGPU_OK, s->name,
               platforms[c].label, "source", n);
    }
}

/* One size of the source, whose normals, where they are estimated, are of that part of it alone. */
static void check_source(scene *s, int64_t n) {
    pc_icp_grid grid = {0};
    pcgpu_status status = n > 0 ? pc_icp_grid_build(platforms[0].context, n, s->source, s->edge, &grid) : PCGPU_OK;
    expect(status == PCGPU_OK, s->name, "host", "grid of the source", n);
    s->source_normals = s->given ? made_up_normals(n) : reference_normals(s, s->source, n);
    set_source(s, n, &grid);
    check_steps(s, n);
    free(s->source_normals);
    pc_icp_grid_free(&grid);
}

static void check_scene(scene *s, fill_fn *fill, double edge, float radius, int64_t targets, int64_t sources) {
    static const int64_t sizes[] = {0, 1, 31, 32, 33, 1023, 1025};
    pc_icp_grid grid;
    s->targets = targets;
    s->sources = sources;
    s->edge = edge;
    s->radius = radius;
    s->target = make(fill, targets);
    s->source = make(fill, sources);
    s->split = malloc(3 * (size_t)sources * sizeof *s->split);
    s->normals = s->given ? made_up_normals(targets) : reference_normals(s, s->target, targets);
    s->grouped_normals = malloc((size_t)targets * 3 * sizeof *s->grouped_normals);
    pcgpu_status status = pc_icp_grid_build(platforms[0].context, targets, s->target, edge, &grid);
    expect(status == PCGPU_OK, s->name, "host", "grid", 0);
    for (int64_t i = 0; i < targets && status == PCGPU_OK; i++) {
        memcpy(s->grouped_normals + 3 * i, s->normals + 3 * (int64_t)grid.points[i].index, 3 * sizeof(float));
    }
    pc_icp_target target = {.grid = grid, .normals = s->given ? s->grouped_normals : NULL, .normal_radius = radius};
    for (int c = 0; c < platform_count && status == PCGPU_OK; c++) {
        expect(platforms[c].backend->icp->target(platforms[c].context, &target) == PCGPU_OK, s->name,
               platforms[c].label, "target", 0);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && sizes[i] <= sources && status == PCGPU_OK; i++) {
        check_source(s, sizes[i]);
    }
    if (status == PCGPU_OK && sources > 1025) {
        check_source(s, sources);
    }
    for (int c = 0; c < platform_count; c++) {
        platforms[c].backend->icp->end(platforms[c].context);
    }
    pc_icp_grid_free(&grid);
    free(s->target);
    free(s->source);
    free(s->split);
    free(s->normals);
    free(s->grouped_normals);
}

void test_icp(bool cuda, char **options) {
    static const int teams[] = {1, 2, 16};
    scene s = {0};
    (void)options;
    open_platforms(cuda, teams, 3, false);
    const struct {
        const char *name;
        fill_fn *fill;
        double edge;
        float radius;
        int64_t targets, sources;
        bool given;
    } scenes[] = {
        {"room", fill_room, 0.75, 1.0f, 700, 1025, false},
        {"room, own normals", fill_room, 0.75, 1.0f, 700, 1025, true},
        {"room, small cells", fill_room, 0.2, 1.0f, 700, 1025, false},
        {"room, one cell", fill_room, 100.0, 1.0f, 300, 1025, false},
        {"lattice", fill_lattice, 0.5, 0.8f, 400, 1025, false},
        {"lattice, own normals", fill_lattice, 0.5, 0.8f, 400, 1025, true},
        {"duplicates", fill_duplicates, 1.0, 1.5f, 300, 1025, false},
        {"plane", fill_plane, 0.7, 1.0f, 500, 1025, false},
        {"line", fill_line, 0.3, 0.5f, 500, 1025, false},
        {"far", fill_far, 0.8, 1.5f, 500, 1025, false},
        {"one point", fill_plane, 1.0, 1.0f, 1, 40, false},
        {"three levels of the tree", fill_room, 0.75, 1.0f, 40, 33000, true},
    };
    check_kernels();
    check_pairs();
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        s.name = scenes[i].name;
        s.given = scenes[i].given;
        check_scene(&s, scenes[i].fill, scenes[i].edge, scenes[i].radius, scenes[i].targets, scenes[i].sources);
    }
}
