/* pcgpu odometry with depth images: the odometry of a depth camera, and its model. */
#include "fuse.h"
#include "odometry_map.h"
#include "register.h"

#include <string.h>

bool odometry_has_model(const session *s) {
    return odometry_is_depth(s) && odometry_own(s->options)->params.reference == PCGPU_REFERENCE_MODEL;
}

static pcgpu_volume_params volume_params(const session *s) {
    pcgpu_volume_params params = s->options->volume;
    params.frames = s->input_count;
    params.color = s->options->color != NULL;
    params.voxel_size = odometry_map_voxel(s);
    return params;
}

pcgpu_status odometry_open_images(session *s, const double init[16], pcgpu_depth_odometry **odometry) {
    pcgpu_depth_odometry_params params;
    pcgpu_depth_odometry_params_init(&params);
    params.registration = register_image_params(s);
    params.reference = odometry_own(s->options)->params.reference;
    params.volume = volume_params(s);
    memcpy(params.registration.init, init, sizeof params.registration.init);
    return pcgpu_depth_odometry_open(s->context, &s->options->camera, &params, odometry);
}

bool odometry_writes_model(const session *s) {
    return odometry_has_model(s) && (s->options->output || s->options->mesh);
}

static int64_t frames_of(pcgpu_depth_odometry *odometry) {
    pcgpu_volume_stats stats;
    pcgpu_volume_get_stats(pcgpu_depth_odometry_volume(odometry), &stats);
    return stats.frames;
}

static int write_model(session *s, job *j, pcgpu_depth_odometry *odometry) {
    fusion f = {.session = s, .job = j, .volume = pcgpu_depth_odometry_volume(odometry), .fused = frames_of(odometry)};
    f.skipped = s->input_count - f.fused;
    return fuse_write_model(&f);
}

/* The model of the odometry has the poses before the loops: reads the images once more for another one. */
static int write_corrected(session *s, job *j, const double *poses) {
    fusion f = {.session = s, .job = j};
    const pcgpu_volume_params params = volume_params(s);
    int code = job_code(j, pcgpu_volume_open(s->context, &params, &f.volume));
    progress_run_begin(s->input_count);
    for (int i = 0; i < s->input_count && code == EXIT_DONE; i++) {
        const double *T = poses + 16 * (int64_t)i;
        const bool has_pose = T[0] == T[0];
        code = has_pose ? fuse_image(&f, i, T) : EXIT_DONE;
        f.skipped += !has_pose;
        progress_run_add(s->inputs[i], !has_pose           ? PROGRESS_SKIPPED
                                       : code == EXIT_DONE ? PROGRESS_DONE
                                                           : PROGRESS_FAILED);
    }
    progress_run_end();
    s->name = j->names[0];
    code = code == EXIT_DONE ? fuse_write_model(&f) : code;
    pcgpu_volume_close(f.volume);
    return code;
}

int odometry_end_model(session *s, job *j, pcgpu_depth_odometry *odometry, odometry_map *map, const double *corrected,
                       int code) {
    job_switch(j);
    const bool model = odometry && odometry_writes_model(s);
    if (code == EXIT_NOT_CONVERGED && (map ? map->scans == 0 : model && frames_of(odometry) == 0)) {
        const char *model_output = s->options->output ? s->options->output : s->options->mesh;
        report_error(output_shown(map ? odometry_map_output(s) : model_output), "no %s, and nothing is written",
                     map ? "scan has a pose, so there is no map" : "image has a pose, so there is no model");
        job_close(j, EXIT_FAILED);
        return code;
    }
    if (code == EXIT_DONE || code == EXIT_NOT_CONVERGED) {
        const int written = map         ? odometry_map_write(map, j)
                            : !model    ? EXIT_DONE
                            : corrected ? write_corrected(s, j, corrected)
                                        : write_model(s, j, odometry);
        code = written == EXIT_DONE ? code : written;
    }
    return job_close(j, code);
}
