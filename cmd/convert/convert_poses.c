/* pcgpu convert: poses, for an output with a name that ends in .tum or .kitti. */
#include "convert.h"
#include "trajectory.h"
#include "transform_file.h"

#include <math.h>
#include <stdlib.h>

bool convert_is_poses(const option_values *o) {
    return o->output && (path_ends_in(o->output, ".tum") || path_ends_in(o->output, ".kitti"));
}

/* Writes each pose. Its time is that of --timestamps, of its line, or of --rate. */
static void write_poses(FILE *out, const trajectory *t, const double *times, const option_values *o) {
    const transform_format format = path_ends_in(o->output, ".tum") ? TRANSFORM_TUM : TRANSFORM_KITTI;
    const double unit = t->times ? trajectory_unit(t->times, t->count) : 1.0;
    for (int64_t i = 0; i < t->count; i++) {
        const double *T = t->poses + 16 * i;
        const double time = times ? times[i] : t->times ? t->times[i] * unit : (double)i / o->rate;
        transform_write_pose(out, isnan(T[0]) ? NULL : T, time, format);
    }
}

int convert_poses(job *j) {
    const session *s = j->session;
    const option_values *o = s->options;
    trajectory t;
    double *times;
    const int code = trajectory_read_timed(s->inputs[0], o->timestamps, &t, &times);
    if (code == EXIT_DONE) {
        j->run.points_in = j->points_out = t.count;
        write_poses(job_stream(j, "output"), &t, times, o);
    }
    trajectory_free(&t);
    free(times);
    return code;
}
