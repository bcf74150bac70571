/* Recordings as inputs: a recording stands for its clouds, or depth images, as a folder stands for its files. Cloud 12
 * of drive.mcap is the input drive.mcap/./000012, that of a recording below a folder FOLDER/./SUB/drive.mcap/000012.
 * The poses on its topic /odom are the trajectory drive.mcap/./odom. */
#ifndef RECORDINGS_H
#define RECORDINGS_H

#include "pcgpu.h"
#include "reason.h"

#include <stdint.h>
#include <stdio.h>

typedef struct recording_options {
    double from, to; /* seconds since the first cloud; to 0: the end */
    int64_t every;   /* take one of so many clouds; 0: all */
} recording_options;

/* By its first bytes: a file, "-", which keeps its bytes, or a folder of ROS 2, with metadata.yaml. */
bool recording_is(const char *path);
bool recording_is_name(const char *name); /* by the name alone */
/* Opens a recording, which stays open until recordings_close, and lists its clouds as inputs: malloc'd names and array.
 * `between` stands before the number of a cloud: "/./" or "/". */
bool recording_list(const char *path, const char *between, const recording_options *how, char ***names, int *count,
                    reason *why);
/* Whether an input is a cloud of a recording; opens the recording if it is not open. */
bool recording_holds(const char *input);
/* The format of the cloud as a stream; NULL: the input is no cloud of a recording. */
const char *recording_format(const char *input);
/* The camera of the depth images that the input is of. False: the recording has none. */
bool recording_camera(const char *input, pcgpu_camera *camera);
/* The cloud as a stream that pcgpu_read takes, and its time of measurement, or the poses of a topic as lines. False:
 * the input is neither; NULL: `why`. Any thread may call it. */
bool recording_stream(const char *input, FILE **stream, double *seconds, reason *why);
/* The poses of a recording with one topic of them, as lines; NULL: `why`. */
FILE *recording_poses(const char *path, reason *why);
/* The time of an input in the log. False: it is no cloud of a recording. */
bool recording_time(const char *input, double *seconds);
/* What clouds are taken from, to be set before a recording is opened; NULL: the only topic with clouds. */
void recordings_use_topic(const char *topic);
void recordings_close(void);

#endif
