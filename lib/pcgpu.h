/* pcgpu: sampling, voxelization and registration of point clouds, with the same bytes from the CPU and from CUDA.
 *
 * The header goes from simple to advanced:
 *   1. status and context      pcgpu_open, pcgpu_close, pcgpu_last_error
 *   2. clouds, depth images    pcgpu_cloud, pcgpu_cloud_gather, pcgpu_cloud_transform, pcgpu_depth_to_cloud
 *   3. files                   pcgpu_read, pcgpu_write, pcgpu_write_arrays, pcgpu_read_depth, pcgpu_read_indices
 *   4. operations              pcgpu_sample, pcgpu_voxelize, pcgpu_register, pcgpu_volume_integrate
 *   5. what this build can do  pcgpu_version, pcgpu_devices, pcgpu_format_at
 *
 * Conventions
 *   - A function that can fail returns a pcgpu_status. pcgpu_last_error(context) returns the sentence for the user.
 *   - An output struct is overwritten, never read. On failure it is zeroed and owns nothing. After success, the _free
 *     function for its type releases what it owns. A _free function accepts a zeroed struct.
 *   - Lengths are metres, angles radians, times seconds. Matrices are row-major; T_target_source maps source
 *     coordinates into the target's frame: p_target = T_target_source * p_source.
 *   - One thread at a time uses a context. Contexts are independent of each other.
 *   - The library never prints, exits or reads the environment; messages go to the callback of the settings. */
#ifndef PCGPU_H
#define PCGPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "pcgpu_depth.h" /* pcgpu_depth, pcgpu_camera, pcgpu_depth_counts */
#include "pcgpu_file.h"  /* pcgpu_file_info */

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default) /* symbols of the shared library */

/* ---- 1. status and context ---------------------------------------------------------------------------------- */

typedef enum pcgpu_status {
    PCGPU_OK = 0,
    PCGPU_ERROR_ARGUMENT,    /* a parameter is out of its documented range */
    PCGPU_ERROR_MEMORY,      /* host or device memory is exhausted */
    PCGPU_ERROR_IO,          /* the system refused to read or write */
    PCGPU_ERROR_FORMAT,      /* the content of a file violates its format */
    PCGPU_ERROR_UNAVAILABLE, /* this machine or this build cannot use the requested back end */
    PCGPU_ERROR_DEVICE       /* a CUDA call failed while an operation ran */
} pcgpu_status;

const char *pcgpu_status_name(pcgpu_status status); /* a short constant name such as "out of memory"; never NULL */

typedef enum pcgpu_device {
    PCGPU_DEVICE_AUTO, /* CUDA when a device exists and the work repays its start-up, else the CPU */
    PCGPU_DEVICE_CPU,
    PCGPU_DEVICE_CUDA /* fail with PCGPU_ERROR_UNAVAILABLE rather than run elsewhere */
} pcgpu_device;

typedef enum pcgpu_log_level { PCGPU_LOG_WARNING, PCGPU_LOG_INFO } pcgpu_log_level;

/* The library calls it on the caller's thread with one line without a newline. `message` is valid during the call. */
typedef void (*pcgpu_log_fn)(void *user, pcgpu_log_level level, const char *message);

typedef struct pcgpu_settings {
    pcgpu_device device; /* default AUTO */
    int cuda_index;      /* CUDA ordinal, default 0 */
    int threads;         /* CPU threads; 0 (default) = all that the affinity mask and the quota of the control groups
                          * allow. Fewer run where the system refuses some. Results do not depend on the number */
    int calls, contexts; /* what AUTO compares, default 1: so many operations share the start-up of a device, and so
                          * many contexts share the processors, each with its own threads */
    int compression;     /* of .npz files: 0 (default) and 1 run lengths, 2 to 9 the levels of zlib, -1 none */
    pcgpu_log_fn log;    /* default NULL: silent */
    void *log_user;
} pcgpu_settings;

typedef struct pcgpu_context pcgpu_context;

void pcgpu_settings_init(pcgpu_settings *settings);

/* Opens a context. `settings` may be NULL (defaults). PCGPU_DEVICE_CUDA starts the device here; AUTO starts it at the
 * first operation that repays the start-up. *context is also set on failure, unless memory is exhausted, so that the
 * error can be read. Close it in both cases.
 * Errors: ARGUMENT, MEMORY, UNAVAILABLE. */
pcgpu_status pcgpu_open(const pcgpu_settings *settings, pcgpu_context **context);
void pcgpu_close(pcgpu_context *context); /* accepts NULL */
/* The CPU threads that the context uses at most, the caller's among them. */
int pcgpu_threads(const pcgpu_context *context);

/* The sentence that explains the last failure of a call with this context, or "". The context owns it; it is valid
 * until the next call. For NULL the sentence is "out of memory". */
const char *pcgpu_last_error(const pcgpu_context *context);

/* ---- 2. clouds ---------------------------------------------------------------------------------------------- */

enum {
    PCGPU_MAX_COLUMNS = 64,
    PCGPU_NAME_SIZE = 32, /* bytes of a column's name with its terminating NUL */
    PCGPU_MAX_STAGES = 8
};

/* The type of a column in its file. Values are float32 in memory; a writer that keeps types (.ply) restores the
 * type. */
typedef enum pcgpu_type {
    PCGPU_FLOAT32, PCGPU_FLOAT64,
    PCGPU_INT8, PCGPU_UINT8, PCGPU_INT16, PCGPU_UINT16, PCGPU_INT32, PCGPU_UINT32,
    PCGPU_FLOAT16 /* arrays only */
} pcgpu_type;

/* N points of F float32 columns, row-major; columns 0, 1, 2 are x, y, z in metres, relative to `offset`: a point's
 * coordinates are offset[k] + data[row * columns + k]. A reader sets a non-zero offset (whole metres) only where
 * float32 would lose precision, e.g. UTM. A caller may fill the struct with its own memory, and then does not call
 * pcgpu_cloud_free on it. */
typedef struct pcgpu_cloud {
    int64_t rows;
    int columns; /* 3 to PCGPU_MAX_COLUMNS */
    float *data; /* rows x columns */
    double offset[3];
    char names[PCGPU_MAX_COLUMNS][PCGPU_NAME_SIZE]; /* "x", "y", "z", "intensity", ...; unique, not empty */
    uint8_t types[PCGPU_MAX_COLUMNS];               /* pcgpu_type */
} pcgpu_cloud;

/* Allocates rows x columns uninitialized values; names x y z intensity, then c4, c5, ...; offset 0.
 * Errors: ARGUMENT (rows < 0 or columns out of range), MEMORY. */
pcgpu_status pcgpu_cloud_create(pcgpu_context *context, int64_t rows, int columns, pcgpu_cloud *cloud);
void pcgpu_cloud_free(pcgpu_cloud *cloud);

int pcgpu_cloud_column(const pcgpu_cloud *cloud, const char *name); /* the index of the column with this name, or -1 */

/* out = the `count` rows named by `indices` (each in 0..rows-1, repeats allowed), all columns, names and types kept.
 * Errors: ARGUMENT, MEMORY. */
pcgpu_status pcgpu_cloud_gather(pcgpu_context *context, const pcgpu_cloud *cloud, const int32_t *indices, int64_t count,
                                pcgpu_cloud *out);

/* out = the cloud with its points transformed by the 4x4 matrix T, in float64 and rounded once. The offset of `out` is
 * `offset`, or that of the cloud for NULL. Columns nx ny nz (or normal_x ...) are rotated; all others are copied.
 * Errors: MEMORY. */
pcgpu_status pcgpu_cloud_transform(pcgpu_context *context, const pcgpu_cloud *cloud, const double T[16],
                                   const double *offset, pcgpu_cloud *out);

/* Whether the 4x4 matrix T is a rigid transform. Its rotation must be orthonormal to 1e-3, since files hold few digits,
 * with a positive determinant; its translation must be finite; its last row must be 0 0 0 1. If a condition fails,
 * `why` receives a sentence (may be NULL). */
bool pcgpu_is_rigid(const double T[16], char *why, size_t why_size);

/* Converts a depth image to a cloud with the columns x y z in the camera frame: one record per pixel with a return, row
 * by row from the top, left to right. With d the depth of pixel (u, v): z = d / depth_scale, x = ((u - cx) / fx) * z, y
 * = ((v - cy) / fy) * z, in float64, each rounded once to float32; the limits are compared with the float64 z. `counts`
 * may be NULL. Errors: ARGUMENT (an invalid image or camera, or different sizes), MEMORY. */
pcgpu_status pcgpu_depth_to_cloud(pcgpu_context *context, const pcgpu_depth *depth, const pcgpu_camera *camera,
                                  pcgpu_cloud *cloud, pcgpu_depth_counts *counts);
/* Computes only the counts. */
pcgpu_status pcgpu_depth_count(pcgpu_context *context, const pcgpu_depth *depth, const pcgpu_camera *camera,
                               pcgpu_depth_counts *counts);

/* ---- 3. files ----------------------------------------------------------------------------------------------- */

/* Formats are known by names such as "bin" (KITTI, nuScenes: records of float32, no header), "ply" or, for arrays, "npz";
 * pcgpu_format_at lists them. When `format` is NULL, the extension of the file name selects the format (".pcd.bin" is
 * bin, "-" is bin); an unknown extension is an error. */
typedef struct pcgpu_format_info {
    const char *name;
    const char *extension;   /* ".ply" */
    const char *description; /* one line */
    bool reads, writes, writes_arrays;
    bool depth; /* a depth image: reading it as a cloud needs a camera */
    bool text;  /* written as text */
} pcgpu_format_info;

/* The i-th format, or NULL past the last. Constant storage. */
const pcgpu_format_info *pcgpu_format_at(int i);
/* The format of a file name, or NULL. "-" is bin. */
const pcgpu_format_info *pcgpu_format_of_path(const char *path);
const pcgpu_format_info *pcgpu_format_by_name(const char *name);
/* The format that pcgpu_read chooses for a file of this name that begins with these bytes (64 are enough): by them, else
 * by the name, and never bin for an unknown name. For NULL, `why` has a sentence with the remedy, which for an unsupported format names a converter. */
const pcgpu_format_info *pcgpu_format_of_input(const char *path, const void *head, size_t size, char *why,
                                               size_t why_size);

typedef struct pcgpu_read_options {
    const char *format; /* NULL: by the first bytes, else by the name; a stream without a file name is bin. "npz:NAME" is
                         * the array NAME of an .npz; without it, the only array, the only possible cloud, or points */
    int fields;         /* float32 columns of a .bin record, 3 to 16; 0 = 4 (KITTI) */
    const pcgpu_camera *camera;       /* of depth images; NULL: a depth image is an error */
    pcgpu_depth_counts *depth_counts; /* filled for a depth image; may be NULL */
    const pcgpu_format_info **found;  /* set to the format of the file, or of what gzip holds; may be NULL */
    pcgpu_file_info *file;            /* filled; may be NULL */
} pcgpu_read_options;

/* Reads one cloud from `stream`, which need not seek, up to its end. Messages and the choice of a format use `name`.
 * `options` may be NULL. A depth image becomes the cloud of pcgpu_depth_to_cloud; the number of pixels without a return
 * is logged. Errors: IO, FORMAT, MEMORY, ARGUMENT; the sentence names the file, the position and the remedy. */
pcgpu_status pcgpu_read(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_read_options *options,
                        pcgpu_cloud *cloud);
/* The same from a path. */
pcgpu_status pcgpu_read_file(pcgpu_context *context, const char *path, const pcgpu_read_options *options,
                             pcgpu_cloud *cloud);

/* Whether a cloud that was read from `format` (NULL: unknown) looks wrong, by a sample of its values: for "bin" another
 * number of columns fits better; coordinates are absurd (1e38), NaN in part, or millimetres. `why` receives a sentence
 * with the remedy. pcgpu_read logs it as a warning for "bin", which has no header. */
bool pcgpu_cloud_looks_wrong(const pcgpu_cloud *cloud, const char *format, char *why, size_t why_size);

/* Reads a depth image without a conversion. `format` is "png", "pgm" or NULL, as in pcgpu_read. Errors: as in
 * pcgpu_read. */
pcgpu_status pcgpu_read_depth(pcgpu_context *context, FILE *stream, const char *name, const char *format,
                              pcgpu_depth *depth);
/* The same, with a check of the image size against the camera of the options. Logs and counts the pixels as pcgpu_read
 * does. Errors also: ARGUMENT. */
pcgpu_status pcgpu_read_depth_for(pcgpu_context *context, FILE *stream, const char *name,
                                  const pcgpu_read_options *options, pcgpu_depth *depth);

/* Writes a cloud in `format` (a name; NULL: from `name`) to a stream that need not seek. The stream stays open; the
 * caller checks for errors when it flushes the stream. For a cloud with an offset, .ply, .pcd and .npy have float64
 * coordinates, and .bin logs a warning with the size of the rounding. Errors: IO, ARGUMENT, MEMORY. */
pcgpu_status pcgpu_write(pcgpu_context *context, FILE *stream, const char *name, const char *format,
                         const pcgpu_cloud *cloud);

/* A dense array for .npy, .npz and raw .bin files, row-major, little-endian. The caller owns `data`. */
typedef struct pcgpu_array {
    const char *name; /* the member's name in a .npz */
    pcgpu_type type;
    int dimensions; /* 1 to 4 */
    int64_t shape[4];
    const void *data;
} pcgpu_array;

/* Writes arrays to a stream that need not seek: "npz" takes any number of arrays; "npy" and "bin" take exactly one.
 * Errors: IO, ARGUMENT, MEMORY. */
pcgpu_status pcgpu_write_arrays(pcgpu_context *context, FILE *stream, const char *name, const char *format,
                                const pcgpu_array *arrays, int count);

/* Record indices read from a file, such as the seeds of sampling. */
typedef struct pcgpu_indices {
    int64_t count;
    int32_t *values; /* count, each 0 to 2^31-1, in the order of the file; repeats are kept */
} pcgpu_indices;

/* Reads record indices from `stream`, which need not seek, up to its end. The content is
 *   .npy  an array (N,) or (N, 1) of any integer type and byte order,
 *   text  one index per line in decimal digits; blanks around it are allowed, empty lines are not; or
 *   int32 little-endian without a header, as pcgpu_write_arrays writes an array as "bin".
 * Messages use `name` ("-" is standard input). The names NAME.npy and NAME.txt select the type of content. For another
 * name, content with the .npy signature is .npy, content of text characters only is text, and other content is int32.
 * An empty file that is not named .npy holds no indices. Errors: IO, MEMORY, FORMAT (a value out of range, or content
 * of no such type; the sentence names the position), ARGUMENT (NAME.npz, which is not supported). */
pcgpu_status pcgpu_read_indices(pcgpu_context *context, FILE *stream, const char *name, pcgpu_indices *indices);
void pcgpu_indices_free(pcgpu_indices *indices);

/* ---- 4. operations ------------------------------------------------------------------------------------------ */

/* How an operation ran; filled in every result. */
typedef struct pcgpu_run {
    char backend[8];    /* "cpu" or "cuda" */
    char device[64];    /* the processor's or the GPU's name */
    char reason[96];    /* why this back end was chosen */
    int threads;        /* CPU threads used */
    int64_t points_in;  /* records of the input(s) */
    int64_t non_finite; /* dropped: a coordinate is NaN or infinite */
    int64_t at_origin;  /* dropped: x = y = z = 0 in the file, with drop_origin */
    int64_t too_near;   /* dropped: nearer to the sensor than min_range of a registration */
    int64_t on_carrier; /* dropped: returns from the vehicle that carries the sensor, found by a registration */
    int stages;
    struct {
        char name[16];
        double seconds;
    } stage[PCGPU_MAX_STAGES];
} pcgpu_run;

/* Farthest point sampling (Gonzalez 1985; Eldar et al. 1997): the first pick is given; every further pick is the point
 * with the largest distance to the earlier picks, and the lowest index on ties. No point is picked twice.
 * Squared distances are (dx*dx + dy*dy) + dz*dz in float32. */
typedef enum pcgpu_sample_method {
    PCGPU_SAMPLE_FPS,
    PCGPU_SAMPLE_RANDOM /* uniform without replacement, in the order of the draws, which is the same on every platform.
                           Seeds are not drawn. When the seeds are the picks of a call with the same `seed`, the draws
                           continue the sequence of that call */
} pcgpu_sample_method;

typedef enum pcgpu_sample_start {
    PCGPU_START_FIRST,  /* the first usable record */
    PCGPU_START_INDEX,  /* the record `start_index` */
    PCGPU_START_CENTER, /* the point farthest from the centroid (float64 mean in index order, rounded to float32) */
    PCGPU_START_RANDOM  /* a random record, by `seed` */
} pcgpu_sample_start;

typedef struct pcgpu_sample_params {
    pcgpu_sample_method method;
    int64_t count;      /* number of picks, >= 1, without the seeds; 0 = not given */
    double ratio;       /* picks = max(1, floor(ratio * usable points)), in (0, 1]; 0 = not given */
    float min_distance; /* metres: stop when the next farthest point is nearer; 0 = not given. FPS only */
    pcgpu_sample_start start;
    int64_t start_index; /* of INDEX: a record of the input that is usable; else 0 */
    uint64_t seed;
    bool drop_origin;
    const int32_t *seeds; /* seed_count distinct usable records of the input, which count as picked before the first
                             pick. Farthest point sampling continues from them; `start` then keeps its initial value.
                             For one cloud */
    int64_t seed_count;   /* 0 = none */
    bool coverage;        /* measure the coverage for RANDOM too, which costs a pass of farthest point sampling */
    bool at_most;         /* count is an upper bound: of fewer usable points all are picked. Not on a device */
} pcgpu_sample_params;

typedef struct pcgpu_sampled {
    int64_t count;     /* 0 only with seeds, and a minimum distance or at_most */
    int32_t *indices;  /* count: records of the input, in pick order */
    float *distances;  /* count: distance in metres of each pick to the nearest seed or earlier pick, +inf for the first
                          pick without seeds; FPS only */
    float coverage;    /* metres: the largest distance of a usable point to its nearest seed or pick (covering radius);
                          NaN when it was not measured */
    pcgpu_run run;
} pcgpu_sampled;

void pcgpu_sample_params_init(pcgpu_sample_params *params);

/* Samples one cloud. Exactly one of count and ratio, or min_distance alone or with one of them as the upper bound.
 * Errors: ARGUMENT (count above the number of usable points that are not seeds without at_most, a start or seed that is not usable, a
 * repeated seed, more than 2^31-1 rows), MEMORY, DEVICE. */
pcgpu_status pcgpu_sample(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_sample_params *params,
                          pcgpu_sampled *result);

/* Samples several clouds with one call; CUDA samples them concurrently. results: `count` structs; all or none are
 * filled. Each equals the result of pcgpu_sample for its cloud, except for the times. */
pcgpu_status pcgpu_sample_batch(pcgpu_context *context, const pcgpu_cloud *const *clouds, int count,
                                const pcgpu_sample_params *params, pcgpu_sampled *results);
void pcgpu_sampled_free(pcgpu_sampled *result);

typedef enum pcgpu_features {
    PCGPU_FEATURES_MEAN,   /* V x F: mean of the kept points. With max_points: float32 sum in index order / count.
                              Without: the exact sum, rounded to float64, / count, rounded to float32; it does not
                              depend on the order, and |mean - exact mean m| <= (2^-24 + 2^-51) |m| + 2^-150. NaN and
                              infinities follow IEEE addition */
    PCGPU_FEATURES_POINTS, /* V x P x F: the kept points in index order, padded with zeros */
    PCGPU_FEATURES_PILLAR, /* V x P x 10: x y z r, x y z minus the mean of the kept points, x y z minus the pillar's
                              centre, padded with zeros (PointPillars, Lang et al. 2019); r = column 3, 0 without one */
    PCGPU_FEATURES_FIRST,  /* V x F: the voxel's first point */
    PCGPU_FEATURES_NEAREST /* V x F: the kept point nearest to the mean of the kept points, lowest index on ties */
} pcgpu_features;

/* Voxelization, first come first served, in float32: a point is in range when min <= p < max on each axis and its cell
 * c = floor((p - min) / size) satisfies 0 <= c < cells, cells = round((max - min) / size). Voxel ids follow the order
 * of the first points. A voxel keeps its first max_points points. Voxels beyond max_voxels are dropped with their
 * points. */
typedef struct pcgpu_voxelize_params {
    bool range_auto;    /* range = the cloud's own bounds, its lower corner at a multiple of the size */
    double range[6];    /* x0 y0 z0 x1 y1 z1, metres, in the coordinates of the file */
    double size[3];     /* metres, > 0 */
    int64_t max_points; /* P >= 1; 0 = no limit (for points and pillar P is then the largest count) */
    int64_t max_voxels; /* 0 = no limit */
    pcgpu_features features;
    bool drop_origin;
} pcgpu_voxelize_params;

typedef struct pcgpu_voxels {
    int64_t count;    /* V */
    int64_t capacity; /* P of points and pillar, else 1 */
    int columns;      /* values per feature row: F, or 10 for pillar */
    float *features;  /* V x columns, or V x P x columns; x y z relative to the cloud's offset */
    int32_t *coords;  /* V x 4: batch (0), z, y, x */
    int32_t *counts;  /* V: kept points */
    int32_t *point_voxel; /* input rows: the voxel that keeps the point, -1 = dropped */
    int32_t *selected;    /* V: the record chosen by first and nearest, else NULL */
    double range[6];      /* the range in effect */
    int32_t cells[3];     /* x, y, z */
    int64_t in_range, kept, out_of_range, over_points, over_voxels; /* in_range = kept + over_points + over_voxels */
    int64_t voxels_found; /* before max_voxels */
    int64_t largest;      /* most points in one voxel, before max_points */
    pcgpu_run run;
} pcgpu_voxels;

void pcgpu_voxelize_params_init(pcgpu_voxelize_params *params);

/* Errors: ARGUMENT (invalid size or range, more than 2^24 cells per axis or 2^62 in total), MEMORY, DEVICE. */
pcgpu_status pcgpu_voxelize(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_voxelize_params *params,
                            pcgpu_voxels *result);
void pcgpu_voxels_free(pcgpu_voxels *result);

/* ---- 5. what this build and machine can do ------------------------------------------------------------------ */

const char *pcgpu_version(void); /* "0.1.0" */
/* GPU architectures compiled in, e.g. "sm_75 sm_80 sm_90, PTX 90"; "" in a CPU-only build. */
const char *pcgpu_cuda_architectures(void);

typedef struct pcgpu_device_info {
    char name[64];
    int major, minor; /* compute capability */
    int multiprocessors;
    uint64_t memory; /* bytes */
} pcgpu_device_info;

/* Fills up to `capacity` entries and returns the number of CUDA devices. When the number is 0, `why` (may be NULL)
 * receives the reason as a sentence. `driver` (may be NULL) receives the driver's CUDA version, e.g. 13000, or 0. */
int pcgpu_devices(pcgpu_device_info *devices, int capacity, char *why, size_t why_size, int *driver);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#include "pcgpu_register.h"       /* pcgpu_register, pcgpu_register_pairs */
#include "pcgpu_register_depth.h" /* pcgpu_register_depth, pcgpu_frame */
#include "pcgpu_odometry.h"       /* pcgpu_odometry, pcgpu_trajectory_evaluate */
#include "pcgpu_volume.h"         /* pcgpu_volume, pcgpu_mesh */
#include "pcgpu_odometry_depth.h" /* pcgpu_depth_odometry */
#include "pcgpu_device.h"         /* pcgpu_sample_device: arrays in the memory of a GPU */
#include "pcgpu_pieces.h"         /* pcgpu_voxelize_pieces: files that are larger than the memory */
#endif
