/* Shared by the files of projective registration on the CPU: projective_cpu.c builds the maps of frames,
 * projective_cpu_sum.c takes sums. The arithmetic is in projective_math.h. */
#ifndef PC_CPU_DEPTH_H
#define PC_CPU_DEPTH_H

#include "simd.h"
#include "threads.h"
#include "projective_ops.h"
#include "projective_optimizer.h"

enum { PC_DEPTH_SPARES = 3 }; /* pooled maps of freed frames: fresh pages cost as much as computing the maps */

/* Depths of a level and 1 / depth, with a margin of none around them. */
typedef struct pc_depth_plane_pair {
    float *z, *inverse; /* of the first pixel */
    size_t pitch;
} pc_depth_plane_pair;

typedef struct pc_cpu_depth_state {
    pc_simd simd;
    pc_team *team; /* the context's */
    pc_buffer depths, sums;
    pc_buffer spare[PC_DEPTH_SPARES];
} pc_cpu_depth_state;

/* The state of a context, made at first; NULL when memory is short. */
pc_cpu_depth_state *pc_cpu_depth_take(pcgpu_context *context);

/* Memory for the maps of a frame, from the pool where possible. False when memory is short. */
bool pc_cpu_depth_take_maps(pc_cpu_depth_state *state, pc_depth_frame *frame);

/* What is added up over the tiles of a frame: PC_ICP_SUMS sums of PC_DEPTH_LANES lanes for each. */
typedef void pc_depth_tile_fn(const void *what, int tile_column, int tile_row, float *lanes);

/* The sums of all tiles, of `loads` rows, of a level in the order that projective_math.h says. False when memory is
 * short. */
bool pc_cpu_depth_add_up(pcgpu_context *context, const pc_depth_level *level, int loads, pc_depth_tile_fn *tile,
                         const void *what, double sums[PC_ICP_SUMS]);

/* Fills frame->measure. False when memory is short. */
bool pc_cpu_depth_measure(pcgpu_context *context, pc_depth_frame *frame);

/* A pass over a level of the source. */
typedef struct pc_depth_pass {
    bool scene;
    pc_depth_step step;
    pc_depth_level source, target;
    const float *from, *to;
} pc_depth_pass;

static inline float *pc_depth_pixels(const pc_depth_frame *frame, int level) {
    return frame->maps + frame->level[level].at;
}

/* Of pc_cpu_projective_ops. */
pcgpu_status pc_cpu_depth_frame(pcgpu_context *context, const struct pc_depth_image *image,
                                struct pc_depth_frame *frame);
void pc_cpu_depth_free(pcgpu_context *context, struct pc_depth_frame *frame);
pcgpu_status pc_cpu_depth_register(pcgpu_context *context, struct pc_depth_frame *source, struct pc_depth_frame *target,
                                   struct pc_depth_optimizer *optimizer);

#endif
