/* The heap of a run. A short run spends much of its time on page faults: sampling a scan of 2 MB touches about 3,000
 * pages. So the heap grows in one large piece, with huge pages where the system has them, and is not trimmed. Very
 * large arrays are still mapped one by one. Where the address space is limited, the heap grows as usual. */
#define _DEFAULT_SOURCE /* sbrk, madvise */
#include "heap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PIECE = 64 << 20, LARGEST_INSIDE = 32 << 20, PAGE = 4096 };

/* Whether the limits (ulimit -v, -d) permit large pieces that are partly unused. */
static bool has_space(void) {
    struct rlimit space, data;
    const rlim_t enough = (rlim_t)64 * PIECE;
    return getrlimit(RLIMIT_AS, &space) == 0 && getrlimit(RLIMIT_DATA, &data) == 0 && space.rlim_cur >= enough &&
           data.rlim_cur >= enough;
}

void heap_prepare(void) {
    if (!has_space()) {
        return;
    }
    mallopt(M_MMAP_THRESHOLD, LARGEST_INSIDE);
    mallopt(M_TRIM_THRESHOLD, 2 * PIECE);
    mallopt(M_TOP_PAD, PIECE);
    char *begin = sbrk(0);
    void *volatile first = malloc(LARGEST_INSIDE / 2); /* more than the heap has: it grows by PIECE */
    if (!first) {
        mallopt(M_TOP_PAD, LARGEST_INSIDE / 256); /* the system does not overcommit memory */
    }
    free(first);
    char *end = sbrk(0);
    begin += (PAGE - (uintptr_t)begin % PAGE) % PAGE;
    if (begin < end) {
        madvise(begin, (size_t)(end - begin), MADV_HUGEPAGE); /* advice: without large pages nothing changes */
    }
}
#else
void heap_prepare(void) {
}
#endif
