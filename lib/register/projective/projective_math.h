/* Arithmetic and data of the registration of depth frames, shared by the CPU and the CUDA back end.
 *
 * A frame becomes a pyramid of maps (projective_maps.h): of each pixel its depth z, taken from a plane fitted to the
 * depths around it, and that plane's unit normal, which faces the camera. An iteration moves the pixels of the source
 * by the present pose, projects them into the target's image, and compares them with the pixels that they fall on
 * (Blais and Levine 1995); the distance from the plane there is minimized (Chen and Medioni 1992).
 * lib/register/projective/projective.c says more.
 *
 * Float32 throughout but for the sums. Images are divided into tiles of PC_DEPTH_LANES columns and PC_DEPTH_LOADS rows,
 * small ones, in the passes of a registration, into tiles of fewer rows. A lane adds up its column of a tile in
 * float32, from the top; the lanes of a tile are then added in float64 by halving (v[i] += v[i + s] for s = 16, 8, 4,
 * 2, 1), PC_DEPTH_GROUP tiles, by rows of tiles, in their order to a group, the groups g = p, p + PC_DEPTH_PARTS, ...
 * in their order to a part, and the parts in theirs. */
#ifndef PC_ICP_DEPTH_H
#define PC_ICP_DEPTH_H

#include "icp_math.h"

enum {
    PC_DEPTH_MAX_LEVELS = 6,
    PC_DEPTH_LANES = 32, /* columns of a tile */
    PC_DEPTH_LOADS = 8,  /* rows of a tile: what a thread adds up before anything is reduced */
    PC_DEPTH_FEWEST_LOADS = 2,
    PC_DEPTH_GROUP = 10, /* tiles */
    PC_DEPTH_BUSY = 120, /* groups of 640 x 480 pixels, one for each of a large GPU's multiprocessors */
    PC_DEPTH_PARTS = 10,
    PC_DEPTH_TAPS = 2,   /* the plane of a pixel is fitted to 5 x 5 pixels, -2 to 2 steps away on each axis */
    PC_DEPTH_STRIDE = 2, /* pixels to a step at the finest level; 1 above */
    PC_DEPTH_MARGIN = PC_DEPTH_TAPS * PC_DEPTH_STRIDE,
    PC_DEPTH_FEWEST = 13,   /* pixels that make a plane, of 25 */
    PC_DEPTH_MIN_SIDE = 16, /* pixels of a level; smaller ones are left out */
    PC_DEPTH_BILATERAL = 6, /* radius in pixels */
    PC_DEPTH_BILATERAL_SIDE = 2 * PC_DEPTH_BILATERAL + 1
};

/* Neighbours belong to the surface of a pixel when their depths differ by no more than a share of it: what a surface at
 * an angle of 69 degrees from the line of sight comes to within the window, but no less than the noise and no more than
 * what leaves pixels without a depth out. More is a depth edge. */
#define PC_DEPTH_SLOPE      2.6
#define PC_DEPTH_LEAST_EDGE 0.01
#define PC_DEPTH_MOST_EDGE  0.25
/* Of the window's moments: pixels on a line make no plane. 25 pixels have 2500. */
#define PC_DEPTH_SPREAD 100.0f
/* Corresponding normals differ by less than 26 degrees. */
#define PC_DEPTH_COSINE 0.9f
/* Standard deviation of a depth z in metres: NOISE + NOISE_SQUARE z^2, as of a structured-light camera, whose disparity
 * is what has a constant error (Khoshelham and Elberink 2012, Nguyen, Izadi and Lovell 2012). */
#define PC_DEPTH_NOISE        0.0007f
#define PC_DEPTH_NOISE_SQUARE 0.0019f
/* Depth limits in metres; points outside are not projected. */
#define PC_DEPTH_NEAREST  1e-20f
#define PC_DEPTH_FARTHEST 1e20f

/* ---- data -------------------------------------------------------------------------------------------------------- */

/* What a model looks like from a camera, as ray casting gives it: of each pixel a vertex on the ray through its middle
 * and the unit normal there, both in the camera's frame in metres. The camera's pixel: pcgpu_camera. A frame is made of
 * the depths alone. */
typedef struct pc_maps {
    int width, height;
    float *vertices;                 /* height x width x 3: x, y, z, row-major; NaN = none */
    float *normals;                  /* height x width x 3; NaN = none; NULL: not wanted */
    const unsigned long long *begun; /* on a device: when making them began, nanoseconds there; NULL: not measured */
} pc_maps;

/* A level of a pyramid. It has whole tiles: pixels beyond width and height are none. */
typedef struct pc_depth_level {
    int width, height;
    int columns, rows;    /* with those: multiples of PC_DEPTH_LANES and PC_DEPTH_LOADS */
    int loads;            /* rows of a tile in a pass: PC_DEPTH_LOADS, or a half or a quarter of that */
    float fx, fy, cx, cy; /* as pcgpu_camera */
    float per_fx, per_fy; /* 1 / fx, 1 / fy */
    float stride;         /* pixels to a step of the window */
    float edge;           /* share of a depth */
    size_t at;            /* of its first pixel in the frame's maps, in floats */
} pc_depth_level;

/* Normal and depth of a pixel; all 0 = none. A level's pixels lie row by row, and behind them one more that is none. */
typedef enum pc_depth_value { PC_DEPTH_NX, PC_DEPTH_NY, PC_DEPTH_NZ, PC_DEPTH_Z, PC_DEPTH_VALUES } pc_depth_value;

/* Of the pixels of a frame at its finest level. */
typedef struct pc_depth_measure {
    double points;      /* how many have a plane */
    double center[3];   /* their centroid, metres */
    double gyration[3]; /* their rms distances from axes through it; 1 where that is 0 */
    double weighted_center[3];
    double weighted_gyration[3]; /* the same with the weights that noise leaves to the pixels */
    double seconds;              /* that making the maps took; on a device without the copy of the image */
} pc_depth_measure;

/* What a frame is made from: a depth image, or maps. */
typedef struct pc_depth_image {
    int width, height;
    const uint16_t *data; /* height x width, or NULL for maps */
    uint16_t low, high;   /* the depths that are points; low > high = none */
    float scale;          /* depth units a metre */
    int range_size;       /* of the bilateral filter's table; 0 = no filter */
    const float *range;   /* range_size weights of differences of 0, 1, ... depth units; larger ones weigh nothing */
    const float *space;   /* PC_DEPTH_BILATERAL_SIDE^2 weights of places */
    pc_maps maps;         /* when data is NULL */
    bool maps_on_device;  /* their pointers are the back end's; else the host's */
} pc_depth_image;

/* A frame that is ready to be a source or a target. `maps` is memory of the back end that made it. */
typedef struct pc_depth_frame {
    int levels; /* 0 is the finest */
    pc_depth_level level[PC_DEPTH_MAX_LEVELS];
    float *maps;
    size_t floats, bytes;     /* that `maps` needs and has */
    const uint16_t *image;    /* on a device: the depth image that it was made of, behind the maps; else NULL */
    pc_depth_measure measure; /* on CUDA known once a registration has used it */
    void *backend;            /* more that belongs to it */
} pc_depth_frame;

/* Sums of one pass over the source: those of pc_icp_step except two. */
enum {
    PC_DEPTH_LANDED = PC_ICP_D2,           /* pixels of the source that fall on one of the target that has a plane */
    PC_DEPTH_KERNEL_SUM = PC_ICP_EQUATIONS /* of the kernel's weights */
};

typedef struct pc_depth_step {
    float R[9], t[3];                 /* the pose: target = R source + t */
    float center[3];                  /* the rotation of an update is about this point */
    float max_correspondence_squared; /* of the distance of corresponding points */
    float kernel_squared;             /* of the kernel's scale, in standard deviations of a depth */
} pc_depth_step;

/* ---- levels ------------------------------------------------------------------------------------------------------ */

/* Tiles of so many rows. */
PC_HD int pc_depth_tiles(const pc_depth_level *l, int loads) {
    return (l->columns / PC_DEPTH_LANES) * (l->rows / loads);
}

PC_HD int pc_depth_groups(const pc_depth_level *l, int loads) {
    return (pc_depth_tiles(l, loads) + PC_DEPTH_GROUP - 1) / PC_DEPTH_GROUP;
}

/* The fewest loads that leave at most PC_DEPTH_BUSY groups: on a GPU, the sequential loads of a thread bound the time
 * of a pass over a small level. */
PC_HD int pc_depth_loads(const pc_depth_level *l) {
    int loads = PC_DEPTH_LOADS;
    while (loads > PC_DEPTH_FEWEST_LOADS && pc_depth_groups(l, loads / 2) <= PC_DEPTH_BUSY) {
        loads /= 2;
    }
    return loads;
}

PC_HD void pc_depth_level_init(pc_depth_level *l, int number, int width, int height, double fx, double fy, double cx,
                               double cy) {
    l->width = width;
    l->height = height;
    l->columns = (width + PC_DEPTH_LANES - 1) / PC_DEPTH_LANES * PC_DEPTH_LANES;
    l->rows = (height + PC_DEPTH_LOADS - 1) / PC_DEPTH_LOADS * PC_DEPTH_LOADS;
    l->loads = pc_depth_loads(l);
    l->fx = (float)fx;
    l->fy = (float)fy;
    l->cx = (float)cx;
    l->cy = (float)cy;
    l->per_fx = (float)(1.0 / fx);
    l->per_fy = (float)(1.0 / fy);
    l->stride = number == 0 ? (float)PC_DEPTH_STRIDE : 1.0f;
    const double edge = PC_DEPTH_SLOPE * PC_DEPTH_TAPS * (double)l->stride / fx;
    l->edge = (float)(edge < PC_DEPTH_LEAST_EDGE  ? PC_DEPTH_LEAST_EDGE
                      : edge < PC_DEPTH_MOST_EDGE ? edge
                                                  : PC_DEPTH_MOST_EDGE);
}

/* The number of the pixel behind a level's pixels that is none. */
PC_HD_ALWAYS int32_t pc_depth_nowhere(const pc_depth_level *l) {
    return l->columns * l->rows;
}

/* Floats of a level. */
PC_HD size_t pc_depth_floats(const pc_depth_level *l) {
    return PC_DEPTH_VALUES * ((size_t)l->columns * (size_t)l->rows + PC_DEPTH_LANES);
}

/* ---- sums of a frame --------------------------------------------------------------------------------------------- */

/* Places among PC_ICP_SUMS of the moments of all pixels and of the weighted ones; the rest stays 0. Moments: the sum of
 * weights, 3 of coordinates, 3 of their squares. */
enum { PC_DEPTH_N, PC_DEPTH_W = PC_DEPTH_N + 7, PC_DEPTH_MEASURES = PC_DEPTH_W + 7 };

/* Standard deviation of a depth, metres. */
PC_HD_ALWAYS float pc_depth_sigma(float z) {
    return PC_DEPTH_NOISE + PC_DEPTH_NOISE_SQUARE * (z * z);
}

/* Adds the moments of a pixel with the weight root^2 to sums that lie `stride` apart. */
PC_HD_ALWAYS void pc_depth_add_moments(float x, float y, float z, float root, float *sums, size_t stride) {
    const float rz = root * z, rx = x * rz, ry = y * rz;
    sums[0] += root * root;
    sums[stride] += root * rx;
    sums[2 * stride] += root * ry;
    sums[3 * stride] += root * rz;
    sums[4 * stride] += rx * rx;
    sums[5 * stride] += ry * ry;
    sums[6 * stride] += rz * rz;
}

/* Adds a pixel, once as it is and once with the weight of its noise. */
PC_HD_ALWAYS void pc_depth_add_measure(float x, float y, float z, float *sums, size_t stride) {
    const float one = z > 0.0f ? 1.0f : 0.0f;
    pc_depth_add_moments(x, y, z, one, sums + PC_DEPTH_N * stride, stride);
    pc_depth_add_moments(x, y, z, one * (PC_DEPTH_NOISE / pc_depth_sigma(z)), sums + PC_DEPTH_W * stride, stride);
}

/* The centroid and the rms distances from axes through it. */
PC_HD void pc_depth_spread_of(const double *moments, double center[3], double gyration[3]) {
    const double n = moments[0] > 0.0 ? moments[0] : 1.0;
    double spread[3];
    for (int k = 0; k < 3; k++) {
        center[k] = moments[1 + k] / n;
        spread[k] = moments[4 + k] / n - center[k] * center[k];
        spread[k] = spread[k] > 0.0 ? spread[k] : 0.0;
    }
    for (int k = 0; k < 3; k++) {
        const double length = sqrt(spread[(k + 1) % 3] + spread[(k + 2) % 3]);
        gyration[k] = length > 0.0 ? length : 1.0;
    }
}

PC_HD void pc_depth_measure_of(const double *sums, pc_depth_measure *m) {
    m->points = sums[PC_DEPTH_N];
    pc_depth_spread_of(sums + PC_DEPTH_N, m->center, m->gyration);
    pc_depth_spread_of(sums + PC_DEPTH_W, m->weighted_center, m->weighted_gyration);
}

/* ---- correspondences --------------------------------------------------------------------------------------------- */

/* Where a point of the source falls: the pixel of the target, and its number, which is pc_depth_nowhere outside. */
typedef struct pc_depth_landing {
    float x, y, z; /* the point in the target's frame */
    float u, v;    /* anything outside */
    int32_t at;
} pc_depth_landing;

PC_HD_ALWAYS void pc_depth_project(const pc_depth_step *s, const pc_depth_level *target, float x, float y, float z,
                                   pc_depth_landing *to) {
    const float px = x * z, py = y * z;
    to->x = ((s->R[0] * px + s->R[1] * py) + s->R[2] * z) + s->t[0];
    to->y = ((s->R[3] * px + s->R[4] * py) + s->R[5] * z) + s->t[1];
    to->z = ((s->R[6] * px + s->R[7] * py) + s->R[8] * z) + s->t[2];
    /* NaN fails */
    const bool ahead = (z > 0.0f) & (to->z >= PC_DEPTH_NEAREST) & (to->z <= PC_DEPTH_FARTHEST);
    const float per_z = pc_reciprocal(ahead ? to->z : 1.0f);
    const int32_t u = pc_nearest((target->fx * to->x) * per_z + target->cx, &to->u);
    const int32_t v = pc_nearest((target->fy * to->y) * per_z + target->cy, &to->v);
    const bool inside = ahead & ((uint32_t)u < (uint32_t)target->width) & ((uint32_t)v < (uint32_t)target->height);
    /* unsigned, since anything may come of what is outside */
    const uint32_t at = (uint32_t)v * (uint32_t)target->columns + (uint32_t)u;
    to->at = inside ? (int32_t)at : pc_depth_nowhere(target);
}

/* Adds the equation of a pixel to PC_ICP_SUMS sums that lie `stride` apart: (dx, dy, dz) leads to it from the target's
 * point there, which has a plane if it `lands`, with the normal (nx, ny, nz); `normal` is the source's. sigma: standard
 * deviation of the distance; least: of the best one's.
 *
 * With both_normals, j j^T is made of the normals of both frames, of each one: their noise is independent, so that on
 * the average only what the scene says is left, while the tilts that noise gives to one normal would constrain a
 * plane's every direction. */
PC_HD_ALWAYS void pc_depth_add_equation(bool both_normals, const pc_depth_step *s, const pc_depth_landing *to, float dx,
                                        float dy, float dz, bool lands, float sigma, float least, float normal_x,
                                        float normal_y, float normal_z, float nx, float ny, float nz, float *sums,
                                        size_t stride) {
    const float d2 = (dx * dx + dy * dy) + dz * dz;
    const float mx = (s->R[0] * normal_x + s->R[1] * normal_y) + s->R[2] * normal_z;
    const float my = (s->R[3] * normal_x + s->R[4] * normal_y) + s->R[5] * normal_z;
    const float mz = (s->R[6] * normal_x + s->R[7] * normal_y) + s->R[8] * normal_z;
    const float cosine = (mx * nx + my * ny) + mz * nz;
    const bool match = lands & (d2 <= s->max_correspondence_squared) & (cosine >= PC_DEPTH_COSINE);
    const float one = match ? 1.0f : 0.0f, landed = lands ? 1.0f : 0.0f;
    const float r = match ? (nx * dx + ny * dy) + nz * dz : 0.0f;
    const float ax = match ? to->x - s->center[0] : 0.0f, ay = match ? to->y - s->center[1] : 0.0f;
    const float az = match ? to->z - s->center[2] : 0.0f;
    /* The kernel's weight (Geman and McClure 1985) and the noise's, (least / sigma)^2, as squares of their roots: of
     * one division, whose divisor is the kernel's, and huge only where depths are out of all reason. */
    const float wide = s->kernel_squared * sigma, scale = wide * sigma, r2 = r * r, divisor = scale + r2;
    const float per = pc_reciprocal(divisor < 1e30f ? divisor : 1e30f);
    const float kernel = match ? scale * per : 0.0f, root = match ? (wide * least) * per : 0.0f;
    const float k = kernel * kernel, w = root * root;
    const float jx = ay * nz - az * ny, jy = az * nx - ax * nz, jz = ax * ny - ay * nx;
    float *sum = sums;
#define ADD(value) (*sum += (value), sum += stride)
    if (both_normals) {
        const float kx = ay * mz - az * my, ky = az * mx - ax * mz, kz = ax * my - ay * mx, v = 0.5f * w;
#define BOTH(a, b) ADD(v *(j##a * k##b + j##b * k##a))
        const float jr = nx, js = ny, jt = nz, kr = mx, ks = my, kt = mz;
        BOTH(x, x), BOTH(x, y), BOTH(x, z), BOTH(x, r), BOTH(x, s), BOTH(x, t);
        BOTH(y, y), BOTH(y, z), BOTH(y, r), BOTH(y, s), BOTH(y, t);
        BOTH(z, z), BOTH(z, r), BOTH(z, s), BOTH(z, t);
        BOTH(r, r), BOTH(r, s), BOTH(r, t), BOTH(s, s), BOTH(s, t), BOTH(t, t);
#undef BOTH
    } else {
        const float wx = w * jx, wy = w * jy, wz = w * jz, vx = w * nx, vy = w * ny, vz = w * nz;
        ADD(wx * jx), ADD(wx * jy), ADD(wx * jz), ADD(wx * nx), ADD(wx * ny), ADD(wx * nz);
        ADD(wy * jy), ADD(wy * jz), ADD(wy * nx), ADD(wy * ny), ADD(wy * nz);
        ADD(wz * jz), ADD(wz * nx), ADD(wz * ny), ADD(wz * nz);
        ADD(vx * nx), ADD(vx * ny), ADD(vx * nz), ADD(vy * ny), ADD(vy * nz), ADD(vz * nz);
    }
    const float wr = w * r;
    ADD(wr * jx), ADD(wr * jy), ADD(wr * jz), ADD(wr * nx), ADD(wr * ny), ADD(wr * nz);
    ADD(r2), ADD(landed), ADD(one), ADD(k), ADD(w * r2);
#undef ADD
}

/* The same of a depth image, whose pixel of depth z is where the plane meets the ray through its middle. */
PC_HD_ALWAYS void pc_depth_add(bool both_normals, const pc_depth_step *s, const pc_depth_level *target,
                               const pc_depth_landing *to, float normal_x, float normal_y, float normal_z, float nx,
                               float ny, float nz, float z, float *sums, size_t stride) {
    const float dx = to->x - ((to->u - target->cx) * target->per_fx) * z;
    const float dy = to->y - ((to->v - target->cy) * target->per_fy) * z;
    const float sigma = pc_depth_sigma(z);
    pc_depth_add_equation(both_normals, s, to, dx, dy, to->z - z, z > 0.0f, sigma, PC_DEPTH_NOISE, normal_x, normal_y,
                          normal_z, nx, ny, nz, sums, stride);
}

#endif
