/* Outputs that are being written: a signal that ends the program removes their temporary files. */
#ifndef UNFINISHED_H
#define UNFINISHED_H

#include "files.h"

#include <signal.h>

/* `output` stays where it is until it is removed from the list. False when there are too many. */
bool unfinished_add(const output *output);
void unfinished_remove(const output *output); /* nothing happens when it is not in the list */
/* Another output of this run that will get the same name. */
bool unfinished_has(const char *final);

/* A sentence that is printed when a signal ends the program, about a file that stays and how to go on; borrowed,
 * without what steers a terminal. NULL: none. */
void unfinished_keep(const char *sentence);

/* No signal is handled between these two: the list and the files agree again at the end. */
void hold_signals(sigset_t *before);
void release_signals(const sigset_t *before);

#endif
