/* Shared by the tests of the file formats. */
#ifndef TEST_IO_H
#define TEST_IO_H

#include "unit.h"

typedef struct io_state {
    pcgpu_context *context;
    char log[4096]; /* the messages since the last read or write, joined */
} io_state;

/* Reads bytes as a file called "file". */
pcgpu_status io_read(io_state *s, const char *format, const void *data, size_t size, pcgpu_cloud *cloud);
/* The same, and it must succeed. */
void io_read_good(io_state *s, const char *format, const void *data, size_t size, pcgpu_cloud *cloud);
/* Reads bytes that must fail as FORMAT with `sentence` in the message. */
void io_read_bad(io_state *s, const char *format, const void *data, size_t size, const char *sentence);
/* Writes to memory; the caller frees it. */
void io_write(io_state *s, const char *format, const pcgpu_cloud *cloud, char **data, size_t *size);
/* Same rows, names and bits. */
void io_assert_same(const pcgpu_cloud *a, const pcgpu_cloud *b);
/* A cloud of pseudo-random columns: any float, small integers, coordinates. */
void io_make_cloud(io_state *s, int64_t rows, int columns, pcgpu_cloud *cloud);
void io_skip_without(const char *path);
const char *io_data(const char *file); /* path of a file of $PCGPU_DATA */

/* Around each group of them. */
int io_set_up(void **state);
int io_tear_down(void **state);

#endif
