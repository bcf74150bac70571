/* One ICP iteration, shared by the CPU and the CUDA back end.
 *
 * A level of a registration is a target (points in a grid of cells, one normal a point) and a source. A step transforms
 * every source point, finds its nearest target point within the maximum correspondence distance and adds up the normal
 * equations. */
#ifndef PC_ICP_STEP_H
#define PC_ICP_STEP_H

#include "icp_math.h"

/* A level's target; every pointer is the caller's and stays valid until the next icp_target or icp_end. */
typedef struct pc_icp_target {
    pc_icp_grid grid;
    const float *normals; /* 3 a point of the grid, in the grid's order, unit length or zero; NULL: to be estimated */
    float normal_radius;  /* for that, metres; 0 = no normals are needed */
} pc_icp_target;

/* A level's source, likewise. */
typedef struct pc_icp_source {
    int64_t n;
    const float *x, *y, *z;
    const float *normals;    /* 3 a point, as of a target; NULL: to be estimated, or not needed */
    const pc_icp_grid *grid; /* of the same points, for that */
    float normal_radius;     /* 0 = no normals are needed */
} pc_icp_source;

/* The equations that a matched point contributes. */
typedef enum pc_icp_rows {
    PC_ICP_ROWS_PLANE, /* one along the normal; none where the target point has no normal */
    PC_ICP_ROWS_POINT, /* three, along the axes */
    PC_ICP_ROWS_MIXED, /* one along the normal, three where there is none: for unconstrained directions */
    PC_ICP_ROWS_PAIR   /* three, weighted by the covariances of both points: see pc_icp_pair_weight */
} pc_icp_rows;

/* Weights of a residual r at the scale s. */
typedef enum pc_icp_kernel {
    PC_ICP_KERNEL_NONE,   /* 1 */
    PC_ICP_KERNEL_CAUCHY, /* s^2 / (s^2 + r^2) */
    PC_ICP_KERNEL_GEMAN   /* (s^2 / (s^2 + r^2))^2 (Geman and McClure 1985) */
} pc_icp_kernel;

typedef struct pc_icp_step {
    double R[9], t[3];                /* the pose: target = R source + t */
    double center[3];                 /* the rotation of an update is about this point */
    float max_correspondence_squared; /* of the correspondences */
    double scale_squared;             /* of the kernel, > 0 unless there is none */
    pc_icp_kernel kernel;
    pc_icp_rows rows;
} pc_icp_step;

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

PC_HD double pc_icp_weight(pc_icp_kernel kernel, double scale_squared, double r_squared) {
    if (kernel == PC_ICP_KERNEL_NONE) {
        return 1.0;
    }
    double w = scale_squared / (scale_squared + r_squared);
    return kernel == PC_ICP_KERNEL_GEMAN ? w * w : w;
}

/* ---- equations --------------------------------------------------------------------------------------------------- */

/* Adds the equation n . (q + w x a + v - m) = 0 with a = q - center, r = n . (q - m), weighted by w. */
PC_HD void pc_icp_add_row(double *sums, double ax, double ay, double az, double nx, double ny, double nz, double r,
                          double w) {
    double j[6] = {ay * nz - az * ny, az * nx - ax * nz, ax * ny - ay * nx, nx, ny, nz};
    int at = PC_ICP_JJ;
    PC_UNROLL
    for (int row = 0; row < 6; row++) {
        double wj = w * j[row];
        PC_UNROLL
        for (int column = row; column < 6; column++) {
            sums[at++] += wj * j[column];
        }
        sums[PC_ICP_JR + row] += wj * r;
    }
    sums[PC_ICP_R2] += r * r;
    sums[PC_ICP_EQUATIONS] += 1.0;
    sums[PC_ICP_COST] += w * (r * r);
}

/* Variance of a point across its surface, along it 1 (Segal et al. 2009). */
#define PC_ICP_PAIR_EPSILON 1e-3

/* A symmetric 3x3 matrix. */
typedef struct pc_icp_symmetric {
    double xx, xy, xz, yy, yz, zz;
} pc_icp_symmetric;

/* The weight of the difference of two points with the unit normals m and n, 2e (Cm + Cn)^-1 with C = I - (1 - e) n n^T;
 * a point without a normal has C = I. Two points on one plane: 1 across it, e along it, which makes it point-to-plane
 * ICP where both agree; less than 2e in all directions where one has no normal. */
PC_HD pc_icp_symmetric pc_icp_pair_weight(double mx, double my, double mz, double nx, double ny, double nz) {
    const double e = PC_ICP_PAIR_EPSILON, s = 1.0 - e;
    double xx = 2.0 - s * (mx * mx + nx * nx), xy = -s * (mx * my + nx * ny), xz = -s * (mx * mz + nx * nz);
    double yy = 2.0 - s * (my * my + ny * ny), yz = -s * (my * mz + ny * nz), zz = 2.0 - s * (mz * mz + nz * nz);
    double cxx = yy * zz - yz * yz, cxy = xz * yz - xy * zz, cxz = xy * yz - xz * yy;
    double scale = 2.0 * e / ((xx * cxx + xy * cxy) + xz * cxz); /* the determinant is 8e^2 or more */
    pc_icp_symmetric w = {scale * cxx,
                          scale * cxy,
                          scale * cxz,
                          scale * (xx * zz - xz * xz),
                          scale * (xy * xz - xx * yz),
                          scale * (xx * yy - xy * xy)};
    return w;
}

/* Adds the equations q + w x a + v - m = 0, weighted by W and the kernel, with d = q - m; W counts as its trace. */
PC_HD void pc_icp_add_pair(double *sums, double ax, double ay, double az, double dx, double dy, double dz,
                           pc_icp_symmetric W, const pc_icp_step *step) {
    double gx = (W.xx * dx + W.xy * dy) + W.xz * dz;
    double gy = (W.xy * dx + W.yy * dy) + W.yz * dz;
    double gz = (W.xz * dx + W.yz * dy) + W.zz * dz;
    double r2 = (gx * dx + gy * dy) + gz * dz;
    double w = pc_icp_weight(step->kernel, step->scale_squared, r2);
    sums[PC_ICP_R2] += r2;
    sums[PC_ICP_EQUATIONS] += (W.xx + W.yy) + W.zz;
    sums[PC_ICP_COST] += w * r2;
    W.xx *= w, W.xy *= w, W.xz *= w, W.yy *= w, W.yz *= w, W.zz *= w;
    gx *= w, gy *= w, gz *= w;
    /* The rows of [a]x W: J = [-[a]x, I], rotation first. */
    double txx = ay * W.xz - az * W.xy, txy = ay * W.yz - az * W.yy, txz = ay * W.zz - az * W.yz;
    double tyx = az * W.xx - ax * W.xz, tyy = az * W.xy - ax * W.yz, tyz = az * W.xz - ax * W.zz;
    double tzx = ax * W.xy - ay * W.xx, tzy = ax * W.yy - ay * W.xy, tzz = ax * W.yz - ay * W.xz;
    double *to = sums + PC_ICP_JJ;
    to[0] += ay * txz - az * txy, to[1] += az * txx - ax * txz, to[2] += ax * txy - ay * txx;
    to[3] += txx, to[4] += txy, to[5] += txz;
    to[6] += az * tyx - ax * tyz, to[7] += ax * tyy - ay * tyx;
    to[8] += tyx, to[9] += tyy, to[10] += tyz;
    to[11] += ax * tzy - ay * tzx, to[12] += tzx, to[13] += tzy, to[14] += tzz;
    to[15] += W.xx, to[16] += W.xy, to[17] += W.xz, to[18] += W.yy, to[19] += W.yz, to[20] += W.zz;
    to = sums + PC_ICP_JR;
    to[0] += ay * gz - az * gy, to[1] += az * gx - ax * gz, to[2] += ax * gy - ay * gx;
    to[3] += gx, to[4] += gy, to[5] += gz;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* A source point that has met a target point. */
typedef struct pc_icp_meeting {
    int32_t at;        /* place in grid->points, -1 for none */
    double ax, ay, az; /* the moved point, from the centre of the update */
    double dx, dy, dz; /* from the target point */
} pc_icp_meeting;

PC_HD pc_icp_meeting pc_icp_meet(const pc_icp_grid *grid, const pc_icp_step *step, float x, float y, float z) {
    double px = (double)x, py = (double)y, pz = (double)z;
    float qx = (float)(((step->R[0] * px + step->R[1] * py) + step->R[2] * pz) + step->t[0]);
    float qy = (float)(((step->R[3] * px + step->R[4] * py) + step->R[5] * pz) + step->t[1]);
    float qz = (float)(((step->R[6] * px + step->R[7] * py) + step->R[8] * pz) + step->t[2]);
    pc_icp_meeting meeting = {pc_icp_nearest(grid, qx, qy, qz, step->max_correspondence_squared).at, 0, 0, 0, 0, 0, 0};
    if (meeting.at >= 0) {
        pc_icp_point m = grid->points[meeting.at];
        meeting.ax = (double)qx - step->center[0];
        meeting.ay = (double)qy - step->center[1];
        meeting.az = (double)qz - step->center[2];
        meeting.dx = (double)qx - (double)m.x;
        meeting.dy = (double)qy - (double)m.y;
        meeting.dz = (double)qz - (double)m.z;
    }
    return meeting;
}

/* Adds one source point to PC_ICP_SUMS sums that start at zero, by any rows but pairs; `normals` has three values a
 * target point. */
PC_HD void pc_icp_add_point(const pc_icp_grid *grid, const float *normals, const pc_icp_step *step, float x, float y,
                            float z, double *sums) {
    const pc_icp_meeting p = pc_icp_meet(grid, step, x, y, z);
    if (p.at < 0) {
        return;
    }
    double squared = (p.dx * p.dx + p.dy * p.dy) + p.dz * p.dz;
    sums[PC_ICP_MATCHES] += 1.0;
    sums[PC_ICP_D2] += squared;
    double nx = 0.0, ny = 0.0, nz = 0.0;
    if (step->rows != PC_ICP_ROWS_POINT) {
        nx = (double)normals[3 * (size_t)p.at];
        ny = (double)normals[3 * (size_t)p.at + 1];
        nz = (double)normals[3 * (size_t)p.at + 2];
    }
    if (nx != 0.0 || ny != 0.0 || nz != 0.0) {
        double r = (nx * p.dx + ny * p.dy) + nz * p.dz;
        pc_icp_add_row(sums, p.ax, p.ay, p.az, nx, ny, nz, r, pc_icp_weight(step->kernel, step->scale_squared, r * r));
    } else if (step->rows != PC_ICP_ROWS_PLANE) {
        double w = pc_icp_weight(step->kernel, step->scale_squared, squared);
        pc_icp_add_row(sums, p.ax, p.ay, p.az, 1.0, 0.0, 0.0, p.dx, w);
        pc_icp_add_row(sums, p.ax, p.ay, p.az, 0.0, 1.0, 0.0, p.dy, w);
        pc_icp_add_row(sums, p.ax, p.ay, p.az, 0.0, 0.0, 1.0, p.dz, w);
    }
}

/* The same by pairs; (nx, ny, nz) is the source point's normal in the source's frame. */
PC_HD void pc_icp_add_paired_point(const pc_icp_grid *grid, const float *normals, const pc_icp_step *step, float x,
                                   float y, float z, float nx, float ny, float nz, double *sums) {
    const pc_icp_meeting p = pc_icp_meet(grid, step, x, y, z);
    if (p.at < 0) {
        return;
    }
    const double *R = step->R, px = (double)nx, py = (double)ny, pz = (double)nz;
    sums[PC_ICP_MATCHES] += 1.0;
    sums[PC_ICP_D2] += (p.dx * p.dx + p.dy * p.dy) + p.dz * p.dz;
    pc_icp_symmetric W = pc_icp_pair_weight((double)normals[3 * (size_t)p.at], (double)normals[3 * (size_t)p.at + 1],
                                            (double)normals[3 * (size_t)p.at + 2], (R[0] * px + R[1] * py) + R[2] * pz,
                                            (R[3] * px + R[4] * py) + R[5] * pz, (R[6] * px + R[7] * py) + R[8] * pz);
    pc_icp_add_pair(sums, p.ax, p.ay, p.az, p.dx, p.dy, p.dz, W, step);
}

#endif
