/* A file that needs more memory than there is: its records, and what is found of them, are in temporary files, whose
 * pages the system keeps in memory as long as it has some; the filters take the points in tiles. */
#include "filter_run.h"
#include "cloud.h"
#include "pieces.h"
#include "temporary.h"

#include <string.h>

/* The memory of a run without pieces is about this many times the file: two copies of the records, and 50 bytes per
 * point. */
enum { TIMES_OF_FILE = 6, BYTES_OF_RECORD = 12 /* at least */ };

/* The step that needs all points at a time, or NULL. */
static const char *lacking(const option_values *o) {
    const filter_values *own = filter_own(o);
    return own->outliers.count                             ? "--outliers, which compares all points"
           : own->ground                                   ? "--ground"
           : own->normals > 0 && own->normal_radius == 0.0 ? "--normals without --set normal-radius"
                                                           : NULL;
}

bool filter_reads_pieces(const session *s, const char *input) {
    const int of_normals = (4 * filter_own(s->options)->normals + BYTES_OF_RECORD - 1) / BYTES_OF_RECORD;
    return session_needs_pieces(s, input, TIMES_OF_FILE + of_normals, !lacking(s->options));
}

int filter_allocate(job *j, uint64_t bytes, void *memory) {
    void *allocated = NULL;
    const int code = job_code(j, pc_allocate(j->session->context, bytes, j->in_pieces ? 0 : UINT64_MAX, &allocated));
    memcpy(memory, &allocated, sizeof allocated);
    return code;
}

/* Reads all records into the cloud of the job. */
static int read_records(job *j, pcgpu_pieces *pieces) {
    pcgpu_cloud whole, piece, *cloud = &j->clouds[0];
    const size_t row = (size_t)cloud->columns * sizeof *cloud->data;
    pcgpu_status status;
    float *at = NULL;
    PC_TRY(filter_allocate(j, (uint64_t)cloud->rows * row, &at));
    cloud->data = at;
    pcgpu_pieces_describe(pieces, &whole);
    pc_header_share(whole.header, cloud);
    while ((status = pcgpu_pieces_next(pieces, &piece)) == PCGPU_OK && piece.rows > 0) {
        memcpy(at, piece.data, (size_t)piece.rows * row);
        at += piece.rows * piece.columns;
    }
    return job_code(j, status);
}

int filter_read_pieces(job *j) {
    const char *lacks = lacking(j->session->options);
    pcgpu_pieces *pieces = NULL;
    size_t memory = 0;
    progress_begin(j->names[0], "reading in pieces");
    PC_TRY(lacks ? job_lacks_in_pieces(j, &pieces, lacks) : job_open_pieces(j, &pieces, &memory));
    const int code = j->in_pieces ? read_records(j, pieces) : EXIT_DONE;
    pcgpu_pieces_close(pieces);
    pc_limit_memory(j->session->context, j->in_pieces ? memory : 0);
    return code;
}
