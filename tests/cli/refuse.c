/* To be loaded before the program: the system refuses threads after REFUSE_THREADS of them, and the allocation
 * REFUSE_MEMORY of those by realloc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static int number_of(const char *name) {
    const char *text = getenv(name);
    return text ? atoi(text) : -1;
}

#pragma GCC visibility push(default)

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    static atomic_int started;
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    const int most = number_of("REFUSE_THREADS");
    if (most >= 0 && atomic_load(&started) >= most) {
        return EAGAIN;
    }
    atomic_fetch_add(&started, 1);
    return real(thread, attributes, run, argument);
}

void *realloc(void *memory, size_t bytes) {
    static atomic_int asked;
    void *(*real)(void *, size_t);
    *(void **)&real = dlsym(RTLD_NEXT, "realloc");
    return atomic_fetch_add(&asked, 1) + 1 == number_of("REFUSE_MEMORY") ? NULL : real(memory, bytes);
}
