/* The model that depth images are fused into, as an output: of pcgpu fuse, and of the odometry of a depth camera. */
#ifndef FUSE_H
#define FUSE_H

#include "job.h"

/* A model that images have been fused into, and the job that it is the output of. */
typedef struct fusion {
    session *session;
    job *job;
    pcgpu_volume *volume;
    int64_t fused, skipped, unreachable;
} fusion;

/* Writes what --output and --mesh ask for and tells what the model is. Returns an exit code. */
int fuse_write_model(fusion *f);

#endif
