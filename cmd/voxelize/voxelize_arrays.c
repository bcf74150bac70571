/* pcgpu voxelize: its outputs as arrays, named and shaped by --layout. */
#include "arrays.h"
#include "voxelize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void voxels_warn_rounded(const job *j, double largest) {
    const double *offset = j->clouds[0].offset;
    if (largest > 0) {
        report_warning(
            j->names[0],
            "coordinates near (%.0f, %.0f, %.0f) are rounded to float32 in the array, by up to %.3g m; write "
            ".ply to keep their precision",
            offset[0], offset[1], offset[2], largest);
    }
}

void voxels_add_offset(const job *j, pcgpu_voxels *v) {
    const double *offset = j->clouds[0].offset;
    bool padded = pc_features_are_padded(voxelize_own(j->session->options)->params.features);
    double largest = 0;
    if (offset[0] == 0 && offset[1] == 0 && offset[2] == 0) {
        return;
    }
    for (int64_t i = 0; i < v->count; i++) {
        /* The padding remains 0. */
        int32_t rows = padded ? v->counts[i] : 1;
        for (int32_t k = 0; k < rows; k++) {
            float *row = v->features + (size_t)(i * v->capacity + k) * (size_t)v->columns;
            largest = fmax(largest, array_add_offset(offset, row));
        }
    }
    voxels_warn_rounded(j, largest);
}

/* Values as float16; NULL when memory is exhausted. */
static uint16_t *to_half(const job *j, const float *values, size_t n) {
    size_t beyond = 0;
    uint16_t *half = malloc(n ? n * sizeof *half : 1);
    for (size_t i = 0; half && i < n; i++) {
        half[i] = half_from_float(values[i]);
        beyond += (half[i] & 0x7FFF) == 0x7C00 && isfinite(values[i]);
    }
    if (beyond > 0) {
        report_warning(j->names[0], "%zu values are beyond 65504 and infinite in float16; give --dtype float32",
                       beyond);
    }
    return half;
}

/* The names of the arrays by layout: those of data_dict in OpenPCDet's DataProcessor, and of voxel_dict in
 * mmdetection3d's Det3DDataPreprocessor. */
static const struct {
    const char *coords, *counts;
} array_names[] = {[LAYOUT_PCGPU] = {"coords", "num_points"},
                   [LAYOUT_OPENPCDET] = {"voxel_coords", "voxel_num_points"},
                   [LAYOUT_MMDET3D] = {"coors", "num_points"}};

static pcgpu_array feature_array(const job *j, const pcgpu_voxels *v) {
    pcgpu_array a = {.name = "voxels", .type = PCGPU_FLOAT32, .data = v->features};
    a.shape[a.dimensions++] = v->count;
    if (pc_features_are_padded(voxelize_own(j->session->options)->params.features)) {
        a.shape[a.dimensions++] = v->capacity;
    }
    a.shape[a.dimensions++] = v->columns;
    return a;
}

static pcgpu_array coords_array(const job *j, const pcgpu_voxels *v) {
    return (pcgpu_array){.name = array_names[voxelize_own(j->session->options)->layout].coords,
                         .type = PCGPU_INT32,
                         .dimensions = 2,
                         .shape = {v->count, 4},
                         .data = v->coords};
}

static pcgpu_array counts_array(const job *j, const pcgpu_voxels *v) {
    return (pcgpu_array){.name = array_names[voxelize_own(j->session->options)->layout].counts,
                         .type = PCGPU_INT32,
                         .dimensions = 1,
                         .shape = {v->count},
                         .data = v->counts};
}

pcgpu_array voxels_point_array(const pcgpu_voxels *v) {
    return (pcgpu_array){.name = "point_voxel",
                         .type = PCGPU_INT32,
                         .dimensions = 1,
                         .shape = {v->run.points_in},
                         .data = v->point_voxel};
}

int voxels_write_arrays(job *j, pcgpu_array *arrays, int count) {
    uint16_t *half = NULL;
    if (voxelize_own(j->session->options)->dtype == DTYPE_FLOAT16) {
        size_t n = 1;
        for (int k = 0; k < arrays[0].dimensions; k++) {
            n *= (size_t)arrays[0].shape[k];
        }
        half = to_half(j, arrays[0].data, n);
        if (!half) {
            return report_error(j->names[0], "out of memory");
        }
        arrays[0].type = PCGPU_FLOAT16;
        arrays[0].data = half;
    }
    progress_begin(j->names[0], "writing");
    int code = job_write_arrays(j, "output", j->format->name, arrays, strcmp(j->format->name, "npz") == 0 ? count : 1);
    free(half);
    return code;
}

int voxels_write(job *j, const pcgpu_voxels *v, const pcgpu_array *more, int count) {
    pcgpu_array arrays[6] = {feature_array(j, v), coords_array(j, v), counts_array(j, v)};
    for (int i = 0; i < count; i++) {
        arrays[3 + i] = more[i];
    }
    return voxels_write_arrays(j, arrays, 3 + count);
}

int voxels_write_sides(job *j, const pcgpu_voxels *v) {
    const pcgpu_array coords = coords_array(j, v), counts = counts_array(j, v), point_voxel = voxels_point_array(v);
    PC_TRY(job_write_array(j, "coords", &coords));
    PC_TRY(job_write_array(j, "counts", &counts));
    return job_write_array(j, "point-voxel", &point_voxel);
}
