/* The team: a step is open while parts of it are left to claim. Helpers that come in time join it and claim parts; the
 * caller claims, too, closes the step when none is left, and waits for helpers in the middle of one. */
#include "cpu_team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SPINS = 2000 }; /* looks before a thread sleeps: some 20 us, about what waking it takes */

struct pc_team {
    pthread_mutex_t mutex;
    pthread_cond_t opened, left;
    pthread_t *helpers; /* threads - 1 */
    int threads, started;
    bool quit;

    pc_team_fn *function;
    void *state;
    int parts;
    atomic_int next;       /* the next part to claim */
    atomic_int open_steps; /* counts the steps: a change wakes helpers */
    bool open;
    atomic_int inside; /* helpers that joined the open step */
};

static void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void claim_parts(pc_team *t) {
    while (pc_team_help(t)) {
    }
}

static void *help(void *argument) {
    pc_team *t = argument;
    int seen = 0;
    while (true) {
        for (int i = 0; i < SPINS && atomic_load_explicit(&t->open_steps, memory_order_relaxed) == seen; i++) {
            pause_briefly();
        }
        pthread_mutex_lock(&t->mutex);
        while (!t->quit && atomic_load(&t->open_steps) == seen) {
            pthread_cond_wait(&t->opened, &t->mutex);
        }
        seen = atomic_load(&t->open_steps);
        const bool quit = t->quit, joins = t->open;
        atomic_fetch_add(&t->inside, joins);
        pthread_mutex_unlock(&t->mutex);
        if (quit) {
            return NULL;
        }
        if (joins) {
            claim_parts(t);
            pthread_mutex_lock(&t->mutex);
            if (atomic_fetch_sub(&t->inside, 1) == 1) {
                pthread_cond_signal(&t->left);
            }
            pthread_mutex_unlock(&t->mutex);
        }
    }
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
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->opened, NULL);
    pthread_cond_init(&t->left, NULL);
    return t;
}

int pc_team_threads(const pc_team *team) {
    return team->threads;
}

void pc_team_close(pc_team *t) {
    if (!t) {
        return;
    }
    pthread_mutex_lock(&t->mutex);
    t->quit = true;
    atomic_fetch_add(&t->open_steps, 1);
    pthread_cond_broadcast(&t->opened);
    pthread_mutex_unlock(&t->mutex);
    for (int i = 0; i < t->started; i++) {
        pthread_join(t->helpers[i], NULL);
    }
    pthread_cond_destroy(&t->opened);
    pthread_cond_destroy(&t->left);
    pthread_mutex_destroy(&t->mutex);
    free(t->helpers);
    free(t);
}

/* As many helpers as the parts can use; fewer when the system refuses more. */
static void start_helpers(pc_team *t, int parts) {
    const int most = parts < t->threads ? parts : t->threads;
    while (t->started < most - 1 && pthread_create(&t->helpers[t->started], NULL, help, t) == 0) {
        t->started++;
    }
}

void pc_team_begin(pc_team *t, int parts, pc_team_fn *function, void *state) {
    start_helpers(t, parts);
    pthread_mutex_lock(&t->mutex);
    t->function = function;
    t->state = state;
    t->parts = parts;
    atomic_store(&t->next, 0);
    t->open = true;
    if (t->started > 0) {
        atomic_fetch_add(&t->open_steps, 1);
        pthread_cond_broadcast(&t->opened);
    }
    pthread_mutex_unlock(&t->mutex);
}

bool pc_team_help(pc_team *t) {
    const int part = atomic_load(&t->next) < t->parts ? atomic_fetch_add(&t->next, 1) : t->parts;
    if (part < t->parts) {
        t->function(t->state, part);
    }
    return part < t->parts;
}

void pc_team_end(pc_team *t) {
    claim_parts(t);
    pthread_mutex_lock(&t->mutex);
    t->open = false;
    pthread_mutex_unlock(&t->mutex);
    for (int i = 0; i < SPINS && atomic_load(&t->inside) > 0; i++) {
        pause_briefly();
    }
    pthread_mutex_lock(&t->mutex);
    while (atomic_load(&t->inside) > 0) {
        pthread_cond_wait(&t->left, &t->mutex);
    }
    pthread_mutex_unlock(&t->mutex);
}

void pc_team_run(pc_team *t, int parts, pc_team_fn *function, void *state) {
    if (parts <= 1 || t->threads <= 1) {
        for (int part = 0; part < parts; part++) {
            function(state, part);
        }
        return;
    }
    pc_team_begin(t, parts, function, state);
    pc_team_end(t);
}
