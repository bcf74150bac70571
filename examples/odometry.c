/* Follows a LiDAR along its scans, ten per second: odometry 000000.bin 000001.bin ... */
#include <pcgpu.h>
#include <pcgpu_odometry.h>
#include <stdio.h>

int main(int argc, char **argv) {
    pcgpu_context *context;
    pcgpu_odometry *odometry = NULL;
    pcgpu_odometry_params params;
    pcgpu_odometry_params_init(&params);
    int failed = pcgpu_open(NULL, &context) || pcgpu_odometry_open(context, &params, &odometry);
    for (int i = 1; i < argc && !failed; i++) {
        pcgpu_cloud scan = {0};
        pcgpu_odometry_frame frame;
        failed = pcgpu_read_file(context, argv[i], NULL, &scan) || pcgpu_odometry_add(odometry, &scan, 0.1 * i, &frame);
        if (!failed && frame.good) {
            const double *T = frame.T_world_frame;
            printf("%s at %.3f %.3f %.3f m\n", argv[i], T[3], T[7], T[11]);
        } else if (!failed) {
            printf("%s is lost: %s\n", argv[i], frame.registration.reason);
        }
        pcgpu_cloud_free(&scan);
    }
    if (failed) {
        fprintf(stderr, "%s\n", pcgpu_last_error(context));
    }
    pcgpu_odometry_close(odometry);
    pcgpu_close(context);
    return failed;
}
