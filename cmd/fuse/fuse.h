/* The model of depth images as an output of pcgpu fuse and of pcgpu odometry. */
#ifndef FUSE_H
#define FUSE_H

#include "job.h"

/* A model, and the job that writes it. */
typedef struct fusion {
    session *session;
    job *job;
    pcgpu_volume *volume;
    int64_t fused, skipped, unreachable;
} fusion;

/* Reads an input and integrates it with this pose. Returns an exit code. */
int fuse_image(fusion *f, int index, const double T[16]);
/* Writes --output and --mesh and reports the model. Returns an exit code. */
int fuse_write_model(fusion *f);

#endif
