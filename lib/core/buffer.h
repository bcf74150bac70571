/* The growing buffer: memory that is reused and never shrinks, since a fresh page costs more than the work on it. */
#ifndef PC_BUFFER_H
#define PC_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All zero: empty. */
typedef struct pc_buffer {
    void *memory;
    size_t bytes;
} pc_buffer;

/* Grows the buffer to at least `bytes`; `keep` preserves its contents. NULL when memory is short, and the buffer is
 * unchanged. */
void *pc_buffer_take(pc_buffer *buffer, size_t bytes, bool keep);
void pc_buffer_free(pc_buffer *buffer);

#ifdef __cplusplus
}
#endif
#endif
