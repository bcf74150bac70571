/* pcgpu filter: the steps of a cloud, and the cloud that is written. */
#include "filter_run.h"
#include "cloud.h"
#include "convert.h"
#include "temporary.h"

#include <stdlib.h>
#include <string.h>

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Takes part: what is finite and, with --drop-origin, not at the origin. */
static void begin(job *j, filtered *f) {
    const pcgpu_cloud *cloud = &j->clouds[0];
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *p = cloud->data + i * cloud->columns;
        const bool finite = pc_is_finite3(p[0], p[1], p[2]);
        f->mask[i] = pc_cloud_usable(cloud, p, j->session->options->drop_origin);
        f->classes[i] = f->mask[i] ? CLASS_NONE : CLASS_NEVER;
        j->run.non_finite += !finite;
        j->run.at_origin += finite && !f->mask[i];
    }
    j->run.points_in += cloud->rows;
    json_integer(&j->result, "non_finite", j->run.non_finite);
    json_integer(&j->result, "at_origin", j->run.at_origin);
}

/* Adds how a step ran to the run of the job, whose counts are of all records. */
static void add_run(job *j, const pcgpu_run *step) {
    const pcgpu_run before = j->run;
    j->run = *step;
    j->run.points_in = before.points_in;
    j->run.non_finite = before.non_finite;
    j->run.at_origin = before.at_origin;
    j->run.stages = before.stages;
    memcpy(j->run.stage, before.stage, sizeof before.stage);
    for (int i = 0; i < step->stages && j->run.stages < PCGPU_MAX_STAGES; i++) {
        j->run.stage[j->run.stages++] = step->stage[i];
    }
}

/* Records that a step has cleared are noise. */
static void mark_noise(const uint8_t *before, filtered *f, int64_t rows) {
    for (int64_t i = 0; i < rows; i++) {
        f->classes[i] = before[i] && !f->mask[i] ? CLASS_NOISE : f->classes[i];
    }
}

static int find_noise(job *j, filtered *f) {
    const filter_values *own = filter_own(j->session->options);
    const pcgpu_cloud *cloud = &j->clouds[0];
    pcgpu_context *context = j->session->context;
    pcgpu_outliers found;
    uint8_t *before = NULL;
    int code = filter_allocate(j, (uint64_t)cloud->rows, &before);
    if (code == EXIT_DONE) {
        memcpy(before, f->mask, (size_t)cloud->rows);
    }
    if (code == EXIT_DONE && own->outliers.count) {
        code = job_code(j, pcgpu_find_outliers(context, cloud, (int)own->outliers.values[0], own->outliers.values[1],
                                               f->mask, &found));
        if (code == EXIT_DONE) {
            add_run(j, &found.run);
            filter_count_removed(j, "outliers", found.removed);
            json_number(&j->result, "mean_distance", found.average);
            json_number(&j->result, "threshold", found.threshold);
            report_detail(j->names[0], "mean distance of neighbours %.4g m, deviation %.4g m, threshold %.4g m",
                          found.average, found.deviation, found.threshold);
        }
    }
    if (code == EXIT_DONE && own->sparse.count) {
        code = job_code(j, pcgpu_find_sparse(context, cloud, (float)own->sparse.values[0],
                                             (int64_t)own->sparse.values[1], f->mask, &found));
        if (code == EXIT_DONE) {
            add_run(j, &found.run);
            filter_count_removed(j, "sparse", found.removed);
        }
    }
    if (code == EXIT_DONE) {
        mark_noise(before, f, cloud->rows);
    }
    pc_release(before);
    return code;
}

static int find_ground(job *j, filtered *f) {
    const pcgpu_cloud *cloud = &j->clouds[0];
    pcgpu_ground_params params;
    pcgpu_run run;
    int64_t removed = 0;
    if (!filter_own(j->session->options)->ground) {
        return EXIT_DONE;
    }
    uint8_t *ground = malloc((size_t)cloud->rows + 1);
    if (!ground) {
        return report_error(j->names[0], "out of memory");
    }
    memcpy(ground, f->mask, (size_t)cloud->rows);
    pcgpu_ground_params_init(&params);
    const int code = job_code(j, pcgpu_find_ground(j->session->context, cloud, &params, ground, &run));
    for (int64_t i = 0; i < cloud->rows && code == EXIT_DONE; i++) {
        f->classes[i] = ground[i] ? CLASS_GROUND : f->classes[i];
        f->mask[i] = f->mask[i] && !ground[i];
        removed += ground[i];
    }
    free(ground);
    if (code == EXIT_DONE) {
        add_run(j, &run);
        filter_count_removed(j, "ground", removed);
    }
    return code;
}

static int find_clusters(job *j, filtered *f) {
    const filter_values *own = filter_own(j->session->options);
    const pcgpu_cloud *cloud = &j->clouds[0];
    pcgpu_cluster_params params;
    pcgpu_run run;
    int64_t outside = 0;
    if (own->clusters.count == 0) {
        return EXIT_DONE;
    }
    PC_TRY(filter_allocate(j, (uint64_t)cloud->rows * sizeof *f->cluster, &f->cluster));
    pcgpu_cluster_params_init(&params);
    params.distance = (float)own->clusters.values[0];
    params.core = own->core;
    params.least = own->clusters.count > 1 && own->clusters.values[1] > 1 ? (int64_t)own->clusters.values[1] : 1;
    params.most = own->clusters.count > 2 ? (int64_t)own->clusters.values[2] : 0;
    PC_TRY(
        job_code(j, pcgpu_find_clusters(j->session->context, cloud, &params, f->mask, f->cluster, &f->clusters, &run)));
    add_run(j, &run);
    json_integer(&j->result, "clusters", f->clusters);
    for (int64_t i = 0; i < cloud->rows; i++) {
        outside += f->mask[i] && f->cluster[i] < 0;
        f->mask[i] = f->mask[i] && f->cluster[i] >= 0;
    }
    json_integer(&j->result, "outside_clusters", outside);
    report_detail(j->names[0], "%lld clusters; %lld points are in none", (long long)f->clusters, (long long)outside);
    return filter_write_clusters(j, f);
}

static int find_normals(job *j, filtered *f) {
    const filter_values *own = filter_own(j->session->options);
    const pcgpu_cloud *cloud = &j->clouds[0];
    double place[3];
    pcgpu_run run;
    if (own->normals == 0) {
        return EXIT_DONE;
    }
    PC_TRY(filter_allocate(j, (uint64_t)cloud->rows * 4 * sizeof *f->normals, &f->normals));
    PC_TRY(job_code(j, pcgpu_find_normals(j->session->context, cloud, own->normals, (float)own->normal_radius,
                                          filter_viewpoint(j, place), f->mask, f->normals, &run)));
    add_run(j, &run);
    return filter_turn_by_time(j, f);
}

/* ---- the output -------------------------------------------------------------------------------------------------- */

/* The column of this name, added behind the others where there is none; -1: there is no place for it. */
static int column_for(pcgpu_cloud *cloud, const char *name, pcgpu_type type) {
    int k = pcgpu_cloud_column(cloud, name);
    if (k < 0 && cloud->columns == PCGPU_MAX_COLUMNS) {
        return -1;
    }
    if (k < 0) {
        k = cloud->columns++;
        snprintf(cloud->names[k], PCGPU_NAME_SIZE, "%s", name);
        cloud->offset[k] = 0;
    }
    cloud->types[k] = (uint8_t)type;
    return k;
}

/* Where the columns of the results are in the output, -1: not. */
typedef struct result_columns {
    int class, cluster, normal[3], curvature;
} result_columns;

/* Gives the output the columns of the input and of the results. */
static int lay_out(job *j, const filtered *f, pcgpu_cloud *out, result_columns *at) {
    static const char *const axes[] = {"nx", "ny", "nz"};
    const filter_values *own = filter_own(j->session->options);
    int last = 0;
    *at = (result_columns){-1, -1, {-1, -1, -1}, -1};
    if (own->label && (own->outliers.count || own->sparse.count || own->ground)) {
        last = at->class = column_for(out, "classification", PCGPU_UINT8);
    }
    if (f->cluster && last >= 0) {
        last = at->cluster = column_for(out, "cluster", PCGPU_INT32);
    }
    for (int k = 0; k < 3 && f->normals && last >= 0; k++) {
        last = at->normal[k] = column_for(out, axes[k], PCGPU_FLOAT32);
    }
    if (f->normals && last >= 0) {
        last = at->curvature = column_for(out, "curvature", PCGPU_FLOAT32);
    }
    return last >= 0 ? EXIT_DONE
                     : report_error(j->names[0],
                                    "%d columns, and there is no place for more; leave some out by convert "
                                    "--columns",
                                    j->clouds[0].columns);
}

/* The classes of the file stay where nothing was found. */
static float class_of(const filtered *f, int64_t i, bool has_classes, float before) {
    return has_classes && f->classes[i] <= CLASS_NONE ? before : (float)f->classes[i];
}

static void fill_row(const filtered *f, const result_columns *at, int64_t i, bool has_classes, float *row) {
    if (at->class >= 0) {
        row[at->class] = class_of(f, i, has_classes, row[at->class]);
    }
    if (at->cluster >= 0) {
        row[at->cluster] = (float)f->cluster[i];
    }
    for (int k = 0; k < 3 && at->curvature >= 0; k++) {
        row[at->normal[k]] = f->normals[4 * i + k];
    }
    if (at->curvature >= 0) {
        row[at->curvature] = f->normals[4 * i + 3];
    }
}

/* The records that are left, with the columns of the results. */
static int make_output(job *j, const filtered *f, pcgpu_cloud *out) {
    const pcgpu_cloud *in = &j->clouds[0];
    const bool label = filter_own(j->session->options)->label;
    pcgpu_cloud like = *in;
    result_columns at;
    int64_t left = 0;
    for (int64_t i = 0; i < in->rows; i++) {
        left += label || f->mask[i];
    }
    PC_TRY(lay_out(j, f, &like, &at));
    PC_TRY(job_code(j, pc_cloud_create_like(j->session->context, &like, 0, out)));
    pc_release(out->data);
    out->data = NULL;
    PC_TRY(filter_allocate(j, (uint64_t)left * (uint64_t)out->columns * sizeof *out->data, &out->data));
    out->rows = left;
    out->width = left == in->rows ? in->width : 0;
    float *row = out->data;
    for (int64_t i = 0; i < in->rows; i++) {
        if (label || f->mask[i]) {
            memcpy(row, in->data + i * in->columns, (size_t)in->columns * sizeof *row);
            fill_row(f, &at, i, at.class >= 0 && at.class < in->columns, row);
            row += out->columns;
        }
    }
    return EXIT_DONE;
}

static int run_steps(job *j, filtered *f) {
    const filter_values *own = filter_own(j->session->options);
    const int64_t rows = j->clouds[0].rows;
    selection keep;
    reason why;
    begin(j, f);
    PC_TRY(filter_select(j, own->keep, true, f));
    PC_TRY(filter_select(j, own->remove, false, f));
    progress_begin(j->names[0], "filtering");
    PC_TRY(find_noise(j, f));
    PC_TRY(find_ground(j, f));
    const bool keeps_class = own->keep && selection_parse(own->keep, &keep, &why) && keep.found >= 0;
    for (int64_t i = 0; i < rows && keeps_class; i++) {
        f->mask[i] = f->classes[i] == keep.found;
    }
    PC_TRY(find_clusters(j, f));
    return find_normals(j, f);
}

int filter_process(job *j) {
    filtered f = {0};
    pcgpu_cloud out = {0};
    int code;
    PC_TRY(j->in_pieces ? filter_read_pieces(j) : EXIT_DONE);
    const uint64_t rows = (uint64_t)j->clouds[0].rows;
    PC_TRY_OR(done, code, filter_allocate(j, rows, &f.mask));
    PC_TRY_OR(done, code, filter_allocate(j, rows, &f.classes));
    job_warn_origin(j);
    PC_TRY_OR(done, code, run_steps(j, &f));
    PC_TRY_OR(done, code, make_output(j, &f, &out));
    if (j->in_pieces) {
        snprintf(j->run.reason, sizeof j->run.reason, "the file is read in pieces");
    }
    j->points_out = out.rows;
    PC_TRY_OR(done, code, columns_fit_output(j, &out));
    code = job_write_cloud(j, &out);
done:
    pcgpu_cloud_free(&out);
    pc_release(f.mask);
    pc_release(f.classes);
    pc_release(f.cluster);
    pc_release(f.normals);
    pc_limit_memory(j->session->context, 0);
    return code;
}
