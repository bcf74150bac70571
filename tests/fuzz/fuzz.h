/* What the fuzzers share. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(CONDITION)                                                                                                \
    do {                                                                                                               \
        if (!(CONDITION)) {                                                                                            \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #CONDITION);                                  \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* A file of this name in a folder of its own, the working folder from then on, which goes at the end. */
void fuzz_write_file(const char *name, const void *data, size_t size);
/* Nothing in it would steer a terminal. */
void fuzz_check_printable(const char *text);

/* A stream over bytes, also over none. */
FILE *fuzz_open(const uint8_t *data, size_t size);
/* The sentence of an error names the file and holds nothing that would steer a terminal. */
void fuzz_check_sentence(const char *error, const char *name);

/* Reads bytes as a file of a format, or as record indices for "indices", and aborts when a promise of pcgpu.h is
 * broken, whatever the bytes are. Returns 1 when they are a valid file. */
int fuzz_check_read(const char *format, const uint8_t *data, size_t size);
int fuzz_check_indices(const uint8_t *data, size_t size);
/* The faces of a mesh, "mesh" (.ply), "obj" or "glb". */
int fuzz_check_mesh(const char *format, const uint8_t *data, size_t size);
/* Of a depth image, "png" or "pgm". The checksums of a .png are put right first, or no mutation would get far. */
int fuzz_check_depth(const char *format, const uint8_t *data, size_t size);

/* The same of a configuration file, for every command; 1 when it is valid for one of them. */
int fuzz_check_config(const uint8_t *data, size_t size);

/* And of a configuration in Python. */
int fuzz_check_python(const uint8_t *data, size_t size);

/* And of a table in JSON. */
int fuzz_check_json(const uint8_t *data, size_t size);

/* And of files of poses, times or a calibration; 1 when it is one of them. */
int fuzz_check_poses(const uint8_t *data, size_t size);

/* And of files of cameras. */
int fuzz_check_camera(const uint8_t *data, size_t size);

/* And of an input of a command. Its bytes follow one that chooses the words: sets of a command follow each other from the first one, which
 * is searched from `from` on; -1: none. A set reads files of some formats. */
int fuzz_first_set(const char *command, int from);
bool fuzz_set_reads(int set, const char *format);
int fuzz_check_command(int set, const uint8_t *data, size_t size);

/* A small valid file; the format of configurations is "yaml", of poses "poses". */
typedef struct fuzz_seed {
    char format[8];
    char name[24];
    size_t size;
    uint8_t data[1024];
} fuzz_seed;

/* Makes the i-th seed; 0 past the last. */
int fuzz_make_seed(int i, fuzz_seed *seed);

#endif
