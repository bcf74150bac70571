/* The heap of a run. A short run spends much of its time on page faults: sampling a scan of 2 MB touches about 3,000
 * pages. So the heap grows in one large piece, with huge pages where the system has them, and is not trimmed. Very
 * large arrays are still mapped one by one. Where the address space is limited, the heap grows as usual. */
#define _DEFAULT_SOURCE /* sbrk, madvise */
#include "heap.h"
#include "report.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { PIECE = 80 << 20, LARGEST_INSIDE = 32 << 20, PAGE = 4096 };

/* Whether the limits (ulimit -v, -d) permit large pieces that are partly unused. */
static bool has_space(void) {
    struct rlimit space, data;
    const rlim_t enough = (rlim_t)4 << 30;
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
    void *volatile first = malloc(1 << 20); /* more than the heap has: it grows by PIECE */
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

/* ---- small memory ------------------------------------------------------------------------------------------------ */

static void (*before_end)(void);

void heap_before_end(void (*clean_up)(void)) {
    before_end = clean_up;
}

/* Other threads may wait for locks that this one holds, so no handler of exit() runs. */
void *heap_or_end(void *memory) {
    if (!memory) {
        report_end("out of memory", "");
        if (before_end) {
            before_end();
        }
        _exit(EXIT_FAILED);
    }
    return memory;
}

void *heap_take(void *memory, size_t size) {
    return heap_or_end(realloc(memory, size ? size : 1));
}

void *heap_zeroed(size_t count, size_t size) {
    return heap_or_end(calloc(count ? count : 1, size));
}

void *heap_grow(void *items, size_t count, size_t size) {
    return (count & (count - 1)) == 0 ? heap_take(items, (count ? 2 * count : 1) * size) : items;
}

char *heap_text(const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const size_t size = (size_t)vsnprintf(NULL, 0, format, args) + 1;
    char *text = heap_take(NULL, size);
    vsnprintf(text, size, format, again);
    va_end(args);
    va_end(again);
    return text;
}
