/* Inputs that need more memory than there is, and are read in pieces. */
#ifndef PIECES_H
#define PIECES_H

#include "job.h"

/* Whether an input, which needs `times` the size of its file, has less memory, and is to be read in pieces: where that
 * is possible (`able`: by the options), and with --set memory in any case, since it is a limit. */
bool session_needs_pieces(const session *session, const char *input, int times, bool able);
/* Opens the input of a job; its cloud gets the columns and the offset, and no data. *memory: what the pieces leave. A
 * file that only its content keeps from pieces is read whole, if no memory forbids it: job->in_pieces is false then.
 * Returns an exit code. */
int job_open_pieces(job *job, pcgpu_pieces **pieces, size_t *memory);
/* Closes the pieces, which lack `what`: as above, the file is read whole, or that is an error. Returns an exit code. */
int job_lacks_in_pieces(job *job, pcgpu_pieces **pieces, const char *what);

#endif
