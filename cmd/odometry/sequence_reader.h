/* Reads the scans of a sequence on a thread of its own, a few ahead of the one that is registered. */
#ifndef SEQUENCE_READER_H
#define SEQUENCE_READER_H

#include "job.h"

/* A scan that was read, or why not. */
typedef struct scan_read {
    int index; /* of the input */
    bool good;
    pcgpu_cloud cloud; /* the taker's */
    pcgpu_depth image; /* in its place where images are wanted */
    pcgpu_depth_counts depth;
    double seconds;
    char error[1024]; /* a sentence that may begin with the name */
    char *log;        /* what the library said, lines with "w" or "i" in front; NULL for nothing; the taker's */
} scan_read;

typedef struct sequence_reader sequence_reader;

/* `images`: depth images are read as such, else as clouds. Starts to read inputs[i] for i = first, ..., count - 1; those
 * with `skip` true are left out (NULL: none). NULL when memory is short. Where the system refuses the thread, scans are
 * read as they are asked for. All given stays the caller's until the reader is closed. */
sequence_reader *sequence_reader_open(const session *session, int first, const bool *skip, bool images);
/* Waits for the next scan; false when there is none left. */
bool sequence_reader_next(sequence_reader *reader, scan_read *scan);
/* Reports what the library said of it, and releases it. */
void scan_read_log(scan_read *scan, const char *name);
void sequence_reader_close(sequence_reader *reader); /* accepts NULL */

#endif
