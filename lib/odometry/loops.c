/* Loops: frames in, corrected poses out. See loops_place.c, loops_find.c and pose_graph.c for the parts. */
#include "error.h"
#include "loops.h"
#include "odometry.h"

#include <stdlib.h>
#include <string.h>

#define PLACE_VOXELS 40.0
#define FRAME_STEP   0.2 /* place distances from frame to frame that are joined to a place */

/* Standard deviations. Of the odometry they grow as a random walk: the variance of the translation by TRANSLATION^2
 * voxel per metre, that of the rotation by ROTATION^2 per 4 voxels. */
#define STEP_RADIANS 2e-5
#define STEP_VOXELS  0.004
#define ROTATION     2.5e-4
#define TRANSLATION  0.02
#define LOOP_RADIANS 1e-3
#define LOOP_VOXELS  0.2
#define LOOP_KERNEL  3.0
#define LOOP_LENGTH  1.0 /* voxels, as the length of a loop in a path */
/* A loop whose residual is larger contradicts the others. */
#define OUTLIER_RADIANS 0.03
#define OUTLIER_VOXELS  3.0

enum { ITERATIONS = 50, ROUNDS = 20 };

static const pc_loops_kind scans;

void pcgpu_loops_params_init_sized(pcgpu_loops_params *params, size_t struct_size) {
    pcgpu_loops_params initial = {.place_distance = PCGPU_AUTO, .drift = 0.02, .search = true};
    pcgpu_register_params_init(&initial.registration);
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

pcgpu_status pcgpu_loops_open(pcgpu_context *context, const pcgpu_loops_params *params, pcgpu_loops **loops) {
    pc_clear_error(context);
    *loops = NULL;
    PC_TRY(pc_struct_check(context, "pcgpu_loops_params", params->struct_size, sizeof *params));
    pcgpu_register_params r = params->registration;
    r.method = PCGPU_REGISTER_NDT;
    r.search = PCGPU_SEARCH_NEVER;
    r.drop_origin = false; /* points are those of the odometry, corrected already */
    r.min_range = r.beam_correction = 0.0;
    PC_TRY(pc_register_check(context, &r));
    if (!(params->place_distance > 0.0 || params->place_distance == PCGPU_AUTO) ||
        !(params->drift >= 0.0 && params->drift <= 1.0)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "places %g m apart and a drift of %g; give more than 0 m and a fraction from 0 to 1",
                       params->place_distance, params->drift);
    }
    pcgpu_loops *l = calloc(1, sizeof *l);
    if (!l) {
        return pc_fail_memory(context, sizeof *l, "the loops");
    }
    l->context = context;
    l->kind = &scans;
    l->params = *params;
    l->params.registration = r;
    *loops = l;
    return PCGPU_OK;
}

void pcgpu_loops_close(pcgpu_loops *l) {
    if (!l) {
        return;
    }
    for (int32_t i = 0; i < l->place_count; i++) {
        pc_place_free(&l->places[i]);
    }
    pc_place_builder_free(&l->builder);
    pc_buffer_free(&l->place_memory);
    pc_buffer_free(&l->link_memory);
    pc_buffer_free(&l->id_memory);
    pc_buffer_free(&l->pose_memory);
    free(l->loops);
    free(l->poses);
    free(l);
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/* The frame takes part in the present place, and is the middle of it when it comes nearest to that. */
static bool join_place(pcgpu_loops *l, const pcgpu_cloud *cloud, const double T[16]) {
    const double step = FRAME_STEP * l->params.place_distance, middle = l->place_begin + 0.5 * l->params.place_distance;
    if (!l->open) {
        pc_place_begin(&l->builder, T);
        l->place_begin = l->last_taken = l->path;
        l->open = true;
    } else if (l->path - l->last_taken < step) {
        return true;
    }
    l->last_taken = l->path;
    if (!l->builder.scan.xyz || fabs(l->path - middle) < fabs(l->present.path - middle)) {
        l->present = (pc_place){.frame = l->frames, .path = l->path};
        memcpy(l->present.T, T, sizeof l->present.T);
        if (!pc_place_take_scan(&l->builder, cloud)) {
            return false;
        }
    }
    return pc_place_add(&l->builder, cloud, T);
}

pcgpu_status pc_loops_take_place(pcgpu_loops *l, pc_place *place) {
    const size_t bytes = ((size_t)l->place_count + 1) * sizeof *l->places;
    pc_place *places = pc_buffer_take(&l->place_memory, bytes, true);
    if (!places) {
        pc_place_free(place);
        return pc_fail_memory(l->context, bytes, "the places");
    }
    l->places = places;
    place->link = -1;
    l->places[l->place_count++] = *place;
    *place = (pc_place){0};
    return PCGPU_OK;
}

/* Keeps the present place, and looks for earlier ones. */
static pcgpu_status end_place(pcgpu_loops *l) {
    if (!l->open) {
        return PCGPU_OK;
    }
    if (!pc_place_finish(&l->builder, &l->present)) {
        pc_place_free(&l->present);
        return pc_fail_memory(l->context, 1 << 20, "a place");
    }
    l->open = false;
    PC_TRY(pc_loops_take_place(l, &l->present));
    return pc_loops_find(l);
}

static pcgpu_status settle(pcgpu_loops *l, const pcgpu_cloud *cloud) {
    const pcgpu_register_params given = l->params.registration;
    PC_TRY(pc_register_settle(l->context, &given, cloud, &l->params.registration));
    l->builder.voxel = l->params.registration.voxel;
    if (l->params.place_distance == PCGPU_AUTO) {
        l->params.place_distance = PLACE_VOXELS * l->builder.voxel;
    }
    l->loop_sigma[0] = LOOP_RADIANS;
    l->loop_sigma[1] = LOOP_VOXELS * l->builder.voxel;
    l->outlier[0] = OUTLIER_RADIANS;
    l->outlier[1] = OUTLIER_VOXELS * l->builder.voxel;
    l->loop_length = LOOP_LENGTH * l->builder.voxel;
    l->settled = true;
    return PCGPU_OK;
}

pcgpu_status pc_loops_reserve(pcgpu_loops *l, const double T[16]) {
    const size_t n = (size_t)l->frames + 1;
    PC_TRY(pc_register_check_pose(l->context, "the pose", T));
    void *ids = pc_buffer_take(&l->id_memory, n * sizeof *l->ids, true);
    l->ids = ids ? ids : l->ids;
    void *poses = pc_buffer_take(&l->pose_memory, 16 * n * sizeof *l->odometry, true);
    l->odometry = poses ? poses : l->odometry;
    return ids && poses ? PCGPU_OK : pc_fail_memory(l->context, 136 * n, "the poses");
}

void pc_loops_take_pose(pcgpu_loops *l, int64_t id, const double T[16]) {
    memcpy(l->odometry + 16 * l->frames, T, 16 * sizeof *T);
    l->ids[l->frames++] = id;
}

pcgpu_status pcgpu_loops_add(pcgpu_loops *l, const pcgpu_cloud *cloud, int64_t id, const double T[16]) {
    pc_clear_error(l->context);
    PC_TRY(pc_loops_reserve(l, T));
    if (cloud->columns < 3 || l->kind != &scans) {
        return pc_fail(l->context, PCGPU_ERROR_ARGUMENT,
                       l->kind != &scans ? "a cloud for loops of depth images; call pcgpu_loops_add_depth"
                                         : "a cloud of %d columns; x y z are needed",
                       cloud->columns);
    }
    if (!l->settled) {
        PC_TRY(settle(l, cloud));
    }
    if (l->frames > 0) {
        const double *before = l->odometry + 16 * (l->frames - 1);
        const double d[3] = {T[3] - before[3], T[7] - before[7], T[11] - before[11]};
        l->path += pc_norm3(d);
    }
    if (l->open && l->path - l->place_begin >= l->params.place_distance) {
        PC_TRY(end_place(l));
    }
    if (l->params.search && !join_place(l, cloud, T)) {
        return pc_fail_memory(l->context, 1 << 20, "a place");
    }
    pc_loops_take_pose(l, id, T);
    return PCGPU_OK;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

static void weigh_scan(const pcgpu_loops *l, pcgpu_pose_edge *e) {
    const double path = pc_transform_length(e->T_from_to), voxel = l->params.registration.voxel;
    e->sigma[0] = sqrt(STEP_RADIANS * STEP_RADIANS + ROTATION * ROTATION * (path / (4.0 * voxel)));
    e->sigma[1] = sqrt(STEP_VOXELS * STEP_VOXELS * voxel * voxel + TRANSLATION * TRANSLATION * voxel * path);
}

static pcgpu_status evaluate_scans(pcgpu_loops *l, const pcgpu_pose_edge *loops, bool *correct) {
    (void)loops;
    *correct = l->link_count > 0;
    return PCGPU_OK;
}

static const pc_loops_kind scans = {.end = end_place, .weigh = weigh_scan, .evaluate = evaluate_scans};

static pcgpu_pose_edge edge_between(const pcgpu_loops *l, int64_t from) {
    pcgpu_pose_edge e = {.from = from, .to = from + 1};
    pc_transform_between(l->odometry + 16 * from, l->odometry + 16 * (from + 1), e.T_from_to);
    l->kind->weigh(l, &e);
    return e;
}

static pcgpu_pose_edge edge_of(const pcgpu_loops *l, const pc_link *link) {
    pcgpu_pose_edge e = {.from = l->places[link->from].frame,
                         .to = l->places[link->to].frame,
                         .sigma = {l->loop_sigma[0], l->loop_sigma[1]},
                         .kernel = LOOP_KERNEL};
    memcpy(e.T_from_to, link->T_from_to, sizeof e.T_from_to);
    return e;
}

int64_t pc_loops_edges(const pcgpu_loops *l, pcgpu_pose_edge *edges) {
    const int64_t chain = l->frames > 0 ? l->frames - 1 : 0;
    for (int64_t i = 0; i < chain; i++) {
        edges[i] = edge_between(l, i);
    }
    for (int32_t i = 0; i < l->link_count; i++) {
        edges[chain + i] = edge_of(l, &l->links[i]);
    }
    return chain + l->link_count;
}

/* How much larger the residual of a loop is than that of one that holds; 1 or less: it holds. */
static double excess_of(const pcgpu_loops *l, const pcgpu_pose_edge *e) {
    double r[2];
    pcgpu_pose_edge_residual(l->poses, e, r);
    return fmax(r[0] / l->outlier[0], r[1] / l->outlier[1]);
}

/* Drops the loops that contradict the others most; whether there were some. */
static bool drop_outliers(pcgpu_loops *l, const pcgpu_pose_edge *loops) {
    double worst = 0.0;
    int32_t kept = 0;
    for (int32_t i = 0; i < l->link_count; i++) {
        worst = fmax(worst, excess_of(l, &loops[i]));
    }
    for (int32_t i = 0; i < l->link_count; i++) {
        const double excess = excess_of(l, &loops[i]);
        if (excess <= 1.0 || excess < 0.5 * worst) {
            l->links[kept++] = l->links[i];
        }
    }
    const bool some = kept < l->link_count;
    l->refused += l->link_count - kept;
    l->link_count = kept;
    for (int32_t i = 0; i < l->place_count && some; i++) {
        l->places[i].link = -1;
    }
    for (int32_t i = 0; i < kept && some; i++) {
        pc_loops_join(l, i);
    }
    return some;
}

void pc_loops_describe(pcgpu_loops *l) {
    for (int32_t i = 0; i < l->link_count; i++) {
        const pc_link *link = &l->links[i];
        const pc_place *from = &l->places[link->from], *to = &l->places[link->to];
        const pcgpu_pose_edge e = edge_of(l, link);
        pcgpu_loop *loop = &l->loops[i];
        *loop = (pcgpu_loop){
            .from = l->ids[from->frame], .to = l->ids[to->frame], .score = link->score, .path = to->path - from->path};
        memcpy(loop->T_from_to, link->T_from_to, sizeof loop->T_from_to);
        pcgpu_pose_edge_residual(l->odometry, &e, loop->before);
        pcgpu_pose_edge_residual(l->poses, &e, loop->residual);
    }
}

/* Solves the graph, again without the loops that contradict the others. */
static pcgpu_status correct(pcgpu_loops *l, pcgpu_pose_edge *edges, pcgpu_pose_graph_result *graph) {
    const size_t bytes = 16 * (size_t)l->frames * sizeof *l->poses;
    const int64_t chain = l->frames > 0 ? l->frames - 1 : 0;
    bool again = true;
    for (int round = 0; round < ROUNDS && again; round++) {
        if (bytes > 0) {
            memcpy(l->poses, l->odometry, bytes);
        }
        pc_loops_edges(l, edges);
        *graph = (pcgpu_pose_graph_result){.converged = true};
        PC_TRY(l->kind->evaluate(l, edges + chain, &again)); /* may set the deviations of the odometry */
        if (!again) {
            return PCGPU_OK; /* the poses keep their bytes */
        }
        const int64_t count = pc_loops_edges(l, edges);
        PC_TRY(pcgpu_pose_graph_solve(l->context, l->poses, l->frames, edges, count, ITERATIONS, graph));
        again = drop_outliers(l, edges + chain);
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_loops_solve(pcgpu_loops *l, pcgpu_loops_result *result) {
    *result = (pcgpu_loops_result){0};
    pc_clear_error(l->context);
    PC_TRY(l->kind->end(l));
    const size_t edges_bytes = ((size_t)l->frames + (size_t)l->link_count + 1) * sizeof(pcgpu_pose_edge);
    free(l->poses);
    free(l->loops);
    l->poses = malloc((16 * (size_t)l->frames + 1) * sizeof *l->poses);
    l->loops = malloc(((size_t)l->link_count + 1) * sizeof *l->loops);
    pcgpu_pose_edge *edges = malloc(edges_bytes);
    const pcgpu_status status = l->poses && l->loops && edges
                                    ? correct(l, edges, &result->graph)
                                    : pc_fail_memory(l->context, edges_bytes, "the pose graph");
    free(edges);
    PC_TRY(status);
    l->solved = l->frames;
    pc_loops_describe(l);
    result->frames = l->frames;
    result->ids = l->ids;
    result->poses = l->poses;
    result->count = l->link_count;
    result->loops = l->loops;
    result->places = l->place_count;
    result->tried = l->tried;
    result->refused = l->refused;
    for (int32_t i = 0; i < l->place_count; i++) {
        result->bytes += 6 * ((int64_t)l->places[i].map.n + l->places[i].scan.n) + (int64_t)sizeof *l->places;
        result->bytes += l->places[i].depth ? 2 * (int64_t)l->small.width * l->small.height : 0;
    }
    return PCGPU_OK;
}
