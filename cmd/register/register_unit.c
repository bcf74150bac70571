/* Whether the coordinates of a pair look like millimetres, while lengths are metres. */
#include "cloud.h"
#include "register.h"

#include <math.h>

/* Such wide voxels fit the spacing of points in another unit: the finest of LiDAR scans, of terrain from the air, too,
 * have at most 4 m. */
#define UNIT_VOXEL 16.0

#define LEAST_RATIO 500.0 /* of the extents of two clouds, of which one is in millimetres */
#define MOST_RATIO  2000.0
#define LEAST_SIZE  10.0 /* of an object: 1 cm in millimetres */
#define MOST_SIZE   2000.0
#define ROUND       0.4  /* least extent against the largest: scans, streets and rooms of this size are flatter */
#define RIM         0.05 /* of an extent: a point so near to the box lies on a wall */
#define MOST_RIM    0.5  /* of the points of an object */

typedef struct box {
    double low[3], high[3], widest, narrowest;
} box;

static bool has_point(const pcgpu_cloud *cloud, int64_t i) {
    const float *p = cloud->data + i * cloud->columns;
    return pc_cloud_usable(cloud, p, true);
}

static box box_of(const pcgpu_cloud *cloud) {
    box b = {.widest = 0};
    bool any = false;
    for (int64_t i = 0; i < cloud->rows; i++) {
        for (int k = 0; k < 3 && has_point(cloud, i); k++) {
            const double v = (double)cloud->data[i * cloud->columns + k];
            b.low[k] = !any || v < b.low[k] ? v : b.low[k];
            b.high[k] = !any || v > b.high[k] ? v : b.high[k];
        }
        any = any || has_point(cloud, i);
    }
    for (int k = 0; k < 3; k++) {
        const double extent = b.high[k] - b.low[k];
        b.widest = fmax(b.widest, extent);
        b.narrowest = k == 0 || extent < b.narrowest ? extent : b.narrowest;
    }
    return b;
}

/* An object with about the same extent on all axes, and not a room, whose points lie on the walls. */
static bool is_object(const pcgpu_cloud *cloud, const box *b) {
    int64_t points = 0, rim = 0;
    if (b->widest < LEAST_SIZE || b->widest > MOST_SIZE || b->narrowest < ROUND * b->widest) {
        return false;
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        bool outer = false;
        for (int k = 0; k < 3; k++) {
            const double v = (double)cloud->data[i * cloud->columns + k], margin = RIM * (b->high[k] - b->low[k]);
            outer = outer || v < b->low[k] + margin || v > b->high[k] - margin;
        }
        points += has_point(cloud, i);
        rim += outer && has_point(cloud, i);
    }
    return (double)rim <= MOST_RIM * (double)points;
}

static void warn_of_voxel(const job *j, const pcgpu_registration *r) {
    report_warning(
        j->names[0],
        "the spacing of the points asks for voxels of %g m; if the coordinates are millimetres, all lengths of "
        "the options and of the result are millimetres, too",
        r->voxel);
}

void register_check_unit(const job *j, const pcgpu_registration *r) {
    if (j->projective) {
        return;
    }
    const box source = box_of(&j->clouds[0]), target = box_of(&j->clouds[1]);
    const bool smaller = source.widest < target.widest;
    const double ratio = smaller ? target.widest / source.widest : source.widest / target.widest;
    if (ratio > LEAST_RATIO && ratio < MOST_RATIO) {
        report_warning(j->names[smaller],
                       "is %.3g times as large as %s; if it is in millimetres and the other one in metres, "
                       "divide its coordinates by 1000: pcgpu convert --scale 0.001",
                       ratio, j->names[!smaller]);
    } else if (j->session->options->registration.voxel == PCGPU_AUTO && r->voxel >= UNIT_VOXEL) {
        warn_of_voxel(j, r);
    } else if (is_object(&j->clouds[0], &source) && is_object(&j->clouds[1], &target)) {
        report_warning(j->names[0],
                       "looks like an object of %.3g m; if its coordinates are millimetres, all lengths of the options "
                       "and of the result are millimetres, too",
                       source.widest);
    }
}
