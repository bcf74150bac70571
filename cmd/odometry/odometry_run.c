/* pcgpu odometry: the poses of a sequence of scans or depth images. */
#include "colors.h"
#include "evaluate.h"
#include "register.h"
#include "odometry_map.h"
#include "scan_reader.h"
#include "transform_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct odometry_state {
    session *session;
    pcgpu_odometry *odometry;
    pcgpu_depth_odometry *camera; /* in its place for depth images */
    pcgpu_loops *loops;           /* with --loops or --prior */
    odometry_prior prior;         /* without positions when they are not given */
    odometry_map *map;            /* of scans, NULL without an output for it */
    output trajectory;            /* stream NULL until it is open */
    const char *name;             /* of the trajectory, for messages */
    double *times;                /* of each scan */
    bool timed;                   /* they come from a recording */
    double *poses;                /* of each scan, NaN for a lost one */
    double *fractions;            /* pcgpu_odometry_sweep of each scan with a pose, for the map */
    int good, lost, failed, open;
    int written;                     /* poses of the trajectory */
    bool corrected;                  /* loops have moved the poses */
    bool stopped;                    /* not all scans were processed */
    char time_name[PCGPU_NAME_SIZE]; /* the column of times that was found */
    double seconds;
} odometry_state;

/* ---- before the first scan ---- */

/* Whether the scans have times of their own, those of a recording. */
static bool is_timed(const session *s) {
    return !option_given_here(s->options, "rate", s->command) && !s->options->timestamps && s->input_count > 0 &&
           recording_holds(s->inputs[0]);
}

/* After read_times: whether the times are more than numbers of scans. */
static bool has_clock(const odometry_state *run) {
    return run->timed || run->session->options->timestamps;
}

static bool read_times(odometry_state *run) {
    const session *s = run->session;
    const option_values *o = s->options;
    const int count = s->input_count;
    int64_t there = 0;
    bool good = true;
    reason why;
    if (o->timestamps) {
        good = timestamps_read(o->timestamps, &run->times, &there, &why) &&
               (odometry_pick_rows(s, run->times, 1, &there) ||
                refuse(&why, "%s: %lld times for %d scans; give one line per scan", o->timestamps, (long long)there,
                       count));
    } else {
        run->times = heap_zeroed((size_t)count, sizeof *run->times);
        odometry_times_of_rate(s, run->times);
        run->timed = is_timed(s);
        for (int i = 0; i < count && run->timed; i++) { /* those of the log, until the scan is read */
            run->timed = recording_time(s->inputs[i], &run->times[i]);
        }
    }
    if (!good) {
        report_error(NULL, "%s", why.text);
    }
    return good;
}

/* The truth that was found in the folder of a sequence has a pose for each scan, or is not used. */
static bool read_truth(const session *s, trajectory *truth) {
    option_values *o = s->options;
    bool good = evaluate_read_truth(s, truth);
    if (good && odometry_own(o)->sequence && !truth->times && !odometry_pick_rows(s, truth->poses, 16, &truth->count) &&
        !option_given_here(o, "ground-truth", s->command)) {
        report_warning(o->ground_truth, "%lld poses for %d scans; no errors will be printed", (long long)truth->count,
                       s->input_count);
        o->ground_truth = NULL;
    }
    if (good && o->ground_truth && !(truth->times && (o->timestamps || is_timed(s))) &&
        truth->count != s->input_count) {
        report_error(o->ground_truth,
                     "%lld poses for %d scans; give one true pose per scan, or a file in TUM format and --timestamps",
                     (long long)truth->count, s->input_count); /* now, and not after the last scan */
        trajectory_free(truth);
        good = false;
    }
    return good;
}

static int open_odometry(odometry_state *run) {
    session *s = run->session;
    pcgpu_odometry_params params = odometry_own(s->options)->params;
    params.registration = s->options->registration;
    params.registration.drop_origin = s->options->drop_origin;
    odometry_find_beams(s, run->times, &params);
    if (!register_read_init(s, params.registration.init)) {
        return EXIT_FAILED;
    }
    if (odometry_map_of(odometry_own(s->options))) {
        return odometry_open_map(s, &params, run->map, &run->odometry);
    }
    pcgpu_status status = odometry_is_depth(s) ? odometry_open_images(s, params.registration.init, &run->camera)
                                               : pcgpu_odometry_open(s->context, &params, &run->odometry);
    if (status == PCGPU_OK && (odometry_own(s->options)->loops || odometry_own(s->options)->prior)) {
        status = odometry_open_loops(s, &params.registration, &run->loops);
    }
    if (status != PCGPU_OK) {
        report_failure(NULL, s->context);
    }
    return status == PCGPU_OK ? EXIT_DONE : status == PCGPU_ERROR_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

static int open_run(odometry_state *run) {
    const session *s = run->session;
    const int count = s->input_count;
    int code = read_times(run) ? open_odometry(run) : EXIT_FAILED;
    code = code == EXIT_DONE ? odometry_read_prior(s, run->times, has_clock(run), &run->prior) : code;
    code = code == EXIT_DONE ? odometry_read_guess(s, run->times, has_clock(run), run->odometry, run->camera) : code;
    if (run->map) {
        run->map->odometry = run->odometry;
    }
    if (code != EXIT_DONE || !output_open(&run->trajectory, s->options->trajectory, session_existing(s), true)) {
        return code ? code : EXIT_FAILED;
    }
    run->poses = heap_zeroed((size_t)count, 16 * sizeof *run->poses);
    run->fractions = heap_zeroed((size_t)count, sizeof *run->fractions);
    return EXIT_DONE;
}

/* ---- the trajectory ---------------------------------------------------------------------------------------------- */

/* Writes the pose of a scan, at once: another program may read it from a pipe. */
static bool write_pose(const odometry_state *run, int index) {
    FILE *stream = run->trajectory.stream;
    const double *T = run->poses + 16 * (int64_t)index;
    errno = 0;
    transform_write_pose(stream, T[0] == T[0] ? T : NULL, run->times[index],
                         odometry_own(run->session->options)->trajectory_format);
    if (fflush(stream) == 0 && !ferror(stream)) {
        return true;
    }
    report_error(run->name, "cannot be written: %s", errno ? strerror(errno) : "the device refused the data");
    return false;
}

/* Writes the poses up to this one. Before any scan was read they wait: a run that reads none writes none. */
static bool write_poses(odometry_state *run, int index) {
    bool good = true;
    for (; good && run->good + run->lost > 0 && run->written <= index; run->written++) {
        good = write_pose(run, run->written);
    }
    return good;
}

/* With --loops or --prior, all poses are written when they are corrected. */
static bool write_corrected(odometry_state *run) {
    return !run->loops || write_poses(run, run->session->input_count - 1);
}

/* ---- scans ---- */

static void add_frame(json *out, int index, double time, const pcgpu_odometry_frame *f) {
    json_integer(out, "frame", index);
    json_number(out, "time", time);
    json_boolean(out, "lost", !f->good);
    json_boolean(out, "relocalized", f->relocalized);
    json_text(out, "state", !f->good ? "lost" : f->relocalized ? "recovered" : "found");
    json_boolean(out, "keyframe", f->keyframe);
    json_integer(out, "attempts", f->attempts);
    json_numbers(out, "T_world_frame", f->T_world_frame, 16);
    json_numbers(out, "open_directions", f->open_directions, 3 * f->open);
    if (f->attempts > 0) {
        json_open(out, "registration");
        register_add_result(out, &f->registration);
        json_close(out);
    }
}

static void report_frame(const job *j, const pcgpu_odometry_frame *f) {
    const pcgpu_registration *r = &f->registration;
    const double *T = f->T_world_frame;
    if (!f->good) {
        report_error(j->names[0], "lost after %d attempts: %s", f->attempts, r->reason);
    } else if (f->relocalized) {
        report_warning(j->names[0], "recovered after lost scans");
    }
    if (f->open > 0) {
        const double *d = f->open_directions;
        report_detail(j->names[0], "the pose follows the prediction along %.2f %.2f %.2f%s", d[0], d[1], d[2],
                      f->open > 1 ? " and a second direction" : "");
    }
    report_detail(j->names[0], "at %.4f %.4f %.4f m, %d iterations, fitness %.3f, score %.3f", T[3], T[7], T[11],
                  r->iterations, r->fitness, r->score);
}

/* With --loops or --prior the map is made when the poses are corrected. */
static bool adds_to_map(const odometry_state *run) {
    return run->map && !run->loops;
}

/* Adds a scan that was read. Returns its exit code. */
static int add_scan(odometry_state *run, job *j, int index, double *T) {
    pcgpu_odometry_frame f;
    const double time = run->times[index];
    pcgpu_status status = run->camera ? pcgpu_depth_odometry_add(run->camera, &j->images[0], time, &f)
                                      : pcgpu_odometry_add(run->odometry, &j->clouds[0], time, &f);
    PC_TRY(job_code(j, status));
    if (run->odometry && !run->time_name[0]) {
        pcgpu_odometry_params p;
        pcgpu_odometry_params_init(&p);
        pcgpu_odometry_settled(run->odometry, &p);
        memcpy(run->time_name, j->clouds[0].names[p.time_column],
               p.deskew == PCGPU_DESKEW_TIME ? sizeof run->time_name : 0);
    }
    run->fractions[index] = run->camera ? 1.0 : pcgpu_odometry_sweep(run->odometry);
    if (run->loops && f.good) {
        PC_TRY(job_code(j, odometry_add_loops(run->loops, run->odometry, &j->images[0], index, f.T_world_frame)));
    }
    j->run = f.registration.run;
    if (run->camera) {
        j->run.points_in = j->depth[0].pixels - j->depth[0].no_return - j->depth[0].out_of_range;
    }
    run->open += f.open > 0;
    add_frame(&j->result, index, time, &f);
    report_frame(j, &f);
    memcpy(T, f.T_world_frame, sizeof f.T_world_frame);
    return f.good ? EXIT_DONE : EXIT_NOT_CONVERGED;
}

static int process_scan(odometry_state *run, scan_read *scan) {
    const char *name = run->session->inputs[scan->index];
    double *T = run->poses + 16 * (int64_t)scan->index;
    job j;
    if (run->timed && scan->time == scan->time) {
        run->times[scan->index] = scan->time;
    }
    int code;
    job_open_scan(&j, run->session, name, &scan->cloud, &scan->image, &scan->depth, scan->seconds);
    for (int i = 0; i < 16; i++) {
        T[i] = NAN;
    }
    scan_read_log(scan, name);
    if (scan->good) {
        code = add_scan(run, &j, scan->index, T);
    } else {
        code = report_error(name, "%s", sentence_without_name(scan->error.text, name));
    }
    const bool in_map = code != EXIT_DONE || !adds_to_map(run) ||
                        odometry_map_add(run->map, &j.clouds[0], T, run->fractions[scan->index]) == EXIT_DONE;
    code = job_close(&j, code);
    run->good += code == EXIT_DONE;
    run->lost += code == EXIT_NOT_CONVERGED;
    run->failed += code == EXIT_FAILED;
    if (!run->loops && !write_poses(run, scan->index)) {
        return EXIT_FAILED;
    }
    return code == EXIT_NO_CUDA ? code : in_map ? EXIT_DONE : EXIT_FAILED;
}

static int run_scans(odometry_state *run) {
    scan_reader *reader = scan_reader_open(run->session, NULL, run->camera != NULL);
    scan_read scan;
    int code = EXIT_DONE;
    progress_run_begin(run->session->input_count);
    while (code == EXIT_DONE && scan_reader_next(reader, &scan)) {
        const int without_pose = run->lost + run->failed;
        code = process_scan(run, &scan);
        progress_run_add(run->session->inputs[scan.index],
                         run->lost + run->failed > without_pose ? PROGRESS_FAILED : PROGRESS_DONE);
    }
    run->seconds = progress_run_end();
    scan_reader_close(reader);
    run->stopped = code != EXIT_DONE;
    return code;
}

/* ---- the run ---- */

/* What was found in the scans, and not given. */
static void report_corrections(const odometry_state *run) {
    if (run->time_name[0] && odometry_own(run->session->options)->params.deskew == PCGPU_DESKEW_AUTO) {
        report_result(run->name, "deskewed by column '%s', which has times; --deskew none leaves scans as they are",
                      run->time_name);
    }
    if (odometry_own(run->session->options)->found_beams) {
        report_result(run->name,
                      "beams corrected by %.3f degree, from the first scans; --beam-correction 0 leaves them",
                      odometry_own(run->session->options)->beam_correction);
    }
}

static void summarize(const odometry_state *run) {
    const int read = run->good + run->lost, count = read + run->failed;
    const char *noun = run->camera ? "image" : "scan";
    if (run->lost + run->failed > 0) {
        report_error(run->name, "%d of %d %ss have no pose: %d lost, %d not read%s", run->lost + run->failed, count,
                     noun, run->lost, run->failed, read == 0 ? "; the trajectory is not written" : "");
    }
    if (run->open > 0) {
        report_warning(run->name, "%d of %d poses follow the prediction along a direction that the scene leaves open",
                       run->open, run->good);
    }
    report_corrections(run);
    if (read > 0) {
        report_result(run->name, "%d %s%s in %.3f s, %.1f per second; %d lost, %d not read", count, noun,
                      count == 1 ? "" : "s", run->seconds, read / (run->seconds > 0 ? run->seconds : 1e-9), run->lost,
                      run->failed);
    }
}

static int evaluate(odometry_state *run, const trajectory *truth) {
    const trajectory estimate = {
        .count = run->session->input_count, .poses = run->poses, .times = has_clock(run) ? run->times : NULL};
    FILE *table = session_json_is_stdout(run->session) ? NULL
                  : run->trajectory.stream == stdout   ? stderr
                                                       : stdout; /* with the poses */
    return evaluate_print(run->session, run->session->options->trajectory, &estimate, run->times, truth, table, NULL);
}

static int run_odometry(odometry_state *run) {
    trajectory truth = {0};
    if (run->session->options->ground_truth && !read_truth(run->session, &truth)) {
        return EXIT_FAILED;
    }
    int code = open_run(run);
    if (code == EXIT_DONE) {
        code = run_scans(run);
        summarize(run);
    }
    if (code == EXIT_DONE && run->loops) {
        code = odometry_end_loops(run->session, run->loops, &run->prior, run->times, run->name, run->poses,
                                  &run->corrected);
        run->stopped = code != EXIT_DONE;
        code = code == EXIT_DONE && run->map ? odometry_map_add_all(run->map, run->poses, run->fractions) : code;
    }
    if (code == EXIT_DONE) {
        code = run->failed > 0 ? EXIT_FAILED : run->lost > 0 ? EXIT_NOT_CONVERGED : EXIT_DONE;
    }
    if (!run->stopped && run->good > 0 && run->session->options->ground_truth && evaluate(run, &truth) != EXIT_DONE) {
        code = EXIT_FAILED;
    }
    trajectory_free(&truth);
    return code;
}

/* Writes the map or model, then, unless that fails, the trajectory. */
static int end_run(odometry_state *run, job *model, int code) {
    const int scans = code;
    if (model && !run->stopped && run->failed > 0) {
        report_error(run->name,
                     "%d inputs could not be read, so no map or model is written; leave them out or mend them",
                     run->failed);
    }
    if (model) {
        code = odometry_end_model(run->session, model, run->camera, run->map, run->corrected ? run->poses : NULL, code);
    }
    /* Lost scans replace the poses of an earlier run, too. */
    if (run->stopped || code != scans || run->good + run->lost == 0) {
        output_discard(&run->trajectory);
    } else if (!write_corrected(run) || !output_commit(&run->trajectory)) {
        output_discard(&run->trajectory);
        code = EXIT_FAILED;
    }
    return code;
}

int odometry_run(session *s) {
    odometry_state run = {.session = s, .name = output_shown(s->options->trajectory), .stopped = true};
    static odometry_map map; /* both once per run, and too large for a small stack */
    static job model;
    const bool has_model = odometry_has_map(s) || odometry_writes_model(s);
    int code = has_model ? job_open(&model, s, s->inputs, 0) : EXIT_DONE;
    if (code == EXIT_DONE && odometry_has_map(s)) {
        run.map = &map;
        code = odometry_map_open(s, &map);
    }
    code = code == EXIT_DONE ? run_odometry(&run) : code;
    code = end_run(&run, has_model ? &model : NULL, code);
    pcgpu_loops_close(run.loops);
    positions_free(&run.prior.all);
    odometry_map_close(&map);
    pcgpu_odometry_close(run.odometry);
    pcgpu_depth_odometry_close(run.camera);
    free(run.times);
    free(run.poses);
    free(run.fractions);
    return code;
}
