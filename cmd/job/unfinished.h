/* Outputs that are not complete: a signal that ends the program removes their temporary files. */
#ifndef UNFINISHED_H
#define UNFINISHED_H

#include "files.h"

#include <signal.h>

/* Adds an output, which must not move in memory until it is removed. False when the list is full. */
bool unfinished_add(const output *output);
void unfinished_remove(const output *output); /* accepts an output that is not in the list */
/* Whether another output of this run will get the same name. */
bool unfinished_has(const char *final);

/* Sets the message for a signal that ends the program: a file that stays, and how to continue. The caller owns it and
 * has escaped it for a terminal. NULL: none. */
void unfinished_keep(const char *sentence);

/* Blocks signals between these two calls, while the list and the files disagree. */
void hold_signals(sigset_t *before);
void release_signals(const sigset_t *before);

#endif
