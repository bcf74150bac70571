/* Calls of the CUDA runtime that fail on a real GPU, in a program that is linked with --wrap for each of
 * FAIL_CUDA_CALLS: CUDA_FAIL_AT=N: call N, counted from 0, is not made and fails, and with CUDA_FAIL_MANY=M those after
 * it up to M of them; CUDA_FAIL_WITH=memory: as an allocation does, else as a kernel does. CUDA_FAIL_COUNT: their
 * number, on standard error at the end, and the name of each that fails. The same variables are read by tests/emulator.
 * x86-64 only: a wrapper passes its arguments on in registers. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, MEMORY_ALLOCATION = 2, LAUNCH_FAILURE = 719 }; /* cudaError_t */

static atomic_long made;
static long first = -1, many = 1;
static int error = LAUNCH_FAILURE;

__attribute__((constructor)) static void read_environment(void) {
    const char *at = getenv("CUDA_FAIL_AT"), *m = getenv("CUDA_FAIL_MANY"), *kind = getenv("CUDA_FAIL_WITH");
    first = at ? atol(at) : -1;
    many = m ? atol(m) : 1;
    error = kind && strcmp(kind, "memory") == 0 ? MEMORY_ALLOCATION : LAUNCH_FAILURE;
}

__attribute__((destructor)) static void print_count(void) {
    if (getenv("CUDA_FAIL_COUNT")) {
        fprintf(stderr, "CUDA calls %ld\n", atomic_load(&made));
    }
}

/* What the next call of the runtime returns, without being made; 0: it is made. */
__attribute__((used)) int fail_cuda_call(const char *name);
int fail_cuda_call(const char *name) {
    const long number = atomic_fetch_add(&made, 1);
    if (first < 0 || number < first || number >= first + many) {
        return SUCCESS;
    }
    if (getenv("CUDA_FAIL_COUNT")) {
        fprintf(stderr, "CUDA call %ld, %s, fails\n", number, name);
    }
    return error;
}

#define FAIL_CUDA(name)                                                                                                \
    __asm__(".text\n.globl __wrap_" #name "\n.type __wrap_" #name ", @function\n__wrap_" #name ":\n"                   \
            "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\nsub $8, %rsp\nlea 2f(%rip), %rdi\ncall "  \
            "fail_cuda_call\n"                                                                                         \
            "add $8, %rsp\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"                                 \
            "test %eax, %eax\njnz 1f\njmp __real_" #name "\n1: ret\n2: .asciz \"" #name "\"\n");
FAIL_CUDA_CALLS
