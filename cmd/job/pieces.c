/* Inputs that need more memory than there is, and are read in pieces. */
#include "pieces.h"
#include "memory.h"

#include <stdint.h>
#include <sys/stat.h>

/* A record of a piece takes its own size and at most 100 bytes for its voxel. */
enum { LEAST_PIECE = 1 << 16, MOST_PIECE = 16 << 20, PIECES_OF_MEMORY = 32, TIMES_OF_PIECE = 8 };

/* The memory for an input: its part of --set memory, or of three quarters of what is available. */
static size_t session_memory(const session *s) {
    const size_t all = s->options->memory ? (size_t)s->options->memory : memory_available("") / 4 * 3;
    return all / (size_t)(s->at_once > 1 ? s->at_once : 1);
}

bool session_needs_pieces(const session *s, const char *input, int times, bool able) {
    struct stat st;
    reason why;
    if (path_is_dash(input) || stat(input, &st) != 0 || !S_ISREG(st.st_mode) ||
        (uint64_t)st.st_size <= session_memory(s) / (uint64_t)times) {
        return false;
    }
    const pcgpu_format_info *format = found_format(s, input, &why);
    return s->options->memory || (able && format && pcgpu_format_has_pieces(format));
}

static int read_whole(job *j) {
    j->in_pieces = false;
    return job_read_input(j, j->inputs[0]);
}

int job_open_pieces(job *j, pcgpu_pieces **pieces, size_t *memory) {
    pcgpu_read_options how = session_read_options(j->session);
    if (j->session->options->labels) {
        return job_lacks_in_pieces(j, pieces, "--labels");
    }
    how.found = &j->input_format[0];
    how.complete = complete_of(j);
    const size_t whole = session_memory(j->session), part = whole / PIECES_OF_MEMORY;
    const size_t piece = part < LEAST_PIECE ? LEAST_PIECE : part > MOST_PIECE ? MOST_PIECE : part;
    pcgpu_status status = pcgpu_pieces_open(j->session->context, j->inputs[0], &how, piece, pieces);
    if (status == PCGPU_ERROR_ARGUMENT && !j->session->options->memory) {
        return read_whole(j);
    }
    PC_TRY(job_code(j, status));
    *memory = whole > 2 * TIMES_OF_PIECE * piece ? whole - TIMES_OF_PIECE * piece : whole / 2;
    pcgpu_pieces_describe(*pieces, &j->clouds[0]);
    j->clouds[0].header = NULL; /* which the pieces keep */
    return EXIT_DONE;
}

int job_lacks_in_pieces(job *j, pcgpu_pieces **pieces, const char *what) {
    pcgpu_pieces_close(*pieces);
    *pieces = NULL;
    if (!j->session->options->memory) {
        return read_whole(j);
    }
    return report_error(
        j->names[0],
        "needs more than %.4g GB of memory, and a file in pieces has no %s; leave it out, downsample the file first "
        "(pcgpu voxelize --voxel-size, pcgpu sample --method random), or give more by --set memory",
        (double)session_memory(j->session) / 1e9, what);
}
