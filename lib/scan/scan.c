/* A scan before it is registered: points near the sensor are left out, and the elevation of its beams is corrected.
 *
 * Every registration of clouds takes its points from what pc_scan_take gives, so that no method and no back end knows
 * of either. The correction turns a point p by the angle a about the horizontal axis k = (p x z) / |p x z|, which
 * raises its elevation by a and keeps range and azimuth. Deschaud 2018 (IMLS-SLAM) found that the beams of KITTI's
 * scanner are off by such an angle; Dellenbach et al. 2022 (CT-ICP) and Vizzo et al. 2023 (KISS-ICP) correct it by
 * 0.205 degree. */
#include "error.h"
#include "scan.h"

#include <stdlib.h>
#include <string.h>

#define RADIANS 0.017453292519943295 /* of a degree */

typedef struct rotation {
    double sine, cosine;
} rotation;

/* A normal turns about the axis of its point, (x, y, 0) of unit length: Rodrigues' formula. */
static void turn_normal(const rotation *r, double x, double y, float n[3]) {
    const double a = (double)n[0], b = (double)n[1], c = (double)n[2], along = (1.0 - r->cosine) * (x * a + y * b);
    n[0] = (float)((r->cosine * a + r->sine * (y * c)) + along * x);
    n[1] = (float)((r->cosine * b - r->sine * (x * c)) + along * y);
    n[2] = (float)(r->cosine * c + r->sine * (x * b - y * a));
}

/* Raises the elevation of a point about its sensor, where the formula is p cos a + (k x p) sin a. A point straight
 * above the sensor has no axis to turn about, and one that is not finite is dropped later. */
static inline void raise_record(const rotation *r, const double offset[3], int normal, float *record) {
    const double x = offset[0] + (double)record[0], y = offset[1] + (double)record[1],
                 z = offset[2] + (double)record[2];
    const double level = sqrt(x * x + y * y), per = 1.0 / level, scale = r->cosine - r->sine * (z * per);
    if (!(level > 0.0 && level < INFINITY && z - z == 0.0)) {
        return;
    }
    record[0] = (float)(x * scale - offset[0]);
    record[1] = (float)(y * scale - offset[1]);
    record[2] = (float)((r->cosine * z + r->sine * level) - offset[2]);
    if (normal >= 0) {
        turn_normal(r, y * per, -x * per, record + normal);
    }
}

static void raise_all(double degrees, pcgpu_cloud *cloud) {
    rotation r;
    pc_sine_cosine(RADIANS * degrees, &r.sine, &r.cosine);
    const int normal = pc_normal_column(cloud);
    for (int64_t i = 0; i < cloud->rows; i++) {
        raise_record(&r, cloud->offset, normal, cloud->data + (size_t)i * (size_t)cloud->columns);
    }
}

/* Squared metres from the sensor; NaN or infinite where a coordinate is. */
static double squared_range(const double offset[3], const float *record) {
    const double x = offset[0] + (double)record[0], y = offset[1] + (double)record[1],
                 z = offset[2] + (double)record[2];
    return (x * x + y * y) + z * z;
}

/* Appends the records [begin, end) of a scan. */
static void append(const pcgpu_cloud *scan, int64_t begin, int64_t end, pcgpu_cloud *out) {
    const size_t columns = (size_t)scan->columns;
    memcpy(out->data + (size_t)out->rows * columns, scan->data + (size_t)begin * columns,
           (size_t)(end - begin) * columns * sizeof *out->data);
    out->rows += end - begin;
}

pcgpu_status pcgpu_scan_correct(pcgpu_context *context, const pcgpu_cloud *scan, const pcgpu_register_params *params,
                                pcgpu_cloud *out, pcgpu_run *run) {
    const double nearest = params->min_range * params->min_range;
    PC_TRY(pc_cloud_create_like(context, scan, scan->rows, out));
    int64_t begin = 0, at_origin = 0;
    out->rows = 0;
    for (int64_t i = 0; i < scan->rows && nearest > 0.0; i++) {
        const float *p = scan->data + (size_t)i * (size_t)scan->columns;
        if (squared_range(scan->offset, p) < nearest) {
            at_origin +=
                params->drop_origin && pc_at_origin(scan, p); /* no return, which is no point that is too near */
            append(scan, begin, i, out);
            begin = i + 1;
        }
    }
    append(scan, begin, scan->rows, out);
    if (params->beam_correction != 0.0) {
        raise_all(params->beam_correction, out);
    }
    run->points_in += scan->rows - out->rows;
    run->at_origin += at_origin;
    run->too_near += scan->rows - out->rows - at_origin;
    return PCGPU_OK;
}

/* The records of a scan that are not returns of the carrier, which threads find and then copy in chunks. */
typedef struct leaving {
    const pc_carrier *carrier;
    int part; /* of its radius */
    const pcgpu_cloud *from;
    pcgpu_cloud rest;
    bool *keep;      /* by records */
    int64_t *before; /* by chunks: the records that are kept, then those of the chunks before it */
} leaving;

enum { CHUNK = 8192 };

static void find_range(void *state, int64_t begin, int64_t end) {
    const leaving *l = state;
    int64_t kept = 0;
    for (int64_t i = begin; i < end; i++) {
        l->keep[i] = !pc_carrier_has(l->carrier, l->part, l->from->offset, l->from->data + i * l->from->columns);
        kept += l->keep[i];
    }
    l->before[begin / CHUNK] = kept;
}

/* The number of records that are kept. */
static int64_t find_kept(pcgpu_context *context, leaving *l, int part) {
    int64_t sum = 0;
    l->part = part;
    pc_run_ranges(context, l->from->rows, CHUNK, find_range, l);
    for (int64_t chunk = 0; chunk * CHUNK < l->from->rows; chunk++) {
        const int64_t kept = l->before[chunk];
        l->before[chunk] = sum;
        sum += kept;
    }
    return sum;
}

static void copy_range(void *state, int64_t begin, int64_t end) {
    const leaving *l = state;
    pcgpu_cloud rest = l->rest; /* as far as this chunk */
    rest.rows = l->before[begin / CHUNK];
    for (int64_t i = begin; i < end;) {
        int64_t last = i;
        while (last < end && l->keep[last]) {
            last++;
        }
        append(l->from, i, last, &rest);
        i = last + 1;
    }
}

pcgpu_status pc_scan_leave_out(pcgpu_context *context, const pc_carrier *carrier, pc_scan *scan, pcgpu_run *run) {
    const int64_t rows = scan->cloud->rows, chunks = (rows + CHUNK - 1) / CHUNK;
    const size_t bytes = (size_t)chunks * sizeof(int64_t) + (size_t)rows;
    if (carrier->radius == 0.0f || rows == 0) {
        return PCGPU_OK;
    }
    void *memory = malloc(bytes);
    if (!memory) {
        return pc_fail_memory(context, bytes, "the points of the scan");
    }
    leaving l = {
        .carrier = carrier, .from = scan->cloud, .before = memory, .keep = (bool *)((int64_t *)memory + chunks)};
    const int64_t whole = find_kept(context, &l, 1);
    const int64_t kept = pc_carrier_is_too_much(rows, whole) ? find_kept(context, &l, 2) : whole;
    pcgpu_status status = PCGPU_OK;
    if (pc_carrier_part(rows, whole, kept)) {
        PC_TRY_OR(done, status, pc_cloud_create_like(context, l.from, kept, &l.rest));
        pc_run_ranges(context, rows, CHUNK, copy_range, &l);
        run->points_in += rows - kept;
        run->on_carrier += rows - kept;
        pcgpu_cloud_free(&scan->own);
        scan->own = l.rest;
        scan->cloud = &scan->own;
    }
done:
    free(memory);
    return status;
}

pcgpu_status pc_scan_take(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_register_params *params,
                          pc_scan *scan, pcgpu_run *run) {
    *scan = (pc_scan){.cloud = cloud};
    if (params->min_range == 0.0 && params->beam_correction == 0.0) {
        return PCGPU_OK;
    }
    scan->cloud = &scan->own;
    return pcgpu_scan_correct(context, cloud, params, &scan->own, run);
}

void pc_scan_release(pc_scan *scan) {
    pcgpu_cloud_free(&scan->own);
}

pcgpu_status pc_scan_take_pair(pcgpu_context *context, const pcgpu_pair *pair, const pcgpu_register_params *params,
                               pc_scan *source, pc_scan *target, pcgpu_run *run) {
    pc_carrier carriers[2];
    *target = (pc_scan){.cloud = pair->target};
    PC_TRY(pc_scan_take(context, pair->source, params, source, run));
    PC_TRY(pc_scan_take(context, pair->target, params, target, run));
    pc_carrier_find(context, params, source->cloud, &carriers[0]);
    pc_carrier_find(context, params, target->cloud, &carriers[1]);
    if (carriers[0].radius == 0.0f || carriers[1].radius == 0.0f) {
        return PCGPU_OK;
    }
    PC_TRY(pc_scan_leave_out(context, &carriers[1], source, run));
    return pc_scan_leave_out(context, &carriers[0], target, run);
}
