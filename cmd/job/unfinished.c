/* Outputs that are not complete, and the signals that end the program. */
#include "unfinished.h"
#include "heap.h"
#include "report.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PENDING_MAX = 1024 }; /* some tens of threads with a few outputs each */
static const output *volatile pending[PENDING_MAX];

static pthread_t main_thread;                 /* it handles the signals */
static atomic_flag locked = ATOMIC_FLAG_INIT; /* a signal handler may take it, too: no thread is interrupted with it */

static void take_lock(void) {
    while (atomic_flag_test_and_set_explicit(&locked, memory_order_acquire)) {
        sched_yield();
    }
}

/* The signals that end a program and come from outside: from a user, a batch system before its time limit, a resource
 * limit, a timer. */
static const struct {
    int number;
    const char *name;
} ending[] = {{SIGINT, "SIGINT"},   {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"},   {SIGQUIT, "SIGQUIT"},
              {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}, {SIGALRM, "SIGALRM"}, {SIGVTALRM, "SIGVTALRM"},
              {SIGPROF, "SIGPROF"}, {SIGXCPU, "SIGXCPU"}, {SIGPIPE, NULL}};
enum { ENDING = sizeof ending / sizeof ending[0] };

static const char *hint;

/* Prints which signal ended the program; SIGPIPE prints nothing. */
static void report_signal(int number) {
    for (int i = 0; i < ENDING; i++) {
        if (ending[i].number == number && ending[i].name) {
            report_end(ending[i].name, hint);
        }
    }
}

static void remove_pending(void) {
    for (int i = 0; i < PENDING_MAX; i++) {
        const output *o = pending[i];
        struct stat st;
        const bool keep = o && o->temporary && o->partial && stat(o->temporary, &st) == 0 && st.st_size > 0;
        if (o && o->temporary && !(keep && rename(o->temporary, o->partial) == 0)) {
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
    take_lock(); /* for good */
    remove_pending();
    report_signal(number);
    signal(number, SIG_DFL);
    raise(number);
}

/* For good: no thread adds a file after this. */
static void lock_and_remove(void) {
    sigset_t before;
    files_lock(&before);
    remove_pending();
}

void files_catch_signals(bool continues) {
    hint = continues ? ": interrupted; finished outputs are complete, run again with --skip-existing to continue"
                     : ": interrupted; finished outputs are complete, run again for the others";
    main_thread = pthread_self();
    heap_before_end(lock_and_remove);
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
}

void files_lock(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
    take_lock();
}

void files_unlock(const sigset_t *before) {
    atomic_flag_clear_explicit(&locked, memory_order_release);
    pthread_sigmask(SIG_SETMASK, before, NULL);
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
