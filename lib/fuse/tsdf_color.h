/* The colours of voxels, shared by the CPU and CUDA. A voxel within a truncation of the surface has the weighted mean
 * of the colours of the pixels that it projected to, as a running mean in the order of the frames, in whole numbers, so
 * that it takes 8 bytes. The ray of a pixel meets the surface elsewhere than the voxel's nearest point, by the tangent
 * of its slant, for which the weight falls, as that of distances does. */
#ifndef PC_VOLUME_COLOR_H
#define PC_VOLUME_COLOR_H

#include "tsdf_math.h"

/* Per voxel: red, green and blue in 1 / PC_VOLUME_SHADES of a level, and the sum of the weights, 0 = no colour. */
enum { PC_VOLUME_COLORS = 4, PC_VOLUME_SHADES = 256, PC_VOLUME_MOST_COLOR = 65535 };
/* Weights are counted in 1 / 4096. Their sum ends at 16, where the mean becomes a running mean: then a frame's share is
 * large enough that rounding to a shade does not stop it. */
#define PC_VOLUME_COLOR_WEIGHT 4096.0f

/* The colour of the image, one of three, between four pixels, or of the nearest one at a depth discontinuity. */
PC_HD_ALWAYS float pc_volume_shade(const uint8_t *color, const pc_volume_spot *s, bool smooth) {
    const float c00 = (float)color[3 * (int64_t)s->at], c10 = (float)color[3 * (int64_t)(s->at + s->more)];
    const float c01 = (float)color[3 * (int64_t)(s->at + s->below)];
    const float c11 = (float)color[3 * (int64_t)(s->at + s->below + s->more)];
    const float top = c00 + s->a * (c10 - c00), under = c01 + s->a * (c11 - c01);
    const float near0 = s->a < 0.5f ? c00 : c10, near1 = s->a < 0.5f ? c01 : c11;
    return smooth ? top + s->b * (under - top) : s->b < 0.5f ? near0 : near1;
}

/* Updates the colour of the voxel at (x, y, z) of the camera frame, whose mean distance is `distance`. */
PC_HD_ALWAYS void pc_volume_paint(const pc_volume_frame *frame, float x, float y, float z, float distance,
                                  uint16_t value[PC_VOLUME_COLORS]) {
    const pc_volume_view *view = &frame->view;
    const float truncation = view->truncation;
    if (!(distance > -truncation && distance < truncation)) { /* NaN: not seen */
        return;
    }
    const pc_volume_spot s = pc_volume_project(view, x, y, z);
    if (!s.inside) {
        return;
    }
    const float *i = frame->inverse + s.at;
    const pc_volume_reading r = pc_volume_read(view, i[0], i[s.more], i[s.below], i[s.below + s.more], s.a, s.b);
    const float along = (1.0f / r.inverse - z) * s.stretch;
    if (!(r.inverse > 0.0f && along >= -truncation && along <= truncation)) {
        return;
    }
    const float w = pc_volume_weight(r) * PC_VOLUME_COLOR_WEIGHT, most = (float)PC_VOLUME_MOST_COLOR;
    const float weight = w < 1.0f ? 1.0f : w < most ? (float)(int32_t)w : most;
    const float sum = (float)value[3] + weight, share = weight / sum;
    for (int k = 0; k < 3; k++) {
        const float old = (float)value[k],
                    now = (float)PC_VOLUME_SHADES * pc_volume_shade(frame->color + k, &s, r.smooth);
        value[k] = (uint16_t)((old + share * (now - old)) + 0.5f);
    }
    value[3] = (uint16_t)(sum < most ? sum : most);
}

/* The colour at a fraction of the edge between two voxels, levels from 0 to 255; of one of them where the other has
 * none, and black where both have none. */
PC_HD_ALWAYS void pc_volume_color_between(const uint16_t *a, const uint16_t *b, float fraction, float out[3]) {
    const float part = a[3] == 0 ? 1.0f : b[3] == 0 ? 0.0f : fraction;
    for (int k = 0; k < 3; k++) {
        const float shade = (float)a[k] + part * ((float)b[k] - (float)a[k]);
        out[k] = (float)(int32_t)(shade / (float)PC_VOLUME_SHADES + 0.5f);
    }
}

#endif
