/* How much memory the process may take. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stddef.h>

/* Bytes of memory that are available on this machine, and no more than the limit of a control group; `root` is the
 * folder of /proc and /sys, "" but for tests. SIZE_MAX where the system does not say. */
size_t memory_available(const char *root);

#endif
