/* Messages and the progress line. */
#include "report.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool verbose, quiet, terminal, can_erase;

static struct {
    pthread_mutex_t lock; /* guards stderr and the members below */
    pthread_cond_t change;
    pthread_t thread;
    bool running, stop, drawn;
    const char *name, *what;
    double begin;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void report_setup(bool be_verbose, bool be_quiet) {
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");
    verbose = be_verbose;
    quiet = be_quiet;
    terminal = isatty(STDERR_FILENO);
    can_erase = terminal && term && *term && strcmp(term, "dumb") != 0 && !(no_color && *no_color);
}

/* Called with the lock held. */
static void erase(void) {
    if (progress.drawn) {
        fputs("\r\033[K", stderr);
        progress.drawn = false;
    }
}

static char place[512]; /* "list.txt:3: ", or "" */

void report_place(const char *list, int64_t line) {
    place[0] = '\0';
    if (list) {
        snprintf(place, sizeof place, "%.400s:%lld: ", list, (long long)line);
    }
}

static char last_error[1024];

const char *report_last_error(void) {
    return last_error[0] ? last_error : NULL;
}

void report_forget_error(void) {
    last_error[0] = '\0';
}

static bool is_shown(report_kind kind) {
    return kind == REPORT_ERROR ||
           (kind == REPORT_DETAIL ? verbose : !quiet && (kind != REPORT_SUMMARY || verbose || terminal));
}

/* Control sequences for the terminal are escaped. */
void report(report_kind kind, const char *name, const char *format, ...) {
    static char text[8192];
    va_list args;
    if (!is_shown(kind)) {
        return;
    }
    pthread_mutex_lock(&progress.lock);
    erase();
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (kind == REPORT_ERROR) {
        snprintf(last_error, sizeof last_error, "%.*s", (int)sizeof last_error - 1, text);
    }
    fputs("pcgpu: ", stderr);
    print_shown(stderr, place);
    print_shown(stderr, name ? name : "");
    fprintf(stderr, "%s%s", name ? ": " : "", kind == REPORT_WARNING ? "warning: " : "");
    print_shown(stderr, text);
    fputc('\n', stderr);
    fflush(stderr);
    pthread_mutex_unlock(&progress.lock);
}

void report_signal(const char *begin, const char *end) {
    const char *const parts[] = {progress.drawn ? "\r\033[K" : "", "pcgpu: ", begin, end ? end : "", "\n"};
    char line[8192];
    size_t n = 0;
    progress.drawn = false;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const size_t length = strlen(parts[i]), fits = sizeof line - n;
        memcpy(line + n, parts[i], length < fits ? length : fits);
        n += length < fits ? length : fits;
    }
    if (write(STDERR_FILENO, line, n) < 0) {
        return; /* standard error is closed */
    }
}

const char *sentence_without_name(const char *sentence, const char *name) {
    const size_t length = name ? strlen(name) : 0;
    const bool named = name && strncmp(sentence, name, length) == 0 && strncmp(sentence + length, ": ", 2) == 0;
    return named ? sentence + length + 2 : sentence;
}

void report_failure(const char *name, const pcgpu_context *context) {
    const char *sentence = pcgpu_last_error(context);
    const bool named = sentence_without_name(sentence, name) != sentence;
    report_error(named ? NULL : name, "%s", sentence);
}

void report_log(void *user, pcgpu_log_level level, const char *message) {
    const char *name = *(const char **)user;
    report(level == PCGPU_LOG_WARNING ? REPORT_WARNING : REPORT_DETAIL, name, "%s",
           sentence_without_name(message, name));
}

static void *draw(void *unused) {
    (void)unused;
    pthread_mutex_lock(&progress.lock);
    while (!progress.stop) {
        struct timespec wake;
        clock_gettime(CLOCK_REALTIME, &wake);
        wake.tv_nsec += 500000000;
        wake.tv_sec += wake.tv_nsec / 1000000000;
        wake.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&progress.change, &progress.lock, &wake);
        double seconds = seconds_now() - progress.begin;
        if (!progress.stop && seconds > 0.5) {
            fputs("\r\033[Kpcgpu: ", stderr);
            print_shown(stderr, progress.name);
            fprintf(stderr, ": %s, %.0f s", progress.what, seconds);
            fflush(stderr);
            progress.drawn = true;
        }
    }
    erase();
    fflush(stderr);
    pthread_mutex_unlock(&progress.lock);
    return NULL;
}

void progress_begin(const char *name, const char *what) {
    pthread_mutex_lock(&progress.lock);
    progress.name = name;
    progress.what = what;
    bool start = can_erase && !quiet && !progress.running;
    pthread_mutex_unlock(&progress.lock);
    if (!start) {
        return;
    }
    progress.stop = false;
    progress.begin = seconds_now();
    pthread_cond_init(&progress.change, NULL);
    /* Only the other threads handle signals. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    progress.running = pthread_create(&progress.thread, NULL, draw, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void progress_end(void) {
    if (!progress.running) {
        return;
    }
    pthread_mutex_lock(&progress.lock);
    progress.stop = true;
    pthread_cond_signal(&progress.change);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.change);
    progress.running = false;
}
