/* Finds the transform that maps points of one scan into the frame of another: register source.bin target.bin */
#include <pcgpu.h>
#include <pcgpu_register.h>
#include <stdio.h>

int main(int argc, char **argv) {
    pcgpu_context *context;
    pcgpu_cloud source = {0}, target = {0};
    pcgpu_registration result = {0};
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    int failed = pcgpu_open(NULL, &context) ||
                 pcgpu_read_file(context, argc > 1 ? argv[1] : "source.bin", NULL, &source) ||
                 pcgpu_read_file(context, argc > 2 ? argv[2] : "target.bin", NULL, &target) ||
                 pcgpu_register(context, &source, &target, &params, &result);
    if (failed) {
        fprintf(stderr, "%s\n", pcgpu_last_error(context));
    } else if (!result.converged) { /* its transform must not be used */
        fprintf(stderr, "did not converge: %s\n", result.reason);
    } else {
        const double *T = result.T_target_source; /* 4x4, row by row */
        printf("moved by %.3f %.3f %.3f m, score %.2f\n", T[3], T[7], T[11], result.score);
    }
    pcgpu_cloud_free(&source);
    pcgpu_cloud_free(&target);
    pcgpu_close(context);
    return failed || !result.converged;
}
