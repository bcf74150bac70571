/* Shared by the tests of the file formats. */
#ifndef TEST_IO_H
#define TEST_IO_H

#include "unit.h"

typedef struct io_state {
    pcgpu_context *context;
    char log[4096]; /* the messages since the last read or write, joined */
} io_state;

extern io_state io;

/* Reads bytes as a file called "file"; it must succeed. */
void io_read_good(const char *format, const void *data, size_t size, pcgpu_cloud *cloud);
/* Reads bytes that must fail as FORMAT with `sentence` in the message. */
void io_read_bad(const char *format, const void *data, size_t size, const char *sentence);
/* Writes to memory; the caller frees it. */
void io_write(const char *format, const pcgpu_cloud *cloud, char **data, size_t *size);
/* Writes, and reads that again. The bytes are the caller's; data NULL: they are freed. */
void io_again(const char *format, const pcgpu_cloud *cloud, pcgpu_cloud *again, char **data);
/* Same rows, names and bits. */
void io_assert_same(const pcgpu_cloud *a, const pcgpu_cloud *b);
/* A cloud of pseudo-random columns: any float, small integers, coordinates. */
void io_make_cloud(int64_t rows, int columns, pcgpu_cloud *cloud);

/* Around each group of them. */
int io_set_up(void **state);
int io_tear_down(void **state);

#endif
