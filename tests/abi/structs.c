/* The sizes of the public structs, one per line: a program that was built with another size breaks. */
#include "pcgpu.h"

#define SIZE(type) printf("struct %s %zu\n", #type, sizeof(type))

int main(void) {
    SIZE(pcgpu_array);
    SIZE(pcgpu_camera);
    SIZE(pcgpu_cloud);
    SIZE(pcgpu_depth);
    SIZE(pcgpu_depth_counts);
    SIZE(pcgpu_depth_odometry_params);
    SIZE(pcgpu_device_clouds);
    SIZE(pcgpu_device_info);
    SIZE(pcgpu_device_picks);
    SIZE(pcgpu_device_voxels);
    SIZE(pcgpu_evaluation);
    SIZE(pcgpu_file_info);
    SIZE(pcgpu_format_info);
    SIZE(pcgpu_indices);
    SIZE(pcgpu_loop);
    SIZE(pcgpu_loops_params);
    SIZE(pcgpu_depth_loops_params);
    SIZE(pcgpu_loops_result);
    SIZE(pcgpu_map_params);
    SIZE(pcgpu_map_stats);
    SIZE(pcgpu_mesh);
    SIZE(pcgpu_odometry_frame);
    SIZE(pcgpu_odometry_params);
    SIZE(pcgpu_pair);
    SIZE(pcgpu_set_cloud);
    SIZE(pcgpu_set_link);
    SIZE(pcgpu_set);
    SIZE(pcgpu_pose_edge);
    SIZE(pcgpu_pose_graph_result);
    SIZE(pcgpu_read_options);
    SIZE(pcgpu_register_depth_params);
    SIZE(pcgpu_register_params);
    SIZE(pcgpu_registration);
    SIZE(pcgpu_run);
    SIZE(pcgpu_sample_params);
    SIZE(pcgpu_sampled);
    SIZE(pcgpu_segment_error);
    SIZE(pcgpu_settings);
    SIZE(pcgpu_volume_counts);
    SIZE(pcgpu_volume_params);
    SIZE(pcgpu_volume_stats);
    SIZE(pcgpu_voxelize_params);
    SIZE(pcgpu_voxels);
    return 0;
}
