/* Odometry: by which angle all beams of a scanner are off in elevation, from the first scans of a drive.
 *
 * Beams that are too low by an angle a make of flat ground a cone around the sensor: a place r metres away seems a r
 * metres lower than it is. Scans from two places of a road see its surface at different distances, and fit for the
 * right angle alone, whatever the shape of the road is. For pairs of scans some metres apart, each with the scans
 * beside it, whose rings fill its gaps, Gauss-Newton steps find the motion between them and the angle together, by
 * residuals across planes: those of the mean of one's points in a cubic voxel from that of the other's. Each mean has
 * its derivative by the angle, so that a step is a linear system with 7 unknowns. Where the pairs do not agree, as in
 * a scene without ground, the angle is not known. */
#include "odometry_lidar.h"
#include "solve.h"

#include <stdlib.h>
#include <string.h>

enum {
    UNKNOWNS = 7, /* rotation, translation, the angle */
    STEPS = 10,
    PAIRS = 8,
    FEWEST_PAIRS = 4,
    FEWEST_PLANES = 20,
    TARGET_POINTS = 8, /* of a plane */
    SOURCE_POINTS = 3,
    STILL_SCANS = 12,
    BESIDE = 2, /* scans on each side */
};

#define PAIR_METRES    14.0 /* between the scans of a pair, */
#define NEXT_METRES    6.0  /* and between the first ones of two pairs */
#define STILL_METRES   3.0  /* of STILL_SCANS scans: a sensor that comes no farther is not on a drive */
#define EDGE           3.0  /* metres, of the voxels */
#define THICKNESS      0.05 /* metres: standard deviation across a plane, at most */
#define WIDTH          0.03 /* variance of a plane along its second direction to the squared edge, at least */
#define NEAREST        4.0  /* metres from the sensor to a point: it may be of the vehicle */
#define FIRST_RESIDUAL 0.3  /* metres: of a plane that counts, less in each step, */
#define LAST_RESIDUAL  0.06
#define LEAST_SCALE    0.02 /* metres, of the residuals */
#define DISAGREEMENT   0.03 /* degrees: mean deviation of the pairs from their median, at most */
#define LEAST_ANGLE    0.05 /* degrees: a smaller angle is none */
#define MOST_ANGLE     1.0
#define DEGREE         0.017453292519943295
#define OFF_ROUND      0.381966011250105

/* The scans of a drive that have a pose. */
typedef struct drive {
    int64_t count;
    pc_kept_scan *scans;
    double (*poses)[16];
} drive;

/* A voxel: of the target sums of points, products and derivatives by the angle, of the source of points and
 * derivatives. */
typedef struct cell {
    uint64_t key; /* 0: none */
    double n, p[3], pp[6], dp[3];
    double m, q[3], dq[3];
} cell;

typedef struct cells {
    cell *of;
    uint64_t mask;
} cells;

/* The normal equations. */
typedef struct equations {
    double a[UNKNOWNS][UNKNOWNS], b[UNKNOWNS];
} equations;

/* A residual and its derivatives. */
typedef struct plane {
    double row[UNKNOWNS], residual;
} plane;

static cell *find_cell(const cells *c, const double p[3], bool add) {
    uint64_t key = 1;
    for (int k = 0; k < 3; k++) {
        const double at = floor(p[k] / EDGE + OFF_ROUND) + 1048576.0;
        if (!(at >= 0.0 && at < 2097152.0)) {
            return NULL;
        }
        key = (key << 21) + (uint64_t)at;
    }
    uint64_t slot = pc_hash64(key) & c->mask;
    while (c->of[slot].key != 0 && c->of[slot].key != key) {
        slot = (slot + 1) & c->mask;
    }
    if (c->of[slot].key == 0 && add) {
        c->of[slot].key = key;
    }
    return c->of[slot].key ? &c->of[slot] : NULL;
}

/* The point with its elevation raised by a small angle, and its derivative. False for one that does not count. */
static bool raised(const pc_kept_scan *scan, int64_t i, double angle, double p[3], double dp[3]) {
    const float *from = (const float *)scan->memory.memory + 3 * i;
    const double x = (double)from[0] + scan->offset[0], y = (double)from[1] + scan->offset[1],
                 z = (double)from[2] + scan->offset[2];
    const double level = sqrt(x * x + y * y), cosine = 1.0 - 0.5 * angle * angle;
    if (!(level * level + z * z > NEAREST * NEAREST) || level == 0.0) {
        return false;
    }
    const double scale = cosine - angle * z / level, higher = cosine * z + angle * level;
    p[0] = x * scale;
    p[1] = y * scale;
    p[2] = higher;
    dp[0] = -higher * x / level;
    dp[1] = -higher * y / level;
    dp[2] = level * scale;
    return true;
}

/* Adds a scan at a pose to the voxels; those of the source only to voxels that are there. */
static void add_scan(const cells *c, const pc_kept_scan *scan, double angle, const double T[16], bool source) {
    for (int64_t i = 0; i < scan->n; i++) {
        double p[3], dp[3], q[3];
        if (!raised(scan, i, angle, p, dp)) {
            continue;
        }
        pc_transform_apply(T, p, q);
        cell *v = find_cell(c, q, !source);
        if (!v) {
            continue;
        }
        double *sum = source ? v->q : v->p, *derivative = source ? v->dq : v->dp;
        for (int k = 0, at = 0; k < 3; k++) {
            sum[k] += q[k];
            derivative[k] += (T[4 * k] * dp[0] + T[4 * k + 1] * dp[1]) + T[4 * k + 2] * dp[2];
            for (int j = k; j < 3 && !source; j++) {
                v->pp[at++] += q[k] * q[j];
            }
        }
        *(source ? &v->m : &v->n) += 1.0;
    }
}

/* Adds the scans around scan i; T: its pose. */
static void add_scans(const cells *c, const drive *d, int64_t i, double angle, const double T[16], bool source) {
    for (int64_t k = i - BESIDE; k <= i + BESIDE; k++) {
        double between[16], pose[16];
        pc_transform_between(d->poses[i], d->poses[k], between);
        pc_transform_multiply(T, between, pose);
        add_scan(c, &d->scans[k], angle, pose, source);
    }
}

/* The unit normal of the target's points in a voxel. False when they are no plane. Eigenvalues a <= b <= c of the
 * covariance: a is about det / minors, b about minors / trace; the adjugate's largest eigenvector is that of a. */
static bool normal_of(const cell *v, double normal[3]) {
    const double per = 1.0 / v->n, x = v->p[0] * per, y = v->p[1] * per, z = v->p[2] * per;
    const double xx = v->pp[0] * per - x * x, xy = v->pp[1] * per - x * y, xz = v->pp[2] * per - x * z,
                 yy = v->pp[3] * per - y * y, yz = v->pp[4] * per - y * z, zz = v->pp[5] * per - z * z;
    double m[3][3] = {{yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy},
                      {xz * yz - xy * zz, xx * zz - xz * xz, xy * xz - xx * yz},
                      {xy * yz - xz * yy, xy * xz - xx * yz, xx * yy - xy * xy}};
    const double minors = (m[0][0] + m[1][1]) + m[2][2], det = (xx * m[0][0] + xy * m[0][1]) + xz * m[0][2];
    if (!(minors > WIDTH * EDGE * EDGE * ((xx + yy) + zz)) || det > THICKNESS * THICKNESS * minors) {
        return false;
    }
    for (int power = 0; power < 3; power++) { /* squared, so that the other eigenvectors vanish */
        double square[3][3], trace = (m[0][0] + m[1][1]) + m[2][2];
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                square[i][j] = ((m[i][0] * m[0][j] + m[i][1] * m[1][j]) + m[i][2] * m[2][j]) / (trace * trace);
            }
        }
        memcpy(m, square, sizeof m);
    }
    const int k = m[0][0] >= m[1][1] ? (m[0][0] >= m[2][2] ? 0 : 2) : (m[1][1] >= m[2][2] ? 1 : 2);
    const double length = pc_norm3(m[k]);
    for (int i = 0; i < 3; i++) {
        normal[i] = m[k][i] / length;
    }
    return length > 0.0;
}

/* The residuals of all planes that both scans have. */
static int64_t list_planes(const cells *c, double most, plane *planes) {
    int64_t n = 0;
    for (uint64_t slot = 0; slot <= c->mask; slot++) {
        const cell *v = &c->of[slot];
        double normal[3], q[3];
        if (v->n < TARGET_POINTS || v->m < SOURCE_POINTS || !normal_of(v, normal)) {
            continue;
        }
        plane *p = &planes[n];
        *p = (plane){.residual = 0.0};
        for (int k = 0; k < 3; k++) {
            q[k] = v->q[k] / v->m;
            p->residual += normal[k] * (v->p[k] / v->n - q[k]);
            p->row[6] += normal[k] * (v->dq[k] / v->m - v->dp[k] / v->n);
            p->row[3 + k] = normal[k];
        }
        p->row[0] = q[1] * normal[2] - q[2] * normal[1];
        p->row[1] = q[2] * normal[0] - q[0] * normal[2];
        p->row[2] = q[0] * normal[1] - q[1] * normal[0];
        n += fabs(p->residual) < most;
    }
    return n;
}

/* Solves the equations by Gauss's elimination; false when they leave an unknown open. */
static bool solve(equations *e, double x[UNKNOWNS]) {
    for (int k = 0; k < UNKNOWNS; k++) {
        const double diagonal = e->a[k][k];
        if (!(diagonal > 1e-9)) {
            return false;
        }
        for (int i = k + 1; i < UNKNOWNS; i++) {
            const double factor = e->a[i][k] / diagonal;
            for (int j = k; j < UNKNOWNS; j++) {
                e->a[i][j] -= factor * e->a[k][j];
            }
            e->b[i] -= factor * e->b[k];
        }
    }
    for (int k = UNKNOWNS - 1; k >= 0; k--) {
        x[k] = e->b[k];
        for (int j = k + 1; j < UNKNOWNS; j++) {
            x[k] -= e->a[k][j] * x[j];
        }
        x[k] /= e->a[k][k];
    }
    return true;
}

/* One step, with the squared Geman-McClure kernel at the scale of the residuals; false without enough planes. */
static bool step(const plane *planes, int64_t n, float *sizes, double x[UNKNOWNS]) {
    equations e = {0};
    for (int64_t i = 0; i < n; i++) {
        sizes[i] = (float)fabs(planes[i].residual);
    }
    if (n < FEWEST_PLANES) {
        return false;
    }
    const double scale = fmax(1.4826 * (double)pc_select_value(sizes, (int)n, (int)(n / 2)), LEAST_SCALE);
    for (int64_t i = 0; i < n; i++) {
        const plane *p = &planes[i];
        const double ratio = p->residual / scale, kernel = 1.0 / (1.0 + ratio * ratio), weight = kernel * kernel;
        for (int k = 0; k < UNKNOWNS; k++) {
            for (int j = 0; j < UNKNOWNS; j++) {
                e.a[k][j] += weight * p->row[k] * p->row[j];
            }
            e.b[k] += weight * p->row[k] * p->residual;
        }
    }
    return solve(&e, x);
}

/* Work memory for pairs: voxels, planes and the sizes of their residuals. */
typedef struct memory {
    cells cells;
    plane *planes;
    float *sizes;
} memory;

/* The angle in radians that a pair of scans gives, with the scans beside each. */
static bool angle_of(const memory *m, const drive *d, int64_t target, int64_t source, double *angle) {
    double pose[16];
    pc_transform_between(d->poses[target], d->poses[source], pose);
    *angle = 0.0;
    for (int i = 0; i < STEPS; i++) {
        double x[UNKNOWNS], moved[16], next[16];
        memset(m->cells.of, 0, (size_t)(m->cells.mask + 1) * sizeof *m->cells.of);
        add_scans(&m->cells, d, target, *angle, pc_identity, false);
        add_scans(&m->cells, d, source, *angle, pose, true);
        const int64_t n = list_planes(&m->cells, fmax(FIRST_RESIDUAL / (1 + i), LAST_RESIDUAL), m->planes);
        if (!step(m->planes, n, m->sizes, x) || !(fabs(*angle + x[6]) < MOST_ANGLE * DEGREE)) {
            return false;
        }
        const pc_twist small = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
        pc_twist_after(&small, 1.0, moved);
        pc_transform_multiply(moved, pose, next);
        memcpy(pose, next, sizeof pose);
        *angle += x[6];
    }
    return true;
}

/* The angles in degrees of up to PAIRS pairs. */
static int find_angles(const memory *m, const drive *d, float angles[PAIRS]) {
    int pairs = 0;
    int64_t first = 1 + BESIDE; /* the first scan was kept before its motion was known */
    for (int64_t i = first; i + BESIDE < d->count && pairs < PAIRS; i++) {
        int64_t j = i + 1;
        if (i > first && !pc_moved_beyond(d->poses[first], d->poses[i], NEXT_METRES, INFINITY)) {
            continue;
        }
        while (j + BESIDE < d->count && !pc_moved_beyond(d->poses[i], d->poses[j], PAIR_METRES, INFINITY)) {
            j++;
        }
        double angle;
        if (j + BESIDE < d->count) {
            if (angle_of(m, d, i, j, &angle)) {
                angles[pairs++] = (float)(angle / DEGREE);
            }
        }
        first = i;
    }
    return pairs;
}

/* The median, when the pairs agree; else 0. */
static double agreed(float *angles, int n) {
    double deviation = 0.0;
    if (n < FEWEST_PAIRS) {
        return 0.0;
    }
    const double middle =
        0.5 * ((double)pc_select_value(angles, n, (n - 1) / 2) + (double)pc_select_value(angles, n, n / 2));
    for (int i = 0; i < n; i++) {
        deviation += fabs((double)angles[i] - middle) / n;
    }
    return deviation <= DISAGREEMENT && fabs(middle) >= LEAST_ANGLE ? middle : 0.0;
}

/* Whether no more scans are needed: there are enough for all pairs, or the sensor is hardly in motion. */
static bool is_enough(const drive *d) {
    const double *first = d->poses[0], *last = d->poses[d->count - 1];
    return pc_moved_beyond(first, last, PAIR_METRES + (PAIRS + 1) * NEXT_METRES, INFINITY) ||
           (d->count == STILL_SCANS && !pc_moved_beyond(first, last, STILL_METRES, INFINITY));
}

/* Follows the scans and keeps those that have a pose. */
static pcgpu_status follow(pcgpu_odometry *o, const pcgpu_cloud *scans, const double *times, int64_t count, drive *d) {
    for (int64_t i = 0; i < count; i++) {
        pcgpu_odometry_frame f;
        PC_TRY(pcgpu_odometry_add(o, &scans[i], times[i], &f));
        if (f.good) {
            memcpy(d->poses[d->count], f.T_world_frame, sizeof *d->poses);
            pc_odometry_keep(o->last, &d->scans[d->count++]);
            if (is_enough(d)) {
                break;
            }
        }
        if (o->home[0] != 0.0 || o->home[1] != 0.0 || o->home[2] != 0.0) {
            d->count = 0; /* the sensor is not at the origin */
            break;
        }
    }
    return PCGPU_OK;
}

static pcgpu_status find(pcgpu_context *context, const drive *d, double *degrees) {
    int64_t most = 1;
    uint64_t slots = 2;
    float angles[PAIRS];
    for (int64_t i = 0; i < d->count; i++) {
        most = d->scans[i].n > most ? d->scans[i].n : most;
    }
    while (slots < (2 * BESIDE + 1) * (uint64_t)most) {
        slots *= 2;
    }
    memory m = {.cells = {.of = malloc(slots * sizeof(cell)), .mask = slots - 1},
                .planes = malloc((2 * BESIDE + 1) * (size_t)most * sizeof(plane)),
                .sizes = malloc((2 * BESIDE + 1) * (size_t)most * sizeof(float))};
    const bool good = m.cells.of && m.planes && m.sizes;
    if (good) {
        *degrees = agreed(angles, find_angles(&m, d, angles));
    }
    free(m.cells.of);
    free(m.planes);
    free(m.sizes);
    return good ? PCGPU_OK : pc_fail_memory(context, slots * sizeof(cell), "the angle of the beams");
}

pcgpu_status pcgpu_odometry_beams(pcgpu_context *context, const pcgpu_odometry_params *params, const pcgpu_cloud *scans,
                                  const double *times, int64_t count, double *degrees) {
    pcgpu_odometry_params plain = *params;
    pcgpu_odometry *o = NULL;
    drive d = {.scans = calloc((size_t)count + 1, sizeof *d.scans),
               .poses = malloc(((size_t)count + 1) * sizeof *d.poses)};
    pcgpu_status status = PCGPU_OK;
    *degrees = plain.registration.beam_correction = 0.0;
    plain.reference = PCGPU_REFERENCE_MODEL;
    plain.registration.method = PCGPU_REGISTER_NDT;
    memcpy(plain.registration.init, pc_identity, sizeof pc_identity);
    if (!d.scans || !d.poses) {
        PC_TRY_OR(done, status, pc_fail_memory(context, (uint64_t)count * 200, "the first scans"));
    }
    PC_TRY_OR(done, status, pcgpu_odometry_open(context, &plain, &o));
    PC_TRY_OR(done, status, follow(o, scans, times, count, &d));
    status = find(context, &d, degrees);
done:
    for (int64_t i = 0; d.scans && i < count; i++) {
        pc_buffer_free(&d.scans[i].memory);
    }
    free(d.scans);
    free(d.poses);
    pcgpu_odometry_close(o);
    return status;
}
