/* The scan of bench.h, for programs that have the generator. */
#include "bench.h"
#include "scene.h"

#include <stdlib.h>
#include <string.h>

void bench_scan(pcgpu_context *context, int64_t points, pcgpu_cloud *cloud) {
    static const double middle[7] = {0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0};
    static scene street;
    scene_pose pose;
    scene_pose_from(middle, &pose);
    scene_street(&street, 1);
    float *scan = scene_scan(&street, &pose, points, 0.0, 1);
    if (!scan || pcgpu_cloud_create(context, points, 4, cloud) != PCGPU_OK) {
        fprintf(stderr, "a scan of %lld points: out of memory\n", (long long)points);
        exit(1);
    }
    memcpy(cloud->data, scan, (size_t)points * 4 * sizeof *scan);
    free(scan);
}
