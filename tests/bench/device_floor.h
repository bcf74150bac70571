/* What no program on the device can be faster than, as far as a program can measure it. */
#ifndef DEVICE_FLOOR_H
#define DEVICE_FLOOR_H

#include "backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes a second, those read and those written, of a kernel that copies `bytes` from one place in device memory to
 * another; median of several runs. */
pcgpu_status device_copy_rate(pcgpu_context *context, size_t bytes, double *rate);

/* Microseconds of a kernel that does nothing, between two events; median of several runs. */
pcgpu_status device_launch_time(pcgpu_context *context, double *microseconds);

#ifdef __cplusplus
}
#endif
#endif
