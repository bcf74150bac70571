/* What the files of pcgpu convert share. */
#ifndef CONVERT_H
#define CONVERT_H

#include "columns.h"
#include "job.h"

/* The values of its own options. */
typedef struct convert_values {
    pcgpu_voxelize_params crop; /* its range */
    const char *transform_input;
    double T[16]; /* of transform_input */
    double scale; /* of coordinates; 0: as they are */
} convert_values;
OWN_VALUES(convert)

/* As columns_split, with x, y and z first. */
bool columns_parse(const char *text, column_list *list, reason *why);
/* Replaces the columns of a cloud, called `name` in messages. Returns an exit code after an error message. */
int columns_take(pcgpu_context *context, const char *name, const column_list *list, pcgpu_cloud *cloud);
/* Warns about columns, or names of columns, that the format of the output cannot hold, and leaves out the columns. */
int columns_fit_output(job *job, pcgpu_cloud *cloud);

int convert_process(job *job);      /* one input */
extern const job_sink convert_sink; /* all inputs into one output */
/* Poses, in TUM or KITTI format by the name of the output. */
bool convert_is_poses(const option_values *options);
int convert_poses(job *job);

#endif
