/* Registration of scans through range images: a part of pcgpu.h, which includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_REGISTER_RANGE_H
#define PCGPU_REGISTER_RANGE_H

#ifdef __cplusplus
extern "C" {
#endif

/* The image that a scan becomes by spherical projection about its origin, where the scanner stands with z up: columns
 * are azimuths around the full circle, rows elevations from the top; the nearest point of a pixel is taken. */
typedef struct pcgpu_range_image {
    int rows;    /* up to PCGPU_RANGE_ROWS, not more than the scanner has lasers; 0 (default) = 64, 32 or 16, the most
                    that the points fill */
    int columns; /* a multiple of PCGPU_RANGE_COLUMNS, up to PCGPU_DEPTH_SIDE; 0 (default) = 128 to 1024, a power of
                    two for which each pixel can have a point */
    double low,
        high; /* edges in degrees above the horizon, -90 to 90, PCGPU_RANGE_VIEW apart or more; NaN (default) = what
                 holds all but one in a thousand of the scan's points on each side, those on the vehicle left out */
} pcgpu_range_image;

enum { PCGPU_RANGE_ROWS = 1024, PCGPU_RANGE_COLUMNS = 32 };
#define PCGPU_RANGE_VIEW 1e-3

void pcgpu_range_image_init(pcgpu_range_image *image);

/* The defaults of pcgpu_register_depth_params for scans: 3 levels of 15, 15 and 30 iterations, max_distance 2, epsilons
 * of 1e-4 m and 1e-5 rad, min_score 0.2. `bilateral` is not used. */
void pcgpu_register_range_params_init(pcgpu_register_depth_params *params);

/* Registers scans by projective association: as pcgpu_register_depth registers depth images; see RANGE IMAGES of
 * pcgpu-register(1). Points that are not finite and those at the origin are left out and counted in result->run; the
 * rest of the result is as there. A level halves the columns, and is left out where that gives no multiple of 32.
 * Errors: ARGUMENT, MEMORY, DEVICE. */
pcgpu_status pcgpu_register_range(pcgpu_context *context, const pcgpu_cloud *source, const pcgpu_cloud *target,
                                  const pcgpu_range_image *image, const pcgpu_register_depth_params *params,
                                  pcgpu_registration *result);

/* A scan that is ready to be registered, by pcgpu_register_frames and with others of its kind, as source or as target,
 * any number of times. Of the parameters `levels` is used. Errors: as above. */
pcgpu_status pcgpu_frame_create_range(pcgpu_context *context, const pcgpu_cloud *scan, const pcgpu_range_image *image,
                                      const pcgpu_register_depth_params *params, pcgpu_frame **frame);

#ifdef __cplusplus
}
#endif
#endif
