/* Arithmetic of the maps of depth frames, shared by the CPU and the CUDA back end: depths of the levels, and the planes
 * that are fitted to them. projective_math.h says what maps are. */
#ifndef PC_ICP_DEPTH_MAPS_H
#define PC_ICP_DEPTH_MAPS_H

#include "projective_math.h"

/* ---- depths ------------------------------------------------------------------------------------------------------ */

/* 0 = none. */
PC_HD_ALWAYS float pc_depth_metres(uint16_t d, uint16_t low, uint16_t high, float scale) {
    return d >= low && d <= high ? (float)d / scale : 0.0f;
}

/* The weight of a neighbour in the bilateral filter (Tomasi and Manduchi 1998); both are within low and high. */
PC_HD_ALWAYS float pc_depth_bilateral_weight(const pc_depth_image *image, int place, int center, int neighbour) {
    int difference = center > neighbour ? center - neighbour : neighbour - center;
    return difference < image->range_size ? image->space[place] * image->range[difference] : 0.0f;
}

/* A pixel of the next level: the mean of those of its four that lie on the nearest surface. */
PC_HD_ALWAYS float pc_depth_halve(float a, float b, float c, float d, float edge) {
    const float none = 3e38f;
    float low = a > 0.0f ? a : none;
    low = b > 0.0f && b < low ? b : low;
    low = c > 0.0f && c < low ? c : low;
    low = d > 0.0f && d < low ? d : low;
    const float high = low + edge * low;
    float sum = 0.0f, count = 0.0f;
    sum += a > 0.0f && a <= high ? a : 0.0f, count += a > 0.0f && a <= high ? 1.0f : 0.0f;
    sum += b > 0.0f && b <= high ? b : 0.0f, count += b > 0.0f && b <= high ? 1.0f : 0.0f;
    sum += c > 0.0f && c <= high ? c : 0.0f, count += c > 0.0f && c <= high ? 1.0f : 0.0f;
    sum += d > 0.0f && d <= high ? d : 0.0f, count += d > 0.0f && d <= high ? 1.0f : 0.0f;
    return count > 0.0f ? sum / count : 0.0f;
}

/* ---- planes ------------------------------------------------------------------------------------------------------ */

/* The inverse depth of a plane is linear in the pixel's column and row, so that a plane is fitted without bias, however
 * steep, by linear least squares on 1 / z. Moments of the window, of steps i and j from the pixel and the differences d
 * of inverse depths from its own; sums of whole numbers are exact. */
typedef struct pc_depth_moments {
    float n, i, j, ii, ij, jj, d, id, jd;
} pc_depth_moments;

/* One row of the window. */
typedef struct pc_depth_row {
    float n, i, ii, d, id;
} pc_depth_row;

/* Adds a neighbour `i` steps to the right. z = 0 is never within the edge. */
PC_HD_ALWAYS void pc_depth_tap(pc_depth_row *row, float i, float z, float inverse, float center_z, float center_inverse,
                               float edge) {
    const float n = fabsf(z - center_z) <= edge ? 1.0f : 0.0f, d = n * (inverse - center_inverse);
    row->n += n;
    row->i += i * n;
    row->ii += (i * i) * n;
    row->d += d;
    row->id += i * d;
}

PC_HD_ALWAYS void pc_depth_add_row(pc_depth_moments *m, float j, const pc_depth_row *row) {
    m->n += row->n;
    m->i += row->i;
    m->j += j * row->n;
    m->ii += row->ii;
    m->ij += j * row->i;
    m->jj += (j * j) * row->n;
    m->d += row->d;
    m->id += row->id;
    m->jd += j * row->d;
}

/* The plane of a pixel: normal and depth, all 0 when there is none. x and y: of its ray, whose z is 1. */
PC_HD_ALWAYS void pc_depth_plane_of(const pc_depth_moments *m, const pc_depth_level *l, float x, float y,
                                    float center_z, float center_inverse, float plane[PC_DEPTH_VALUES]) {
    const float per_n = 1.0f / (m->n > 0.0f ? m->n : 1.0f);
    const float mi = m->i * per_n, mj = m->j * per_n, md = m->d * per_n;
    const float cii = m->ii - m->i * mi, cij = m->ij - m->i * mj, cjj = m->jj - m->j * mj;
    const float ci = m->id - m->i * md, cj = m->jd - m->j * md;
    const float spread = cii * cjj - cij * cij;
    /* bitwise here and below, since branches would keep loops from being vectorized */
    const bool is_plane = (center_z > 0.0f) & (m->n >= (float)PC_DEPTH_FEWEST) & (spread > PC_DEPTH_SPREAD);
    const float per_spread = 1.0f / (is_plane ? spread : 1.0f);
    const float a = (ci * cjj - cj * cij) * per_spread, b = (cj * cii - ci * cij) * per_spread;
    const float inverse = center_inverse + ((md - a * mi) - b * mj);
    /* 1 / z = a u + b v + c makes the plane A x + B y + C z = 1 */
    const float A = a * l->fx / l->stride, B = b * l->fy / l->stride;
    const float C = inverse - A * x - B * y;
    const float length = sqrtf((A * A + B * B) + C * C);
    const bool good = is_plane & (inverse > 0.0f) & (length > 0.0f);
    const float facing = -1.0f / length, depth = 1.0f / inverse, scale = good ? facing : 0.0f;
    plane[PC_DEPTH_NX] = A * scale;
    plane[PC_DEPTH_NY] = B * scale;
    plane[PC_DEPTH_NZ] = C * scale;
    plane[PC_DEPTH_Z] = good ? depth : 0.0f;
}

/* The depth of a pixel of maps; 0 = none. Planes are fitted to these as to a camera's: where a surface bends, a plane
 * of a window differs from the surface, and only when those of both frames do so alike do they lie on each other. With
 * the model's own vertices and normals, depth odometry drifted several times as far. */
PC_HD_ALWAYS float pc_depth_given(const float *vertex) {
    const float z = vertex[2];
    return z > 0.0f && z - z == 0.0f ? z : 0.0f; /* NaN is none */
}

#endif
