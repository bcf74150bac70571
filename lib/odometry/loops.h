/* Shared by the files of loops: loops.c (frames in, poses out), loops_prior.c (positions from elsewhere), loops_paths.c
 * (the graph of places), and of scans loops_place.c (what is kept of a place), loops_find.c (places that were seen
 * before) and loops_check.c (registration of two places); of depth images loops_depth.c (images in) and
 * loops_depth_find.c (places that were seen before). */
#ifndef PC_LOOPS_H
#define PC_LOOPS_H

#include "pcgpu_loops.h"
#include "register.h"

/* ---- places ------------------------------------------------------------------------------------------------------ */

enum { PC_PLACE_RINGS = 15 };

/* Points in fixed-point units of 1/64 voxel. */
typedef struct pc_packed_points {
    int32_t n;
    int16_t (*xyz)[3];
} pc_packed_points;

/* A piece of the path and what was seen from it, in the frame of the sensor in its middle. */
typedef struct pc_place {
    int64_t frame;                  /* that sensor's, counted from the first frame */
    double T[16];                   /* its pose by odometry */
    double path;                    /* metres from the first frame */
    pc_packed_points map;           /* of all frames of the place */
    pc_packed_points scan;          /* of the frame in the middle: what its sensor saw through */
    int32_t link;                   /* its last link, or -1 */
    uint16_t rings[PC_PLACE_RINGS]; /* high columns by their distance from the sensor */
    uint16_t *depth;                /* of a depth camera, which has no points: its image */
} pc_place;

/* A cell that has a point, as an entry of a hash table; 0: empty. */
typedef struct pc_place_builder {
    double voxel;
    double first[16]; /* pose of the first frame, whose frame the points are in */
    float *xyz;       /* in `memory` */
    int64_t count;
    pc_buffer memory;
    uint64_t *table; /* of cells that have a point */
    int64_t slots;
    pc_packed_points scan;
} pc_place_builder;

void pc_place_begin(pc_place_builder *b, const double T[16]);
/* False when memory is short. */
bool pc_place_add(pc_place_builder *b, const pcgpu_cloud *cloud, const double T[16]);
bool pc_place_take_scan(pc_place_builder *b, const pcgpu_cloud *cloud);
/* Fills the place whose pose is set. */
bool pc_place_finish(pc_place_builder *b, pc_place *place);
void pc_place_free(pc_place *place);
void pc_place_builder_free(pc_place_builder *b);
/* A cloud of packed points, transformed by T when that is not NULL; free it. */
bool pc_place_unpack(const pc_packed_points *points, double voxel, const double *T, pcgpu_cloud *cloud);

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* A place that fits an earlier one. */
typedef struct pc_link {
    int32_t from, to; /* places: the earlier one, the later one */
    double T_from_to[16];
    double score;
    int32_t next[2]; /* the link before this of `from`, of `to`; -1: there is none */
} pc_link;

/* An earlier place as the shortest path predicts it. */
typedef struct pc_prediction {
    double length; /* metres of the path */
    double T[16];  /* T_place_present */
    double distance;
    double cost; /* of a candidate: which to search first */
    bool done;   /* the path is the shortest one */
} pc_prediction;

/* What differs between scans and depth images. */
typedef struct pc_loops_kind {
    pcgpu_status (*end)(pcgpu_loops *l);                     /* after the last frame */
    void (*weigh)(const pcgpu_loops *l, pcgpu_pose_edge *e); /* sets the deviations of a step of the odometry */
    /* Whether the loops, given as edges, correct anything: before the graph is solved with them. */
    pcgpu_status (*evaluate)(pcgpu_loops *l, const pcgpu_pose_edge *loops, bool *correct);
} pc_loops_kind;

struct pcgpu_loops {
    pcgpu_context *context;
    const pc_loops_kind *kind;
    pcgpu_loops_params params; /* settled by the first frame; of depth images only the drift */
    bool settled;
    double loop_sigma[2],
        outlier[2];         /* radians and metres: deviations of a loop, and the residual of one that is wrong */
    double loop_length;     /* metres, of a loop in a path */
    int64_t frames, solved; /* as many poses are corrected */
    int64_t *ids;
    double *odometry, *poses; /* of all frames: as added, corrected */
    double path, place_begin; /* metres: now, and where the present place began */
    double last_taken;        /* where a frame was last added to it */
    bool open;                /* the present place has frames */
    pc_place_builder builder;
    pc_place present;
    pc_place *places;
    int32_t place_count;
    pc_link *links;
    int32_t link_count;
    pc_buffer id_memory, pose_memory, place_memory, link_memory; /* of ids, odometry, places, links */
    pcgpu_loop *loops;
    int64_t tried, refused;
    /* Of depth images: */
    pcgpu_depth_loops_params depth;
    pcgpu_camera camera; /* of the images as given */
    pcgpu_camera small;  /* of those that are kept; without a size until the first one */
    const pc_backend *backend;
    double walk; /* variance of the odometry's translation after a metre, from the loops */
};

/* Checks the pose of a frame and makes capacity for it; enters it when all that can fail is done. */
pcgpu_status pc_loops_reserve(pcgpu_loops *l, const double T_world_frame[16]);
void pc_loops_take_pose(pcgpu_loops *l, int64_t id, const double T_world_frame[16]);
/* Takes over what is in `place`, or frees it. */
pcgpu_status pc_loops_take_place(pcgpu_loops *l, pc_place *place);
/* Appends a link, unless its two places have one. */
pcgpu_status pc_loops_append(pcgpu_loops *l, const pc_link *link);
/* The length of a motion of a depth camera: metres, with a radian as a metre, since a rotation by a radian moves what
 * is seen a metre away as far. */
double pc_loops_length(const double T[16]);
/* Predicts all places from the last one. False when memory is short. */
bool pc_loops_predict(const pcgpu_loops *l, pc_prediction *p);

/* Registers the place `to` to the place `from`, from this start. *converged: it has, and the score is >= `least`. */
pcgpu_status pc_loops_register(pcgpu_loops *l, int32_t from, int32_t to, const double start[16], double least,
                               pc_link *link, bool *converged);
/* The same from the starts of a search around `start`, rotated by up to `degrees`. */
pcgpu_status pc_loops_search(pcgpu_loops *l, int32_t from, int32_t to, const double start[16], double degrees,
                             pc_link *link, bool *converged);
/* Enters a link into the lists of its places. */
void pc_loops_join(pcgpu_loops *l, int32_t index);
/* Compares the last place with earlier ones, and appends links that hold. */
pcgpu_status pc_loops_find(pcgpu_loops *l);
pcgpu_status pc_loops_find_depth(pcgpu_loops *l);

/* The edges of the odometry from frame to frame, then those of the loops: frames + link_count at most. Returns how
 * many. */
int64_t pc_loops_edges(const pcgpu_loops *l, pcgpu_pose_edge *edges);
/* Fills the loops of the result, at the present poses. */
void pc_loops_describe(pcgpu_loops *l);

/* The most that the odometry may be off after so many metres: metres and radians. */
double pc_loops_most_metres(const pcgpu_loops *l, double path);
double pc_loops_most_radians(double path);

#endif
