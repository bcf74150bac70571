/* pcgpu evaluate, and odometry --ground-truth: the errors of a trajectory against the truth. */
#include "evaluate.h"
#include "transform.h"
#include "transform_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_TURN 0.01 /* radians: smaller mean errors of rotations are none of the order of quaternions */

/* ---- the truth ---- */

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
        pc_transform_invert(T, inverse);
        for (int64_t i = 0; i < truth->count; i++) {
            pc_transform_multiply(truth->poses + 16 * i, T, truth->poses + 16 * i);
            pc_transform_multiply(inverse, truth->poses + 16 * i, truth->poses + 16 * i);
        }
    }
    return true;
}

typedef struct timed_pose {
    double time;         /* in seconds */
    int64_t pose, match; /* of the truth and of the estimate, -1: none */
} timed_pose;

/* Of poses at one time the first in the file is the last, which the search takes. */
static int compare_times(const void *a, const void *b) {
    const timed_pose *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time) : (x->pose < y->pose) - (x->pose > y->pose);
}

/* The true poses in the order of time. */
static timed_pose *order_by_time(const trajectory *truth) {
    timed_pose *order = heap_zeroed((size_t)truth->count, sizeof *order);
    const double unit = trajectory_unit(truth->times, truth->count);
    for (int64_t k = 0; k < truth->count; k++) {
        order[k] = (timed_pose){.time = unit * truth->times[k], .pose = k, .match = -1};
    }
    qsort(order, (size_t)truth->count, sizeof *order, compare_times);
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

/* The true pose for each estimate: the nearest in time, the earlier of two as near, within `tolerance`, unless another
 * estimate is nearer to it; or NaN. Neither file needs to be in the order of time. `times`: of the estimates, in
 * seconds. *found: how many have a true pose. */
static double *match_by_time(const trajectory *estimate, const double *times, const trajectory *truth, double tolerance,
                             int64_t *found) {
    const int64_t count = estimate->count;
    double *poses = heap_zeroed((size_t)count, 16 * sizeof *poses);
    timed_pose *order = order_by_time(truth);
    *found = 0;
    for (int64_t i = 0; i < 16 * count; i++) {
        poses[i] = NAN;
    }
    int64_t k = 0;
    for (int64_t i = 0; i < count && truth->count > 0; i++) {
        while (k > 0 && order[k].time > times[i]) { /* times of estimates may go back */
            k--;
        }
        while (k + 1 < truth->count && (order[k + 1].time == order[k].time ||
                                        fabs(order[k + 1].time - times[i]) < fabs(order[k].time - times[i]))) {
            k++;
        }
        if (fabs(order[k].time - times[i]) <= tolerance && is_better(estimate, times, &order[k], i)) {
            order[k].match = i;
        }
    }
    for (k = 0; k < truth->count; k++) {
        if (order[k].match >= 0) {
            memcpy(poses + 16 * order[k].match, truth->poses + 16 * order[k].pose, 16 * sizeof *poses);
            ++*found;
        }
    }
    free(order);
    return poses;
}

/* The relative errors are those of neighbours in the file. */
static void warn_unordered(const char *shown, const double *times, int64_t count) {
    for (int64_t i = 1; i < count; i++) {
        if (times[i] < times[i - 1]) {
            report_warning(
                shown,
                "the time of pose %lld is before that of pose %lld, and the relative errors are of neighbours in the "
                "file; sort its lines by time: sort -g",
                (long long)i + 1, (long long)i);
            return;
        }
    }
}

/* The times of the estimate in seconds: as given, or from the rate. */
static double *times_in_seconds(const double *times, int64_t count, double rate, double offset) {
    const double unit = times ? trajectory_unit(times, count) : 1;
    double *seconds = heap_zeroed((size_t)count, sizeof *seconds);
    for (int64_t i = 0; i < count; i++) {
        seconds[i] = (times ? unit * times[i] : (double)i / rate) + offset;
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
static void report_clocks(const char *shown, const double *times, int64_t count, const trajectory *truth,
                          const option_values *o) {
    const double unit = trajectory_unit(truth->times, truth->count);
    report_error(
        shown,
        "no time is within %g s of one in %s: its times are %.15g to %.15g s, and %.15g to %.15g s there; give both "
        "the same clock, --time-offset or a larger --time-tolerance",
        o->time_tolerance, o->ground_truth, times[0], times[count - 1], unit * truth->times[0],
        unit * truth->times[truth->count - 1]);
}

/* Poses that the table does not count, neither as compared nor as missing. */
static void warn_left_out(const char *shown, const trajectory *estimate, const double *matched,
                          const option_values *o) {
    int64_t poses = 0, alone = 0;
    for (int64_t i = 0; i < estimate->count; i++) {
        const bool there = estimate->poses[16 * i] == estimate->poses[16 * i];
        poses += there;
        alone += there && !(matched[16 * i] == matched[16 * i]);
    }
    if (alone > 0) {
        report_warning(shown,
                       "%lld of %lld poses are left out: %s has no pose within %g s, or another pose is nearer to it",
                       (long long)alone, (long long)poses, o->ground_truth, o->time_tolerance);
    }
}

/* ---- the evaluation ---- */

/* With --align sim3 the poses with the scale of the truth, in the memory of `scaled`; e: the evaluation of them, and
 * their scale. */
static pcgpu_status evaluate_scaled(session *s, double *scaled, const double *truth, const double *seconds,
                                    int64_t count, pcgpu_evaluation *e, double *scale) {
    pcgpu_status status = pcgpu_trajectory_evaluate(s->context, scaled, truth, seconds, count, e);
    *scale = 1;
    if (status == PCGPU_OK && s->options->align) {
        *scale = evaluate_scale(scaled, truth, count, e->T_truth_estimate);
        for (int64_t i = 0; i < 3 * count; i++) {
            scaled[16 * (i / 3) + 4 * (i % 3) + 3] *= *scale;
        }
        status = pcgpu_trajectory_evaluate(s->context, scaled, truth, seconds, count, e);
    }
    return status;
}

/* Errors that the order of quaternions explains. */
static void hint_order(const char *shown, const trajectory *estimate, const double *truth) {
    const bool quaternions = estimate->numbers == 7 || estimate->numbers == 8;
    const double error = quaternions ? evaluate_turn_error(estimate->poses, truth, estimate->count, false) : 0;
    if (error > LEAST_TURN && evaluate_turn_error(estimate->poses, truth, estimate->count, true) < 0.2 * error) {
        report_warning(
            shown,
            "the rotations fit when its quaternions are w x y z; then name them in a first line: # time x y z qw qx "
            "qy qz");
    }
}

static bool counts_fit(const session *s, const char *shown, const trajectory *estimate, const trajectory *truth) {
    const option_values *o = s->options;
    if (estimate->count != truth->count) {
        report_error(shown,
                     "%lld poses, and %lld in %s; give one true pose per pose%s, times of both by the format TUM, or "
                     "--timestamps",
                     (long long)estimate->count, (long long)truth->count, o->ground_truth,
                     estimate->count < truth->count ? " (of the first poses: head -n)" : "");
    } else if (option_given(o, "time-offset", s->command) || option_given(o, "time-tolerance", s->command)) {
        report_error(shown, "--time-offset and --time-tolerance are for times in both files; leave them out");
    } else {
        return true;
    }
    return false;
}

int evaluate_print(session *s, const char *name, const trajectory *estimate, const double *times,
                   const trajectory *truth, FILE *table, pose_errors *errors) {
    const option_values *o = s->options;
    const bool by_time = estimate->times && truth->times;
    const char *shown = o->trajectory ? output_shown(name) : input_name(name); /* the output of odometry, or an input */
    const size_t size = 16 * sizeof(double);
    int64_t found = 0;
    double scale;
    pcgpu_evaluation e;
    if (errors) {
        *errors = (pose_errors){0};
    }
    if (!by_time && !counts_fit(s, shown, estimate, truth)) {
        return EXIT_FAILED;
    }
    double *seconds = times_in_seconds(times ? times : estimate->times, estimate->count, o->rate, o->time_offset),
           *scaled = heap_zeroed((size_t)estimate->count, size);
    double *matched = by_time ? match_by_time(estimate, seconds, truth, o->time_tolerance, &found) : NULL;
    const double *wanted = by_time ? matched : truth->poses;
    if (by_time) {
        warn_unordered(shown, seconds, estimate->count);
    }
    if (estimate->count > 0) {
        memcpy(scaled, estimate->poses, (size_t)estimate->count * size);
    }
    int code = EXIT_FAILED;
    if (by_time && found == 0 && has_pose(estimate) && truth->count > 0) {
        report_clocks(shown, seconds, estimate->count, truth, o);
    } else if (evaluate_scaled(s, scaled, wanted, seconds, estimate->count, &e, &scale) != PCGPU_OK) {
        report_failure(shown, s->context);
    } else {
        if (errors) {
            errors->all = e;
            pose_errors_fill(errors, scaled, wanted, estimate->count);
        }
        if (by_time) {
            warn_left_out(shown, estimate, matched, o);
        }
        hint_order(shown, estimate, wanted);
        if (table) {
            evaluate_print_table(table, &e, o->align ? scale : 0);
        }
        evaluate_print_json(s, name, &e, scale);
        code = EXIT_DONE;
    }
    free(matched);
    free(seconds);
    free(scaled);
    return code;
}

/* ---- the command ---- */

static bool settle(option_values *o, const command_info *command, reason *why) {
    const char *wrong = NULL;
    if (!o->ground_truth) {
        wrong = "no truth to compare with; give --ground-truth FILE";
    } else if (o->timestamps && option_given_here(o, "rate", command)) {
        wrong = "timestamps and rate exclude each other; give one of them";
    } else if (o->plot && path_is_dash(o->plot)) {
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
    char *name = o->plot ? output_name(s, option_by_name("plot", FOR_EVALUATE), o->plot, s->inputs[0]) : NULL;
    const bool good = !o->plot || output_open(plot, name, session_existing(s), false);
    free(name);
    return good;
}

static int compare(session *s, const trajectory *estimate) {
    trajectory truth = {0};
    pose_errors errors = {0};
    output plot = {0};
    int code = EXIT_FAILED;
    if (open_plot(s, &plot) && evaluate_read_truth(s, &truth)) {
        code = evaluate_print(s, s->inputs[0], estimate, NULL, &truth, session_json_is_stdout(s) ? NULL : stdout,
                              plot.stream ? &errors : NULL);
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
    trajectory estimate;
    double *times;
    int code = trajectory_read_timed(s->inputs[0], o->timestamps, &estimate, &times);
    if (code == EXIT_DONE && estimate.times && option_given_here(o, "rate", s->command)) {
        report_error(input_name(s->inputs[0]), "has the times of its poses; leave --rate out");
        code = EXIT_USAGE;
    }
    if (times) { /* in place of its own */
        free(estimate.times);
        estimate.times = times;
    }
    code = code == EXIT_DONE ? compare(s, &estimate) : code;
    trajectory_free(&estimate);
    return code;
}

const command_info evaluate_command = {
    .name = "evaluate",
    .bit = FOR_EVALUATE,
    .arguments = "[OPTION]... --ground-truth FILE [TRAJECTORY]",
    .summary = "measure how far a trajectory is from the true one",
    .examples = {"poses.txt --ground-truth truth.txt", "poses.txt --ground-truth truth.txt --plot errors.png"},
    .main_options = "ground-truth align timestamps time-tolerance plot json",
    .traits = COMMAND_READS_TEXT | COMMAND_READS_STDIN,
    .resolve_options = settle,
    .take_inputs = take_inputs,
    .run = run};
