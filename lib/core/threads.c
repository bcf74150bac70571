/* The team: the number of the step and its next part are one word, which a thread that claims a part raises by one. A
 * late thread finds the step closed, or its claim fails, so claims need no lock. */
#include "threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum {
    WAIT_NANOSECONDS = 50000000,
    SPINS = 6000
}; /* polls before a thread sleeps: 120 to 180 us, longer than most single-threaded sections between two steps */

#define CLOSED UINT32_MAX /* a next part that no step has */

struct pc_team {
    pthread_mutex_t mutex;        /* guards sleeping */
    pthread_cond_t opened, ended; /* for helpers, for the caller */
    pthread_t *helpers;           /* threads - 1 */
    int threads, started;
    bool refused;
    void (*idle)(void *user); /* NULL: the caller waits until it is woken */
    void *idle_user;

    _Atomic(pc_team_fn *) function;
    _Atomic(void *) state;
    atomic_int parts;
    _Atomic uint64_t next; /* the step in the upper half, its next part to claim in the lower one */
    atomic_int done;       /* parts of the step */
    atomic_int sleepers;   /* helpers that sleep, or are about to */
    atomic_bool waits;     /* the caller sleeps, or is about to */
    atomic_bool quit;
};

static void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static bool has_parts(pc_team *t) {
    return (uint32_t)atomic_load(&t->next) < (uint32_t)atomic_load(&t->parts);
}

/* Claims a part and does it. What belongs to the step is read before the claim, which fails if the step has changed. */
static bool do_part(pc_team *t, int *parts, int *done) {
    uint64_t next = atomic_load(&t->next);
    while ((uint32_t)next < (uint32_t)(*parts = atomic_load(&t->parts))) {
        pc_team_fn *function = atomic_load(&t->function);
        void *state = atomic_load(&t->state);
        if (atomic_compare_exchange_weak(&t->next, &next, next + 1)) {
            function(state, (int)(uint32_t)next);
            *done = atomic_fetch_add(&t->done, 1) + 1;
            return true;
        }
    }
    return false;
}

static void sleep_until_opened(pc_team *t) {
    for (int i = 0; i < SPINS && !has_parts(t); i++) {
        pause_briefly();
    }
    if (!has_parts(t)) {
        pthread_mutex_lock(&t->mutex);
        atomic_fetch_add(&t->sleepers, 1);
        while (!has_parts(t) && !atomic_load(&t->quit)) {
            pthread_cond_wait(&t->opened, &t->mutex);
        }
        atomic_fetch_sub(&t->sleepers, 1);
        pthread_mutex_unlock(&t->mutex);
    }
}

static _Thread_local bool is_helper;

bool pc_team_is_helper(void) {
    return is_helper;
}

static void *help(void *argument) {
    pc_team *t = argument;
    is_helper = true;
    int parts = 0, done = 0;
    while (!atomic_load(&t->quit)) {
        while (do_part(t, &parts, &done)) {
            if (done == parts && atomic_load(&t->waits)) {
                pthread_mutex_lock(&t->mutex);
                pthread_cond_signal(&t->ended);
                pthread_mutex_unlock(&t->mutex);
            }
        }
        sleep_until_opened(t);
    }
    return NULL;
}

pc_team *pc_team_open(int threads) {
    pc_team *t = calloc(1, sizeof *t);
    pthread_t *helpers = calloc((size_t)(threads > 1 ? threads : 1), sizeof *helpers);
    if (!t || !helpers) {
        free(t);
        free(helpers);
        return NULL;
    }
    t->threads = threads;
    t->helpers = helpers;
    atomic_store(&t->next, CLOSED);
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->opened, NULL);
    pthread_cond_init(&t->ended, NULL);
    return t;
}

void pc_team_wait_with(pc_team *team, void (*idle)(void *user), void *user) {
    team->idle = idle;
    team->idle_user = user;
}

int pc_team_threads(const pc_team *team) {
    return team->threads;
}

int pc_team_refused(const pc_team *team) {
    return team->refused ? team->started + 1 : 0;
}

void pc_team_close(pc_team *t) {
    if (!t) {
        return;
    }
    pthread_mutex_lock(&t->mutex);
    atomic_store(&t->quit, true);
    pthread_cond_broadcast(&t->opened);
    pthread_mutex_unlock(&t->mutex);
    for (int i = 0; i < t->started; i++) {
        pthread_join(t->helpers[i], NULL);
    }
    pthread_cond_destroy(&t->opened);
    pthread_cond_destroy(&t->ended);
    pthread_mutex_destroy(&t->mutex);
    free(t->helpers);
    free(t);
}

/* Starts as many helpers as the parts can use. After a refusal it asks for no more threads: each of thousands of steps
 * would be refused. */
static void start_helpers(pc_team *t, int parts) {
    const int most = parts < t->threads ? parts : t->threads;
    while (t->started < most - 1 && !t->refused) {
        t->refused = pthread_create(&t->helpers[t->started], NULL, help, t) != 0;
        t->started += !t->refused;
    }
}

/* No more than can claim a part. */
static void wake_helpers(pc_team *t, int parts) {
    if (atomic_load(&t->sleepers) == 0) {
        return;
    }
    pthread_mutex_lock(&t->mutex);
    const int sleepers = atomic_load(&t->sleepers);
    for (int i = 0; i < sleepers && i < parts - 1; i++) {
        pthread_cond_signal(&t->opened);
    }
    pthread_mutex_unlock(&t->mutex);
}

void pc_team_begin(pc_team *t, int parts, pc_team_fn *function, void *state) {
    const uint64_t step = (atomic_load(&t->next) >> 32) + 1;
    start_helpers(t, parts);
    atomic_store(&t->next, step << 32 | CLOSED); /* claims fail until all of the step is there */
    atomic_store(&t->function, function);
    atomic_store(&t->state, state);
    atomic_store(&t->done, 0);
    atomic_store(&t->parts, parts);
    atomic_store(&t->next, step << 32);
    wake_helpers(t, parts);
}

bool pc_team_help(pc_team *t) {
    int parts, done;
    return do_part(t, &parts, &done);
}

/* With the mutex, which is free meanwhile. */
static void wait_for_helpers(pc_team *t) {
    struct timespec until;
    if (!t->idle) {
        pthread_cond_wait(&t->ended, &t->mutex);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += WAIT_NANOSECONDS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_cond_timedwait(&t->ended, &t->mutex, &until) != 0) {
        pthread_mutex_unlock(&t->mutex);
        t->idle(t->idle_user);
        pthread_mutex_lock(&t->mutex);
    }
}

void pc_team_end(pc_team *t) {
    const int parts = atomic_load(&t->parts);
    while (pc_team_help(t)) {
    }
    for (int i = 0; i < SPINS && atomic_load(&t->done) < parts; i++) {
        pause_briefly();
    }
    if (atomic_load(&t->done) < parts) {
        pthread_mutex_lock(&t->mutex);
        atomic_store(&t->waits, true);
        while (atomic_load(&t->done) < parts) {
            wait_for_helpers(t);
        }
        atomic_store(&t->waits, false);
        pthread_mutex_unlock(&t->mutex);
    }
}

void pc_team_run(pc_team *t, int parts, pc_team_fn *function, void *state) {
    if (!t || parts <= 1 || t->threads <= 1) {
        for (int part = 0; part < parts; part++) {
            function(state, part);
        }
        return;
    }
    pc_team_begin(t, parts, function, state);
    pc_team_end(t);
}

typedef struct ranges {
    int64_t n, chunk;
    pc_range_fn *function;
    void *state;
} ranges;

static void do_range(void *state, int part) {
    const ranges *r = state;
    const int64_t begin = part * r->chunk, end = begin + r->chunk;
    r->function(r->state, begin, end < r->n ? end : r->n);
}

void pc_team_for(pc_team *team, int64_t n, int64_t chunk, pc_range_fn *function, void *state) {
    ranges r = {n, chunk, function, state};
    pc_team_run(team, (int)((n + chunk - 1) / chunk), do_range, &r);
}
