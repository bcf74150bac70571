/* Inputs that need more memory than there is, and are read in pieces. */
#ifndef PIECES_H
#define PIECES_H

#include "job.h"

/* The memory for an input: --memory, or three quarters of what is available. */
size_t session_memory(const session *session);
/* Whether an input needs more than that, which is `times` the size of its file, and is to be read in pieces: where that is
 * possible (`able`: by the options), and with --memory in any case, since it is a limit. */
bool session_needs_pieces(const session *session, const char *input, int times, bool able);
/* Opens the input of a job; its cloud gets the columns and the offset, and no data. *memory: what the pieces leave. Returns an
 * exit code. */
int job_open_pieces(job *job, pcgpu_pieces **pieces, size_t *memory);
/* Reports that a file in pieces lacks what was asked. Returns an exit code. */
int job_lacks_in_pieces(const job *job, const char *what);

#endif
