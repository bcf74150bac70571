/* The prepared scan: a cloud as registration, odometry, loops, maps and sampling take it. scan.c corrects it and leaves
 * out the returns of the carrier, which scan_carrier.c finds; scan_points.c has its usable points as arrays,
 * scan_spacing.c their spacing, and scan_view.c what the sensor saw. */
#ifndef PC_SCAN_H
#define PC_SCAN_H

#include "cloud.h"
#include "context.h"
#include "scan_math.h"
#include "simd.h"

#include <stdatomic.h>

/* The k-th smallest of n values, which change their order (Hoare 1961). */
float pc_select_value(float *values, int n, int k);

/* ---- usable points: scan_points.c -------------------------------------------------------------------------------- */

/* Usable points as arrays of n. */
typedef struct pc_points {
    int64_t n;
    float *x, *y, *z;
    int32_t *rows;   /* the record of each point; NULL when every record is usable, or where no caller needs them */
    float box[3][2]; /* least and largest x, y and z */
    float *memory;   /* of all, where pc_points_select allocated it */
    int scan;        /* of a sequence: which of its scans */
} pc_points;

/* Selects the usable points of a cloud into new memory, and adds points_in, non_finite and at_origin to `run`; free
 * them. Errors: ARGUMENT (2^31 records), MEMORY. */
pcgpu_status pc_points_select(pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, pc_points *points,
                              pcgpu_run *run);
void pc_points_free(pc_points *points);

/* The same into memory of the caller, 3 floats a record, without rows. */
void pc_points_select_into(pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, float *memory,
                           pc_points *points, pcgpu_run *run);
/* Lists the records of selected points in `rows`, a number for each point. */
void pc_points_list_rows(const pcgpu_cloud *cloud, bool drop_origin, int32_t *rows);

/* The box of points that the caller has made. */
void pc_points_find_box(pc_points *points);

/* float32 is coarse far from 0. The shift of such a coordinate is the middle of its range in whole metres, which is
 * exact; 0 near 0; `other` where that serves as well, so that a cloud and its copy get the same shift. */
double pc_points_shift_of(const float range[2], double other);
/* Subtracts a shift from an axis and adds it to the axis's offset. */
void pc_points_shift(pc_points *points, int axis, double shift, double *offset);
/* Shifts points of any place near 0, so that no registration has to. */
void pc_points_center(pc_points *points, double offset[3]);

/* A selection in parts, for a caller that has other work beside it: each part once, by any thread; then its end. */
enum { PC_SELECTION_PARTS = 64 };
typedef struct pc_selected_part {
    int64_t begin, n, non_finite, at_origin; /* n points from `begin` on */
    float box[3][2];
} pc_selected_part;
typedef struct pc_selection {
    const pcgpu_cloud *cloud;
    pc_points *to;
    float origin[3];
    int count;
    pc_simd simd;
    atomic_int done; /* of the parts */
    pc_selected_part parts[PC_SELECTION_PARTS];
} pc_selection;
void pc_selection_begin(const pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, float *memory,
                        pc_points *points, pc_selection *s);
void pc_selection_part(void *selection, int part);
void pc_selection_end(const pc_selection *s, pcgpu_run *run);

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* A cloud that decisions are made from: its records, or, where it lies in the memory of a device, copies of those of
 * the samples, x y z each. */
typedef struct pc_sampled {
    const pcgpu_cloud *cloud;
    const float *copies; /* NULL: the records can be read */
} pc_sampled;

/* The i-th record of a sample of the cloud. */
static inline const float *pc_sampled_record(const pc_sampled *from, pc_sampling which, int64_t i) {
    return from->copies
               ? from->copies + 3 * (pc_sampling_begin(which) + i)
               : from->cloud->data + pc_sampling_row(which, from->cloud->rows, i) * (int64_t)from->cloud->columns;
}

/* ---- spacing: scan_spacing.c ------------------------------------------------------------------------------------- */

/* *edge: of the voxels in metres that fit the spacing of a cloud's points, a power of two, 0 when none fits. *extent:
 * the distance from the middle that nine of ten points keep. Errors: MEMORY. */
pcgpu_status pc_scan_spacing(pcgpu_context *context, const pcgpu_cloud *cloud, bool drop_origin, double *edge,
                             double *extent);

/* ---- the carrier: scan_carrier.c --------------------------------------------------------------------------------- */

/* The returns near the sensor of one scan. Points of another scan at the same places belong to the carrier, such as the
 * roof of a car. All zero: none. */
typedef struct pc_carrier {
    float radius;                                     /* metres from the sensor; 0 = there are none */
    uint32_t bits[PC_CARRIER_SIDE * PC_CARRIER_SIDE]; /* by x and y, a bit for each z: a return is near */
} pc_carrier;
/* Its radius, 0 where there is none. */
float pc_carrier_radius(const pcgpu_register_params *params, const pc_sampled *from);
void pc_carrier_find(pcgpu_context *context, const pcgpu_register_params *params, const pcgpu_cloud *cloud,
                     pc_carrier *carrier);
/* Whether a record lies where it has a return within a part (1 or 2: all or half) of its radius. */
bool pc_carrier_has(const pc_carrier *carrier, int part, const double offset[3], const float *record);

/* ---- corrections: scan.c ----------------------------------------------------------------------------------------- */

/* A cloud as it is registered: itself, or a copy after min_range and beam_correction of the parameters, whose points
 * left out are counted in `run`. Release it in any case. */
typedef struct pc_scan {
    const pcgpu_cloud *cloud;
    pcgpu_cloud own;
} pc_scan;
pcgpu_status pc_scan_take(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_register_params *params,
                          pc_scan *scan, pcgpu_run *run);
/* Leaves out the returns that `carrier` has, or those within half of its radius, unless they are more of the scan than
 * a vehicle returns. */
pcgpu_status pc_scan_leave_out(pcgpu_context *context, const pc_carrier *carrier, pc_scan *scan, pcgpu_run *run);
void pc_scan_release(pc_scan *scan);
/* Both scans of a pair without the returns of the carrier. Release both in any case. */
pcgpu_status pc_scan_take_pair(pcgpu_context *context, const pcgpu_pair *pair, const pcgpu_register_params *params,
                               pc_scan *source, pc_scan *target, pcgpu_run *run);

/* ---- the view: scan_view.c --------------------------------------------------------------------------------------- */

/* Points relative to the sensor that saw them, borrowed, and what it saw through. */
typedef struct pc_view pc_view;
typedef struct pc_seen {
    int64_t n;
    const float *x, *y, *z;
    int64_t stride;      /* from point to point */
    const float *copies; /* NULL, or of the samples, see pc_sampled; x, y and z are not read then */
    double offset[3];    /* of the points from the sensor */
    pc_view **view;      /* of the points as they are, with the voxel size of the registration; NULL until it is made */
} pc_seen;

/* What the sensors of scans saw: made in parallel where it is not there yet, without memory not at all; and dropped,
 * when the points change. */
void pc_view_make(pcgpu_context *context, pc_seen *seen, int count, double voxel);
void pc_view_drop(pc_view **view);
/* Whether a sensor at the origin saw the points; false for NULL. */
bool pc_view_is_from_origin(const pc_view *view);
/* How two scans compare; -1 where that is not known, since one was not seen from its origin, or since each sees little
 * of the other. */
typedef struct pc_view_comparison {
    double free; /* fraction of the points that lie in the free space of the other scan, of those that its sensor could
                       see */
    double overlap; /* fraction of the source's points that the target's sensor could see */
} pc_view_comparison;
/* Makes views that are not there. T: T_target_source, back: its inverse. Errors: MEMORY. */
pcgpu_status pc_view_compare(pcgpu_context *context, pc_seen seen[2], const double T[16], const double back[16],
                             double voxel, pc_view_comparison *result);
/* The fraction in free space for up to PC_SAMPLED_ASKED points of a map, x y z in the frame of the scan: of those that
 * its sensor could see. */
pcgpu_status pc_view_free(pcgpu_context *context, pc_seen *scan, const float *xyz, int n, double voxel,
                          double *fraction);

#endif
