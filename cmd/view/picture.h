/* Pictures of results (--picture): panels side by side, drawn as pcgpu view draws, from the same viewpoint. */
#ifndef PICTURE_H
#define PICTURE_H

#include "job.h"
#include "scene.h"

enum { PICTURE_PANELS = 2 };

/* All zero but the job: empty. */
typedef struct picture {
    job *job;
    pc_scene panels[PICTURE_PANELS];
    pcgpu_status status; /* of the layers */
} picture;

bool picture_is_wanted(job *j);
/* Adds a layer with a name: a cloud, which must stay until the picture is finished, or voxels of the job's input. */
void picture_add_cloud(picture *p, int panel, const pcgpu_cloud *cloud, const char *name);
void picture_add_voxels(picture *p, int panel, const pcgpu_voxels *voxels, const char *name);
/* Draws the panels that have a layer, writes the picture and frees all. Returns an exit code and prints errors. */
int picture_finish(picture *p);

#endif
