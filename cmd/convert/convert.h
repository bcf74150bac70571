/* What the files of pcgpu convert share. */
#ifndef CONVERT_H
#define CONVERT_H

#include "columns.h"
#include "job.h"

/* Oriented boxes: x y z dx dy dz heading. */
typedef struct box_list {
    const char *name; /* for messages */
    double (*boxes)[PCGPU_BOX_NUMBERS];
    int64_t count;
} box_list;

/* The values of its own options. */
typedef struct convert_values {
    pcgpu_voxelize_params crop; /* its range */
    const char *transform_input;
    double T[16]; /* of transform_input */
    double scale; /* of coordinates; 0: as they are */
    const char *boxes_input;
    box_list boxes; /* of boxes_input that is no folder */
    bool outside;   /* of the boxes */
} convert_values;
OWN_VALUES(convert)

/* As columns_split, with x, y and z first. */
bool columns_parse(const char *text, column_list *list, reason *why);
/* Replaces the columns of a cloud, called `name` in messages. Returns an exit code after an error message. */
int columns_take(pcgpu_context *context, const char *name, const column_list *list, pcgpu_cloud *cloud);
/* Warns about columns, or names of columns, that the format of the output cannot hold, and leaves out the columns. */
int columns_fit_output(job *job, pcgpu_cloud *cloud);

/* Whether an input has a file of boxes; path: of --boxes or NULL. */
bool boxes_check(const char *path, const char *input, reason *why);
/* Reads --boxes unless it is a folder: it may be standard input. Returns an exit code after an error message. */
int boxes_read_once(convert_values *own);
/* The first box of each row, or -1, malloc'd; also on failure, with an exit code after a message. */
int boxes_find(const job *j, const pcgpu_cloud *cloud, int32_t **first);

int convert_process(job *job);      /* one input */
extern const job_sink convert_sink; /* all inputs into one output */
/* Poses, in TUM or KITTI format by the name of the output. */
bool convert_is_poses(const option_values *options);
int convert_poses(job *job);

#endif
