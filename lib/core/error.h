/* The last error of a context, its log, and the clock. They lie below the context: a file that only fails, logs or
 * measures time needs this header alone. */
#ifndef PC_ERROR_H
#define PC_ERROR_H

#include "pcgpu.h"

/* Leaves a function with the status of a call that failed. */
#define PC_TRY(call)                                                                                                   \
    do {                                                                                                               \
        pcgpu_status pc_try_status_ = (call);                                                                          \
        if (pc_try_status_ != PCGPU_OK) {                                                                              \
            return pc_try_status_;                                                                                     \
        }                                                                                                              \
    } while (0)

/* The same in a function that owns something: goes to its cleanup label. */
#define PC_TRY_OR(label, status, call)                                                                                 \
    do {                                                                                                               \
        (status) = (call);                                                                                             \
        if ((status) != PCGPU_OK) {                                                                                    \
            goto label;                                                                                                \
        }                                                                                                              \
    } while (0)

#ifdef __cplusplus
extern "C" {
#endif

/* The first member of a context. */
typedef struct pc_errors {
    char text[1024];  /* the last error, or empty */
    pcgpu_log_fn log; /* NULL: no log */
    void *log_user;
    pcgpu_names names; /* how parameters are spelled in both */
} pc_errors;

/* Spells the parameters of a sentence for the caller. In the source of the library they are options of the program, as
 * "--max-distance" at the begin of a word, and "--set NAME". */
void pc_spell(char *text, size_t size, pcgpu_names names);

/* Records the sentence for pcgpu_last_error and returns `status`. */
pcgpu_status pc_fail(pcgpu_context *context, pcgpu_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether a parameter is in its range; not for a NaN. */
static inline bool pc_in_range(double value, double low, double high) {
    return value >= low && value <= high;
}

/* Structs of parameters, whose first member is their size. `init` writes the initial values to a struct of
 * `struct_size` bytes of the caller, at most those bytes. `check` fails for a struct of another size. */
void pc_struct_init(void *to, size_t struct_size, const void *initial, size_t size);
pcgpu_status pc_struct_check(pcgpu_context *context, const char *name, size_t struct_size, size_t size);
/* "out of memory; N bytes were needed for WHAT". */
pcgpu_status pc_fail_memory(pcgpu_context *context, uint64_t bytes, const char *what);
void pc_clear_error(pcgpu_context *context);

void pc_log(pcgpu_context *context, pcgpu_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Monotonic seconds; pc_stage appends a stage that began at `begin` and returns the time now. */
double pc_now(void);
double pc_stage(pcgpu_run *run, const char *name, double begin);

#ifdef __cplusplus
}
#endif
#endif
