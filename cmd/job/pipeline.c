/* Many inputs: threads that each take the next input, read it, process it, write its outputs, and take the next one.
 *
 * So reading, computing, compressing and writing of different inputs overlap, whichever of them takes the time, and no
 * more inputs are in memory than there are threads. A thread has a context of its own, on CUDA with a stream of its
 * own: copies of one input overlap with kernels of another one. Threads take the GPUs of --device in turns; the inputs
 * of a GPU that fails go to the next one. What a thread prints is kept until all inputs before have been printed, so
 * messages, standard output and --json are in the order of the inputs. */
#include "job.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

enum { MOST_WORKERS = 64, NAMED_FAILURES = 3, LEAST_MEMORY = 64 << 20 /* of a worker, where --set memory is given */ };

/* What a job printed; to be printed once the jobs before have been. */
enum { MESSAGES, OUT, LINES, JSON, TEXTS };
typedef struct printed {
    text_stream texts[TEXTS];
    bool skipped;
    int code;
} printed;

typedef struct pipeline {
    session *session;
    int jobs, workers, threads;
    int gpus;              /* 1: of one device, whichever it is */
    pthread_mutex_t mutex; /* guards what follows */
    int next, printed;
    int started;          /* workers */
    bool lost[MOST_GPUS]; /* by the place of a GPU in --device */
    bool ending;          /* a job has ended the run: no other begins */
    printed **kept;       /* by jobs; NULL: not done, or printed */
    int worst;            /* of those that have been printed, as what follows */
    int done, skipped, not_converged, failures;
    const char *failed[NAMED_FAILURES];
} pipeline;

/* The more serious of two exit codes. A failure outranks a registration that did not converge. */
static int exit_code_worse(int a, int b) {
    static const int ranks[] = {
        [EXIT_DONE] = 0, [EXIT_NOT_CONVERGED] = 1, [EXIT_FAILED] = 2, [EXIT_NO_CUDA] = 3, [EXIT_USAGE] = 4};
    return ranks[a] > ranks[b] ? a : b;
}

static bool ends_run(int code) {
    return code == EXIT_USAGE || code == EXIT_NO_CUDA;
}

static bool has_failed(int code) {
    return code != EXIT_DONE && code != EXIT_NOT_CONVERGED;
}

/* ---- in the order of the inputs ---------------------------------------------------------------------------------- */

/* A reader may wait for it; errors are reported at the end. */
static void copy_text(const text_stream *from, FILE *to) {
    if (to && from->size > 0) {
        fwrite(from->data, 1, from->size, to);
        fflush(to);
    }
}

static void free_texts(printed *k) {
    for (int i = 0; i < TEXTS; i++) {
        text_free(&k->texts[i]);
    }
}

static void free_printed(pipeline *p, int i) {
    if (p->kept[i]) {
        free_texts(p->kept[i]);
        free(p->kept[i]);
        p->kept[i] = NULL;
    }
}

/* Prints what has its turn. A job that ends the run is the last one, however many others are done. With the mutex. */
static void print_kept(pipeline *p) {
    for (; p->printed < p->jobs && p->kept[p->printed] && !ends_run(p->worst); p->printed++) {
        printed *k = p->kept[p->printed];
        report_captured(k->texts[MESSAGES].data, session_input_of(p->session, p->printed));
        copy_text(&k->texts[OUT], stdout);
        copy_text(&k->texts[LINES], p->session->lines);
        copy_text(&k->texts[JSON], p->session->json.stream);
        p->worst = exit_code_worse(p->worst, k->code);
        p->not_converged += k->code == EXIT_NOT_CONVERGED;
        p->skipped += k->skipped;
        p->done += !k->skipped && !has_failed(k->code);
        if (has_failed(k->code) && p->failures++ < NAMED_FAILURES) {
            p->failed[p->failures - 1] = session_input_of(p->session, p->printed);
        }
        free_printed(p, p->printed);
    }
}

/* "200 inputs: 199 done, 0 skipped, 1 failed (000057.bin), 5.9 s" */
static void report_end_of_run(const pipeline *p, double seconds) {
    char names[512] = "", open[64] = "";
    size_t n = 0;
    for (int i = 0; i < p->failures && i < NAMED_FAILURES; i++) {
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%.150s", i ? ", " : " (", p->failed[i]);
    }
    if (p->failures > 0) {
        snprintf(names + n, sizeof names - n, p->failures > NAMED_FAILURES ? ", ...)" : ")");
    }
    if (p->not_converged > 0) {
        snprintf(open, sizeof open, ", of which %d did not converge", p->not_converged);
    }
    report_result(NULL, "%d %s: %d done%s, %d skipped, %d failed%s, %.1f s", p->jobs,
                  p->session->options->pairs ? "pairs" : "inputs", p->done, open, p->skipped, p->failures, names,
                  seconds);
}

/* ---- workers ----------------------------------------------------------------------------------------------------- */

/* The next job of the run, or -1. */
static int take_job(pipeline *p) {
    pthread_mutex_lock(&p->mutex);
    const int i = p->next < p->jobs && !p->ending ? p->next++ : -1;
    pthread_mutex_unlock(&p->mutex);
    return i;
}

static int run_or_skip(session *s, int i, bool skipped) {
    if (!skipped) {
        return job_run(s, i);
    }
    session_print_skipped(s, i);
    if (s->options->pairs) {
        job j = {.session = s, .line = s->pairs.lines[i]};
        session_pair_before(s, i, j.transform);
        s->command->after_job(&j, EXIT_DONE);
    }
    return EXIT_DONE;
}

/* The GPU fails, and no other job should use it. */
static void lose_gpu(pipeline *p, int gpu, const session *own) {
    pthread_mutex_lock(&p->mutex);
    const bool first = !p->lost[gpu];
    p->lost[gpu] = true;
    pthread_mutex_unlock(&p->mutex);
    if (first) {
        report_warning(NULL, "the other GPUs take the inputs of GPU %d, which fails: %s",
                       own->options->device.gpus[gpu], pcgpu_last_error(own->context));
    }
}

static bool is_lost(pipeline *p, int gpu) {
    pthread_mutex_lock(&p->mutex);
    const bool lost = p->lost[gpu];
    pthread_mutex_unlock(&p->mutex);
    return lost;
}

/* Opens the worker's context on GPU *gpu or the next one that works, after `tried` of them. */
static bool open_context(pipeline *p, session *own, int *gpu, int tried) {
    pcgpu_settings settings;
    session_settings(own, &settings);
    settings.threads = p->threads > p->workers ? p->threads / p->workers : 1;
    settings.calls = p->jobs;
    settings.contexts = p->workers;
    for (; tried < p->gpus; tried++, *gpu = (*gpu + 1) % p->gpus) {
        if (is_lost(p, *gpu)) {
            continue;
        }
        pcgpu_close(own->context);
        own->context = NULL;
        settings.cuda_index = own->options->device.gpus[*gpu];
        if (pcgpu_open(&settings, &own->context) == PCGPU_OK) {
            return true;
        }
        if (p->gpus > 1) {
            lose_gpu(p, *gpu, own);
        }
    }
    return false;
}

/* After a job that failed: whether the worker has a context on another GPU now, for one more try. */
static bool move_to_next_gpu(pipeline *p, session *own, int *gpu, int *tried) {
    if (p->gpus == 1 || !own->device_failed) {
        return false;
    }
    if (own->device_lost) {
        lose_gpu(p, *gpu, own);
    }
    *gpu = (*gpu + 1) % p->gpus;
    return ++*tried < p->gpus && open_context(p, own, gpu, *tried);
}

static int run_captured(pipeline *p, session *own, int i, bool skipped, printed *k) {
    for (int t = 0; t < TEXTS; t++) {
        if ((t != LINES || p->session->lines) && (t != JSON || p->session->json.stream)) {
            text_open(&k->texts[t]);
        }
    }
    report_capture(k->texts[MESSAGES].stream);
    own->out = k->texts[OUT].stream;
    own->lines = k->texts[LINES].stream;
    own->json.stream = k->texts[JSON].stream;
    own->device_failed = own->device_lost = false;
    const int code = run_or_skip(own, i, skipped);
    report_capture(NULL);
    for (int t = 0; t < TEXTS; t++) {
        text_close(&k->texts[t]);
    }
    return code;
}

static void run_job(pipeline *p, session *own, int i, int *gpu) {
    printed *k = heap_zeroed(1, sizeof *k);
    int tried = 0;
    k->skipped = session_skips(own, i);
    k->code = run_captured(p, own, i, k->skipped, k);
    while (k->code == EXIT_FAILED && move_to_next_gpu(p, own, gpu, &tried)) {
        free_texts(k);
        k->code = run_captured(p, own, i, k->skipped, k);
    }
    pthread_mutex_lock(&p->mutex);
    p->kept[i] = k;
    p->ending = p->ending || ends_run(k->code);
    progress_run_add(session_input_of(p->session, i), k->skipped            ? PROGRESS_SKIPPED
                                                      : has_failed(k->code) ? PROGRESS_FAILED
                                                                            : PROGRESS_DONE);
    print_kept(p);
    pthread_mutex_unlock(&p->mutex);
}

/* A thread has a context of its own; without memory for it, the other threads do its jobs. */
static void *run_worker(void *state) {
    pipeline *p = state;
    session own = *p->session;
    own.context = NULL;
    pthread_mutex_lock(&p->mutex);
    int gpu = p->started++ % p->gpus;
    pthread_mutex_unlock(&p->mutex);
    const bool good = open_context(p, &own, &gpu, 0);
    for (int i; good && (i = take_job(p)) >= 0;) {
        run_job(p, &own, i, &gpu);
    }
    pcgpu_close(own.context);
    return NULL;
}

/* The main thread is a worker, too; only it handles signals, but for SIGPIPE, which comes to the thread that prints. */
static void run_workers(pipeline *p) {
    pthread_t threads[MOST_WORKERS];
    sigset_t all, before;
    int started = 0;
    sigfillset(&all);
    sigdelset(&all, SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started + 1 < p->workers && pthread_create(&threads[started], NULL, run_worker, p) == 0) {
        started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started + 1 < p->workers) {
        report_detail(NULL, "the system refuses more than %d of %d threads; going on with these", started + 1,
                      p->workers);
    }
    run_worker(p);
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
}

static int run_pipeline(session *s, int most) {
    pipeline p = {.session = s, .jobs = session_job_count(s), .threads = pcgpu_threads(s->context)};
    p.gpus = s->options->device.device == PCGPU_DEVICE_CUDA ? s->options->device.count : 1;
    p.workers = p.threads > p.gpus ? p.threads : p.gpus;
    p.workers = p.workers < most ? p.workers : most;
    p.workers = p.workers < p.jobs ? p.workers : p.jobs;
    if (s->options->memory / LEAST_MEMORY < p.workers && s->options->memory) {
        p.workers = (int)(s->options->memory / LEAST_MEMORY);
    }
    p.workers = p.workers > 1 ? p.workers : 1; /* without a job, too */
    s->at_once = p.workers;
    p.kept = heap_zeroed((size_t)p.jobs, sizeof *p.kept);
    pthread_mutex_init(&p.mutex, NULL);
    progress_run_begin(p.jobs);
    run_workers(&p);
    const double seconds = progress_run_end();
    if (p.next < p.jobs && !p.ending) {
        report_error(NULL, "out of memory");
        p.worst = EXIT_FAILED;
    }
    report_end_of_run(&p, seconds);
    pthread_mutex_destroy(&p.mutex);
    for (int i = p.printed; i < p.jobs; i++) {
        free_printed(&p, i);
    }
    free(p.kept);
    return p.worst;
}

static int run_in_turn(session *s) {
    int worst = EXIT_DONE;
    for (int i = 0; i < session_job_count(s) && !ends_run(worst); i++) {
        worst = exit_code_worse(worst, run_or_skip(s, i, session_skips(s, i)));
    }
    return worst;
}

/* Pipes are read and written one after the other. */
int session_run_each(session *s) {
    const int most = session_jobs_at_once(s, MOST_WORKERS);
    return most == 1 || session_job_count(s) == 1 ? run_in_turn(s) : run_pipeline(s, most);
}
