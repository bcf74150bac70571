/* Outputs that are not complete: a signal that ends the program removes their temporary files. */
#ifndef UNFINISHED_H
#define UNFINISHED_H

#include "files.h"

#include <signal.h>

/* Between files_lock and files_unlock: adds an output, which must not move in memory until it is removed. False when
 * the list is full. */
bool unfinished_add(const output *output);
void unfinished_remove(const output *output); /* accepts an output that is not in the list */
/* Whether another output of this run will get the same name. */
bool unfinished_has(const char *final);

/* Between these two calls no other thread changes the list and no signal ends the program: the list and the files may
 * disagree. Nothing is allocated or freed between them: a signal handler that has interrupted malloc() waits for this
 * lock. */
void files_lock(sigset_t *before);
void files_unlock(const sigset_t *before);

#endif
