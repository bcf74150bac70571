/* Messages and the progress line. */
#define _GNU_SOURCE /* strchrnul, memmem */
#include "report.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WARNING "warning: "

static bool verbose, quiet, terminal, can_erase, many;

static struct {
    pthread_mutex_t lock; /* guards stderr and the members below */
    pthread_cond_t change;
    pthread_t thread;
    bool running, stop, drawn;
    const char *name, *what;
    int total;                       /* inputs of the run, 0: one that has a name */
    int number[PROGRESS_FAILED + 1]; /* of inputs, by outcome */
    int64_t bytes;                   /* of the inputs that are done */
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

static progress_mode mode;

void report_progress(progress_mode chosen) {
    mode = chosen;
}

/* Called with the lock held. */
static void erase(void) {
    if (progress.drawn) {
        fputs("\r\033[K", stderr);
        progress.drawn = false;
    }
}

static _Thread_local char place[512]; /* "list.txt:3: ", or "" */

void report_place(const char *list, int64_t line) {
    place[0] = '\0';
    if (list) {
        snprintf(place, sizeof place, "%.400s:%lld: ", list, (long long)line);
    }
}

static _Thread_local char *last_error;

void report_keep_error(char *error) {
    last_error = error;
}

static _Thread_local FILE *captured; /* messages of this thread go there; NULL: standard error */

void report_capture(FILE *stream) {
    captured = stream;
}

static bool is_shown(report_kind kind) {
    return kind == REPORT_ERROR ||
           (kind == REPORT_DETAIL ? verbose : !quiet && (kind != REPORT_SUMMARY || verbose || (terminal && !many)));
}

/* Warnings, and errors of many inputs, by their texts, in which digits and the name of the input do not matter: of a
 * thousand inputs with the same one, the first are shown. */
enum { SENTENCES = 32, SHOWN = 3 };
static struct {
    char text[256];
    bool error;
    int count;
} sentences[SENTENCES];

/* Whether a sentence was shown often enough; counts it. `end`: of its text. Called with the lock held. */
static bool is_enough(bool error, const char *text, const char *end, const char *name) {
    char key[sizeof sentences->text];
    const size_t length = name ? strlen(name) : 0;
    size_t n = 0;
    for (; text < end && n + 1 < sizeof key; text++) {
        const bool digit = *text >= '0' && *text <= '9';
        if (length > 0 && (size_t)(end - text) >= length && memcmp(text, name, length) == 0) {
            text += length - 1;
        } else if (!digit || n == 0 || key[n - 1] != 'N') {
            key[n++] = digit ? 'N' : *text;
        }
    }
    key[n] = '\0';
    for (int i = 0; i < SENTENCES && !verbose; i++) {
        if (sentences[i].count == 0) {
            memcpy(sentences[i].text, key, sizeof key);
            sentences[i].error = error;
        }
        if (sentences[i].error == error && strcmp(sentences[i].text, key) == 0) {
            return ++sentences[i].count > SHOWN;
        }
    }
    return false;
}

void report_repeated(void) {
    long long more[2] = {0, 0};
    for (int i = 0; i < SENTENCES; i++) {
        more[sentences[i].error] += sentences[i].count > SHOWN ? sentences[i].count - SHOWN : 0;
        sentences[i].count = 0;
    }
    if (more[0] > 0) {
        report_warning(NULL, "%lld more of these warnings; -v prints all", more[0]);
    }
    if (more[1] > 0) {
        report_error(NULL, "%lld more of these errors; -v prints all, --json has the one of each input", more[1]);
    }
}

#define CAPTURED_ERROR "\1" /* begins its line; a text has no such character, which is escaped */

/* Control sequences for the terminal are escaped. */
static void print(report_kind kind, const char *name, const char *format, va_list args) {
    char text[8192];
    if (!is_shown(kind)) {
        return;
    }
    vsnprintf(text, sizeof text, format, args);
    if (kind == REPORT_ERROR && last_error) {
        snprintf(last_error, REPORT_ERROR_SIZE, "%.*s", REPORT_ERROR_SIZE - 1, text);
    }
    FILE *out = captured ? captured : stderr;
    pthread_mutex_lock(&progress.lock);
    if (out == stderr && kind == REPORT_WARNING && is_enough(false, text, text + strlen(text), NULL)) {
        pthread_mutex_unlock(&progress.lock);
        return;
    }
    if (out == stderr) {
        erase();
    }
    fputs(out == captured && kind == REPORT_ERROR ? CAPTURED_ERROR "pcgpu: " : "pcgpu: ", out);
    print_shown(out, place);
    print_shown(out, name ? name : "");
    fprintf(out, "%s%s", name ? ": " : "", kind == REPORT_WARNING ? WARNING : "");
    print_shown(out, text);
    fputc('\n', out);
    if (out == stderr) {
        fflush(stderr);
    }
    pthread_mutex_unlock(&progress.lock);
}

void report(report_kind kind, const char *name, const char *format, ...) {
    va_list args;
    va_start(args, format);
    print(kind, name, format, args);
    va_end(args);
}

int report_error(const char *name, const char *format, ...) {
    va_list args;
    va_start(args, format);
    print(REPORT_ERROR, name, format, args);
    va_end(args);
    return EXIT_FAILED;
}

void report_captured(const char *lines, const char *name) {
    if (lines) {
        pthread_mutex_lock(&progress.lock);
        erase();
        for (const char *end; *lines; lines = end) {
            const bool error = *lines == CAPTURED_ERROR[0];
            lines += error;
            end = strchrnul(lines, '\n');
            const char *warning = memmem(lines, (size_t)(end - lines), ": " WARNING, sizeof WARNING + 1);
            const char *text = error ? lines : warning ? warning + sizeof WARNING + 1 : NULL;
            if (!text || !is_enough(error, text, end, name)) {
                fprintf(stderr, "%.*s\n", (int)(end - lines), lines);
            }
            end += *end == '\n';
        }
        fflush(stderr);
        pthread_mutex_unlock(&progress.lock);
    }
}

void report_end(const char *name, const char *sentence) {
    const char *const parts[] = {progress.drawn ? "\r\033[K" : "", "pcgpu: ", name, sentence, "\n"};
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

int report_failure(const char *name, const pcgpu_context *context) {
    const char *sentence = pcgpu_last_error(context);
    const bool named = sentence_without_name(sentence, name) != sentence;
    return report_error(named ? NULL : name, "%s", sentence);
}

/* Whether it is the last of these that was given. */
static bool is_repeated(const char *warning) {
    static char last[256];
    pthread_mutex_lock(&progress.lock);
    const bool repeated = strncmp(last, warning, sizeof last - 1) == 0;
    snprintf(last, sizeof last, "%s", warning);
    pthread_mutex_unlock(&progress.lock);
    return repeated;
}

/* A warning that does not name the input, such as that of a GPU that fails, is about the run: it is given once, though
 * each thread has a context that logs it. */
void report_log(void *user, pcgpu_log_level level, const char *message) {
    const char *name = *(const char **)user, *text = sentence_without_name(message, name);
    const bool again = level == PCGPU_LOG_WARNING && text == message && is_repeated(message);
    report(level == PCGPU_LOG_WARNING && !again ? REPORT_WARNING : REPORT_DETAIL, name, "%s", text);
}

/* "57/200  34.1 files/s  64 MB/s  ETA 4 s  1 failed". Called with the lock held. */
static void draw_counts(double seconds) {
    const int failed = progress.number[PROGRESS_FAILED], worked = progress.number[PROGRESS_DONE] + failed;
    const int over = worked + progress.number[PROGRESS_SKIPPED];
    fprintf(stderr, "%d/%d", over, progress.total);
    if (worked > 0) {
        fprintf(stderr, "  %.1f files/s  %.0f MB/s  ETA %.0f s", worked / seconds,
                1e-6 * (double)progress.bytes / seconds, seconds / worked * (progress.total - over));
    }
    if (failed > 0) {
        fprintf(stderr, "  %d failed", failed);
    }
}

enum { LINE_SECONDS = 5 }; /* between lines that cannot be erased */

static void *draw(void *unused) {
    (void)unused;
    pthread_mutex_lock(&progress.lock);
    while (!progress.stop) {
        struct timespec wake;
        clock_gettime(CLOCK_REALTIME, &wake);
        wake.tv_sec += can_erase ? 0 : LINE_SECONDS;
        wake.tv_nsec += 500000000;
        wake.tv_sec += wake.tv_nsec / 1000000000;
        wake.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&progress.change, &progress.lock, &wake);
        double seconds = seconds_now() - progress.begin;
        if (!progress.stop && seconds > 0.5) {
            fputs(can_erase ? "\r\033[Kpcgpu: " : "pcgpu: ", stderr);
            if (progress.total > 0) {
                draw_counts(seconds);
            } else {
                print_shown(stderr, progress.name);
                fprintf(stderr, ": %s, %.0f s", progress.what, seconds);
            }
            fputs(can_erase ? "" : "\n", stderr);
            fflush(stderr);
            progress.drawn = can_erase;
        }
    }
    erase();
    fflush(stderr);
    pthread_mutex_unlock(&progress.lock);
    return NULL;
}

static void start_drawing(void) {
    const bool shown = can_erase || (mode == PROGRESS_ON && progress.total > 0);
    if (!shown || quiet || mode == PROGRESS_OFF || progress.running) {
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

static void stop_drawing(void) {
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

void progress_begin(const char *name, const char *what) {
    pthread_mutex_lock(&progress.lock);
    const bool counts = progress.total > 0;
    if (!counts) {
        progress.name = name;
        progress.what = what;
    }
    pthread_mutex_unlock(&progress.lock);
    if (!counts) {
        start_drawing();
    }
}

void progress_end(void) {
    if (progress.total == 0) {
        stop_drawing();
    }
}

void progress_run_begin(int total) {
    memset(progress.number, 0, sizeof progress.number);
    progress.bytes = 0;
    progress.total = total;
    progress.begin = seconds_now();
    many = true;
    start_drawing();
}

void progress_run_add(const char *input, progress_outcome outcome) {
    struct stat st;
    const bool sized = outcome == PROGRESS_DONE && stat(input, &st) == 0 && S_ISREG(st.st_mode);
    pthread_mutex_lock(&progress.lock);
    progress.number[outcome]++;
    progress.bytes += sized ? (int64_t)st.st_size : 0;
    pthread_mutex_unlock(&progress.lock);
}

double progress_run_end(void) {
    stop_drawing();
    report_repeated();
    progress.total = 0;
    return seconds_now() - progress.begin;
}
