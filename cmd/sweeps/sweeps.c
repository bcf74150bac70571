/* Sweeps as OpenPCDet's NuScenesDataset.get_lidar_with_sweeps joins them: x, y, z and the fourth column of the scan,
 * then those of the scans before it, the latest first, without the car, and as the last column the seconds that each is
 * older. At the beginning of a drive the earliest scan is repeated. */
#include "sweeps.h"
#include "buffer.h"
#include "transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns of the car: its remove_ego_points, for all scans but the first. */
static const float car = 1.0f;

/* ---- options ----------------------------------------------------------------------------------------------------- */

bool sweeps_settle(const option_values *o, const command_info *command, reason *why) {
    if (o->sweeps == 0) {
        const char *alone = o->nuscenes                         ? "nuscenes"
                            : o->scans                          ? "scans"
                            : option_given(o, "poses", command) ? "poses"
                                                                : NULL;
        return !alone || refuse(why, "%s is for sweeps; give sweeps, too, or leave it out", alone);
    }
    if (o->labels) {
        return refuse(why, "--labels: joined sweeps have no columns of labels; leave labels or sweeps out");
    }
    if (o->nuscenes && (o->scans || o->poses)) {
        return refuse(why, "nuscenes has the times and poses of its scans; leave scans and poses out");
    }
    if (!o->nuscenes && (!o->scans || !o->poses)) {
        return refuse(why, "sweeps need times and poses; give the keys scans and poses, or nuscenes");
    }
    return true;
}

bool sweeps_check(const session *s, reason *why) {
    const option_values *o = s->options;
    if (o->sweeps == 0) {
        return true;
    }
    return o->nuscenes ? nuscenes_read(o->nuscenes, s->inputs, s->input_count, o->sweeps, s->sweeps, why)
                       : sweep_list_read(o->scans, o->poses, s->inputs, s->input_count, s->sweeps, why);
}

void sweeps_free(sweep_table *table) {
    for (int64_t i = 0; i < table->count; i++) {
        free(table->scans[i].path);
    }
    free(table->scans);
    free(table->inputs);
}

/* ---- the joined cloud -------------------------------------------------------------------------------------------- */

typedef struct joined {
    job *job;
    pcgpu_cloud cloud;
    pc_buffer memory; /* of its data */
} joined;

static int out_of_memory(const job *j) {
    return report_error(j->names[0], "out of memory; give fewer sweeps");
}

/* Makes space for more rows. */
static bool grow(joined *g, int64_t more) {
    const size_t rows = (size_t)(g->cloud.rows + more);
    float *data = pc_buffer_take(&g->memory, rows * (size_t)g->cloud.columns * sizeof *data, true);
    g->cloud.data = data ? data : g->cloud.data;
    return data;
}

static bool is_car(const pcgpu_cloud *cloud, const float *p) {
    return fabs(cloud->offset[0] + (double)p[0]) < (double)car && fabs(cloud->offset[1] + (double)p[1]) < (double)car;
}

/* Appends a scan that is in the frame of the result. `from` has its points before they were moved. */
static int append(joined *g, const pcgpu_cloud *moved, const pcgpu_cloud *from, float age, bool keeps_car) {
    const int kept = g->cloud.columns - 1;
    if (!grow(g, moved->rows)) {
        return out_of_memory(g->job);
    }
    for (int64_t i = 0; i < moved->rows; i++) {
        if (keeps_car || !is_car(from, from->data + i * from->columns)) {
            float *row = g->cloud.data + g->cloud.rows++ * g->cloud.columns;
            memcpy(row, moved->data + i * moved->columns, (size_t)kept * sizeof *row);
            row[kept] = age;
        }
    }
    return EXIT_DONE;
}

/* Reads a scan before the input. */
static int read_scan(job *j, const char *path, pcgpu_cloud *cloud) {
    pcgpu_context *context = j->session->context;
    const pcgpu_read_options how = session_read_options(j->session);
    FILE *stream = input_open(path);
    *cloud = (pcgpu_cloud){0};
    if (!stream) {
        return EXIT_FAILED;
    }
    j->session->name = path;
    const pcgpu_status status = pcgpu_read(context, stream, path, &how, cloud);
    j->session->name = j->names[0];
    input_close(stream);
    return exit_code_of(status, path, context);
}

/* Reads, moves and appends the scan `i` of the table. */
static int add_scan(joined *g, const sweep_table *t, int64_t reference, int64_t i) {
    job *j = g->job;
    pcgpu_cloud cloud, moved = {0};
    double T[16];
    int code = read_scan(j, t->scans[i].path, &cloud);
    if (code == EXIT_DONE && (cloud.columns < 4 ? cloud.columns : 4) != g->cloud.columns - 1) {
        code = report_error(j->names[0], "the scan before it, %s, has %d columns; both must have 3, or 4 and more",
                            t->scans[i].path, cloud.columns);
    }
    pc_transform_between(t->scans[reference].T, t->scans[i].T, T);
    if (code == EXIT_DONE) {
        code = job_code(j, pcgpu_cloud_transform(j->session->context, &cloud, T, g->cloud.offset, &moved));
    }
    if (code == EXIT_DONE) {
        code = append(g, &moved, &cloud, (float)(t->scans[reference].time - t->scans[i].time), false);
    }
    pcgpu_cloud_free(&moved);
    pcgpu_cloud_free(&cloud);
    return code;
}

/* Appends rows [begin, end) once more: the earliest scan of a drive. */
static int repeat(joined *g, int64_t begin, int64_t end) {
    if (!grow(g, end - begin)) {
        return out_of_memory(g->job);
    }
    memcpy(g->cloud.data + g->cloud.rows * g->cloud.columns, g->cloud.data + begin * g->cloud.columns,
           (size_t)(end - begin) * (size_t)g->cloud.columns * sizeof(float));
    g->cloud.rows += end - begin;
    return EXIT_DONE;
}

/* The scan with a pose before scan i, or -1. */
static int64_t before(const sweep_table *t, int64_t i) {
    do {
        i = t->scans[i].previous;
    } while (i >= 0 && !t->scans[i].posed);
    return i;
}

static int join(joined *g, const pcgpu_cloud *input) {
    const sweep_table *t = g->job->session->sweeps;
    const int64_t reference = sweep_of_input(t, g->job->inputs[0]);
    int code = append(g, input, input, 0, true);
    int64_t begin = g->cloud.rows, i = reference;
    bool ended = false;
    for (int64_t k = 1; k < g->job->session->options->sweeps && code == EXIT_DONE; k++) {
        const int64_t earlier = ended ? -1 : before(t, i), last = g->cloud.rows;
        ended = earlier < 0;
        if (!ended) {
            code = add_scan(g, t, reference, earlier);
            i = earlier;
            begin = last;
        } else if (k == 1) { /* the first scan of a drive: itself without the car */
            code = append(g, input, input, 0, false);
            begin = last;
        } else {
            code = repeat(g, begin, last);
            begin = last;
        }
    }
    return code;
}

/* The columns of the result: those that are kept, then the age. */
static void name_columns(const pcgpu_cloud *input, pcgpu_cloud *out) {
    const int kept = input->columns < 4 ? input->columns : 4;
    out->columns = kept + 1;
    memcpy(out->offset, input->offset, 3 * sizeof *out->offset);
    memcpy(out->names, input->names, (size_t)kept * sizeof out->names[0]);
    memcpy(out->types, input->types, (size_t)kept);
    const bool taken = kept == 4 && strcmp(input->names[3], "time") == 0;
    snprintf(out->names[kept], sizeof out->names[kept], "%s", taken ? "age" : "time");
    out->types[kept] = PCGPU_FLOAT32;
}

int sweeps_add(job *j) {
    joined g = {.job = j};
    if (j->session->options->sweeps == 0) {
        return EXIT_DONE;
    }
    progress_begin(j->names[0], "joining sweeps");
    name_columns(&j->clouds[0], &g.cloud);
    const int code = join(&g, &j->clouds[0]);
    if (code == EXIT_DONE) {
        pcgpu_cloud_free(&j->clouds[0]);
        j->clouds[0] = g.cloud;
    } else {
        pcgpu_cloud_free(&g.cloud);
    }
    return code;
}
