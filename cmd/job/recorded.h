/* One recording as an input, for recordings.c: its files, and the topic that is taken. */
#ifndef RECORDED_H
#define RECORDED_H

#include "reason.h"
#include "recording.h"

/* A recording: one file, or the files of a folder, in the order of time. */
typedef struct recorded {
    char *path;
    char *error;    /* it cannot be read; without its name */
    pc_bytes bytes; /* of standard input */
    struct part {
        char *path;
        pc_recording *recording;
        int64_t begin, count; /* of its chosen messages, in those of all */
    } * parts;
    int part_count;
    int64_t count;
    pc_message_kind kind; /* of the chosen ones */
    bool has_camera;
    pcgpu_camera camera; /* of depth images */
} recorded;

/* Opens a recording and chooses the clouds of a topic, or its poses (`poses`). NULL: the only one. A recording that
 * cannot be read has an error. NULL: `why`. */
recorded *recorded_open(const char *path, const char *topic, bool poses, reason *why);
void recorded_close(recorded *r);

/* The context of calls that need no more of it than its errors. */
pcgpu_context *recorded_context(const char **name);
/* The last error, without the name that it begins with. */
const char *recorded_error(const pcgpu_context *context, const char *name);

#endif
