/* Farthest point sampling on CUDA: which clouds run in one launch, with which variant and how many blocks. */
#include "sample_plan.cuh"

#include <stdlib.h>

enum {
    CLUSTER_MESSAGES = 64, /* at most; fewer when the points need the shared memory */
    LEAST_MESSAGES = 16,
    LEAST_LIST = 768, /* grid only; longer where shared memory permits, for clouds with many equal distances */
    MOST_LIST = 1536,
    LIST_STEP = 128,
    FEW_BUCKETS = 64,       /* per block: every round examines each bucket */
    FAMILIES_PER_BLOCK = 2, /* minimum for using more blocks: each block adds cost to the exchange */
    STORED_BUCKETS = 2048,  /* per block, for points in global memory */
    GRID_POINTS = 8192,     /* minimum size of a single cloud for the whole device */
    MOST_CLOUDS = 65535,    /* the second dimension of a launch */
    WAVE_POINTS = 1 << 26,  /* of several clouds in one launch; a larger cloud runs alone */
};

/* The target number of buckets per round for one block: their comparison takes about as long as the exchange. All pairs
 * are compared, so the target grows with the square root of the number of blocks. */
#define CLUSTER_TARGET 60.0f
#define GRID_TARGET    26.0f

static int64_t families_of(int64_t n, int bucket_points) {
    return (pc_runs_of(n, bucket_points) + PC_FAMILY - 1) / PC_FAMILY;
}

/* The shape for clouds of at most n points on `blocks` blocks each. Every block has one family, or up to a tenth of its
 * buckets, in addition to its partition, as its part of the pool for split buckets. */
static pc_rounds_shape make_shape(int64_t n, int blocks, bool cluster, bool stored, int bucket_points) {
    pc_rounds_shape s = {};
    s.threads = cluster ? (int)PC_CLUSTER_THREADS : (int)PC_GRID_THREADS;
    s.blocks = blocks;
    s.workers = cluster ? blocks : blocks - 1;
    s.bucket_points = stored ? bucket_points : PC_RUN;
    const int warps = s.threads / 32;
    int64_t per_worker = (pc_runs_of(n, s.bucket_points) + s.workers - 1) / s.workers,
            few = per_worker + per_worker / 10 + 1;
    int64_t passes =
        (per_worker + warps - 1) / warps; /* one bucket per warp; another pass for the pool costs more than it gains */
    few = few < passes * warps ? few : passes * warps;
    s.chunk_log = few <= FEW_BUCKETS && !stored ? 0 : (int)PC_FAMILY_LOG;
    s.buckets = s.chunk_log == 0 ? (int)few
                                 : (int)((families_of(n, s.bucket_points) + s.workers - 1) / s.workers + 1) * PC_FAMILY;
    s.messages = cluster ? (int)CLUSTER_MESSAGES : (int)PC_GRID_MESSAGES;
    s.fresh = blocks * (cluster ? s.messages : (int)PC_GRID_ACCEPTS);
    s.list = cluster ? 0 : LEAST_LIST;
    s.stored = stored;
    s.target = (cluster ? CLUSTER_TARGET : GRID_TARGET) * sqrtf((float)s.workers);
    return s;
}

/* Plans a cluster of this size for the wave; *fits = false when the device cannot run it. */
static pcgpu_status try_cluster(pcgpu_context *context, pc_wave *w, int blocks, bool *fits) {
    int resident = 0;
    *fits = false;
    pc_rounds_shape s = make_shape(w->largest, blocks, true, false, PC_RUN);
    const size_t most = pc_sample_rounds_most(context);
    while (s.messages > LEAST_MESSAGES && pc_sample_rounds_bytes(&s, true) > most) {
        s.messages -= 8;
        s.fresh = blocks * s.messages;
    }
    PC_TRY(pc_sample_rounds_resident(context, &s, true, &resident));
    if (resident > 0) {
        *fits = true;
        w->cluster = true;
        w->shape = s;
    }
    return PCGPU_OK;
}

/* Plans a cluster for the wave: as many blocks as the largest cloud repays while all clouds are resident; more blocks
 * only where the cloud does not fit into fewer. */
static pcgpu_status plan_cluster(pcgpu_context *context, pc_wave *w, int wanted, bool *fits) {
    const int multiprocessors = pc_cuda_of(context)->properties.multiProcessorCount;
    *fits = false;
    for (int blocks = 1; blocks <= PC_MOST_BLOCKS; blocks *= 2) {
        bool larger = (int64_t)blocks * w->count <= multiprocessors &&
                      families_of(w->largest, PC_RUN) >= (int64_t)blocks * FAMILIES_PER_BLOCK;
        if (wanted ? blocks == wanted : !*fits || larger) {
            bool this_fits;
            PC_TRY(try_cluster(context, w, blocks, &this_fits));
            *fits = *fits || this_fits;
        }
    }
    return PCGPU_OK;
}

/* Plans a grid: all resident blocks of the device, partitioned among the clouds. */
static pcgpu_status plan_grid(pcgpu_context *context, pc_wave *w, const pc_cuda_sample_variant *variant, bool *fits) {
    const int multiprocessors = pc_cuda_of(context)->properties.multiProcessorCount;
    const size_t most = pc_sample_rounds_most(context);
    *fits = false;
    w->cluster = false;
    int clouds = multiprocessors / (variant->blocks > 2 ? variant->blocks : 2); /* at least a worker and the manager */
    clouds = clouds > 1 ? clouds : 1; /* with too many blocks, *fits becomes false */
    w->count = w->count < clouds ? w->count : clouds;
    int64_t useful = pc_runs_of(w->largest, PC_RUN) / 16 + 2, blocks = multiprocessors / w->count;
    blocks = variant->blocks ? variant->blocks : useful < blocks ? useful : blocks;
    blocks = blocks < PC_GRID_BLOCKS ? blocks : (int64_t)PC_GRID_BLOCKS;
    blocks = blocks > 2 ? blocks : 2;
    w->shape = make_shape(w->largest, (int)blocks, false, variant->stored,
                          variant->bucket_points ? variant->bucket_points : PC_RUN);
    if (!variant->stored && pc_sample_rounds_bytes(&w->shape, false) > most) {
        w->shape = make_shape(w->largest, (int)blocks, false, true, PC_RUN);
    }
    for (int points = PC_RUN; w->shape.stored && !variant->bucket_points; points *= 2) {
        w->shape = make_shape(w->largest, (int)blocks, false, true, points);
        if (w->shape.buckets <= STORED_BUCKETS && pc_sample_rounds_bytes(&w->shape, false) <= most) {
            break;
        }
    }
    pc_rounds_shape larger = w->shape;
    while (larger.list <= MOST_LIST && pc_sample_rounds_bytes(&larger, false) <= most) {
        w->shape = larger;
        larger.list += LIST_STEP;
    }
    int resident = 0;
    PC_TRY(pc_sample_rounds_resident(context, &w->shape, false, &resident));
    *fits = resident >= w->count * w->shape.blocks;
    return PCGPU_OK;
}

/* `points` stays 0, since the plan may reduce the count. */
static pc_wave gather_wave(const pc_sample_job *jobs, int first, int count) {
    pc_wave w = {};
    int64_t points = 0;
    w.first = first;
    for (int i = first; i < count; i++) {
        int64_t largest = jobs[i].n > w.largest ? jobs[i].n : w.largest;
        bool countable = w.count < MOST_CLOUDS && w.count < 1ll << (32 - pc_sample_key_bits(largest));
        if (w.count && (points + jobs[i].n > WAVE_POINTS || !countable)) {
            break;
        }
        int64_t wanted = jobs[i].count;
        w.largest = largest;
        w.most_wanted = wanted > w.most_wanted ? wanted : w.most_wanted;
        points += jobs[i].n;
        w.count++;
    }
    return w;
}

static pcgpu_status plan_wave(pcgpu_context *context, pc_wave *w, const pc_cuda_sample_variant *variant, bool *fits) {
    bool choose = variant->kind == PC_CUDA_SAMPLE_CHOOSE && !variant->stored;
    *fits = false;
    if (choose && w->count == 1 && w->largest >= GRID_POINTS) {
        PC_TRY(plan_grid(context, w, variant, fits));
    }
    if (!*fits && variant->kind != PC_CUDA_SAMPLE_GRID && !variant->stored) {
        PC_TRY(plan_cluster(context, w, variant->blocks, fits));
    }
    if (!*fits && variant->kind != PC_CUDA_SAMPLE_CLUSTER) {
        PC_TRY(plan_grid(context, w, variant, fits));
    }
    return PCGPU_OK;
}

/* A plan asks the driver what fits the device, which takes 30 us; clouds of one size follow each other. */
typedef struct last_plan {
    int count;
    int64_t largest;
    pc_wave wave;
    bool fits;
} last_plan;

pcgpu_status pc_plan_wave(pcgpu_context *context, pc_wave *w, const pc_cuda_sample_variant *variant, bool *fits) {
    pc_cuda *cuda = pc_cuda_of(context);
    if (variant->kind != PC_CUDA_SAMPLE_CHOOSE || variant->blocks || variant->bucket_points || variant->stored) {
        return plan_wave(context, w, variant, fits);
    }
    last_plan *last = (last_plan *)(cuda->sample_plan ? cuda->sample_plan : calloc(1, sizeof(last_plan)));
    if (!last) {
        return pc_fail_memory(context, sizeof *last, "the plan of sampling");
    }
    cuda->sample_plan = last;
    if (last->count != w->count || last->largest != w->largest) {
        const int count = w->count;
        last->count = 0;
        PC_TRY(plan_wave(context, w, variant, fits));
        *last = last_plan{count, w->largest, *w, *fits};
        return PCGPU_OK;
    }
    w->count = last->wave.count;
    w->cluster = last->wave.cluster;
    w->shape = last->wave.shape;
    *fits = last->fits;
    return PCGPU_OK;
}

pcgpu_status pc_next_wave(pcgpu_context *context, const pc_sample_job *jobs, int first, int count,
                          const pc_cuda_sample_variant *variant, pc_wave *w) {
    bool fits;
    *w = gather_wave(jobs, first, count);
    PC_TRY(pc_plan_wave(context, w, variant, &fits));
    for (int i = 0; i < w->count; i++) {
        w->points += jobs[first + i].n;
    }
    return fits ? PCGPU_OK
                : pc_fail(context, PCGPU_ERROR_DEVICE,
                          "this GPU has too little memory to sample %lld points; use --cpu", (long long)w->largest);
}
