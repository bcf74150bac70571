/* Arithmetic and data of method ndt, shared by the back ends. lib/register/ndt/ndt.c describes the method.
 *
 * Points are rounded to whole fixed-point units, 2^PC_NDT_BITS to the edge of a finest voxel. Sums over points are
 * integers, so neither threads nor blocks nor vectors change them. Voxels are numbered from 1 in the order of their
 * first point. Sums over voxels use PC_NDT_LANES lanes, voxel i in lane i modulo PC_NDT_LANES: in float32 over the
 * voxels of a chunk, then in float64 the lanes by halving, then the chunks, all in order. */
#ifndef PC_NDT_MATH_H
#define PC_NDT_MATH_H

#include "icp_math.h"

enum {
    PC_NDT_BITS = 10,            /* of a coordinate within a finest voxel */
    PC_NDT_AXIS_BITS = 20,       /* of the number of a finest voxel on an axis */
    PC_NDT_MAX_LEVELS = 6,       /* keeps the sums below in range */
    PC_NDT_MAX_SOURCE = 1 << 20, /* points of a pass: their sums of BITS bits fit 31 */
    PC_NDT_MAX_COARSE = 1 << 15, /* the same at levels whose voxels are up to 2^5 finest ones wide */
    PC_NDT_MIN_POINTS = 4,       /* of the target; a voxel with fewer has no weight */
    PC_NDT_MIN_PLANE = 4,        /* of the target, to be called a plane */
    PC_NDT_LANES = 16,
    PC_NDT_CHUNK = 32 * PC_NDT_LANES,
    PC_NDT_OUT = INT32_MIN, /* coordinate of a point outside the target's box: negative in every grid */
};

/* ---- points to fixed-point units --------------------------------------------------------------------------------- */

/* Fixed-point units of a point: floor(m (x, y, z, 1)), valid in [0, limit) on all axes. */
typedef struct pc_ndt_map {
    float m[12];
    float limit[3]; /* at most 2^30 */
} pc_ndt_map;

/* value = 0 when it is not in [0, limit); compare the result with the original to find out. The input is never NaN; the
 * result fits an int32. */
PC_HD_ALWAYS float pc_ndt_clamp(float value, float limit) {
    float above = value >= 0.0f ? value : 0.0f;
    return above < limit ? above : 0.0f;
}

PC_HD_ALWAYS void pc_ndt_quantize(const pc_ndt_map *map, float x, float y, float z, int32_t u[3]) {
    const float *m = map->m;
    float a = ((m[0] * x + m[1] * y) + m[2] * z) + m[3];
    float b = ((m[4] * x + m[5] * y) + m[6] * z) + m[7];
    float c = ((m[8] * x + m[9] * y) + m[10] * z) + m[11];
    float ca = pc_ndt_clamp(a, map->limit[0]);
    float cb = pc_ndt_clamp(b, map->limit[1]);
    float cc = pc_ndt_clamp(c, map->limit[2]);
    bool in = (ca == a) & (cb == b) & (cc == c);
    int32_t ia = (int32_t)ca, ib = (int32_t)cb, ic = (int32_t)cc;
    u[0] = in ? ia : PC_NDT_OUT;
    u[1] = in ? ib : PC_NDT_OUT;
    u[2] = in ? ic : PC_NDT_OUT;
}

PC_HD uint64_t pc_ndt_key(uint32_t cx, uint32_t cy, uint32_t cz) {
    const int bits = PC_NDT_AXIS_BITS + 1; /* the second grid has a voxel more on every axis */
    return ((((uint64_t)cz << bits) | cy) << bits) | cx;
}

PC_HD_ALWAYS void pc_ndt_split_key(uint64_t key, uint32_t c[3]) {
    const int bits = PC_NDT_AXIS_BITS + 1;
    for (int k = 0; k < 3; k++) {
        c[k] = (uint32_t)(key >> (bits * k)) & ((1u << bits) - 1);
    }
}

/* Of the parent of a voxel, at the next wider level: that which has its centre; a face of two is of the second. */
PC_HD_ALWAYS uint64_t pc_ndt_parent_key(uint64_t key) {
    uint32_t c[3];
    pc_ndt_split_key(key, c);
    return pc_ndt_key(c[0] >> 1, c[1] >> 1, c[2] >> 1);
}

/* ---- voxels of the target ---------------------------------------------------------------------------------------- */

/* Of points in a voxel, in fixed-point units from its lower corner. */
typedef struct pc_ndt_moments {
    int64_t n, x, y, z, xx, xy, xz, yy, yz, zz;
} pc_ndt_moments;

/* The same from another corner, which lies (dx, dy, dz) fixed-point units before theirs. */
PC_HD_ALWAYS pc_ndt_moments pc_ndt_moved(const pc_ndt_moments *m, int64_t dx, int64_t dy, int64_t dz) {
    pc_ndt_moments moved = {m->n,
                            m->x + m->n * dx,
                            m->y + m->n * dy,
                            m->z + m->n * dz,
                            m->xx + dx * (2 * m->x + m->n * dx),
                            m->xy + dx * m->y + dy * (m->x + m->n * dx),
                            m->xz + dx * m->z + dz * (m->x + m->n * dx),
                            m->yy + dy * (2 * m->y + m->n * dy),
                            m->yz + dy * m->z + dz * (m->y + m->n * dy),
                            m->zz + dz * (2 * m->z + m->n * dz)};
    return moved;
}

/* Data of PC_NDT_LANES target voxels for an iteration. A voxel that is all zero has no weight. */
typedef struct pc_ndt_block {
    float n[PC_NDT_LANES];         /* points; 0 when there are too few */
    float seen[PC_NDT_LANES];      /* 1 when there are enough, else 0 */
    float inside[3][PC_NDT_LANES]; /* the mean, fixed-point units from the voxel's lower corner */
    float mean[3][PC_NDT_LANES];   /* the mean, metres from the target's centroid */
    float line[PC_NDT_LANES];      /* 1 / s^2 of a line whose parent has a normal, else 0 */
    float weight[6][PC_NDT_LANES]; /* W = s^2 (C + s^2 I)^-2: upper triangle by rows, 1/m^2 */
    float normal[6][PC_NDT_LANES]; /* t^8 (C + t^2 I)^-4, nearly n n^T of the unit normal of a plane, or that of the
                                      parent; 0 without a plane */
} pc_ndt_block;

/* Limits of a plane, as ratios of variances: thickness to second extent, and second extent to the voxel's edge. Scale
 * in edges below which thickness does not matter. */
#define PC_NDT_PLANE_THICKNESS 0.1
#define PC_NDT_PLANE_EXTENT    0.003
#define PC_NDT_PLANE_SCALE     0.06

/* A symmetric 3x3 matrix. */
typedef struct pc_ndt_matrix {
    double xx, xy, xz, yy, yz, zz;
} pc_ndt_matrix;

/* (C + s2 I)^-1 */
PC_HD_ALWAYS pc_ndt_matrix pc_ndt_inverse(pc_ndt_matrix c, double s2) {
    double a = c.xx + s2, b = c.yy + s2, d = c.zz + s2;
    pc_ndt_matrix m = {b * d - c.yz * c.yz, c.xz * c.yz - c.xy * d, c.xy * c.yz - c.xz * b,
                       a * d - c.xz * c.xz, c.xy * c.xz - a * c.yz, a * b - c.xy * c.xy};
    double scale = 1.0 / ((a * m.xx + c.xy * m.xy) + c.xz * m.xz);
    pc_ndt_matrix inverse = {m.xx * scale, m.xy * scale, m.xz * scale, m.yy * scale, m.yz * scale, m.zz * scale};
    return inverse;
}

PC_HD_ALWAYS pc_ndt_matrix pc_ndt_square(pc_ndt_matrix m) {
    pc_ndt_matrix square = {(m.xx * m.xx + m.xy * m.xy) + m.xz * m.xz, (m.xx * m.xy + m.xy * m.yy) + m.xz * m.yz,
                            (m.xx * m.xz + m.xy * m.yz) + m.xz * m.zz, (m.xy * m.xy + m.yy * m.yy) + m.yz * m.yz,
                            (m.xy * m.xz + m.yy * m.yz) + m.yz * m.zz, (m.xz * m.xz + m.yz * m.yz) + m.zz * m.zz};
    return square;
}

/* rows[.][l] = scale (m - less n) */
PC_HD_ALWAYS void pc_ndt_store(float (*rows)[PC_NDT_LANES], int l, double scale, pc_ndt_matrix m, double less,
                               pc_ndt_matrix n) {
    rows[0][l] = (float)(scale * (m.xx - less * n.xx));
    rows[1][l] = (float)(scale * (m.xy - less * n.xy));
    rows[2][l] = (float)(scale * (m.xz - less * n.xz));
    rows[3][l] = (float)(scale * (m.yy - less * n.yy));
    rows[4][l] = (float)(scale * (m.yz - less * n.yz));
    rows[5][l] = (float)(scale * (m.zz - less * n.zz));
}

PC_HD_ALWAYS pc_ndt_matrix pc_ndt_either(int first, pc_ndt_matrix a, pc_ndt_matrix b) {
    pc_ndt_matrix m = {first ? a.xx : b.xx, first ? a.xy : b.xy, first ? a.xz : b.xz,
                       first ? a.yy : b.yy, first ? a.yz : b.yz, first ? a.zz : b.zz};
    return m;
}

/* Fills lane l of a block. m: 10 moments as float64, in the order of pc_ndt_moments; corner: of the voxel, metres from
 * the target's centroid; parent: the rows of `normal` of the voxel's parent, 0 without one; all with `stride` from
 * value to value. unit and edge in metres; s2: the square of the regularization sigma s. Branch-free, so that it
 * vectorizes.
 *
 * A voxel on the ground often holds a piece of one laser ring. Its covariance is that of a line, and W constrains the
 * direction across the ring, which is only the sampling pattern and moves with the sensor. Such a voxel takes the
 * normal of its parent, which sees more rings; n n^T / s^2 leaves both directions along the plane free. W serves where
 * the sensor did not move (pc_ndt_take_lines). */
PC_HD_ALWAYS void pc_ndt_finish(const double *m, const double *corner, const double *parent, int stride, double unit,
                                double edge, double s2, pc_ndt_block *block, int l) {
    double n = m[0], per = 1.0 / (n + (double)(n < 1.0)), q2 = unit * unit;
    double x = m[stride] * per, y = m[2 * stride] * per, z = m[3 * stride] * per;
    pc_ndt_matrix c = {(m[4 * stride] * per - x * x) * q2, (m[5 * stride] * per - x * y) * q2,
                       (m[6 * stride] * per - x * z) * q2, (m[7 * stride] * per - y * y) * q2,
                       (m[8 * stride] * per - y * z) * q2, (m[9 * stride] * per - z * z) * q2};
    double seen = (double)(n >= (double)PC_NDT_MIN_POINTS);
    block->n[l] = (float)(seen * n);
    block->seen[l] = (float)seen;
    block->inside[0][l] = (float)x;
    block->inside[1][l] = (float)y;
    block->inside[2][l] = (float)z;
    block->mean[0][l] = (float)(corner[0] + (x + 0.5) * unit);
    block->mean[1][l] = (float)(corner[stride] + (y + 0.5) * unit);
    block->mean[2][l] = (float)(corner[2 * stride] + (z + 0.5) * unit);
    /* Eigenvalues a <= b <= c of the covariance: a is about det / minors, b about minors / trace. */
    double trace = (c.xx + c.yy) + c.zz;
    double minors = ((c.xx * c.yy - c.xy * c.xy) + (c.xx * c.zz - c.xz * c.xz)) + (c.yy * c.zz - c.yz * c.yz);
    double det =
        (c.xx * (c.yy * c.zz - c.yz * c.yz) - c.xy * (c.xy * c.zz - c.yz * c.xz)) + c.xz * (c.xy * c.yz - c.yy * c.xz);
    int flat = det * trace <= PC_NDT_PLANE_THICKNESS * (minors * minors);
    int wide = minors >= PC_NDT_PLANE_EXTENT * (edge * edge) * trace;
    double plane = (double)(flat & wide & (n >= (double)PC_NDT_MIN_PLANE));
    /* Noise tilts the normal. Its mean component along the plane, a / (n b), is subtracted. */
    double tilt = det / ((minors + 1e-300) * (n + (double)(n < 4.0) * 4.0 - 3.0));
    double t2 = PC_NDT_PLANE_SCALE * PC_NDT_PLANE_SCALE * (edge * edge), t4 = t2 * t2;
    pc_ndt_matrix from = {parent[0],          parent[stride],     parent[2 * stride],
                          parent[3 * stride], parent[4 * stride], parent[5 * stride]};
    int takes = !wide & (seen > 0.0) & ((from.xx + from.yy) + from.zz > 0.0);
    pc_ndt_matrix inverse = pc_ndt_inverse(c, t2), normal = pc_ndt_square(pc_ndt_square(inverse));
    /* n n^T by its square: without its tilt it may be slightly negative along the plane. */
    pc_ndt_store(block->normal, l, takes ? 1.0 : plane * (t4 * t4), pc_ndt_either(takes, pc_ndt_square(from), normal),
                 takes ? 0.0 : tilt / (t4 * t4), inverse);
    pc_ndt_store(block->weight, l, seen * s2, pc_ndt_square(pc_ndt_inverse(c, s2)), 0.0, inverse);
    block->line[l] = (float)((double)takes / s2);
}

/* ---- one step ---------------------------------------------------------------------------------------------------- */

/* Flags are floats: a branch on a flag would keep compilers from vectorizing over the lanes. */
typedef struct pc_ndt_step {
    float unit;           /* metres */
    float rotation[9];    /* the motion since the pass: p + rotation p + translation, p from the target's centroid */
    float translation[3]; /* zero at first */
    float points;         /* source points per point of the part, >= 1 */
    float most;           /* number of points at which a voxel has half of the largest weight */
    float kernel;         /* k^2 of the squared Geman-McClure kernel (k^2 / (k^2 + r^2))^2 */
    float robust;         /* 1: weights with the kernel; 0: without */
    float parents;        /* 1: lines have the normals of their parents; 0: their own weights */
    float planes;         /* 1: J^T W J of the normals alone; 0: of the weights */
} pc_ndt_step;

/* Sums of a step: JJ and JR as in icp_math.h, then these. */
enum {
    PC_NDT_OBJECTIVE = 27, /* sum of w k^2 / (k^2 + r^2), which the iteration maximizes */
    PC_NDT_R2 = 28,        /* sum of the robustly weighted squared residuals, in units of the regularization sigma */
    PC_NDT_D2 = 29,        /* sum of the squared distances of source mean and target mean, a point of the source each */
    PC_NDT_POINTS = 30,    /* points of the source in voxels of the target */
    PC_NDT_VOXELS = 31,    /* voxels that both have */
    PC_NDT_SUMS = 32
};

/* Adds the voxel of lane l: points of the source and the sums of their fixed-point units from the voxel's lower corner.
 * sums: lane l of PC_NDT_SUMS rows of `stride`. */
PC_HD_ALWAYS void pc_ndt_add(const pc_ndt_step *step, const pc_ndt_block *block, int l, int32_t points, int32_t sum_x,
                             int32_t sum_y, int32_t sum_z, float *sums, int stride) {
    int32_t some = points > 0;
    float n = (float)points, target = block->n[l], per = step->unit / (float)(points + 1 - some);
    float dx = (float)sum_x * per - block->inside[0][l] * step->unit;
    float dy = (float)sum_y * per - block->inside[1][l] * step->unit;
    float dz = (float)sum_z * per - block->inside[2][l] * step->unit;
    float x = block->mean[0][l] + dx, y = block->mean[1][l] + dy, z = block->mean[2][l] + dz;
    const float *turn = step->rotation, *shift = step->translation;
    float ex = ((turn[0] * x + turn[1] * y) + turn[2] * z) + shift[0];
    float ey = ((turn[3] * x + turn[4] * y) + turn[5] * z) + shift[1];
    float ez = ((turn[6] * x + turn[7] * y) + turn[8] * z) + shift[2];
    x += ex, y += ey, z += ez;
    dx += ex, dy += ey, dz += ez;
    float line = step->parents * block->line[l], own = line > 0.0f ? 0.0f : 1.0f;
    float nxx = block->normal[0][l], nxy = block->normal[1][l], nxz = block->normal[2][l];
    float nyy = block->normal[3][l], nyz = block->normal[4][l], nzz = block->normal[5][l];
    float wxx = own * block->weight[0][l] + line * nxx, wxy = own * block->weight[1][l] + line * nxy;
    float wxz = own * block->weight[2][l] + line * nxz, wyy = own * block->weight[3][l] + line * nyy;
    float wyz = own * block->weight[4][l] + line * nyz, wzz = own * block->weight[5][l] + line * nzz;
    float gx = (wxx * dx + wxy * dy) + wxz * dz;
    float gy = (wxy * dx + wyy * dy) + wyz * dz;
    float gz = (wxz * dx + wyz * dy) + wzz * dz;
    float r2 = (gx * dx + gy * dy) + gz * dz;
    /* The variance of the difference of two means is that of a point times 1/n + 1/target. */
    float s = n * step->points, h = s * target / (s + target + 1e-20f);
    float w = h / (1.0f + h / step->most); /* 0 where either has no points */
    float k = step->kernel / (step->kernel + r2), objective = w * k;
    float count = n * block->seen[l], voxel = (float)some * block->seen[l];
    w *= step->robust * (k * k) + (1.0f - step->robust);
    float planes = step->planes, others = 1.0f - planes;
    wxx = w * (others * wxx + planes * nxx);
    wxy = w * (others * wxy + planes * nxy);
    wxz = w * (others * wxz + planes * nxz);
    wyy = w * (others * wyy + planes * nyy);
    wyz = w * (others * wyz + planes * nyz);
    wzz = w * (others * wzz + planes * nzz);
    gx *= w, gy *= w, gz *= w;
    /* The rows of J^T W with J = [-[p]x, I]: rotation first. */
    float axx = y * wxz - z * wxy, axy = y * wyz - z * wyy, axz = y * wzz - z * wyz;
    float ayx = z * wxx - x * wxz, ayy = z * wxy - x * wyz, ayz = z * wxz - x * wzz;
    float azx = x * wxy - y * wxx, azy = x * wyy - y * wxy, azz = x * wyz - y * wxz;
    float *to = sums;
#define ADD(value) (*to += (value), to += stride)
    ADD(y * axz - z * axy), ADD(z * axx - x * axz), ADD(x * axy - y * axx), ADD(axx), ADD(axy), ADD(axz);
    ADD(z * ayx - x * ayz), ADD(x * ayy - y * ayx), ADD(ayx), ADD(ayy), ADD(ayz);
    ADD(x * azy - y * azx), ADD(azx), ADD(azy), ADD(azz);
    ADD(wxx), ADD(wxy), ADD(wxz), ADD(wyy), ADD(wyz), ADD(wzz);
    ADD(y * gz - z * gy), ADD(z * gx - x * gz), ADD(x * gy - y * gx), ADD(gx), ADD(gy), ADD(gz);
    ADD(objective), ADD(w * r2), ADD(count * ((dx * dx + dy * dy) + dz * dz)), ADD(count), ADD(voxel);
#undef ADD
}

/* The lanes of one sum by halving, in place; returns the sum. */
PC_HD_ALWAYS double pc_ndt_halve(double lanes[PC_NDT_LANES]) {
    for (int half = PC_NDT_LANES / 2; half >= 1; half /= 2) {
        for (int l = 0; l < half; l++) {
            lanes[l] += lanes[l + half];
        }
    }
    return lanes[0];
}

/* Terms of the radii of gyration: points times the squares of x, y and z, summed like a step but all in float64. */
PC_HD_ALWAYS double pc_ndt_square_of(float mean, double points) {
    return points * ((double)mean * (double)mean);
}

/* Radii of gyration from those sums. */
PC_HD void pc_ndt_gyration(const double square[3], double points, double gyration[3]) {
    for (int k = 0; k < 3; k++) {
        double length = points > 0.0 ? sqrt((square[(k + 1) % 3] + square[(k + 2) % 3]) / points) : 0.0;
        gyration[k] = length > 0.0 ? length : 1.0;
    }
}

/* The centroid on one axis, in metres: from the sum of the fixed-point units of n points. */
PC_HD double pc_ndt_center(int64_t sum, int64_t n, double origin, double unit) {
    return origin + ((double)sum / (double)(n ? n : 1) + 0.5) * unit;
}

/* s^2 of a level whose voxels have 2^shift fixed-point units to the edge. */
PC_HD double pc_ndt_sigma2(double sigma, double widening, double unit, int shift) {
    double wide = shift > PC_NDT_BITS ? widening * (unit * (double)(1 << shift)) : 0.0;
    return sigma * sigma + wide * wide;
}

/* The lower corner of a voxel on one axis, metres from the centroid. */
PC_HD_ALWAYS double pc_ndt_corner(uint32_t voxel, int shift, int32_t half, double unit, double origin, double center) {
    return ((double)(((int64_t)voxel << shift) - half) * unit + origin) - center;
}

/* ---- parameters of a back end ------------------------------------------------------------------------------------ */

/* The target: n finite points that `map` takes to fixed-point units. */
typedef struct pc_ndt_target {
    int64_t n;
    const float *x, *y, *z;
    pc_ndt_map map;
    double unit;      /* metres */
    double origin[3]; /* of the fixed-point units, metres */
    double sigma;     /* s at the finest level, metres */
    double widening;  /* at a level above: s^2 = sigma^2 + (widening * edge)^2 */
    int levels;       /* 1 to PC_NDT_MAX_LEVELS */
} pc_ndt_target;

/* Frame of the fixed-point units. */
typedef struct pc_ndt_frame {
    double unit;      /* metres */
    double per_unit;  /* 1 / unit */
    double origin[3]; /* metres */
    float limit[3];   /* of the target's box in fixed-point units, at most 2^30 */
} pc_ndt_frame;

/* What the optimizer knows of the target. */
typedef struct pc_ndt_measure {
    double center[3];   /* centroid in metres */
    double gyration[3]; /* rms distances of the finest voxels' means, by points, from the axes through it */
    int64_t voxels;     /* of the finest level */
} pc_ndt_measure;

/* A merge of a scan into the local map: voxels in a box, the target of several registrations. First the box moves and
 * voxels outside it are dropped. Then the points of `scan`, whose map contains the scan's pose, are added to voxels
 * that are not full. Centroid and radii of gyration are those of the scan when it was last renewed. */
typedef struct pc_ndt_merge {
    pc_ndt_target scan; /* n may be 0 unless `renew` */
    bool forget;        /* clear the map first */
    int32_t move[3];    /* of the box, in widest voxels */
    bool renew;   /* recompute centroid and radii of gyration; requires points, and is set whenever the box moves */
    int64_t most; /* capacity of a finest voxel in points; a voxel 2^l times as wide has 4^l times the capacity */
} pc_ndt_merge;

/* The same at a level: the box's move in its voxels, and the capacity of a voxel. */
PC_HD int64_t pc_ndt_move_at(int32_t move, int levels, int level) {
    return (int64_t)move * (1 << (levels - 1 - level));
}

PC_HD int64_t pc_ndt_most_at(int64_t most, int level) {
    return most << 2 * level;
}

/* The key of a voxel where the box begins `by` voxels later on each axis; false when it is outside then. */
PC_HD_ALWAYS bool pc_ndt_move_key(uint64_t *key, const int64_t by[3], int shift, int32_t half, const float limit[3]) {
    uint32_t c[3];
    bool in = true;
    pc_ndt_split_key(*key, c);
    for (int k = 0; k < 3; k++) {
        int64_t voxel = (int64_t)c[k] - by[k];
        in = in && voxel >= 0 && (double)((voxel << shift) - half) < (double)limit[k];
        c[k] = (uint32_t)voxel;
    }
    *key = pc_ndt_key(c[0], c[1], c[2]);
    return in;
}

/* The parts of the source that passes take: a subset, or all of it when it is small. */
enum { PC_SET_COARSE, PC_SET_MIDDLE, PC_SET_ALL, PC_SETS };

/* The source: n finite points, and for each part how many points it has, one out of every so many. */
typedef struct pc_ndt_source {
    int64_t n;
    const float *x, *y, *z;
    int64_t points[PC_SETS], every[PC_SETS]; /* points x every <= n */
} pc_ndt_source;

/* One pass: a part of the source, mapped to fixed-point units, is added to the voxels of a level, 0 the finest; `grids`
 * 2 adds the second grid, which is shifted by half a voxel and exists at level 0. */
typedef struct pc_ndt_pass {
    pc_ndt_map map;
    int set, level, grids;
} pc_ndt_pass;

#endif
