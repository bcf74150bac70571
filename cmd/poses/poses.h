/* Poses of many frames in one file. */
#ifndef POSES_H
#define POSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct frame_pose {
    bool known;   /* false: the line has nan for it */
    int64_t line; /* of the file */
    double T[16]; /* world from camera, row-major */
} frame_pose;

typedef struct pose_list {
    int count;
    frame_pose *poses;
} pose_list;

/* One pose a line, as transform_read takes them; empty lines and those that begin with # are skipped. "-" is standard
 * input. On failure `why` is a sentence with the file's name and line. */
bool poses_read(const char *path, pose_list *list, char *why, size_t why_size);
void poses_free(pose_list *list);

#endif
