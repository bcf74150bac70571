/* A truncated signed distance function in hashed blocks of voxels (Curless and Levoy 1996, Newcombe et al. 2011,
 * Niessner et al. 2013): the arithmetic that the CPU and CUDA share.
 *
 * A voxel is a sample at a lattice point: voxel (i, j, k) is at voxel_size * (i, j, k) of the world. A block has 8 x 8
 * x 8 voxels. Blocks exist only near the end of a ray, and a hash table finds them. Each voxel stores the mean distance
 * to the surface along the rays that saw it, in metres, positive in front of the surface, clamped to +-truncation, and
 * the sum of their weights. A voxel that no ray has seen is NaN, so that every interpolation with it is NaN; so is
 * block 0, which represents missing blocks.
 *
 * Both values are float32. Distances with 16 bits halve the memory, and the errors of tests/volume/surface.c are the
 * same to 0.05 mm. But rounding stops a running mean when its steps fall below half a unit, and vectors need
 * conversions. Distances and weights are separate arrays, since ray casting needs no weights.
 *
 * Coordinates are float32 in voxels from the first voxel of the anchor, which is the block of the camera. So
 * coordinates near the camera are precise everywhere in the world. */
#ifndef PC_VOLUME_H
#define PC_VOLUME_H

#include "geometry.h"

#include <stdbool.h>

enum {
    PC_VOLUME_SIDE = 8,
    PC_VOLUME_VOXELS = 512, /* per block, x fastest, z slowest */
    PC_VOLUME_NEIGHBOURS = 27,
    PC_VOLUME_REACH = 1 << 20,   /* block coordinates are -REACH to REACH - 1 */
    PC_VOLUME_TILE = 8,          /* pixels per side of a tile with a common range of depths */
    PC_VOLUME_TRUNCATION = 64,   /* maximum truncation in voxels */
    PC_VOLUME_ROWS = 64 * 64,    /* of bits, see pc_volume_row_of */
    PC_VOLUME_LONGEST_RAY = 8192 /* steps; cuts only views with more blocks in a row */
};

/* The same bits on every machine; processors produce different NaNs. */
PC_HD float pc_volume_nan(void) {
#ifdef __CUDA_ARCH__
    return __int_as_float(0x7fc00000);
#else
    return NAN;
#endif
}

/* ---- blocks --------------------------------------------------------------------------------------------------- */

/* Keys in the order of z, y, x. */
#define PC_VOLUME_EMPTY UINT64_MAX

PC_HD uint64_t pc_volume_key(int32_t x, int32_t y, int32_t z) {
    return (uint64_t)(uint32_t)(z + PC_VOLUME_REACH) << 42 | (uint64_t)(uint32_t)(y + PC_VOLUME_REACH) << 21 |
           (uint64_t)(uint32_t)(x + PC_VOLUME_REACH);
}

PC_HD void pc_volume_unpack(uint64_t key, int32_t block[3]) {
    for (int k = 0; k < 3; k++) {
        block[k] = (int32_t)(key >> (21 * k) & 0x1fffff) - PC_VOLUME_REACH;
    }
}

PC_HD bool pc_volume_in_reach(int32_t x, int32_t y, int32_t z) {
    const int32_t reach = PC_VOLUME_REACH;
    return x >= -reach && x < reach && y >= -reach && y < reach && z >= -reach && z < reach;
}

typedef struct pc_volume_slot {
    uint64_t key; /* PC_VOLUME_EMPTY: none */
    int64_t block;
} pc_volume_slot;

/* The view of a volume for reading. Linear probing; the table always has empty slots. */
typedef struct pc_volume_grid {
    const pc_volume_slot *slots;
    uint64_t mask;             /* number of slots - 1; the number is a power of two */
    const uint64_t *keys;      /* of each block */
    const float *distances;    /* PC_VOLUME_VOXELS per block */
    const float *weights;      /* likewise */
    const uint16_t *colors;    /* PC_VOLUME_COLORS per voxel, see tsdf_color.h; NULL: none */
    const uint8_t *active;     /* whether a cell of the block may have a surface; false for block 0. For ray casting */
    const uint64_t *rows;      /* PC_VOLUME_ROWS: bits of active blocks, see pc_volume_row_of. For ray casting */
    const int32_t *neighbours; /* PC_VOLUME_NEIGHBOURS per block: the blocks around it, x fastest, with itself in the
                                  middle */
} pc_volume_grid;

/* The block with this key, 0 = none. */
PC_HD int32_t pc_volume_find(const pc_volume_slot *slots, uint64_t mask, uint64_t key) {
    uint64_t i = pc_hash64(key) & mask;
    while (slots[i].key != key && slots[i].key != PC_VOLUME_EMPTY) {
        i = (i + 1) & mask;
    }
    return slots[i].key == key ? (int32_t)slots[i].block : 0;
}

PC_HD int32_t pc_volume_find_at(const pc_volume_slot *slots, uint64_t mask, int32_t x, int32_t y, int32_t z) {
    return pc_volume_in_reach(x, y, z) ? pc_volume_find(slots, mask, pc_volume_key(x, y, z)) : 0;
}

/* The neighbour of a block: n = 0 to 26. */
PC_HD int32_t pc_volume_neighbour(const pc_volume_slot *slots, uint64_t mask, const int32_t block[3], int n) {
    return pc_volume_find_at(slots, mask, block[0] + n % 3 - 1, block[1] + n / 3 % 3 - 1, block[2] + n / 9 - 1);
}

/* Cells extend into the first voxels of the next blocks. So a surface needs a voxel behind a surface in the block, or
 * in a neighbour towards higher coordinates. */
PC_HD uint8_t pc_volume_is_active(const int32_t *neighbours, const uint8_t *behind, int64_t block) {
    const int32_t *n = neighbours + PC_VOLUME_NEIGHBOURS * block;
    uint8_t any = 0;
    for (int i = 0; i < 8; i++) {
        any = (uint8_t)(any | behind[n[13 + (i & 1) + 3 * (i >> 1 & 1) + 9 * (i >> 2)]]);
    }
    return any;
}

/* Bit x % 64 of the row of y and z: whether an active block may be there. Rays mostly pass missing blocks. */
PC_HD_ALWAYS uint32_t pc_volume_row_of(int32_t y, int32_t z) {
    return ((uint32_t)z & 63) * 64 + ((uint32_t)y & 63);
}

/* ---- a camera in the volume ----------------------------------------------------------------------------------- */

typedef struct pc_volume_view {
    int32_t width, height;
    float fx, fy, cx, cy;
    int32_t anchor[3];   /* the block of the camera */
    float to_camera[12]; /* 3 x 4: from voxels relative to the anchor to metres in the camera frame */
    float to_volume[12]; /* the inverse */
    float voxel;         /* metres */
    float truncation;    /* metres */
    float max_weight;
} pc_volume_view;

/* A point of the camera frame in voxels, on one axis. */
PC_HD_ALWAYS float pc_volume_row(const float *T, float x, float y, float z) {
    return ((T[0] * x + T[1] * y) + T[2] * z) + T[3];
}

/* The first voxel of a block in the camera frame. */
PC_HD void pc_volume_corner(const pc_volume_view *view, const int32_t block[3], float p[3]) {
    const float x = (float)(PC_VOLUME_SIDE * (block[0] - view->anchor[0]));
    const float y = (float)(PC_VOLUME_SIDE * (block[1] - view->anchor[1]));
    const float z = (float)(PC_VOLUME_SIDE * (block[2] - view->anchor[2]));
    for (int k = 0; k < 3; k++) {
        p[k] = pc_volume_row(view->to_camera + 4 * k, x, y, z);
    }
}

/* The depth where a ray begins for a block whose first corner is at depth z: some voxels before it. */
PC_HD float pc_volume_begin(const pc_volume_view *view, float z) {
    const float begin = z - 2.0f * view->voxel;
    return begin > 0.0f ? begin : 0.0f;
}

/* The projection of a block: the first and last columns and rows of pixels, and the depths. False: not visible. */
typedef struct pc_volume_extent {
    int32_t u[2], v[2];
    float z[2];
} pc_volume_extent;

/* Bounds of pixels between two coordinates with any value. */
PC_HD bool pc_volume_pixels(float low, float high, int32_t size, int32_t out[2]) {
    if (!(high >= -1.0f && low <= (float)size)) {
        return false;
    }
    low = low > 0.0f ? low : 0.0f;
    high = high < (float)(size - 1) ? high : (float)(size - 1);
    out[0] = (int32_t)low;
    out[1] = (int32_t)high + (high < (float)(size - 1));
    return true;
}

PC_HD bool pc_volume_seen(const pc_volume_view *view, const int32_t block[3], pc_volume_extent *e) {
    const float near_z = 0.25f * view->voxel; /* too near for a projection: the block may be anywhere */
    const float *T = view->to_camera;
    float p[3], low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    bool close = false;
    pc_volume_corner(view, block, p);
    e->z[0] = INFINITY;
    e->z[1] = -INFINITY;
    for (int i = 0; i < 8; i++) {
        const float x = (float)(PC_VOLUME_SIDE * (i & 1)), y = (float)(PC_VOLUME_SIDE * (i >> 1 & 1));
        const float z = (float)(PC_VOLUME_SIDE * (i >> 2));
        float c[3];
        for (int k = 0; k < 3; k++) {
            c[k] = p[k] + ((T[4 * k] * x + T[4 * k + 1] * y) + T[4 * k + 2] * z);
        }
        const float u = view->fx * (c[0] / c[2]) + view->cx, v = view->fy * (c[1] / c[2]) + view->cy;
        close = close || !(c[2] > near_z);
        low[0] = u < low[0] ? u : low[0];
        high[0] = u > high[0] ? u : high[0];
        low[1] = v < low[1] ? v : low[1];
        high[1] = v > high[1] ? v : high[1];
        e->z[0] = c[2] < e->z[0] ? c[2] : e->z[0];
        e->z[1] = c[2] > e->z[1] ? c[2] : e->z[1];
    }
    if (!(e->z[1] > 0.0f)) {
        return false;
    }
    if (close) {
        low[0] = low[1] = e->z[0] = 0.0f;
        high[0] = (float)view->width;
        high[1] = (float)view->height;
    }
    return pc_volume_pixels(low[0] - 1.0f, high[0] + 1.0f, view->width, e->u) &&
           pc_volume_pixels(low[1] - 1.0f, high[1] + 1.0f, view->height, e->v);
}

/* ---- blocks that a ray needs ------------------------------------------------------------------------------------ */

/* The segment on the ray of a pixel from a truncation before its depth to one behind it: both ends in blocks, relative
 * to the anchor's first voxel. x, y: (u - cx) / fx and (v - cy) / fy. */
typedef struct pc_volume_segment {
    float a[3], b[3];
} pc_volume_segment;

PC_HD_ALWAYS pc_volume_segment pc_volume_segment_of(const pc_volume_view *view, float x, float y, float z) {
    pc_volume_segment s;
    const float half = view->truncation / sqrtf((x * x + y * y) + 1.0f);
    const float first = z - half, begin = first > 0.0f ? first : 0.0f, end = z + half;
    for (int k = 0; k < 3; k++) {
        const float *T = view->to_volume + 4 * k;
        const float direction = (T[0] * x + T[1] * y) + T[2];
        s.a[k] = (T[3] + begin * direction) * 0.125f;
        s.b[k] = (T[3] + end * direction) * 0.125f;
    }
    return s;
}

/* The block of a coordinate, relative to the anchor; clamped where all blocks are out of reach, also for NaN. */
PC_HD_ALWAYS int32_t pc_volume_block_of(float p) {
    const float most = 4.0f * PC_VOLUME_REACH;
    float q = p < most ? p : most;
    q = q > -most ? q : -most;
    const int32_t whole = (int32_t)q;
    return whole - ((float)whole > q ? 1 : 0);
}

/* The blocks along a segment (Amanatides and Woo 1987): begin the walk, then take blocks until its end. */
typedef struct pc_volume_walk {
    int32_t block[3], step[3], left;
    float next[3], delta[3]; /* fractions of the segment at which the next block begins on an axis, and between
                                blocks */
} pc_volume_walk;

/* Whether both ends, blocks relative to the anchor, are within the reach of the volume. */
PC_HD_ALWAYS bool pc_volume_reaches(const pc_volume_view *view, const int32_t begin[3], const int32_t end[3]) {
    const int32_t reach = PC_VOLUME_REACH - 2 * PC_VOLUME_TRUNCATION;
    bool good = true;
    for (int k = 0; k < 3; k++) {
        const int32_t a = view->anchor[k] + begin[k], b = view->anchor[k] + end[k];
        good = good & (a >= -reach) & (a < reach) & (b >= -reach) & (b < reach);
    }
    return good;
}

/* Begins the walk of a segment in reach. */
PC_HD void pc_volume_walk_begin(const pc_volume_view *view, const pc_volume_segment *s, const int32_t begin[3],
                                const int32_t end[3], pc_volume_walk *walk) {
    walk->left = 1;
    for (int k = 0; k < 3; k++) {
        const float march = s->b[k] - s->a[k];
        walk->block[k] = view->anchor[k] + begin[k];
        walk->step[k] = end[k] > begin[k] ? 1 : end[k] < begin[k] ? -1 : 0;
        walk->left += end[k] > begin[k] ? end[k] - begin[k] : begin[k] - end[k];
        walk->delta[k] = walk->next[k] = INFINITY;
        if (walk->step[k] != 0) {
            walk->delta[k] = (float)walk->step[k] / march;
            walk->next[k] = ((float)(begin[k] + (walk->step[k] > 0)) - s->a[k]) / march;
        }
    }
}

/* Whether a pixel can skip its walk, since the pixel on its left walks between the same blocks. If these blocks are
 * equal or share a face, both walks are the same. Otherwise, one of four pixels walks: blocks with a corner that so few
 * pixels cut can be added by a later frame. */
PC_HD_ALWAYS bool pc_volume_follows(int32_t u, const int32_t begin[3], const int32_t end[3]) {
    int32_t steps = 0;
    for (int k = 0; k < 3; k++) {
        steps += end[k] > begin[k] ? end[k] - begin[k] : begin[k] - end[k];
    }
    return steps <= 1 || u % 4 != 0;
}

/* Advances to the next block, whose coordinates are walk->block; false at the end. Steps are counted, so that rounding
 * cannot lead past the last block; they are taken only on axes with steps left. */
PC_HD bool pc_volume_walk_next(pc_volume_walk *walk) {
    if (--walk->left <= 0) {
        return false;
    }
    const int k = walk->next[0] <= walk->next[1] ? (walk->next[0] <= walk->next[2] ? 0 : 2)
                                                 : (walk->next[1] <= walk->next[2] ? 1 : 2);
    walk->block[k] += walk->step[k];
    walk->next[k] += walk->delta[k];
    return true;
}

/* ---- fusion ----------------------------------------------------------------------------------------------------- */

/* A frame for integration: 1 / depth of each pixel, 0 = none. The inverse depth of a plane is linear in the image. */
typedef struct pc_volume_frame {
    pc_volume_view view;
    const float *inverse;
    const uint8_t *color; /* red, green, blue of each pixel; NULL: none */
} pc_volume_frame;

/* An update of a voxel has three steps: its projection, the depth there, and the new mean. They are separate, so that
 * each one vectorizes in a loop over voxels. */
typedef struct pc_volume_spot {
    int32_t at;          /* index of the first of the four pixels around it */
    int32_t more, below; /* the offsets to the next ones, 0 at the borders of the image */
    float a, b;          /* the interpolation weights */
    float stretch;       /* length of the ray for a depth of 1 */
    int32_t inside;      /* whether it is in the image, between pixel centres */
} pc_volume_spot;

PC_HD_ALWAYS pc_volume_spot pc_volume_project(const pc_volume_view *view, float x, float y, float z) {
    pc_volume_spot s;
    const int32_t right = view->width - 1, bottom = view->height - 1;
    const float last_u = (float)right, last_v = (float)bottom;
    const float across = 1.0f / z, px = x * across, py = y * across;
    const float u = view->fx * px + view->cx, v = view->fy * py + view->cy;
    s.inside = (z > 0.0f) & (u >= 0.0f) & (u <= last_u) & (v >= 0.0f) & (v <= last_v);
    float a = u > 0.0f ? u : 0.0f, b = v > 0.0f ? v : 0.0f; /* NaN becomes 0 */
    a = a < last_u ? a : last_u;
    b = b < last_v ? b : last_v;
    const int32_t u0 = (int32_t)a, v0 = (int32_t)b;
    s.at = v0 * view->width + u0;
    s.more = u0 < right;
    s.below = v0 < bottom ? view->width : 0;
    s.a = a - (float)u0;
    s.b = b - (float)v0;
    s.stretch = sqrtf((px * px + py * py) + 1.0f);
    return s;
}

/* A frame's measurement at a projected point. */
typedef struct pc_volume_reading {
    float inverse; /* depth; 0 = none */
    float facing;  /* approximate squared cosine of the angle between the ray and the surface normal */
    bool smooth;   /* interpolated: the four pixels are of one surface */
} pc_volume_reading;

/* Interpolates between four pixels whose depths are within a truncation of each other. Otherwise, at a depth
 * discontinuity, it takes the nearest pixel with a low weight. The slope follows from the differences: a step of a
 * pixel is 1 / f of the depth. */
PC_HD_ALWAYS pc_volume_reading pc_volume_read(const pc_volume_view *view, float i00, float i10, float i01, float i11,
                                              float a, float b) {
    pc_volume_reading r;
    const float low0 = i00 < i10 ? i00 : i10, low1 = i01 < i11 ? i01 : i11, low = low0 < low1 ? low0 : low1;
    const float high0 = i00 > i10 ? i00 : i10, high1 = i01 > i11 ? i01 : i11, high = high0 > high1 ? high0 : high1;
    const float top = i00 + a * (i10 - i00), under = i01 + a * (i11 - i01), between = top + b * (under - top);
    const float near0 = a < 0.5f ? i00 : i10, near1 = a < 0.5f ? i01 : i11, nearest = b < 0.5f ? near0 : near1;
    const float across = i10 - i00, du = view->fx * (across + b * ((i11 - i01) - across)),
                dv = view->fy * (under - top);
    const float square = between * between;
    const bool smooth = (low > 0.0f) & (high - low <= view->truncation * (low * high));
    r.smooth = smooth;
    r.inverse = smooth ? between : nearest;
    r.facing = smooth ? square / (square + (du * du + dv * dv)) : 0.05f;
    return r;
}

/* The weight is 1 / depth^2, according to the noise of structured light and stereo, times the factor for slant
 * surfaces, where distances along the ray are less informative. */
PC_HD_ALWAYS float pc_volume_weight(pc_volume_reading r) {
    return (r.inverse * r.inverse) * r.facing;
}

PC_HD_ALWAYS void pc_volume_blend(const pc_volume_view *view, pc_volume_reading r, float z, float stretch,
                                  int32_t inside, float *distance, float *weight) {
    const float old_weight = *weight, old_distance = *distance, truncation = view->truncation;
    const float along = (1.0f / r.inverse - z) * stretch, w = pc_volume_weight(r);
    const bool seen = (inside != 0) & (r.inverse > 0.0f) & (along >= -truncation);
    const float d = along < truncation ? along : truncation, old = old_weight > 0.0f ? old_distance : 0.0f;
    const float sum = old_weight + w, mean = (old * old_weight + d * w) / sum;
    const float most = sum < view->max_weight ? sum : view->max_weight;
    *distance = seen ? mean : old_distance;
    *weight = seen ? most : old_weight;
}

/* The complete update of one voxel at (x, y, z) of the camera frame. */
PC_HD_ALWAYS void pc_volume_update(const pc_volume_frame *frame, float x, float y, float z, float *distance,
                                   float *weight) {
    const pc_volume_view *view = &frame->view;
    const pc_volume_spot s = pc_volume_project(view, x, y, z);
    const float *i = frame->inverse + s.at;
    const pc_volume_reading r = pc_volume_read(view, i[0], i[s.more], i[s.below], i[s.below + s.more], s.a, s.b);
    pc_volume_blend(view, r, z, s.stretch, s.inside, distance, weight);
}

#endif
