/* Filters: outliers, ground, normals and clusters of a cloud, points in oriented boxes. A part of pcgpu.h, which
 * includes this header. */
#ifndef PCGPU_H
#include "pcgpu.h" /* which includes this in its place */
#elif !defined PCGPU_FILTER_H
#define PCGPU_FILTER_H

/* Oriented boxes as OpenPCDet has them, PCGPU_BOX_NUMBERS float32 each: the centre x y z and the size dx dy dz in
 * metres, and the heading in radians: dx is along the x axis turned by the heading about z, towards y. */
enum { PCGPU_BOX_NUMBERS = 7 };

/* Finds the boxes that hold each record. A point is in a box, in float32, if its distance from the centre is less than
 * half of the size along the two sides, and at most half of it in z; one that is not finite is in none. Each cloud
 * has `count` boxes of its own. first: records, the lowest index of a box that holds the record, -1: none. inside:
 * clouds x records x count for equal clouds, row by row, 1 or 0. Either may be NULL, and
 * *run, how it ran, too. Device arrays:
 * pcgpu_points_in_boxes_device.
 * Errors: ARGUMENT (the clouds as for pcgpu_neighbors; a number of a box that is not finite, a size below 0, a heading
 * beyond 1e6), MEMORY, DEVICE. */
pcgpu_status pcgpu_points_in_boxes(pcgpu_context *context, const pcgpu_clouds *points, const float *boxes,
                                   int64_t count, int32_t *first, uint8_t *inside, pcgpu_run *run);

/* ---- filters of a cloud ----
 * A mask has a byte per record of the cloud, in memory of the caller: 0 = the record takes no part. A record with a
 * coordinate that is not finite takes none either. A filter clears the bytes of what it removes and of what takes no
 * part, so that filters can follow each other; after an error the mask is as it was. Distances are those of
 * pcgpu_neighbors: results are the same on every back end and with any number of threads. */
typedef struct pcgpu_outliers {
    int64_t removed;           /* records that took part */
    double average, deviation; /* of the mean distances, metres; 0 from pcgpu_find_sparse */
    double threshold;          /* the largest mean distance that stays, metres */
    pcgpu_run run;
} pcgpu_outliers;

/* Removes statistical outliers (Rusu et al. 2008; StatisticalOutlierRemoval of PCL): records whose mean distance to
 * their k nearest others is larger than the average of these means + `sigmas` standard deviations. A record with fewer
 * than k others has the mean of those, and the only one of a cloud stays.
 * Errors: ARGUMENT (k not 1 to PCGPU_NEIGHBORS_MOST - 1, sigmas not finite, 2^31 records), MEMORY, DEVICE. */
pcgpu_status pcgpu_find_outliers(pcgpu_context *context, const pcgpu_cloud *cloud, int k, double sigmas, uint8_t *mask,
                                 pcgpu_outliers *found);

/* Removes records with fewer than `others` other records within `radius` metres (RadiusOutlierRemoval of PCL).
 * Errors: ARGUMENT (the radius as in pcgpu_neighbors_params, others below 0, 2^31 records), MEMORY, DEVICE. */
pcgpu_status pcgpu_find_sparse(pcgpu_context *context, const pcgpu_cloud *cloud, float radius, int64_t others,
                               uint8_t *mask, pcgpu_outliers *found);

/* The surface at each record: rows x 4, the unit normal x y z and the curvature, which is the least eigenvalue of the
 * covariance per sum of the three, 0 (a plane) to 1/3 (Pauly et al. 2002). The normal is the eigenvector of the least
 * one, in float64, of the k nearest records, itself included, that lie within `radius` metres (0 = no limit). It points
 * to the side of `viewpoint` (3 numbers, metres; NULL = the origin of the file); where that lies in the plane, z, else
 * y, else x is above 0. All 4 are 0 for a record with fewer than 3 such records or all of them in one place, and for
 * one that takes no part. mask: as above, not changed; NULL = all records.
 * Errors: ARGUMENT (k not 3 to PCGPU_NEIGHBORS_MOST, the radius, 2^31 records), MEMORY, DEVICE. */
pcgpu_status pcgpu_find_normals(pcgpu_context *context, const pcgpu_cloud *cloud, int k, float radius,
                                const double viewpoint[3], const uint8_t *mask, float *normals, pcgpu_run *run);

typedef struct pcgpu_cluster_params {
    size_t struct_size;  /* set by pcgpu_cluster_params_init */
    float distance;      /* metres: records nearer than this to each other are in one cluster; 0.5 */
    int64_t core;        /* DBSCAN: only records with so many within the distance, themselves included, connect others;
                           1: all, which is Euclidean clustering */
    int64_t least, most; /* records of a cluster; others are no clusters. 1, and 0 = no limit */
} pcgpu_cluster_params;

void pcgpu_cluster_params_init_sized(pcgpu_cluster_params *params, size_t struct_size);
#define pcgpu_cluster_params_init(params) pcgpu_cluster_params_init_sized(params, sizeof *(params))

/* Clusters: connected components (Rusu 2009, EuclideanClusterExtraction of PCL), or DBSCAN (Ester et al. 1996).
 * clusters: rows, the id of the cluster of a record, -1: none. Ids ascend from 0 with the lowest record of a cluster
 * (of those that connect others). A record that connects no others is in the cluster of the first of those within the
 * distance. *count: the clusters. mask: as above, not changed; NULL = all records.
 * Errors: ARGUMENT (a parameter; a cloud wider than 1.2 million times the distance; 2^31 records), MEMORY, DEVICE. */
pcgpu_status pcgpu_find_clusters(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_cluster_params *params,
                                 const uint8_t *mask, int32_t *clusters, int64_t *count, pcgpu_run *run);

/* The ground of a scan of a vehicle or robot, whose sensor is at the origin of the file, or of a tile from an aircraft,
 * by a progressive morphological filter (Zhang et al. 2003, Pingel et al. 2013) of the lowest points of square cells. A
 * scan is known by its points, most of which are near the origin. The height of the sensor is not needed. */
typedef struct pcgpu_ground_params {
    size_t struct_size; /* set by pcgpu_ground_params_init */
    float slope;        /* 0.01 to 10: the steepest rise of a thing that is still ground, metres per metre */
    float tolerance;    /* metres: the height of ground above the lowest point of its cell; 0 (default): 0.1 in a scan,
                         * with twice as much for rough ground, and 0.5 in a tile */
    float cell_size;    /* metres, 0.1 or more; 0 (default): 0.75 in a scan, by the density in a tile. They are larger
                         * where they would be more than a million and four per record */
} pcgpu_ground_params;

void pcgpu_ground_params_init_sized(pcgpu_ground_params *params, size_t struct_size);
#define pcgpu_ground_params_init(params)  pcgpu_ground_params_init_sized(params, sizeof *(params))

/* Finds the records that are on the ground: roads and pavements, slopes, floors. z points up, metres. ground: one byte
 * per record of the caller, in: 0: the record takes no part, out: 1 on the ground, else 0. A record with a coordinate
 * that is not finite takes no part. *run, or NULL: how it ran, on the CPU. Threads change no byte.
 * Errors: ARGUMENT (the parameters), MEMORY (then `ground` is undefined). */
pcgpu_status pcgpu_find_ground(pcgpu_context *context, const pcgpu_cloud *cloud, const pcgpu_ground_params *params,
                               uint8_t *ground, pcgpu_run *run);
#endif
