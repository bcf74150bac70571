/* The threads of a context, which share the parts of one step after another. A step waits only for threads that have
 * claimed a part: if other programs keep the processors busy, or the system refuses threads, the caller does all parts
 * itself. Threads without work sleep after some microseconds. */
#ifndef PC_CPU_TEAM_H
#define PC_CPU_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pc_team pc_team;

/* A part of a step, 0 to parts - 1, each done once, by any thread. */
typedef void pc_team_fn(void *state, int part);
/* Items [begin, end) of a step. */
typedef void pc_range_fn(void *state, int64_t begin, int64_t end);

/* A team of up to `threads` with the caller; NULL when memory is short. Threads start as they are first needed, and
 * there are fewer when the system refuses to start more. */
pc_team *pc_team_open(int threads);
int pc_team_threads(const pc_team *team);
/* The number of threads, with the caller, once the system has refused more; else 0. */
int pc_team_refused(const pc_team *team);
/* Calls the function every 50 ms while the caller waits for helpers. */
void pc_team_wait_with(pc_team *team, void (*idle)(void *user), void *user);
/* Whether the calling thread is a helper of some team. */
bool pc_team_is_helper(void);
void pc_team_close(pc_team *team); /* NULL is accepted */

/* Does all parts; their writes are visible afterwards. With `team` NULL the caller does them alone. */
void pc_team_run(pc_team *team, int parts, pc_team_fn *function, void *state);
/* The same for n items, `chunk` of them (1 or more) to a part. */
void pc_team_for(pc_team *team, int64_t n, int64_t chunk, pc_range_fn *function, void *state);

/* The same in pieces, where the caller has other things to do as soon as some parts are done: begins, does one part
 * (false when none is left to begin), does the rest and waits. */
void pc_team_begin(pc_team *team, int parts, pc_team_fn *function, void *state);
bool pc_team_help(pc_team *team);
void pc_team_end(pc_team *team);

/* Processors that the process may use, by its affinity mask and the quota of its control groups. `root`: of the files
 * of the system, "" but in tests. */
int pc_processors(const char *root);

#ifdef __cplusplus
}
#endif
#endif
