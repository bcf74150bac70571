/* The table of formats, and what readers and writers share. A format is one file io_NAME.c with one entry in io.c. */
#ifndef PC_IO_H
#define PC_IO_H

#include "backend.h" /* pc_fail, pc_log */

typedef struct pc_format {
    pcgpu_format_info info;
    pcgpu_status (*read)(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_read_options *options,
                         pcgpu_cloud *cloud);
    pcgpu_status (*write)(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_cloud *cloud);
    pcgpu_status (*write_arrays)(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_array *arrays,
                                 int count);
} pc_format;

extern const pc_format pc_format_bin, pc_format_ply, pc_format_ply_ascii, pc_format_pcd, pc_format_npy, pc_format_npz;

#endif
