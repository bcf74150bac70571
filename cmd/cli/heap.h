/* The heap of a run. */
#ifndef HEAP_H
#define HEAP_H

#include <stddef.h>

/* Prepares the heap for arrays of some megabytes; before large allocations, on the main thread. */
void heap_prepare(void);

/* Memory of names, lists and texts. They are small: without memory for them the program ends with a message, so none of
 * these functions returns NULL. The data of an input is allocated by malloc: its failure is that of the input. */
void *heap_or_end(void *memory);            /* what an allocation returned */
void *heap_take(void *memory, size_t size); /* as realloc */
void *heap_zeroed(size_t count, size_t size);
/* The array with a capacity for more than `count` items: it doubles at powers of two. */
void *heap_grow(void *items, size_t count, size_t size);
char *heap_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What is done before the program ends without memory. It allocates none. */
void heap_before_end(void (*clean_up)(void));

#endif
