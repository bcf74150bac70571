/* What the files of pcgpu sample share. */
#ifndef SAMPLE_RUN_H
#define SAMPLE_RUN_H

#include "job.h"

int sample_process(job *job); /* one input */

#endif
