/* pcgpu sample --batch: the samples of all inputs as one array, for a training step. The inputs are read and sampled in
 * groups, which CUDA, and the threads of the CPU, sample at the same time; only the picks of a group stay in memory. */
#include "sample_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 64 };

typedef struct batch {
    int columns;
    pcgpu_sample_params params;
    int64_t m; /* picks of each input */
    float *points, *distances;
    int32_t *indices, *counts; /* counts: without the padding */
} batch;

/* Allocates the arrays, when the columns are known. */
static int allocate(batch *b, const job *first) {
    b->m = sample_own(first->session->options)->params.count;
    b->columns = first->clouds[0].columns;
    const size_t n = (size_t)first->session->input_count, m = (size_t)b->m;
    const size_t row = (size_t)b->columns * sizeof *b->points;
    const bool fits = m <= SIZE_MAX / row / n;
    b->points = fits ? malloc(n * m * row) : NULL;
    b->indices = fits ? malloc(n * m * sizeof *b->indices) : NULL;
    b->distances = fits ? malloc(n * m * sizeof *b->distances) : NULL;
    b->counts = malloc(n * sizeof *b->counts);
    if (!b->points || !b->indices || !b->distances || !b->counts) {
        return report_error(first->names[0],
                            "out of memory; the batch needs %.3g GB: give fewer inputs or a smaller --count",
                            (double)n * (double)m * (double)row / 1e9);
    }
    return EXIT_DONE;
}

/* Takes the picks of input i into the arrays. */
static int take(batch *b, job *j, int i, pcgpu_sampled *sampled) {
    const bool pads = sample_own(j->session->options)->pad != PAD_NONE;
    const int64_t picked = sampled->count;
    job_switch(j);
    if (picked == 0 && !pads) {
        return report_error(j->names[0], "0 usable points among %lld records; leave the input out, or give --pad zero",
                            (long long)sampled->run.points_in);
    }
    if (picked < b->m && !pads) {
        return report_error(j->names[0],
                            "%lld picks, and the batch has %lld of each input; give a smaller --count, or --pad",
                            (long long)picked, (long long)b->m);
    }
    PC_TRY(sample_finish(j, sampled));
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
    pcgpu_cloud_free(&j->clouds[0]);
    return EXIT_DONE;
}

/* The error of a group is that of one input: finds it, alone. */
static int find_failed(job *jobs, int count, const pcgpu_sample_params *params) {
    for (int i = 0; i < count; i++) {
        pcgpu_sampled sampled;
        job_switch(&jobs[i]);
        PC_TRY(job_code(&jobs[i], pcgpu_sample(jobs->session->context, &jobs[i].clouds[0], params, &sampled)));
        pcgpu_sampled_free(&sampled);
    }
    return report_error(NULL, "a group of %d inputs cannot be sampled at the same time; give fewer inputs", count);
}

/* Samples the inputs from `first` on. */
static int sample_group(batch *b, job *jobs, int first, int count) {
    const session *s = jobs->session;
    pcgpu_sample_params params = b->params;
    pcgpu_sampled *sampled = heap_zeroed((size_t)count, sizeof *sampled);
    const pcgpu_cloud *clouds[GROUP];
    jobs += first;
    for (int i = 0; i < count; i++) {
        clouds[i] = &jobs[i].clouds[0];
    }
    params.at_most = true; /* fewer are an error that names the input */
    progress_begin(jobs->names[0], "sampling");
    int code = pcgpu_sample_batch(s->context, clouds, count, &params, sampled) == PCGPU_OK
                   ? EXIT_DONE
                   : find_failed(jobs, count, &params);
    for (int i = 0; i < count; i++) {
        code = code == EXIT_DONE ? take(b, &jobs[i], first + i, &sampled[i]) : code;
        pcgpu_sampled_free(&sampled[i]);
    }
    free(sampled);
    return code;
}

/* A group is sampled when its last input is there. */
static int add(void *sink, job *jobs, int i) {
    batch *b = sink;
    job *j = &jobs[i];
    PC_TRY(sample_prepare(j));
    PC_TRY(i == 0 ? allocate(b, j) : EXIT_DONE);
    if (j->clouds[0].columns != b->columns) {
        return report_error(j->names[0], "%d columns, and %s has %d; those of a batch must be the same",
                            j->clouds[0].columns, jobs->names[0], b->columns);
    }
    pcgpu_sample_params params = sample_parameters(j->session);
    PC_TRY(sample_find_columns(j, &params));
    b->params = i == 0 ? params : b->params;
    if (memcmp(b->params.columns, params.columns, sizeof params.columns) != 0) {
        return report_error(j->names[0], "the columns of --columns are not where %s has them; write them in one order",
                            jobs->names[0]);
    }
    const int in_group = i % GROUP + 1;
    const bool last = in_group == GROUP || i + 1 == j->session->input_count;
    return last ? sample_group(b, jobs, i + 1 - in_group, in_group) : EXIT_DONE;
}

static int write_arrays(void *sink, job *first) {
    const batch *b = sink;
    const int64_t n = first->session->input_count;
    const pcgpu_array arrays[] = {
        {.name = "points", .type = PCGPU_FLOAT32, .dimensions = 3, .shape = {n, b->m, b->columns}, .data = b->points},
        {.name = "indices", .type = PCGPU_INT32, .dimensions = 2, .shape = {n, b->m}, .data = b->indices},
        {.name = "num_points", .type = PCGPU_INT32, .dimensions = 1, .shape = {n}, .data = b->counts},
        {.name = "distances", .type = PCGPU_FLOAT32, .dimensions = 2, .shape = {n, b->m}, .data = b->distances}};
    progress_begin(first->names[0], "writing");
    PC_TRY(job_write_array(first, "indices", &arrays[1]));
    PC_TRY(job_write_array(first, "distances", &arrays[3]));
    if (!first->format) { /* no --output */
        return EXIT_DONE;
    }
    const char *format = first->format->name;
    return job_write_arrays(first, "output", format, arrays, strcmp(format, "npz") == 0 ? 3 : 1);
}

static void free_batch(void *sink) {
    batch *b = sink;
    free(b->points);
    free(b->distances);
    free(b->indices);
    free(b->counts);
}

const job_sink sample_sink = {sizeof(batch), add, write_arrays, free_batch};
