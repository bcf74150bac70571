/* What the files of pcgpu sample share. */
#ifndef SAMPLE_RUN_H
#define SAMPLE_RUN_H

#include "job.h"

int sample_process(job *job); /* one input */
/* Whether an input is sampled at random and needs more memory than there is. */
bool sample_reads_pieces(const session *session, const char *input);

#endif
