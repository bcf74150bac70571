/* What the files of the registration of depth frames on CUDA share: projective_frame.cu holds frames,
 * projective_maps.cu builds their maps, projective.cu runs the optimizer. */
#ifndef PC_REGISTER_DEPTH_CUH
#define PC_REGISTER_DEPTH_CUH

#include "common.cuh"
#include "projective_optimizer.h"
#include "ptx.cuh"
#include "warp.cuh"
#include "projective_ops.h"

enum {
    PC_DEPTH_TILE_THREADS = PC_DEPTH_LANES * PC_DEPTH_LOADS,  /* for maps: one pixel per thread */
    PC_DEPTH_GROUP_THREADS = PC_DEPTH_LANES * PC_DEPTH_GROUP, /* for sums: a tile a warp */
    PC_DEPTH_SPARES = 3                                       /* memory of freed frames that is kept */
};

/* Device memory that only grows, or pinned memory. */
typedef struct pc_depth_memory {
    char *memory;
    size_t bytes;
} pc_depth_memory;

/* What a context keeps. */
typedef struct pc_depth_state {
    pc_depth_memory spare[PC_DEPTH_SPARES];
    pc_depth_memory depths;    /* of all levels of the frame being made */
    pc_depth_memory given;     /* maps or tables that it is made from */
    pc_depth_memory mailbox;   /* of groups and parts */
    pc_depth_memory pinned[2]; /* buffers of copies in flight, in turns */
    cudaEvent_t copied[2];     /* when they have arrived */
    int turn;
    pc_depth_memory result; /* pinned: the optimizer at its end */
    int resident;           /* blocks that run at the same time, 0 = not known yet */
    uint32_t launch;        /* the number of the last one, 0 = none since the messages were cleared */
} pc_depth_state;

/* What belongs to a frame on the device, behind its maps. */
typedef struct pc_depth_extra {
    pc_depth_measure measure;
    unsigned long long begun; /* nanoseconds */
} pc_depth_extra;

/* A frame being made, as kernels take it. */
typedef struct pc_depth_making {
    pc_depth_image image; /* pointers on the device */
    pc_depth_frame frame;
    float *depths[PC_DEPTH_MAX_LEVELS]; /* height x width each */
    double *tile_sums;                  /* PC_DEPTH_MEASURES a tile of the finest level */
    pc_depth_extra *extra;
} pc_depth_making;

/* Launches what makes them. */
pcgpu_status pc_depth_make_maps(pcgpu_context *context, const pc_depth_making *making);

pcgpu_status pc_depth_take_state(pcgpu_context *context, pc_depth_state **state);
pcgpu_status pc_depth_grow(pcgpu_context *context, pc_depth_memory *memory, size_t bytes, bool pinned);

/* Sizes of device memory that others follow. */
static inline size_t pc_depth_round_up(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

/* Memory for the maps of a frame, and behind them for sums of tiles, an image of its size, and what belongs to the
 * frame (frame->backend). */
pcgpu_status pc_depth_take_maps(pcgpu_context *context, pc_depth_state *state, pc_depth_frame *frame,
                                double **tile_sums, uint16_t **image);

/* Host bytes being copied to the device. */
typedef struct pc_depth_part {
    const void *from;
    void *to;
    size_t bytes;
} pc_depth_part;

/* Sends them through pinned memory: the host does not wait for the copy, only for the last but one. */
pcgpu_status pc_depth_send(pcgpu_context *context, pc_depth_state *state, const pc_depth_part *parts, int count);
/* The measure of a frame from sums of its tiles. */
pcgpu_status pc_depth_measure_tiles(pcgpu_context *context, const pc_depth_frame *frame, const double *tile_sums,
                                    pc_depth_extra *extra);

PC_HD const float4 *pc_depth_pixels_of(const float *maps, const pc_depth_level *level) {
    return (const float4 *)(maps + level->at);
}

/* Adds up the lanes of a warp in the order of projective_math.h, all PC_ICP_SUMS sums at once: lane k returns sum k.
 * With each step half of the sums of a lane go to the lane across, which adds its own half. */
__device__ static inline double pc_depth_add_lanes(const float sums[PC_ICP_SUMS]) {
    const int lane = (int)threadIdx.x % 32;
    double wide[PC_ICP_SUMS / 2];
    bool upper = lane & 16;
#pragma unroll
    for (int k = 0; k < PC_ICP_SUMS / 2; k++) {
        const float given = upper ? sums[k] : sums[k + 16], kept = upper ? sums[k + 16] : sums[k];
        wide[k] = (double)kept + (double)__shfl_xor_sync(PC_ALL_LANES, given, 16);
    }
#pragma unroll
    for (int half = 8; half >= 1; half /= 2) {
        upper = lane & half;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            if (k < half) {
                const double given = upper ? wide[k] : wide[k + half], kept = upper ? wide[k + half] : wide[k];
                wide[k] = kept + __shfl_xor_sync(PC_ALL_LANES, given, half);
            }
        }
    }
    return wide[0];
}

extern "C" {
pcgpu_status pc_cuda_depth_frame(pcgpu_context *context, const struct pc_depth_image *image,
                                 struct pc_depth_frame *frame);
void pc_cuda_depth_free(pcgpu_context *context, struct pc_depth_frame *frame);
pcgpu_status pc_cuda_depth_register(pcgpu_context *context, struct pc_depth_frame *source,
                                    struct pc_depth_frame *target, struct pc_depth_optimizer *optimizer);
}

#endif
