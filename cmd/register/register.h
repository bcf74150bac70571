/* What the files of pcgpu register share. */
#ifndef REGISTER_H
#define REGISTER_H

#include "job.h"

/* The values of its own options. */
typedef struct register_values {
    bool all;
    bool merge;
    const char *transform;
    transform_format transform_format;
} register_values;
OWN_VALUES(register)

#define MERGE_WITHOUT_OUTPUT "merge is for the clouds of --output, and none is given; give -o FILE"

/* Hooks of the command. odometry uses them, too, since it has the same options. */
bool register_resolve_options(option_values *options, const command_info *command, reason *why);
void register_effective_options(const session *session, const char *const *inputs, int count, option_values *effect);
/* Whether the inputs are depth images for projective association. */
bool register_is_projective(const session *session, const char *const *inputs, int count);
bool register_check(const session *session, reason *why);
/* Refuses options without an effect on this call, when the command line has one: `cause` is the sentence after the name
 * of the option. Those of a configuration are ignored, since it may serve several calls. */
bool register_refuse(const session *session, const char *const *names, int count, const char *cause, reason *why);
/* Refuses the options of the other kind of registration: of clouds, or of images. */
bool register_check_kind(const session *session, bool clouds, bool images, reason *why);
/* Checks that --set min-range and --beam-correction have an effect on all inputs, in groups of `each`. */
bool register_check_scans(const session *session, int each, reason *why);
int register_process(job *job);

/* Reads the transform of --init; without one, `T` is unchanged. False after an error message. */
bool register_read_init(const session *session, double T[16]);
/* register_depth.c: the camera of SOURCE (0) or TARGET (1). */
const pcgpu_camera *register_camera(const session *session, int i);
/* register_depth.c: two depth images by projective association. */
pcgpu_status register_images(const job *job, const double init[16], pcgpu_registration *result);
/* Root of the summed variances of three diagonal entries of a covariance. */
double register_deviation(const double covariance[36], int first);
/* Adds the members of a result. */
void register_add_result(json *out, const pcgpu_registration *result);
/* register_unit.c: warns when coordinates look like millimetres. */
void register_check_unit(const job *job, const pcgpu_registration *result);
/* The cloud that is registered: `cloud` itself, or `own`, a copy after min-range and beam-correction, which the
 * caller frees. The counts of dropped points are added to `run`. */
pcgpu_status register_scan(const session *session, const pcgpu_cloud *cloud, pcgpu_cloud *own, const pcgpu_cloud **scan,
                           pcgpu_run *run);

/* register_all.c: options and inputs of --all, which then has hooks of its own. */
bool register_all_resolve(option_values *options, const command_info *command, reason *why);
void register_find_inputs(session *session);

/* register_depth.c: the parameters of depth images from the options. */
pcgpu_register_depth_params register_image_params(const session *session);

#endif
