/* kernels: every back end against the plain reference, byte for byte. An operation is one file with one entry in the
 * table of kernels.c; clouds.c makes the inputs. */
#ifndef KERNELS_H
#define KERNELS_H

#include "../support/random.h"
#include "sample_ops.h"
#include "voxelize_ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- inputs -------------------------------------------------------------------------------------------------- */

float test_uniform(test_random *r, float low, float high);

/* The i-th kind of cloud, filled from the seed; false past the last. `rows` 0 = the kind's own size. */
bool make_cloud(int kind, uint64_t seed, int64_t rows, pcgpu_cloud *cloud, const char **name);
/* The kind with this name; exits when there is none. */
void make_cloud_named(const char *name, uint64_t seed, int64_t rows, pcgpu_cloud *cloud);

/* ---- what is under test -------------------------------------------------------------------------------------- */

enum { MAX_CONTEXTS = 4 };

typedef struct test_bed {
    pcgpu_context *context[MAX_CONTEXTS]; /* cpu with 1, 2 and 16 threads, or cuda */
    char label[MAX_CONTEXTS][24];
    int contexts;
    bool cuda, quick;
    uint64_t seed;
    int repeat;     /* runs of each case on each context */
    int clouds;     /* forms: at least so many, of the smallest ones; columns: just so many; 0 = all */
    int64_t points; /* large: of its cloud; 0 = 300,000,000 */
    bool padded;    /* large: padded features, too */
    int tables;     /* table: the last is large enough; 0 = 3 */
    int checks, failures;
} test_bed;

/* Counts a check; a false one is printed with the place it is about, a sentence. */
void expect(test_bed *bed, bool ok, const char *format, ...) __attribute__((format(printf, 3, 4)));

typedef struct operation {
    const char *name;
    void (*check)(test_bed *bed);
} operation;

extern const operation operation_sample, operation_columns, operation_forms, operation_voxelize, operation_neighbors,
    operation_normals, operation_boxes, operation_large, operation_table;

#endif
