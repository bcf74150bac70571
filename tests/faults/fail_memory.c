/* To be preloaded: allocation FAIL_AT, counted from 0 where main begins, and those after it up to FAIL_MANY of them
 * return NULL. Without FAIL_AT their number is written to standard error at the end. The process aborts when its first
 * thread allocates or frees memory while SIGTERM is blocked. What libraries allocate before main, such as the CUDA
 * runtime, never fails: they end by a signal, and no program can help it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int main_function(int, char **, char **);

static main_function *program;
static atomic_bool started;
static atomic_long made;
static _Thread_local bool creates; /* a thread, which takes over the blocked signals */

/* A handler that has interrupted the allocator waits for the lock that is held while signals are blocked. */
static void check_signals(void) {
    sigset_t blocked;
    /* Other threads block signals for good; what all threads do between files_lock and files_unlock, the first one
     * does, too. */
    if (started && !creates && gettid() == getpid() && pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 &&
        sigismember(&blocked, SIGTERM)) {
        static const char why[] = "memory is allocated or freed while signals are blocked\n";
        (void)!write(STDERR_FILENO, why, sizeof why - 1);
        abort();
    }
}

static int fails(void) {
    static long first = -1, many = -1;
    if (!started) {
        return 0;
    }
    check_signals();
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

static int begin(int argc, char **argv, char **environment) {
    started = true;
    return program(argc, argv, environment);
}

/* glibc's own, which runs the constructors and then main. */
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
start_function __libc_start_main;
int __libc_start_main(main_function *function, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*unload)(void), void *stack) {
    void *found = dlsym(RTLD_NEXT, "__libc_start_main");
    start_function *start = NULL;
    memcpy(&start, &found, sizeof start);
    program = function;
    return start(begin, argc, argv, init, fini, unload, stack);
}

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void __libc_free(void *memory);

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    return fails() ? NULL : __libc_realloc(memory, size);
}

void free(void *memory) {
    check_signals();
    __libc_free(memory);
}

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *state) {
    void *found = dlsym(RTLD_NEXT, "pthread_create");
    create_function *create = NULL;
    memcpy(&create, &found, sizeof create);
    creates = true;
    const int error = create(thread, attributes, function, state);
    creates = false;
    return error;
}

__attribute__((destructor)) static void show(void) {
    if (!getenv("FAIL_AT")) {
        fprintf(stderr, "allocations %ld\n", made);
    }
}
