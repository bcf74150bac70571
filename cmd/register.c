/* pcgpu register: a source onto a target. */
#include "register.h"
#include "transform.h"

#include <math.h>
#include <string.h>

#define DEGREE 57.29577951308232 /* of a radian */

bool register_read_init(const session *s, double T[16]) {
    const char *path = options_init_file(s->options);
    char why[256];
    FILE *stream = path ? input_open(path) : NULL;
    if (!stream) {
        return !path;
    }
    bool good = transform_read(stream, T, why, sizeof why);
    input_close(stream);
    if (!good) {
        report_error(path, "%s", why);
    }
    return good;
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
    json_number(out, "agreement", r->agreement);
    json_number(out, "inlier_rmse", r->inlier_rmse);
    json_number(out, "plane_rmse", r->plane_rmse);
    json_boolean(out, "degenerate", r->degenerate);
    json_text(out, "unconstrained", r->unconstrained[0] ? r->unconstrained : NULL);
    if (r->symmetric) {
        json_numbers(out, "apart", r->apart, 2);
    }
    json_numbers(out, "center", r->center, 3);
    json_numbers(out, "eigenvalues", r->eigenvalues, 6);
    json_numbers(out, "information", r->information, 36);
    json_numbers(out, "covariance", r->covariance, 36);
}

/* Root of the summed variances of three diagonal entries of the covariance. */
static double deviation(const pcgpu_registration *r, int first) {
    const double *c = r->covariance;
    return sqrt(c[7 * first] + c[7 * (first + 1)] + c[7 * (first + 2)]);
}

void register_summarize(const job *j, const pcgpu_registration *r) {
    if (!r->converged) {
        report_error(j->names[0], "did not converge: %s", r->reason);
    }
    if (j->projective || j->ranges) {
        report_summary(j->names[0],
                       "%s after %d iterations, associated by projection: %lld of %lld pixels matched (fitness %.3f, score "
                       "%.3f), RMSE %.4f m across the surface; %s",
                       r->converged ? "converged" : "stopped", r->iterations, (long long)r->inliers,
                       (long long)r->source_points, r->fitness, r->score, r->plane_rmse, r->run.backend);
    } else {
        report_summary(
            j->names[0],
            "%s after %d iterations: %lld of %lld points matched (fitness %.3f, score %.3f), inlier RMSE %.4f m; %lld records "
            "at the origin dropped; %s",
            r->converged ? "converged" : "stopped", r->iterations, (long long)r->inliers, (long long)r->source_points,
            r->fitness, r->score, r->inlier_rmse, (long long)r->run.at_origin, r->run.backend);
    }
    report_summary(j->names[0], "standard deviation by the residuals: %.2f mm at the target's centroid, %.4f degree",
                   1e3 * deviation(r, 3), DEGREE * deviation(r, 0));
    if (r->symmetric) {
        report_summary(j->names[0], "both ways end %.2f mm apart at the target's centroid, %.4f degree",
                       1e3 * r->apart[0], DEGREE * r->apart[1]);
    }
    if (r->degenerate) {
        report_warning(j->names[0], "a direction is unconstrained: %s", r->unconstrained);
    }
}

/* On standard output in any case, as long as nothing else goes there. */
static void write_transforms(job *j, const double T[16]) {
    const option_values *o = j->session->options;
    FILE *asked = job_stream(j, "transform");
    bool taken = asked == stdout || job_stream(j, "output") == stdout || j->session->json.stream == stdout;
    if (asked) {
        transform_write(asked, T, o->transform_format);
    }
    if (!taken) {
        transform_write(stdout, T, asked ? TRANSFORM_MATRIX : o->transform_format);
    }
}

int register_output(job *j, const pcgpu_registration *r) {
    pcgpu_cloud aligned;
    pcgpu_context *context = j->session->context;
    pcgpu_status status = PCGPU_OK;
    j->run = r->run;
    for (int i = 0; i < j->count && j->projective; i++) {
        j->run.points_in += j->depth[i].pixels - j->depth[i].no_return - j->depth[i].out_of_range;
    }
    json_text(&j->result, "association", j->projective || j->ranges ? "projective" : "nearest");
    register_add_result(&j->result, r);
    if (!job_stream(j, "output")) {
        return EXIT_DONE;
    }
    if (j->projective) { /* the points of the image, which other inputs of the job do not need */
        status = pcgpu_depth_to_cloud(context, &j->images[0], &j->session->options->camera, &j->clouds[0], NULL);
    }
    if (status == PCGPU_OK) {
        status = pcgpu_cloud_transform(context, &j->clouds[0], r->T_target_source, j->clouds[1].offset, &aligned);
    }
    if (j->projective) {
        pcgpu_cloud_free(&j->clouds[0]);
    }
    if (status != PCGPU_OK) {
        return job_failed(j, status);
    }
    int code = job_write_cloud(j, &aligned);
    pcgpu_cloud_free(&aligned);
    return code;
}

pcgpu_status register_pair(const job *j, const pcgpu_register_params *params, pcgpu_registration *result) {
    return j->projective ? register_images(j, params->init, result)
           : j->ranges   ? register_ranges(j, params->init, result)
                         : pcgpu_register(j->session->context, &j->clouds[0], &j->clouds[1], params, result);
}

int register_process(job *j) {
    pcgpu_register_params params = j->session->options->registration;
    params.drop_origin = j->session->options->drop_origin;
    pcgpu_registration r;
    if (!register_read_init(j->session, params.init)) {
        return EXIT_FAILED;
    }
    progress_begin(j->names[0], "registering");
    pcgpu_status status = register_pair(j, &params, &r);
    if (status != PCGPU_OK) {
        return job_failed(j, status);
    }
    int code = register_output(j, &r);
    if (code == EXIT_DONE) {
        progress_end();
        write_transforms(j, r.T_target_source);
        register_summarize(j, &r);
        code = r.converged ? EXIT_DONE : EXIT_NOT_CONVERGED;
    }
    return code;
}
