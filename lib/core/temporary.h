/* Memory in temporary files, for data that may be larger than the memory: the system writes their pages to the disk
 * when it needs the memory. The files have no names, so nothing remains of them, whatever ends the program. */
#ifndef PC_TEMPORARY_H
#define PC_TEMPORARY_H

#include "error.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *memory = `bytes` with undefined values: from the heap up to `most` bytes, else in a temporary file in the folder of
 * the context's settings, where the blocks of the disk are reserved. Free it with pc_release. Errors: MEMORY, IO;
 * *memory is NULL then. */
pcgpu_status pc_allocate(pcgpu_context *context, uint64_t bytes, uint64_t most, void **memory);
/* Frees memory of the heap or of a temporary file; accepts NULL. */
void pc_release(void *memory);

/* From now on filters have as many points at a time as `bytes` of memory hold, and arrays with an element per record in
 * temporary files. 0: no limit. */
void pc_limit_memory(pcgpu_context *context, size_t bytes);

/* Data that is written in order, and is memory in the end. All zero: empty. */
typedef struct pc_spool {
    int file; /* 1 + its descriptor */
    uint64_t bytes;
} pc_spool;

/* Errors: IO. */
pcgpu_status pc_spool_add(pcgpu_context *context, pc_spool *spool, const void *data, size_t bytes);
/* *memory = the data, to be freed with pc_release; the spool is empty then. Errors: MEMORY. */
pcgpu_status pc_spool_take(pcgpu_context *context, pc_spool *spool, void **memory);
void pc_spool_close(pc_spool *spool);

#ifdef __cplusplus
}
#endif
#endif
