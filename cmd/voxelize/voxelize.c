/* pcgpu voxelize: voxels, their features and coordinates, or a downsampled cloud. Several inputs in one file are in
 * voxelize_batch.c. */
#include "voxelize.h"
#include "half.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool features_are_padded(pcgpu_features features) {
    return features == PCGPU_FEATURES_POINTS || features == PCGPU_FEATURES_PILLAR;
}

pcgpu_voxelize_params voxelize_parameters(const job *j) {
    pcgpu_voxelize_params params = j->session->options->voxelize;
    params.drop_origin = j->session->options->drop_origin;
    return params;
}

void voxels_add_offset(const job *j, pcgpu_voxels *v) {
    const double *offset = j->clouds[0].offset;
    bool padded = features_are_padded(j->session->options->voxelize.features);
    double largest = 0;
    if (offset[0] == 0 && offset[1] == 0 && offset[2] == 0) {
        return;
    }
    for (int64_t i = 0; i < v->count; i++) {
        /* The padding remains 0. */
        int32_t rows = padded ? v->counts[i] : 1;
        for (int32_t k = 0; k < rows; k++) {
            float *row = v->features + (size_t)(i * v->capacity + k) * (size_t)v->columns;
            for (int axis = 0; axis < 3; axis++) {
                double exact = offset[axis] + (double)row[axis];
                row[axis] = (float)exact;
                largest = fmax(largest, fabs((double)row[axis] - exact));
            }
        }
    }
    if (largest > 0) {
        report_warning(
            j->names[0],
            "coordinates near (%.0f, %.0f, %.0f) are rounded to float32 in the array, by up to %.3g m; write "
            ".ply to keep their precision",
            offset[0], offset[1], offset[2], largest);
    }
}

/* The features as float16; NULL when memory is exhausted. */
static uint16_t *to_half(const job *j, const pcgpu_voxels *v) {
    size_t beyond = 0;
    size_t n = (size_t)v->count * (size_t)v->capacity * (size_t)v->columns;
    uint16_t *half = malloc(n ? n * sizeof *half : 1);
    for (size_t i = 0; half && i < n; i++) {
        half[i] = half_from_float(v->features[i]);
        beyond += (half[i] & 0x7FFF) == 0x7C00 && isfinite(v->features[i]);
    }
    if (beyond > 0) {
        report_warning(j->names[0], "%zu values are beyond 65504 and infinite in float16; give --dtype float32",
                       beyond);
    }
    return half;
}

static pcgpu_array feature_array(const job *j, const pcgpu_voxels *v, const uint16_t *half) {
    pcgpu_array a = {.name = "voxels",
                     .type = half ? PCGPU_FLOAT16 : PCGPU_FLOAT32,
                     .data = half ? (const void *)half : (const void *)v->features};
    a.shape[a.dimensions++] = v->count;
    if (features_are_padded(j->session->options->voxelize.features)) {
        a.shape[a.dimensions++] = v->capacity;
    }
    a.shape[a.dimensions++] = v->columns;
    return a;
}

static pcgpu_array coords_array(const pcgpu_voxels *v) {
    return (pcgpu_array){
        .name = "coords", .type = PCGPU_INT32, .dimensions = 2, .shape = {v->count, 4}, .data = v->coords};
}

static pcgpu_array counts_array(const pcgpu_voxels *v) {
    return (pcgpu_array){
        .name = "num_points", .type = PCGPU_INT32, .dimensions = 1, .shape = {v->count}, .data = v->counts};
}

pcgpu_array voxels_point_array(const pcgpu_voxels *v) {
    return (pcgpu_array){.name = "point_voxel",
                         .type = PCGPU_INT32,
                         .dimensions = 1,
                         .shape = {v->run.points_in},
                         .data = v->point_voxel};
}

int voxels_write(job *j, const pcgpu_voxels *v, const pcgpu_array *more, int count) {
    uint16_t *half = j->session->options->dtype == DTYPE_FLOAT16 ? to_half(j, v) : NULL;
    if (!half && j->session->options->dtype == DTYPE_FLOAT16) {
        report_error(j->names[0], "out of memory");
        return EXIT_FAILED;
    }
    pcgpu_array arrays[6] = {feature_array(j, v, half), coords_array(v), counts_array(v)};
    for (int i = 0; i < count; i++) {
        arrays[3 + i] = more[i];
    }
    progress_begin(j->names[0], "writing");
    int code =
        job_write_arrays(j, "output", j->format->name, arrays, strcmp(j->format->name, "npz") == 0 ? 3 + count : 1);
    free(half);
    return code;
}

int voxels_write_sides(job *j, const pcgpu_voxels *v) {
    const pcgpu_array coords = coords_array(v), counts = counts_array(v), point_voxel = voxels_point_array(v);
    int code = job_write_array(j, "coords", &coords);
    code = code == EXIT_DONE ? job_write_array(j, "counts", &counts) : code;
    return code == EXIT_DONE ? job_write_array(j, "point-voxel", &point_voxel) : code;
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
        "over max-points, %lld over max-voxels",
        (long long)v->count, (long long)v->kept, (long long)v->out_of_range, (long long)v->run.non_finite,
        (long long)v->run.at_origin, (long long)v->over_points, (long long)v->over_voxels);
    report_detail(
        j->names[0],
        "%lld points in range in %lld voxels: %.4g per voxel on average, %lld at most; max-points loses %.3g %% of "
        "them",
        (long long)v->in_range, (long long)v->voxels_found, mean_occupancy(v), (long long)v->largest,
        100 * lost_to_max_points(v));
    if (v->over_voxels > 0) {
        report_warning(j->names[0], "%lld of %lld voxels are over max-voxels; %lld points were dropped with them",
                       (long long)(v->voxels_found - v->count), (long long)v->voxels_found, (long long)v->over_voxels);
    }
}

static int refuse_truncated(const job *j, const pcgpu_voxels *v) {
    report_error(
        j->names[0],
        "%lld points over max-points and %lld over max-voxels (the fullest of %lld voxels has %lld), which strict "
        "does not allow; raise the limits, or leave strict out",
        (long long)v->over_points, (long long)v->over_voxels, (long long)v->voxels_found, (long long)v->largest);
    return EXIT_FAILED;
}

int voxelize_cloud(job *j, pcgpu_voxels *v) {
    pcgpu_voxelize_params params = voxelize_parameters(j);
    progress_begin(j->names[0], "voxelizing");
    pcgpu_status status = pcgpu_voxelize(j->session->context, &j->clouds[0], &params, v);
    if (status != PCGPU_OK) {
        return job_failed(j, status);
    }
    j->run = v->run;
    if (v->run.points_in == v->run.non_finite + v->run.at_origin) {
        report_error(j->names[0], "0 usable points among %lld records; check the input", (long long)v->run.points_in);
        pcgpu_voxels_free(v);
        return EXIT_FAILED;
    }
    j->points_out = v->count;
    j->unit = "voxels";
    add_result(&j->result, v);
    summarize(j, v);
    if (j->session->options->strict && (v->over_points > 0 || v->over_voxels > 0)) {
        int code = refuse_truncated(j, v);
        pcgpu_voxels_free(v);
        return code;
    }
    return EXIT_DONE;
}

int voxelize_process(job *j) {
    pcgpu_voxels v;
    int code = voxelize_cloud(j, &v);
    if (code != EXIT_DONE) {
        return code;
    }
    code = voxels_write_sides(j, &v);
    if (code == EXIT_DONE && j->format && job_stream(j, "output")) {
        if (j->format->writes_arrays) {
            voxels_add_offset(j, &v);
            code = voxels_write(j, &v, NULL, 0);
        } else {
            code = voxels_write_cloud(j, &v);
        }
    }
    pcgpu_voxels_free(&v);
    return code;
}
