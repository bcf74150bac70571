/* Hostile and long pose graphs, covariances; tests/oracle/test_loops.py solves those of drives densely. */
#include "unit.h"

enum { MOST_POSES = 64, MOST_EDGES = 128 };

typedef struct graph {
    double truth[16 * MOST_POSES], poses[16 * MOST_POSES];
    int64_t count, edge_count;
    pcgpu_pose_edge edges[MOST_EDGES];
} graph;

static pcgpu_context *context;

/* ---- transforms, by other formulas than the library's: Rodrigues' ------------------------------------------------ */

static void transform_of(const double v[6], double *T) { /* rotation vector, translation */
    const double angle = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    const double a = angle > 1e-12 ? sin(angle) / angle : 1.0,
                 b = angle > 1e-6 ? (1 - cos(angle)) / (angle * angle) : 0.5;
    const double S[9] = {0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            double square = 0.0;
            for (int m = 0; m < 3; m++) {
                square += S[3 * i + m] * S[3 * m + k];
            }
            T[4 * i + k] = (i == k) + a * S[3 * i + k] + b * square;
        }
        T[4 * i + 3] = v[3 + i];
    }
    T[12] = T[13] = T[14] = 0.0;
    T[15] = 1.0;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static void add_edge(graph *g, int64_t from, int64_t to, double noise, double kernel) {
    double inverse[16], v[6], D[16];
    pcgpu_pose_edge *e = &g->edges[g->edge_count++];
    *e = (pcgpu_pose_edge){
        .from = from, .to = to, .sigma = {0.01 + 0.005 * test_noise(&numbers), 0.1}, .kernel = kernel};
    invert(g->truth + 16 * from, inverse);
    multiply(inverse, g->truth + 16 * to, e->T_from_to);
    for (int k = 0; k < 6; k++) {
        v[k] = noise * test_noise(&numbers) * (k < 3 ? 0.01 : 0.1);
    }
    transform_of(v, D);
    multiply(e->T_from_to, D, e->T_from_to);
}

/* A chain of poses around a circle with turns in all directions, edges from each to the next, and `loops` others. The
 * estimate is the chain. */
static void make_graph(graph *g, int count, int loops, double noise, double kernel) {
    double step[6] = {0.05, -0.03, 0.4, 2.0, 0.3, -0.2}, D[16];
    const double zero[6] = {0};
    *g = (graph){.count = count};
    transform_of(zero, g->truth);
    for (int i = 1; i < count; i++) {
        step[3] = 2.0 + test_noise(&numbers);
        transform_of(step, D);
        multiply(g->truth + 16 * (i - 1), D, g->truth + 16 * i);
        add_edge(g, i - 1, i, noise, 0.0);
    }
    for (int i = 0; i < loops; i++) {
        const int64_t from = (int64_t)((test_noise(&numbers) + 1.0) * 0.5 * count) % count;
        const int64_t to = (from + 2 + (int64_t)((test_noise(&numbers) + 1.0) * 0.5 * (count - 3))) % count;
        add_edge(g, from, to, noise, kernel);
    }
    memcpy(g->poses, g->truth, 16 * sizeof *g->poses);
    for (int i = 1; i < count; i++) {
        multiply(g->poses + 16 * (i - 1), g->edges[i - 1].T_from_to, g->poses + 16 * i);
    }
}

static void test_hostile(void **unused) {
    static graph g, before;
    pcgpu_pose_graph_result result;
    numbers.state = 3;
    make_graph(&g, 20, 3, 1.0, 0.0);
    before = g;
    /* No poses, no edges. */
    assert_int_equal(pcgpu_pose_graph_solve(context, NULL, 0, NULL, 0, 10, &result), PCGPU_OK);
    assert_int_equal(pcgpu_pose_graph_solve(context, g.poses, g.count, NULL, 0, 10, &result), PCGPU_OK);
    assert_int_equal(result.components, 20);
    assert_memory_equal(g.poses, before.poses, sizeof g.poses);
    /* Two halves, each with its own first pose; a pose without edges may be NaN. */
    g.edges[9] = g.edges[g.edge_count - 1];
    g.edges[9].from = 3;
    g.edges[9].to = 4;
    g.edge_count = 19;
    g.edges[18] = g.edges[17]; /* twice */
    for (int k = 0; k < 16; k++) {
        g.poses[16 * 19 + k] = (double)NAN;
    }
    assert_int_equal(pcgpu_pose_graph_solve(context, g.poses, g.count, g.edges, 19, 100, &result), PCGPU_OK);
    assert_true(result.components == 3 && result.final_cost < result.initial_cost);
    assert_memory_equal(g.poses, before.poses, 128);
    assert_memory_equal(g.poses + 160, before.poses + 160, 128);
    assert_true(isnan(g.poses[16 * 19]));
    /* Errors leave the poses as they are. */
    for (int i = 0; i < 9; i++) {
        g = before;
        pcgpu_pose_edge *e = &g.edges[7];
        switch (i) {
        case 0: e->from = e->to; break;
        case 1: e->to = g.count; break;
        case 2: e->from = -1; break;
        case 3: e->sigma[0] = 0.0; break;
        case 4: e->sigma[1] = (double)NAN; break;
        case 5: e->T_from_to[3] = (double)NAN; break;
        case 6: e->T_from_to[0] = 2.0; break;
        case 7: e->kernel = -1.0; break;
        default: g.poses[16 * 8 + 5] = (double)NAN; break;
        }
        const graph then = g;
        assert_int_equal(pcgpu_pose_graph_solve(context, g.poses, g.count, g.edges, g.edge_count, 10, &result),
                         PCGPU_ERROR_ARGUMENT);
        assert_memory_equal(g.poses, then.poses, sizeof g.poses);
    }
    assert_int_equal(pcgpu_pose_graph_solve(context, g.poses, -1, g.edges, 0, 10, &result), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(pcgpu_pose_graph_solve(context, g.poses, 3, g.edges, 0, 0, &result), PCGPU_ERROR_ARGUMENT);
}

/* A long chain with loops: the work stays linear. A method that fills in would take hours or 100 GB here. */
static void test_long(void **unused) {
    enum { LONG = 4000, ROUND = 500 };
    double *poses = calloc(16 * LONG, sizeof *poses), D[16];
    pcgpu_pose_edge *edges = calloc(2 * LONG, sizeof *edges);
    const double step[6] = {0, 0, 6.283185307179586 / ROUND, 1, 0, 0}, off[6] = {0, 0, 1e-6, 1e-3, 0, 0};
    const double none[6] = {0};
    int64_t n = 0;
    pcgpu_pose_graph_result result;
    assert_true(poses && edges);
    transform_of(none, poses);
    for (int i = 1; i < LONG; i++) {
        transform_of(step, D);
        edges[n] = (pcgpu_pose_edge){.from = i - 1, .to = i, .sigma = {1e-3, 0.05}};
        memcpy(edges[n++].T_from_to, D, sizeof D);
        multiply(poses + 16 * (i - 1), D, poses + 16 * i);
        transform_of(off, D);
        multiply(poses + 16 * i, D, poses + 16 * i);
        if (i >= ROUND && i % 10 == 0) { /* at the same place as one round before */
            edges[n] = (pcgpu_pose_edge){.from = i - ROUND, .to = i, .sigma = {1e-3, 0.05}};
            transform_of(none, edges[n++].T_from_to);
        }
    }
    assert_int_equal(pcgpu_pose_graph_solve(context, poses, LONG, edges, n, 50, &result), PCGPU_OK);
    assert_true(result.converged && result.final_cost < 1e-6 * result.initial_cost);
    assert_true(fabs(poses[16 * (LONG - ROUND) + 3]) < 1e-3);
    free(poses);
    free(edges);
}

/* Along a straight chain without rotations, variances add up, and a rotation moves what follows; a second equal edge
 * halves the variances; the first pose and a pose without edges have none. */
static void test_covariances(void **unused) {
    enum { N = 4 };
    double poses[16 * (N + 1)], C[36 * (N + 1)];
    pcgpu_pose_edge edges[2 * N];
    for (int i = 0; i <= N; i++) {
        const double v[6] = {0, 0, 0, i, 0, 0};
        transform_of(v, poses + 16 * i);
    }
    for (int i = 0; i + 1 < N; i++) {
        const double step[6] = {0, 0, 0, 1, 0, 0};
        edges[i] = (pcgpu_pose_edge){.from = i, .to = i + 1, .sigma = {0.01, 0.1}};
        transform_of(step, edges[i].T_from_to);
        edges[N - 1 + i] = edges[i];
    }
    for (int twice = 1; twice <= 2; twice++) {
        assert_int_equal(pcgpu_pose_graph_covariances(context, poses, N + 1, edges, twice * (N - 1), C), PCGPU_OK);
        for (int i = 0; i <= N; i++) {
            double across = 0.0; /* by the rotations of the edges before, each at its distance */
            const int steps = i < N ? i : 0;
            for (int k = 1; k < steps; k++) {
                across += 1e-4 * (steps - k) * (steps - k);
            }
            assert_true(fabs(C[36 * i] - 1e-4 * steps / twice) < 1e-9);
            assert_true(fabs(C[36 * i + 21] - 1e-2 * steps / twice) < 1e-9);
            assert_true(fabs(C[36 * i + 28] - (1e-2 * steps + across) / twice) < 1e-9);
        }
    }
    edges[0].sigma[0] = 0.0;
    assert_int_equal(pcgpu_pose_graph_covariances(context, poses, N + 1, edges, N - 1, C), PCGPU_ERROR_ARGUMENT);
}

int unit_pose_graph(void) {
    context = open_context(1);
    const struct CMUnitTest tests[] = {TEST(test_covariances), TEST(test_hostile), TEST(test_long)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pcgpu_close(context);
    return failed;
}
