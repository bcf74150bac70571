/* What the fuzzers share. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Reads bytes as a file of a format and aborts when a promise of pcgpu.h is broken, whatever the bytes are. Returns 1
 * when they are a valid file. */
int fuzz_check_read(const char *format, const uint8_t *data, size_t size);

/* The same of a configuration file, for every command; 1 when it is valid for one of them. */
int fuzz_check_config(const uint8_t *data, size_t size);

/* A small valid file; the format of configurations is "yaml". */
typedef struct fuzz_seed {
    char format[8];
    char name[24];
    size_t size;
    uint8_t data[1024];
} fuzz_seed;

/* Makes the i-th seed; 0 past the last. */
int fuzz_make_seed(int i, fuzz_seed *seed);

#endif
