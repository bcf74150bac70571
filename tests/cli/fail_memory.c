/* To be preloaded: allocation FAIL_AT of the process, counted from 0, and those after it up to FAIL_MANY of them return
 * NULL. Without FAIL_AT their number is written to standard error at the end. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_long made;

static int fails(void) {
    static long first = -1, many = -1;
    const long number = atomic_fetch_add(&made, 1);
    if (number == 0) {
        const char *at = getenv("FAIL_AT"), *count = getenv("FAIL_MANY");
        many = count ? atol(count) : 1;
        first = at ? atol(at) : -1;
    }
    const int now = first >= 0 && number >= first && number < first + many;
    errno = now ? ENOMEM : errno;
    return now;
}

/* glibc's own. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    return fails() ? NULL : __libc_realloc(memory, size);
}

__attribute__((destructor)) static void show(void) {
    if (!getenv("FAIL_AT")) {
        fprintf(stderr, "allocations %ld\n", made);
    }
}
