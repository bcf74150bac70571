/* pcgpu: sampling, voxelization and registration of point clouds, with the same bytes from the CPU and from CUDA.
 *
 * The header goes from simple to advanced:
 *   1. status and context      pcgpu_open, pcgpu_close, pcgpu_last_error
 *   2. clouds, depth images    pcgpu_cloud, pcgpu_cloud_gather, pcgpu_cloud_transform, pcgpu_depth_to_cloud
 *   3. files                   pcgpu_read, pcgpu_write, pcgpu_write_arrays, pcgpu_read_depth, pcgpu_read_indices
 *   4. what this build can do  pcgpu_version, pcgpu_devices, pcgpu_format_at
 * The operations are in headers of their own, which it includes at its end.
 *
 * Conventions
 *   - A function that can fail returns a pcgpu_status. pcgpu_last_error(context) returns the sentence for the user.
 *   - An output struct is overwritten, never read. On failure it is zeroed and owns nothing. After success, the _free
 *     function for its type releases what it owns. A _free function accepts a zeroed struct.
 *   - A struct of parameters, options or a camera is made by its _init, which also records the size that the caller was
 *     compiled with. A call with a struct of another version of the headers, or without _init, fails with ARGUMENT.
 *   - The other structs, such as results, hold no size. pcgpu_open compares the sum of their sizes, PCGPU_STRUCTS_SIZE,
 *     and fails with ARGUMENT for a caller that was compiled with the headers of another version.
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
    PCGPU_ERROR_DEVICE,      /* a CUDA call failed while an operation ran */
    PCGPU_ERROR_CANCELLED    /* the poll of the settings ended the operation */
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

/* Sampling, the search for neighbours and registration on the CPU call it on the caller's thread, every 50 ms or so.
 * True ends the operation with PCGPU_ERROR_CANCELLED; it must stay true until then. Other operations, and CUDA, run to
 * their end. */
typedef bool (*pcgpu_poll_fn)(void *user);

/* How sentences spell a parameter: max_distance, --max-distance. PYTHON differs from C in device='cpu'. */
typedef enum pcgpu_names { PCGPU_NAMES_C, PCGPU_NAMES_OPTIONS, PCGPU_NAMES_PYTHON } pcgpu_names;

typedef struct pcgpu_settings {
    size_t struct_size;  /* set by pcgpu_settings_init */
    pcgpu_device device; /* default AUTO */
    int cuda_index;      /* CUDA ordinal, default 0 */
    int threads;         /* CPU threads; 0 (default) = all that the affinity mask and the quota of the control groups
                          * allow. Fewer run where the system refuses some. Results do not depend on the number */
    int calls, contexts; /* what AUTO compares, default 1: so many operations share the start-up of a device, and so
                          * many contexts share the processors, each with its own threads */
    int compression;     /* of .npz files: 0 (default) and 1 run lengths, 2 to 9 the levels of zlib, -1 none */
    pcgpu_log_fn log;    /* default NULL: silent */
    void *log_user;
    pcgpu_poll_fn poll; /* default NULL: nothing ends an operation */
    void *poll_user;
    const char *scratch; /* folder of temporary files, for files in pieces; the caller's. NULL (default): /var/tmp */
    pcgpu_names names;   /* in errors and log lines, default C */
} pcgpu_settings;

typedef struct pcgpu_context pcgpu_context;

void pcgpu_settings_init_sized(pcgpu_settings *settings, size_t struct_size);
#define pcgpu_settings_init(settings) pcgpu_settings_init_sized(settings, sizeof *(settings))

/* Opens a context. `settings` may be NULL (defaults). PCGPU_DEVICE_CUDA starts the device here; AUTO starts it at the
 * first operation that repays the start-up. *context is also set on failure, unless memory is exhausted, so that the
 * error can be read. Close it in both cases.
 * Errors: ARGUMENT, MEMORY, UNAVAILABLE.
 *
 *     pcgpu_status pcgpu_open(const pcgpu_settings *settings, pcgpu_context **context); */
#define pcgpu_open(...) pcgpu_open_sized(__VA_ARGS__, PCGPU_STRUCTS_SIZE)
pcgpu_status pcgpu_open_sized(const pcgpu_settings *settings, pcgpu_context **context, size_t structs_size);
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
    PCGPU_FLOAT32,
    PCGPU_FLOAT64,
    PCGPU_INT8,
    PCGPU_UINT8,
    PCGPU_INT16,
    PCGPU_UINT16,
    PCGPU_INT32,
    PCGPU_UINT32,
    PCGPU_FLOAT16, /* this and the next: arrays only */
    PCGPU_INT64,
    PCGPU_REMAINDER = PCGPU_INT64 + 2 /* of clouds: what float32 leaves of the values of the column before it */
} pcgpu_type;

/* N points of F float32 columns, row-major; columns 0, 1, 2 are x, y, z in metres. A value is offset[k] + data[row *
 * columns + k]. A reader sets a non-zero offset only where float32 would lose precision: whole metres for coordinates
 * such as UTM, the first value for times such as those since 1970. A caller may fill the struct with its own memory,
 * and then does not call pcgpu_cloud_free on it. */
typedef struct pcgpu_cloud {
    int64_t rows;
    int columns; /* 3 to PCGPU_MAX_COLUMNS */
    float *data; /* rows x columns */
    double offset[PCGPU_MAX_COLUMNS];
    char names[PCGPU_MAX_COLUMNS][PCGPU_NAME_SIZE]; /* "x", "y", "z", "intensity", ...; unique, not empty */
    uint8_t types[PCGPU_MAX_COLUMNS];               /* pcgpu_type */
    int64_t width;                                  /* of an organized cloud, rows = width x height; 0: not organized */
    struct pcgpu_header
        *header; /* what else the file holds that a writer of its format restores, shared by clouds; or NULL */
} pcgpu_cloud;

/* Allocates rows x columns uninitialized values; names x y z intensity, then c4, c5, ...; offset 0.
 * Errors: ARGUMENT (rows < 0 or columns out of range), MEMORY. */
pcgpu_status pcgpu_cloud_create(pcgpu_context *context, int64_t rows, int columns, pcgpu_cloud *cloud);
void pcgpu_cloud_free(pcgpu_cloud *cloud);

/* The index of the column with this name, else of the first one with this name in another case, or -1. */
int pcgpu_cloud_column(const pcgpu_cloud *cloud, const char *name);

/* Whether a column, which may be one past the last, holds what float32 leaves of the values of the column before it:
 * PCGPU_EXACT_TIMES. Writers add it to that column, whose type is PCGPU_FLOAT64. */
bool pcgpu_column_is_remainder(const pcgpu_cloud *cloud, int column);

/* Whether a cloud without a column of this name means a value, as .las files have it: 1 for number_of_returns, 0 for
 * flags such as withheld, user_data and more. */
bool pcgpu_column_default(const char *name, float *value);

/* The axis of the coordinates that points up: "x", "y", "z", "-x", "-y" or "-z", which .ply keeps in a comment and .glb
 * in its node; NULL: not known. The second also sets it for the clouds that share the header, and returns false for
 * another name and without memory. */
const char *pcgpu_cloud_up(const pcgpu_cloud *cloud);
bool pcgpu_cloud_set_up(pcgpu_cloud *cloud, const char *up);

/* Gives `out` the header of clouds that are its parts, which is that of the first if all have one coordinate system.
 * Returns what is left out, for a message, or NULL. */
const char *pcgpu_cloud_take_header(pcgpu_cloud *out, const pcgpu_cloud *clouds, int count);

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
/* The angle of the rotation of T, radians, 0 to pi; with the same bits on every machine. */
double pcgpu_rotation_angle(const double T[16]);

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

/* Formats are known by names such as "bin" (KITTI, nuScenes: records of float32, no header), "ply" or, for arrays,
 * "npz"; pcgpu_format_at lists them. When `format` is NULL, the extension of the file name selects the format
 * (".pcd.bin" is bin, "-" is bin); an unknown extension is an error. */
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
/* The format that pcgpu_read chooses for a file of this name that begins with these bytes (64 are enough): by them,
 * else by the name, and never bin for an unknown name. For NULL, `why` has a sentence with the remedy, which for an
 * unsupported format names a converter. */
const pcgpu_format_info *pcgpu_format_of_input(const char *path, const void *head, size_t size, char *why,
                                               size_t why_size);

#define PCGPU_LIKELY_FIELDS (-1)

/* Times that a float32 and an offset do not hold get a second column of what is left, which writers add to them; all
 * that a .las holds of its points, such as number_of_returns, where it says something; the header of the cloud. What is
 * not wanted or not possible is logged in a line "left out: ...". */
enum { PCGPU_EXACT_TIMES = 1, PCGPU_ALL_COLUMNS = 2, PCGPU_KEEP_HEADER = 4 };

typedef struct pcgpu_read_options {
    size_t struct_size; /* set by pcgpu_read_options_init */
    const char
        *format; /* NULL: by the first bytes, else by the name; a stream without a file name is bin. "npz:NAME" is
                  * the array NAME of an .npz; without it, the only array, the only possible cloud, or points */
    int fields;  /* float32 columns of a .bin record, 3 to 16; 0 = 4 (KITTI), or 5 for .pcd.bin (nuScenes);
                  * PCGPU_LIKELY_FIELDS = the number that fits the values best */
    const pcgpu_camera *camera;       /* of depth images; NULL: a depth image is an error */
    pcgpu_depth_counts *depth_counts; /* filled for a depth image; may be NULL */
    const pcgpu_format_info **found;  /* set to the format of the file, or of what gzip holds; may be NULL */
    pcgpu_file_info *file;            /* filled; may be NULL */
    bool force;                       /* values of a .bin that no sensor gives are a warning, as with `fields` */
    unsigned complete;                /* of a cloud that is written again: PCGPU_EXACT_TIMES | ..., or 0 */
} pcgpu_read_options;

void pcgpu_read_options_init_sized(pcgpu_read_options *options, size_t struct_size);
#define pcgpu_read_options_init(options) pcgpu_read_options_init_sized(options, sizeof *(options))

/* Reads one cloud from `stream`, which need not seek, up to its end. Messages and the choice of a format use `name`.
 * `options` may be NULL. A depth image becomes the cloud of pcgpu_depth_to_cloud; the number of pixels without a return
 * is logged. Errors: IO, FORMAT, MEMORY, ARGUMENT; the sentence names the file, the position and the remedy. */
pcgpu_status pcgpu_read(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_read_options *options,
                        pcgpu_cloud *cloud);
/* The same from a path. */
pcgpu_status pcgpu_read_file(pcgpu_context *context, const char *path, const pcgpu_read_options *options,
                             pcgpu_cloud *cloud);

/* Whether a cloud that was read from `format` (NULL: unknown) looks wrong, by a sample of its values: for "bin" another
 * number of columns fits better; coordinates are absurd (1e38), NaN in part, or millimetres; depths beyond 1 km. `why`
 * receives a sentence with the remedy. For "bin", which has no header, pcgpu_read logs it as a warning; but another
 * number of columns is an error (FORMAT) unless the options give one. */
bool pcgpu_cloud_looks_wrong(const pcgpu_cloud *cloud, const char *format, char *why, size_t why_size);

/* Reads a depth image without a conversion. `format` is "png", "pgm" or NULL, as in pcgpu_read. Errors: as in
 * pcgpu_read. */
pcgpu_status pcgpu_read_depth(pcgpu_context *context, FILE *stream, const char *name, const char *format,
                              pcgpu_depth *depth);
/* Reads the colour image that is registered to a depth image, pixel by pixel, into depth->color: a .png of any kind, as
 * 8-bit red, green and blue. Errors: as in pcgpu_read; FORMAT also for another size and for a JPEG. */
pcgpu_status pcgpu_read_color(pcgpu_context *context, FILE *stream, const char *name, pcgpu_depth *depth);
/* pcgpu_read_depth, with a check of the image size against the camera of the options. Logs and counts the pixels as
 * pcgpu_read does. Errors also: ARGUMENT. */
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

/* ---- 4. what this build and machine can do ------------------------------------------------------------------ */

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

/* Parts of this header, which need no extern "C" and visibility of their own. */
#include "pcgpu_sample.h"         /* pcgpu_sample, pcgpu_sample_batch */
#include "pcgpu_neighbors.h"      /* pcgpu_neighbors */
#include "pcgpu_filter.h"         /* pcgpu_find_outliers, ..., pcgpu_find_ground, pcgpu_points_in_boxes */
#include "pcgpu_voxelize.h"       /* pcgpu_voxelize */
#include "pcgpu_register.h"       /* pcgpu_register, pcgpu_register_pairs */
#include "pcgpu_register_depth.h" /* pcgpu_register_depth, pcgpu_frame */
#include "pcgpu_odometry.h"       /* pcgpu_odometry, pcgpu_trajectory_evaluate */
#include "pcgpu_loops.h"          /* pcgpu_loops, pcgpu_pose_graph_solve */
#include "pcgpu_volume.h"         /* pcgpu_volume, pcgpu_mesh */
#include "pcgpu_odometry_depth.h" /* pcgpu_depth_odometry */
#include "pcgpu_map.h"            /* pcgpu_map */
#include "pcgpu_device.h"         /* pcgpu_sample_device: arrays in the memory of a GPU */
#include "pcgpu_pieces.h"         /* pcgpu_voxelize_pieces: files that are larger than the memory */

/* The sizes of all structs without a struct_size; see the conventions. */
enum {
    PCGPU_STRUCTS_SIZE =
        sizeof(pcgpu_anchor_result) + sizeof(pcgpu_position) + sizeof(pcgpu_array) + sizeof(pcgpu_cloud) +
        sizeof(pcgpu_depth) + sizeof(pcgpu_depth_counts) + sizeof(pcgpu_clouds) + sizeof(pcgpu_device_info) +
        sizeof(pcgpu_device_picks) + sizeof(pcgpu_device_voxels) + sizeof(pcgpu_evaluation) + sizeof(pcgpu_file_info) +
        sizeof(pcgpu_format_info) + sizeof(pcgpu_indices) + sizeof(pcgpu_loop) + sizeof(pcgpu_loops_result) +
        sizeof(pcgpu_map_stats) + sizeof(pcgpu_mesh) + sizeof(pcgpu_neighbor_lists) + sizeof(pcgpu_odometry_frame) +
        sizeof(pcgpu_outliers) + sizeof(pcgpu_pair) + sizeof(pcgpu_pose_edge) + sizeof(pcgpu_pose_graph_result) +
        sizeof(pcgpu_registration) + sizeof(pcgpu_run) + sizeof(pcgpu_sampled) + sizeof(pcgpu_segment_error) +
        sizeof(pcgpu_set) + sizeof(pcgpu_set_cloud) + sizeof(pcgpu_set_link) + sizeof(pcgpu_volume_counts) +
        sizeof(pcgpu_volume_stats) + sizeof(pcgpu_voxels)
};

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
