/* Poses of many frames in one file. */
#ifndef POSES_H
#define POSES_H

#include "reason.h"

#include <stddef.h>
#include <stdint.h>

typedef struct frame_pose {
    bool known;   /* false: the line has nan */
    int64_t line; /* of the file */
    double T[16]; /* world from camera, row-major */
} frame_pose;

typedef struct pose_list {
    int count;
    frame_pose *poses;
} pose_list;

/* Reads one pose per line, in the formats of transform_read; empty lines and lines that begin with # are skipped. "-"
 * is standard input. On failure `why` has the name of the file and the line. */
bool poses_read(const char *path, pose_list *list, reason *why);
void poses_free(pose_list *list);

#endif
