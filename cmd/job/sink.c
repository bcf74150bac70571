/* Runs of a command: a job for each input, one job of all, or a sink, which all inputs go into. */
#include "job.h"

#include <stdlib.h>

/* Opens the job of an input of a batch; for a merge the one job reads the input. */
static int open_input(session *s, job *jobs, int i) {
    if (!s->options->batch) {
        return job_read_input(jobs, s->inputs[i]);
    }
    const int code = job_open(&jobs[i], s, &s->inputs[i], 1);
    json_integer(&jobs[i].result, "batch", i);
    return code;
}

static int fill(session *s, job *jobs, void *sink) {
    const bool batch = s->options->batch;
    int code = batch ? EXIT_DONE : job_open(jobs, s, s->inputs, 0);
    if (!batch) {
        progress_run_begin(s->input_count);
    }
    for (int i = 0; i < s->input_count && code == EXIT_DONE; i++) {
        code = open_input(s, jobs, i);
        code = code == EXIT_DONE ? s->command->sink->add(sink, jobs, i) : code;
        if (!batch) {
            progress_run_add(s->inputs[i], code == EXIT_DONE ? PROGRESS_DONE : PROGRESS_FAILED);
        }
    }
    if (!batch) {
        progress_run_end();
    }
    return code;
}

/* Closes the jobs that were opened, with one exit code. */
static int close_jobs(job *jobs, int count, int code) {
    for (int i = 0; i < count && jobs[i].session; i++) {
        job_switch(&jobs[i]);
        if (code != EXIT_DONE && jobs->session->options->batch && !jobs[i].error[0]) {
            snprintf(jobs[i].error, sizeof jobs[i].error, "another part of the batch failed");
        }
        code = job_close(&jobs[i], code);
    }
    return code;
}

static int run_sink(session *s) {
    const job_sink *kind = s->command->sink;
    const int count = s->options->batch ? s->input_count : 1;
    job *jobs = heap_zeroed((size_t)count, sizeof *jobs);
    void *sink = heap_zeroed(1, kind->size);
    int code = fill(s, jobs, sink);
    if (code == EXIT_DONE) {
        job_switch(jobs);
        code = kind->write(sink, jobs);
    }
    code = close_jobs(jobs, count, code);
    kind->free(sink);
    free(sink);
    free(jobs);
    return code;
}

int session_run(session *s) {
    const command_info *c = s->command;
    return c->sink && (session_joins(s) || c->inputs_per_job == 0) ? run_sink(s)
           : c->inputs_per_job > 0                                 ? session_run_each(s)
                                                                   : job_run_all(s, c->process);
}
