/* pcgpu voxelize: voxels, their features and coordinates, or a downsampled cloud. Several inputs in one file are in
 * voxelize_batch.c. */
#include "voxelize.h"
#include "pieces.h"
#include "sweeps.h"

#include <string.h>

/* ---- a file that needs more memory than there is: only its voxels are in memory ---------------------------------- */

/* The memory of a run without pieces is about this many times the file: its records, and 90 bytes for the cell and the
 * voxel of each. */
enum { TIMES_OF_FILE = 7 };

/* What a run in pieces lacks; NULL: nothing. */
static const char *lacking(const option_values *o) {
    const voxelize_values *own = voxelize_own(o);
    return o->sweeps > 0                               ? "sweeps"
           : own->shuffle                              ? "--shuffle"
           : own->voxelization == VOXELIZATION_DYNAMIC ? "dynamic voxelization, whose output is the points"
           : own->params.max_points > 0 || own->params.max_voxels > 0 ? "--max-points or --max-voxels"
           : pc_features_are_padded(own->params.features)             ? "features of the points of a voxel"
                                                                      : NULL;
}

bool voxelize_reads_pieces(const session *s, const char *input) {
    return !s->options->batch &&
           session_needs_pieces(s, input, TIMES_OF_FILE,
                                !lacking(s->options) && s->options->device.device != PCGPU_DEVICE_CUDA);
}

static int voxelize_in_pieces(job *j, pcgpu_voxels *v) {
    const option_values *o = j->session->options;
    const pcgpu_voxelize_params params = voxelize_parameters(j);
    unsigned wanted = voxelize_own(o)->point_voxel ? PCGPU_PIECES_POINT_VOXEL : 0;
    pcgpu_pieces *pieces = NULL;
    size_t memory = 0;
    *v = (pcgpu_voxels){0};
    if (voxelize_own(o)->coords || voxelize_own(o)->counts || (j->format && j->format->writes_arrays)) {
        wanted |= PCGPU_PIECES_ARRAYS;
    }
    progress_begin(j->names[0], "voxelizing in pieces");
    PC_TRY(lacking(o) ? job_lacks_in_pieces(j, &pieces, lacking(o)) : job_open_pieces(j, &pieces, &memory));
    if (!j->in_pieces) {
        return voxelize_cloud(j, v);
    }
    int code = voxels_check_columns(j);
    if (code == EXIT_DONE) {
        code = job_code(j, pcgpu_voxelize_pieces(j->session->context, pieces, &params, memory, wanted, v));
    }
    pcgpu_pieces_close(pieces);
    return code == EXIT_DONE ? voxels_check(j, v) : code;
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

/* Dynamic voxelization: the points in place of voxels. */
static int write_points(job *j, const pcgpu_voxels *v) {
    dynamic_points points = {0};
    int code = dynamic_add(j, v, 0, &points);
    code = code == EXIT_DONE ? dynamic_write(j, &points) : code;
    dynamic_free(&points);
    return code;
}

int voxelize_process(job *j) {
    pcgpu_voxels v;
    PC_TRY(j->in_pieces ? voxelize_in_pieces(j, &v) : voxelize_cloud(j, &v));
    int code = voxels_write_sides(j, &v);
    if (code == EXIT_DONE && j->format && job_stream(j, "output")) {
        if (j->format->writes_arrays && voxelize_own(j->session->options)->voxelization == VOXELIZATION_DYNAMIC) {
            code = write_points(j, &v);
        } else if (j->format->writes_arrays) {
            voxels_add_offset(j, &v);
            code = voxels_write(j, &v, NULL, 0);
        } else {
            code = voxels_write_cloud(j, &v);
        }
    }
    pcgpu_voxels_free(&v);
    return code;
}
