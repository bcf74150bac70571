/* Outputs that are not complete, and the signals that end the program. */
#include "unfinished.h"
#include "report.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PENDING_MAX = 256 }; /* a batch of inputs with a few outputs each */
static const output *volatile pending[PENDING_MAX];

static const char *volatile kept; /* the message about a file that stays */
static pthread_t main_thread;     /* it blocks signals while it changes `pending` and `kept` */

/* The signals that end a program and come from outside: from a user, a batch system before its time limit, a resource
 * limit, a timer. */
static const struct {
    int number;
    const char *name;
} ending[] = {{SIGINT, "SIGINT"},   {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"},   {SIGQUIT, "SIGQUIT"},
              {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}, {SIGALRM, "SIGALRM"}, {SIGVTALRM, "SIGVTALRM"},
              {SIGPROF, "SIGPROF"}, {SIGXCPU, "SIGXCPU"}, {SIGPIPE, NULL}};
enum { ENDING = sizeof ending / sizeof ending[0] };

/* Prints which signal ended the program; SIGPIPE prints nothing. */
static void report_end(int number) {
    for (int i = 0; i < ENDING; i++) {
        if (ending[i].number == number && ending[i].name) {
            report_signal(ending[i].name, kept ? " has ended the run"
                                               : " has ended the run; existing outputs are complete, start again for "
                                                 "the others");
            if (kept) {
                report_signal(kept, NULL);
            }
        }
    }
}

static void remove_pending(void) {
    for (int i = 0; i < PENDING_MAX; i++) {
        const output *o = pending[i];
        if (o && o->temporary) {
            unlink(o->temporary);
        }
    }
}

static void end_by_signal(int number) {
    static volatile sig_atomic_t ended;
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, number);
        return;
    }
    if (ended++) {
        return;
    }
    remove_pending();
    report_end(number);
    signal(number, SIG_DFL);
    raise(number);
}

void files_catch_signals(void) {
    main_thread = pthread_self();
    atexit(remove_pending); /* for exit() when memory is exhausted */
    for (int i = 0; i < ENDING; i++) {
        const int number = ending[i].number;
        struct sigaction action = {.sa_handler = end_by_signal}, before;
        sigfillset(&action.sa_mask);
        sigaction(number, NULL, &before);
        /* nohup and background jobs of a shell ignore signals on purpose. SIGPIPE is always handled. */
        if (before.sa_handler != SIG_IGN || number == SIGPIPE) {
            sigaction(number, &action, NULL);
        }
    }
    signal(SIGXFSZ, SIG_IGN); /* the write fails instead */
}

void unfinished_keep(const char *sentence) {
    kept = sentence;
}

void hold_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, before);
}

void release_signals(const sigset_t *before) {
    sigprocmask(SIG_SETMASK, before, NULL);
}

bool unfinished_add(const output *o) {
    for (int i = 0; i < PENDING_MAX; i++) {
        if (!pending[i]) {
            pending[i] = o;
            return true;
        }
    }
    return false;
}

void unfinished_remove(const output *o) {
    for (int i = 0; i < PENDING_MAX; i++) {
        if (pending[i] == o) {
            pending[i] = NULL;
        }
    }
}

bool unfinished_has(const char *final) {
    for (int i = 0; i < PENDING_MAX; i++) {
        if (pending[i] && strcmp(pending[i]->final, final) == 0) {
            return true;
        }
    }
    return false;
}
