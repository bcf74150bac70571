/* Scenes of which the surface of each point is known, as seen by sensors of vehicles and robots and from an aircraft:
 * for the ground of a cloud. */
#ifndef SURFACES_H
#define SURFACES_H

#include "scene.h"

int surfaces_count(void);
const char *surfaces_name(int number);
/* Records of x y z and 1 for ground, 0 for anything else; malloc'd. */
float *surfaces_make(int number, int64_t *count);

#endif
