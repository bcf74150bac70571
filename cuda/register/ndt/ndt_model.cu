/* The model of a sequence on CUDA: its memory, and what the host has to do with it; the kernel is in
 * ndt_fold.cu.
 *
 * The model never leaves the device. A scan is one launch: its cells are made and added, and the host is told how many
 * cells there are now. Where they do not fit, the kernel has said so before it added anything, the host makes a larger
 * piece of memory, and the next launch begins with bringing the cells there. */
#include "ndt_cuda.h"
#include "ndt_scans.cuh"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CELLS = 1 << 14 };

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Of all zero but capacities and bits. */
static void carve_room(carving *c, pc_cells_room *r, int levels) {
    size_t chunks = 0;
    for (int i = 0; i <= levels; i++) {
        const size_t capacity = r->capacity[i];
        pc_cells_layer *g = &r->grid[i];
        const bool shifted = i == levels;
        g->shift = PC_CELLS_BITS + (shifted ? 0 : i);
        g->half = shifted ? 1 << (PC_CELLS_BITS - 1) : 0;
        g->slots = (pc_cells_slot *)carve(c, sizeof *g->slots << r->bits[i]);
        g->blocks = (pc_cells_block *)carve(c, (capacity / PC_CELLS_LANES + 1) * sizeof *g->blocks);
        for (int k = 0; k < PC_CELLS_SOURCES; k++) {
            g->source[k] = (uint4 *)carve(c, capacity * sizeof *g->source[k]);
        }
        for (int k = 0; k < 2; k++) {
            r->keys[i][k] = (uint64_t *)carve(c, capacity * sizeof *r->keys[i][k]);
            r->moments[i][k] = (pc_cells_moments *)carve(c, capacity * sizeof *r->moments[i][k]);
        }
        if (i == 0 || shifted) { /* those of level 0, which are summed together */
            chunks += capacity / PC_CELLS_CHUNK + 1;
        } else if (chunks < capacity / PC_CELLS_CHUNK + 1) {
            chunks = capacity / PC_CELLS_CHUNK + 1;
        }
    }
    r->notes_half = PC_CELLS_MOST_SUMS * chunks * PC_CELLS_SUMS;
    r->notes = (uint4 *)carve(c, 2 * r->notes_half * sizeof *r->notes);
}

/* Room for so many cells of each grid. */
static pcgpu_status open_room(pcgpu_context *context, const uint32_t capacity[PC_CELLS_GRIDS], int levels,
                              pc_cells_room *r) {
    carving size = {NULL, 0}, c = {NULL, 0};
    memset(r, 0, sizeof *r);
    for (int i = 0; i <= levels; i++) {
        r->capacity[i] = capacity[i];
        for (r->bits[i] = 1; (uint64_t)1 << r->bits[i] < 2 * (uint64_t)capacity[i]; r->bits[i]++) {
        }
    }
    carve_room(&size, r, levels);
    CUDA_TRY(context, cudaMalloc((void **)&r->memory, size.used));
    c.base = r->memory;
    carve_room(&c, r, levels);
    /* Notes count commands, which go on from room to room. */
    CUDA_TRY(context, cudaMemsetAsync(r->notes, 0, 2 * r->notes_half * sizeof *r->notes, pc_cuda_of(context)->stream));
    return PCGPU_OK;
}

static size_t told_bytes(void) {
    return (sizeof(pc_cells_told) + 255) / 256 * 256;
}

/* Kept only once it is clear: the next call would take it as it is. */
static pcgpu_status take_fold(pcgpu_context *context, pc_cells_scans *s) {
    void *memory = NULL;
    CUDA_TRY(context, cudaMalloc(&memory, told_bytes() + sizeof(pc_cells_fold)));
    const cudaError_t cleared = cudaMemsetAsync(memory, 0, told_bytes(), pc_cuda_of(context)->stream);
    if (cleared != cudaSuccess) {
        cudaFree(memory);
    }
    CUDA_TRY(context, cleared);
    s->fold_device = (char *)memory;
    return PCGPU_OK;
}

/* For the first model of a sequence. */
static pcgpu_status start_model(pcgpu_context *context, pc_cells_scans *s, int levels) {
    uint32_t capacity[PC_CELLS_GRIDS];
    if (!s->fold_device) {
        PC_TRY(pc_cells_fold_resident(context, &s->fold_resident));
        PC_TRY(take_pinned(context, &s->fold, sizeof(pc_cells_fold)));
        PC_TRY(take_pinned(context, &s->folded, sizeof(pc_cells_fold_result)));
        PC_TRY(take_fold(context, s));
    }
    for (int i = 0; i <= levels; i++) {
        capacity[i] = FIRST_CELLS >> (i < levels ? i : 0);
    }
    return s->model.memory ? PCGPU_OK : open_room(context, capacity, levels, &s->model);
}

void pc_cells_scans_free_model(pc_cells_scans *s) {
    cudaFree(s->model.memory);
    cudaFree(s->fold_device);
    cudaFreeHost(s->fold.memory);
    cudaFreeHost(s->folded.memory);
}

/* ---- a scan ------------------------------------------------------------------------------------------------------ */

static void describe_fold(const pc_cells_scans *s, const pc_cells_model *m, const pc_cells_measure *measure,
                          pc_cells_fold *f) {
    const int levels = m->scan.levels;
    memset(f, 0, sizeof *f);
    for (int i = 0; i <= levels; i++) {
        const int level = i < levels ? i : 0;
        f->grid[i].most = pc_cells_most_at(m->most, level);
        for (int k = 0; k < 3; k++) {
            f->grid[i].by[k] = pc_cells_move_at(m->move[k], levels, level);
        }
    }
    f->forget = m->forget;
    f->anew = m->forget || m->move[0] != 0 || m->move[1] != 0 || m->move[2] != 0;
    f->renew = m->renew;
    memcpy(f->center, measure->center, sizeof f->center);
    memcpy(f->limit, m->scan.map.limit, sizeof f->limit);
    f->told = (pc_cells_told *)s->fold_device;
    f->result = (pc_cells_fold_result *)s->folded.memory;
}

/* Where cells are and where they go. */
static void lay_grids(const pc_cells_room *from, const pc_cells_room *to, int to_now, int levels, pc_cells_fold *f) {
    for (int i = 0; i <= levels; i++) {
        pc_cells_folded *g = &f->grid[i];
        g->at = to->grid[i];
        g->at.keys = to->keys[i][to_now];
        g->at.moments = to->moments[i][to_now];
        g->capacity = to->capacity[i];
        g->bits = to->bits[i];
        g->keys = from->keys[i][from->now];
        g->moments = from->moments[i][from->now];
    }
}

/* The launch, with all that it is told, and its end. */
static pcgpu_status run_fold(pcgpu_context *context, pc_cells_scans *s, int place, const pc_cells_model *m,
                             const pc_cells_fold *f, int64_t cells) {
    header h;
    memcpy(s->fold.memory, f, sizeof *f);
    pc_cells_fold *there = (pc_cells_fold *)(s->fold_device + told_bytes());
    PC_TRY(pc_cuda_up(context, there, s->fold.memory, sizeof *f));
    PC_TRY(pc_cells_scans_lay(context, s, place, &m->scan));
    PC_TRY(pc_cells_scans_tell(context, s, 0, &h));
    const int64_t work = f->anew || f->renew ? 2 * m->scan.n + cells : 2 * m->scan.n;
    PC_TRY(pc_cells_fold_launch(context, h.step[0].tasks, there, blocks_for(work, s->fold_resident, 1),
                                h.step[0].counters));
    return pc_cells_scans_wait(context, s);
}

/* The cells of `f` go on in a larger room. */
static pcgpu_status grow(pcgpu_context *context, const pc_cells_scans *s, int levels, const pc_cells_fold_result *r,
                         pc_cells_room *larger) {
    uint32_t capacity[PC_CELLS_GRIDS];
    for (int i = 0; i <= levels; i++) {
        const uint64_t twice = 2 * (uint64_t)r->cells[i];
        if (twice > (1u << 30)) {
            return pc_fail_memory(context, twice * 400, "the cells of the model on the GPU");
        }
        capacity[i] = r->cells[i] > s->model.capacity[i] ? (uint32_t)twice : s->model.capacity[i];
    }
    pcgpu_status status = open_room(context, capacity, levels, larger);
    if (status != PCGPU_OK) {
        cudaFree(larger->memory);
        larger->memory = NULL;
    }
    return status;
}

/* Adds the scan, with `larger` memory where the model's is too small, which becomes the model's then. */
static pcgpu_status fold(pcgpu_context *context, pc_cells_scans *s, int place, const pc_cells_model *m,
                         pc_cells_fold *f, int64_t cells, pc_cells_room *larger) {
    const int levels = m->scan.levels;
    const pc_cells_fold_result *r = (const pc_cells_fold_result *)s->folded.memory;
    for (;;) {
        pc_cells_room *to = larger->memory ? larger : &s->model;
        const int to_now = larger->memory ? 0 : f->anew ? !to->now : to->now;
        lay_grids(&s->model, to, to_now, levels, f);
        PC_TRY(run_fold(context, s, place, m, f, cells));
        if (r->lacking == PC_CELLS_SCAN_LACKS) {
            PC_TRY(pc_cells_scans_widen(context, s));
            continue;
        }
        if (larger->memory) {
            cudaFree(s->model.memory);
            s->model = *larger;
            larger->memory = NULL;
        }
        s->model.now = to_now;
        if (r->lacking == PC_CELLS_ALL_FIT) {
            return PCGPU_OK;
        }
        f->forget = false; /* that, and moving, is done */
        f->anew = true;
        for (int i = 0; i <= levels; i++) {
            memset(f->grid[i].by, 0, sizeof f->grid[i].by);
        }
        PC_TRY(grow(context, s, levels, r, larger));
    }
}

/* The task as it is for registrations to the model. */
static void be_target(pc_cells_scans *s, const pc_cells_model *m) {
    pc_cells_task *t = &s->task;
    const pc_cells_room *r = &s->model;
    memset(t, 0, sizeof *t);
    t->target.levels = m->scan.levels;
    for (int i = 0; i <= m->scan.levels; i++) {
        pc_cells_layer *g = &t->grid[i < m->scan.levels ? i : (int)PC_CELLS_SHIFTED];
        *g = r->grid[i];
        g->keys = r->keys[i][r->now];
        g->moments = r->moments[i][r->now];
    }
    t->notes = r->notes;
    t->notes_half = r->notes_half;
    t->told = (pc_cells_told *)s->fold_device;
    s->on_model = true;
}

extern "C" pcgpu_status pc_cuda_scans_model(pcgpu_context *context, void *state, int place,
                                            const struct pc_cells_model *m, struct pc_cells_measure *measure) {
    pc_cells_scans *s = (pc_cells_scans *)state;
    const pc_cells_fold_result *r = NULL;
    pc_cells_room larger = {};
    pc_cells_fold f;
    if (s->pending) {
        PC_TRY(pc_cells_scans_wait(context, s));
    }
    PC_TRY(start_model(context, s, m->scan.levels));
    describe_fold(s, m, measure, &f);
    pcgpu_status status = fold(context, s, place, m, &f, measure->cells, &larger);
    cudaFree(larger.memory);
    PC_TRY(status);
    r = (const pc_cells_fold_result *)s->folded.memory;
    if (m->renew) {
        *measure = r->measure;
    }
    measure->cells = (int64_t)r->cells[0] - 1;
    be_target(s, m);
    return PCGPU_OK;
}

extern "C" pcgpu_status pc_cuda_scans_cells(pcgpu_context *context, void *state, int grid, int64_t capacity,
                                            int64_t *count, uint64_t *keys, struct pc_cells_moments *moments,
                                            struct pc_cells_block *blocks) {
    const pc_cells_scans *s = (const pc_cells_scans *)state;
    const pc_cells_room *r = &s->model;
    const int levels = s->task.target.levels, now = r->now;
    pc_cells_told told;
    PC_TRY(pc_cuda_down(context, &told, s->fold_device, sizeof told));
    *count = told.count[grid < levels ? grid : (int)PC_CELLS_SHIFTED].cells;
    const size_t n = (size_t)(*count < capacity ? *count : capacity), whole = (n + PC_CELLS_LANES - 1) / PC_CELLS_LANES;
    PC_TRY(pc_cuda_down(context, keys, r->keys[grid][now], n * sizeof *keys));
    PC_TRY(pc_cuda_down(context, moments, r->moments[grid][now], n * sizeof *moments));
    return pc_cuda_down(context, blocks, r->grid[grid].blocks, whole * sizeof *blocks);
}
