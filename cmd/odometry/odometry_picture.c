/* odometry --picture: the path over a map, which has some points of each scan at its last pose. Both are seen from
 * above. */
#include "cloud.h"
#include "odometry_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Points of all scans, of which each has an equal part, but enough to be seen; a picture has 1.2 million pixels. */
enum { MAP_POINTS = 2000000, SCAN_LEAST = 250 };

enum { MAP_GREY = 0x717b87 };

static bool reserve(odometry_picture *p, int64_t more) {
    if (p->count + more <= p->capacity) {
        return true;
    }
    const int64_t capacity = 2 * p->capacity + more;
    float *points = realloc(p->points, (size_t)capacity * 3 * sizeof *points);
    p->points = points ? points : p->points;
    int32_t *scans = points ? realloc(p->scans, (size_t)capacity * sizeof *scans) : NULL;
    p->scans = scans ? scans : p->scans;
    p->capacity = scans ? capacity : p->capacity;
    return scans;
}

/* Every so-manieth of the points that are usable. */
static bool take_points(odometry_picture *p, const session *s, int scan, const pcgpu_cloud *cloud) {
    const int64_t equal = MAP_POINTS / s->input_count, most = equal > SCAN_LEAST ? equal : SCAN_LEAST;
    int64_t usable = 0, seen = 0;
    for (int64_t i = 0; i < cloud->rows; i++) {
        usable += pc_cloud_usable(cloud, cloud->data + i * cloud->columns, s->options->drop_origin);
    }
    const int64_t step = usable / most + 1;
    if (!reserve(p, usable / step + 1)) {
        return false;
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *from = cloud->data + i * cloud->columns;
        if (pc_cloud_usable(cloud, from, s->options->drop_origin) && seen++ % step == 0) {
            for (int k = 0; k < 3; k++) {
                p->points[3 * p->count + k] = (float)((double)from[k] + cloud->offset[k]);
            }
            p->scans[p->count++] = scan;
        }
    }
    return true;
}

int odometry_picture_add(odometry_picture *p, session *s, int scan, const pcgpu_cloud *cloud,
                         const pcgpu_depth *image) {
    pcgpu_cloud own = {0};
    pcgpu_depth_counts counts;
    pcgpu_run run = {0};
    if (!s->options->picture) {
        return EXIT_DONE;
    }
    const pcgpu_status status = image->data
                                    ? pcgpu_depth_to_cloud(s->context, image, &s->options->camera, &own, &counts)
                                    : pcgpu_scan_correct(s->context, cloud, &s->options->registration, &own, &run);
    const bool good = status == PCGPU_OK && take_points(p, s, scan, &own);
    pcgpu_cloud_free(&own);
    if (status != PCGPU_OK) {
        report_failure(s->name, s->context);
    } else if (!good) {
        report_error(s->name, "out of memory");
    }
    return good ? EXIT_DONE : EXIT_FAILED;
}

/* The points at their poses, relative to the first pose, so that float32 holds them. */
static pcgpu_status make_map(const odometry_picture *p, pcgpu_context *context, pcgpu_cloud *map) {
    pcgpu_status status = pcgpu_cloud_create(context, p->count, 3, map);
    const double *first = p->poses + 16 * p->scans[0];
    for (int k = 0; k < 3; k++) {
        map->offset[k] = first[4 * k + 3];
    }
    for (int64_t i = 0; i < p->count && status == PCGPU_OK; i++) {
        const double *T = p->poses + 16 * p->scans[i];
        const float *q = p->points + 3 * i;
        for (int k = 0; k < 3; k++) {
            const double *row = T + 4 * k;
            map->data[3 * i + k] = (float)(((row[0] * (double)q[0] + row[1] * (double)q[1]) + row[2] * (double)q[2]) +
                                           (row[3] - map->offset[k]));
        }
    }
    return status;
}

int odometry_picture_write(const odometry_picture *p, job *j) {
    session *s = j->session;
    const bool camera = odometry_is_depth(s);
    const double *errors = p->errors.count > 0 ? p->errors.metres : NULL;
    if (p->count == 0) {
        report_error(j->names[0], "no input has a pose and points, so there is no map to draw; check the inputs");
        return EXIT_FAILED;
    }
    picture out = {.job = j, .map = true, .color = errors ? "error" : NULL};
    pc_layer map = {.kind = PC_POINTS};
    double axis[3];
    picture_axis(p->poses, s->input_count, camera ? 1 : 2, axis); /* the y of a camera is down */
    out.up = picture_up(axis, camera ? -1 : 1);
    out.status = make_map(p, s->context, &map.cloud);
    if (errors) { /* the colours are those of the path */
        map.painted = true;
        map.color = MAP_GREY;
    }
    picture_add_layer(&out, 0, &map, "map");
    picture_add_path(&out, p->poses, s->input_count, errors, "path");
    return picture_finish(&out);
}

void odometry_picture_free(odometry_picture *p) {
    free(p->points);
    free(p->scans);
    pose_errors_free(&p->errors);
    *p = (odometry_picture){0};
}
