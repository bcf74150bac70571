/* Runs of pcgpu bench. */
#define _XOPEN_SOURCE 700 /* nftw, mkdtemp */
#include "bench_run.h"
#include "file_set.h"
#include "json_reader.h"
#include "lines.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- folders ----------------------------------------------------------------------------------------------------- */

bool bench_folder_make(char *folder, size_t size, reason *why) {
    const char *base = getenv("TMPDIR");
    snprintf(folder, size, "%s/pcgpu-bench-XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(folder) || refuse(why, "%s: cannot create a folder: %s; set TMPDIR", folder, strerror(errno));
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

void bench_folder_remove(const char *folder) {
    nftw(folder, remove_entry, 32, FTW_DEPTH | FTW_PHYS);
}

void bench_paths_make(const char *folder, const char *variant, bench_paths *p) {
    snprintf(p->outputs, sizeof p->outputs, "%.3900s/%s/", folder, variant);
    snprintf(p->json, sizeof p->json, "%.3900s/%s.json", folder, variant);
    snprintf(p->stdout_, sizeof p->stdout_, "%.3900s/%s.out", folder, variant);
    snprintf(p->stderr_, sizeof p->stderr_, "%.3900s/%s.err", folder, variant);
    snprintf(p->model, sizeof p->model, "%.3900s/%s/model.ply", folder, variant);
}

bool bench_paths_clear(const bench_paths *p, reason *why) {
    bench_folder_remove(p->outputs);
    return mkdir(p->outputs, 0700) == 0 ||
           refuse(why, "%s: cannot create the folder: %s; set TMPDIR", p->outputs, strerror(errno));
}

/* ---- what --json says -------------------------------------------------------------------------------------------- */

static void add_stage(bench_run *run, const char *name, double seconds) {
    int i = 0;
    while (i < run->stage_count && strcmp(run->stages[i].name, name) != 0) {
        i++;
    }
    if (i < BENCH_STAGES && strcmp(name, "total") != 0) {
        snprintf(run->stages[i].name, sizeof run->stages[i].name, "%.31s", name);
        run->stages[i].seconds += seconds;
        run->stage_count += i == run->stage_count;
    }
}

/* Adds what one line of --json says of its inputs. */
static bool add_line(const line_file *f, bench_run *run) {
    json_reader r = {.bytes = f->line, .size = f->length, .name = f->name, .remedy = "report this", .why = f->why};
    char key[32] = "";
    bool in_seconds = false;
    json_event e;
    json_begin(&r);
    run->inputs++;
    while ((e = json_next(&r)) != JSON_END && e != JSON_WRONG) {
        if (e == JSON_KEY) {
            in_seconds = r.depth == 1 ? strcmp(r.text, "seconds") == 0 : in_seconds;
            snprintf(key, sizeof key, "%.31s", r.text);
        } else if (e == JSON_NUMBER && r.depth == 1 && strcmp(key, "points_in") == 0) {
            run->points += (int64_t)r.number;
        } else if (e == JSON_STRING && r.depth == 1 && strcmp(key, "backend") == 0) {
            snprintf(run->backend, sizeof run->backend, "%.15s", r.text);
        } else if (e == JSON_STRING && r.depth == 1 && strcmp(key, "device") == 0) {
            snprintf(run->device, sizeof run->device, "%.127s", r.text);
        } else if (e == JSON_NUMBER && r.depth == 2 && in_seconds) {
            add_stage(run, key, r.number);
        }
    }
    return e == JSON_END;
}

static bool read_json(const char *path, bench_run *run, reason *why) {
    line_file f;
    bool good = open_lines(&f, path, why);
    if (!good) {
        return false;
    }
    while (good && next_line(&f)) {
        good = add_line(&f, run);
    }
    return close_lines(&f) && good;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

static volatile pid_t running;

/* The run ends, then bench removes its folder. */
static void pass_on(int number) {
    if (running > 0) {
        kill(running, number);
    }
}

void bench_catch_signals(void) {
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
        struct sigaction action = {.sa_handler = pass_on}, before;
        sigaction(ending[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) {
            sigaction(ending[i], &action, NULL);
        }
    }
}

/* Prints the messages of a run that failed. */
static void show_messages(const char *path) {
    char line[4096];
    FILE *stream = fopen(path, "r");
    while (stream && fgets(line, sizeof line, stream)) {
        report_captured(line);
    }
    if (stream) {
        fclose(stream);
    }
}

bool bench_run_words(const char *const *words, const bench_paths *p, bench_run *run, reason *why) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    *run = (bench_run){0};
    unlink(p->json);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, p->stdout_, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, p->stderr_, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const double begin = seconds_now();
    const int error = posix_spawn(&child, "/proc/self/exe", &actions, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) {
        return refuse(why, "cannot start a process: %s", strerror(error));
    }
    running = child;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    running = 0;
    run->seconds = seconds_now() - begin;
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 4)) {
        show_messages(p->stderr_);
        return refuse(why, "a run ended with %s %d; the messages above are its own",
                      WIFEXITED(status) ? "exit status" : "signal",
                      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    return read_json(p->json, run, why);
}

/* ---- the same bytes ---------------------------------------------------------------------------------------------- */

static struct {
    const char *folder, *other;
    int files;
    bool same;
} comparison;

static int compare_entry(const char *path, const struct stat *st, int kind, struct FTW *where) {
    char other[2 * BENCH_PATH];
    (void)st;
    (void)where;
    if (kind == FTW_F) {
        snprintf(other, sizeof other, "%s/%s", comparison.other, path + strlen(comparison.folder));
        comparison.same = comparison.same && files_are_equal(path, other);
        comparison.files++;
    }
    return comparison.same ? 0 : 1;
}

static int count_entry(const char *path, const struct stat *st, int kind, struct FTW *where) {
    (void)path;
    (void)st;
    (void)where;
    comparison.files -= kind == FTW_F;
    return 0;
}

bool bench_same_outputs(const bench_paths *a, const bench_paths *b) {
    comparison.folder = a->outputs;
    comparison.other = b->outputs;
    comparison.files = 0;
    comparison.same = true;
    nftw(a->outputs, compare_entry, 32, FTW_PHYS);
    if (comparison.same) {
        nftw(b->outputs, count_entry, 32, FTW_PHYS);
    }
    return comparison.same && comparison.files == 0 && files_are_equal(a->stdout_, b->stdout_);
}
