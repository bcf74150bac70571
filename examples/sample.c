/* Picks 4,096 points of a cloud by farthest point sampling: sample scan.bin */
#include <pcgpu.h>
#include <stdio.h>

int main(int argc, char **argv) {
    pcgpu_context *context;
    pcgpu_cloud cloud = {0};
    pcgpu_sampled sampled = {0};
    pcgpu_sample_params params;
    pcgpu_sample_params_init(&params);
    params.count = 4096;
    int failed = pcgpu_open(NULL, &context) ||
                 pcgpu_read_file(context, argc > 1 ? argv[1] : "scan.bin", NULL, &cloud) ||
                 pcgpu_sample(context, &cloud, &params, &sampled);
    if (failed) {
        fprintf(stderr, "%s\n", pcgpu_last_error(context));
    } else {
        printf("%lld points, the second is record %d\n", (long long)sampled.count, sampled.indices[1]);
    }
    pcgpu_sampled_free(&sampled);
    pcgpu_cloud_free(&cloud);
    pcgpu_close(context);
    return failed;
}
