/* Trajectories against the truth. */
#ifndef EVALUATE_H
#define EVALUATE_H

#include "job.h"
#include "trajectory.h"

/* Reads the truth of --ground-truth and --calibration. False after an error message. */
bool evaluate_read_truth(const session *session, trajectory *truth);
/* Compares `estimate`, from the file `name`, with the truth. `prints`: prints the table to standard output. Adds an
 * object to --json. `times`: of the estimates; NULL: `estimate` has times, or --rate determines them. Returns an exit
 * code. */
int evaluate_print(session *session, const char *name, const trajectory *estimate, const double *times,
                   const trajectory *truth, bool prints);

#endif
