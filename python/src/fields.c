/* The fields of the public structs and their names in Python. */
#include "fields.h"
#include "pcgpu.h"

/* clang-format off: these are tables. */

#define FIELD(of, kind, member)                                                                                        \
    { .name = #member, .type = kind, .offset = offsetof(of, member) }
#define NAMED(of, kind, member, called)                                                                                \
    { .name = called, .type = kind, .offset = offsetof(of, member) }
#define VECTOR(of, kind, member, n)                                                                                    \
    { .name = #member, .type = kind, .offset = offsetof(of, member), .rows = n }
#define MATRIX(of, member, called, n)                                                                                  \
    { .name = called, .type = FIELD_DOUBLES, .offset = offsetof(of, member), .rows = n, .columns = n }
#define CHOICE(of, member, list)                                                                                       \
    { .name = #member, .type = FIELD_CHOICE, .offset = offsetof(of, member), .choices = list }
#define LENGTH_OR_AUTO(of, member, called)                                                                             \
    { .name = called, .type = FIELD_DOUBLE, .offset = offsetof(of, member), .choices = or_auto }
#define ITERATIONS(of)                                                                                                 \
    {                                                                                                                  \
        .name = "level_iterations", .type = FIELD_INTS, .offset = offsetof(of, registration.level_iterations),         \
        .rows = PCGPU_DEPTH_LEVELS                                                                                     \
    }
#define STRUCT(of, member, table)                                                                                      \
    { .name = #member, .type = FIELD_STRUCT, .offset = offsetof(of, member), .fields = table }
#define END                                                                                                            \
    { .name = NULL }

_Static_assert(sizeof(pcgpu_sample_method) == sizeof(int), "choices are stored as int");

static const char *const or_auto[] = {"auto", NULL};

/* ---- what all operations share ----------------------------------------------------------------------------------- */

#define T pcgpu_run
const field run_fields[] = {FIELD(T, FIELD_TEXT, backend),
                            FIELD(T, FIELD_TEXT, device),
                            FIELD(T, FIELD_TEXT, reason),
                            FIELD(T, FIELD_INT, threads),
                            FIELD(T, FIELD_INT64, points_in),
                            FIELD(T, FIELD_INT64, non_finite),
                            FIELD(T, FIELD_INT64, at_origin),
                            FIELD(T, FIELD_INT64, too_near),
                            FIELD(T, FIELD_INT64, on_carrier),
                            NAMED(T, FIELD_STAGES, stage, "stages"),
                            END};
#undef T

#define T pcgpu_camera
const field camera_fields[] = {FIELD(T, FIELD_INT, width),          FIELD(T, FIELD_INT, height),
                               FIELD(T, FIELD_DOUBLE, fx),          FIELD(T, FIELD_DOUBLE, fy),
                               FIELD(T, FIELD_DOUBLE, cx),          FIELD(T, FIELD_DOUBLE, cy),
                               FIELD(T, FIELD_DOUBLE, depth_scale), FIELD(T, FIELD_DOUBLE, min_depth),
                               FIELD(T, FIELD_DOUBLE, max_depth),   END};
#undef T

#define T pcgpu_depth_counts
const field depth_counts_fields[] = {FIELD(T, FIELD_INT64, pixels), FIELD(T, FIELD_INT64, no_return),
                                     FIELD(T, FIELD_INT64, out_of_range), END};
#undef T

#define T pcgpu_device_info
const field device_fields[] = {FIELD(T, FIELD_TEXT, name),     FIELD(T, FIELD_INT, major),
                               FIELD(T, FIELD_INT, minor),     FIELD(T, FIELD_INT, multiprocessors),
                               FIELD(T, FIELD_UINT64, memory), END};
#undef T

/* ---- sample ------------------------------------------------------------------------------------------------------ */

static const char *const sample_methods[] = {"fps", "random", NULL};
static const char *const starts[] = {"first", "index", "center", "random", NULL};

#define T pcgpu_sample_params
const field sample_params_fields[] = {CHOICE(T, method, sample_methods),
                                      FIELD(T, FIELD_INT64, count),
                                      FIELD(T, FIELD_DOUBLE, ratio),
                                      FIELD(T, FIELD_FLOAT, min_distance),
                                      CHOICE(T, start, starts),
                                      FIELD(T, FIELD_INT64, start_index),
                                      FIELD(T, FIELD_UINT64, seed),
                                      FIELD(T, FIELD_BOOL, drop_origin),
                                      FIELD(T, FIELD_BOOL, coverage),
                                      FIELD(T, FIELD_BOOL, at_most),
                                      FIELD(T, FIELD_INT, column_count),
                                      VECTOR(T, FIELD_INTS, columns, PCGPU_MAX_COLUMNS),
                                      END};
#undef T

#define T pcgpu_sampled
const field sampled_fields[] = {FIELD(T, FIELD_FLOAT, coverage), STRUCT(T, run, run_fields), END};
#undef T

/* ---- neighbors --------------------------------------------------------------------------------------------------- */

static const char *const neighbor_orders[] = {"nearest", "first", NULL};

#define T pcgpu_neighbors_params
const field neighbors_params_fields[] = {CHOICE(T, order, neighbor_orders), FIELD(T, FIELD_INT, k),
                                         FIELD(T, FIELD_FLOAT, radius),     FIELD(T, FIELD_BOOL, pad),
                                         FIELD(T, FIELD_BOOL, global),      END};
#undef T

/* ---- filters ----------------------------------------------------------------------------------------------------- */

#define T pcgpu_outliers
const field outliers_fields[] = {FIELD(T, FIELD_INT64, removed),    FIELD(T, FIELD_DOUBLE, average),
                                 FIELD(T, FIELD_DOUBLE, deviation), FIELD(T, FIELD_DOUBLE, threshold),
                                 STRUCT(T, run, run_fields),        END};
#undef T

#define T pcgpu_cluster_params
const field cluster_params_fields[] = {FIELD(T, FIELD_FLOAT, distance), FIELD(T, FIELD_INT64, core),
                                       FIELD(T, FIELD_INT64, least), FIELD(T, FIELD_INT64, most), END};
#undef T

#define T pcgpu_ground_params
const field ground_params_fields[] = {FIELD(T, FIELD_FLOAT, slope), FIELD(T, FIELD_FLOAT, tolerance),
                                      FIELD(T, FIELD_FLOAT, cell_size), END};
#undef T

/* ---- voxelize ---------------------------------------------------------------------------------------------------- */

static const char *const features[] = {"mean", "points", "pillar", "first", "nearest", NULL};

static const char *const keeps[] = {"first", "nearest", "most", NULL};
static const char *const voxel_labels[] = {"majority", "first", "mean", NULL};

#define T pcgpu_voxelize_params
const field voxelize_params_fields[] = {
    {.name = "voxel_size", .type = FIELD_DOUBLES, .offset = offsetof(T, size), .rows = 3},
    VECTOR(T, FIELD_DOUBLES, range, 6),
    FIELD(T, FIELD_BOOL, range_auto),
    FIELD(T, FIELD_INT64, max_points),
    FIELD(T, FIELD_INT64, max_voxels),
    CHOICE(T, features, features),
    CHOICE(T, keep_voxels, keeps),
    CHOICE(T, voxel_labels, voxel_labels),
    FIELD(T, FIELD_BOOL, drop_origin),
    END};
#undef T

#define T pcgpu_voxels
const field voxels_fields[] = {VECTOR(T, FIELD_DOUBLES, range, 6),
                               VECTOR(T, FIELD_INTS, cells, 3),
                               FIELD(T, FIELD_INT64, in_range),
                               FIELD(T, FIELD_INT64, kept),
                               FIELD(T, FIELD_INT64, out_of_range),
                               FIELD(T, FIELD_INT64, over_points),
                               FIELD(T, FIELD_INT64, over_voxels),
                               FIELD(T, FIELD_INT64, voxels_found),
                               FIELD(T, FIELD_INT64, largest),
                               STRUCT(T, run, run_fields),
                               END};
#undef T

/* ---- register ---------------------------------------------------------------------------------------------------- */

static const char *const register_methods[] = {"plane", "point", "ndt", "gicp", NULL};
static const char *const searches[] = {"never", "always", "rescue", NULL};

#define T pcgpu_register_params
const field register_params_fields[] = {CHOICE(T, method, register_methods),
                                        MATRIX(T, init, "init", 4),
                                        CHOICE(T, search, searches),
                                        LENGTH_OR_AUTO(T, voxel, "voxel_size"),
                                        FIELD(T, FIELD_INT, levels),
                                        LENGTH_OR_AUTO(T, max_distance, "max_distance"),
                                        FIELD(T, FIELD_INT, max_iterations),
                                        LENGTH_OR_AUTO(T, translation_epsilon, "translation_epsilon"),
                                        FIELD(T, FIELD_DOUBLE, rotation_epsilon),
                                        FIELD(T, FIELD_DOUBLE, min_score),
                                        FIELD(T, FIELD_BOOL, drop_origin),
                                        FIELD(T, FIELD_BOOL, keep_carrier),
                                        FIELD(T, FIELD_DOUBLE, min_range),
                                        FIELD(T, FIELD_DOUBLE, beam_correction),
                                        END};
#undef T

#define T pcgpu_register_depth_params
const field register_depth_params_fields[] = {MATRIX(T, init, "init", 4),
                                              FIELD(T, FIELD_INT, levels),
                                              VECTOR(T, FIELD_INTS, level_iterations, PCGPU_DEPTH_LEVELS),
                                              FIELD(T, FIELD_DOUBLE, max_distance),
                                              FIELD(T, FIELD_DOUBLE, bilateral),
                                              FIELD(T, FIELD_DOUBLE, translation_epsilon),
                                              FIELD(T, FIELD_DOUBLE, rotation_epsilon),
                                              FIELD(T, FIELD_DOUBLE, min_score),
                                              END};
#undef T

#define T pcgpu_registration
const field registration_fields[] = {MATRIX(T, T_target_source, "transform", 4),
                                     FIELD(T, FIELD_BOOL, converged),
                                     FIELD(T, FIELD_TEXT, reason),
                                     FIELD(T, FIELD_INT, starts),
                                     MATRIX(T, start, "start", 4),
                                     FIELD(T, FIELD_INT, iterations),
                                     FIELD(T, FIELD_INT, levels),
                                     NAMED(T, FIELD_DOUBLE, voxel, "voxel_size"),
                                     VECTOR(T, FIELD_INTS, level_iterations, PCGPU_MAX_LEVELS),
                                     FIELD(T, FIELD_INT64, source_points),
                                     FIELD(T, FIELD_INT64, target_points),
                                     FIELD(T, FIELD_INT64, inliers),
                                     FIELD(T, FIELD_DOUBLE, fitness),
                                     FIELD(T, FIELD_DOUBLE, score),
                                     FIELD(T, FIELD_DOUBLE, free_space),
                                     FIELD(T, FIELD_DOUBLE, overlap),
                                     FIELD(T, FIELD_DOUBLE, agreement),
                                     FIELD(T, FIELD_DOUBLE, inlier_rmse),
                                     FIELD(T, FIELD_DOUBLE, plane_rmse),
                                     VECTOR(T, FIELD_DOUBLES, center, 3),
                                     MATRIX(T, information, "information", 6),
                                     MATRIX(T, covariance, "covariance", 6),
                                     VECTOR(T, FIELD_DOUBLES, eigenvalues, 6),
                                     FIELD(T, FIELD_BOOL, degenerate),
                                     FIELD(T, FIELD_TEXT, unconstrained),
                                     STRUCT(T, run, run_fields),
                                     END};
#undef T

#define T pcgpu_set_cloud
const field set_cloud_fields[] = {FIELD(T, FIELD_INT, group), MATRIX(T, T_group_cloud, "pose", 4),
                                  VECTOR(T, FIELD_DOUBLES, center, 3), MATRIX(T, covariance, "covariance", 6), END};
#undef T

#define T pcgpu_set_link
const field set_link_fields[] = {FIELD(T, FIELD_INT, source),
                                 FIELD(T, FIELD_INT, target),
                                 MATRIX(T, T_target_source, "transform", 4),
                                 FIELD(T, FIELD_DOUBLE, score),
                                 FIELD(T, FIELD_DOUBLE, overlap),
                                 VECTOR(T, FIELD_DOUBLES, residual, 2),
                                 END};
#undef T

#define T pcgpu_set
const field set_fields[] = {FIELD(T, FIELD_INT, groups),  FIELD(T, FIELD_INT, placed), FIELD(T, FIELD_INT, registered),
                            FIELD(T, FIELD_INT, refused), STRUCT(T, run, run_fields),  END};
#undef T

/* ---- sequences and volumes --------------------------------------------------------------------------------------- */

static const char *const references[] = {"previous", "keyframe", "model", NULL};
static const char *const deskews[] = {"none", "time", "counterclockwise", "clockwise", "auto", NULL};

#define T pcgpu_odometry_params
const field odometry_params_fields[] = {CHOICE(T, reference, references),
                                        FIELD(T, FIELD_DOUBLE, keyframe_distance),
                                        FIELD(T, FIELD_DOUBLE, keyframe_angle),
                                        FIELD(T, FIELD_DOUBLE, keyframe_fitness),
                                        FIELD(T, FIELD_DOUBLE, model_range),
                                        FIELD(T, FIELD_INT64, model_points),
                                        CHOICE(T, deskew, deskews),
                                        FIELD(T, FIELD_INT, time_column),
                                        END};
#undef T

#define T pcgpu_depth_odometry_params
const field depth_odometry_params_fields[] = {CHOICE(T, reference, references),
                                              FIELD(T, FIELD_DOUBLE, keyframe_distance),
                                              FIELD(T, FIELD_DOUBLE, keyframe_angle),
                                              FIELD(T, FIELD_DOUBLE, keyframe_fitness),
                                              NAMED(T, FIELD_INT, registration.levels, "levels"),
                                              ITERATIONS(T),
                                              END};
#undef T

#define T pcgpu_odometry_frame
const field frame_fields[] = {FIELD(T, FIELD_BOOL, good),
                              FIELD(T, FIELD_BOOL, relocalized),
                              FIELD(T, FIELD_BOOL, keyframe),
                              FIELD(T, FIELD_INT, attempts),
                              MATRIX(T, T_world_frame, "pose", 4),
                              STRUCT(T, registration, registration_fields),
                              FIELD(T, FIELD_INT, open),
                              VECTOR(T, FIELD_DOUBLES, open_directions, 3 * PCGPU_MOST_OPEN),
                              END};
#undef T

/* `folder` is a text of the caller's; the binding sets it. */
#define T pcgpu_map_params
const field map_params_fields[] = {NAMED(T, FIELD_DOUBLE, voxel, "voxel_size"),
                                   FIELD(T, FIELD_BOOL, keep_moving),
                                   FIELD(T, FIELD_BOOL, drop_origin),
                                   FIELD(T, FIELD_DOUBLE, views_distance),
                                   FIELD(T, FIELD_INT64, views_scans),
                                   FIELD(T, FIELD_INT64, memory),
                                   END};
#undef T

#define T pcgpu_map_stats
const field map_stats_fields[] = {
    FIELD(T, FIELD_INT64, scans),       FIELD(T, FIELD_INT64, panoramas),   FIELD(T, FIELD_INT64, voxels),
    FIELD(T, FIELD_INT64, moved),       FIELD(T, FIELD_INT64, unreachable), FIELD(T, FIELD_INT64, on_disk),
    FIELD(T, FIELD_INT64, kept),        FIELD(T, FIELD_INT64, added),       FIELD(T, FIELD_INT64, appeared),
    FIELD(T, FIELD_INT64, disappeared), STRUCT(T, run, run_fields),         END};
#undef T

#define T pcgpu_loops_params
const field loops_params_fields[] = {LENGTH_OR_AUTO(T, registration.voxel, "voxel_size"),
                                     NAMED(T, FIELD_INT, registration.levels, "levels"),
                                     NAMED(T, FIELD_DOUBLE, registration.min_score, "min_score"),
                                     LENGTH_OR_AUTO(T, place_distance, "place_distance"),
                                     FIELD(T, FIELD_DOUBLE, drift),
                                     END};
#undef T

#define T pcgpu_depth_loops_params
const field depth_loops_params_fields[] = {
    NAMED(T, FIELD_INT, registration.levels, "levels"),
    ITERATIONS(T),
    NAMED(T, FIELD_DOUBLE, registration.max_distance, "max_distance"),
    NAMED(T, FIELD_DOUBLE, registration.bilateral, "bilateral"),
    NAMED(T, FIELD_DOUBLE, registration.translation_epsilon, "translation_epsilon"),
    NAMED(T, FIELD_DOUBLE, registration.rotation_epsilon, "rotation_epsilon"),
    NAMED(T, FIELD_DOUBLE, registration.min_score, "min_score"),
    FIELD(T, FIELD_DOUBLE, place_distance),
    FIELD(T, FIELD_DOUBLE, place_angle),
    FIELD(T, FIELD_DOUBLE, drift),
    END};
#undef T

#define T pcgpu_loop
const field loop_fields[] = {NAMED(T, FIELD_INT64, from, "earlier"), NAMED(T, FIELD_INT64, to, "later"),
                             MATRIX(T, T_from_to, "transform", 4),   FIELD(T, FIELD_DOUBLE, score),
                             FIELD(T, FIELD_DOUBLE, path),           VECTOR(T, FIELD_DOUBLES, before, 2),
                             VECTOR(T, FIELD_DOUBLES, residual, 2),  END};
#undef T

#define T pcgpu_loops_result
const field loops_result_fields[] = {FIELD(T, FIELD_INT64, places),
                                     FIELD(T, FIELD_INT64, tried),
                                     FIELD(T, FIELD_INT64, refused),
                                     FIELD(T, FIELD_INT64, bytes),
                                     NAMED(T, FIELD_INT, graph.iterations, "iterations"),
                                     NAMED(T, FIELD_BOOL, graph.converged, "converged"),
                                     END};
#undef T

#define T pcgpu_volume_params
const field volume_params_fields[] = {FIELD(T, FIELD_DOUBLE, voxel_size), FIELD(T, FIELD_DOUBLE, truncation),
                                      FIELD(T, FIELD_DOUBLE, max_weight), FIELD(T, FIELD_INT64, max_blocks),
                                      FIELD(T, FIELD_INT64, frames),      END};
#undef T

#define T pcgpu_volume_counts
const field volume_counts_fields[] = {STRUCT(T, depth, depth_counts_fields), FIELD(T, FIELD_INT64, unreachable),
                                      FIELD(T, FIELD_INT64, new_blocks), FIELD(T, FIELD_INT64, updated_blocks), END};
#undef T

#define T pcgpu_volume_stats
const field volume_stats_fields[] = {STRUCT(T, params, volume_params_fields),
                                     FIELD(T, FIELD_INT64, frames),
                                     FIELD(T, FIELD_INT64, blocks),
                                     FIELD(T, FIELD_INT64, bytes),
                                     STRUCT(T, run, run_fields),
                                     END};
#undef T
