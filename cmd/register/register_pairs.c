/* pcgpu register --pairs: registers the pairs of a list, several per call of the library, and prints one line per
 * pair. */
#include "register.h"
#include "transform.h"

#include <stdlib.h>
#include <string.h>

/* Limits of the pairs in one call, since their clouds and open outputs are in memory together. CUDA runs the pairs
 * concurrently; the CPU runs one per thread. */
enum { GROUP_PAIRS = 64, GROUP_BYTES = 512 << 20 };

typedef struct group {
    int count;
    job jobs[GROUP_PAIRS];
    int codes[GROUP_PAIRS];
    bool registered[GROUP_PAIRS]; /* by the common call, into `results` */
    pcgpu_registration results[GROUP_PAIRS];
    job kept; /* the clouds of the previous pair */
} group;

typedef struct list_run {
    session *session;
    const char *name; /* of the list, for messages */
    pcgpu_register_params params;
    output transforms; /* of --transform; stream NULL without it */
    bool prints;       /* also to standard output */
    group *group;
} list_run;

static void begin_pairs(list_run *run, int first, int most) {
    group *g = run->group;
    session *s = run->session;
    size_t bytes = 0;
    for (g->count = 0; g->count < most && first + g->count < s->pairs.count && bytes < GROUP_BYTES; g->count++) {
        const int i = g->count;
        report_place(run->name, s->pairs.lines[first + i]);
        g->codes[i] = job_begin_pair(&g->jobs[i], s, first + i, i > 0 ? &g->jobs[i - 1] : &g->kept);
        g->registered[i] = false;
        for (int k = 0; k < JOB_CLOUDS; k++) {
            const pcgpu_depth *image = &g->jobs[i].images[k];
            bytes += (size_t)g->jobs[i].clouds[k].rows * (size_t)g->jobs[i].clouds[k].columns * sizeof(float);
            bytes += (size_t)image->width * (size_t)image->height * sizeof *image->data;
        }
    }
    report_place(NULL, 0);
    job_free_clouds(&g->kept);
    g->kept = (job){0};
}

/* Whether a pair belongs to the common call. */
static bool joins(const group *g, int i) {
    return g->codes[i] == EXIT_DONE && !g->jobs[i].projective;
}

/* Registers all pairs that were read with one call. When it fails, finish_pair registers each pair alone and reports
 * its error. */
static void register_together(const list_run *run) {
    group *g = run->group;
    pcgpu_pair pairs[GROUP_PAIRS];
    int n = 0;
    for (int i = 0; i < g->count; i++) {
        if (joins(g, i)) {
            pairs[n++] = (pcgpu_pair){&g->jobs[i].clouds[0], &g->jobs[i].clouds[1]};
        }
    }
    if (n < 2) {
        return;
    }
    pcgpu_registration *results = malloc((size_t)n * sizeof *results);
    progress_begin(g->jobs[0].names[0], "registering it and the pairs after it");
    bool good = results && pcgpu_register_pairs(run->session->context, pairs, n, &run->params, results) == PCGPU_OK;
    for (int i = 0, k = 0; i < g->count && good; i++) {
        g->registered[i] = joins(g, i);
        if (g->registered[i]) {
            g->results[i] = results[k++];
        }
    }
    free(results);
}

static int register_alone(const list_run *run, job *j, pcgpu_registration *result) {
    progress_begin(j->names[0], "registering");
    pcgpu_status status = register_pair(j, &run->params, result);
    return status == PCGPU_OK ? EXIT_DONE : job_failed(j, status);
}

static void write_line(const list_run *run, const double *T) {
    const transform_format format = run->session->options->transform_format;
    if (run->transforms.stream) {
        transform_write_line(run->transforms.stream, T, format);
    }
    if (run->prints) {
        transform_write_line(stdout, T, format);
    }
    if (run->prints || run->transforms.stream == stdout) {
        fflush(stdout); /* a reader may wait for it; errors are reported at the end */
    }
}

static int finish_pair(const list_run *run, int i) {
    group *g = run->group;
    job *j = &g->jobs[i];
    const pcgpu_registration *r = &g->results[i];
    int code = g->codes[i];
    report_place(run->name, j->line);
    if (code == EXIT_DONE) {
        job_resume(j);
        code = g->registered[i] ? EXIT_DONE : register_alone(run, j, &g->results[i]);
    }
    if (code == EXIT_DONE) {
        code = register_output(j, r);
    }
    if (code == EXIT_DONE) {
        progress_end();
        register_summarize(j, r, 0);
        code = r->converged ? EXIT_DONE : EXIT_NOT_CONVERGED;
    }
    if (i + 1 == g->count) {
        job_keep(&g->kept, j);
    }
    code = job_end(j, code);
    write_line(run, code == EXIT_DONE ? r->T_target_source : NULL);
    report_place(NULL, 0);
    return code;
}

/* The exit code of a list: a failure outranks a pair that did not converge. */
static int worse(int a, int b) {
    static const int ranks[] = {
        [EXIT_DONE] = 0, [EXIT_NOT_CONVERGED] = 1, [EXIT_FAILED] = 2, [EXIT_NO_CUDA] = 3, [EXIT_USAGE] = 4};
    return ranks[a] > ranks[b] ? a : b;
}

static int run_list(list_run *run) {
    session *s = run->session;
    group *g = run->group;
    int worst = EXIT_DONE, most = session_jobs_at_once(s, GROUP_PAIRS);
    for (int first = 0; first < s->pairs.count && worst != EXIT_NO_CUDA; first += g->count) {
        begin_pairs(run, first, most);
        register_together(run);
        for (int i = 0; i < g->count; i++) {
            worst = worse(worst, finish_pair(run, i));
        }
    }
    job_free_clouds(&g->kept);
    return worst;
}

int register_pairs(session *s) {
    const option_values *o = s->options;
    list_run run = {.session = s, .name = input_name(o->pairs), .params = o->registration};
    int code = EXIT_FAILED;
    run.params.drop_origin = o->drop_origin;
    if (!register_read_init(s, run.params.init) ||
        (o->transform && !output_open(&run.transforms, o->transform, o->force, true))) {
        return EXIT_FAILED;
    }
    run.prints = run.transforms.stream != stdout && s->json.stream != stdout;
    run.group = calloc(1, sizeof *run.group);
    if (run.group) {
        code = run_list(&run);
    } else {
        report_error(run.name, "out of memory");
    }
    if (run.transforms.stream && !run.group) {
        output_discard(&run.transforms);
    } else if (run.transforms.stream && !output_commit(&run.transforms)) {
        code = EXIT_FAILED;
    }
    free(run.group);
    return code;
}
