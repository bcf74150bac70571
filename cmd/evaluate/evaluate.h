/* Trajectories against the truth. */
#ifndef EVALUATE_H
#define EVALUATE_H

#include "job.h"
#include "trajectory.h"

/* Reads the truth that --ground-truth and --calibration name. False after saying why. */
bool evaluate_read_truth(const session *session, trajectory *truth);
/* Compares `estimate`, of the file `name`, with it, prints the table where nothing else is on standard output, and an
 * object of --json. `times`: of the estimates; NULL: `estimate` has them, or they follow from --rate. Returns an exit code. */
int evaluate_print(session *session, const char *name, const trajectory *estimate, const double *times,
                   const trajectory *truth, bool prints);

#endif
