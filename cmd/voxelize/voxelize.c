/* pcgpu voxelize: voxels, their features and coordinates, or a downsampled cloud. Several inputs in one file are in
 * voxelize_batch.c. */
#include "voxelize.h"
#include "sweeps.h"

#include <string.h>

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
