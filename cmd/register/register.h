/* What register.c (one pair), register_depth.c (depth images) and register_pairs.c (the pairs of a list) share. */
#ifndef REGISTER_H
#define REGISTER_H

#include "job.h"

/* Hooks of the command, which odometry shares: a sequence is registered by the same options. */
bool register_settle(option_values *options, const command_info *command, char *why, size_t why_size);
void register_effect(const session *session, const char *const *inputs, int count, option_values *effect);
/* Whether inputs are depth images to be registered as such. */
bool register_is_projective(const session *session, const char *const *inputs, int count);
bool register_check(const session *session, char *why, size_t why_size);
/* That none of these options is on the command line, where it would have no effect: `reason` says why, after its name. What a
 * configuration says is read past: it may serve several calls. */
bool register_refuse(const session *session, const char *const *names, int count, const char *reason, char *why,
                     size_t why_size);
/* The same for the options of the kind of registration that these inputs do not get. */
bool register_check_kind(const session *session, bool clouds, bool images, char *why, size_t why_size);
/* That --min-range and --beam-correction have an effect on all inputs, of which so many are registered to each other. */
bool register_check_scans(const session *session, int each, char *why, size_t why_size);
int register_process(job *job);
int register_pairs(session *session); /* all pairs of a list */

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
