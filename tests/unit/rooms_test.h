/* Parts of rooms with boxes in them, as clouds in frames of their own. */
#ifndef ROOMS_TEST_H
#define ROOMS_TEST_H

#include "unit.h"

/* Middles and halves of the sides of boxes; of the first, which is the room, the floor and two walls are there. */
typedef struct box_room {
    int count;
    double boxes[25][6];
} box_room;

static inline void place(const box_room *r, double p[3]) {
    const int choice = (int)((noise() + 1.0) * r->count);
    const double *box = r->boxes[choice < r->count ? choice : 0];
    const int axis = (int)((noise() + 1.0) * 1.5) % 3;
    for (int k = 0; k < 3; k++) {
        const double at = k != axis ? noise() : box == r->boxes[0] || noise() < 0.0 ? -1.0 : 1.0;
        p[k] = box[k] + box[3 + k] * at + 0.004 * noise();
    }
}

/* Points with low <= x <= high, in the frame T_cloud_room. */
static inline pcgpu_cloud part_of_room(pcgpu_context *context, const box_room *r, int rows, double low, double high,
                                       const double T[16]) {
    pcgpu_cloud cloud;
    assert_int_equal(pcgpu_cloud_create(context, rows, 3, &cloud), PCGPU_OK);
    for (int i = 0; i < rows; i++) {
        double p[3];
        do {
            place(r, p);
        } while (p[0] < low || p[0] > high);
        for (int k = 0; k < 3; k++) {
            const double *row = T + 4 * k;
            cloud.data[3 * i + k] = (float)(((row[0] * p[0] + row[1] * p[1]) + row[2] * p[2]) + row[3]);
        }
    }
    return cloud;
}

#endif
