/* pcgpu evaluate, and odometry --ground-truth: the errors of a trajectory against the truth. */
#include "evaluate.h"
#include "transform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEGREES       57.29577951308232
#define MATCH_SECONDS 0.02 /* the largest difference in time of matching poses */

/* ---- the truth ---- */

static void multiply(const double a[16], const double b[16], double out[16]) {
    double c[16];
    for (int i = 0; i < 16; i++) {
        const double *row = a + 4 * (i / 4), *column = b + i % 4;
        c[i] = ((row[0] * column[0] + row[1] * column[4]) + row[2] * column[8]) + row[3] * column[12];
    }
    memcpy(out, c, sizeof c);
}

bool evaluate_read_truth(const session *s, trajectory *truth) {
    const option_values *o = s->options;
    double T[16], inverse[16];
    reason why;
    if (!trajectory_read(o->ground_truth, truth, &why) ||
        (o->calibration && !calibration_read(o->calibration, T, &why))) {
        trajectory_free(truth);
        report_error(NULL, "%s", why.text);
        return false;
    }
    if (o->calibration) { /* from the frames of the other sensor to the frames of the scans */
        transform_invert(T, inverse);
        for (int64_t i = 0; i < truth->count; i++) {
            multiply(truth->poses + 16 * i, T, truth->poses + 16 * i);
            multiply(inverse, truth->poses + 16 * i, truth->poses + 16 * i);
        }
    }
    return true;
}

typedef struct timed_pose {
    double time; /* in seconds */
    int64_t pose, match; /* of the truth and of the estimate, -1: none */
} timed_pose;

/* Of poses at one time the first in the file is the last, which the search takes. */
static int compare_times(const void *a, const void *b) {
    const timed_pose *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time) : (x->pose < y->pose) - (x->pose > y->pose);
}

/* The true poses in the order of time, NULL without memory. */
static timed_pose *order_by_time(const trajectory *truth) {
    timed_pose *order = malloc(((size_t)truth->count + 1) * sizeof *order);
    const double unit = trajectory_unit(truth->times, truth->count);
    for (int64_t k = 0; order && k < truth->count; k++) {
        order[k] = (timed_pose){.time = unit * truth->times[k], .pose = k, .match = -1};
    }
    if (order) {
        qsort(order, (size_t)truth->count, sizeof *order, compare_times);
    }
    return order;
}

/* Whether estimate i belongs to a true pose rather than its match so far: one that is there, then the nearer one. */
static bool is_better(const trajectory *estimate, const double *times, const timed_pose *truth, int64_t i) {
    if (truth->match < 0) {
        return true;
    }
    const bool there = estimate->poses[16 * i] == estimate->poses[16 * i];
    const bool match_there = estimate->poses[16 * truth->match] == estimate->poses[16 * truth->match];
    return there != match_there ? there : fabs(truth->time - times[i]) < fabs(truth->time - times[truth->match]);
}

/* The true pose for each estimate: the nearest in time, the earlier of two as near, within MATCH_SECONDS, unless another estimate
 * is nearer to it; or NaN. Neither file needs to be in the order of time. `times`: of the estimates, in seconds. *found: how
 * many have a true pose. */
static double *match_by_time(const trajectory *estimate, const double *times, const trajectory *truth, int64_t *found) {
    const int64_t count = estimate->count;
    double *poses = malloc(((size_t)count + 1) * 16 * sizeof *poses);
    timed_pose *order = order_by_time(truth);
    *found = 0;
    for (int64_t i = 0; poses && i < 16 * count; i++) {
        poses[i] = NAN;
    }
    int64_t k = 0;
    for (int64_t i = 0; poses && order && i < count && truth->count > 0; i++) {
        while (k > 0 && order[k].time > times[i]) { /* times of estimates may go back */
            k--;
        }
        while (k + 1 < truth->count && (order[k + 1].time == order[k].time ||
                                        fabs(order[k + 1].time - times[i]) < fabs(order[k].time - times[i]))) {
            k++;
        }
        if (fabs(order[k].time - times[i]) <= MATCH_SECONDS && is_better(estimate, times, &order[k], i)) {
            order[k].match = i;
        }
    }
    for (k = 0; poses && order && k < truth->count; k++) {
        if (order[k].match >= 0) {
            memcpy(poses + 16 * order[k].match, truth->poses + 16 * order[k].pose, 16 * sizeof *poses);
            ++*found;
        }
    }
    if (!order) {
        free(poses);
        poses = NULL;
    }
    free(order);
    return poses;
}

/* The relative errors are those of neighbours in the file. */
static void warn_unordered(const char *shown, const double *times, int64_t count) {
    for (int64_t i = 1; i < count; i++) {
        if (times[i] < times[i - 1]) {
            report_warning(shown, "the time of pose %lld is before that of pose %lld, and the relative errors are of neighbours in the "
                           "file; sort its lines by time: sort -g", (long long)i + 1, (long long)i);
            return;
        }
    }
}

/* The times of the estimate in seconds: as given, or from the rate. */
static double *times_in_seconds(const double *times, int64_t count, double rate) {
    const double unit = times ? trajectory_unit(times, count) : 1;
    double *seconds = malloc(((size_t)count + 1) * sizeof *seconds);
    for (int64_t i = 0; seconds && i < count; i++) {
        seconds[i] = times ? unit * times[i] : (double)i / rate;
    }
    return seconds;
}

static bool has_pose(const trajectory *t) {
    bool any = false;
    for (int64_t i = 0; i < t->count && !any; i++) {
        any = t->poses[16 * i] == t->poses[16 * i];
    }
    return any;
}

/* Two clocks, such as the time since the start in one file and since 1970 in the other one. */
static void report_clocks(const char *shown, const double *times, int64_t count, const trajectory *truth, const char *name) {
    const double unit = trajectory_unit(truth->times, truth->count);
    report_error(shown,
                 "no time is within %g s of one in %s: its times are %.15g to %.15g s, and %.15g to %.15g s there; give both the same clock",
                 MATCH_SECONDS, name, times[0], times[count - 1], unit * truth->times[0], unit * truth->times[truth->count - 1]);
}

/* Poses that the table does not count, neither as compared nor as missing. */
static void warn_left_out(const char *shown, const trajectory *estimate, const double *matched, const char *name) {
    int64_t poses = 0, alone = 0;
    for (int64_t i = 0; i < estimate->count; i++) {
        const bool there = estimate->poses[16 * i] == estimate->poses[16 * i];
        poses += there;
        alone += there && !(matched[16 * i] == matched[16 * i]);
    }
    if (alone > 0) {
        report_warning(shown, "%lld of %lld poses are left out: %s has no pose within %g s, or another pose is nearer to it",
                       (long long)alone, (long long)poses, name, MATCH_SECONDS);
    }
}

/* ---- output ---- */

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

static void print_table(FILE *out, const pcgpu_evaluation *e) {
    fprintf(out, "%lld poses compared, %lld missing, %.3f m\n", (long long)e->poses, (long long)e->missing, e->length);
    fprintf(out, "absolute trajectory error (ATE) after rigid alignment\n");
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

static void print_json(const session *s, const char *name, const pcgpu_evaluation *e) {
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

int evaluate_print(session *s, const char *name, const trajectory *estimate, const double *times,
                   const trajectory *truth, FILE *table, pose_errors *errors) {
    const option_values *o = s->options;
    const bool by_time = estimate->times && truth->times;
    const char *shown = o->trajectory ? output_shown(name) : input_name(name); /* the output of odometry, or an input */
    double *matched = NULL, *seconds = NULL;
    int64_t found = 0;
    pcgpu_evaluation e;
    if (errors) {
        *errors = (pose_errors){0};
    }
    if (!by_time && estimate->count != truth->count) {
        report_error(shown, "%lld poses, and %lld in %s; give one true pose per pose, or both files in TUM format",
                     (long long)estimate->count, (long long)truth->count, o->ground_truth);
        return EXIT_FAILED;
    }
    seconds = times_in_seconds(times ? times : estimate->times, estimate->count, o->rate);
    if (by_time && seconds) {
        matched = match_by_time(estimate, seconds, truth, &found);
        warn_unordered(shown, seconds, estimate->count);
    }
    int code = EXIT_FAILED;
    if (!seconds || (by_time && !matched)) {
        report_error(shown, "out of memory");
    } else if (by_time && found == 0 && has_pose(estimate) && truth->count > 0) {
        report_clocks(shown, seconds, estimate->count, truth, o->ground_truth);
    } else if (pcgpu_trajectory_evaluate(s->context, estimate->poses, by_time ? matched : truth->poses, seconds,
                                         estimate->count, &e) != PCGPU_OK) {
        report_failure(shown, s->context);
    } else if (errors && (errors->all = e, !pose_errors_fill(errors, estimate->poses, by_time ? matched : truth->poses, estimate->count))) {
        report_error(shown, "out of memory");
    } else {
        if (by_time) {
            warn_left_out(shown, estimate, matched, o->ground_truth);
        }
        if (table) {
            print_table(table, &e);
        }
        print_json(s, name, &e);
        code = EXIT_DONE;
    }
    free(matched);
    free(seconds);
    return code;
}

/* ---- the command ---- */

static bool settle(option_values *o, const command_info *command, reason *why) {
    const char *wrong = NULL;
    if (!o->ground_truth) {
        wrong = "no truth to compare with; give --ground-truth FILE";
    } else if (o->timestamps && option_given_here(o, "rate", command)) {
        wrong = "timestamps and rate exclude each other; give one of them";
    } else if (o->picture && path_is_dash(o->picture)) {
        wrong = "plot: standard output has the table; give --plot FILE.png";
    }
    return !wrong || refuse(why, "%s", wrong);
}

static bool take_inputs(session *s, reason *why) {
    return s->input_count <= 1 || refuse(why, "%d inputs; give one trajectory", s->input_count);
}

/* The output of --plot; its stream is NULL without one. */
static bool open_plot(const session *s, output *plot) {
    const option_values *o = s->options;
    char *name = o->picture ? output_name(s, option_by_name("plot", FOR_EVALUATE), o->picture, s->inputs[0]) : NULL;
    const bool good = !o->picture || (name && output_open(plot, name, session_existing(s), false));
    if (o->picture && !name) {
        report_error(o->picture, "out of memory");
    }
    free(name);
    return good;
}

static int compare(session *s, const trajectory *estimate) {
    trajectory truth = {0};
    pose_errors errors = {0};
    output plot = {0};
    int code = EXIT_FAILED;
    if (open_plot(s, &plot) && evaluate_read_truth(s, &truth)) {
        code = evaluate_print(s, s->inputs[0], estimate, NULL, &truth, session_json_is_stdout(s) ? NULL : stdout, plot.stream ? &errors : NULL);
    }
    if (code == EXIT_DONE && plot.stream) {
        code = evaluate_plot(s, plot.stream, &errors);
        code = code == EXIT_DONE && !output_commit(&plot) ? EXIT_FAILED : code;
    }
    if (code != EXIT_DONE) {
        output_discard(&plot);
    }
    pose_errors_free(&errors);
    trajectory_free(&truth);
    return code;
}

static int run(session *s) {
    const option_values *o = s->options;
    trajectory estimate = {0};
    double *times = NULL;
    int64_t count = 0;
    reason why;
    int code = EXIT_FAILED;
    bool good = trajectory_read(s->inputs[0], &estimate, &why) &&
                (!o->timestamps || timestamps_read(o->timestamps, &times, &count, &why));
    if (!good) {
        report_error(NULL, "%s", why.text);
    } else if (times && count != estimate.count) {
        report_error(o->timestamps, "%lld times for %lld poses; give one line per pose", (long long)count,
                     (long long)estimate.count);
    } else if (estimate.times && option_given_here(o, "rate", s->command)) {
        report_error(input_name(s->inputs[0]), "has the times of its poses; leave --rate out");
        code = EXIT_USAGE;
    } else {
        if (times) { /* in place of its own */
            free(estimate.times);
            estimate.times = times;
            times = NULL;
        }
        code = compare(s, &estimate);
    }
    trajectory_free(&estimate);
    free(times);
    return code;
}

const command_info evaluate_command = {.name = "evaluate",
                                       .bit = FOR_EVALUATE,
                                       .arguments = "[OPTION]... --ground-truth FILE [TRAJECTORY]",
                                       .summary = "measure how far a trajectory is from the true one",
                                       .examples = {"poses.txt --ground-truth truth.txt",
                                                    "poses.txt --ground-truth truth.txt --plot errors.png"},
                                       .traits = COMMAND_READS_TEXT | COMMAND_READS_STDIN,
                                       .settle = settle,
                                       .take_inputs = take_inputs,
                                       .run = run};
