/* The local map of a sequence on CUDA: its memory and the host's part. The kernel is in ndt_merge.cu.
 *
 * The local map never leaves the device. One launch builds the voxels of a scan, merges them and reports the number of
 * voxels. If they exceed the capacity, the kernel reports that before it merges anything; the host allocates more
 * memory, and the next launch begins by moving the voxels there. */
#include "ndt_cuda.h"
#include "ndt_sequence.cuh"

#include <stdlib.h>
#include <string.h>

enum { FIRST_VOXELS = 1 << 14 };

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Of all zero but capacities and bits. */
static void carve_memory(pc_carving *c, pc_ndt_local_map_memory *r, int levels) {
    size_t chunks = 0;
    for (int i = 0; i <= levels; i++) {
        const size_t capacity = r->capacity[i];
        pc_ndt_layer *g = &r->grid[i];
        const bool shifted = i == levels;
        g->shift = PC_NDT_BITS + (shifted ? 0 : i);
        g->half = shifted ? 1 << (PC_NDT_BITS - 1) : 0;
        g->slots = (pc_ndt_slot *)pc_carve(c, sizeof *g->slots << r->bits[i]);
        g->blocks = (pc_ndt_block *)pc_carve(c, (capacity / PC_NDT_LANES + 1) * sizeof *g->blocks);
        for (int k = 0; k < PC_NDT_SOURCES; k++) {
            g->source[k] = (uint4 *)pc_carve(c, capacity * sizeof *g->source[k]);
        }
        for (int k = 0; k < 2; k++) {
            r->keys[i][k] = (uint64_t *)pc_carve(c, capacity * sizeof *r->keys[i][k]);
            r->moments[i][k] = (pc_ndt_moments *)pc_carve(c, capacity * sizeof *r->moments[i][k]);
        }
        if (i == 0 || shifted) { /* those of level 0, which are summed together */
            chunks += capacity / PC_NDT_CHUNK + 1;
        } else if (chunks < capacity / PC_NDT_CHUNK + 1) {
            chunks = capacity / PC_NDT_CHUNK + 1;
        }
    }
    r->mailbox_half = PC_NDT_MOST_SUMS * chunks * PC_NDT_SUMS;
    r->mailbox = (uint4 *)pc_carve(c, 2 * r->mailbox_half * sizeof *r->mailbox);
}

/* Allocates memory for `capacity` voxels of each grid. */
static pcgpu_status open_memory(pcgpu_context *context, const uint32_t capacity[PC_NDT_GRIDS], int levels,
                                pc_ndt_local_map_memory *r) {
    pc_carving size = {NULL, 0}, c = {NULL, 0};
    memset(r, 0, sizeof *r);
    for (int i = 0; i <= levels; i++) {
        r->capacity[i] = capacity[i];
        for (r->bits[i] = 1; (uint64_t)1 << r->bits[i] < 2 * (uint64_t)capacity[i]; r->bits[i]++) {
        }
    }
    carve_memory(&size, r, levels);
    CUDA_TRY(context, cudaMalloc((void **)&r->memory, size.used));
    c.base = r->memory;
    carve_memory(&c, r, levels);
    /* Messages carry the number of their command, which keeps counting in new memory. */
    CUDA_TRY(context,
             cudaMemsetAsync(r->mailbox, 0, 2 * r->mailbox_half * sizeof *r->mailbox, pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

static size_t persistent_bytes(void) {
    return (sizeof(pc_ndt_persistent) + 255) / 256 * 256;
}

/* Kept only once it is clear: the next call would take it as it is. */
static pcgpu_status take_merge(pcgpu_context *context, pc_ndt_sequence *s) {
    void *memory = NULL;
    CUDA_TRY(context, cudaMalloc(&memory, persistent_bytes() + sizeof(pc_ndt_merge_task)));
    const cudaError_t cleared = cudaMemsetAsync(memory, 0, persistent_bytes(), pc_cuda_of(context)->stream);
    if (cleared != cudaSuccess) {
        cudaFree(memory);
    }
    CUDA_TRY(context, cleared);
    s->merge_device = (char *)memory;
    return PCGPU_OK;
}

/* For the first model of a sequence. */
static pcgpu_status start_local_map(pcgpu_context *context, pc_ndt_sequence *s, int levels) {
    uint32_t capacity[PC_NDT_GRIDS];
    if (!s->merge_device) {
        PC_TRY(pc_ndt_merge_resident(context, &s->merge_resident));
        PC_TRY(pc_take_pinned(context, &s->merge, sizeof(pc_ndt_merge_task)));
        PC_TRY(pc_take_pinned(context, &s->merged, sizeof(pc_ndt_merge_result)));
        PC_TRY(take_merge(context, s));
    }
    for (int i = 0; i <= levels; i++) {
        capacity[i] = FIRST_VOXELS >> (i < levels ? i : 0);
    }
    return s->local_map.memory ? PCGPU_OK : open_memory(context, capacity, levels, &s->local_map);
}

void pc_ndt_sequence_free_local_map(pc_ndt_sequence *s) {
    cudaFree(s->local_map.memory);
    cudaFree(s->kept.memory);
    cudaFree(s->merge_device);
    cudaFreeHost(s->merge.memory);
    cudaFreeHost(s->merged.memory);
}

/* ---- a scan ------------------------------------------------------------------------------------------------------ */

static void describe_merge(const pc_ndt_sequence *s, const pc_ndt_merge *m, const pc_ndt_measure *measure,
                           pc_ndt_merge_task *f) {
    const int levels = m->scan.levels;
    memset(f, 0, sizeof *f);
    for (int i = 0; i <= levels; i++) {
        const int level = i < levels ? i : 0;
        f->grid[i].most = pc_ndt_most_at(m->most, level);
        for (int k = 0; k < 3; k++) {
            f->grid[i].by[k] = pc_ndt_move_at(m->move[k], levels, level);
        }
    }
    f->forget = m->forget;
    f->rebuild = m->forget || m->move[0] != 0 || m->move[1] != 0 || m->move[2] != 0;
    f->renew = m->renew;
    f->all = f->rebuild || f->renew;
    memcpy(f->center, measure->center, sizeof f->center);
    memcpy(f->limit, m->scan.map.limit, sizeof f->limit);
    f->persistent = (pc_ndt_persistent *)s->merge_device;
    f->result = (pc_ndt_merge_result *)s->merged.memory;
}

/* Where voxels are and where they go. */
static void lay_grids(const pc_ndt_local_map_memory *from, const pc_ndt_local_map_memory *to, int to_now, int levels,
                      pc_ndt_merge_task *f) {
    for (int i = 0; i <= levels; i++) {
        pc_ndt_merge_grid *g = &f->grid[i];
        g->at = to->grid[i];
        g->at.keys = to->keys[i][to_now];
        g->at.moments = to->moments[i][to_now];
        g->capacity = to->capacity[i];
        g->bits = to->bits[i];
        g->keys = from->keys[i][from->now];
        g->moments = from->moments[i][from->now];
    }
}

/* Sends the parameters, launches, and waits. */
static pcgpu_status run_merge(pcgpu_context *context, pc_ndt_sequence *s, int place, const pc_ndt_merge *m,
                              const pc_ndt_merge_task *f, int64_t voxels) {
    header h;
    memcpy(s->merge.memory, f, sizeof *f);
    pc_ndt_merge_task *there = (pc_ndt_merge_task *)(s->merge_device + persistent_bytes());
    PC_TRY(pc_cuda_up(context, there, s->merge.memory, sizeof *f));
    PC_TRY(pc_ndt_sequence_lay(context, s, place, &m->scan));
    PC_TRY(pc_ndt_sequence_upload(context, s, 0, &h));
    const int64_t work = f->rebuild || f->renew ? 2 * m->scan.n + voxels : 2 * m->scan.n;
    PC_TRY(pc_ndt_merge_launch(context, h.step[0].tasks, there, blocks_for(work, s->merge_resident, 1),
                               h.step[0].counters));
    return pc_ndt_sequence_wait(context, s);
}

static pcgpu_status copy_on_device(pcgpu_context *context, void *to, const void *from, size_t bytes) {
    CUDA_TRY(context, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

/* Voxels keep their ids in larger memory, and those that do not change keep their means and weights. */
static pcgpu_status copy_blocks(pcgpu_context *context, const pc_ndt_local_map_memory *from, int levels,
                                pc_ndt_local_map_memory *to) {
    for (int i = 0; i <= levels; i++) {
        const size_t blocks = from->capacity[i] / PC_NDT_LANES + 1;
        PC_TRY(copy_on_device(context, to->grid[i].blocks, from->grid[i].blocks, blocks * sizeof(pc_ndt_block)));
    }
    return PCGPU_OK;
}

/* Allocates larger memory for the voxels of `f`. */
static pcgpu_status grow(pcgpu_context *context, const pc_ndt_sequence *s, int levels, const pc_ndt_merge_result *r,
                         pc_ndt_local_map_memory *larger) {
    uint32_t capacity[PC_NDT_GRIDS];
    for (int i = 0; i <= levels; i++) {
        const uint64_t twice = 2 * (uint64_t)r->voxels[i];
        if (twice > (1u << 30)) {
            return pc_fail_memory(context, twice * 400, "the voxels of the model on the GPU");
        }
        capacity[i] = r->voxels[i] > s->local_map.capacity[i] ? (uint32_t)twice : s->local_map.capacity[i];
    }
    pcgpu_status status = open_memory(context, capacity, levels, larger);
    if (status == PCGPU_OK) {
        status = copy_blocks(context, &s->local_map, levels, larger);
    }
    if (status != PCGPU_OK) {
        cudaFree(larger->memory);
        larger->memory = NULL;
    }
    return status;
}

/* Adds the scan, with `larger` memory where the local map's is too small, which becomes the local map's then. */
static pcgpu_status merge(pcgpu_context *context, pc_ndt_sequence *s, int place, const pc_ndt_merge *m,
                          pc_ndt_merge_task *f, int64_t voxels, pc_ndt_local_map_memory *larger) {
    const int levels = m->scan.levels;
    const pc_ndt_merge_result *r = (const pc_ndt_merge_result *)s->merged.memory;
    for (;;) {
        pc_ndt_local_map_memory *to = larger->memory ? larger : &s->local_map;
        const int to_now = larger->memory ? 0 : f->rebuild ? !to->now : to->now;
        lay_grids(&s->local_map, to, to_now, levels, f);
        PC_TRY(run_merge(context, s, place, m, f, voxels));
        if (r->lacking == PC_NDT_SCAN_LACKS) {
            PC_TRY(pc_ndt_sequence_widen(context, s));
            continue;
        }
        if (larger->memory) {
            cudaFree(s->local_map.memory);
            s->local_map = *larger;
            larger->memory = NULL;
        }
        s->local_map.now = to_now;
        if (r->lacking == PC_NDT_ALL_FIT) {
            return PCGPU_OK;
        }
        f->forget = false; /* that, and moving, is done */
        f->rebuild = true;
        for (int i = 0; i <= levels; i++) {
            memset(f->grid[i].by, 0, sizeof f->grid[i].by);
        }
        PC_TRY(grow(context, s, levels, r, larger));
    }
}

/* The task as it is for registrations to the local map. */
static void be_target(pc_ndt_sequence *s, const pc_ndt_merge *m) {
    pc_ndt_task *t = &s->task;
    const pc_ndt_local_map_memory *r = &s->local_map;
    memset(t, 0, sizeof *t);
    t->target.levels = m->scan.levels;
    for (int i = 0; i <= m->scan.levels; i++) {
        pc_ndt_layer *g = &t->grid[i < m->scan.levels ? i : (int)PC_NDT_SHIFTED];
        *g = r->grid[i];
        g->keys = r->keys[i][r->now];
        g->moments = r->moments[i][r->now];
    }
    t->mailbox = r->mailbox;
    t->mailbox_half = r->mailbox_half;
    t->persistent = (pc_ndt_persistent *)s->merge_device;
    s->on_local_map = true;
}

extern "C" pcgpu_status pc_cuda_ndt_sequence_merge(pcgpu_context *context, void *state, int place,
                                                   const struct pc_ndt_merge *m, struct pc_ndt_measure *measure) {
    pc_ndt_sequence *s = (pc_ndt_sequence *)state;
    const pc_ndt_merge_result *r = NULL;
    pc_ndt_local_map_memory larger = {};
    pc_ndt_merge_task f;
    if (s->pending) {
        PC_TRY(pc_ndt_sequence_wait(context, s));
    }
    PC_TRY(start_local_map(context, s, m->scan.levels));
    describe_merge(s, m, measure, &f);
    pcgpu_status status = merge(context, s, place, m, &f, measure->voxels, &larger);
    cudaFree(larger.memory);
    PC_TRY(status);
    r = (const pc_ndt_merge_result *)s->merged.memory;
    if (m->renew) {
        *measure = r->measure;
    }
    measure->voxels = (int64_t)r->voxels[0] - 1;
    be_target(s, m);
    return PCGPU_OK;
}

/* ---- a local map that is cut from another one -------------------------------------------------------------------- */

static size_t counts_bytes(void) {
    return sizeof((pc_ndt_persistent *)NULL)->count;
}

static void carve_kept(pc_carving *c, pc_ndt_kept_voxels *k, int levels) {
    k->count = (pc_ndt_count *)pc_carve(c, counts_bytes());
    for (int i = 0; i <= levels; i++) {
        k->keys[i] = (uint64_t *)pc_carve(c, k->voxels[i] * sizeof *k->keys[i]);
        k->moments[i] = (pc_ndt_moments *)pc_carve(c, k->voxels[i] * sizeof *k->moments[i]);
    }
}

/* The local map's memory stays, and has the capacity for any part of the voxels. */
extern "C" pcgpu_status pc_cuda_ndt_sequence_keep(pcgpu_context *context, void *state) {
    pc_ndt_sequence *s = (pc_ndt_sequence *)state;
    const pc_ndt_local_map_memory *r = &s->local_map;
    const pc_ndt_merge_result *merged = (const pc_ndt_merge_result *)s->merged.memory;
    const int levels = s->task.target.levels;
    pc_ndt_kept_voxels *k = &s->kept;
    pc_carving size = {NULL, 0}, c = {NULL, 0};
    cudaFree(k->memory);
    memset(k, 0, sizeof *k);
    memcpy(k->voxels, merged->voxels, (size_t)(levels + 1) * sizeof *k->voxels);
    carve_kept(&size, k, levels);
    CUDA_TRY(context, cudaMalloc((void **)&k->memory, size.used));
    c.base = k->memory;
    carve_kept(&c, k, levels);
    PC_TRY(copy_on_device(context, k->count, ((const pc_ndt_persistent *)s->merge_device)->count, counts_bytes()));
    for (int i = 0; i <= levels; i++) {
        PC_TRY(copy_on_device(context, k->keys[i], r->keys[i][r->now], k->voxels[i] * sizeof *k->keys[i]));
        PC_TRY(copy_on_device(context, k->moments[i], r->moments[i][r->now], k->voxels[i] * sizeof *k->moments[i]));
    }
    return PCGPU_OK;
}

/* The merge of a scan without points, whose rebuild takes the kept voxels in place of those that the map has. */
extern "C" pcgpu_status pc_cuda_ndt_sequence_cut(pcgpu_context *context, void *state, const struct pc_ndt_merge *m,
                                                 struct pc_ndt_measure *measure) {
    pc_ndt_sequence *s = (pc_ndt_sequence *)state;
    const int levels = m->scan.levels;
    pc_ndt_kept_voxels *k = &s->kept;
    pc_ndt_merge_task f;
    int64_t voxels = 0;
    if (s->pending) {
        PC_TRY(pc_ndt_sequence_wait(context, s));
    }
    describe_merge(s, m, measure, &f);
    lay_grids(&s->local_map, &s->local_map, s->local_map.now, levels, &f);
    f.rebuild = f.all = true;
    for (int i = 0; i <= levels; i++) {
        f.grid[i].keys = k->keys[i];
        f.grid[i].moments = k->moments[i];
        voxels += k->voxels[i];
    }
    PC_TRY(copy_on_device(context, ((pc_ndt_persistent *)s->merge_device)->count, k->count, counts_bytes()));
    PC_TRY(run_merge(context, s, 0, m, &f, voxels));
    measure->voxels = (int64_t)((const pc_ndt_merge_result *)s->merged.memory)->voxels[0] - 1;
    be_target(s, m);
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_ndt_sequence_voxels(pcgpu_context *context, void *state, int grid, int64_t capacity,
                                                    int64_t *count, uint64_t *keys, struct pc_ndt_moments *moments,
                                                    struct pc_ndt_block *blocks) {
    const pc_ndt_sequence *s = (const pc_ndt_sequence *)state;
    const pc_ndt_local_map_memory *r = &s->local_map;
    const int levels = s->task.target.levels, now = r->now;
    pc_ndt_persistent persistent;
    PC_TRY(pc_cuda_down(context, &persistent, s->merge_device, sizeof persistent));
    *count = persistent.count[grid < levels ? grid : (int)PC_NDT_SHIFTED].voxels;
    const size_t n = (size_t)(*count < capacity ? *count : capacity), whole = (n + PC_NDT_LANES - 1) / PC_NDT_LANES;
    PC_TRY(pc_cuda_down(context, keys, r->keys[grid][now], n * sizeof *keys));
    PC_TRY(pc_cuda_down(context, moments, r->moments[grid][now], n * sizeof *moments));
    return pc_cuda_down(context, blocks, r->grid[grid].blocks, whole * sizeof *blocks);
}
