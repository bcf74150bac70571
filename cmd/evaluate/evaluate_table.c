/* The table of errors, and their object of --json. */
#include "evaluate.h"

#define DEGREES 57.29577951308232

static void print_lengths(FILE *out, const pcgpu_evaluation *e, bool is_short, double mean, double rotation) {
    for (int i = 0; i < PCGPU_SEGMENTS; i++) {
        const pcgpu_segment_error *g = &e->segments[i];
        if ((g->length < 100.0) == is_short && g->count > 0) {
            fprintf(out, "  %4.0f m %28lld pieces %12.4f %% %10.4f degree/100m\n", g->length, (long long)g->count,
                    100.0 * g->translation, 100.0 * g->rotation * DEGREES);
        }
    }
    if (mean == mean) {
        fprintf(out, "  all %46.4f %% %10.4f degree/100m\n", 100.0 * mean, 100.0 * rotation * DEGREES);
    }
}

void evaluate_print_table(FILE *out, const pcgpu_evaluation *e, double scale) {
    fprintf(out, "%lld poses compared, %lld missing, %.3f m\n", (long long)e->poses, (long long)e->missing, e->length);
    if (scale > 0) {
        fprintf(out, "scale %.6f of the trajectory, by which its positions are multiplied\n", scale);
    }
    fprintf(out, "absolute trajectory error (ATE) after %s alignment\n", scale > 0 ? "sim3" : "rigid");
    fprintf(out, "  RMSE %.6f m, mean %.6f m, median %.6f m, largest %.6f m\n", e->ate_rmse, e->ate_mean, e->ate_median,
            e->ate_max);
    fprintf(out, "relative pose error (RPE), RMSE\n");
    fprintf(out, "  from pose to pose %11lld pairs %14.6f m %12.6f degree\n", (long long)e->rpe_count,
            e->rpe_translation, e->rpe_rotation * DEGREES);
    if (e->rpe_second_count > 0) {
        fprintf(out, "  over a second %15lld pairs %14.6f m %12.6f degree\n", (long long)e->rpe_second_count,
                e->rpe_second_translation, e->rpe_second_rotation * DEGREES);
    }
    fprintf(out, "segment error as of KITTI, mean\n");
    if (e->segment_translation == e->segment_translation) {
        print_lengths(out, e, false, e->segment_translation, e->segment_rotation);
    } else {
        fprintf(out, "  the path is shorter than the 100 m of KITTI's shortest segment\n");
    }
    if (e->short_translation == e->short_translation) {
        fprintf(out, "the same over short segments, which KITTI does not have\n");
        print_lengths(out, e, true, e->short_translation, e->short_rotation);
    }
}

void evaluate_print_json(const session *s, const char *name, const pcgpu_evaluation *e, double scale) {
    json out;
    if (!session_json_open(s, &out)) {
        return;
    }
    json_text(&out, "trajectory", name);
    json_text(&out, "ground_truth", s->options->ground_truth);
    json_open(&out, "evaluation");
    json_integer(&out, "poses", e->poses);
    json_integer(&out, "missing", e->missing);
    json_number(&out, "length", e->length);
    json_numbers(&out, "T_truth_estimate", e->T_truth_estimate, 16);
    if (s->options->align) {
        json_number(&out, "scale", scale);
    }
    json_number(&out, "ate_rmse", e->ate_rmse);
    json_number(&out, "ate_mean", e->ate_mean);
    json_number(&out, "ate_median", e->ate_median);
    json_number(&out, "ate_max", e->ate_max);
    json_integer(&out, "rpe_count", e->rpe_count);
    json_number(&out, "rpe_translation", e->rpe_translation);
    json_number(&out, "rpe_rotation", e->rpe_rotation);
    json_integer(&out, "rpe_second_count", e->rpe_second_count);
    json_number(&out, "rpe_second_translation", e->rpe_second_translation);
    json_number(&out, "rpe_second_rotation", e->rpe_second_rotation);
    json_number(&out, "segment_translation", e->segment_translation);
    json_number(&out, "segment_rotation", e->segment_rotation);
    json_number(&out, "short_translation", e->short_translation);
    json_number(&out, "short_rotation", e->short_rotation);
    json_key(&out, "segments");
    for (int i = 0; i < PCGPU_SEGMENTS; i++) {
        json one = {.out = out.out, .first = true};
        fputs(i ? ", " : "[", out.out);
        json_open(&one, NULL);
        json_number(&one, "length", e->segments[i].length);
        json_integer(&one, "count", e->segments[i].count);
        json_number(&one, "translation", e->segments[i].translation);
        json_number(&one, "rotation", e->segments[i].rotation);
        json_close(&one);
    }
    fputc(']', out.out);
    json_close(&out);
    session_json_close(&out);
}
