/* Dynamic voxelization (Zhou et al., MVF, CoRL 2019): the encoder of the network makes the voxels, of any number of
 * points each, so it takes points.
 *
 * OpenPCDet: `points`, N x (1 + columns): the number in the batch, then the record. Its
 * mask_points_and_boxes_outside_range keeps X0 <= x <= X1 and Y0 <= y <= Y1 at any height: DynPillarVFE has pillars
 * without an end in z, the others drop the rest themselves.
 *
 * mmdetection3d: `voxels`, N x columns, and `coors`, N x 4: the number in the batch and the voxel z, y, x of each
 * point. Points out of range, whose voxel would be -1 and which its encoders skip, are left out. */
#include "arrays.h"
#include "cloud.h"
#include "voxelize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void dynamic_free(dynamic_points *points) {
    free(points->values);
    free(points->coords);
    *points = (dynamic_points){0};
}

/* Whether record i is among the points of OpenPCDet. */
static bool is_near(const job *j, const pcgpu_voxels *v, int64_t i) {
    const pcgpu_cloud *cloud = &j->clouds[0];
    const float *p = cloud->data + i * cloud->columns;
    bool inside = pc_cloud_usable(cloud, p, j->session->options->drop_origin);
    for (int k = 0; k < 2; k++) {
        const double x = cloud->offset[k] + (double)p[k];
        inside = inside && x >= (double)(float)v->range[k] && x <= (double)(float)v->range[3 + k];
    }
    return inside;
}

/* Makes space for `more` points. */
static bool grow(dynamic_points *points, int64_t more, bool coords) {
    const size_t n = (size_t)(points->count + more ? points->count + more : 1);
    float *values = realloc(points->values, n * (size_t)points->columns * sizeof *values);
    points->values = values ? values : points->values;
    int32_t *places = coords ? realloc(points->coords, n * 4 * sizeof *places) : NULL;
    points->coords = places ? places : points->coords;
    return values && (places || !coords);
}

int dynamic_add(const job *j, const pcgpu_voxels *v, int batch, dynamic_points *points) {
    const pcgpu_cloud *cloud = &j->clouds[0];
    const bool leads = voxelize_own(j->session->options)->layout == LAYOUT_OPENPCDET; /* with the number in the batch */
    double largest = 0;
    points->columns = cloud->columns + leads;
    if (!grow(points, cloud->rows, !leads)) {
        return report_error(j->names[0], "out of memory; give fewer inputs");
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        if (leads ? !is_near(j, v, i) : v->point_voxel[i] < 0) {
            continue;
        }
        float *row = points->values + points->count * points->columns;
        if (leads) {
            row[0] = (float)batch;
        } else {
            int32_t *coords = points->coords + 4 * points->count;
            memcpy(coords, v->coords + 4 * (size_t)v->point_voxel[i], 4 * sizeof *coords);
            coords[0] = batch;
        }
        memcpy(row + leads, cloud->data + i * cloud->columns, (size_t)cloud->columns * sizeof *row);
        largest = fmax(largest, array_add_offset(cloud->offset, row + leads));
        points->count++;
    }
    voxels_warn_rounded(j, largest);
    return EXIT_DONE;
}

int dynamic_write(job *j, const dynamic_points *points) {
    const int64_t n = points->count;
    pcgpu_array arrays[2] = {
        {.name = points->coords ? "voxels" : "points",
         .type = PCGPU_FLOAT32,
         .dimensions = 2,
         .shape = {n, points->columns},
         .data = points->values},
        {.name = "coors", .type = PCGPU_INT32, .dimensions = 2, .shape = {n, 4}, .data = points->coords}};
    return voxels_write_arrays(j, arrays, points->coords ? 2 : 1);
}
