/* Makes the pillars of PointPillars of a scan, arrays V x 32 x 10, V x 4 and V: voxelize scan.bin */
#include <pcgpu.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    static const double range[6] = {0, -39.68, -3, 69.12, 39.68, 1}, size[3] = {0.16, 0.16, 4};
    pcgpu_context *context;
    pcgpu_cloud cloud = {0};
    pcgpu_voxels voxels = {0};
    pcgpu_voxelize_params params;
    pcgpu_voxelize_params_init(&params);
    memcpy(params.range, range, sizeof range);
    memcpy(params.size, size, sizeof size);
    params.features = PCGPU_FEATURES_PILLAR;
    params.max_points = 32;
    int failed = pcgpu_open(NULL, &context) ||
                 pcgpu_read_file(context, argc > 1 ? argv[1] : "scan.bin", NULL, &cloud) ||
                 pcgpu_voxelize(context, &cloud, &params, &voxels);
    if (failed) {
        fprintf(stderr, "%s\n", pcgpu_last_error(context));
    } else {
        printf("%lld pillars of %lld x %d values; the first is at x %d, y %d with %d points\n", (long long)voxels.count,
               (long long)voxels.capacity, voxels.columns, voxels.coords[3], voxels.coords[2], voxels.counts[0]);
    }
    pcgpu_voxels_free(&voxels);
    pcgpu_cloud_free(&cloud);
    pcgpu_close(context);
    return failed;
}
