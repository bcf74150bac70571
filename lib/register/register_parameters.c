/* The parameters of a registration: defaults, checks, what is chosen for two clouds, and the back end. */
#include "register.h"

#include <string.h>

enum { ICP_LEVELS = 3, SEARCHED_STARTS = 3 };

/* Without points to go by: that of LiDAR scans of streets. */
#define STREET_VOXEL 0.25

/* Per voxel: the maximum correspondence distance at the coarsest level, and the step that ends the finest. */
#define DISTANCE_VOXELS 8.0
#define EPSILON_VOXELS  4e-4
/* Of the extent: so wide at least are the cells of the first level, for their reach. */
#define WIDE_CELL 0.111

/* A cloud of a depth camera, seen along z: its depths have noise and steps of a few percent. Their layers are thin in
 * narrow voxels, with normals along z. */
#define DEPTH_VOXEL  0.02 /* of the median depth */
#define DEPTH_EXTENT 0.01 /* of the extent: for objects */
#define MOST_OUTSIDE 0.01 /* of the points: beyond 45 degrees from the axis */

enum { FEWEST_DEPTHS = 64 };

void pcgpu_register_params_init_sized(pcgpu_register_params *params, size_t struct_size) {
    pcgpu_register_params initial = {
        .method = PCGPU_REGISTER_NDT,
        .init = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
        .search = PCGPU_SEARCH_RESCUE,
        .voxel = PCGPU_AUTO,
        .max_distance = PCGPU_AUTO,
        .max_iterations = 50,
        .translation_epsilon = PCGPU_AUTO,
        .rotation_epsilon = 1e-5,
        .min_score = 0.35,
        .drop_origin = true,
    };
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

pcgpu_status pc_register_check_pose(pcgpu_context *context, const char *what, const double T[16]) {
    char why[160];
    const bool far = !(fabs(T[3]) < 1e12 && fabs(T[7]) < 1e12 && fabs(T[11]) < 1e12);
    if (!pcgpu_is_rigid(T, why, sizeof why)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%s: %s", what, why);
    }
    return far ? pc_fail(context, PCGPU_ERROR_ARGUMENT, "%s leads %g %g %g m away; give less than 1e12", what, T[3],
                         T[7], T[11])
               : PCGPU_OK;
}

pcgpu_status pc_register_check(pcgpu_context *context, const pcgpu_register_params *p) {
    PC_TRY(pc_struct_check(context, "pcgpu_register_params", p->struct_size, sizeof *p));
    if ((int)p->method < 0 || (int)p->method > PCGPU_REGISTER_GICP) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "method %d is not known; give plane, point, ndt or gicp",
                       (int)p->method);
    }
    const bool ndt = p->method == PCGPU_REGISTER_NDT;
    int levels = ndt ? PC_NDT_MAX_LEVELS : PCGPU_MAX_LEVELS;
    if (p->voxel != 0.0 && p->voxel != PCGPU_AUTO && !pc_in_range(p->voxel, 1e-6, 1e6)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a voxel of %g m; give 0 (none), 1e-6 to 1e6 or PCGPU_AUTO",
                       p->voxel);
    }
    if (ndt && p->voxel == 0.0) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "method ndt without a voxel; give the half of a finest cell's edge, or another method");
    }
    if (p->levels < 0 || p->levels > levels) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%d levels; give 1 to %d, or 0 for the method's own", p->levels,
                       levels);
    }
    if (p->max_distance != PCGPU_AUTO && !pc_in_range(p->max_distance, 1e-6, 1e6)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a largest distance of %g m; give 1e-6 to 1e6", p->max_distance);
    }
    if (p->max_iterations < 1 || p->max_iterations > 100000) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%d iterations; give 1 to 100000", p->max_iterations);
    }
    if ((p->translation_epsilon != PCGPU_AUTO && !pc_in_range(p->translation_epsilon, 0.0, 1e6)) ||
        !pc_in_range(p->rotation_epsilon, 0.0, 10.0)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "steps of %g m and %g rad to stop at; give numbers from 0 up",
                       p->translation_epsilon, p->rotation_epsilon);
    }
    if (!pc_in_range(p->min_range, 0.0, 1e6) || !pc_in_range(p->beam_correction, -10.0, 10.0)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a least range of %g m and a beam correction of %g degrees; give 0 to 1e6 and -10 to 10",
                       p->min_range, p->beam_correction);
    }
    if (!pc_in_range(p->min_score, 0.0, 1.0)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a least score of %g; give 0 to 1", p->min_score);
    }
    return pc_register_check_pose(context, "the initial transform", p->init);
}

/* Seconds on one CPU thread and on a started device, for AUTO. CPU: KITTI pairs take 130 ms (plane) and 270 ms (point)
 * on a 2.5 GHz Xeon. Device: the host's share (selecting, packing, grids) is 60 ns a point there, and some hundred
 * launches and copies of 20 us outweigh the kernels; an H200 took 11 ms for a pair of 122,000 points each. Method ndt,
 * which is one launch, is selecting and copying the points. */
pcgpu_status pc_register_choose(pcgpu_context *context, const pcgpu_register_params *p, double points, int pairs,
                                pcgpu_run *run, const pc_backend **backend) {
    const bool ndt = p->method == PCGPU_REGISTER_NDT;
    double cpu = (ndt                                 ? 2e-8
                  : p->method == PCGPU_REGISTER_PLANE ? 5.5e-7
                  : p->method == PCGPU_REGISTER_POINT ? 1.1e-6
                                                      : 1e-6) *
                 points;
    double cuda = ndt ? 2e-4 + 3e-9 * points : 5e-3 * pairs + 8e-8 * points;
    const bool searches = p->search == PCGPU_SEARCH_ALWAYS;
    double starts = searches ? SEARCHED_STARTS : 1.0, search = searches ? 0.02 * pairs + 1e-8 * points : 0.0;
    return pc_choose_backend(context, starts * cpu + search, starts * cuda + search, run, backend);
}

int pc_register_levels(const pcgpu_register_params *params) {
    int own = params->method == PCGPU_REGISTER_NDT ? PC_NDT_LEVELS : ICP_LEVELS;
    return params->levels ? params->levels : own;
}

/* The least voxel size for such a cloud; 0 for others. */
static double depth_voxel(const pc_sampled *from) {
    const pcgpu_cloud *cloud = from->cloud;
    float depths[PC_SAMPLED_DEPTHS];
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    const int64_t most = pc_sampling_count(PC_SAMPLE_DEPTHS, cloud->rows);
    int n = 0, outside = 0;
    for (int64_t i = 0; i < most; i++) {
        const float *p = pc_sampled_record(from, PC_SAMPLE_DEPTHS, i);
        if (!pc_cloud_usable(cloud, p, true)) {
            continue;
        }
        for (int k = 0; k < 3; k++) {
            low[k] = fmin(low[k], (double)p[k]);
            high[k] = fmax(high[k], (double)p[k]);
        }
        outside += !(fabsf(p[0]) <= p[2] && fabsf(p[1]) <= p[2]);
        depths[n++] = p[2];
    }
    if (n < FEWEST_DEPTHS || (double)outside > MOST_OUTSIDE * n || cloud->offset[0] != 0.0 || cloud->offset[1] != 0.0 ||
        cloud->offset[2] != 0.0) {
        return 0.0;
    }
    const double extent = fmax(high[0] - low[0], fmax(high[1] - low[1], high[2] - low[2]));
    return fmin(DEPTH_VOXEL * (double)pc_select_value(depths, n, n / 2), DEPTH_EXTENT * extent);
}

/* Fewer or more levels than the method's own do not pay. */
static int levels_of(double edge, double extent) {
    int levels = PC_NDT_LEVELS;
    while (levels < PC_NDT_MAX_LEVELS && edge * (double)(1 << (levels - 1)) < WIDE_CELL * extent) {
        levels++;
    }
    return levels;
}

void pc_register_settle_by(const pcgpu_register_params *params, const pc_sampled *target, double edge, double extent,
                           pcgpu_register_params *settled) {
    *settled = *params;
    if (params->voxel == PCGPU_AUTO) {
        int levels = edge > 0.0 ? levels_of(edge, extent) : PC_NDT_LEVELS;
        const double least = edge > 0.0 ? depth_voxel(target) : 0.0;
        while (0.5 * edge < least) {
            edge *= 2.0;
            levels -= levels > PC_NDT_LEVELS;
        }
        if (params->levels == 0 && params->method == PCGPU_REGISTER_NDT) {
            settled->levels = levels;
        }
        settled->voxel = edge > 0.0 ? 0.5 * edge : STREET_VOXEL;
    }
    const double voxel = settled->voxel > 0.0 ? settled->voxel : STREET_VOXEL;
    if (params->max_distance == PCGPU_AUTO) {
        settled->max_distance = DISTANCE_VOXELS * voxel;
    }
    if (params->translation_epsilon == PCGPU_AUTO) {
        settled->translation_epsilon = EPSILON_VOXELS * voxel;
    }
}

pcgpu_status pc_register_settle(pcgpu_context *context, const pcgpu_register_params *params, const pcgpu_cloud *target,
                                pcgpu_register_params *settled) {
    const pc_sampled from = {target, NULL};
    double edge = 0.0, extent = 0.0;
    if (params->voxel == PCGPU_AUTO) {
        PC_TRY(pc_scan_spacing(context, target, params->drop_origin, &edge, &extent));
    }
    pc_register_settle_by(params, &from, edge, extent, settled);
    return PCGPU_OK;
}

pcgpu_status pc_register_settle_scan(pcgpu_context *context, const pcgpu_register_params *params,
                                     const pcgpu_cloud *target, pcgpu_register_params *settled) {
    pc_scan scan = {.cloud = target};
    pcgpu_run unused = {0};
    pcgpu_status status;
    if (params->voxel == PCGPU_AUTO) {
        PC_TRY_OR(done, status, pc_scan_take(context, target, params, &scan, &unused));
    }
    status = pc_register_settle(context, params, scan.cloud, settled);
done:
    pc_scan_release(&scan);
    return status;
}
