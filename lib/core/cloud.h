/* Shared by operations on clouds: usable points, normals, creation of a cloud with the columns of another. */
#ifndef PC_CLOUD_H
#define PC_CLOUD_H

#include "geometry.h"
#include "pcgpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A record at exactly (0,0,0) of the file, which the offset of the cloud moves: some sensors write it for no return. */
static inline bool pc_at_origin(const pcgpu_cloud *cloud, const float *p) {
    return cloud->offset[0] + (double)p[0] == 0.0 && cloud->offset[1] + (double)p[1] == 0.0 &&
           cloud->offset[2] + (double)p[2] == 0.0;
}

/* The rule of a usable point: finite, and not at the origin of the file when drop_origin. */
static inline bool pc_cloud_usable(const pcgpu_cloud *cloud, const float *p, bool drop_origin) {
    return pc_is_finite3(p[0], p[1], p[2]) && !(drop_origin && pc_at_origin(cloud, p));
}

/* The same rule for hot loops: the coordinates of a record at the origin, or NaN, which equals no record, where float32
 * has none or such records are kept. */
static inline void pc_cloud_origin(const pcgpu_cloud *cloud, bool drop_origin, float origin[3]) {
    for (int k = 0; k < 3; k++) {
        origin[k] = (float)-cloud->offset[k];
        origin[k] = drop_origin && cloud->offset[k] + (double)origin[k] == 0.0 ? origin[k] : NAN;
    }
}
PC_HD_ALWAYS bool pc_is_at(const float origin[3], const float *p) {
    return p[0] == origin[0] && p[1] == origin[1] && p[2] == origin[2];
}
PC_HD_ALWAYS bool pc_is_usable(const float origin[3], const float *p) {
    return pc_is_finite3(p[0], p[1], p[2]) && !pc_is_at(origin, p);
}

/* Features of voxels that have a row per point, with zeros up to the capacity of the voxel. */
static inline bool pc_features_are_padded(pcgpu_features features) {
    return features == PCGPU_FEATURES_POINTS || features == PCGPU_FEATURES_PILLAR;
}

/* Whether the values of a column are classes, such as labels and rings: whole numbers that are no colours, counts or
 * measured values; by its type and its name. */
bool pc_column_is_class(const pcgpu_cloud *cloud, int k);

/* Whether a column of this name, in letters of any case, has times. */
bool pc_is_time(const char *name);
const char *pc_type_name(int type); /* "float32", ... */
/* The given column of times; 0: the first with such a name, else 4. */
int pc_time_column(const pcgpu_cloud *cloud, int given);

/* First of the three adjacent columns nx ny nz or normal_x normal_y normal_z, or -1. */
int pc_normal_column(const pcgpu_cloud *cloud);

/* The axis of the coordinates that points up; AUTO: not known. pc_up_names has "auto", "x", ..., "-z". */
typedef enum pc_up { PC_UP_AUTO, PC_UP_X, PC_UP_Y, PC_UP_Z, PC_UP_MINUS_X, PC_UP_MINUS_Y, PC_UP_MINUS_Z } pc_up;
extern const char *const pc_up_names[];
static inline int pc_up_axis(pc_up up) {
    return ((int)up - 1) % 3;
}
static inline float pc_up_sign(pc_up up) {
    return up >= PC_UP_MINUS_X ? -1.0f : 1.0f;
}
/* The axis within 45 degrees of a direction, or AUTO. */
pc_up pc_up_of(const double direction[3]);

/* What a file holds besides columns, for writers of its format. */
typedef struct pcgpu_header {
    int users;               /* clouds that share it */
    pc_up up;                /* of a .ply, in a line "comment up -y" */
    double viewpoint[7];     /* of a .pcd: the sensor's position and quaternion w x y z; all 0: not given */
    unsigned char begin[20]; /* of a .las: its bytes from 4 on: source of the file, encoding, GUID */
    unsigned char *records;  /* of a .las: records as extended ones, back to back */
    size_t size;
} pcgpu_header;

static inline pc_up pc_cloud_up(const pcgpu_cloud *cloud) {
    return cloud->header ? cloud->header->up : PC_UP_AUTO;
}
/* False without memory. */
bool pc_cloud_set_up(pcgpu_cloud *cloud, pc_up up);
/* A header of one user, all zero; NULL without memory. */
pcgpu_header *pc_header_create(void);
void pc_header_share(pcgpu_header *header, pcgpu_cloud *cloud); /* accepts NULL */
void pc_header_release(pcgpu_header *header);                   /* accepts NULL */

/* A new cloud with the columns, types, offset and header of another; its values are the caller's to fill. */
pcgpu_status pc_cloud_create_like(pcgpu_context *context, const pcgpu_cloud *model, int64_t rows, pcgpu_cloud *out);

#ifdef __cplusplus
}
#endif
#endif
