/* Farthest point sampling among columns of records: memory, transfers, launches. The idea is in
 * sample_columns_kernel.cuh. */
#include "launch.cuh"
#include "sample_columns_kernel.cuh"
#include "sample_wave.cuh"

typedef void columns_function(const columns_launch);

/* How clouds of at most n points run: *clouds of them in one launch. */
typedef struct columns_plan {
    bool cluster;
    int clouds;
    size_t bytes; /* of shared memory */
} columns_plan;

static cudaLaunchConfig_t configuration(pcgpu_context *context, const columns_plan *plan, int blocks,
                                        cudaLaunchAttribute *attribute) {
    *attribute = pc_cooperative();
    if (plan->cluster) {
        attribute->id = cudaLaunchAttributeClusterDimension;
        attribute->val.clusterDim = {(unsigned)blocks, 1, 1};
    }
    cudaLaunchConfig_t config =
        pc_launch_config(context, (unsigned)(plan->clouds * blocks), THREADS, plan->bytes, attribute);
    config.numAttrs = plan->cluster || blocks > 1;
    return config;
}

/* Permits the kernel its shared memory and cluster size; *fits: whether the device can run it. */
static pcgpu_status permit(pcgpu_context *context, columns_plan *plan, int blocks, bool *fits) {
    const void *kernel = plan->cluster ? (const void *)columns_cluster_kernel : (const void *)columns_kernel;
    const size_t most = pc_cuda_of(context)->properties.sharedMemPerBlockOptin - VARIABLES;
    CUDA_TRY(context, cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)most));
    if (plan->cluster) {
        cudaLaunchAttribute attribute;
        int resident = 0;
        CUDA_TRY(context, cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
        const cudaLaunchConfig_t config = configuration(context, plan, blocks, &attribute);
        if (cudaOccupancyMaxActiveClusters(&resident, columns_cluster_kernel, &config) != cudaSuccess) {
            cudaGetLastError(); /* a cluster size that the device does not support */
        }
        *fits = resident > 0;
    }
    return PCGPU_OK;
}

/* A cluster per cloud where its blocks hold the points; else all multiprocessors. More blocks than hold the points are
 * taken while each has a point per thread and all clouds run at the same time. */
static pcgpu_status make_plan(pcgpu_context *context, int64_t n, int count, columns_launch *g, columns_plan *plan) {
    const struct cudaDeviceProp *device = &pc_cuda_of(context)->properties;
    const size_t point = (size_t)(g->dimensions + 1) * sizeof(float), inbox = INBOX * sizeof(word);
    const int64_t held = (int64_t)((device->sharedMemPerBlockOptin - VARIABLES - inbox) / point);
    const int processors = device->multiProcessorCount;
    *plan = columns_plan{false, count < CLOUDS ? count : (int)CLOUDS, inbox};
    for (int blocks = device->major >= 9 ? (int)PC_MOST_BLOCKS : 0; blocks > 0 && blocks * held >= n; blocks /= 2) {
        const bool smaller_fits = blocks > 1 && blocks / 2 * held >= n;
        bool fits = false;
        if (smaller_fits && (blocks * plan->clouds > processors || n <= blocks / 2 * (int64_t)THREADS)) {
            continue;
        }
        plan->cluster = true;
        plan->bytes = inbox + (size_t)((n + blocks - 1) / blocks) * point;
        PC_TRY(permit(context, plan, blocks, &fits));
        if (fits) {
            g->blocks = blocks;
            g->resident = true;
            return PCGPU_OK;
        }
    }
    plan->cluster = false;
    plan->clouds = plan->clouds < processors ? plan->clouds : processors;
    const int64_t useful = (n + THREADS - 1) / THREADS, most = processors / plan->clouds;
    g->blocks = !device->cooperativeLaunch ? 1 : (int)(useful < most ? useful : most);
    g->blocks = g->blocks < THREADS ? g->blocks : (int)THREADS;
    const int64_t slice = (n + g->blocks - 1) / g->blocks;
    g->resident = slice <= held;
    plan->bytes = inbox + (g->resident ? (size_t)slice * point : 0);
    return permit(context, plan, g->blocks, NULL);
}

/* The memory of a launch; `from_host`: with the points, the seeds and the picks. Returns the number of picks. */
static int64_t lay_out(pc_carving *l, const pc_sample_job *jobs, const columns_plan *plan, bool from_host,
                       columns_launch *g) {
    const size_t clouds = (size_t)plan->clouds;
    int64_t picks = 0;
    g->mailboxes = (word *)pc_carve(l, plan->cluster ? 0 : clouds * 2 * (size_t)g->blocks * sizeof(word));
    for (int i = 0; i < plan->clouds; i++) {
        columns_cloud *c = &g->clouds[i];
        const size_t floats = (size_t)c->n * (size_t)g->dimensions;
        c->memory = (float *)pc_carve(l, g->resident ? 0 : (floats + (size_t)c->n) * sizeof(float));
        if (from_host) {
            c->data = (const float *)pc_carve(l, floats * sizeof(float));
            c->seeds = (const int32_t *)pc_carve(l, (size_t)c->seed_count * sizeof(int32_t));
            c->to = picks;
            picks += jobs[i].count;
        }
    }
    if (from_host) {
        g->out.indices = pc_carve(l, (size_t)picks * sizeof(int32_t));
        g->out.distances = (float *)pc_carve(l, (size_t)picks * sizeof(float));
        g->out.picked = (int32_t *)pc_carve(l, clouds * sizeof(int32_t));
        g->rest = (float *)pc_carve(l, clouds * sizeof(float));
    }
    return picks;
}

static pcgpu_status launch(pcgpu_context *context, const columns_plan *plan, const columns_launch *g) {
    cudaLaunchAttribute attribute;
    const cudaLaunchConfig_t config = configuration(context, plan, g->blocks, &attribute);
    columns_function *kernel = plan->cluster ? columns_cluster_kernel : columns_kernel;
    if (!plan->cluster) {
        CUDA_TRY(context, cudaMemsetAsync(g->mailboxes, 0, (size_t)plan->clouds * 2 * (size_t)g->blocks * sizeof(word),
                                          pc_cuda_of(context)->stream));
    }
    CUDA_TRY(context, cudaLaunchKernelEx(&config, kernel, *g));
    return PCGPU_OK;
}

static pcgpu_status download(pcgpu_context *context, const columns_launch *g, pc_sample_job *jobs, int clouds) {
    int32_t picked[CLOUDS];
    float rest[CLOUDS];
    cudaStream_t stream = pc_cuda_of(context)->stream;
    PC_TRY(pc_cuda_down(context, picked, g->out.picked, (size_t)clouds * sizeof *picked));
    PC_TRY(pc_cuda_down(context, rest, g->rest, (size_t)clouds * sizeof *rest));
    for (int i = 0; i < clouds; i++) {
        const size_t bytes = (size_t)picked[i] * sizeof(int32_t);
        const int32_t *indices = (const int32_t *)g->out.indices + g->clouds[i].to;
        jobs[i].picked = picked[i];
        jobs[i].rest = rest[i];
        if (bytes > 0) {
            CUDA_TRY(context, cudaMemcpyAsync(jobs[i].indices, indices, bytes, cudaMemcpyDeviceToHost, stream));
            CUDA_TRY(context, cudaMemcpyAsync(jobs[i].squared, g->out.distances + g->clouds[i].to, bytes,
                                              cudaMemcpyDeviceToHost, stream));
        }
    }
    CUDA_TRY(context, cudaStreamSynchronize(stream));
    return PCGPU_OK;
}

/* Runs the jobs from `first` on as far as one launch takes them, of `from` or of the host; *done: how many. */
static pcgpu_status run_some(pcgpu_context *context, const pcgpu_clouds *from, pc_sample_job *jobs, int first,
                             int count, columns_launch *g, int *done) {
    columns_plan plan;
    pc_carving l = {};
    int64_t largest = 1;
    for (int i = first; i < count && i < first + CLOUDS; i++) {
        largest = jobs[i].n > largest ? jobs[i].n : largest;
    }
    PC_TRY(make_plan(context, largest, count - first, g, &plan));
    *done = plan.clouds;
    jobs += first;
    g->first = from ? first : 0;
    for (int i = 0; i < plan.clouds; i++) {
        columns_cloud *c = &g->clouds[i];
        const int64_t cloud = first + i;
        *c = columns_cloud{NULL, NULL, NULL, jobs[i].n, jobs[i].n, jobs[i].seed_count, jobs[i].start, jobs[i].count, 0};
        if (from) {
            c->data = from->data + pc_clouds_begin(from, cloud) * from->stride;
            c->pitch = 1;
            c->to = cloud * jobs[i].count;
        }
    }
    lay_out(&l, jobs, &plan, !from, g);
    PC_TRY(pc_carve_block(context, &pc_cuda_of(context)->arena, &l));
    lay_out(&l, jobs, &plan, !from, g);
    for (int i = 0; i < plan.clouds && !from; i++) {
        const columns_cloud *c = &g->clouds[i];
        const size_t bytes = (size_t)c->n * (size_t)g->dimensions * sizeof(float);
        PC_TRY(pc_cuda_up(context, (void *)c->data, jobs[i].x, bytes));
        if (c->seed_count) {
            PC_TRY(pc_cuda_up(context, (void *)c->seeds, jobs[i].seeds, (size_t)c->seed_count * sizeof(int32_t)));
        }
    }
    PC_TRY(launch(context, &plan, g));
    return from ? PCGPU_OK : download(context, g, jobs, plan.clouds);
}

/* g has what all launches share. */
static pcgpu_status run_all(pcgpu_context *context, const pcgpu_clouds *from, pc_sample_job *jobs, int count,
                            columns_launch *g) {
    CUDA_TRY(context, cudaSetDevice(pc_cuda_of(context)->index));
    for (int first = 0, done = 0; first < count; first += done) {
        PC_TRY(run_some(context, from, jobs, first, count, g, &done));
    }
    return PCGPU_OK;
}

pcgpu_status pc_cuda_sample_columns(pcgpu_context *context, pc_sample_job *jobs, int count) {
    columns_launch g = {};
    g.record = 1;
    g.dimensions = jobs[0].dimensions;
    g.min_distance = jobs[0].min_distance;
    g.out.index_bytes = 4;
    for (int k = 0; k < g.dimensions; k++) {
        g.column[k] = (unsigned char)k;
    }
    return run_all(context, NULL, jobs, count, &g);
}

pcgpu_status pc_cuda_sample_columns_device(pcgpu_context *context, const pcgpu_clouds *from,
                                           const pcgpu_sample_params *p, pc_sample_job *jobs,
                                           const pcgpu_device_picks *picks) {
    columns_launch g = {};
    g.record = from->stride;
    g.dimensions = p->column_count;
    g.drop_origin = p->drop_origin;
    g.metres = true;
    g.min_distance = p->min_distance;
    g.out = *picks;
    for (int k = 0; k < g.dimensions; k++) {
        g.column[k] = (unsigned char)p->columns[k];
    }
    return run_all(context, from, jobs, (int)from->count, &g);
}
