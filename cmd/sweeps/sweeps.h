/* Sweeps: a scan joined with the scans before it, moved into its frame by the poses of the sensor, with a column of
 * their age, as the detectors of nuScenes take it. */
#ifndef SWEEPS_H
#define SWEEPS_H

#include "job.h"
#include "sweep_table.h"

/* Options of a command with sweeps against each other. */
bool sweeps_settle(const option_values *options, const command_info *command, reason *why);
/* With --sweeps: reads the scans with their times and poses into the table of the session, and checks that all inputs
 * are among them. */
bool sweeps_check(const session *s, reason *why);
/* With --sweeps: adds the scans before the input of a job to its cloud. Returns an exit code. */
int sweeps_add(job *j);
void sweeps_free(sweep_table *table);

#endif
