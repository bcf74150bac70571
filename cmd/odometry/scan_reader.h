/* Reads the scans of a sequence on a separate thread, a few scans ahead of their registration. */
#ifndef SCAN_READER_H
#define SCAN_READER_H

#include "job.h"

/* A scan that was read, or the reason of a failure. */
typedef struct scan_read {
    int index; /* of the input */
    bool good;
    pcgpu_cloud cloud; /* the caller frees it */
    pcgpu_depth image; /* in its place for depth images */
    pcgpu_depth_counts depth;
    double seconds;
    double time;  /* of measurement, of a cloud of a recording; else NaN */
    reason error; /* may begin with the name */
    char *log;    /* messages of the library, lines that begin with "w" or "i"; may be NULL; see scan_read_log */
} scan_read;

typedef struct scan_reader scan_reader;

/* Starts to read the inputs, with `poses` those whose pose is not NaN. `images`: depth images stay images, else they
 * become clouds. Where the system refuses a thread, scan_reader_next reads. The arguments must stay valid until the
 * reader is closed. */
scan_reader *scan_reader_open(const session *session, const double *poses, bool images);
/* Waits for the next scan; false after the last one. */
bool scan_reader_next(scan_reader *reader, scan_read *scan);
/* Reports the messages of the library about the scan, and frees them. */
void scan_read_log(scan_read *scan, const char *name);
void scan_reader_close(scan_reader *reader);

#endif
