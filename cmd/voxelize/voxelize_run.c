/* The voxels of a cloud, what is reported of them, and what is refused. */
#include "voxelize.h"
#include "sweeps.h"

#include <stdlib.h>
#include <string.h>

pcgpu_voxelize_params voxelize_parameters(const job *j) {
    const voxelize_values *own = voxelize_own(j->session->options);
    pcgpu_voxelize_params params = own->params;
    params.drop_origin = j->session->options->drop_origin;
    params.mask_xy = own->layout == LAYOUT_OPENPCDET; /* mask_points_and_boxes_outside_range */
    if (own->voxelization == VOXELIZATION_DYNAMIC) {
        params.features = PCGPU_FEATURES_FIRST; /* only the voxel of each point is needed */
    }
    return params;
}

/* Points per voxel, before max_points. */
static double mean_occupancy(const pcgpu_voxels *v) {
    return v->voxels_found ? (double)v->in_range / (double)v->voxels_found : 0;
}

/* The fraction of the points in range. */
static double lost_to_max_points(const pcgpu_voxels *v) {
    return v->in_range ? (double)v->over_points / (double)v->in_range : 0;
}

static void add_result(json *out, const pcgpu_voxels *v) {
    json_integer(out, "voxels", v->count);
    json_integer(out, "voxels_found", v->voxels_found);
    json_integer(out, "capacity", v->capacity);
    json_integer(out, "columns", v->columns);
    json_integer(out, "in_range", v->in_range);
    json_integer(out, "kept", v->kept);
    json_integer(out, "out_of_range", v->out_of_range);
    json_integer(out, "over_points", v->over_points);
    json_integer(out, "over_voxels", v->over_voxels);
    json_integer(out, "largest", v->largest);
    json_number(out, "points_per_voxel", mean_occupancy(v));
    json_number(out, "lost_to_max_points", lost_to_max_points(v));
    json_numbers(out, "range", v->range, 6);
    const double cells[3] = {v->cells[0], v->cells[1], v->cells[2]};
    json_numbers(out, "cells", cells, 3);
}

static void summarize(const job *j, const pcgpu_voxels *v) {
    report_summary(
        j->names[0],
        "%lld voxels, %lld points kept; dropped: %lld out of range, %lld not finite, %lld at the origin, %lld "
        "over --max-points, %lld over --max-voxels",
        (long long)v->count, (long long)v->kept, (long long)v->out_of_range, (long long)v->run.non_finite,
        (long long)v->run.at_origin, (long long)v->over_points, (long long)v->over_voxels);
    report_detail(
        j->names[0],
        "%lld points in range in %lld voxels: %.4g per voxel on average, %lld at most; --max-points loses %.3g %% of "
        "them",
        (long long)v->in_range, (long long)v->voxels_found, mean_occupancy(v), (long long)v->largest,
        100 * lost_to_max_points(v));
    if (v->over_voxels > 0) {
        report_warning(j->names[0], "%lld of %lld voxels are over --max-voxels; %lld points were dropped with them",
                       (long long)(v->voxels_found - v->count), (long long)v->voxels_found, (long long)v->over_voxels);
    }
}

int voxels_check_columns(const job *j) {
    const voxelize_values *own = voxelize_own(j->session->options);
    const int columns = j->clouds[0].columns;
    if (own->wants_columns == 0 || own->layout == LAYOUT_PCGPU || columns == own->wants_columns) {
        return EXIT_DONE;
    }
    return report_error(j->names[0],
                        "%d columns, and the configuration takes %d; give such inputs (--fields for .bin, --sweeps for "
                        "a column of times), or --layout pcgpu",
                        columns, own->wants_columns);
}

int voxels_check(job *j, pcgpu_voxels *v) {
    j->run = v->run;
    if (v->run.points_in == v->run.non_finite + v->run.at_origin) {
        report_warning(j->names[0], "0 usable points among %lld records, so 0 voxels", (long long)v->run.points_in);
    }
    j->points_out = v->count;
    j->unit = "voxels";
    add_result(&j->result, v);
    summarize(j, v);
    if (voxelize_own(j->session->options)->strict && (v->over_points > 0 || v->over_voxels > 0)) {
        report_error(
            j->names[0],
            "%lld points over --max-points and %lld over --max-voxels (the fullest of %lld voxels has %lld), which "
            "--set strict does not allow; raise the limits, or leave it out",
            (long long)v->over_points, (long long)v->over_voxels, (long long)v->voxels_found, (long long)v->largest);
        pcgpu_voxels_free(v);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* Puts the records in the order in which random sampling draws all of them; *order: the record that each was. */
static int shuffle(job *j, int32_t **order) {
    const voxelize_values *own = voxelize_own(j->session->options);
    pcgpu_context *context = j->session->context;
    pcgpu_cloud *cloud = &j->clouds[0], all = {.columns = 3}, moved;
    pcgpu_sample_params params;
    pcgpu_sampled drawn;
    if (!own->shuffle || cloud->rows == 0) {
        return EXIT_DONE;
    }
    PC_TRY(job_code(j, pcgpu_cloud_create(context, cloud->rows, 3, &all)));
    memset(all.data, 0, (size_t)all.rows * 3 * sizeof *all.data); /* so that records that are not finite move, too */
    pcgpu_sample_params_init(&params);
    params.method = PCGPU_SAMPLE_RANDOM;
    params.count = all.rows;
    params.seed = own->seed;
    pcgpu_status status = pcgpu_sample(context, &all, &params, &drawn);
    pcgpu_cloud_free(&all);
    PC_TRY(job_code(j, status));
    status = pcgpu_cloud_gather(context, cloud, drawn.indices, drawn.count, &moved);
    if (status == PCGPU_OK) {
        pcgpu_cloud_free(cloud);
        *cloud = moved;
        *order = drawn.indices;
        drawn.indices = NULL;
    }
    pcgpu_sampled_free(&drawn);
    return job_code(j, status);
}

/* Gives the voxels of points the order that the records had. */
static int reorder(const job *j, const int32_t *order, pcgpu_voxels *v) {
    const size_t bytes = (size_t)j->clouds[0].rows * sizeof *v->point_voxel;
    int32_t *point_voxel = malloc(bytes);
    if (!point_voxel) {
        pcgpu_voxels_free(v);
        return report_error(j->names[0], "out of memory");
    }
    for (int64_t i = 0; i < j->clouds[0].rows; i++) {
        point_voxel[order[i]] = v->point_voxel[i];
    }
    memcpy(v->point_voxel, point_voxel, bytes);
    free(point_voxel);
    return EXIT_DONE;
}

int voxelize_cloud(job *j, pcgpu_voxels *v) {
    pcgpu_voxelize_params params = voxelize_parameters(j);
    *v = (pcgpu_voxels){0};
    job_warn_origin(j);
    PC_TRY(sweeps_add(j));
    PC_TRY(voxels_check_columns(j));
    int32_t *order = NULL;
    PC_TRY(shuffle(j, &order));
    progress_begin(j->names[0], "voxelizing");
    int code = job_code(j, pcgpu_voxelize(j->session->context, &j->clouds[0], &params, v));
    if (code == EXIT_DONE && order && voxelize_own(j->session->options)->voxelization == VOXELIZATION_HARD) {
        code = reorder(j, order, v);
    }
    free(order);
    return code == EXIT_DONE ? voxels_check(j, v) : code;
}
