/* pcgpu register --poses: depth images with known poses become a model. */
#ifndef FUSE_H
#define FUSE_H

#include "job.h"

/* Usage: what does not go together with or without --poses. On failure `why` is a sentence. */
bool fuse_check(const session *session, char *why, size_t why_size);
/* Returns an exit code. */
int fuse_run(session *session);

#endif
