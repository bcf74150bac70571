/* Pictures of results (--picture): panels side by side, drawn as pcgpu view draws, from the same viewpoint. */
#ifndef PICTURE_H
#define PICTURE_H

#include "job.h"
#include "scene.h"

enum { PICTURE_PANELS = 2 };

/* All zero but the job: empty, and drawn as pcgpu view does by default. */
typedef struct picture {
    job *job;
    pc_scene panels[PICTURE_PANELS];
    pcgpu_status status; /* of the layers */
    bool map;            /* from above, and larger */
    pc_up up;            /* AUTO: what fits the layers */
    double look[3];      /* the direction of the view that is wanted; 0: any */
    const char *color;   /* a column of metres that layers are painted by; NULL: what fits them */
} picture;

bool picture_is_wanted(job *j);
/* Adds a layer with a name: a cloud, which must stay until the picture is finished, or, to the first panel, voxels of
 * the job's input. */
void picture_add_cloud(picture *p, int panel, const pcgpu_cloud *cloud, const char *name);
void picture_add_voxels(picture *p, const pcgpu_voxels *voxels, const char *name);
/* Any other layer, which the picture takes over. */
void picture_add_layer(picture *p, int panel, pc_layer *layer, const char *name);
/* To the first panel, a line through the positions of poses, 4x4 each, that are not NaN; as `values`, unless NULL, with
 * a column `color`. */
void picture_add_path(picture *p, const double *poses, int64_t count, const double *values, const char *name);
/* The direction of an axis of a sensor in the world, as the sum over its poses that are not NaN. */
void picture_axis(const double *poses, int64_t count, int axis, double sum[3]);
/* The axis of the world that is nearest to `sign` times a direction. */
pc_up picture_up(const double direction[3], double sign);
/* Draws the panels that have a layer, writes the picture and frees all. Returns an exit code and prints errors. */
int picture_finish(picture *p);

#endif
