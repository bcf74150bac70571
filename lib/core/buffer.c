/* The growing buffer. */
#include "buffer.h"

#include <stdlib.h>

void *pc_buffer_take(pc_buffer *buffer, size_t bytes, bool keep) {
    if (bytes > buffer->bytes) {
        size_t size = bytes + bytes / 4;
        void *memory = keep ? realloc(buffer->memory, size) : malloc(size);
        if (!memory) {
            return NULL;
        }
        if (!keep) {
            free(buffer->memory);
        }
        *buffer = (pc_buffer){memory, size};
    }
    return buffer->memory;
}

void pc_buffer_free(pc_buffer *buffer) {
    free(buffer->memory);
    *buffer = (pc_buffer){0};
}
