/* Registration by cells on CUDA: the kernel (lib/register/ndt/ndt.c says what the method is).
 *
 * Idea: one launch from points to the transform. The blocks of a group make the cells of the target and then follow the
 * path of the registration to its end, with a barrier of the group between what depends on each other; the host sends
 * the points and waits. Integer atomics add up points, so their order does not matter; cells are numbered by their
 * first points and summed in the order of ndt_math.h, so the bits are the CPU's. Several pairs run side by side, each
 * on its own group: a cluster of blocks, or blocks of a cooperative launch.
 * ndt_jobs.cu has the memory and the copies. */
#include "ndt_sums.cuh"

/* Words of a struct, by all threads of a block. */
__device__ static void copy_words(void *to, const void *from, size_t bytes) {
    for (size_t i = threadIdx.x; i < bytes / sizeof(uint32_t); i += PC_CELLS_THREADS) {
        ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
    }
}

__device__ static void begin_task(const pc_cells_task *task, pc_cells_shared *shared) {
    copy_words(&shared->path, &task->path, sizeof shared->path);
    copy_words(shared->count, task->told->count, sizeof shared->count);
    __syncthreads();
    if (threadIdx.x == 0) {
        shared->tag = task->told->tag + 1;
        shared->held_set = -1;
        shared->grids[0] = task->told->last[0];
        shared->grids[1] = task->told->last[1];
        shared->grid_count = task->told->last_count;
    }
    if (!(task->work & PC_CELLS_MEASURED)) {
        pc_cells_measure_of(task, shared->making.squares, &shared->path.target);
    }
    __syncthreads();
}

__device__ static void end_task(const pc_cells_task *task, const pc_cells_shared *shared) {
    copy_words(&task->result->path, &shared->path, sizeof shared->path);
    copy_words(task->result->added, shared->sums[0], sizeof task->result->added);
    copy_words(task->told->count, shared->count, sizeof shared->count);
    if (threadIdx.x == 0) {
        task->result->overflow = 0;
        task->told->last[0] = shared->grids[0];
        task->told->last[1] = shared->grids[1];
        task->told->last_count = shared->grid_count;
        task->told->tag = shared->tag - 1;
    }
}

__device__ static void run_task(pc_cells_group *g, const pc_cells_task *task, pc_cells_shared *shared) {
    const uint32_t work = task->work;
    if (work & PC_CELLS_PART) {
        pc_cells_take_parts(g, task);
    }
    if (work & PC_CELLS_MAKE) {
        pc_cells_make(g, task, &shared->making);
    } else if (work & PC_CELLS_PART) {
        pc_cells_meet(g);
    }
    if (task->told->overflow) {
        if (g->rank == 0 && threadIdx.x == 0) {
            task->result->overflow = 1;
        }
        return;
    }
    begin_task(task, shared);
    const pc_cells_command *command = &shared->path.command;
    if (work & PC_CELLS_FOLLOW) {
        pc_cells_follow(g, task, shared);
    }
    if (work & PC_CELLS_PASS) {
        pc_cells_add_source(g, task, &command->pass, shared);
        pc_cells_meet(g);
    }
    if (work & PC_CELLS_SUM) {
        pc_cells_sum_chunks(g, task, command->step, 1, shared);
        pc_cells_collect(task, 1, shared);
    }
    pc_cells_meet(g); /* nobody reads any more what is now written */
    if (g->rank == 0) {
        end_task(task, shared);
    }
}

/* `blocks` work on a task; groups take one after the other. counters: one for each group, at 0; NULL for clusters. */
__global__ void __launch_bounds__(PC_CELLS_THREADS, 1)
    cells_kernel(const pc_cells_task *tasks, int count, int blocks, uint32_t *counters) {
    __shared__ pc_cells_shared shared;
    const int group = (int)blockIdx.x / blocks, groups = (int)gridDim.x / blocks;
    pc_cells_group g = {(int)blockIdx.x % blocks, blocks, NULL, 0};
    if (counters) {
        g.arrived = counters + group * (int)(PC_CELLS_COUNTER / sizeof *counters);
    }
    for (int t = group; t < count; t += groups) {
        run_task(&g, &tasks[t], &shared);
        __syncthreads();
    }
}

/* ---- launching --------------------------------------------------------------------------------------------------- */

static cudaLaunchConfig_t configuration(int groups, int blocks, bool cluster, cudaLaunchAttribute *attribute,
                                        cudaStream_t stream) {
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3((unsigned)(groups * blocks));
    config.blockDim = dim3(PC_CELLS_THREADS);
    config.stream = stream;
    config.attrs = attribute;
    config.numAttrs = 1;
    if (cluster) {
        attribute->id = cudaLaunchAttributeClusterDimension;
        attribute->val.clusterDim = {(unsigned)blocks, 1, 1};
    } else {
        attribute->id = cudaLaunchAttributeCooperative;
        attribute->val.cooperative = 1;
    }
    return config;
}

pcgpu_status pc_cells_resident(pcgpu_context *context, int blocks, bool cluster, int *groups) {
    const struct cudaDeviceProp *p = &pc_cuda_of(context)->properties;
    *groups = 0;
    if (cluster && (p->major < 9 || blocks > 16)) {
        return PCGPU_OK;
    }
    if (cluster) {
        cudaLaunchAttribute attribute;
        if (blocks > 8) {
            CUDA_TRY(context, cudaFuncSetAttribute((const void *)cells_kernel,
                                                   cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
        }
        cudaLaunchConfig_t config = configuration(1, blocks, true, &attribute, NULL);
        if (cudaOccupancyMaxActiveClusters(groups, cells_kernel, &config) != cudaSuccess) {
            cudaGetLastError(); /* a size that the device does not offer */
            *groups = 0;
        }
        return PCGPU_OK;
    }
    int a_multiprocessor = 0;
    CUDA_TRY(context,
             cudaOccupancyMaxActiveBlocksPerMultiprocessor(&a_multiprocessor, cells_kernel, PC_CELLS_THREADS, 0));
    *groups = (p->cooperativeLaunch ? a_multiprocessor * p->multiProcessorCount : 1) / blocks;
    return PCGPU_OK;
}

pcgpu_status pc_cells_launch(pcgpu_context *context, const pc_cells_task *tasks, int count, int groups, int blocks,
                             bool cluster, uint32_t *counters) {
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t config = configuration(groups, blocks, cluster, &attribute, pc_cuda_of(context)->stream);
    CUDA_TRY(context,
             cudaLaunchKernelEx(&config, cells_kernel, tasks, count, blocks, cluster ? (uint32_t *)NULL : counters));
    return PCGPU_OK;
}
