/* Whether a point is in an oriented box, shared by the CPU and the CUDA back end. */
#ifndef PC_BOXES_MATH_H
#define PC_BOXES_MATH_H

#include "geometry.h"

typedef struct pc_box {
    float x, y, z; /* of the centre */
    float half_x, half_y, half_z;
    float sine, cosine;
} pc_box;

PC_HD pc_box pc_box_of(const float numbers[7]) {
    double sine, cosine;
    pc_sine_cosine((double)numbers[6], &sine, &cosine);
    const pc_box box = {numbers[0],        numbers[1],        numbers[2],  0.5f * numbers[3],
                        0.5f * numbers[4], 0.5f * numbers[5], (float)sine, (float)cosine};
    return box;
}

/* Comparisons with NaN are false. */
PC_HD_ALWAYS int pc_in_box(const pc_box *box, float x, float y, float z) {
    const float dx = x - box->x, dy = y - box->y, dz = z - box->z;
    const float along = dx * box->cosine + dy * box->sine, across = dy * box->cosine - dx * box->sine;
    return (fabsf(dz) <= box->half_z) & (fabsf(along) < box->half_x) & (fabsf(across) < box->half_y);
}

#endif
