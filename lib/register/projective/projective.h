/* Projective registration: shared with volumes that frames are registered to. */
#ifndef PC_REGISTER_DEPTH_H
#define PC_REGISTER_DEPTH_H

#include "backend.h"
#include "projective_ops.h"
#include "projective_optimizer.h"

struct pcgpu_frame {
    pc_depth_frame maps;
    const pc_backend *backend;
    pcgpu_run run; /* how the back end was chosen */
};

/* The back end for so many frames that have so many pixels together. */
pcgpu_status pc_frame_choose(pcgpu_context *context, double pixels, int frames, pcgpu_run *run,
                             const pc_backend **backend);

/* A frame of a depth image that fits the camera, on a back end. */
pcgpu_status pc_frame_of_depth(pcgpu_context *context, const pc_backend *backend, const pcgpu_depth *depth,
                               const pcgpu_camera *camera, const pcgpu_register_depth_params *params,
                               pcgpu_frame **frame);

/* A frame made of maps, such as a model that was ray-cast: what pcgpu_frame_create makes of a depth image. The maps'
 * pointers are the host's, or with on_device those of the back end: on CUDA they are read in the context's stream,
 * where they are to be written, too. */
pcgpu_status pc_frame_of_maps(pcgpu_context *context, const pc_backend *backend, const pc_maps *maps, bool on_device,
                              const pcgpu_camera *camera, int levels, pcgpu_frame **frame);

/* Registers frames that are on one back end; result->run is filled but for the stages. With report_maps the frames are
 * new and the time to build them is reported. */
pcgpu_status pc_register_frames(pcgpu_context *context, pcgpu_frame *source, pcgpu_frame *target,
                                const pcgpu_register_depth_params *params, bool report_maps,
                                pcgpu_registration *result);

/* Checks parameters. */
pcgpu_status pc_register_depth_check(pcgpu_context *context, const pcgpu_register_depth_params *params);

#endif
