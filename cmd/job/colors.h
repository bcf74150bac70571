/* --color: the colour images that belong to the depth images of a session, one each. */
#ifndef COLORS_H
#define COLORS_H

#include "job.h"

/* Finds the colour image of each input: session->colors, whose entry is NULL where a list by times has none near. From
 * --color a folder, where the image has the name of the depth image or that name with "color" or "rgb" for "depth"; or
 * a list: a name per line in the order of the inputs, or lines "TIME NAME" as the rgb.txt and the associations of TUM
 * RGB-D for images that are named by their times. */
bool colors_find(session *session, reason *why);
void colors_free(session *session);

/* Reads the colours of input i into its depth image. True without --color. */
bool colors_read(const session *session, pcgpu_context *context, int i, pcgpu_depth *depth, reason *why);

#endif
