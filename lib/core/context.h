/* The context: settings, errors, threads, and what the back ends keep in it from one operation to the next. */
#ifndef PC_CONTEXT_H
#define PC_CONTEXT_H

#include "error.h"
#include "simd.h"
#include "threads.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pcgpu_context {
    pc_errors errors; /* first: see error.h */
    pcgpu_settings settings;
    int threads; /* resolved, >= 1 */
    int worked;  /* threads that the current operation uses, where the CPU back end limits them */
    char cpu_name[64];
    char cuda_name[64];
    char cuda_why_not[256]; /* the reason why CUDA cannot be used, once known */
    bool cuda_failed;
    void *cuda;              /* state of the CUDA back end once started, else NULL */
    void *cpu_icp;           /* state of a CPU registration in progress, else NULL */
    pc_team *team;           /* see pc_context_team; NULL until it is needed */
    bool refusal_reported;   /* the log has said that the system refuses threads */
    bool depth_hinted;       /* and what the depths of an image look like */
    void *cpu_voxels;        /* memory of the CPU's voxelization, reused, or NULL */
    void *cpu_ndt;           /* memory of CPU registrations by ndt, kept for the next one, or NULL */
    void *cpu_depth;         /* memory of CPU registrations of depth frames, or NULL */
    pcgpu_context **helpers; /* contexts of `threads` concurrent registrations, one per thread, or NULL; an entry is
                                NULL until it is needed */
    int simd_limit;          /* for tests: the widest vectors to use as a pc_simd, plus 1; 0 = the machine's */
};

/* The widest vectors of this machine that the context may use. */
pc_simd pc_context_simd(const pcgpu_context *context);

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
