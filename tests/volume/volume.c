/* Volumes on every back end against a plain reference, byte for byte: volume cpu|cuda [SEED].
 *
 * The reference has no hash table of its own making, no threads, no vectors and no ranges of tiles other than by
 * looking at every block for every tile; only the formulas of tsdf_math.h and tsdf_ray.h are shared. On the CPU every
 * form of vectors runs with 1, 2, 5 and 16 threads. Exit code 0 passed, 1 failed, 77 no such device. */
#include "tsdf_color.h"
#include "tsdf_ops.h"
#include "tsdf_job.h"
#include "tsdf_ray.h"
#include "../support/backends.h"
#include "room.h"

enum { MOST_FRAMES = 16 };

/* ---- frames ----------------------------------------------------------------------------------------------------- */

typedef struct frame {
    int width, height;
    uint16_t *depth;
    uint8_t *color; /* of every second frame; else NULL */
    pc_volume_job job;
} frame;

/* As lib/fuse/tsdf.c places a camera. */
static void place(frame *f, const room_camera *seen, const double T[16], double voxel, double truncation) {
    pc_volume_view *view = &f->job.view;
    const double side = 8 * voxel;
    *view = (pc_volume_view){.width = f->width,
                             .height = f->height,
                             .fx = (float)seen->fx,
                             .fy = (float)seen->fy,
                             .cx = (float)seen->cx,
                             .cy = (float)seen->cy,
                             .voxel = (float)voxel,
                             .truncation = (float)truncation,
                             .max_weight = 3.0f};
    for (int k = 0; k < 3; k++) {
        view->anchor[k] = (int32_t)floor(T[4 * k + 3] / side);
    }
    for (int k = 0; k < 3; k++) {
        double back = 0;
        for (int i = 0; i < 3; i++) {
            view->to_volume[4 * k + i] = (float)(T[4 * k + i] / voxel);
            view->to_camera[4 * k + i] = (float)(T[4 * i + k] * voxel);
            back -= T[4 * i + k] * (T[4 * i + 3] - side * view->anchor[i]);
        }
        view->to_volume[4 * k + 3] = (float)((T[4 * k + 3] - side * view->anchor[k]) / voxel);
        view->to_camera[4 * k + 3] = (float)back;
    }
    f->job.depth = f->depth;
    f->job.color = f->color;
    f->job.low = 1;
    f->job.high = 60000;
    f->job.units = (float)seen->depth_scale;
    f->job.max_blocks = 1 << 20;
}

typedef struct sequence {
    const char *name;
    int count;
    frame frames[MOST_FRAMES];
} sequence;

typedef enum kind { ROOM, NOISY, RANDOM_DEPTH, EXTREME } kind;

/* Frames on a wide path, so that some blocks are behind the camera, beside it, and seen from both sides. */
static void make(sequence *s, const char *name, kind what, int count, int width, double voxel, double truncation,
                 double shift) {
    static scene room;
    room_camera seen;
    room_camera_init(&seen, 64);
    seen.noise = what == NOISY;
    room_furnish(&room, 3);
    *s = (sequence){.name = name, .count = count};
    for (int i = 0; i < count; i++) {
        frame *f = &s->frames[i];
        scene_pose pose;
        double quaternion[4], T[16];
        room_pose(ROOM_AROUND, i * 0.19, &pose, quaternion);
        scene_pose_matrix(&pose, T);
        f->width = width;
        f->height = width == 64 ? 48 : 1 + width / 3;
        f->depth = malloc((size_t)(f->width * f->height) * sizeof *f->depth);
        if (width == 64) {
            room_frame(&room, &pose, &seen, 1, i, f->depth);
        }
        for (int k = 0; k < f->width * f->height && (width != 64 || what >= RANDOM_DEPTH); k++) {
            f->depth[k] = what == EXTREME ? (uint16_t)(k % 3 ? 0 : 59999) : (uint16_t)(test_bits(&numbers) % 4000);
        }
        for (int k = 0; k < 3; k++) {
            T[4 * k + 3] += shift;
        }
        const size_t levels = 3 * (size_t)(f->width * f->height);
        f->color = i % 2 == 0 ? malloc(levels) : NULL;
        for (size_t k = 0; f->color && k < levels; k++) {
            f->color[k] = (uint8_t)test_bits(&numbers);
        }
        place(f, &seen, T, voxel, truncation);
    }
}

static void release(sequence *s) {
    for (int i = 0; i < s->count; i++) {
        free(s->frames[i].depth);
        free(s->frames[i].color);
    }
}

/* ---- the reference ---------------------------------------------------------------------------------------------- */

enum { COLORS = PC_VOLUME_VOXELS * PC_VOLUME_COLORS }; /* of a block */

typedef struct reference {
    int64_t count, room; /* blocks, block 0 not counted */
    uint64_t *keys;
    float *distances, *weights;
    uint16_t *colors;
    int32_t *neighbours;
    uint8_t *behind, *active;
    pc_volume_slot *slots;
    uint64_t mask;
} reference;

static void reserve(reference *r, int64_t blocks) {
    r->room = blocks;
    r->keys = realloc(r->keys, (size_t)blocks * sizeof *r->keys);
    r->distances = realloc(r->distances, (size_t)blocks * PC_VOLUME_VOXELS * sizeof *r->distances);
    r->weights = realloc(r->weights, (size_t)blocks * PC_VOLUME_VOXELS * sizeof *r->weights);
    r->colors = realloc(r->colors, (size_t)blocks * COLORS * sizeof *r->colors);
}

static void add_block(reference *r, uint64_t key) {
    const int64_t b = ++r->count;
    if (b >= r->room) {
        reserve(r, 2 * b + 64);
    }
    memset(r->colors + b * COLORS, 0, COLORS * sizeof *r->colors);
    r->keys[b] = key;
    for (int i = 0; i < PC_VOLUME_VOXELS; i++) {
        r->distances[b * PC_VOLUME_VOXELS + i] = pc_volume_nan();
        r->weights[b * PC_VOLUME_VOXELS + i] = 0.0f;
    }
}

static int64_t look_for(const reference *r, uint64_t key) {
    int64_t b = r->count;
    while (b > 0 && r->keys[b] != key) {
        b--;
    }
    return b;
}

/* False: none, or out of reach. */
static bool ends_of(const frame *f, int32_t u, int32_t v, int32_t ends[6]) {
    const uint16_t d = f->depth[v * f->width + u];
    const pc_volume_view *view = &f->job.view;
    const pc_volume_segment way = pc_volume_segment_of(view, ((float)u - view->cx) / view->fx,
                                                       ((float)v - view->cy) / view->fy, pc_volume_metres(&f->job, d));
    for (int k = 0; k < 3; k++) {
        ends[k] = pc_volume_block_of(way.a[k]);
        ends[3 + k] = pc_volume_block_of(way.b[k]);
    }
    return d >= f->job.low && d < f->job.high && pc_volume_reaches(view, ends, ends + 3);
}

static void add_pixel(reference *r, frame *f, int32_t u, int32_t v) {
    const uint16_t d = f->depth[v * f->width + u];
    const pc_volume_view *view = &f->job.view;
    int32_t begin[3], end[3], before[6];
    pc_volume_walk walk;
    if (d < f->job.low || d >= f->job.high) {
        return;
    }
    const pc_volume_segment way = pc_volume_segment_of(view, ((float)u - view->cx) / view->fx,
                                                       ((float)v - view->cy) / view->fy, pc_volume_metres(&f->job, d));
    for (int k = 0; k < 3; k++) {
        begin[k] = pc_volume_block_of(way.a[k]);
        end[k] = pc_volume_block_of(way.b[k]);
    }
    if (!pc_volume_reaches(view, begin, end)) {
        f->job.unreachable++;
        return;
    }
    if (u > 0 && ends_of(f, u - 1, v, before) && memcmp(before, begin, sizeof begin) == 0 &&
        memcmp(before + 3, end, sizeof end) == 0 && pc_volume_follows(u, begin, end)) {
        return;
    }
    pc_volume_walk_begin(view, &way, begin, end, &walk);
    do {
        const uint64_t key = pc_volume_key(walk.block[0], walk.block[1], walk.block[2]);
        if (look_for(r, key) == 0) {
            add_block(r, key);
            f->job.new_blocks++;
        }
    } while (pc_volume_walk_next(&walk));
}

static void update_all(reference *r, frame *f) {
    float *inverse = malloc((size_t)(f->width * f->height) * sizeof *inverse);
    for (int i = 0; i < f->width * f->height; i++) {
        inverse[i] = pc_volume_inverse(&f->job, f->depth[i]);
    }
    const pc_volume_frame fused = {f->job.view, inverse, f->color};
    const float *T = f->job.view.to_camera;
    for (int64_t b = 1; b <= r->count; b++) {
        int32_t block[3];
        float corner[3];
        pc_volume_extent extent;
        pc_volume_unpack(r->keys[b], block);
        if (!pc_volume_seen(&f->job.view, block, &extent)) {
            continue;
        }
        f->job.updated_blocks++;
        pc_volume_corner(&f->job.view, block, corner);
        for (int i = 0; i < PC_VOLUME_VOXELS; i++) {
            const float x = (float)(i % 8), y = (float)(i / 8 % 8), z = (float)(i / 64);
            float p[3];
            for (int k = 0; k < 3; k++) {
                p[k] = ((corner[k] + T[4 * k + 2] * z) + T[4 * k + 1] * y) + T[4 * k] * x;
            }
            const int64_t at = b * PC_VOLUME_VOXELS + i;
            pc_volume_update(&fused, p[0], p[1], p[2], &r->distances[at], &r->weights[at]);
            if (f->color) {
                pc_volume_paint(&fused, p[0], p[1], p[2], r->distances[at], r->colors + at * PC_VOLUME_COLORS);
            }
        }
    }
    free(inverse);
}

static reference build(sequence *s) {
    reference r = {0};
    reserve(&r, 64);
    r.count = -1;
    add_block(&r, PC_VOLUME_EMPTY); /* block 0 */
    for (int i = 0; i < s->count; i++) {
        frame *f = &s->frames[i];
        f->job.new_blocks = f->job.updated_blocks = f->job.unreachable = 0;
        for (int32_t v = 0; v < f->height; v++) {
            for (int32_t u = 0; u < f->width; u++) {
                add_pixel(&r, f, u, v);
            }
        }
        update_all(&r, f);
    }
    return r;
}

/* What ray casting needs. The table is as the library's, but filled one by one. */
static void finish(reference *r) {
    uint64_t slots = 64;
    while (slots < 4 * (uint64_t)(r->count + 1)) {
        slots *= 2;
    }
    r->mask = slots - 1;
    r->slots = malloc(slots * sizeof *r->slots);
    r->neighbours = calloc((size_t)(r->count + 1) * PC_VOLUME_NEIGHBOURS, sizeof *r->neighbours);
    r->behind = calloc((size_t)r->count + 1, 1);
    r->active = calloc((size_t)r->count + 1, 1);
    for (uint64_t i = 0; i < slots; i++) {
        r->slots[i] = (pc_volume_slot){PC_VOLUME_EMPTY, 0};
    }
    for (int64_t b = 1; b <= r->count; b++) {
        uint64_t i = pc_hash64(r->keys[b]) & r->mask;
        while (r->slots[i].key != PC_VOLUME_EMPTY) {
            i = (i + 1) & r->mask;
        }
        r->slots[i] = (pc_volume_slot){r->keys[b], b};
        for (int k = 0; k < PC_VOLUME_VOXELS; k++) {
            r->behind[b] |= r->distances[b * PC_VOLUME_VOXELS + k] < 0.0f;
        }
    }
    for (int64_t b = 1; b <= r->count; b++) {
        int32_t at[3];
        pc_volume_unpack(r->keys[b], at);
        for (int n = 0; n < PC_VOLUME_NEIGHBOURS; n++) {
            r->neighbours[PC_VOLUME_NEIGHBOURS * b + n] = pc_volume_neighbour(r->slots, r->mask, at, n);
        }
    }
    for (int64_t b = 1; b <= r->count; b++) {
        r->active[b] = pc_volume_is_active(r->neighbours, r->behind, b);
    }
}

static void cast(const reference *r, const pc_volume_view *view, const pc_maps *maps) {
    static uint64_t rows[PC_VOLUME_ROWS]; /* all blocks are looked for */
    const pc_volume_grid grid = {r->slots, r->mask,   r->keys, r->distances, r->weights,
                                 NULL,     r->active, rows,    r->neighbours};
    memset(rows, 0xff, sizeof rows);
    for (int32_t v = 0; v < view->height; v++) {
        for (int32_t u = 0; u < view->width; u++) {
            const int32_t left = u / PC_VOLUME_TILE * PC_VOLUME_TILE, top = v / PC_VOLUME_TILE * PC_VOLUME_TILE;
            float range[2] = {INFINITY, -INFINITY};
            for (int64_t b = 1; b <= r->count; b++) {
                int32_t block[3];
                pc_volume_extent e;
                pc_volume_unpack(r->keys[b], block);
                if (r->active[b] && pc_volume_seen(view, block, &e) && e.u[0] < left + PC_VOLUME_TILE &&
                    e.u[1] >= left && e.v[0] < top + PC_VOLUME_TILE && e.v[1] >= top) {
                    range[0] = fminf(range[0], pc_volume_begin(view, e.z[0]));
                    range[1] = fmaxf(range[1], e.z[1]);
                }
            }
            const int at = 3 * (v * view->width + u);
            pc_volume_look(&grid, view, u, v, range, maps->vertices + at, maps->normals + at);
        }
    }
}

static void free_reference(reference *r) {
    free(r->keys);
    free(r->distances);
    free(r->weights);
    free(r->colors);
    free(r->neighbours);
    free(r->behind);
    free(r->active);
    free(r->slots);
}

/* ---- the comparison --------------------------------------------------------------------------------------------- */

static void compare_blocks(const sequence *s, const reference *r, const char *label, const pc_volume_blocks *blocks) {
    CHECK(blocks->count == r->count, "%s, %s: %lld blocks, not %lld", s->name, label, (long long)blocks->count,
          (long long)r->count);
    for (int64_t b = 1; b <= blocks->count; b++) {
        const int64_t other = look_for(r, blocks->grid.keys[b]);
        const size_t bytes = PC_VOLUME_VOXELS * sizeof(float);
        CHECK(other > 0, "%s, %s: a block too many", s->name, label);
        if (other > 0) {
            CHECK(memcmp(blocks->grid.distances + b * PC_VOLUME_VOXELS, r->distances + other * PC_VOLUME_VOXELS,
                         bytes) == 0,
                  "%s, %s: the distances of block %lld", s->name, label, (long long)b);
            CHECK(memcmp(blocks->grid.weights + b * PC_VOLUME_VOXELS, r->weights + other * PC_VOLUME_VOXELS, bytes) ==
                      0,
                  "%s, %s: the weights of block %lld", s->name, label, (long long)b);
            CHECK(!blocks->grid.colors || memcmp(blocks->grid.colors + b * COLORS, r->colors + other * COLORS,
                                                 COLORS * sizeof *r->colors) == 0,
                  "%s, %s: the colours of block %lld", s->name, label, (long long)b);
        }
    }
}

static int64_t seen_pixels(const pc_maps *maps) {
    int64_t n = 0;
    for (int64_t i = 0; i < (int64_t)maps->width * maps->height; i++) {
        n += maps->vertices[3 * i] == maps->vertices[3 * i];
    }
    return n;
}

/* color: the volume has colours; without them, nothing else changes. */
static void run(const platform *p, bool color, const sequence *s, const reference *r, const pc_maps *wanted) {
    pcgpu_context *context = p->context;
    const char *label = p->label;
    void *state = NULL;
    pc_volume_blocks blocks;
    const size_t values = 3 * (size_t)wanted->width * (size_t)wanted->height;
    float *memory = malloc(2 * values * sizeof *memory);
    const pc_maps maps = {
        .width = wanted->width, .height = wanted->height, .vertices = memory, .normals = memory + values};
    pcgpu_status status = p->backend->tsdf->open(context, color, &state);
    for (int i = 0; i < s->count && status == PCGPU_OK; i++) {
        pc_volume_job job = s->frames[i].job;
        job.color = color ? job.color : NULL;
        job.blocks = job.new_blocks = job.updated_blocks = job.unreachable = -1;
        job.counts_updated = i % 2 == 0; /* else a device goes on when the host does */
        status = p->backend->tsdf->integrate(context, state, &job);
        CHECK(job.new_blocks == s->frames[i].job.new_blocks &&
                  (!job.counts_updated || job.updated_blocks == s->frames[i].job.updated_blocks) &&
                  job.unreachable == s->frames[i].job.unreachable,
              "%s, %s, frame %d: %lld new, %lld updated, %lld unreachable", s->name, label, i,
              (long long)job.new_blocks, (long long)job.updated_blocks, (long long)job.unreachable);
        if (i == s->count / 2 && status == PCGPU_OK) { /* between frames, it changes nothing */
            status = p->backend->tsdf->raycast(context, state, &s->frames[0].job.view, &maps);
        }
    }
    /* A limit that is one block too low: the frame is refused and nothing has changed. */
    if (status == PCGPU_OK && s->frames[0].job.unreachable == 0 && s->frames[0].job.new_blocks > 0) {
        frame other = s->frames[0];
        other.job.view.anchor[0] += 5000;
        other.job.color = color ? other.color : NULL;
        other.job.max_blocks = r->count + s->frames[0].job.new_blocks - 1;
        CHECK(p->backend->tsdf->integrate(context, state, &other.job) == PCGPU_ERROR_MEMORY, "%s, %s: the limit",
              s->name, label);
    }
    if (status == PCGPU_OK) {
        status = p->backend->tsdf->raycast(context, state, &s->frames[s->count - 1].job.view, &maps);
    }
    CHECK(status == PCGPU_OK, "%s, %s: %s", s->name, label, pcgpu_last_error(context));
    if (status == PCGPU_OK) {
        for (size_t i = 0; i < values; i++) {
            CHECK(memcmp(&maps.vertices[i], &wanted->vertices[i], sizeof(float)) == 0,
                  "%s, %s: vertex of pixel %zu: %.9g, not %.9g", s->name, label, i / 3, (double)maps.vertices[i],
                  (double)wanted->vertices[i]);
            CHECK(memcmp(&maps.normals[i], &wanted->normals[i], sizeof(float)) == 0,
                  "%s, %s: normal of pixel %zu: %.9g, not %.9g", s->name, label, i / 3, (double)maps.normals[i],
                  (double)wanted->normals[i]);
        }
        status = p->backend->tsdf->blocks(context, state, &blocks);
        CHECK(status == PCGPU_OK, "%s, %s: %s", s->name, label, pcgpu_last_error(context));
    }
    if (status == PCGPU_OK) {
        CHECK((blocks.grid.colors != NULL) == color, "%s, %s: colours", s->name, label);
        compare_blocks(s, r, label, &blocks);
    }
    p->backend->tsdf->close(context, state);
    free(memory);
}

static void test(const char *name, kind what, int count, int width, double voxel, double truncation, double shift) {
    sequence s;
    make(&s, name, what, count, width, voxel, truncation, shift);
    reference r = build(&s);
    finish(&r);
    const pc_volume_view *view = &s.frames[s.count - 1].job.view;
    const size_t values = 3 * (size_t)view->width * (size_t)view->height;
    float *memory = malloc(2 * values * sizeof *memory);
    const pc_maps wanted = {
        .width = view->width, .height = view->height, .vertices = memory, .normals = memory + values};
    cast(&r, view, &wanted);
    printf("%s: %lld blocks, %lld of %d pixels see something\n", name, (long long)r.count,
           (long long)seen_pixels(&wanted), view->width * view->height);
    CHECK(what >= RANDOM_DEPTH || seen_pixels(&wanted) > view->width * view->height / 2, "%s: an empty view", name);
    for (int i = 0; i < platform_count; i++) {
        run(&platforms[i], i % 2 == 0, &s, &r, &wanted);
        if (i == 0) {
            run(&platforms[i], false, &s, &r, &wanted);
        }
    }
    free(memory);
    free_reference(&r);
    release(&s);
}

void test_volume(bool cuda, char **options) {
    static const int teams[] = {1, 2, 5, 16};
    (void)options;
    open_platforms(cuda, teams, 4, true);
    test("room", ROOM, 6, 64, 0.05, 0.2, 0.0);
    test("a room far away", ROOM, 3, 64, 0.05, 0.2, 3000.0);
    test("noise, thin", NOISY, 4, 64, 0.06, 0.12, -1.0);
    test("thick", NOISY, 2, 64, 0.1, 2.0, 0.1);
    test("random depths", RANDOM_DEPTH, 3, 64, 0.2, 0.8, 0.0);
    test("far returns", EXTREME, 2, 64, 0.3, 1.2, 0.0);
    test("out of reach", EXTREME, 2, 64, 5e-6, 2e-5, 0.0);
    test("one pixel", RANDOM_DEPTH, 3, 1, 0.1, 0.4, 0.0);
    test("one row", RANDOM_DEPTH, 3, 2, 0.1, 0.4, 0.0);
}
