/* The heap of a run. */
#ifndef HEAP_H
#define HEAP_H

/* Prepares the heap for arrays of some megabytes; before large allocations, on the main thread. */
void heap_prepare(void);

#endif
