/* pcgpu sample --batch: the samples of all inputs as one array, for a training step. The inputs are read and sampled in
 * groups, which CUDA, and the threads of the CPU, sample at the same time; only the picks of a group stay in memory. */
#include "sample_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 };

typedef struct batch {
    session *session;
    job *jobs;
    int begun, columns;
    int64_t m; /* picks of each input */
    float *points, *distances;
    int32_t *indices, *counts; /* counts: without the padding */
} batch;

/* Allocates the arrays, when the columns are known. */
static int allocate(batch *b, const job *first) {
    const size_t n = (size_t)b->session->input_count, m = (size_t)b->m;
    const size_t row = (size_t)first->clouds[0].columns * sizeof *b->points;
    b->columns = first->clouds[0].columns;
    const bool fits = m <= SIZE_MAX / row / n;
    b->points = fits ? malloc(n * m * row) : NULL;
    b->indices = fits ? malloc(n * m * sizeof *b->indices) : NULL;
    b->distances = fits ? malloc(n * m * sizeof *b->distances) : NULL;
    b->counts = malloc(n * sizeof *b->counts);
    if (!b->points || !b->indices || !b->distances || !b->counts) {
        report_error(first->names[0], "out of memory; the batch needs %.3g GB: give fewer inputs or a smaller --count",
                     (double)n * (double)m * (double)row / 1e9);
        return EXIT_FAILED;
    }
    return EXIT_DONE;
}

/* Reads one input. */
static int begin(batch *b, int i) {
    job *j = &b->jobs[i];
    int code = job_open(j, b->session, &b->session->inputs[i], 1);
    b->begun++;
    code = code == EXIT_DONE ? sample_prepare(j) : code;
    if (code == EXIT_DONE) {
        json_integer(&j->result, "batch", i);
    }
    if (code == EXIT_DONE && !b->points) {
        code = allocate(b, j);
    }
    if (code == EXIT_DONE && j->clouds[0].columns != b->columns) {
        report_error(j->names[0], "%d columns, and %s has %d; those of a batch must be the same", j->clouds[0].columns,
                     b->jobs[0].names[0], b->columns);
        code = EXIT_FAILED;
    }
    return code;
}

/* Takes the picks of one input into the arrays. */
static int take(batch *b, int i, pcgpu_sampled *sampled) {
    job *j = &b->jobs[i];
    const int64_t picked = sampled->count;
    job_switch(j);
    if (picked == 0 && sample_own(b->session->options)->pad == PAD_NONE) {
        report_error(j->names[0], "0 usable points among %lld records; leave the input out, or give --pad zero",
                     (long long)sampled->run.points_in);
        return EXIT_FAILED;
    }
    if (picked < b->m && sample_own(b->session->options)->pad == PAD_NONE) {
        report_error(j->names[0], "%lld picks, and the batch has %lld of each input; give a smaller --count, or --pad",
                     (long long)picked, (long long)b->m);
        return EXIT_FAILED;
    }
    const int code = sample_finish(j, sampled);
    if (code == EXIT_DONE) {
        const size_t at = (size_t)i * (size_t)b->m, m = (size_t)b->m;
        const double largest = sample_rows(&j->clouds[0], sampled->indices, b->m, b->points + at * (size_t)b->columns);
        if (largest > 0) {
            report_warning(j->names[0], "coordinates are rounded to float32 in the array, by up to %.3g m", largest);
        }
        memcpy(b->indices + at, sampled->indices, m * sizeof *b->indices);
        if (sampled->distances) {
            memcpy(b->distances + at, sampled->distances, m * sizeof *b->distances);
        }
        b->counts[i] = (int32_t)picked;
    }
    pcgpu_cloud_free(&j->clouds[0]);
    return code;
}

/* The error of a group is that of one input: finds it, alone. */
static int find_failed(batch *b, int first, int count, const pcgpu_sample_params *params) {
    for (int i = first; i < first + count; i++) {
        job *j = &b->jobs[i];
        pcgpu_sampled sampled;
        job_switch(j);
        const pcgpu_status status = pcgpu_sample(b->session->context, &j->clouds[0], params, &sampled);
        if (status != PCGPU_OK) {
            return job_failed(j, status);
        }
        pcgpu_sampled_free(&sampled);
    }
    report_error(NULL, "a group of %d inputs cannot be sampled at the same time; give fewer inputs", count);
    return EXIT_FAILED;
}

/* Reads and samples the inputs from `first` on. */
static int run_group(batch *b, int first, int count) {
    pcgpu_sample_params params = sample_parameters(b->session);
    pcgpu_sampled *sampled = calloc((size_t)count, sizeof *sampled);
    const pcgpu_cloud *clouds[GROUP];
    int code = sampled ? EXIT_DONE : EXIT_FAILED, done = 0;
    if (!sampled) {
        report_error(NULL, "out of memory");
    }
    params.at_most = true; /* fewer are an error that names the input */
    for (int i = 0; i < count && code == EXIT_DONE; i++) {
        code = begin(b, first + i);
        clouds[i] = &b->jobs[first + i].clouds[0];
    }
    if (code == EXIT_DONE) {
        progress_begin(b->jobs[first].names[0], "sampling");
        code = pcgpu_sample_batch(b->session->context, clouds, count, &params, sampled) == PCGPU_OK
                   ? EXIT_DONE
                   : find_failed(b, first, count, &params);
    }
    for (; done < count && code == EXIT_DONE; done++) {
        code = take(b, first + done, &sampled[done]);
    }
    for (int i = 0; i < count && sampled; i++) {
        pcgpu_sampled_free(&sampled[i]);
    }
    free(sampled);
    return code;
}

static int write_arrays(batch *b) {
    job *first = &b->jobs[0];
    const int64_t n = b->session->input_count;
    const pcgpu_array arrays[] = {
        {.name = "points", .type = PCGPU_FLOAT32, .dimensions = 3, .shape = {n, b->m, b->columns}, .data = b->points},
        {.name = "indices", .type = PCGPU_INT32, .dimensions = 2, .shape = {n, b->m}, .data = b->indices},
        {.name = "num_points", .type = PCGPU_INT32, .dimensions = 1, .shape = {n}, .data = b->counts},
        {.name = "distances", .type = PCGPU_FLOAT32, .dimensions = 2, .shape = {n, b->m}, .data = b->distances}};
    job_switch(first);
    progress_begin(first->names[0], "writing");
    int code = job_write_array(first, "indices", &arrays[1]);
    code = code == EXIT_DONE ? job_write_array(first, "distances", &arrays[3]) : code;
    if (code == EXIT_DONE && job_stream(first, "output")) {
        const char *format = first->format->name;
        code = job_write_arrays(first, "output", format, arrays, strcmp(format, "npz") == 0 ? 3 : 1);
    }
    return code;
}

int sample_batch(session *s) {
    batch b = {.session = s,
               .m = sample_own(s->options)->params.count,
               .jobs = calloc((size_t)s->input_count, sizeof *b.jobs)};
    int code = EXIT_DONE;
    if (!b.jobs) {
        report_error(NULL, "out of memory");
        return EXIT_FAILED;
    }
    for (int i = 0; i < s->input_count && code == EXIT_DONE; i += GROUP) {
        code = run_group(&b, i, s->input_count - i < GROUP ? s->input_count - i : GROUP);
    }
    code = code == EXIT_DONE ? write_arrays(&b) : code;
    code = jobs_close(b.jobs, b.begun, code);
    free(b.jobs);
    free(b.points);
    free(b.distances);
    free(b.indices);
    free(b.counts);
    return code;
}
