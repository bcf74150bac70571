/* Shared by the files of localization: odometry_localize.c (a scan in a map), odometry_session.c (what a session adds
 * to the map) and odometry_open_map.c. */
#ifndef PC_ODOMETRY_LOCALIZE_H
#define PC_ODOMETRY_LOCALIZE_H

#include "odometry_lidar.h"
#include "odometry_places.h"

/* NULL when memory is short. map: its points, from `offset`; voxel: of the registration, wide: a widest one, metres. */
typedef struct pc_odometry_session pc_odometry_session;
pc_odometry_session *pc_odometry_session_make(const pc_points *map, const double offset[3], double voxel, double wide);
void pc_odometry_session_free(pc_odometry_session *session); /* accepts NULL */

/* Whether the map has points around most of the points of a scan at T. */
bool pc_odometry_session_is_in_map(const pc_odometry_session *session, const pc_odometry_scan *scan,
                                   const double T[16]);
/* Adds the points of a scan at its pose, up to `range` metres from the sensor. False when memory is short. */
bool pc_odometry_session_add(pc_odometry_session *session, const pc_odometry_scan *scan, double range);
int64_t pc_odometry_session_points(const pc_odometry_session *session);
/* Merges the points from `first` on that are within `half` metres of the middle of the box into the local map. */
pcgpu_status pc_odometry_session_merge(pcgpu_odometry *o, const pc_odometry_session *session, int64_t first,
                                       double half);

/* ---- a map ------------------------------------------------------------------------------------------------------- */

/* A map. Its coordinates have their origin at `offset`, those of its boxes at their middles. */
struct pc_odometry_map {
    double offset[3];
    pc_ndt_target box; /* a box, but for its points */
    double half;       /* of its edge, in widest voxels */
    int64_t first[3];  /* where the box of all voxels begins, in widest voxels */
    bool placed;       /* `anchor` is known */
    int64_t anchor[3]; /* the middle of the box that belongs to the last pose, in widest voxels */
    bool cut;
    int64_t middle[3];            /* that of the box that was cut last */
    pc_odometry_session *session; /* what scans have added, or NULL */
    bool alone, cut_alone;        /* the box is that of the map alone: the next one, and that which was cut last */
    bool screening; /* the present registration is a short one, which shows whether the place is possible */
    bool searches;  /* scans that their motion does not find */
    pc_places *places;
};

double pc_odometry_widest_voxel(const pcgpu_odometry *o);
/* Scans are registered to the map, or also to what they add. */
extern const pc_reference_kind pc_odometry_localization, pc_odometry_extension;
pcgpu_status pc_odometry_look_at_map(pc_register_work *w, double *share); /* of pcgpu_odometry */
/* Searches the present scan in the whole map: pc_track_ops.search. */
pcgpu_status pc_odometry_search_map(void *owner, pcgpu_odometry_frame *f, double T[16]);

#endif
