/* A tile of a range image in a pass over the source: what register_depth.cu does of depth images. */
#ifndef PC_REGISTER_RANGE_CUH
#define PC_REGISTER_RANGE_CUH

#include "icp_range.h"
#include "register_depth.cuh"

/* Two to a pixel: plane and range, then the point. */
enum { PC_RANGE_WORDS = PC_RANGE_VALUES / 4 };

/* Pixels of the source are not kept in shared memory from iteration to iteration: a whole frame is 2 MB, which stays in
 * the caches. */
__device__ static inline void pc_range_add_tile(bool scene, const float *from_maps, const float *to_maps,
                                                const pc_depth_level *source, const pc_depth_level *target,
                                                const pc_depth_step *step, int tile, float sums[PC_ICP_SUMS]) {
    const float4 *from = pc_depth_pixels_of(from_maps, source), *to = pc_depth_pixels_of(to_maps, target);
    const int across = source->columns / PC_DEPTH_LANES;
    const int u = tile % across * PC_DEPTH_LANES + (int)threadIdx.x % PC_DEPTH_LANES;
    const int first = tile / across * PC_DEPTH_LOADS;
    enum { AT_ONCE = 4 }; /* pixels whose partners are fetched together */
#pragma unroll 1
    for (int row = 0; row < PC_DEPTH_LOADS; row += AT_ONCE) {
        float4 own[AT_ONCE], there[AT_ONCE], point[AT_ONCE];
        pc_depth_landing at[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const float4 *pixel = from + PC_RANGE_WORDS * ((first + row + k) * source->columns + u);
            own[k] = pixel[0];
            point[k] = pixel[1];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            pc_range_project(step, target, own[k].w, point[k].x, point[k].y, point[k].z, &at[k]);
            there[k] = to[PC_RANGE_WORDS * at[k].at];
            point[k] = to[PC_RANGE_WORDS * at[k].at + 1];
        }
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            pc_range_add(scene, step, &at[k], own[k].x, own[k].y, own[k].z, there[k].x, there[k].y, there[k].z,
                         there[k].w, point[k].x, point[k].y, point[k].z, sums, 1);
        }
    }
}

/* register_range.cu: the maps of a frame whose levels are laid out. */
pcgpu_status pc_range_make_frame(pcgpu_context *context, pc_depth_state *state, const pc_range_points *points,
                                 pc_depth_frame *frame);

#endif
