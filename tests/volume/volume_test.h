/* What the tests of volumes share: checks that count, and cameras. */
#ifndef VOLUME_TEST_H
#define VOLUME_TEST_H

#include "room.h"
#include "pcgpu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures, checks;

#define CHECK(CONDITION, ...)                                                                                          \
    do {                                                                                                               \
        checks++;                                                                                                      \
        if (!(CONDITION) && ++failures <= 20) {                                                                        \
            printf("FAILED: %s: ", #CONDITION);                                                                        \
            printf(__VA_ARGS__);                                                                                       \
            putchar('\n');                                                                                             \
        }                                                                                                              \
    } while (0)

static inline void pose_matrix(const scene_pose *pose, double T[16]) {
    for (int k = 0; k < 3; k++) {
        memcpy(T + 4 * k, pose->rotation + 3 * k, 3 * sizeof *T);
        T[4 * k + 3] = pose->position[k];
    }
    T[12] = T[13] = T[14] = 0.0;
    T[15] = 1.0;
}

static inline pcgpu_camera camera_of(const room_camera *seen) {
    pcgpu_camera camera;
    pcgpu_camera_init(&camera);
    camera.width = seen->width;
    camera.height = seen->height;
    camera.fx = seen->fx;
    camera.fy = seen->fy;
    camera.cx = seen->cx;
    camera.cy = seen->cy;
    camera.depth_scale = seen->depth_scale;
    return camera;
}

#endif
