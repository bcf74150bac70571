/* pcgpu odometry --loops: places that are seen again, and the poses that they correct. */
#include "odometry_run.h"
#include "register.h"

#include <math.h>
#include <string.h>

static pcgpu_status open_images(session *s, pcgpu_loops **loops) {
    const pcgpu_register_depth_params registration = register_image_params(s);
    pcgpu_depth_loops_params params;
    pcgpu_depth_loops_params_init(&params);
    params.registration.bilateral = registration.bilateral;
    return pcgpu_loops_open_depth(s->context, &s->options->camera, &params, loops);
}

pcgpu_status odometry_open_loops(session *s, const pcgpu_register_params *registration, pcgpu_loops **loops) {
    pcgpu_loops_params params;
    if (odometry_is_depth(s)) {
        return open_images(s, loops);
    }
    pcgpu_loops_params_init(&params);
    if (registration->voxel > 0.0) { /* 0, of a method without voxels, is none for places */
        params.registration.voxel = registration->voxel;
    }
    params.registration.levels = registration->method == PCGPU_REGISTER_NDT ? registration->levels : 0;
    params.registration.min_score = registration->min_score;
    params.search = odometry_own(s->options)->loops;
    return pcgpu_loops_open(s->context, &params, loops);
}

pcgpu_status odometry_add_loops(pcgpu_loops *loops, pcgpu_odometry *odometry, const pcgpu_depth *image, int index,
                                const double T[16]) {
    const pcgpu_cloud *points;
    if (!odometry) {
        return pcgpu_loops_add_depth(loops, image, index, T);
    }
    pcgpu_status status = pcgpu_odometry_points(odometry, &points);
    return status == PCGPU_OK ? pcgpu_loops_add(loops, points, index, T) : status;
}

static void print_loop(FILE *out, const pcgpu_loop *loop) {
    json object = {.out = out, .first = true};
    json_open(&object, NULL);
    json_integer(&object, "from", loop->from);
    json_integer(&object, "to", loop->to);
    json_numbers(&object, "T_from_to", loop->T_from_to, 16);
    json_number(&object, "score", loop->score);
    json_number(&object, "path", loop->path);
    json_number(&object, "before_radians", loop->before[0]);
    json_number(&object, "before_metres", loop->before[1]);
    json_number(&object, "residual_radians", loop->residual[0]);
    json_number(&object, "residual_metres", loop->residual[1]);
    json_close(&object);
}

/* The last object of --json. */
static void print_json(const session *s, const pcgpu_loops_result *r, double farthest) {
    json out;
    if (!session_json_open(s, &out)) {
        return;
    }
    json_integer(&out, "exit_code", EXIT_DONE);
    json_open(&out, "loop_closure");
    json_integer(&out, "frames", r->frames);
    json_integer(&out, "places", r->places);
    json_integer(&out, "place_bytes", r->bytes);
    json_integer(&out, "tried", r->tried);
    json_integer(&out, "refused", r->refused);
    json_integer(&out, "iterations", r->graph.iterations);
    json_boolean(&out, "converged", r->count == 0 || r->graph.converged);
    json_number(&out, "moved", farthest);
    json_key(&out, "loops");
    fputc('[', out.out);
    for (int64_t i = 0; i < r->count; i++) {
        fputs(i ? ", " : "", out.out);
        print_loop(out.out, &r->loops[i]);
    }
    fputc(']', out.out);
    json_close(&out);
    session_json_close(&out);
}

static void report_loops(const session *s, const char *name, const pcgpu_loops_result *r, double farthest) {
    for (int64_t i = 0; i < r->count; i++) {
        const pcgpu_loop *l = &r->loops[i];
        const double *T = l->T_from_to;
        report_detail(
            input_name(s->inputs[l->to]),
            "sees the place of %s after %.0f m, %.2f m from there, score %.3f; the odometry was off by %.3f m, "
            "%.4f rad, the residual is %.3f m, %.4f rad",
            input_name(s->inputs[l->from]), l->path, sqrt(T[3] * T[3] + T[7] * T[7] + T[11] * T[11]), l->score,
            l->before[1], l->before[0], l->residual[1], l->residual[0]);
    }
    report_result(name,
                  "%lld loops among %lld places (%.1f MB), %lld pairs tried, %lld refused; poses moved by up to "
                  "%.3f m",
                  (long long)r->count, (long long)r->places, (double)r->bytes / 1e6, (long long)r->tried,
                  (long long)r->refused, farthest);
    if (r->count > 0 && !r->graph.converged) {
        report_warning(name, "the pose graph did not converge in %d iterations", r->graph.iterations);
    }
}

/* Replaces the poses of the scans; returns how far the farthest one has moved. */
static double take_poses(const pcgpu_loops_result *r, double *poses) {
    double farthest = 0.0;
    for (int64_t i = 0; i < r->frames; i++) {
        double *T = poses + 16 * r->ids[i], square = 0.0;
        for (int k = 3; k < 12; k += 4) {
            square += (T[k] - r->poses[16 * i + k]) * (T[k] - r->poses[16 * i + k]);
        }
        farthest = fmax(farthest, sqrt(square));
        memcpy(T, r->poses + 16 * i, 16 * sizeof *T);
    }
    return farthest;
}

int odometry_end_loops(session *s, pcgpu_loops *loops, const odometry_prior *prior, const double *times,
                       const char *name, double *poses, bool *moved) {
    pcgpu_loops_result r;
    PC_TRY(exit_code_of(pcgpu_loops_solve(loops, &r), name, s->context));
    const double farthest = take_poses(&r, poses);
    *moved = farthest > 0.0;
    if (odometry_own(s->options)->loops) {
        report_loops(s, name, &r, farthest);
        print_json(s, &r, farthest);
    }
    if (prior->all.count > 0) {
        PC_TRY(odometry_anchor(s, loops, prior, times, poses, &r));
        *moved = take_poses(&r, poses) > 0.0 || *moved;
    }
    return EXIT_DONE;
}
