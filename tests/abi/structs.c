/* The sizes of the public structs, one per line: a program that was built with another size breaks. */
#include "pcgpu.h"

#define SIZE(NAME)        printf("struct pcgpu_%s %zu\n", #NAME, sizeof(pcgpu_##NAME))
#define SIZES(A, B, C, D) SIZE(A), SIZE(B), SIZE(C), SIZE(D)

int main(void) {
    SIZES(array, camera, cloud, depth);
    SIZES(depth_counts, depth_odometry_params, clouds, device_info);
    SIZES(device_picks, device_voxels, evaluation, file_info);
    SIZES(format_info, indices, loop, loops_params);
    SIZES(depth_loops_params, loops_result, map_params, map_stats);
    SIZES(mesh, odometry_frame, odometry_params, pair);
    SIZES(set_cloud, set_link, set, pose_edge);
    SIZES(pose_graph_result, read_options, register_depth_params, register_params);
    SIZES(registration, run, sample_params, sampled);
    SIZES(segment_error, settings, volume_counts, volume_params);
    SIZES(neighbor_lists, neighbors_params, volume_stats, voxelize_params);
    SIZE(voxels);
    return 0;
}
