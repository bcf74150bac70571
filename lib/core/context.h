/* The context: settings, errors, threads, and what the back ends keep in it from one operation to the next. */
#ifndef PC_CONTEXT_H
#define PC_CONTEXT_H

#include "error.h"
#include "simd.h"
#include "threads.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a feature keeps in a context from one call to the next. */
typedef enum pc_kept { PC_KEPT_ICP, PC_KEPT_NDT, PC_KEPT_PROJECTIVE, PC_KEPT_VOXELS, PC_KEPT_COUNT } pc_kept;

struct pcgpu_context {
    pc_errors errors; /* first: see error.h */
    const struct pc_backend *cpu, *gpu;
    pcgpu_settings settings;
    int threads; /* resolved, >= 1 */
    int worked;  /* threads that the current operation uses, where the CPU back end limits them */
    char cpu_name[64];
    char cuda_name[64];
    char cuda_why_not[256]; /* the reason why CUDA cannot be used, once known */
    bool cuda_failed;
    void *cuda; /* state of the CUDA back end once started, else NULL */
    struct {
        void *memory;
        void (*free)(void *memory);
    } kept[PC_KEPT_COUNT];   /* of the CPU back end; memory is NULL until it is needed */
    pc_team *team;           /* see pc_context_team; NULL until it is needed */
    bool refusal_reported;   /* the log has said that the system refuses threads */
    bool depth_hinted;       /* and what the depths of an image look like */
    pcgpu_context **helpers; /* contexts of `threads` concurrent registrations, one per thread, or NULL; an entry is
                                NULL until it is needed */
    pcgpu_context *parent;   /* of a helper: whose poll it obeys */
    double polled;           /* when the poll was last called */
    bool cancelled;          /* what it returned; read and written by __atomic functions */
    size_t memory;           /* of the points that a filter has at a time; 0: no limit. See pc_limit_memory */
    int simd_limit;          /* for tests: the widest vectors to use as a pc_simd, plus 1; 0 = the machine's */
};

/* pcgpu_open with these back ends. */
pcgpu_status pc_context_open(const pcgpu_settings *settings, const struct pc_backend *cpu, const struct pc_backend *gpu,
                             pcgpu_context **context);

/* The memory kept under this name, made of `bytes` zeros when there is none yet; NULL when memory is short.
 * pcgpu_close gives it to free_memory, which also frees what the memory owns. */
void *pc_keep(pcgpu_context *context, pc_kept name, size_t bytes, void (*free_memory)(void *memory));
/* Frees it now. */
void pc_drop_kept(pcgpu_context *context, pc_kept name);

/* UNAVAILABLE unless the context has started CUDA, as operations on arrays in device memory need it. */
pcgpu_status pc_context_need_cuda(pcgpu_context *context);

/* The widest vectors of this machine that the context may use. */
pc_simd pc_context_simd(const pcgpu_context *context);

/* Whether the poll of the settings ends the operation. Any thread of an operation may ask at any time: the poll is
 * called on the caller's thread alone, every 50 ms. NULL: no. */
bool pc_is_cancelled(pcgpu_context *context);
/* CANCELLED then. Before threads of the context ask, the caller asks. */
pcgpu_status pc_check_cancelled(pcgpu_context *context);

/* The context's threads (lib/core/threads.h), for one call at a time; NULL when memory is short. */
pc_team *pc_context_team(pcgpu_context *context);
/* Runs parts, or ranges of `chunk` of n items, on these threads; without a context on the caller's thread alone. A part
 * that runs steps of its own gives them a context of one thread, or none. */
void pc_run_parts(pcgpu_context *context, int parts, pc_team_fn *function, void *state);
void pc_run_ranges(pcgpu_context *context, int64_t n, int64_t chunk, pc_range_fn *function, void *state);

#ifdef __cplusplus
}
#endif
#endif
