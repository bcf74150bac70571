/* Pose graphs: poses that agree with measured motions between them (Lu and Milios 1997), by Gauss-Newton steps with
 * Levenberg's damping on the sparse system of pose_graph_factor.c (Kuemmerle et al. 2011, g2o).
 *
 * A pose changes by a rotation and a translation in its own frame. Sums are in the order of the edges, with + - * / and
 * sqrt only, on one thread: every machine gets the same bytes. */
#include "pose_graph.h"
#include "error.h"
#include "register.h"
#include "solve.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_DAMPING 1e-9 /* of the diagonal */
#define MOST_DAMPING  1e9
#define SMALL_GAIN    1e-9 /* of the cost: a step that gains less is the last one */

typedef struct graph {
    const pcgpu_pose_edge *edges;
    int64_t count, edge_count;
    pc_pose *poses, *moved; /* the estimate, and that after a step */
    pc_pose *measured;      /* of each edge */
    int32_t *variable;      /* of each pose; -1: it is fixed */
    int32_t variables;
    pc_block_matrix H;
    double *b, *step, *work, (*diagonal)[6];
} graph;

static double total_cost(const graph *g, const pc_pose *poses) {
    double sum = 0.0;
    for (int64_t i = 0; i < g->edge_count; i++) {
        const pcgpu_pose_edge *edge = &g->edges[i];
        pc_edge_error e;
        pc_edge_measure(&poses[edge->from], &poses[edge->to], &g->measured[i], edge, &e);
        sum += pc_edge_cost(edge, &e);
    }
    return sum;
}

/* a^T W b, and a^T W r into g. */
static void weigh(const double a[36], const double weights[6], const double b[36], double out[36]) {
    memset(out, 0, 36 * sizeof *out);
    for (int r = 0; r < 6; r++) {
        for (int i = 0; i < 6; i++) {
            const double factor = weights[r] * a[6 * r + i];
            for (int k = 0; k < 6; k++) {
                out[6 * i + k] += factor * b[6 * r + k];
            }
        }
    }
}

static void add_gradient(graph *g, int32_t variable, const double J[36], const double weights[6], const double r[6]) {
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 6; k++) {
            g->b[6 * (int64_t)variable + k] -= J[6 * i + k] * (weights[i] * r[i]);
        }
    }
}

static void add_edge(graph *g, int64_t index) {
    const pcgpu_pose_edge *edge = &g->edges[index];
    const int32_t from = g->variable[edge->from], to = g->variable[edge->to];
    double of_from[36], of_to[36], block[36], r[6], weights[6];
    pc_edge_error e;
    pc_edge_measure(&g->poses[edge->from], &g->poses[edge->to], &g->measured[index], edge, &e);
    pc_edge_derive(&e, &g->measured[index], of_from, of_to);
    for (int k = 0; k < 3; k++) {
        r[k] = 2.0 * e.q[1 + k];
        r[3 + k] = e.t[k];
        weights[k] = e.weight / (edge->sigma[0] * edge->sigma[0]);
        weights[3 + k] = e.weight / (edge->sigma[1] * edge->sigma[1]);
    }
    if (from >= 0) {
        weigh(of_from, weights, of_from, block);
        pc_block_matrix_add(&g->H, from, from, block);
        add_gradient(g, from, of_from, weights, r);
    }
    if (to >= 0) {
        weigh(of_to, weights, of_to, block);
        pc_block_matrix_add(&g->H, to, to, block);
        add_gradient(g, to, of_to, weights, r);
    }
    if (from >= 0 && to >= 0) {
        weigh(of_from, weights, of_to, block);
        pc_block_matrix_add(&g->H, from, to, block);
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* H and b at the present poses; the diagonal of H is raised by a fraction of it. */
static void linearize(graph *g, double damping) {
    memset(g->b, 0, 6 * (size_t)g->variables * sizeof *g->b);
    pc_block_matrix_clear(&g->H);
    for (int64_t i = 0; i < g->edge_count; i++) {
        add_edge(g, i);
    }
    for (int32_t i = 0; i < g->variables; i++) {
        for (int k = 0; k < 6; k++) {
            g->H.D[i][7 * k] += damping * g->H.D[i][7 * k];
        }
    }
    memcpy(g->step, g->b, 6 * (size_t)g->variables * sizeof *g->b);
}

static void take_step(graph *g) {
    for (int64_t i = 0; i < g->count; i++) {
        g->moved[i] = g->poses[i];
        if (g->variable[i] < 0) {
            continue;
        }
        const double *step = g->step + 6 * (int64_t)g->variable[i];
        pc_pose *p = &g->moved[i];
        double d[4], R[9];
        pc_quaternion_matrix(p->q, R);
        for (int k = 0; k < 3; k++) {
            p->t[k] += (R[3 * k] * step[3] + R[3 * k + 1] * step[4]) + R[3 * k + 2] * step[5];
        }
        pc_quaternion_turn(step, d);
        pc_quaternion_turned(p->q, d);
        memcpy(p->q, d, sizeof d);
        pc_quaternion_normalize(p->q);
    }
}

static void optimize(graph *g, int max_iterations, pcgpu_pose_graph_result *result) {
    double damping = FIRST_DAMPING, cost = total_cost(g, g->poses);
    result->initial_cost = cost;
    while (result->iterations < max_iterations && !result->converged) {
        result->iterations++;
        linearize(g, damping);
        double next = INFINITY;
        if (pc_block_matrix_factor(&g->H)) {
            pc_block_matrix_solve(&g->H, g->step, g->work);
            take_step(g);
            next = total_cost(g, g->moved);
        }
        if (next < cost) { /* not for NaN */
            pc_pose *poses = g->poses;
            g->poses = g->moved;
            g->moved = poses;
            result->converged = cost - next <= SMALL_GAIN * cost;
            damping = fmax(FIRST_DAMPING, 0.1 * damping);
            cost = next;
        } else {
            damping *= 100.0;
            result->converged = cost - next >= -SMALL_GAIN * cost || damping > MOST_DAMPING;
        }
    }
    result->final_cost = cost;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

static pcgpu_status check_edge(pcgpu_context *context, const double *poses, int64_t count, const pcgpu_pose_edge *e,
                               int64_t i) {
    char why[160];
    const int64_t ends[2] = {e->from, e->to};
    if (e->from < 0 || e->to < 0 || e->from >= count || e->to >= count || e->from == e->to) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "edge %lld joins the poses %lld and %lld; give two indices from 0 to %lld", (long long)i,
                       (long long)e->from, (long long)e->to, (long long)count - 1);
    }
    for (int k = 0; k < 2; k++) {
        if (!pcgpu_is_rigid(poses + 16 * ends[k], why, sizeof why)) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT, "pose %lld, of edge %lld: %s", (long long)ends[k],
                           (long long)i, why);
        }
        if (!(e->sigma[k] > 1e-12 && e->sigma[k] < 1e12)) {
            return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                           "edge %lld has a standard deviation of %g; give more than 0 radians and metres",
                           (long long)i, e->sigma[k]);
        }
    }
    if (!pcgpu_is_rigid(e->T_from_to, why, sizeof why)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "edge %lld: %s", (long long)i, why);
    }
    return e->kernel >= 0.0 ? PCGPU_OK
                            : pc_fail(context, PCGPU_ERROR_ARGUMENT, "edge %lld has the kernel %g; give 0 or more",
                                      (long long)i, e->kernel);
}

static int32_t root_of(int32_t *parent, int32_t i) {
    while (parent[i] != i) {
        i = parent[i] = parent[parent[i]];
    }
    return i;
}

/* Numbers the poses that may move: all of a component but its first one. `parent`: memory for as many. */
static void number_variables(graph *g, int32_t *parent, pcgpu_pose_graph_result *result) {
    for (int64_t i = 0; i < g->count; i++) {
        parent[i] = (int32_t)i;
    }
    for (int64_t i = 0; i < g->edge_count; i++) {
        const int32_t a = root_of(parent, (int32_t)g->edges[i].from), b = root_of(parent, (int32_t)g->edges[i].to);
        parent[a > b ? a : b] = a > b ? b : a; /* a root is the first of its component */
    }
    for (int64_t i = 0; i < g->count; i++) {
        const bool first = parent[i] == i;
        g->variable[i] = first ? -1 : g->variables++;
        result->components += first;
    }
}

/* The matrix with a block where an edge joins two variables. */
static bool lay_matrix(graph *g) {
    int32_t(*pairs)[2] = malloc(((size_t)g->edge_count + 1) * sizeof *pairs);
    int64_t n = 0;
    for (int64_t i = 0; i < g->edge_count && pairs; i++) {
        const int32_t from = g->variable[g->edges[i].from], to = g->variable[g->edges[i].to];
        if (from >= 0 && to >= 0) {
            pairs[n][0] = from;
            pairs[n++][1] = to;
        }
    }
    const bool good = pairs && pc_block_matrix_open(&g->H, g->variables, (const int32_t(*)[2])pairs, n);
    free(pairs);
    return good;
}

static bool allocate(graph *g) {
    const size_t n = (size_t)g->count + 1, six = 6 * n;
    g->poses = malloc(n * sizeof *g->poses);
    g->moved = malloc(n * sizeof *g->moved);
    g->measured = malloc(((size_t)g->edge_count + 1) * sizeof *g->measured);
    g->variable = malloc(n * sizeof *g->variable);
    g->b = malloc(six * sizeof *g->b);
    g->step = malloc(six * sizeof *g->step);
    g->work = malloc(six * sizeof *g->work);
    return g->poses && g->moved && g->measured && g->variable && g->b && g->step && g->work;
}

static void free_graph(graph *g) {
    pc_block_matrix_free(&g->H);
    free(g->poses);
    free(g->moved);
    free(g->measured);
    free(g->variable);
    free(g->b);
    free(g->step);
    free(g->work);
}

/* The graph at these poses; free it in any case. */
static pcgpu_status open_graph(pcgpu_context *context, const double *poses, graph *g, pcgpu_pose_graph_result *result) {
    *result = (pcgpu_pose_graph_result){0};
    pc_clear_error(context);
    if (g->count < 0 || g->count >= INT32_MAX || g->edge_count < 0 || g->edge_count >= INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld poses and %lld edges; give 0 to 2^31 - 2",
                       (long long)g->count, (long long)g->edge_count);
    }
    for (int64_t i = 0; i < g->edge_count; i++) {
        PC_TRY(check_edge(context, poses, g->count, &g->edges[i], i));
    }
    bool good = allocate(g);
    if (good) {
        for (int64_t i = 0; i < g->count; i++) {
            g->poses[i] = pc_matrix_pose(poses + 16 * i); /* not used where it is not a pose */
        }
        for (int64_t i = 0; i < g->edge_count; i++) {
            g->measured[i] = pc_matrix_pose(g->edges[i].T_from_to);
        }
        number_variables(g, (int32_t *)g->work, result);
        good = lay_matrix(g);
    }
    return good ? PCGPU_OK : pc_fail_memory(context, 512 * (uint64_t)(g->count + g->edge_count), "the pose graph");
}

pcgpu_status pcgpu_pose_graph_solve(pcgpu_context *context, double *poses, int64_t count, const pcgpu_pose_edge *edges,
                                    int64_t edge_count, int max_iterations, pcgpu_pose_graph_result *result) {
    graph g = {.edges = edges, .count = count, .edge_count = edge_count};
    pcgpu_status status;
    PC_TRY_OR(done, status, open_graph(context, poses, &g, result));
    if (max_iterations < 1) {
        status = pc_fail(context, PCGPU_ERROR_ARGUMENT, "%d iterations; give at least one", max_iterations);
        goto done;
    }
    optimize(&g, max_iterations, result);
    for (int64_t i = 0; i < count && result->final_cost < result->initial_cost; i++) {
        if (g.variable[i] >= 0) {
            pc_pose_matrix(&g.poses[i], poses + 16 * i);
        }
    }
done:
    free_graph(&g);
    return status;
}

pcgpu_status pcgpu_pose_graph_covariances(pcgpu_context *context, const double *poses, int64_t count,
                                          const pcgpu_pose_edge *edges, int64_t edge_count, double *covariances) {
    graph g = {.edges = edges, .count = count, .edge_count = edge_count};
    pcgpu_pose_graph_result counts;
    pcgpu_status status;
    PC_TRY_OR(done, status, open_graph(context, poses, &g, &counts));
    linearize(&g, 0.0);
    if (!pc_block_matrix_factor(&g.H)) {
        status = pc_fail(context, PCGPU_ERROR_ARGUMENT, "the edges leave a pose open; give smaller deviations");
        goto done;
    }
    for (int64_t i = 0; i < count; i++) {
        double *to = covariances + 36 * i;
        memset(to, 0, 36 * sizeof *to);
        for (int k = 0; k < 6 && g.variable[i] >= 0; k++) { /* columns of the inverse */
            double *column = g.step + 6 * (int64_t)g.variable[i];
            memset(g.step, 0, 6 * (size_t)g.variables * sizeof *g.step);
            column[k] = 1.0;
            pc_block_matrix_solve(&g.H, g.step, g.work);
            memcpy(to + 6 * k, column, 6 * sizeof *to);
        }
    }
done:
    free_graph(&g);
    return status;
}
