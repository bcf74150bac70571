/* Registration of scans through range images on every back end against a plain reference, byte for byte: range cpu|cuda
 * [SEED [small]].
 *
 * The reference looks for the nearest point of each pixel one point after the other and goes pixel by pixel, without
 * margins, vectors or threads; only the formulas for a pixel are shared. On the CPU every form of vectors runs with 1,
 * 2, 3 and 8 threads. Exit code 0 passed, 1 failed, 77 no such device. */
#include "depth_test.h"
#include "icp_range.h"

enum { V = PC_RANGE_VALUES };

/* ---- scans ------------------------------------------------------------------------------------------------------- */

typedef enum kind { ROOM, NOISY, SPARSE, TIES, ONE_POINT, AT_ORIGIN, NOTHING, ANYTHING, KINDS } kind;
static const char *const kind_names[KINDS] = {"room",      "noisy",     "sparse",  "ties",
                                              "one point", "at origin", "nothing", "anything"};

/* Seen from the middle of a room with slanted walls, from a little aside. */
static void fill_sweep(float *record, float aside, float noise) {
    const float turn = 6.2831853f * random_unit(), rise = 0.9f * random_unit() - 0.6f;
    const float x = cosf(turn), y = sinf(turn);
    float range = 4.0f / fmaxf(fmaxf(fabsf(x), 0.7f * fabsf(y)), 2.0f * fabsf(rise)) + noise * (random_unit() - 0.5f);
    range += x > 0.5f ? 0.3f * y : 0.0f;
    record[0] = range * x - aside;
    record[1] = range * y + 0.5f * aside;
    record[2] = range * rise;
}

static void fill_scan(pcgpu_cloud *scan, kind which, float aside) {
    for (int64_t i = 0; i < scan->rows; i++) {
        float *record = scan->data + 3 * i;
        const uint32_t bits = (uint32_t)random_bits();
        if (which == ANYTHING) {
            for (int k = 0; k < 3; k++) {
                const uint32_t some = (uint32_t)random_bits();
                memcpy(record + k, &some, sizeof some);
            }
        } else if (which == TIES) { /* few places, each of many points, and two as near in the middle row */
            static const float heights[4] = {-1.0f, -0.02f, 0.02f, 1.0f};
            const float turn = 0.0981748f * ((float)(bits % 64) + 0.3f);
            record[0] = 3.0f * cosf(turn) - aside;
            record[1] = 3.0f * sinf(turn) + 0.02f * (float)(bits / 64 % 2);
            record[2] = heights[bits / 128 % 4];
        } else if (which == AT_ORIGIN) {
            record[0] = record[1] = record[2] = bits & 1 ? 0.0f : -0.0f;
        } else {
            fill_sweep(record, aside, which == NOISY ? 0.1f : 0.0f);
        }
    }
}

/* ---- the reference ----------------------------------------------------------------------------------------------- */

static const float *pixel_of(const reference *r, int level, int u, int v) {
    static const float none[V];
    const pc_depth_level *l = &r->frame.level[level];
    u = (u + l->width) % l->width;
    return v >= 0 && v < l->height ? r->pixels[level] + V * (v * l->width + u) : none;
}

/* For now the range stands in the last place. */
static void find_points(const pc_range_points *points, const pc_depth_level *l, float *pixels) {
    for (int64_t i = 0; i < points->n; i++) {
        float range;
        const int32_t at = pc_range_pixel(l, points->x[i], points->y[i], points->z[i], &range);
        float *pixel = pixels + V * (ptrdiff_t)at;
        if (at != pc_depth_nowhere(l) && (pixel[V - 1] == 0.0f || range < pixel[V - 1])) {
            pixel[PC_RANGE_X] = points->x[i];
            pixel[PC_RANGE_Y] = points->y[i];
            pixel[PC_RANGE_Z] = points->z[i];
            pixel[V - 1] = range;
        }
    }
}

static void halve(const reference *r, int level) {
    const pc_depth_level *l = &r->frame.level[level];
    for (int i = 0; i < l->width * l->height; i++) {
        const float *left = pixel_of(r, level - 1, 2 * (i % l->width), i / l->width), *right = left + V;
        const bool first = right[V - 1] == 0.0f || (left[V - 1] > 0.0f && left[V - 1] <= right[V - 1]);
        memcpy(r->pixels[level] + V * i, first ? left : right, V * sizeof(float));
    }
}

static void fit(const reference *r, int level, int u, int v, float *pixel) {
    static const int around[8][2] = {{-1, -1}, {0, -1}, {1, -1}, {-1, 0}, {1, 0}, {-1, 1}, {0, 1}, {1, 1}};
    pc_depth_moments m = pc_range_moments();
    pc_range_sight sight;
    const float range = pixel[V - 1];
    pc_range_sight_of(pixel[PC_RANGE_X], pixel[PC_RANGE_Y], pixel[PC_RANGE_Z], range, &sight);
    for (int k = 0; k < 8; k++) {
        const float *there = pixel_of(r, level, u + around[k][0], v + around[k][1]);
        pc_range_tap(&m, &sight, there[PC_RANGE_X], there[PC_RANGE_Y], there[PC_RANGE_Z], there[V - 1],
                     PC_RANGE_EDGE * range);
    }
    pc_range_plane_of(&m, &sight, pixel);
}

static void make_reference(const pc_depth_image *image, const pc_depth_frame *laid_out, reference *r) {
    r->frame = *laid_out;
    for (int n = 0; n < r->frame.levels; n++) {
        const pc_depth_level *l = &r->frame.level[n];
        r->pixels[n] = calloc((size_t)(l->width * l->height), V * sizeof(float));
        if (n == 0) {
            find_points(image->points, l, r->pixels[0]);
        } else {
            halve(r, n);
        }
    }
    for (int n = 0; n < r->frame.levels; n++) {
        const pc_depth_level *l = &r->frame.level[n];
        for (int i = 0; i < l->width * l->height; i++) {
            fit(r, n, i % l->width, i / l->width, r->pixels[n] + V * i);
        }
    }
}

static void add_pixel(const pass *p, int u, int v, float *sums) {
    const float *own = pixel_of(p->source, p->level, u, v);
    if (!p->step) {
        pc_range_add_measure(own[PC_DEPTH_Z], own[PC_RANGE_X], own[PC_RANGE_Y], own[PC_RANGE_Z], sums, 1);
        return;
    }
    const pc_depth_level *to = &p->target->frame.level[p->level];
    pc_depth_landing at;
    pc_range_project(p->step, to, own[PC_DEPTH_Z], own[PC_RANGE_X], own[PC_RANGE_Y], own[PC_RANGE_Z], &at);
    const bool inside = at.at != pc_depth_nowhere(to);
    const float *there = pixel_of(p->target, p->level, inside ? at.at % to->width : 0, inside ? at.at / to->width : -1);
    pc_range_add(p->scene, p->step, &at, own[PC_DEPTH_NX], own[PC_DEPTH_NY], own[PC_DEPTH_NZ], there[PC_DEPTH_NX],
                 there[PC_DEPTH_NY], there[PC_DEPTH_NZ], there[PC_DEPTH_Z], there[PC_RANGE_X], there[PC_RANGE_Y],
                 there[PC_RANGE_Z], sums, 1);
}

/* ---- a scene ----------------------------------------------------------------------------------------------------- */

typedef struct scene {
    char name[64];
    pcgpu_cloud source, target;
    pcgpu_range_image image;
    int levels;
} scene;

static pcgpu_frame *frame_on(const place *p, const void *given, bool target) {
    const scene *s = given;
    pcgpu_frame *frame = NULL;
    pcgpu_run run = {0};
    pcgpu_status status =
        pc_frame_of_range(p->context, p->backend, target ? &s->target : &s->source, &s->image, s->levels, &run, &frame);
    expect(status == PCGPU_OK, s->name, p->label, pcgpu_last_error(p->context), 0);
    return frame;
}

static int arrived; /* scenes whose path goes to its end */

static pcgpu_cloud new_scan(int64_t points, kind which, float aside) {
    pcgpu_cloud scan = {.rows = which == NOTHING     ? 0
                                : which == ONE_POINT ? 1
                                : which == SPARSE    ? points / 10
                                                     : points,
                        .columns = 3};
    scan.data = malloc((size_t)(scan.rows + 1) * 3 * sizeof *scan.data);
    fill_scan(&scan, which, aside);
    return scan;
}

static void run_scene(int number, int rows, int columns, kind which, const place *places, int count) {
    scene s = {.levels = 1 + number % PCGPU_DEPTH_LEVELS,
               .image = {.rows = rows, .columns = columns, .low = NAN, .high = NAN}};
    trial t = {.name = s.name,
               .scene = &s,
               .frame_on = frame_on,
               .make = make_reference,
               .add = add_pixel,
               .path = {.gate = 2.0,
                        .widening = PC_RANGE_WIDENING,
                        .metres = number % 2 ? 1e-4 : 0.0,
                        .radians = 1e-5,
                        .start = {.q = {1, 0, 0, 0}, .t = {0.01, 0.02, 0}}}};
    snprintf(s.name, sizeof s.name, "%s %d x %d", kind_names[which], rows, columns);
    if (number % 3 == 1) {
        s.image.low = -40.0;
        s.image.high = 20.0;
    }
    const int64_t points = 2 * (int64_t)(rows ? rows : 16) * (columns ? columns : 128);
    s.source = new_scan(points, which, 0.05f);
    s.target = new_scan(points + 77, which, 0.0f);
    for (int l = 0; l < PC_DEPTH_MAX_LEVELS; l++) {
        t.path.most[l] = 1 + (number + l) % 4;
    }
    const pc_depth_path wanted = run_trial(&t, places, count);
    arrived += wanted.end == PC_DEPTH_ARRIVED && wanted.scene[PC_ICP_MATCHES] > 100.0;
    free(s.source.data);
    free(s.target.data);
}

static void run_all(const place *places, int count, bool small) {
    static const int sizes[][2] = {{1, 32}, {3, 64}, {16, 32}, {9, 96}, {0, 0}, {8, 160}, {21, 256}};
    int number = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (kind which = ROOM; which < KINDS; which++) {
            run_scene(number++, sizes[i][0], sizes[i][1], which, places, count);
        }
    }
    if (!small) {
        run_scene(number++, 64, 1024, NOISY, places, count);
        run_scene(number++, 128, 2048, ROOM, places, count);
    }
}

int main(int argc, char **argv) {
    place places[MAX_CONTEXTS] = {{0}};
    const int count = open_places(argc, argv, "range cpu|cuda [SEED [small]]", places);
    run_all(places, count, argc > 3 && strcmp(argv[3], "small") == 0);
    expect(arrived >= 8, "all", "", "scenes that match", arrived);
    return close_places(places, count);
}
