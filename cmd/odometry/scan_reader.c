/* Reads the scans of a sequence ahead of their registration. */
#include "colors.h"
#include "labels.h"
#include "scan_reader.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 2 };

struct scan_reader {
    const session *session;
    const double *poses;
    bool images;
    int next; /* input to read */
    pcgpu_context *context;
    scan_read slots[AHEAD];
    int begin, count; /* of the filled slots */
    bool done, stop;
    FILE *log;     /* of the scan that is being read */
    bool threaded; /* false: the system refuses a thread, and scan_reader_next reads */
    pthread_t thread;
    pthread_mutex_t lock; /* guards begin, count, done and stop */
    pthread_cond_t change;
};

/* Stores the messages for the thread that reports them in the order of the scans. */
static void keep_log(void *user, pcgpu_log_level level, const char *message) {
    scan_reader *r = user;
    if (r->log) {
        fprintf(r->log, "%c%s\n", level == PCGPU_LOG_WARNING ? 'w' : 'i', message);
    }
}

static void read_scan(scan_reader *r, int index, scan_read *scan) {
    const char *path = r->session->inputs[index];
    pcgpu_read_options how = session_read_options(r->session);
    how.depth_counts = &scan->depth;
    double begin = seconds_now();
    text_stream log;
    *scan = (scan_read){.index = index, .time = NAN};
    FILE *stream = input_try_timed(path, &scan->time, &scan->error);
    if (!stream) {
        return;
    }
    text_open(&log);
    r->log = log.stream;
    scan->good = (r->images ? pcgpu_read_depth_for(r->context, stream, path, &how, &scan->image)
                            : pcgpu_read(r->context, stream, path, &how, &scan->cloud)) == PCGPU_OK;
    if (!scan->good) {
        refuse(&scan->error, "%s", pcgpu_last_error(r->context));
    } else {
        scan->good = r->images ? colors_read(r->session, r->context, index, &scan->image, &scan->error)
                               : labels_add(r->session, path, &scan->cloud, &scan->error);
    }
    if (!scan->good) {
        pcgpu_cloud_free(&scan->cloud);
    }
    fclose(stream);
    text_close(&log);
    scan->log = log.data;
    scan->seconds = seconds_now() - begin;
}

/* The next input to read, or -1. */
static int take_input(scan_reader *r) {
    while (r->next < r->session->input_count && r->poses && isnan(r->poses[16 * (int64_t)r->next])) {
        r->next++;
    }
    return r->next < r->session->input_count ? r->next++ : -1;
}

static void *read_all(void *user) {
    scan_reader *r = user;
    for (int i; (i = take_input(r)) >= 0;) {
        pthread_mutex_lock(&r->lock);
        while (r->count == AHEAD && !r->stop) {
            pthread_cond_wait(&r->change, &r->lock);
        }
        const bool stop = r->stop;
        scan_read *slot = &r->slots[(r->begin + r->count) % AHEAD];
        pthread_mutex_unlock(&r->lock);
        if (stop) {
            break;
        }
        read_scan(r, i, slot);
        pthread_mutex_lock(&r->lock);
        r->count++;
        pthread_cond_signal(&r->change);
        pthread_mutex_unlock(&r->lock);
    }
    pthread_mutex_lock(&r->lock);
    r->done = true;
    pthread_cond_signal(&r->change);
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

scan_reader *scan_reader_open(const session *s, const double *poses, bool images) {
    scan_reader *r = heap_zeroed(1, sizeof *r);
    *r = (scan_reader){.session = s, .poses = poses, .images = images};
    const pcgpu_settings settings = {.struct_size = sizeof settings,
                                     .device = PCGPU_DEVICE_CPU,
                                     .threads = 1,
                                     .names = PCGPU_NAMES_OPTIONS,
                                     .log = keep_log,
                                     .log_user = r};
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->change, NULL);
    heap_or_end(pcgpu_open(&settings, &r->context) == PCGPU_OK ? r->context : NULL); /* it has no other error */
    /* Only the main thread handles signals. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r->threaded = pthread_create(&r->thread, NULL, read_all, r) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

static void read_now(scan_reader *r) {
    const int i = take_input(r);
    r->done = i < 0;
    r->count = !r->done;
    if (!r->done) {
        read_scan(r, i, &r->slots[r->begin]);
    }
}

bool scan_reader_next(scan_reader *r, scan_read *scan) {
    if (!r->threaded) {
        read_now(r);
    }
    pthread_mutex_lock(&r->lock);
    while (r->count == 0 && !r->done) {
        pthread_cond_wait(&r->change, &r->lock);
    }
    const bool some = r->count > 0;
    if (some) {
        *scan = r->slots[r->begin];
        r->begin = (r->begin + 1) % AHEAD;
        r->count--;
        pthread_cond_signal(&r->change);
    }
    pthread_mutex_unlock(&r->lock);
    return some;
}

void scan_read_log(scan_read *scan, const char *name) {
    char *rest = NULL;
    for (char *line = scan->log ? strtok_r(scan->log, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest)) {
        report_log(&name, line[0] == 'w' ? PCGPU_LOG_WARNING : PCGPU_LOG_INFO, line + 1);
    }
    free(scan->log);
    scan->log = NULL;
}

void scan_reader_close(scan_reader *r) {
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->change);
    pthread_mutex_unlock(&r->lock);
    if (r->threaded) {
        pthread_join(r->thread, NULL);
    }
    for (; r->count > 0; r->count--, r->begin = (r->begin + 1) % AHEAD) {
        pcgpu_cloud_free(&r->slots[r->begin].cloud);
        pcgpu_depth_free(&r->slots[r->begin].image);
        free(r->slots[r->begin].log);
    }
    pcgpu_close(r->context);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->change);
    free(r);
}
