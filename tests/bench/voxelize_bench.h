/* bench_voxelize: voxelization on the GPU beside its floor and beside the algorithm of the field. voxelize.c says which
 * clouds and prints the tables, voxelize_clouds.c makes the clouds, voxelize_measure.c runs the programs, and
 * voxelize_check.c compares what they return with the CPU. */
#ifndef VOXELIZE_BENCH_H
#define VOXELIZE_BENCH_H

#include "bench.h"
#include "kernels.h"

enum { OURS, TWO_PASS, PROGRAMS };

typedef struct bench {
    pcgpu_context *cuda, *cpu;
    bool quick, tiny;
    double copy_rate, launch_us; /* device_floor.h */
    size_t cold_bytes;           /* to write so that the caches hold nothing of a job */
} bench;

/* ---- clouds: the caller frees them; a failure ends the program ------------------------------------------------ */

/* A number of points, or a thousandth of it or so with --tiny. */
int64_t cloud_points(const bench *b, int64_t points);
/* A file under the data's folder; false, and says so, when it is not there. */
bool cloud_file(const bench *b, const char *name, int fields, pcgpu_cloud *cloud);
/* One sweep of tests/scene's LiDAR in its street. */
void cloud_scan(const bench *b, int64_t points, pcgpu_cloud *cloud);
/* What the LiDAR collects on its way along the street, in one frame: 40 places 1 m apart, and at each of them one sweep
 * again and again with new noise. */
void cloud_map(const bench *b, int64_t points, pcgpu_cloud *cloud);
/* 100 m x 100 m x 10 m around the sensor, everywhere alike. */
void cloud_uniform(const bench *b, int64_t points, pcgpu_cloud *cloud);
/* All points in one voxel, of every size that is measured. */
void cloud_one_voxel(const bench *b, int64_t points, pcgpu_cloud *cloud);
/* Whether this machine and its GPU have the memory to measure so many points. */
bool cloud_fits(const bench *b, int64_t points);

/* ---- jobs ------------------------------------------------------------------------------------------------------ */

typedef enum outputs {
    ARRAY_AND_MEANS, /* V x P x F points and V x F means, in one run */
    ARRAY,
    MEANS,
    PILLARS /* V x P x 10 */
} outputs;

typedef struct grid_case {
    const char *name;
    pcgpu_voxelize_params params; /* but for the features */
} grid_case;

/* What a row of the tables says. */
typedef struct table_row {
    double bytes;                           /* of the input, read once, and of the outputs, written once */
    double us[PROGRAMS], cold_us[PROGRAMS]; /* NAN where it failed */
} table_row;

/* Runs both programs and checks all they return; what is wrong is printed and counted. */
table_row measure(bench *b, const char *cloud_name, const pcgpu_cloud *cloud, const grid_case *grid, outputs wanted);

/* ---- checks ---------------------------------------------------------------------------------------------------- */

typedef struct answer {
    pcgpu_voxels voxels;
    float *means; /* of ARRAY_AND_MEANS, else NULL */
} answer;

typedef struct cell_place {
    int64_t key, voxel;
} cell_place;

/* What the CPU says of a job. */
typedef struct expected {
    pc_voxelize_job job;
    pcgpu_voxels exact;       /* the job's result */
    pcgpu_voxels exact_means; /* of ARRAY_AND_MEANS; else empty */
    pcgpu_voxels all;         /* without the limit of voxels; POINTS where points are limited, else MEAN */
    cell_place *order;        /* voxels of `all` by cell */
    double largest[16];       /* absolute value of each column */
} expected;

/* Returns the first thing that differs in a byte from what the CPU says, or NULL. */
const char *check_bytes(const expected *e, const answer *got);
/* The same for results in any order, whose voxels and points are any that the limits allow: a sentence, or NULL. Means
 * are compared up to the rounding of their sums. */
const char *check_sets(const expected *e, const answer *got);
/* Sorts the voxels of a result by cell; the caller frees. */
cell_place *sort_by_cell(const pc_grid *grid, const pcgpu_voxels *voxels);

#endif
