/* The sizes of the public structs, one per line: a program that was built with another size breaks. Calls compare the
 * struct_size of those that begin with it; pcgpu_open compares the sum of all others. */
#include "pcgpu.h"

static size_t sum;

static void print(const char *name, size_t size) {
    printf("struct pcgpu_%s %zu\n", name, size);
}

#define SIZE(NAME)        sum += sizeof(pcgpu_##NAME), print(#NAME, sizeof(pcgpu_##NAME))
#define SIZES(A, B, C, D) SIZE(A), SIZE(B), SIZE(C), SIZE(D)
#define SIZED(NAME)                                                                                                    \
    _Static_assert(offsetof(pcgpu_##NAME, struct_size) == 0, "begins with its size");                                  \
    print(#NAME, sizeof(pcgpu_##NAME))

int main(void) {
    SIZED(camera);
    SIZED(cluster_params);
    SIZED(depth_loops_params);
    SIZED(depth_odometry_params);
    SIZED(ground_params);
    SIZED(loops_params);
    SIZED(map_params);
    SIZED(neighbors_params);
    SIZED(odometry_params);
    SIZED(read_options);
    SIZED(register_depth_params);
    SIZED(register_params);
    SIZED(sample_params);
    SIZED(settings);
    SIZED(volume_params);
    SIZED(voxelize_params);
    SIZES(array, cloud, depth, depth_counts);
    SIZES(clouds, device_info, device_picks, device_voxels);
    SIZES(evaluation, file_info, format_info, indices);
    SIZES(loop, loops_result, map_stats, mesh);
    SIZES(odometry_frame, pair, pose_edge, pose_graph_result);
    SIZES(registration, run, sampled, segment_error);
    SIZES(set, set_cloud, set_link, volume_counts);
    SIZE(anchor_result);
    SIZE(neighbor_lists);
    SIZE(outliers);
    SIZE(position);
    SIZE(volume_stats);
    SIZE(voxels);
    if (sum != PCGPU_STRUCTS_SIZE) {
        fprintf(stderr,
                "FAIL: the structs without struct_size have %zu bytes and PCGPU_STRUCTS_SIZE of pcgpu.h is %d\n", sum,
                PCGPU_STRUCTS_SIZE);
        return 1;
    }
    return 0;
}
