/* pcgpu register --poses: depth images with known poses become a model. */
#ifndef FUSE_H
#define FUSE_H

#include "job.h"

/* Usage: what does not go together with or without --poses. On failure `why` is a sentence. */
bool fuse_check(const session *session, char *why, size_t why_size);
/* Returns an exit code. */
int fuse_run(session *session);

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
