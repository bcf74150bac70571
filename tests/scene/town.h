/* A town along a path: roads wherever the path leads, houses, parked cars and trees beside them, stretches without
 * houses, and cars that move. One world for every drive along the path: where it crosses or repeats itself, the same
 * things stand. */
#ifndef TOWN_H
#define TOWN_H

#include "terrain.h"

typedef struct town_settings {
    uint64_t layout; /* seed of the town */
    double exchange; /* fraction of the places at the kerb that are drawn anew: another car, or none */
    bool moving_cars;
    double lane; /* of the sensor: metres left of the path, so that cars keep to theirs */
} town_settings;

typedef struct town {
    drive_path way;
    terrain ground;
    town_settings settings;
    scene all;
    unsigned char *built; /* one per node of ground.off: a house stands there */
} town;

/* Reads the path and builds; false with a message. The heights of the path become those of a car on the ground.
 * town_free in any case. */
bool town_build(town *t, const char *path_name, const town_settings *settings);
void town_free(town *t);

/* The pose of the sensor at or between frames, so many metres left of the path. */
void town_pose(const town *t, double frame, double left, scene_pose *pose);

/* What a sensor in this pose may see at a frame, the nearest first; cars that move drive on from there by what they
 * move within a sweep. */
void town_around(const town *t, double frame, const scene_pose *pose, scene *near);

#endif
