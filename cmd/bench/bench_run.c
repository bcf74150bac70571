/* A run of pcgpu bench: a process of its own. */
#include "bench_run.h"
#include "lines.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

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

bool bench_run(const char *const *words, const char *printed, const char *messages, double *seconds, reason *why) {
    posix_spawn_file_actions_t actions;
    line_file lines;
    pid_t child;
    int status = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, printed, O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
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
    *seconds = seconds_now() - begin;
    if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 4)) {
        if (open_lines(&lines, messages, why)) {
            while (next_line(&lines)) {
                report_captured(lines.line, NULL);
            }
            close_lines(&lines);
        }
        return refuse(why, "a run ended with %s %d; the messages above are its own",
                      WIFEXITED(status) ? "exit status" : "signal",
                      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    return true;
}
