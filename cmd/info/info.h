/* What the kinds of inputs of info share. Each function describes one input, with --json and as text, and returns an
 * exit code. */
#ifndef INFO_H
#define INFO_H

#include "job.h"

enum { INFO_ODD = 12 }; /* sentences of what looks odd */

typedef struct info_values {
    int64_t rows; /* records to show */
} info_values;
OWN_VALUES(info)

int info_cloud(job *job, FILE *stream);
int info_image(job *job, FILE *stream, const char *head, size_t size);
int info_poses(job *job, FILE *stream);
int info_config(job *job);
int info_camera(job *job);
int info_machine(session *session);
int info_arrays(job *job, const char *arrays); /* of an .npz without a cloud: their names, shapes and types */
int info_model(job *job, FILE *stream);
int info_recording(job *job, FILE *stream);
int info_labels(job *job, FILE *stream); /* of a .label */

/* Whether a text is a configuration, by its name and its first lines. */
bool info_is_config(const char *path, const char *head, size_t size);

/* ---- a cloud: info_measure.c measures it, info_print.c prints it ---- */

typedef struct column_info {
    float low, high; /* of the finite values, offset not counted */
    double mean;     /* with the offset; NaN without a finite value */
    int64_t non_finite;
} column_info;

typedef struct cloud_info {
    column_info columns[PCGPU_MAX_COLUMNS];
    int64_t non_finite, at_origin, duplicates; /* points */
    double extent[3];                          /* metres; NaN without a finite point */
    double spacing[3];               /* to the nearest other position, of the points in a sample: a tenth has less,
                                                  the half, a tenth has more; NaN without two positions */
    double near_duplicates;          /* the fraction of the sample with a much nearer one */
    double density, cell;            /* points per square metre seen from above, in occupied cells; NaN */
    int64_t outliers, first_outlier; /* points far from nearly all others; the record of the first */
    bool wrong;                      /* odd[0] is that of pcgpu_cloud_looks_wrong */
    int odd_count;
    char odd[INFO_ODD][256];
} cloud_info;

/* False without memory. */
bool cloud_measure(const pcgpu_cloud *cloud, cloud_info *info);
void cloud_print_json(json *out, const job *job, const cloud_info *info, const pcgpu_file_info *file);
void cloud_print_text(FILE *out, const job *job, const cloud_info *info, const pcgpu_file_info *file);

/* pcgpu --version, with all that this build and machine can do if verbose. */
void version_print(bool verbose);

#endif
