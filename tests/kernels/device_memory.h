/* Memory of a GPU and a stream, for tests of pcgpu_device.h that are written in C. Functions end the program when CUDA
 * fails. */
#ifndef DEVICE_MEMORY_H
#define DEVICE_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void *device_stream_open(void);
void device_stream_close(void *stream);
void device_stream_wait(void *stream);
void *device_take(size_t bytes);
void device_drop(void *memory);
/* Copies; `up` waits for nothing that runs. */
void device_up(void *device, const void *host, size_t bytes);
void device_down(void *host, const void *device, size_t bytes);
void device_fill(void *device, int byte, size_t bytes);
/* Records what `work` adds to the stream in a CUDA graph, and runs it `times`; without graphs (the emulator) it calls
 * `work` as often. Returns the milliseconds of one run on the device, 0 without graphs. */
float device_repeat(void *stream, int times, void (*work)(void *state), void *state);

#ifdef __cplusplus
}
#endif
#endif
