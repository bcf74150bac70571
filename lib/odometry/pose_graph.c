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

/* ---- an edge ----------------------------------------------------------------------------------------------------- */

/* E, and the weight of its squared residual: 1 within the kernel. */
typedef struct edge_error {
    double q[4], t[3]; /* q[0] >= 0 */
    double square;     /* of the residual in standard deviations */
    double weight;
} edge_error;

static void multiply(const double a[4], const double b[4], double out[4]) {
    double r[4];
    memcpy(r, b, sizeof r);
    pc_quaternion_turned(a, r);
    memcpy(out, r, sizeof r);
}

static void conjugate(const double q[4], double out[4]) {
    out[0] = q[0];
    for (int k = 1; k < 4; k++) {
        out[k] = -q[k];
    }
}

/* R^T v */
static void turn_back(const double R[9], const double v[3], double out[3]) {
    for (int k = 0; k < 3; k++) {
        out[k] = (R[k] * v[0] + R[3 + k] * v[1]) + R[6 + k] * v[2];
    }
}

static void find_error(const pc_pose *from, const pc_pose *to, const pc_pose *measured, const pcgpu_pose_edge *edge,
                       edge_error *e) {
    double R[9], Z[9], back[4], away[3], there[3];
    pc_quaternion_matrix(from->q, R);
    pc_quaternion_matrix(measured->q, Z);
    conjugate(from->q, back);
    multiply(back, to->q, e->q);
    conjugate(measured->q, back);
    multiply(back, e->q, e->q);
    for (int k = 0; k < 3; k++) {
        away[k] = to->t[k] - from->t[k];
    }
    turn_back(R, away, there);
    for (int k = 0; k < 3; k++) {
        there[k] -= measured->t[k];
    }
    turn_back(Z, there, e->t);
    for (int k = 3; k >= 0; k--) {
        e->q[k] = e->q[0] < 0.0 ? -e->q[k] : e->q[k];
    }
    e->square = 4.0 * pc_square3(e->q + 1) / (edge->sigma[0] * edge->sigma[0]) +
                pc_square3(e->t) / (edge->sigma[1] * edge->sigma[1]);
    const double length = sqrt(e->square);
    e->weight = edge->kernel > 0.0 && length > edge->kernel ? edge->kernel / length : 1.0;
}

/* Huber's: e^2 within the kernel k, 2 k e - k^2 beyond. */
static double cost_of(const pcgpu_pose_edge *edge, const edge_error *e) {
    return e->weight < 1.0 ? 2.0 * edge->kernel * sqrt(e->square) - edge->kernel * edge->kernel : e->square;
}

static double total_cost(const graph *g, const pc_pose *poses) {
    double sum = 0.0;
    for (int64_t i = 0; i < g->edge_count; i++) {
        const pcgpu_pose_edge *edge = &g->edges[i];
        edge_error e;
        find_error(&poses[edge->from], &poses[edge->to], &g->measured[i], edge, &e);
        sum += cost_of(edge, &e);
    }
    return sum;
}

static void skew(const double v[3], double S[9]) {
    const double s[9] = {0.0, -v[2], v[1], v[2], 0.0, -v[0], -v[1], v[0], 0.0};
    memcpy(S, s, sizeof s);
}

/* a b, or a b^T */
static void multiply3(const double a[9], const double b[9], bool transposed, double out[9]) {
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            const double *column = transposed ? b + 3 * k : b + k;
            const int next = transposed ? 1 : 3;
            out[3 * i + k] = (a[3 * i] * column[0] + a[3 * i + 1] * column[next]) + a[3 * i + 2] * column[2 * next];
        }
    }
}

/* The derivatives of the residual by both poses, rows and columns (rotation, translation). With v the vector part of E,
 * w its scalar, and a rotation d of `to`: w d + v x d; E is turned from the left by `from`, seen through the
 * measurement. */
static void derive(const edge_error *e, const pc_pose *measured, double of_from[36], double of_to[36]) {
    double E[9], Z[9], back[9], v[9], right[9], left[9], arm[9], moment[9], turned[9];
    pc_quaternion_matrix(e->q, E);
    pc_quaternion_matrix(measured->q, Z);
    skew(e->q + 1, v);
    for (int i = 0; i < 9; i++) {
        right[i] = (i % 4 == 0 ? e->q[0] : 0.0) + v[i];
        left[i] = v[i] - (i % 4 == 0 ? e->q[0] : 0.0);
        back[i] = Z[3 * (i % 3) + i / 3];
    }
    multiply3(left, Z, true, turned);
    skew(e->t, arm);
    multiply3(arm, Z, true, moment);
    skew(measured->t, arm);
    multiply3(back, arm, false, v);
    memset(of_from, 0, 36 * sizeof *of_from);
    memset(of_to, 0, 36 * sizeof *of_to);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            of_from[6 * i + k] = turned[3 * i + k];
            of_from[6 * (3 + i) + k] = moment[3 * i + k] + v[3 * i + k];
            of_from[6 * (3 + i) + 3 + k] = -back[3 * i + k];
            of_to[6 * i + k] = right[3 * i + k];
            of_to[6 * (3 + i) + 3 + k] = E[3 * i + k];
        }
    }
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
    edge_error e;
    find_error(&g->poses[edge->from], &g->poses[edge->to], &g->measured[index], edge, &e);
    derive(&e, &g->measured[index], of_from, of_to);
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
        multiply(p->q, d, p->q);
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

pcgpu_status pcgpu_pose_graph_solve(pcgpu_context *context, double *poses, int64_t count, const pcgpu_pose_edge *edges,
                                    int64_t edge_count, int max_iterations, pcgpu_pose_graph_result *result) {
    graph g = {.edges = edges, .count = count, .edge_count = edge_count};
    *result = (pcgpu_pose_graph_result){0};
    pc_clear_error(context);
    if (count < 0 || count >= INT32_MAX || edge_count < 0 || edge_count >= INT32_MAX || max_iterations < 1) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "%lld poses, %lld edges and %d iterations; give 0 to 2^31 - 2, and at least one iteration",
                       (long long)count, (long long)edge_count, max_iterations);
    }
    for (int64_t i = 0; i < edge_count; i++) {
        PC_TRY(check_edge(context, poses, count, &edges[i], i));
    }
    bool good = allocate(&g);
    if (good) {
        for (int64_t i = 0; i < count; i++) {
            g.poses[i] = pc_matrix_pose(poses + 16 * i); /* not used where it is not a pose */
        }
        for (int64_t i = 0; i < edge_count; i++) {
            g.measured[i] = pc_matrix_pose(edges[i].T_from_to);
        }
        number_variables(&g, (int32_t *)g.work, result);
        good = lay_matrix(&g);
    }
    if (good) {
        optimize(&g, max_iterations, result);
        for (int64_t i = 0; i < count && result->final_cost < result->initial_cost; i++) {
            if (g.variable[i] >= 0) {
                pc_pose_matrix(&g.poses[i], poses + 16 * i);
            }
        }
    }
    free_graph(&g);
    return good ? PCGPU_OK : pc_fail_memory(context, 512 * (uint64_t)(count + edge_count), "the pose graph");
}

void pcgpu_pose_edge_residual(const double *poses, const pcgpu_pose_edge *edge, double residual[2]) {
    const pc_pose from = pc_matrix_pose(poses + 16 * edge->from), to = pc_matrix_pose(poses + 16 * edge->to),
                  measured = pc_matrix_pose(edge->T_from_to);
    edge_error e;
    find_error(&from, &to, &measured, edge, &e);
    residual[0] = 2.0 * pc_norm3(e.q + 1);
    residual[1] = pc_norm3(e.t);
}
