/* Outputs that are being written, and the signals that end the program before they are whole. */
#include "unfinished.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PENDING_MAX = 256 }; /* a batch of inputs with a few outputs each */
static const output *volatile pending[PENDING_MAX];

static pthread_t main_thread; /* which holds signals while it changes `pending` */

static void remove_pending(void) {
    for (int i = 0; i < PENDING_MAX; i++) {
        const output *o = pending[i];
        if (o && o->temporary) {
            unlink(o->temporary);
        }
    }
}

static void end_by_signal(int number) {
    if (!pthread_equal(pthread_self(), main_thread)) {
        pthread_kill(main_thread, number);
        return;
    }
    remove_pending();
    signal(number, SIG_DFL);
    raise(number);
}

void files_catch_signals(void) {
    main_thread = pthread_self();
    atexit(remove_pending); /* exit() where memory is short */
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction action = {.sa_handler = end_by_signal}, before;
        sigemptyset(&action.sa_mask);
        sigaction(numbers[i], NULL, &before);
        /* nohup and background jobs of a shell ignore signals on purpose. A broken pipe is quiet in any case. */
        if (before.sa_handler != SIG_IGN || numbers[i] == SIGPIPE) {
            sigaction(numbers[i], &action, NULL);
        }
    }
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
