/* What register.c (one pair), register_depth.c (depth images) and register_pairs.c (the pairs of a list) share. */
#ifndef REGISTER_H
#define REGISTER_H

#include "job.h"

/* The transform of --init; `T` stays as it is without one. False after saying why. */
bool register_read_init(const session *session, double T[16]);
/* Registers a job's two inputs as what they are; the start is that of `params`. */
pcgpu_status register_pair(const job *job, const pcgpu_register_params *params, pcgpu_registration *result);
/* register_depth.c: two depth images by projective association. */
pcgpu_status register_images(const job *job, const double init[16], pcgpu_registration *result);
/* Keeps the result for --json and writes the aligned source if it is wanted. Returns an exit code. */
int register_output(job *job, const pcgpu_registration *result);
/* The members of a result. */
void register_add_result(json *out, const pcgpu_registration *result);
/* Messages: how far it moved, how sure and in what time, an error unless it converged, a summary, a warning of what is
 * unconstrained. seconds: that the pair took; those of a list do not say. */
void register_summarize(const job *job, const pcgpu_registration *result, double seconds);
/* An input as it is registered: the cloud itself, or `own`, which the caller frees, after --min-range and
 * --beam-correction. What is left out is added to `run`. */
pcgpu_status register_scan(const job *job, int i, pcgpu_cloud *own, const pcgpu_cloud **scan, pcgpu_run *run);

/* register_depth.c: the parameters of depth images, as the options have them. */
pcgpu_register_depth_params register_image_params(const session *session);

#endif
