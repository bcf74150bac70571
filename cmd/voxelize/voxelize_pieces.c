/* pcgpu voxelize of a file that needs more memory than there is: it is read in pieces, and only its voxels are in memory. */
#include "voxelize.h"
#include "memory.h"

#include <stdint.h>
#include <sys/stat.h>

/* The memory of a run without pieces is about this many times the file: its records, and 90 bytes for the cell and the voxel
 * of each. */
enum { TIMES_OF_FILE = 7 };

enum { LEAST_PIECE = 1 << 16, MOST_PIECE = 64 << 20 };

static size_t memory_of(const session *s) {
    return s->options->memory ? (size_t)s->options->memory : memory_available("") / 4 * 3;
}

/* What a run in pieces lacks; NULL: nothing. */
static const char *lacking(const option_values *o) {
    return o->batch                 ? "batch"
           : o->point_voxel         ? "point-voxel, which has an entry for each point"
           : o->voxelize.features != PCGPU_FEATURES_MEAN && o->voxelize.features != PCGPU_FEATURES_FIRST
               ? "features but mean and first"
               : NULL;
}

/* With --memory a file is never read whole if it needs more; without, one that cannot be read in pieces may still fit. */
bool voxelize_reads_pieces(const session *s, const char *input) {
    const option_values *o = s->options;
    struct stat st;
    reason why;
    if (path_is_dash(input) || stat(input, &st) != 0 || !S_ISREG(st.st_mode) ||
        (uint64_t)st.st_size <= memory_of(s) / TIMES_OF_FILE) {
        return false;
    }
    const pcgpu_format_info *format = found_format(s, input, &why);
    const bool can = format && pcgpu_format_has_pieces(format) && !lacking(o) && o->device.device != PCGPU_DEVICE_CUDA;
    return can || (format && o->memory);
}

/* A piece is a small part of the memory. */
static size_t piece_bytes(size_t memory) {
    const size_t part = memory / 16;
    return part < LEAST_PIECE ? LEAST_PIECE : part > MOST_PIECE ? MOST_PIECE : part;
}

static int fail(const job *j, const char *what) {
    report_error(j->names[0], "needs more than %.4g GB of memory, and a file in pieces has no %s; leave it out, or give more by --memory",
                 (double)memory_of(j->session) / 1e9, what);
    return EXIT_FAILED;
}

int voxelize_in_pieces(job *j, pcgpu_voxels *v) {
    const option_values *o = j->session->options;
    pcgpu_context *context = j->session->context;
    const pcgpu_voxelize_params params = voxelize_parameters(j);
    const pcgpu_read_options how = {.format = o->format, .fields = session_fields(j->session), .found = &j->input_format[0]};
    const size_t memory = memory_of(j->session), piece = piece_bytes(memory);
    const bool arrays = o->coords || o->counts || (j->format && j->format->writes_arrays);
    pcgpu_pieces *pieces;
    *v = (pcgpu_voxels){0};
    if (lacking(o)) {
        return fail(j, lacking(o));
    }
    progress_begin(j->names[0], "voxelizing in pieces");
    pcgpu_status status = pcgpu_pieces_open(context, j->inputs[0], &how, piece, &pieces);
    if (status != PCGPU_OK) {
        return job_failed(j, status);
    }
    pcgpu_pieces_describe(pieces, &j->clouds[0]);
    int code = !arrays && voxels_need_points(&j->clouds[0]) ? fail(j, "mean of packed colours") : EXIT_DONE;
    if (code == EXIT_DONE) {
        status = pcgpu_voxelize_pieces(context, pieces, &params, memory > 2 * piece ? memory - 2 * piece : memory, arrays, v);
        code = status == PCGPU_OK ? EXIT_DONE : job_failed(j, status);
    }
    pcgpu_pieces_close(pieces);
    return code == EXIT_DONE ? voxels_check(j, v) : code;
}
