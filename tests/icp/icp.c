/* One level of a registration on every back end against a plain reference, byte for byte: icp cpu|cuda [SEED].
 *
 * The reference knows no grid: it looks at every target point for the nearest one and for the neighbours of a normal,
 * and adds up by recursion. Only the formulas of icp.h are shared. Exit code 0 passed, 1 failed, 77 no CUDA device. */
#include "backend.h"
#include "icp_grid.h"
#include "icp_test.h"

#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, MAX_CONTEXTS = 3 };

/* ---- clouds ---------------------------------------------------------------------------------------------------- */

/* Equal distances everywhere. */
static void fill_lattice(int64_t i, float p[3]) {
    (void)i;
    for (int k = 0; k < 3; k++) {
        p[k] = 0.5f * (float)(random_bits() % 8);
    }
}

static void fill_duplicates(int64_t i, float p[3]) {
    p[0] = (float)(i % 5);
    p[1] = (float)(i % 3);
    p[2] = 1.0f;
}

static void fill_plane(int64_t i, float p[3]) {
    (void)i;
    p[0] = 10.0f * random_unit();
    p[1] = 10.0f * random_unit();
    p[2] = 0.0f;
}

/* Far from the origin, where float32 is coarse, with a few points very far away. */
static void fill_far(int64_t i, float p[3]) {
    for (int k = 0; k < 3; k++) {
        p[k] = 20000.0f + 6.0f * random_unit() + (i % 100 == 99 ? 30000.0f * random_unit() : 0.0f);
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
    float *normals;  /* by target row */
    int32_t *visits; /* target rows ordered by cell, as a normal adds them up */
} scene;

static int64_t cell_of(const scene *s, int32_t row) {
    int64_t key = 0;
    for (int k = 2; k >= 0; k--) {
        float low = s->target[k];
        for (int64_t i = 0; i < s->targets; i++) {
            low = fminf(low, s->target[3 * i + k]);
        }
        key =
            key << PC_ICP_AXIS_BITS | (int64_t)floor(((double)s->target[3 * row + k] - (double)low) * (1.0 / s->edge));
    }
    return key;
}

static int64_t *cells; /* for compare_visits */

static int compare_visits(const void *a, const void *b) {
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;
    return cells[i] != cells[j] ? (cells[i] > cells[j]) - (cells[i] < cells[j]) : (i > j) - (i < j);
}

static void reference_normals(scene *s) {
    s->normals = malloc((size_t)s->targets * 3 * sizeof *s->normals);
    s->visits = malloc((size_t)s->targets * sizeof *s->visits);
    cells = malloc((size_t)s->targets * sizeof *cells);
    for (int32_t i = 0; i < s->targets; i++) {
        s->visits[i] = i;
        cells[i] = cell_of(s, i);
    }
    qsort(s->visits, (size_t)s->targets, sizeof *s->visits, compare_visits);
    free(cells);
    for (int64_t i = 0; i < s->targets; i++) {
        const float *p = s->target + 3 * i;
        pc_icp_moments m = {0};
        for (int64_t v = 0; v < s->targets; v++) {
            const float *q = s->target + 3 * (int64_t)s->visits[v];
            if (pc_squared_distance(p[0], p[1], p[2], q[0], q[1], q[2]) <= s->radius * s->radius) {
                pc_icp_moments_add(&m, (double)q[0] - p[0], (double)q[1] - p[1], (double)q[2] - p[2]);
            }
        }
        pc_icp_plane(&m, s->normals + 3 * i);
    }
}

static void reference_point(const scene *s, const pc_icp_step *step, const float *p, double *sums) {
    float q[3];
    int64_t best = -1;
    float least = step->gate_squared;
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
    bool planar = (n[0] != 0.0f || n[1] != 0.0f || n[2] != 0.0f) && step->rows != PC_ICP_ROWS_POINT;
    if (planar) {
        double r = ((double)n[0] * d[0] + (double)n[1] * d[1]) + (double)n[2] * d[2];
        pc_icp_add_row(sums, a[0], a[1], a[2], (double)n[0], (double)n[1], (double)n[2], r, step->scale_squared);
    }
    for (int k = 0; k < 3 && !planar && step->rows != PC_ICP_ROWS_PLANE; k++) {
        pc_icp_add_row(sums, a[0], a[1], a[2], k == 0, k == 1, k == 2, d[k], step->scale_squared);
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
        reference_point(s, step, s->source + 3 * i, rows + i * PC_ICP_SUMS);
    }
    while (span < n) {
        span *= PC_ICP_GROUP;
    }
    reference_node(rows, n, 0, span, sums);
    free(rows);
}

/* ---- comparison ------------------------------------------------------------------------------------------------ */

typedef struct bed {
    int contexts;
    pcgpu_context *context[MAX_CONTEXTS];
    char label[MAX_CONTEXTS][32];
    const pc_backend *backend;
} bed;

/* One source size: every pose, gate and kind of equation. */
static void check_steps(const bed *b, const scene *s, int64_t n) {
    static const double turns[][2] = {{1.0, 0.0}, {0.8, 0.6}, {-1.0, 0.0}}; /* cosine and sine about z */
    const float gates[] = {0.3f, 2.5f, (float)(64.0 * s->edge * s->edge)};  /* register.c has no larger one in cells */
    for (int i = 0; i < 3 * 3 * 3; i++) {
        const double *turn = turns[i / 9];
        pc_icp_step step = {.R = {turn[0], -turn[1], 0, turn[1], turn[0], 0, 0, 0, 1},
                            .t = {0.0, i % 2 ? 0.25 : 0.0, 0.01 * i},
                            .center = {1.0, -2.0, 0.5},
                            .gate_squared = gates[i / 3 % 3],
                            .scale_squared = i % 2 ? 0.01 : 0.0,
                            .rows = (pc_icp_rows)(i % 3)};
        double expected[PC_ICP_SUMS], sums[PC_ICP_SUMS];
        reference_step(s, &step, n, expected);
        for (int c = 0; c < b->contexts; c++) {
            memset(sums, 0xff, sizeof sums);
            pcgpu_status status = b->backend->icp_step(b->context[c], &step, sums);
            expect(status == PCGPU_OK && memcmp(sums, expected, sizeof sums) == 0, s->name, b->label[c], "sums", i);
        }
    }
}

static void set_source(const bed *b, const scene *s, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            s->split[k * n + i] = s->source[3 * i + k];
        }
    }
    for (int c = 0; c < b->contexts; c++) {
        pcgpu_status status = b->backend->icp_source(b->context[c], n, s->split, s->split + n, s->split + 2 * n);
        expect(status == PCGPU_OK, s->name, b->label[c], "source", n);
    }
}

static void check_scene(const bed *b, scene *s, fill_fn *fill, double edge, float radius, int64_t targets,
                        int64_t sources) {
    static const int64_t sizes[] = {0, 1, 2, 31, 32, 33, 1023, 1025};
    pc_icp_grid grid;
    s->targets = targets;
    s->sources = sources;
    s->edge = edge;
    s->radius = radius;
    s->target = make(fill, targets);
    s->source = make(fill, sources);
    s->split = malloc(3 * (size_t)sources * sizeof *s->split);
    reference_normals(s);
    pcgpu_status status = pc_icp_grid_build(b->context[0], targets, s->target, edge, &grid);
    expect(status == PCGPU_OK, s->name, "host", "grid", 0);
    pc_icp_target target = {.grid = grid, .normal_radius = radius};
    for (int c = 0; c < b->contexts && status == PCGPU_OK; c++) {
        expect(b->backend->icp_target(b->context[c], &target) == PCGPU_OK, s->name, b->label[c], "target", 0);
    }
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && sizes[i] <= sources && status == PCGPU_OK; i++) {
        set_source(b, s, sizes[i]);
        check_steps(b, s, sizes[i]);
    }
    if (status == PCGPU_OK && sources > 1025) {
        set_source(b, s, sources);
        check_steps(b, s, sources);
    }
    for (int c = 0; c < b->contexts; c++) {
        b->backend->icp_end(b->context[c]);
    }
    pc_icp_grid_free(&grid);
    free(s->target);
    free(s->source);
    free(s->split);
    free(s->normals);
    free(s->visits);
}

static void open_context(bed *b, pcgpu_device device, int threads) {
    pcgpu_settings settings;
    pcgpu_settings_init(&settings);
    settings.device = device;
    settings.threads = threads;
    int i = b->contexts++;
    snprintf(b->label[i], sizeof b->label[i], "%s, %d threads", device == PCGPU_DEVICE_CUDA ? "cuda" : "cpu", threads);
    if (pcgpu_open(&settings, &b->context[i]) != PCGPU_OK) {
        printf("skipped: %s\n", pcgpu_last_error(b->context[i]));
        pcgpu_close(b->context[i]);
        exit(SKIPPED);
    }
}

int main(int argc, char **argv) {
    bed b = {0};
    scene s = {0};
    bool cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (cuda) {
        open_context(&b, PCGPU_DEVICE_CUDA, 1);
    }
    for (int threads = 1; threads <= 16 && !cuda; threads = threads == 1 ? 2 : threads * 8) {
        open_context(&b, PCGPU_DEVICE_CPU, threads);
    }
    b.backend = cuda ? pc_backend_cuda() : &pc_backend_cpu;
    const struct {
        const char *name;
        fill_fn *fill;
        double edge;
        float radius;
        int64_t targets, sources;
    } scenes[] = {
        {"room", fill_room, 0.75, 1.0f, 1500, 2000},
        {"room, small cells", fill_room, 0.2, 1.0f, 700, 1100},
        {"room, one cell", fill_room, 100.0, 1.0f, 300, 1100},
        {"lattice", fill_lattice, 0.5, 0.8f, 400, 1100},
        {"duplicates", fill_duplicates, 1.0, 1.5f, 300, 1100},
        {"plane", fill_plane, 0.7, 1.0f, 500, 1100},
        {"line", fill_line, 0.3, 0.5f, 500, 1100},
        {"far", fill_far, 0.8, 1.5f, 500, 1100},
        {"one point", fill_plane, 1.0, 1.0f, 1, 40},
        {"three levels of the tree", fill_room, 0.75, 1.0f, 40, 33000},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
        s.name = scenes[i].name;
        check_scene(&b, &s, scenes[i].fill, scenes[i].edge, scenes[i].radius, scenes[i].targets, scenes[i].sources);
    }
    for (int c = 0; c < b.contexts; c++) {
        pcgpu_close(b.context[c]);
    }
    printf("icp: %d checks, %d failed\n", checks, failures);
    return failures ? 1 : 0;
}
