/* What the files of pcgpu sample share. */
#ifndef SAMPLE_RUN_H
#define SAMPLE_RUN_H

#include "job.h"

int sample_run(session *session); /* all inputs, several at a time */

#endif
