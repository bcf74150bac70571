/* Follows a depth camera along its images, 30 per second, as KinectFusion does: depth frame-000000.png ... */
#include <pcgpu.h>
#include <pcgpu_odometry_depth.h>
#include <stdio.h>

int main(int argc, char **argv) {
    pcgpu_context *context;
    pcgpu_depth_odometry *odometry = NULL;
    pcgpu_depth_odometry_params params;
    pcgpu_camera camera;
    pcgpu_camera_init(&camera); /* depths in millimetres */
    camera.fx = camera.fy = 525;
    camera.cx = 319.5, camera.cy = 239.5;
    pcgpu_depth_odometry_params_init(&params);
    int failed = pcgpu_open(NULL, &context) || pcgpu_depth_odometry_open(context, &camera, &params, &odometry);
    for (int i = 1; i < argc && !failed; i++) {
        pcgpu_depth image = {0};
        pcgpu_odometry_frame frame;
        FILE *file = fopen(argv[i], "rb");
        failed = !file || pcgpu_read_depth(context, file, argv[i], NULL, &image) ||
                 pcgpu_depth_odometry_add(odometry, &image, i / 30.0, &frame);
        if (!failed && frame.good) {
            const double *T = frame.T_world_frame;
            printf("%s at %.3f %.3f %.3f m\n", argv[i], T[3], T[7], T[11]);
        }
        pcgpu_depth_free(&image);
        if (file) {
            fclose(file);
        }
    }
    fprintf(stderr, "%s", failed ? pcgpu_last_error(context) : "");
    pcgpu_depth_odometry_close(odometry);
    pcgpu_close(context);
    return failed;
}
