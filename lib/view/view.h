/* Pictures of scenes, drawn on the CPU. The same bytes on every run, machine and number of threads: float32 with + - *
 * / and sqrt, and a fragment that wins by depth, layer and colour rather than by time. */
#ifndef PC_VIEW_H
#define PC_VIEW_H

#include "scene.h"

typedef enum pc_from { PC_FROM_AUTO, PC_FROM_ISO, PC_FROM_TOP, PC_FROM_SIDE, PC_FROM_FRONT, PC_FROM_SENSOR } pc_from;

enum { PC_PICTURE_SIDE = 16384, PC_PICTURE_PIXELS = 1 << 26 };

typedef struct pc_view {
    int width, height; /* 1 to PC_PICTURE_SIDE each, at most PC_PICTURE_PIXELS together */
    pc_from from;      /* AUTO: ISO, or the pixels of a depth image */
    double point_size; /* pixels; 0: by the density of the points */
    bool plain;        /* no names, legend and scale bar */
} pc_view;

typedef struct pc_picture {
    int width, height;
    uint8_t *rgb;            /* height x width x 3 */
    double metres_per_pixel; /* at the middle of a perspective; 0: no one scale */
    pc_from from;            /* never AUTO */
} pc_picture;

/* Draws a scene that has been painted. Errors: MEMORY, FORMAT (no layer has a usable point). */
pcgpu_status pc_render(pcgpu_context *context, const pc_scene *scene, const pc_view *view, pc_picture *picture);
void pc_picture_free(pc_picture *picture);
/* view_png.c. Errors: IO, MEMORY. */
pcgpu_status pc_picture_write(pcgpu_context *context, FILE *stream, const char *name, const pc_picture *picture);
/* view_files.c. Read into an empty layer; on failure nothing is to be freed. A .ply without faces is a cloud. */
pcgpu_status pc_layer_read_mesh(pcgpu_context *context, FILE *stream, const char *name, pc_layer *layer);
/* The archive of pcgpu voxelize: boxes, with a column count. `voxels`: whether it is one; else the layer stays empty.
 * `size` and `low` are the size of a voxel and the lower corner of the range, NULL: from the features. */
pcgpu_status pc_layer_read_voxels(pcgpu_context *context, FILE *stream, const char *name, const double *size,
                                  const double *low, bool *voxels, pc_layer *layer);
/* 115384 as "115,384", and "115,384 points" of a layer, for people. */
void pc_with_commas(int64_t n, char *out, size_t size);
void pc_layer_caption(const pc_layer *layer, char *out, size_t size);

#endif
