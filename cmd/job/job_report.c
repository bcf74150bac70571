/* The report of a job that has ended: an object of --json, and messages with -v. */
#include "cloud.h"
#include "job.h"

void json_option(json *out, const option_values *values, const option_row *option) {
    char key[OPTION_KEY];
    json_key(out, option_key(option, key));
    if (!option_print(values, option, out->out)) {
        fputs("null", out->out);
    }
}

static void print_parameters(const job *j, json *out) {
    const session *s = j->session;
    option_values effect;
    session_effective_options(s, j->count ? j->inputs : s->inputs, j->count ? j->count : s->input_count, &effect);
    json_open(out, "parameters");
    for (int i = 0; option_at(i); i++) {
        const option_row *o = option_at(i);
        if ((o->commands & s->command->bit) && !(o->flags & (OPTION_ALIAS | OPTION_LINE_ONLY))) {
            json_option(out, &effect, o);
        }
    }
    json_close(out);
}

static void print_seconds(const job *j, json *out) {
    json_open(out, "seconds");
    json_number(out, "read", j->read_seconds);
    for (int i = 0; i < j->run.stages; i++) {
        json_number(out, j->run.stage[i].name, j->run.stage[i].seconds);
    }
    json_number(out, "write", j->write_seconds);
    json_number(out, "total", seconds_now() - j->begin);
    json_close(out);
}

/* The sum over all inputs, as points_in. */
static void print_depth(const job *j, json *out) {
    pcgpu_depth_counts sum = {0};
    for (int i = 0; i < JOB_CLOUDS; i++) {
        sum.pixels += j->depth[i].pixels;
        sum.no_return += j->depth[i].no_return;
        sum.out_of_range += j->depth[i].out_of_range;
    }
    if (sum.pixels > 0) {
        json_open(out, "depth");
        json_integer(out, "pixels", sum.pixels);
        json_integer(out, "no_return", sum.no_return);
        json_integer(out, "out_of_range", sum.out_of_range);
        json_close(out);
    }
}

static void print_run(const job *j, json *out) {
    const pcgpu_run *run = &j->run;
    print_depth(j, out);
    json_integer(out, "points_in", run->points_in);
    if (j->points_out >= 0) {
        json_integer(out, "points_out", j->points_out);
    }
    if (run->backend[0]) {
        json_open(out, "dropped");
        json_integer(out, "non_finite", run->non_finite);
        json_integer(out, "at_origin", run->at_origin);
        if (option_by_name("min-range", j->session->command->bit)) {
            json_integer(out, "too_near", run->too_near);
            json_integer(out, "on_carrier", run->on_carrier);
        }
        json_close(out);
        json_text(out, "backend", run->backend);
        json_text(out, "device", run->device);
        json_text(out, "reason", run->reason);
        json_integer(out, "threads", run->threads);
    }
}

bool session_json_open(const session *s, json *out) {
    *out = (json){.out = s->json.stream, .first = true};
    if (out->out) {
        json_open(out, NULL);
        json_text(out, "command", s->command->name);
        json_text(out, "version", pcgpu_version());
    }
    return out->out;
}

void session_json_close(json *out) {
    json_close(out);
    fputc('\n', out->out);
    fflush(out->out); /* a signal leaves the lines so far */
}

void session_print_skipped(const session *s, int i) {
    json out;
    const char *before = s->json.stream ? session_line_before(s, i) : NULL;
    if (before) {
        fputs(before, s->json.stream);
        return;
    }
    if (!session_json_open(s, &out)) {
        return;
    }
    const char *input = session_input_of(s, i);
    json_key(&out, "inputs");
    json_print_strings(out.out, &input, 1);
    json_integer(&out, "exit_code", EXIT_DONE);
    json_boolean(&out, "skipped", true);
    session_json_close(&out);
}

void job_print_json(const job *j, int code, const char *outputs) {
    json out;
    if (!session_json_open(j->session, &out)) {
        return;
    }
    json_key(&out, "inputs");
    json_print_strings(out.out, j->count ? j->inputs : j->session->inputs,
                       j->count ? j->count : j->session->input_count);
    if (j->line > 0) {
        json_integer(&out, "line", j->line);
        json_text(&out, "source", j->inputs[0]);
        json_text(&out, "target", j->inputs[1]);
    }
    json_integer(&out, "exit_code", code);
    if (code != EXIT_DONE && code != EXIT_NOT_CONVERGED) {
        json_boolean(&out, "failed", true);
        json_text(&out, "error", j->error[0] ? j->error : NULL);
    } else {
        json_key(&out, "outputs");
        fprintf(out.out, "{%s}", outputs ? outputs : "");
        print_run(j, &out);
        print_parameters(j, &out);
        print_seconds(j, &out);
        json_key(&out, "result");
        fprintf(out.out, "{%s}", j->members.data ? j->members.data : "");
    }
    session_json_close(&out);
}

/* Of a source and a target, each its own. */
static void report_each(const job *j) {
    for (int i = 0; i < j->count; i++) {
        const pcgpu_cloud *cloud = &j->clouds[i];
        long long bad = 0;
        for (int64_t k = 0; k < cloud->rows; k++) {
            const float *p = cloud->data + k * cloud->columns;
            bad += !pc_is_finite3(p[0], p[1], p[2]);
        }
        if (bad > 0) {
            report_warning(j->names[i], "%lld of %lld points are not finite and were dropped", bad,
                           (long long)cloud->rows);
        }
    }
}

void job_report(const job *j) {
    const pcgpu_run *run = &j->run;
    if (run->non_finite > 0 && j->count == 2 && !j->projective) {
        report_each(j);
    } else if (run->non_finite > 0) {
        report_warning(j->names[0], "%lld of %lld points are not finite and were dropped", (long long)run->non_finite,
                       (long long)run->points_in);
    }
    if (run->on_carrier > 0) {
        report_warning(
            j->names[0],
            "%lld of %lld points are near the sensor in both scans and were dropped as returns of its carrier; "
            "give --set keep-carrier to keep them",
            (long long)run->on_carrier, (long long)run->points_in);
    }
    if (run->backend[0]) {
        report_detail(j->names[0], "%s (%s, %d %s): %s", run->backend, run->device, run->threads,
                      run->threads == 1 ? "thread" : "threads", run->reason);
    }
    report_detail(j->names[0], "read %.4f s", j->read_seconds);
    for (int i = 0; i < run->stages; i++) {
        report_detail(j->names[0], "%s %.4f s", run->stage[i].name, run->stage[i].seconds);
    }
    report_detail(j->names[0], "write %.4f s", j->write_seconds);
    if (j->points_out >= 0) {
        report_summary(j->names[0], "%lld points -> %lld %s in %.3f s%s%s%s", (long long)run->points_in,
                       (long long)j->points_out, j->unit ? j->unit : "points", seconds_now() - j->begin,
                       run->backend[0] ? " on " : "", run->backend,
                       run->at_origin ? " (records at the origin dropped)" : "");
    }
}
