/* From one fiber to another. */
#ifndef EMULATED_FIBER_H
#define EMULATED_FIBER_H

#include <stddef.h>
#include <stdint.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

enum { STACK = 64 << 10 }; /* bytes of a fiber */

/* Where a fiber that does not run goes on. */
#if defined(__x86_64__)
typedef void *place;
#else
typedef ucontext_t place;
#endif

/* `change` saves where the fiber is and goes on with another. It is most of what the emulator does, and setjmp
 * and swapcontext cost several times as much as what is needed: the registers that a function call keeps. */
#if defined(__x86_64__)
extern "C" void emulated_change(place *from, place to);
asm(R"(
    .text
    .type emulated_change, @function
emulated_change:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmpq *%rcx
    .size emulated_change, . - emulated_change
)");

static inline void change(place *from, place *to) {
    emulated_change(from, *to);
}

/* Makes a place at which `start` begins; it does not return. */
static inline void prepare(place *at, char *stack, void (*start)()) {
    void **top = (void **)((uintptr_t)(stack + STACK) / 16 * 16) - 1; /* as after a call */
    top[0] = NULL;
    top[-1] = (void *)start;
    *at = top - 7; /* and six registers */
}
#else
static inline void change(place *from, place *to) {
    swapcontext(from, to);
}

static inline void prepare(place *at, char *stack, void (*start)()) {
    getcontext(at);
    at->uc_stack.ss_sp = stack;
    at->uc_stack.ss_size = STACK;
    at->uc_link = NULL;
    makecontext(at, start, 0);
}
#endif

#endif
