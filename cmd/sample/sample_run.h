/* What the files of pcgpu sample share. */
#ifndef SAMPLE_RUN_H
#define SAMPLE_RUN_H

#include "job.h"

/* How too few picks are filled up. */
typedef enum padding { PAD_NONE, PAD_REPEAT, PAD_ZERO } padding;

/* The values of its own options. */
typedef struct sample_values {
    pcgpu_sample_params params;
    const char *indices, *distances, *seeds;
    padding pad;
} sample_values;
OWN_VALUES(sample)

int sample_process(job *job);      /* one input */
extern const job_sink sample_sink; /* all inputs into one array */
/* Whether an input is sampled at random and needs more memory than there is. */
bool sample_reads_pieces(const session *session, const char *input);

/* The parameters of the library, from the options in effect. */
pcgpu_sample_params sample_parameters(const session *s);
/* What is done with the cloud of a job before it is sampled: sweeps, and a warning about records at the origin. */
int sample_prepare(job *j);
/* Sets the columns of --columns, if it is given, for the cloud of a job. */
int sample_find_columns(const job *j, pcgpu_sample_params *params);
/* Fills the picks up to --count for --pad: they are repeated in their order, or -1 for rows of zeros, at the distance
 * 0; reports, and adds to the result of the job. */
int sample_finish(job *j, pcgpu_sampled *sampled);
/* Rows of zeros in place of -1, in the coordinates of the file: rows [0, count) of `out`, which has the cloud's
 * columns. Returns the largest error of rounding to float32. */
double sample_rows(const pcgpu_cloud *cloud, const int32_t *indices, int64_t count, float *out);

#endif
