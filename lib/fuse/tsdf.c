/* Volumes: checks, the pose of the camera in the volume, and counts. */
#include "depth.h"
#include "tsdf_job.h"
#include "tsdf_ops.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 1 << 22 }; /* 2^31 voxels */

struct pcgpu_volume {
    pcgpu_context *context;
    const pc_backend *backend;
    void *state;
    pcgpu_volume_stats stats;
    double upward[3]; /* the sum of the cameras' directions -y, which point up on the whole */
};

/* Estimated seconds per frame on one CPU thread and on an H200, for AUTO. */
#define CPU_SECONDS  0.04
#define CUDA_SECONDS 0.001

void pcgpu_volume_params_init_sized(pcgpu_volume_params *params, size_t struct_size) {
    pcgpu_volume_params initial = {.voxel_size = 0.01, .max_weight = 100, .max_blocks = 1 << 19, .frames = 100};
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

static pcgpu_status check_params(pcgpu_context *context, pcgpu_volume_params *p) {
    PC_TRY(pc_struct_check(context, "pcgpu_volume_params", p->struct_size, sizeof *p));
    if (!pc_in_range(p->voxel_size, 1e-6, 1e3)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "voxels of %g m are not possible; 1e-6 to 1000 m are",
                       p->voxel_size);
    }
    p->truncation = p->truncation == 0 ? 4 * p->voxel_size : p->truncation;
    if (!pc_in_range(p->truncation, 2 * p->voxel_size, PC_VOLUME_TRUNCATION * p->voxel_size)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a truncation of %g m is not possible with voxels of %g m; give 2 to %d voxels, %g to %g m",
                       p->truncation, p->voxel_size, PC_VOLUME_TRUNCATION, 2 * p->voxel_size,
                       PC_VOLUME_TRUNCATION * p->voxel_size);
    }
    if (!pc_in_range(p->max_weight, 1e-6, 1e12)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "a largest weight of %g is not possible; 1e-6 to 1e12 are",
                       p->max_weight);
    }
    if (p->max_blocks < 1 || p->max_blocks > MOST_BLOCKS) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "at most %lld blocks are not possible; 1 to %d are",
                       (long long)p->max_blocks, MOST_BLOCKS);
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_volume_open(pcgpu_context *context, const pcgpu_volume_params *params, pcgpu_volume **volume) {
    *volume = NULL;
    pcgpu_volume *v = calloc(1, sizeof *v);
    if (!v) {
        return pc_fail_memory(context, sizeof *v, "a volume");
    }
    v->context = context;
    v->stats.params = *params;
    const double frames = (double)params->frames;
    pcgpu_status status;
    PC_TRY_OR(failed, status, check_params(context, &v->stats.params));
    PC_TRY_OR(failed, status,
              pc_choose_backend(context, CPU_SECONDS * frames, CUDA_SECONDS * frames, &v->stats.run, &v->backend));
    PC_TRY_OR(failed, status, v->backend->tsdf->open(context, v->stats.params.color, &v->state));
    *volume = v;
    return PCGPU_OK;
failed:
    pcgpu_volume_close(v);
    return status;
}

void pcgpu_volume_close(pcgpu_volume *v) {
    if (v) {
        if (v->backend) {
            v->backend->tsdf->close(v->context, v->state);
        }
        free(v);
    }
}

const pc_backend *pc_volume_backend(const pcgpu_volume *v) {
    return v->backend;
}

void pcgpu_volume_get_stats(const pcgpu_volume *v, pcgpu_volume_stats *stats) {
    *stats = v->stats;
}

pcgpu_status pc_volume_full(pcgpu_context *context, int64_t needed, int64_t most) {
    return pc_fail(
        context, PCGPU_ERROR_MEMORY,
        "the model would have %lld blocks of 8 x 8 x 8 voxels, more than the limit of %lld; give larger voxels "
        "or a smaller max_depth",
        (long long)needed, (long long)most);
}

/* ---- the camera in the volume ----------------------------------------------------------------------------------- */

static pcgpu_status check_pose(pcgpu_context *context, const double T[16]) {
    char why[160];
    return pcgpu_is_rigid(T, why, sizeof why)
               ? PCGPU_OK
               : pc_fail(context, PCGPU_ERROR_ARGUMENT,
                         "the pose of the camera: %s; give T_world_camera, a rotation and a translation in metres",
                         why);
}

static pcgpu_status look_from(const pcgpu_volume *v, int width, int height, const pcgpu_camera *camera,
                              const double T[16], pc_volume_view *view) {
    const pcgpu_volume_params *p = &v->stats.params;
    const double voxel = p->voxel_size, side = PC_VOLUME_SIDE * voxel;
    PC_TRY(pc_camera_check(v->context, width, height, camera));
    PC_TRY(check_pose(v->context, T));
    *view = (pc_volume_view){.width = width,
                             .height = height,
                             .fx = (float)camera->fx,
                             .fy = (float)camera->fy,
                             .cx = (float)camera->cx,
                             .cy = (float)camera->cy,
                             .voxel = (float)p->voxel_size,
                             .truncation = (float)p->truncation,
                             .max_weight = (float)p->max_weight};
    for (int k = 0; k < 3; k++) {
        double block = floor(T[4 * k + 3] / side);
        if (!(fabs(block) < PC_VOLUME_REACH)) {
            return pc_fail(
                v->context, PCGPU_ERROR_ARGUMENT,
                "the camera is at %g %g %g m, and a model with voxels of %g m reaches %.0f m from the origin; "
                "move the origin of the poses near to the scene",
                T[3], T[7], T[11], p->voxel_size, side * PC_VOLUME_REACH);
        }
        view->anchor[k] = (int32_t)block;
    }
    for (int k = 0; k < 3; k++) {
        double back = 0;
        for (int i = 0; i < 3; i++) {
            double from_anchor = T[4 * i + 3] - side * view->anchor[i];
            view->to_volume[4 * k + i] = (float)(T[4 * k + i] / voxel);
            view->to_camera[4 * k + i] = (float)(T[4 * i + k] * voxel);
            back -= T[4 * i + k] * from_anchor;
        }
        view->to_volume[4 * k + 3] = (float)((T[4 * k + 3] - side * view->anchor[k]) / voxel);
        view->to_camera[4 * k + 3] = (float)back;
    }
    return PCGPU_OK;
}

/* Adds the time since `begin` to the stage of this name. */
static void add_seconds(pcgpu_volume *v, const char *name, double begin) {
    pcgpu_run *run = &v->stats.run;
    int i = 0;
    while (i < run->stages && strcmp(run->stage[i].name, name) != 0) {
        i++;
    }
    if (i == run->stages) {
        pc_stage(run, name, begin);
    } else {
        run->stage[i].seconds += pc_now() - begin;
    }
}

/* ---- operations ------------------------------------------------------------------------------------------------- */

/* `counts` may be NULL. */
static pcgpu_status integrate(pcgpu_volume *v, const pcgpu_depth *depth, const pc_depth_frame *frame,
                              const pcgpu_camera *camera, const double T[16], pcgpu_volume_counts *counts) {
    pcgpu_volume_stats *s = &v->stats;
    pcgpu_depth_counts pixels;
    unsigned low, high;
    const double begin = pc_now();
    pc_volume_job job = {
        .depth = depth->data, .frame = frame, .max_blocks = s->params.max_blocks, .counts_updated = counts};
    if (counts) {
        *counts = (pcgpu_volume_counts){0};
    }
    PC_TRY(look_from(v, depth->width, depth->height, camera, T, &job.view));
    pc_depth_range(camera, &low, &high);
    job.color = v->stats.params.color ? depth->color : NULL;
    job.low = low;
    job.high = high;
    job.units = (float)camera->depth_scale;
    PC_TRY(v->backend->tsdf->integrate(v->context, v->state, &job));
    pc_depth_count(depth, low, high, &pixels); /* while a device works */
    s->frames++;
    for (int k = 0; k < 3; k++) {
        v->upward[k] -= T[4 * k + 1];
    }
    s->blocks = job.blocks;
    s->bytes = job.bytes;
    s->run.points_in += pixels.pixels - pixels.no_return - pixels.out_of_range;
    if (counts) {
        *counts = (pcgpu_volume_counts){.depth = pixels,
                                        .unreachable = job.unreachable,
                                        .new_blocks = job.new_blocks,
                                        .updated_blocks = job.updated_blocks};
    }
    add_seconds(v, "integrate", begin);
    return PCGPU_OK;
}

pcgpu_status pcgpu_volume_integrate(pcgpu_volume *v, const pcgpu_depth *depth, const pcgpu_camera *camera,
                                    const double T_world_camera[16], pcgpu_volume_counts *counts) {
    return integrate(v, depth, NULL, camera, T_world_camera, counts);
}

pcgpu_status pc_volume_fuse(pcgpu_volume *v, const pcgpu_depth *depth, const pc_depth_frame *frame,
                            const pcgpu_camera *camera, const double T_world_camera[16]) {
    return integrate(v, depth, frame, camera, T_world_camera, NULL);
}

pcgpu_status pcgpu_volume_raycast(pcgpu_volume *v, const pcgpu_camera *camera, const double T_world_camera[16],
                                  float *vertices, float *normals) {
    pc_volume_view view;
    const double begin = pc_now();
    PC_TRY(look_from(v, camera->width, camera->height, camera, T_world_camera, &view));
    const pc_maps maps = {.width = view.width, .height = view.height, .vertices = vertices, .normals = normals};
    PC_TRY(v->backend->tsdf->raycast(v->context, v->state, &view, &maps));
    add_seconds(v, "raycast", begin);
    return PCGPU_OK;
}

pcgpu_status pc_volume_see(pcgpu_volume *v, const pcgpu_camera *camera, const double T_world_camera[16],
                           pc_maps *maps) {
    pc_volume_view view;
    const double begin = pc_now();
    PC_TRY(look_from(v, camera->width, camera->height, camera, T_world_camera, &view));
    PC_TRY(v->backend->tsdf->maps(v->context, v->state, &view, maps));
    add_seconds(v, "raycast", begin);
    return PCGPU_OK;
}

static pcgpu_status extract(pcgpu_volume *v, double min_weight, bool triangles, pcgpu_mesh *mesh) {
    const pcgpu_volume_params *p = &v->stats.params;
    pc_volume_blocks blocks;
    double begin = pc_now();
    memset(mesh, 0, sizeof *mesh);
    if (!(min_weight >= 0 && min_weight <= 1e12)) {
        return pc_fail(v->context, PCGPU_ERROR_ARGUMENT, "a least weight of %g is not possible; 0 to 1e12 are",
                       min_weight);
    }
    PC_TRY(v->backend->tsdf->blocks(v->context, v->state, &blocks));
    PC_TRY(pc_volume_extract(v->context, &blocks, p->voxel_size, (float)p->truncation, (float)min_weight, triangles,
                             mesh));
    add_seconds(v, "surface", begin);
    if (!pc_cloud_set_up(&mesh->vertices, pc_up_of(v->upward))) {
        pcgpu_mesh_free(mesh);
        return pc_fail_memory(v->context, sizeof(pcgpu_header), "the header of a cloud");
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_volume_mesh(pcgpu_volume *v, double min_weight, pcgpu_mesh *mesh) {
    return extract(v, min_weight, true, mesh);
}

pcgpu_status pcgpu_volume_surface(pcgpu_volume *v, double min_weight, pcgpu_cloud *cloud) {
    pcgpu_mesh mesh;
    pcgpu_status status = extract(v, min_weight, false, &mesh);
    *cloud = mesh.vertices;
    return status;
}
