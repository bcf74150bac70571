/* Tables of the fields of public structs: the names, in Python, of parameters and results. The binding fills structs
 * from them and reads structs by them, so that a new field of the C library is one line of fields.c. */
#ifndef PCGPU_PYTHON_FIELDS_H
#define PCGPU_PYTHON_FIELDS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum field_type {
    FIELD_BOOL,
    FIELD_INT,
    FIELD_INT64,
    FIELD_UINT64,
    FIELD_FLOAT,
    FIELD_DOUBLE,
    FIELD_CHOICE,  /* an enum: one of `choices` */
    FIELD_TEXT,    /* char[] */
    FIELD_INTS,    /* rows x columns int */
    FIELD_DOUBLES, /* rows x columns double */
    FIELD_STAGES,  /* the stages of a pcgpu_run */
    FIELD_STRUCT   /* `fields` of it */
} field_type;

typedef struct field {
    const char *name; /* in Python; NULL ends a table */
    field_type type;
    size_t offset;
    int rows, columns; /* columns 0: a vector */
    const char *const
        *choices; /* by value; NULL ends the list. A FIELD_DOUBLE with choices takes "auto" for PCGPU_AUTO */
    const struct field *fields;
} field;

extern const field camera_fields[], run_fields[], depth_counts_fields[], device_fields[];
extern const field sample_params_fields[], sampled_fields[];
extern const field neighbors_params_fields[];
extern const field outliers_fields[], cluster_params_fields[], ground_params_fields[];
extern const field voxelize_params_fields[], voxels_fields[];
extern const field register_params_fields[], registration_fields[];
extern const field register_depth_params_fields[];
extern const field set_cloud_fields[], set_link_fields[], set_fields[];
extern const field odometry_params_fields[], depth_odometry_params_fields[], frame_fields[];
extern const field map_params_fields[], map_stats_fields[];
extern const field loops_params_fields[], depth_loops_params_fields[], loop_fields[], loops_result_fields[];
extern const field volume_params_fields[], volume_counts_fields[], volume_stats_fields[];

#ifdef __cplusplus
}
#endif
#endif
