/* Arithmetic and data of the registration of LiDAR scans through range images, shared by the CPU and the CUDA back end.
 *
 * A range image is what a turning scanner sees: columns are azimuths around the full circle, counterclockwise from the
 * x axis, rows are elevations from the top. It is a frame of icp_depth.h with another projection; what a pixel holds
 * differs, since a laser ring is no row and a return is anywhere in its pixel: the point itself with its range, and the
 * normal of a plane fitted to the points of the 3 x 3 pixels around it. A level has half the columns of the one below
 * and all rows, rings being few; a pixel is the nearer one of its two.
 *
 * An iteration is that of depth images. Planes are fitted as inverse depths, too, along the pixel's own line of sight,
 * so that they are exact for any slope (as Badino, Huber, Park and Kanade 2011 do for range images), and road and walls
 * at a grazing angle count. */
#ifndef PC_ICP_RANGE_H
#define PC_ICP_RANGE_H

#include "icp_depth_maps.h"

#include <float.h>

enum { PC_RANGE_FEWEST = 4 }; /* points that make a plane, of 9 */

/* Neighbours belong to the surface of a point when their ranges differ by no more than this share of it. */
#define PC_RANGE_EDGE 0.1f
/* Of the determinant of the window's moments to their product: points on a line make no plane. */
#define PC_RANGE_SPREAD 0.05f
/* Standard deviation of a point's distance from the surface: a laser's own, and what roughness adds. */
#define PC_RANGE_NOISE 0.03f
/* The kernel of a level is so many times as wide as that of the one below. Scans of a car begin half a metre apart. */
#define PC_RANGE_WIDENING 4.0

/* ---- data ------------------------------------------------------------------------------------------------------- */

/* What is known of a pixel: the first four as pc_depth_value, with the range in place of the depth, and then the point.
 * All 0 = no point; range 0 = a point without a plane counts as none. */
enum { PC_RANGE_X = PC_DEPTH_VALUES, PC_RANGE_Y, PC_RANGE_Z, PC_RANGE_VALUES = 8 };

/* Points of a scan as separate arrays; (0, 0, 0) = none. */
typedef struct pc_range_points {
    int64_t n; /* at most INT32_MAX */
    const float *x, *y, *z;
} pc_range_points;

/* The point of a pixel is that with the least key: the nearest, and of those the first. */
PC_HD_ALWAYS uint64_t pc_range_key(uint32_t bits_of_range, int32_t index) {
    return (uint64_t)bits_of_range << 32 | (uint32_t)index;
}
#define PC_RANGE_NO_KEY UINT64_MAX

/* ---- angles ----------------------------------------------------------------------------------------------------- */

/* The angle of (along, up) in turns, 0 to 1/4; neither is negative. 0 for (0, 0). A minimax polynomial of degree 13 for
 * the arctangent, found by Remez' algorithm, in place of a library's, which differ: it is wrong by less than 8e-8 turns
 * (half a microradian, a ten thousandth of a pixel), the rounding of float32 included. */
PC_HD_ALWAYS float pc_quarter_turns(float along, float up) {
    const bool steep = up > along;
    const float large = steep ? up : along, small = steep ? along : up;
    const float t = small / (large > 0.0f ? large : 1.0f), s = t * t;
    float p = 0.00108413049f;
    p = p * s - 0.00534827774f;
    p = p * s + 0.0126725007f;
    p = p * s - 0.0210615173f;
    p = p * s + 0.0315251164f;
    p = p * s - 0.0530262366f;
    p = p * s + 0.159154326f;
    p = p * t;
    return steep ? 0.25f - p : p;
}

/* Counterclockwise from the x axis, 0 to 1; 1 itself where a small negative angle rounds to it. */
PC_HD_ALWAYS float pc_azimuth_turns(float x, float y) {
    const float quarter = pc_quarter_turns(fabsf(x), fabsf(y)), half = x < 0.0f ? 0.5f - quarter : quarter;
    return y < 0.0f ? 1.0f - half : half;
}

/* Above the horizon, -1/4 to 1/4. level: the distance along it, 0 or more. */
PC_HD_ALWAYS float pc_elevation_turns(float level, float z) {
    const float quarter = pc_quarter_turns(level, fabsf(z));
    return z < 0.0f ? -quarter : quarter;
}

/* ---- levels ----------------------------------------------------------------------------------------------------- */

/* width: a multiple of PC_DEPTH_LANES. low and high: the edges of the image, in turns above the horizon. fx and fy
 * are pixels a turn. */
PC_HD void pc_range_level_init(pc_depth_level *l, int width, int height, double low, double high) {
    const double per_turn = (double)height / (high - low);
    l->width = l->columns = width;
    l->height = height;
    l->rows = (height + PC_DEPTH_LOADS - 1) / PC_DEPTH_LOADS * PC_DEPTH_LOADS;
    l->loads = PC_DEPTH_LOADS; /* fewer make a CPU a third slower, and a GPU has more to do before and after */
    l->fx = (float)width;
    l->fy = (float)per_turn;
    l->cx = 0.0f;
    l->cy = (float)(per_turn * high);
    l->per_fx = (float)(1.0 / width);
    l->per_fy = (float)(1.0 / per_turn);
    l->stride = 1.0f;
    l->edge = PC_RANGE_EDGE;
}

/* Floats of a level, with the pixel behind it that is none. */
PC_HD size_t pc_range_floats(const pc_depth_level *l) {
    return PC_RANGE_VALUES * ((size_t)l->columns * (size_t)l->rows + PC_DEPTH_LANES);
}

/* The pixel of a point, which is pc_depth_nowhere above, below, at the origin and for what is not finite. */
PC_HD_ALWAYS int32_t pc_range_pixel(const pc_depth_level *l, float x, float y, float z, float *range) {
    const float h2 = x * x + y * y, level = sqrtf(h2), r = sqrtf(h2 + z * z);
    const float u = pc_azimuth_turns(x, y) * l->fx, v = l->cy - pc_elevation_turns(level, z) * l->fy;
    const bool inside = (r > 0.0f) & (r <= FLT_MAX) & (v >= 0.0f) & (v < (float)l->height); /* NaN fails */
    const int32_t column = (int32_t)(inside & (u < l->fx) ? u : 0.0f); /* from 360 degrees round to 0 */
    const int32_t at = (int32_t)(inside ? v : 0.0f) * l->columns + column;
    *range = inside ? r : 0.0f;
    return inside ? at : pc_depth_nowhere(l);
}

/* Whether the left one of two pixels becomes that of the next level. */
PC_HD_ALWAYS bool pc_range_takes_left(float left, float right) {
    return (left > 0.0f) & ((right <= 0.0f) | (left <= right));
}

/* ---- planes ----------------------------------------------------------------------------------------------------- */

/* A pixel's point and the axes of its line of sight: ahead, horizontally to the left, and upright to both. */
typedef struct pc_range_sight {
    float range, inverse; /* 1 / range */
    float ahead_x, ahead_y, ahead_z, left_x, left_y, up_x, up_y, up_z;
} pc_range_sight;

PC_HD_ALWAYS void pc_range_sight_of(float x, float y, float z, float range, pc_range_sight *s) {
    const float h = sqrtf(x * x + y * y), per_h = 1.0f / (h > 0.0f ? h : 1.0f);
    s->range = range;
    s->inverse = 1.0f / (range > 0.0f ? range : 1.0f);
    s->ahead_x = x * s->inverse;
    s->ahead_y = y * s->inverse;
    s->ahead_z = z * s->inverse;
    s->left_x = -(y * per_h);
    s->left_y = h > 0.0f ? x * per_h : 1.0f;
    s->up_x = -(s->ahead_z * s->left_y);
    s->up_y = s->ahead_z * s->left_x;
    s->up_z = s->ahead_x * s->left_y - s->ahead_y * s->left_x;
}

/* The pixel itself, at (0, 0) in the image plane of its sight. */
PC_HD_ALWAYS pc_depth_moments pc_range_moments(void) {
    const pc_depth_moments m = {1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    return m;
}

/* Adds a neighbour, seen at (i, j) in the image plane. A range of 0 is never within the edge. */
PC_HD_ALWAYS void pc_range_tap(pc_depth_moments *m, const pc_range_sight *s, float x, float y, float z, float range,
                               float edge) {
    const float depth = (x * s->ahead_x + y * s->ahead_y) + z * s->ahead_z;
    const bool near = (fabsf(range - s->range) <= edge) & (depth > 0.0f);
    const float n = near ? 1.0f : 0.0f, inverse = 1.0f / (near ? depth : 1.0f), scale = n * inverse;
    const float i = (x * s->left_x + y * s->left_y) * scale;
    const float j = ((x * s->up_x + y * s->up_y) + z * s->up_z) * scale;
    const float d = n * (inverse - s->inverse);
    m->n += n;
    m->i += i;
    m->j += j;
    m->ii += i * i;
    m->ij += i * j;
    m->jj += j * j;
    m->d += d;
    m->id += i * d;
    m->jd += j * d;
}

/* The unit normal, which faces the scanner, and the range; all 0 when there is no plane. */
PC_HD_ALWAYS void pc_range_plane_of(const pc_depth_moments *m, const pc_range_sight *s, float plane[PC_DEPTH_VALUES]) {
    const float per_n = 1.0f / m->n, mi = m->i * per_n, mj = m->j * per_n, md = m->d * per_n;
    const float cii = m->ii - m->i * mi, cij = m->ij - m->i * mj, cjj = m->jj - m->j * mj;
    const float ci = m->id - m->i * md, cj = m->jd - m->j * md;
    const float spread = cii * cjj - cij * cij;
    const bool is_plane = (s->range > 0.0f) & (m->n >= (float)PC_RANGE_FEWEST) & (cii > 0.0f) & (cjj > 0.0f) &
                          (spread > PC_RANGE_SPREAD * (cii * cjj));
    const float per_spread = 1.0f / (is_plane ? spread : 1.0f);
    /* 1 / depth = a i + b j + c makes the plane a X + b Y + c Z = 1 in the axes of the sight */
    const float a = (ci * cjj - cj * cij) * per_spread, b = (cj * cii - ci * cij) * per_spread;
    const float c = s->inverse + ((md - a * mi) - b * mj);
    const float length = sqrtf((a * a + b * b) + c * c);
    const bool good = is_plane & (c > 0.0f) & (length <= FLT_MAX);
    const float scale = -1.0f / (good ? length : 1.0f);
    const float x = (a * s->left_x + b * s->up_x) + c * s->ahead_x;
    const float y = (a * s->left_y + b * s->up_y) + c * s->ahead_y;
    const float z = b * s->up_z + c * s->ahead_z;
    plane[PC_DEPTH_NX] = good ? x * scale : 0.0f;
    plane[PC_DEPTH_NY] = good ? y * scale : 0.0f;
    plane[PC_DEPTH_NZ] = good ? z * scale : 0.0f;
    plane[PC_DEPTH_Z] = good ? s->range : 0.0f;
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

/* As pc_depth_add_measure, of a pixel with a plane (range > 0). */
PC_HD_ALWAYS void pc_range_add_measure(float range, float x, float y, float z, float *sums, size_t stride) {
    const bool is = range > 0.0f;
    const float px = is ? x : 0.0f, py = is ? y : 0.0f, pz = is ? z : 0.0f;
    sums[PC_DEPTH_N * stride] += is ? 1.0f : 0.0f;
    sums[PC_DEPTH_X * stride] += px;
    sums[(PC_DEPTH_X + 1) * stride] += py;
    sums[(PC_DEPTH_X + 2) * stride] += pz;
    sums[PC_DEPTH_XX * stride] += px * px;
    sums[(PC_DEPTH_XX + 1) * stride] += py * py;
    sums[(PC_DEPTH_XX + 2) * stride] += pz * pz;
}

/* Where a point of the source with a plane (range > 0) falls; u and v are not used. */
PC_HD_ALWAYS void pc_range_project(const pc_depth_step *s, const pc_depth_level *target, float range, float x, float y,
                                   float z, pc_depth_landing *to) {
    float moved;
    to->x = ((s->R[0] * x + s->R[1] * y) + s->R[2] * z) + s->t[0];
    to->y = ((s->R[3] * x + s->R[4] * y) + s->R[5] * z) + s->t[1];
    to->z = ((s->R[6] * x + s->R[7] * y) + s->R[8] * z) + s->t[2];
    to->u = to->v = 0.0f;
    const int32_t at = pc_range_pixel(target, to->x, to->y, to->z, &moved);
    to->at = range > 0.0f ? at : pc_depth_nowhere(target);
}

/* As pc_depth_add; there: what the target has at the pixel, by its values. */
PC_HD_ALWAYS void pc_range_add(bool both_normals, const pc_depth_step *s, const pc_depth_landing *to, float normal_x,
                               float normal_y, float normal_z, float nx, float ny, float nz, float range, float x,
                               float y, float z, float *sums, size_t stride) {
    pc_depth_add_equation(both_normals, s, to, to->x - x, to->y - y, to->z - z, range > 0.0f, PC_RANGE_NOISE,
                          PC_RANGE_NOISE, normal_x, normal_y, normal_z, nx, ny, nz, sums, stride);
}

#endif
