/* Method ndt on CUDA: the kernel. lib/register/ndt/ndt.c describes the method.
 *
 * Idea: one launch from points to the transform. The blocks of a group build the voxels of the target and then run the
 * optimizer to its end, with a barrier of the group between dependent steps. The host sends the points and waits.
 * Integer atomics add up points, so their order does not matter; voxels are numbered by their first points and summed
 * in the order of ndt_math.h, so the bits are the CPU's. Several pairs run side by side, each on its own group of
 * blocks of a cooperative launch. ndt_jobs.cu has the memory and the copies. */
#include "launch.cuh"
#include "ndt_sums.cuh"

/* Words of a struct, by all threads of a block. */
__device__ static void copy_words(void *to, const void *from, size_t bytes) {
    for (size_t i = threadIdx.x; i < bytes / sizeof(uint32_t); i += PC_NDT_THREADS) {
        ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
    }
}

__device__ static void begin_task(const pc_ndt_task *task, pc_ndt_shared *shared) {
    copy_words(&shared->optimizer, &task->optimizer, sizeof shared->optimizer);
    copy_words(shared->count, task->persistent->count, sizeof shared->count);
    __syncthreads();
    if (threadIdx.x == 0) {
        shared->tag = task->persistent->tag + 1;
        shared->held_set = -1;
    }
    if (!(task->work & PC_NDT_MEASURED)) {
        pc_ndt_measure_of(task, shared->making.squares, &shared->optimizer.target);
    }
    __syncthreads();
}

__device__ static void end_task(const pc_ndt_task *task, const pc_ndt_shared *shared) {
    copy_words(&task->result->optimizer, &shared->optimizer, sizeof shared->optimizer);
    copy_words(task->persistent->count, shared->count, sizeof shared->count);
    if (threadIdx.x == 0) {
        task->result->overflow = 0;
        task->persistent->tag = shared->tag - 1;
    }
}

__device__ static void run_task(pc_ndt_group *g, const pc_ndt_task *task, pc_ndt_shared *shared) {
    const uint32_t work = task->work;
    if (work & PC_NDT_PART) {
        pc_ndt_take_parts(g, task);
    }
    if (work & PC_NDT_MAKE) {
        pc_ndt_make(g, task, &shared->making);
    } else if (work & PC_NDT_PART) {
        pc_ndt_barrier(g);
    }
    if (task->persistent->overflow) {
        if (g->rank == 0 && threadIdx.x == 0) {
            task->result->overflow = 1;
        }
        return;
    }
    begin_task(task, shared);
    if (work & PC_NDT_FOLLOW) {
        pc_ndt_follow(g, task, shared);
    }
    pc_ndt_barrier(g); /* all blocks have read what is overwritten now */
    if (g->rank == 0) {
        end_task(task, shared);
    }
}

/* `blocks` blocks form a group; a group takes one task after the other. counters: one per group, 0 at first. */
__global__ void __launch_bounds__(PC_NDT_THREADS, 1)
    ndt_kernel(const pc_ndt_task *tasks, int count, int blocks, uint32_t *counters) {
    __shared__ pc_ndt_shared shared;
    const int group = (int)blockIdx.x / blocks, groups = (int)gridDim.x / blocks;
    pc_ndt_group g = {(int)blockIdx.x % blocks, blocks, counters + group * (int)(PC_NDT_COUNTER / sizeof *counters), 0};
    for (int t = group; t < count; t += groups) {
        run_task(&g, &tasks[t], &shared);
        __syncthreads();
    }
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

pcgpu_status pc_ndt_resident(pcgpu_context *context, int *blocks) {
    return pc_resident_blocks(context, ndt_kernel, PC_NDT_THREADS, blocks);
}

pcgpu_status pc_ndt_launch(pcgpu_context *context, const pc_ndt_task *tasks, int count, int groups, int blocks,
                           uint32_t *counters) {
    return pc_launch_cooperative(context, (unsigned)(groups * blocks), PC_NDT_THREADS, ndt_kernel, tasks, count, blocks,
                                 counters);
}
