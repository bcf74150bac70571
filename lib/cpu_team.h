/* A few threads that share the parts of one step after another. Unlike a team of OpenMP, no thread is waited for that
 * has nothing in hand: where other programs keep the processors busy, the caller does all parts itself and goes on,
 * while a barrier would cost it the time slices of others. Threads that wait sleep after some microseconds. */
#ifndef PC_CPU_TEAM_H
#define PC_CPU_TEAM_H

#include <stdbool.h>

typedef struct pc_team pc_team;

/* A part of a step, 0 to parts - 1, each done once, by any thread. */
typedef void pc_team_fn(void *state, int part);

/* A team of up to `threads` with the caller; NULL when memory is short. Threads start as they are first needed. */
pc_team *pc_team_open(int threads);
int pc_team_threads(const pc_team *team);
void pc_team_close(pc_team *team); /* NULL is accepted */

/* Does all parts; what they wrote can be read afterwards. */
void pc_team_run(pc_team *team, int parts, pc_team_fn *function, void *state);

/* The same in pieces, where the caller has other things to do as soon as some parts are done: begins, does one part
 * (false when none is left to begin), does the rest and waits. */
void pc_team_begin(pc_team *team, int parts, pc_team_fn *function, void *state);
bool pc_team_help(pc_team *team);
void pc_team_end(pc_team *team);

#endif
