/* The local map of a sequence, scan by scan, on every back end: model cpu|cuda [SEED] [STEPS [POINTS]].
 *
 * Scans that are made here are merged into a local map of one thread of the CPU and into another, of three threads or
 * on CUDA, while the box moves, jumps away from all that it had, begins anew, and voxels fill up. After each scan the
 * voxels of all grids must be the same, byte for byte and in the same order: keys, moments, means and weights. Every
 * few scans the scan is registered to both models, whose paths must be the same to the last bit; before that, to one
 * scan. In the end, maps are cut from what there is. Exit code 0 passed, 1 failed, 77 no such device. */
#include "ndt_cpu.h"
#include "ndt_ops.h"
#include "ndt_cuda.h"
#include "../support/backends.h"

enum { MOST_POINTS = 1 << 16, MOST_VOXELS = 1 << 20, SHIFTED = PC_NDT_MAX_LEVELS };

/* A local map that is compared. */
typedef struct side {
    pcgpu_context *context;
    const pc_backend *backend;
    void *sequence;
    pc_ndt_measure measure;
} side;

/* Of one grid. */
typedef struct voxels {
    int64_t count;
    uint64_t *keys;
    pc_ndt_moments *moments;
    pc_ndt_block *blocks;
} voxels;

static side reference, other;
static float xyz[3 * MOST_POINTS];
static voxels got;

/* ---- scans ----------------------------------------------------------------------------------------------------- */

static const double per_unit = 2048.0; /* voxels of 0.5 m; the box is one of 64 m about 0 */

static const char *const kinds[] = {"anywhere", "walls", "on faces", "one place", "outside", "empty"};
enum { KINDS = 6 };

static float coordinate(int kind, int64_t i, int axis) {
    switch (kind) {
    case 0: return 60.0f * test_float(&numbers) - 30.0f;
    case 1:
        return axis == (int)(i % 3) ? 2.0f * (float)(i % 7) - 5.0f + 0.02f * test_float(&numbers)
                                    : 20.0f * test_float(&numbers) - 10.0f;
    case 2: return 0.25f * (float)(test_bits(&numbers) % 200) - 25.0f; /* faces of the voxels of both grids */
    case 3: return 1.5f;
    default: return 200.0f * test_float(&numbers) - 100.0f; /* mostly outside */
    }
}

static int64_t make_scan(int kind, int64_t most) {
    const int64_t n = kind == KINDS - 1 ? 0 : 1 + (int64_t)(test_bits(&numbers) % (uint64_t)most);
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            xyz[k * n + i] = coordinate(kind, i, k);
        }
    }
    return n;
}

static pc_ndt_frame frame_of_box(void) {
    pc_ndt_frame f = {.unit = 1.0 / per_unit, .per_unit = per_unit};
    for (int k = 0; k < 3; k++) {
        f.origin[k] = -32.0;
        f.limit[k] = 64.0f * (float)per_unit;
    }
    return f;
}

static pc_ndt_target describe_scan(int64_t n, int levels, const pc_pose *pose) {
    const pc_ndt_frame frame = frame_of_box();
    pc_ndt_target t = {.n = n,
                       .x = xyz,
                       .y = xyz + n,
                       .z = xyz + 2 * n,
                       .map = pc_ndt_map_at(&frame, pose),
                       .unit = frame.unit,
                       .sigma = 0.0275,
                       .widening = 0.05,
                       .levels = levels};
    memcpy(t.origin, frame.origin, sizeof t.origin);
    return t;
}

/* ---- on a side --------------------------------------------------------------------------------------------------- */

/* Points of a scan into the memory of the side's sequence. */
static bool send(const side *s, int scan, int64_t n) {
    void *memory = NULL;
    const size_t bytes = 3 * (size_t)n * sizeof *xyz + 1;
    if (s->backend->ndt->sequence_memory(s->context, s->sequence, scan, bytes, &memory) != PCGPU_OK) {
        return false;
    }
    float *to = memory;
    memcpy(to, xyz, bytes - 1);
    return s->backend->ndt->sequence_send(s->context, s->sequence, scan, n, to, to + n, to + 2 * n) == PCGPU_OK;
}

static bool add(side *s, int scan, const pc_ndt_merge *m) {
    return send(s, scan, m->scan.n) &&
           s->backend->ndt->sequence_merge(s->context, s->sequence, scan, m, &s->measure) == PCGPU_OK;
}

static bool look(const side *s, int grid, int levels, voxels *out) {
    if (s->backend != &pc_backend_cpu) {
        return pc_cuda_ndt_sequence_voxels(s->context, s->sequence, grid, MOST_VOXELS, &out->count, out->keys,
                                           out->moments, out->blocks) == PCGPU_OK;
    }
    const pc_ndt_grid *g =
        &((const pc_ndt_cpu_sequence *)s->sequence)->voxels.local_map[grid < levels ? grid : SHIFTED];
    *out = (voxels){.count = g->count, .keys = g->keys, .moments = g->moments, .blocks = g->blocks};
    return true;
}

static bool same_lane(const pc_ndt_block *a, const pc_ndt_block *b, int l) {
    const float *x = (const float *)a, *y = (const float *)b;
    bool same = true;
    for (size_t row = 0; row < sizeof *a / sizeof(float) / PC_NDT_LANES && same; row++) {
        same = memcmp(&x[row * PC_NDT_LANES + (size_t)l], &y[row * PC_NDT_LANES + (size_t)l], sizeof *x) == 0;
    }
    return same;
}

static void compare(int levels, const char *name, int64_t step) {
    const pc_ndt_measure *a = &reference.measure, *b = &other.measure;
    expect(memcmp(a->center, b->center, sizeof a->center) == 0 &&
               memcmp(a->gyration, b->gyration, sizeof a->gyration) == 0 && a->voxels == b->voxels,
           name, "measure", "the same", step);
    for (int grid = 0; grid <= levels; grid++) {
        voxels wanted, there = got;
        bool good = look(&reference, grid, levels, &wanted) && look(&other, grid, levels, &there);
        expect(good && wanted.count == there.count, name, "voxels of a grid", "as many", step);
        if (!good || wanted.count != there.count || wanted.count > MOST_VOXELS) {
            continue;
        }
        const size_t n = (size_t)wanted.count;
        expect(memcmp(wanted.keys + 1, there.keys + 1, (n - 1) * sizeof *there.keys) == 0, name, "keys", "in order",
               step);
        expect(memcmp(wanted.moments + 1, there.moments + 1, (n - 1) * sizeof *there.moments) == 0, name, "moments",
               "the same", step);
        bool same = true;
        for (int64_t i = 1; i < wanted.count; i++) {
            same = same && same_lane(&wanted.blocks[i / PC_NDT_LANES], &there.blocks[i / PC_NDT_LANES],
                                     (int)(i % PC_NDT_LANES));
        }
        expect(same, name, "means and weights", "the same", step);
    }
}

/* ---- registration ------------------------------------------------------------------------------------------------ */

static bool follow(const side *s, int scan, pc_ndt_job *job) {
    job->optimizer.target = s->measure;
    return s->backend->ndt->sequence_register(s->context, s->sequence, scan, job, (pc_host_work){0}) == PCGPU_OK;
}

static void check_path(int scan, int64_t n, int levels, const char *name, int64_t step) {
    const int64_t most[PC_SETS] = {300, 700, 1 << 19};
    pc_ndt_job job = {.source = {.n = n, .x = xyz, .y = xyz + n, .z = xyz + 2 * n},
                      .optimizer = {.frame = frame_of_box(),
                                    .levels = levels,
                                    .max_iterations = 3,
                                    .edge = 0.5,
                                    .reach = 2.0,
                                    .metres = 1e-4,
                                    .radians = 1e-5,
                                    .start = {.q = {1, 0, 0, 0}, .t = {0.05, -0.02, 0.01}}}};
    for (int i = 0; i < PC_SETS; i++) {
        job.source.every[i] = (n + most[i] - 1) / most[i];
        job.optimizer.points[i] = job.source.points[i] = n / job.source.every[i];
    }
    pc_ndt_job jobs[2] = {job, job};
    bool good = follow(&reference, scan, &jobs[0]) && follow(&other, scan, &jobs[1]);
    expect(good && same_optimizer(&jobs[0].optimizer, &jobs[1].optimizer), name, "path", "the same", step);
}

/* ---- a sequence -------------------------------------------------------------------------------------------------- */

/* Moves of the box in its widest voxels: mostly none, and sometimes so far that nothing is left. */
static bool choose_move(int32_t move[3]) {
    const uint64_t what = test_bits(&numbers) % 20;
    for (int k = 0; k < 3; k++) {
        move[k] = what < 12 ? 0 : what < 19 ? (int32_t)(test_bits(&numbers) % 5) - 2 : 1000000000;
    }
    return move[0] || move[1] || move[2];
}

/* Maps that are cut from the last one, whose voxels are kept; the last of the cuts has none. */
static void check_cuts(int levels, int64_t points) {
    static const pc_pose identity = {.q = {1, 0, 0, 0}};
    const int scan = 1;
    const int64_t n = make_scan(0, points);
    pc_ndt_merge m = {.scan = describe_scan(n, levels, &identity), .most = 200, .renew = true};
    side *const sides[2] = {&reference, &other};
    int64_t all = 0;
    for (int i = 0; i < 2; i++) {
        const side *s = sides[i];
        expect(add(sides[i], scan, &m) && s->backend->ndt->sequence_keep(s->context, s->sequence) == PCGPU_OK, "cut",
               "keeping", pcgpu_last_error(s->context), levels);
        all = sides[i]->measure.voxels;
    }
    m.renew = false;
    m.scan.n = 0;
    for (int cut = 0; cut < 5; cut++) {
        for (int k = 0; k < 3; k++) {
            m.move[k] = cut == 0 ? 0 : cut == 4 ? 1000000000 : (int32_t)(test_bits(&numbers) % 5) - 2;
            m.scan.map.limit[k] = (cut < 3 ? 64.0f : 24.0f) * (float)per_unit;
        }
        for (int i = 0; i < 2; i++) {
            const pc_ndt_measure given = {.center = {1.0, -2.0, 0.5}, .gyration = {9.0, 9.0, 12.0}};
            side *s = sides[i];
            s->measure = given;
            expect(s->backend->ndt->sequence_cut(s->context, s->sequence, &m, &s->measure) == PCGPU_OK, "cut",
                   "cutting", pcgpu_last_error(s->context), cut);
        }
        compare(levels, "cut", cut);
        expect(cut == 0   ? reference.measure.voxels == all
               : cut == 4 ? reference.measure.voxels == 0
                          : true,
               "cut", "voxels", "all or none", cut);
        check_path(scan, n, levels, "cut", cut);
    }
}

static void check_sequence(int levels, int64_t most, int steps, int64_t points) {
    int dropped = 0;
    int64_t largest = 0;
    for (int step = 0; step < steps; step++) {
        const int kind = step < 2 ? 1 : (int)(test_bits(&numbers) % KINDS), scan = step % PC_SCANS;
        pc_pose pose = {.q = {1, 0.01 * (double)test_float(&numbers), 0, 0.05 * (double)test_float(&numbers)},
                        .t = {3.0 * (double)test_float(&numbers), -2.0 * (double)test_float(&numbers), 0.1}};
        if (kind == 2) {
            pose = (pc_pose){.q = {1, 0, 0, 0}}; /* so that they stay on the faces */
        }
        pc_quaternion_normalize(pose.q);
        const int64_t n = make_scan(kind, points), before = reference.measure.voxels;
        pc_ndt_merge m = {.scan = describe_scan(n, levels, &pose),
                          .forget = step == 0 || test_bits(&numbers) % 40 == 0,
                          .most = most};
        m.renew = m.forget || test_bits(&numbers) % 4 == 0;
        m.renew = (!m.forget && choose_move(m.move)) || m.renew;
        expect(add(&reference, scan, &m) && add(&other, scan, &m), kinds[kind], "a scan",
               pcgpu_last_error(other.context), step);
        compare(levels, kinds[kind], step);
        dropped += reference.measure.voxels < before;
        largest = reference.measure.voxels > largest ? reference.measure.voxels : largest;
        if (step % 4 == 1 && n > 0) {
            check_path(scan, n, levels, kinds[kind], step);
        }
    }
    check_cuts(levels, points);
    printf("%d levels, up to %lld points a voxel: %d scans, up to %lld voxels, fewer than before %d times\n", levels,
           (long long)most, steps, (long long)largest, dropped);
    expect(dropped > 0 || steps < 30, "sequence", "the box", "drops voxels", levels);
}

/* One scan as the target: of more voxels than a device makes room for at first, which it finds when it is followed. */
static void check_target(int64_t n) {
    static const pc_pose identity = {.q = {1, 0, 0, 0}};
    const int levels = 3, scan = 1;
    for (int64_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            xyz[k * n + i] = coordinate(0, i, k);
        }
    }
    const pc_ndt_target t = describe_scan(n, levels, &identity);
    bool good = true;
    for (int i = 0; i < 2; i++) {
        const side *s = i ? &other : &reference;
        good =
            good && send(s, scan, n) && s->backend->ndt->sequence_target(s->context, s->sequence, scan, &t) == PCGPU_OK;
    }
    expect(good, "target", "making it", pcgpu_last_error(other.context), n);
    check_path(scan, n, levels, "target", 0);
    check_path(scan, n, levels, "target", 1);
}

/* Both sides begin with nothing. */
static void open_sides(bool cuda) {
    reference = (side){.context = open_context(PCGPU_DEVICE_CPU, 1, 0), .backend = &pc_backend_cpu};
    other = (side){.context = open_context(cuda ? PCGPU_DEVICE_CUDA : PCGPU_DEVICE_CPU, cuda ? 1 : 3, 0),
                   .backend = cuda ? &pc_backend_cuda : &pc_backend_cpu};
    if (reference.backend->ndt->sequence_open(reference.context, &reference.sequence) != PCGPU_OK ||
        other.backend->ndt->sequence_open(other.context, &other.sequence) != PCGPU_OK) {
        expect(false, "sequence", "opening", pcgpu_last_error(other.context), 0);
        exit(1);
    }
}

static void close_sides(void) {
    reference.backend->ndt->sequence_close(reference.context, reference.sequence);
    other.backend->ndt->sequence_close(other.context, other.sequence);
    pcgpu_close(reference.context);
    pcgpu_close(other.context);
}

void test_model(bool cuda, char **options) {
    static const struct form {
        int levels;
        int64_t most;
    } forms[] = {{3, 200}, {4, 5}, {1, 1}, {6, INT32_MAX}};
    const int steps = options[0] ? atoi(options[0]) : 60;
    const int64_t points = options[0] && options[1] ? atoll(options[1]) : 8000;
    if (points < 1 || points > MOST_POINTS) {
        fprintf(stderr, "model: 1 to %d points\n", MOST_POINTS);
        exit(2);
    }
    got = (voxels){.keys = malloc(MOST_VOXELS * sizeof *got.keys),
                   .moments = malloc(MOST_VOXELS * sizeof *got.moments),
                   .blocks = malloc(MOST_VOXELS / PC_NDT_LANES * sizeof *got.blocks)};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && got.keys && got.moments && got.blocks; i++) {
        open_sides(cuda);
        check_target(i == 0 ? 12000 : 500);
        check_sequence(forms[i].levels, forms[i].most, steps, points);
        close_sides();
    }
    free(got.keys);
    free(got.moments);
    free(got.blocks);
}
