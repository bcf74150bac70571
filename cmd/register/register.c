/* pcgpu register: a source onto a target. */
#include "register.h"
#include "merge.h"
#include "transform.h"
#include "transform_file.h"

#include <math.h>
#include <string.h>

#define DEGREE 57.29577951308232 /* of a radian */

bool register_read_init(const session *s, double T[16]) {
    const char *path = options_init_file(s->options);
    return transform_read_file(path, path, T);
}

void register_add_result(json *out, const pcgpu_registration *r) {
    json_numbers(out, "T_target_source", r->T_target_source, 16);
    json_boolean(out, "converged", r->converged);
    json_text(out, "reason", r->reason);
    json_integer(out, "starts", r->starts);
    json_numbers(out, "start", r->start, 16);
    json_integer(out, "iterations", r->iterations);
    double levels[PCGPU_MAX_LEVELS];
    for (int l = 0; l < r->levels; l++) {
        levels[l] = r->level_iterations[l];
    }
    json_numbers(out, "level_iterations", levels, r->levels);
    json_integer(out, "source_points", r->source_points);
    json_integer(out, "target_points", r->target_points);
    json_integer(out, "inliers", r->inliers);
    json_number(out, "fitness", r->fitness);
    json_number(out, "score", r->score);
    json_number(out, "free_space", r->free_space);
    json_number(out, "overlap", r->overlap);
    json_number(out, "voxel", r->voxel);
    json_number(out, "agreement", r->agreement);
    json_number(out, "inlier_rmse", r->inlier_rmse);
    json_number(out, "plane_rmse", r->plane_rmse);
    json_boolean(out, "degenerate", r->degenerate);
    json_text(out, "unconstrained", r->unconstrained[0] ? r->unconstrained : NULL);
    json_numbers(out, "center", r->center, 3);
    json_numbers(out, "eigenvalues", r->eigenvalues, 6);
    json_numbers(out, "information", r->information, 36);
    json_numbers(out, "covariance", r->covariance, 36);
    json_key(out,
             "covariance_order"); /* of rows and columns, as of the information: radians and metres about the centre */
    fputs("[\"rx\", \"ry\", \"rz\", \"tx\", \"ty\", \"tz\"]", out->out);
}

/* ---- the result as text ---- */

double register_deviation(const double c[36], int first) {
    return sqrt(c[7 * first] + c[7 * (first + 1)] + c[7 * (first + 2)]);
}

enum { ANSWER_SIZE = 32 };

#define NOTHING 1e-4 /* millimetres, degrees: smaller values are shown as 0 */

static const char *length_text(double metres, char text[ANSWER_SIZE]) {
    const double millimetres = 1e3 * metres;
    if (millimetres < 10.0) {
        snprintf(text, ANSWER_SIZE, "%.2g mm", millimetres < NOTHING ? 0.0 : millimetres);
    } else {
        snprintf(text, ANSWER_SIZE, "%.3f m", metres);
    }
    return text;
}

static const char *angle_text(double radians, char text[ANSWER_SIZE]) {
    const double degrees = DEGREE * radians;
    snprintf(text, ANSWER_SIZE, degrees < 0.01 ? "%.2g degree" : "%.3f degree", degrees < NOTHING ? 0.0 : degrees);
    return text;
}

/* The distance that the origin of the source moves; for coordinates with an offset, the point at the offset. */
static double moved(const double T[16], const double from[3]) {
    double to[3], square = 0.0;
    pc_transform_apply(T, from, to);
    for (int k = 0; k < 3; k++) {
        square += (to[k] - from[k]) * (to[k] - from[k]);
    }
    return sqrt(square);
}

/* Prints one line. The pairs of a list have no separate times, and a line only with -v. */
static void report_answer(const job *j, const pcgpu_registration *r, double seconds) {
    char length[2][ANSWER_SIZE], angle[2][ANSWER_SIZE], time[ANSWER_SIZE] = "";
    if (j->line == 0) {
        snprintf(time, sizeof time,
                 seconds < 0.01  ? "; %.1f ms"
                 : seconds < 1.0 ? "; %.0f ms"
                                 : "; %.1f s",
                 seconds < 1.0 ? 1e3 * seconds : seconds);
    }
    report(j->line == 0 ? REPORT_RESULT : REPORT_SUMMARY, NULL,
           "%s -> %s: moved %s, turned %s; score %.2f, +- %s, %s%s", j->names[0], j->names[1],
           length_text(moved(r->T_target_source, j->clouds[0].offset), length[0]),
           angle_text(pcgpu_rotation_angle(r->T_target_source), angle[0]), r->score,
           length_text(register_deviation(r->covariance, 3), length[1]),
           angle_text(register_deviation(r->covariance, 0), angle[1]), time);
}

#define FAR_APART 10.0 /* extents: one of both clouds has other coordinates */

/* The distance of the centres of two clouds, or 0 when they may overlap with a better start. */
static double far_apart(const job *j) {
    double extent = 0, square = 0;
    bounds b[2] = {no_bounds, no_bounds};
    for (int i = 0; i < 2 && !j->projective; i++) {
        bounds_add_cloud(&b[i], &j->clouds[i]);
    }
    for (int k = 0; k < 3 && !j->projective; k++) {
        const double d = (b[0].low[k] + b[0].high[k] - b[1].low[k] - b[1].high[k]) / 2;
        extent = fmax(extent, fmax(b[0].high[k] - b[0].low[k], b[1].high[k] - b[1].low[k]));
        square += d * d;
    }
    return sqrt(square) > FAR_APART * extent ? sqrt(square) : 0;
}

/* What to do about a pair that did not converge, in this order. */
static void report_remedies(const job *j) {
    const bool searches = j->session->options->init || j->projective;
    report_result(NULL, "see why: pcgpu view %s %s -o both.html; then try %s--init FILE with a guess%s", j->names[0],
                  j->names[1], searches ? "" : "--init auto, ", j->projective ? "" : ", another --voxel-size");
}

/* Prints the result: the motion with its uncertainty and time, or an error if it did not converge; a summary; a warning
 * about an unconstrained direction. seconds: the time of the pair; not shown for a list. */
static void summarize(const job *j, const pcgpu_registration *r, double seconds) {
    if (r->converged) {
        report_answer(j, r, seconds);
    } else {
        const bool guessed = j->session->options->init || strchr(r->reason, ';');
        const double apart = far_apart(j);
        if (apart > 0) {
            report_error(
                j->names[0],
                "did not converge: the clouds lie %.0f m apart, as UTM and local coordinates do; give both in the same "
                "coordinates, --init auto, or a guess by --init FILE",
                apart);
        } else {
            report_error(j->names[0], "did not converge: %s%s", r->reason,
                         !guessed && strncmp(r->reason, "no overlap", 10) == 0
                             ? "; give --init auto, or a guess by --init FILE"
                             : "");
        }
        if (!j->session->options->pairs && apart == 0) {
            report_remedies(j);
        }
    }
    if (j->projective) {
        report_summary(
            j->names[0],
            "%s after %d iterations, associated by projection: %lld of %lld pixels matched (fitness %.3f, score "
            "%.3f), RMSE %.4f m across the surface; %s",
            r->converged ? "converged" : "stopped", r->iterations, (long long)r->inliers, (long long)r->source_points,
            r->fitness, r->score, r->plane_rmse, r->run.backend);
    } else {
        report_summary(j->names[0],
                       "%s after %d iterations: %lld of %lld points matched (fitness %.3f, score %.3f), inlier RMSE "
                       "%.4f m; %lld records at the origin and %lld nearer than min-range dropped; %s",
                       r->converged ? "converged" : "stopped", r->iterations, (long long)r->inliers,
                       (long long)r->source_points, r->fitness, r->score, r->inlier_rmse, (long long)r->run.at_origin,
                       (long long)r->run.too_near, r->run.backend);
    }
    register_check_unit(j, r);
    if (r->degenerate) {
        report_warning(j->names[0], "a direction is unconstrained: %s", r->unconstrained);
    }
}

/* A file always gets the last estimate. Standard output gets only a converged transform, so that a reader never uses
 * another one; and only if no other output goes there. */
static void write_transforms(job *j, const pcgpu_registration *r) {
    const option_values *o = j->session->options;
    FILE *file = job_stream(j, "transform");
    bool busy = file == stdout || job_stream(j, "output") == stdout || session_json_is_stdout(j->session);
    if (file && (file != stdout || r->converged)) {
        transform_write(file, r->T_target_source, register_own(o)->transform_format);
    }
    if (!busy && r->converged) {
        transform_write(stdout, r->T_target_source, file ? TRANSFORM_MATRIX : register_own(o)->transform_format);
    }
}

/* ---- a pair ---- */

pcgpu_status register_scan(const session *s, const pcgpu_cloud *cloud, pcgpu_cloud *own, const pcgpu_cloud **scan,
                           pcgpu_run *run) {
    pcgpu_register_params params = s->options->registration;
    params.drop_origin = s->options->drop_origin;
    *own = (pcgpu_cloud){0};
    *scan = cloud;
    if (params.min_range == 0 && params.beam_correction == 0) {
        return PCGPU_OK;
    }
    *scan = own;
    return pcgpu_scan_correct(s->context, cloud, &params, own, run);
}

/* One of both clouds in the frame of the target, without the dropped points and with the beam correction. */
static pcgpu_status align(const job *j, int i, const double T[16], pcgpu_cloud *aligned) {
    pcgpu_context *context = j->session->context;
    pcgpu_cloud own = {0};
    const pcgpu_cloud *cloud = &own;
    pcgpu_run counted = {0};
    pcgpu_status status = j->projective
                              ? pcgpu_depth_to_cloud(context, &j->images[i], register_camera(j->session, i), &own, NULL)
                              : register_scan(j->session, &j->clouds[i], &own, &cloud, &counted);
    if (status == PCGPU_OK) {
        status = pcgpu_cloud_transform(context, cloud, T, j->clouds[1].offset, aligned);
    }
    pcgpu_cloud_free(&own);
    return status;
}

/* Writes the source in the frame of the target, with --merge the target, too. */
static int write_aligned(job *j, const double T[16]) {
    const bool merges = register_own(j->session->options)->merge;
    pcgpu_cloud aligned[2] = {{0}}, merged = {0};
    int code;
    PC_TRY_OR(done, code, job_code(j, align(j, 0, T, &aligned[0])));
    if (merges) {
        PC_TRY_OR(done, code, job_code(j, align(j, 1, pc_identity, &aligned[1])));
        PC_TRY_OR(done, code,
                  job_code(j, clouds_merge(j->session->context, job_output_name(j, "output"), aligned, 2, &merged)));
    }
    code = job_write_cloud(j, merges ? &merged : &aligned[0]);
    const char *name = job_output_name(j, "output"), *dot = strrchr(name, '.');
    if (code == EXIT_DONE && dot && strcmp(dot, ".txt") == 0 && !register_own(j->session->options)->transform) {
        report_warning(name, "holds the points of the source, not the transform; that is written by --transform");
    }
done:
    pcgpu_cloud_free(&merged);
    pcgpu_cloud_free(&aligned[0]);
    pcgpu_cloud_free(&aligned[1]);
    return code;
}

/* The line for a person as numbers: metres and degrees, and their standard deviations. */
static void add_motion(job *j, const pcgpu_registration *r) {
    json_number(&j->result, "moved", moved(r->T_target_source, j->clouds[0].offset));
    json_number(&j->result, "turned", DEGREE * pcgpu_rotation_angle(r->T_target_source));
    json_number(&j->result, "moved_deviation", register_deviation(r->covariance, 3));
    json_number(&j->result, "turned_deviation", DEGREE * register_deviation(r->covariance, 0));
}

/* Adds the result to --json and writes the aligned source to --output. Returns an exit code. */
static int put_out(job *j, const pcgpu_registration *r) {
    FILE *stream = job_stream(j, "output");
    j->run = r->run;
    for (int i = 0; i < j->count && j->projective; i++) {
        j->run.points_in += j->depth[i].pixels - j->depth[i].no_return - j->depth[i].out_of_range;
    }
    json_text(&j->result, "association", j->projective ? "projective" : "nearest");
    register_add_result(&j->result, r);
    add_motion(j, r);
    const bool writes = stream && (stream != stdout || r->converged);
    return writes ? write_aligned(j, r->T_target_source) : EXIT_DONE;
}

int register_process(job *j) {
    pcgpu_register_params params = j->session->options->registration;
    params.drop_origin = j->session->options->drop_origin;
    pcgpu_registration r;
    if (j->line == 0 && !register_read_init(j->session, params.init)) { /* a list has read it */
        return EXIT_FAILED;
    }
    progress_begin(j->names[0], "registering");
    const double begin = seconds_now();
    PC_TRY(job_code(j, j->projective ? register_images(j, params.init, &r)
                                     : pcgpu_register(j->session->context, &j->clouds[0], &j->clouds[1], &params, &r)));
    const double seconds = seconds_now() - begin;
    PC_TRY(put_out(j, &r));
    progress_end();
    memcpy(j->transform, r.T_target_source, sizeof j->transform);
    if (j->line == 0) {
        write_transforms(j, &r);
    }
    summarize(j, &r, seconds);
    return r.converged ? EXIT_DONE : EXIT_NOT_CONVERGED;
}
