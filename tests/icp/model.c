/* The model of a sequence, scan by scan, on every back end: model cpu|cuda [SEED] [STEPS [POINTS]].
 *
 * Scans that are made here are folded into a model of one thread of the CPU and into another, of three threads or on
 * CUDA, while the box moves, jumps away from all that it had, begins anew, and cells fill up. After each scan the cells
 * of all grids must be the same, byte for byte and in the same order: keys, moments, means and weights. Every few scans
 * the scan is registered to both models, whose paths must be the same to the last bit; before that, to one scan.
 * Exit code 0 passed, 1 failed, 77 no such device. */
#include "ndt_cpu.h"
#include "ndt_ops.h"
#include "simd.h"
#include "ndt_cuda.h"
#include "ndt_path.h"
#include "icp_test.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 1 << 16, MOST_CELLS = 1 << 20, SHIFTED = PC_CELLS_MAX_LEVELS };

/* A model that is compared. */
typedef struct side {
    pcgpu_context *context;
    const pc_backend *backend;
    void *device; /* the sequence, or NULL */
    pc_cells_measure measure;
} side;

/* Of one grid. */
typedef struct cells {
    int64_t count;
    uint64_t *keys;
    pc_cells_moments *moments;
    pc_cells_block *blocks;
} cells;

static side reference, other;
static float xyz[3 * MOST_POINTS];
static cells got;

/* ---- scans ----------------------------------------------------------------------------------------------------- */

static const double per_quantum = 2048.0; /* cells of 0.5 m; the box is one of 64 m about 0 */

static const char *const kinds[] = {"anywhere", "walls", "on faces", "one place", "outside", "empty"};
enum { KINDS = 6 };

static float coordinate(int kind, int64_t i, int axis) {
    switch (kind) {
    case 0: return 60.0f * random_unit() - 30.0f;
    case 1:
        return axis == (int)(i % 3) ? 2.0f * (float)(i % 7) - 5.0f + 0.02f * random_unit()
                                    : 20.0f * random_unit() - 10.0f;
    case 2: return 0.25f * (float)(random_bits() % 200) - 25.0f; /* faces of the cells of both grids */
    case 3: return 1.5f;
    default: return 200.0f * random_unit() - 100.0f; /* mostly outside */
    }
}

static int64_t make_scan(int kind, int64_t most) {
    const int64_t n = kind == KINDS - 1 ? 0 : 1 + (int64_t)(random_bits() % (uint64_t)most);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            xyz[k * n + i] = coordinate(kind, i, k);
        }
    }
    return n;
}

static pc_cells_frame frame_of_box(void) {
    pc_cells_frame f = {.quantum = 1.0 / per_quantum, .per_quantum = per_quantum};
    for (int k = 0; k < 3; k++) {
        f.origin[k] = -32.0;
        f.limit[k] = 64.0f * (float)per_quantum;
    }
    return f;
}

static pc_cells_target describe_scan(int64_t n, int levels, const pc_pose *pose) {
    const pc_cells_frame frame = frame_of_box();
    pc_cells_target t = {.n = n,
                         .x = xyz,
                         .y = xyz + n,
                         .z = xyz + 2 * n,
                         .map = pc_cells_map_at(&frame, pose),
                         .quantum = frame.quantum,
                         .noise = 0.0275,
                         .widening = 0.05,
                         .levels = levels};
    memcpy(t.origin, frame.origin, sizeof t.origin);
    return t;
}

/* ---- on a side --------------------------------------------------------------------------------------------------- */

static bool add(side *s, int place, const pc_cells_model *m) {
    if (!s->device) {
        return s->backend->ndt->model(s->context, m, &s->measure) == PCGPU_OK;
    }
    const size_t n = (size_t)m->scan.n;
    void *memory = NULL;
    float *to;
    if (s->backend->ndt->scans_memory(s->context, s->device, place, 3 * n * sizeof *to + 1, &memory) != PCGPU_OK) {
        return false;
    }
    to = memory;
    memcpy(to, xyz, 3 * n * sizeof *to);
    return s->backend->ndt->scans_send(s->context, s->device, place, m->scan.n, to, to + n, to + 2 * n) == PCGPU_OK &&
           s->backend->ndt->scans_model(s->context, s->device, place, m, &s->measure) == PCGPU_OK;
}

static bool look(const side *s, int grid, int levels, cells *out) {
    if (s->device) {
        return pc_cuda_scans_cells(s->context, s->device, grid, MOST_CELLS, &out->count, out->keys, out->moments,
                                   out->blocks) == PCGPU_OK;
    }
    const pc_cells_grid *g = &((const pc_cells_state *)s->context->cpu_cells)->model[grid < levels ? grid : SHIFTED];
    *out = (cells){.count = g->count, .keys = g->keys, .moments = g->moments, .blocks = g->blocks};
    return true;
}

static bool same_lane(const pc_cells_block *a, const pc_cells_block *b, int l) {
    const float *x = (const float *)a, *y = (const float *)b;
    bool same = true;
    for (size_t row = 0; row < sizeof *a / sizeof(float) / PC_CELLS_LANES && same; row++) {
        same = memcmp(&x[row * PC_CELLS_LANES + (size_t)l], &y[row * PC_CELLS_LANES + (size_t)l], sizeof *x) == 0;
    }
    return same;
}

static void compare(int levels, const char *name, int64_t step) {
    const pc_cells_measure *a = &reference.measure, *b = &other.measure;
    expect(memcmp(a->center, b->center, sizeof a->center) == 0 && memcmp(a->lever, b->lever, sizeof a->lever) == 0 &&
               a->cells == b->cells,
           name, "measure", "the same", step);
    for (int grid = 0; grid <= levels; grid++) {
        cells wanted, there = got;
        bool good = look(&reference, grid, levels, &wanted) && look(&other, grid, levels, &there);
        expect(good && wanted.count == there.count, name, "cells of a grid", "as many", step);
        if (!good || wanted.count != there.count || wanted.count > MOST_CELLS) {
            continue;
        }
        const size_t n = (size_t)wanted.count;
        expect(memcmp(wanted.keys + 1, there.keys + 1, (n - 1) * sizeof *there.keys) == 0, name, "keys", "in order",
               step);
        expect(memcmp(wanted.moments + 1, there.moments + 1, (n - 1) * sizeof *there.moments) == 0, name, "moments",
               "the same", step);
        bool same = true;
        for (int64_t i = 1; i < wanted.count; i++) {
            same = same && same_lane(&wanted.blocks[i / PC_CELLS_LANES], &there.blocks[i / PC_CELLS_LANES],
                                     (int)(i % PC_CELLS_LANES));
        }
        expect(same, name, "means and weights", "the same", step);
    }
}

/* ---- registration ------------------------------------------------------------------------------------------------ */

static bool follow(side *s, int place, pc_cells_job *job) {
    double sums[PC_CELLS_MOST_SUMS][PC_CELLS_SUMS];
    pc_cells_path *path = &job->path;
    path->target = s->measure;
    if (s->device) {
        return s->backend->ndt->scans_register(s->context, s->device, place, job) == PCGPU_OK;
    }
    bool good = s->backend->ndt->source(s->context, &job->source) == PCGPU_OK;
    pc_cells_path_begin(path);
    while (good && path->end == PC_CELLS_UNDER_WAY) {
        const pc_cells_command *c = &path->command;
        good = !c->passes || s->backend->ndt->pass(s->context, &c->pass) == PCGPU_OK;
        for (int i = 0; i < c->sums && good; i++) {
            good = s->backend->ndt->sum(s->context, &c->step[i], sums[i]) == PCGPU_OK;
        }
        pc_cells_path_next(path, sums);
    }
    return good;
}

static void check_path(int place, int64_t n, int levels, const char *name, int64_t step) {
    const int64_t most[PC_SETS] = {300, 700, 1 << 19};
    pc_cells_job job = {.source = {.n = n, .x = xyz, .y = xyz + n, .z = xyz + 2 * n},
                        .path = {.frame = frame_of_box(),
                                 .levels = levels,
                                 .max_iterations = 3,
                                 .edge = 0.5,
                                 .metres = 1e-4,
                                 .radians = 1e-5,
                                 .start = {.q = {1, 0, 0, 0}, .t = {0.05, -0.02, 0.01}}}};
    for (int i = 0; i < PC_SETS; i++) {
        job.source.every[i] = (n + most[i] - 1) / most[i];
        job.path.points[i] = job.source.points[i] = n / job.source.every[i];
    }
    pc_cells_job jobs[2] = {job, job};
    bool good = follow(&reference, place, &jobs[0]) && follow(&other, place, &jobs[1]);
    const pc_cells_path *a = &jobs[0].path, *b = &jobs[1].path;
    expect(good && a->end == b->end && memcmp(&a->pose, &b->pose, sizeof a->pose) == 0 &&
               a->converged == b->converged && memcmp(a->iterations, b->iterations, sizeof a->iterations) == 0 &&
               memcmp(a->worth, b->worth, sizeof a->worth) == 0,
           name, "path", "the same", step);
}

/* ---- a sequence -------------------------------------------------------------------------------------------------- */

/* Moves of the box in its widest cells: mostly none, and sometimes so far that nothing is left. */
static bool choose_move(int32_t move[3]) {
    const uint64_t what = random_bits() % 20;
    for (int k = 0; k < 3; k++) {
        move[k] = what < 12 ? 0 : what < 19 ? (int32_t)(random_bits() % 5) - 2 : 1000000000;
    }
    return move[0] || move[1] || move[2];
}

static void check_sequence(int levels, int64_t most, int steps, int64_t points) {
    int dropped = 0;
    int64_t largest = 0;
    for (int step = 0; step < steps; step++) {
        const int kind = step < 2 ? 1 : (int)(random_bits() % KINDS), place = step % PC_SCANS;
        pc_pose pose = {.q = {1, 0.01 * (double)random_unit(), 0, 0.05 * (double)random_unit()},
                        .t = {3.0 * (double)random_unit(), -2.0 * (double)random_unit(), 0.1}};
        if (kind == 2) {
            pose = (pc_pose){.q = {1, 0, 0, 0}}; /* so that they stay on the faces */
        }
        pc_quaternion_normalize(pose.q);
        const int64_t n = make_scan(kind, points), before = reference.measure.cells;
        pc_cells_model m = {
            .scan = describe_scan(n, levels, &pose), .forget = step == 0 || random_bits() % 40 == 0, .most = most};
        m.renew = m.forget || random_bits() % 4 == 0;
        m.renew = (!m.forget && choose_move(m.move)) || m.renew;
        expect(add(&reference, place, &m) && add(&other, place, &m), kinds[kind], "a scan",
               pcgpu_last_error(other.context), step);
        compare(levels, kinds[kind], step);
        dropped += reference.measure.cells < before;
        largest = reference.measure.cells > largest ? reference.measure.cells : largest;
        if (step % 4 == 1 && n > 0) {
            check_path(place, n, levels, kinds[kind], step);
        }
    }
    printf("%d levels, up to %lld points a cell: %d scans, up to %lld cells, fewer than before %d times\n", levels,
           (long long)most, steps, (long long)largest, dropped);
    expect(dropped > 0 || steps < 30, "sequence", "the box", "drops cells", levels);
}

/* One scan as the target: of more cells than a device makes room for at first, which it finds when it is followed. */
static void check_target(int64_t n) {
    static const pc_pose identity = {.q = {1, 0, 0, 0}};
    const int levels = 3, place = 1;
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            xyz[k * n + i] = coordinate(0, i, k);
        }
    }
    const pc_cells_target t = describe_scan(n, levels, &identity);
    bool good = reference.backend->ndt->target(reference.context, &t, &reference.measure) == PCGPU_OK;
    if (other.device) {
        void *memory = NULL;
        good = good && other.backend->ndt->scans_memory(other.context, other.device, place, 3 * (size_t)n * sizeof *xyz,
                                                   &memory) == PCGPU_OK;
        float *to = memory;
        if (good) {
            memcpy(to, xyz, 3 * (size_t)n * sizeof *to);
            good =
                other.backend->ndt->scans_send(other.context, other.device, place, n, to, to + n, to + 2 * n) == PCGPU_OK &&
                other.backend->ndt->scans_target(other.context, other.device, place, &t) == PCGPU_OK;
        }
    } else {
        good = good && other.backend->ndt->target(other.context, &t, &other.measure) == PCGPU_OK;
    }
    expect(good, "target", "making it", pcgpu_last_error(other.context), n);
    check_path(place, n, levels, "target", 0);
    check_path(place, n, levels, "target", 1);
}

/* Both sides begin with nothing. */
static void open_sides(bool cuda) {
    reference = (side){.context = open_context(PCGPU_DEVICE_CPU, 1), .backend = &pc_backend_cpu};
    other = (side){.context = open_context(cuda ? PCGPU_DEVICE_CUDA : PCGPU_DEVICE_CPU, cuda ? 1 : 3),
                   .backend = cuda ? pc_backend_cuda() : &pc_backend_cpu};
    if (cuda && other.backend->ndt->scans_open(other.context, &other.device) != PCGPU_OK) {
        expect(false, "sequence", "opening", pcgpu_last_error(other.context), 0);
        exit(1);
    }
}

static void close_sides(void) {
    if (other.device) {
        other.backend->ndt->scans_close(other.context, other.device);
    }
    pcgpu_close(reference.context);
    pcgpu_close(other.context);
}

int main(int argc, char **argv) {
    static const struct form {
        int levels;
        int64_t most;
    } forms[] = {{3, 200}, {4, 5}, {1, 1}, {6, INT32_MAX}};
    const bool cuda = argc > 1 && strcmp(argv[1], "cuda") == 0;
    const int steps = argc > 3 ? atoi(argv[3]) : 120;
    const int64_t points = argc > 4 ? atoll(argv[4]) : 12000;
    (void)fill_room, (void)fill_line;
    if (points < 1 || points > MOST_POINTS) {
        fprintf(stderr, "model: 1 to %d points\n", MOST_POINTS);
        return 2;
    }
    state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    got = (cells){.keys = malloc(MOST_CELLS * sizeof *got.keys),
                  .moments = malloc(MOST_CELLS * sizeof *got.moments),
                  .blocks = malloc(MOST_CELLS / PC_CELLS_LANES * sizeof *got.blocks)};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && got.keys && got.moments && got.blocks; i++) {
        open_sides(cuda);
        check_target(i == 0 ? 12000 : 500);
        check_sequence(forms[i].levels, forms[i].most, steps, points);
        close_sides();
    }
    free(got.keys);
    free(got.moments);
    free(got.blocks);
    printf("model: %d checks, %d failed\n", checks, failures);
    return failures || checks == 0 ? 1 : 0;
}
