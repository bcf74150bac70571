/* Sets of clouds: groups of clouds that fit, and their poses by a pose graph.
 *
 * The links are taken by the number of features that agree, most first. A link that joins two groups is believed when
 * the scans of both, laid on each other by it, see through each other's surfaces in the minority of pairs: a wrong link
 * has no cycle that would contradict it. The graph is then solved with all links within the groups, and a link that is
 * far from its poses is left out, the farthest first, which cycles decide. */
#include "error.h"
#include "register_all.h"

#include <stdlib.h>
#include <string.h>

#define SEEN_OVERLAP 0.15 /* of two scans that are compared */
#define KERNEL       3.0  /* of the links, standard deviations */
#define FAR_RADIANS  0.03 /* of a link from its poses */
#define FAR_VOXELS   3.0

enum { ITERATIONS = 50 };

pcgpu_status pc_all_view(pc_all *a, int source, int target, pc_view_comparison *compared) {
    double T[16], back[16];
    pc_seen seen[2] = {a->seen[source], a->seen[target]};
    pc_transform_between(a->clouds[target].T_group_cloud, a->clouds[source].T_group_cloud, T);
    pc_transform_invert(T, back);
    return pc_view_compare(a->context, seen, T, back, a->params[target].voxel, compared);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

typedef struct ranked {
    int agree, link;
} ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *p = a, *q = b;
    return p->agree != q->agree ? q->agree - p->agree : p->link - q->link;
}

static void move_group(pc_all *a, int group, const double T[16]) {
    for (int i = 0; i < a->n; i++) {
        if (a->clouds[i].group == group) {
            pc_transform_multiply(T, a->clouds[i].T_group_cloud, a->clouds[i].T_group_cloud);
        }
    }
}

/* Whether most pairs of scans of two groups, of those that see the same, see through each other's surfaces. */
static pcgpu_status contradicts(pc_all *a, int group, int other, bool *wrong) {
    int seen = 0, against = 0;
    for (int i = 0; i < a->n; i++) {
        for (int j = 0; j < a->n && a->clouds[i].group == group; j++) {
            pc_view_comparison compared;
            if (a->clouds[j].group == other) {
                PC_TRY(pc_all_view(a, j, i, &compared));
                seen += compared.overlap >= SEEN_OVERLAP;
                against += compared.overlap >= SEEN_OVERLAP && compared.free > PC_MOST_FREE_AT_START;
            }
        }
    }
    *wrong = 2 * against > seen;
    return PCGPU_OK;
}

/* Joins the groups of a link, which have the name of their first cloud and its frame, unless their scans contradict. */
static pcgpu_status join(pc_all *a, pc_all_link *l) {
    const int s = l->found.source, t = l->found.target, from = a->clouds[s].group, into = a->clouds[t].group;
    double T[16], back[16];
    pc_transform_invert(a->clouds[s].T_group_cloud, back);
    pc_transform_multiply(l->found.T_target_source, back, T);
    pc_transform_multiply(a->clouds[t].T_group_cloud, T, T);
    move_group(a, from, T);
    PC_TRY(contradicts(a, into, from, &l->out));
    const int first = from < into ? from : into;
    if (l->out) {
        pc_transform_invert(T, back);
        move_group(a, from, back);
        return PCGPU_OK;
    }
    for (int i = 0; i < a->n; i++) {
        const bool joins = a->clouds[i].group == from || a->clouds[i].group == into;
        a->clouds[i].group = joins ? first : a->clouds[i].group;
    }
    pc_transform_invert(a->clouds[first].T_group_cloud, back);
    move_group(a, first, back);
    memcpy(a->clouds[first].T_group_cloud, pc_identity, sizeof pc_identity);
    return PCGPU_OK;
}

/* A tree for each group. */
static pcgpu_status span(pc_all *a, ranked *order) {
    for (int i = 0; i < a->n; i++) {
        a->clouds[i].group = i;
        memcpy(a->clouds[i].T_group_cloud, pc_identity, sizeof pc_identity);
    }
    for (int i = 0; i < a->link_count; i++) {
        order[i] = (ranked){a->links[i].agree, i};
    }
    qsort(order, (size_t)a->link_count, sizeof *order, compare_ranked);
    for (int i = 0; i < a->link_count; i++) {
        pc_all_link *l = &a->links[order[i].link];
        l->out = false;
        if (a->clouds[l->found.source].group != a->clouds[l->found.target].group) {
            PC_TRY(join(a, l));
        }
    }
    return PCGPU_OK;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

/* Of frames whose origins are the centroids of the clouds, where rotations and translations are apart. */
typedef struct graph {
    double *poses, *covariances;
    pcgpu_pose_edge *edges;
    int *link; /* of each edge */
    int count; /* of edges */
} graph;

static void move_origin(const double T[16], const double center[3], double sign, double out[16]) {
    const double p[3] = {sign * center[0], sign * center[1], sign * center[2]};
    double origin[3];
    pc_transform_apply(T, p, origin);
    memmove(out, T, 16 * sizeof *out);
    for (int k = 0; k < 3; k++) {
        out[4 * k + 3] = origin[k];
    }
}

static void list_edges(const pc_all *a, graph *g) {
    g->count = 0;
    for (int i = 0; i < a->link_count; i++) {
        const pc_all_link *l = &a->links[i];
        const pcgpu_set_link *f = &l->found;
        pcgpu_pose_edge *e = &g->edges[g->count];
        if (l->out) {
            continue;
        }
        *e = (pcgpu_pose_edge){
            .from = f->target, .to = f->source, .sigma = {l->sigma[0], l->sigma[1]}, .kernel = KERNEL};
        move_origin(f->T_target_source, a->clouds[f->source].center, 1.0, e->T_from_to);
        for (int k = 0; k < 3; k++) {
            e->T_from_to[4 * k + 3] -= a->clouds[f->target].center[k];
        }
        g->link[g->count++] = i;
    }
}

/* The residuals of the links; leaves out the one that is farthest from its poses, if there is one. */
static bool leave_out(pc_all *a, const graph *g) {
    double worst = 1.0;
    int farthest = -1;
    for (int i = 0; i < g->count; i++) {
        pcgpu_set_link *f = &a->links[g->link[i]].found;
        pcgpu_pose_edge_residual(g->poses, &g->edges[i], f->residual);
        const double excess =
            fmax(f->residual[0] / FAR_RADIANS, f->residual[1] / (FAR_VOXELS * a->params[f->target].voxel));
        if (excess > worst) {
            worst = excess;
            farthest = g->link[i];
        }
    }
    if (farthest >= 0) {
        a->links[farthest].out = true;
    }
    return farthest >= 0;
}

/* The variance of the residuals in those of the links: the cycles say how good these are. */
static double variance_of(const pc_all *a, const graph *g, int64_t components) {
    const int64_t freedom = 6 * (g->count - (a->n - components));
    double sum = 0.0;
    for (int i = 0; i < g->count; i++) {
        const pc_all_link *l = &a->links[g->link[i]];
        for (int k = 0; k < 2; k++) {
            sum += l->found.residual[k] * l->found.residual[k] / (l->sigma[k] * l->sigma[k]);
        }
    }
    return freedom > 0 ? sum / (double)freedom : 1.0;
}

/* Of motions in the axes of the group. */
static void take_covariances(pc_all *a, const graph *g) {
    for (int i = 0; i < a->n; i++) {
        const double *T = g->poses + 16 * i, *C = g->covariances + 36 * i;
        double half[36], *to = a->clouds[i].covariance;
        for (int r = 0; r < 36; r++) { /* C R^T, then R of that */
            const double *row = T + 4 * (r % 6 % 3), *of = C + 6 * (r / 6) + (r % 6 < 3 ? 0 : 3);
            half[r] = (of[0] * row[0] + of[1] * row[1]) + of[2] * row[2];
        }
        for (int r = 0; r < 36; r++) {
            const double *row = T + 4 * (r / 6 % 3), *of = half + (r / 6 < 3 ? 0 : 18) + r % 6;
            to[r] = a->variance * ((row[0] * of[0] + row[1] * of[6]) + row[2] * of[12]);
        }
    }
}

static pcgpu_status solve(pc_all *a, graph *g) {
    pcgpu_pose_graph_result result;
    for (int i = 0; i < a->n; i++) {
        move_origin(a->clouds[i].T_group_cloud, a->clouds[i].center, 1.0, g->poses + 16 * i);
    }
    do {
        list_edges(a, g);
        PC_TRY(pcgpu_pose_graph_solve(a->context, g->poses, a->n, g->edges, g->count, ITERATIONS, &result));
    } while (leave_out(a, g));
    a->variance = variance_of(a, g, result.components);
    PC_TRY(pcgpu_pose_graph_covariances(a->context, g->poses, a->n, g->edges, g->count, g->covariances));
    for (int i = 0; i < a->n; i++) {
        if (a->clouds[i].group != i) { /* the others keep the identity */
            move_origin(g->poses + 16 * i, a->clouds[i].center, -1.0, a->clouds[i].T_group_cloud);
        }
    }
    take_covariances(a, g);
    return PCGPU_OK;
}

pcgpu_status pc_all_place(pc_all *a) {
    const size_t n = (size_t)a->n, links = (size_t)a->link_count + 1;
    graph g = {.poses = malloc(16 * n * sizeof *g.poses),
               .covariances = malloc(36 * n * sizeof *g.covariances),
               .edges = malloc(links * sizeof *g.edges),
               .link = malloc(links * sizeof *g.link)};
    ranked *order = malloc(links * sizeof *order);
    pcgpu_status status;
    if (!g.poses || !g.covariances || !g.edges || !g.link || !order) {
        status = pc_fail_memory(a->context, 36 * n * sizeof *g.covariances, "the poses");
        goto done;
    }
    PC_TRY_OR(done, status, span(a, order));
    status = solve(a, &g);
done:
    free(g.poses);
    free(g.covariances);
    free(g.edges);
    free(g.link);
    free(order);
    return status;
}
