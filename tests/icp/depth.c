/* Registration of depth frames on every back end against a plain reference, byte for byte: depth cpu|cuda [SEED
 * [small|tiny]].
 *
 * The reference goes pixel by pixel, without margins, vectors or threads, and adds up in the order that
 * projective_math.h says, written once more; only the formulas for a pixel are shared. On the CPU every form of vectors
 * runs with 1, 2, 3 and 8 threads. Exit code 0 passed, 1 failed, 77 no such device. */
#include "projective_ops.h"
#include "projective_maps.h"
#include "projective_optimizer.h"
#include "../support/backends.h"
#include "projective.h"

/* ---- images ------------------------------------------------------------------------------------------------------ */

typedef enum kind { SMOOTH, NOISY, HOLES, NOTHING, ANYTHING, KINDS } kind;
static const char *const kind_names[KINDS] = {"smooth", "noisy", "holes", "nothing", "anything"};

/* A bowl with a step in it, seen from a little aside. */
static void fill_image(pcgpu_depth *image, kind which, float aside) {
    for (int v = 0; v < image->height; v++) {
        for (int u = 0; u < image->width; u++) {
            const float x = ((float)u + aside) / (float)image->width - 0.5f, y = (float)v / (float)image->height - 0.4f;
            float d = 1500.0f + 900.0f * x * x + 600.0f * y * y * y + 300.0f * x * y + 2.0f * aside;
            d += x > 0.2f && y > 0.0f ? 250.0f : 0.0f;
            d += which == NOISY || which == HOLES ? 20.0f * test_float(&numbers) : 0.0f;
            const bool hole = which == HOLES && test_float(&numbers) < 0.2f;
            image->data[v * image->width + u] = (uint16_t)(which == NOTHING || hole ? 0.0f : d);
            if (which == ANYTHING) {
                image->data[v * image->width + u] = (uint16_t)test_bits(&numbers);
            }
        }
    }
}

/* ---- the reference ----------------------------------------------------------------------------------------------- */

typedef struct reference {
    pc_depth_frame frame;
    float *pixels[PC_DEPTH_MAX_LEVELS]; /* height x width, each of as many values as its maker has */
} reference;

static void free_reference(reference *r) {
    for (int n = 0; n < r->frame.levels; n++) {
        free(r->pixels[n]);
    }
}

static const float *pixel_of(const reference *r, int level, int u, int v) {
    static const float none[PC_DEPTH_VALUES];
    const pc_depth_level *l = &r->frame.level[level];
    bool inside = u >= 0 && v >= 0 && u < l->width && v < l->height;
    return inside ? r->pixels[level] + PC_DEPTH_VALUES * (v * l->width + u) : none;
}

static float depth_at(const float *z, const pc_depth_level *l, int u, int v) {
    return u >= 0 && v >= 0 && u < l->width && v < l->height ? z[v * l->width + u] : 0.0f;
}

static float filtered(const pc_depth_image *image, int u, int v) {
    float sum = 0.0f, weights = 0.0f;
    for (int k = 0; k < PC_DEPTH_BILATERAL_SIDE * PC_DEPTH_BILATERAL_SIDE; k++) {
        const int x = u + k % PC_DEPTH_BILATERAL_SIDE - PC_DEPTH_BILATERAL;
        const int y = v + k / PC_DEPTH_BILATERAL_SIDE - PC_DEPTH_BILATERAL;
        if (x < 0 || y < 0 || x >= image->width || y >= image->height) {
            continue;
        }
        const uint16_t d = image->data[y * image->width + x];
        if (d >= image->low && d <= image->high) {
            const float w = pc_depth_bilateral_weight(image, k, image->data[v * image->width + u], d);
            sum += w * (float)d;
            weights += w;
        }
    }
    return sum / weights;
}

static float first_depth(const pc_depth_image *image, int u, int v) {
    const uint16_t d = image->data[v * image->width + u];
    const float z = pc_depth_metres(d, image->low, image->high, image->scale);
    return z > 0.0f && image->range_size > 0 ? filtered(image, u, v) / image->scale : z;
}

static void fit(const float *z, const pc_depth_level *l, int u, int v, float *out) {
    pc_depth_moments m = {0};
    const float own = depth_at(z, l, u, v), inverse = own > 0.0f ? 1.0f / own : 1.0f;
    for (int j = -2; j <= 2; j++) {
        pc_depth_row row = {0};
        for (int i = -2; i <= 2; i++) {
            const float there = depth_at(z, l, u + i * (int)l->stride, v + j * (int)l->stride);
            pc_depth_tap(&row, (float)i, there, 1.0f / (there > 0.0f ? there : 1.0f), own, inverse, l->edge * own);
        }
        pc_depth_add_row(&m, (float)j, &row);
    }
    pc_depth_plane_of(&m, l, ((float)u - l->cx) * l->per_fx, ((float)v - l->cy) * l->per_fy, own, inverse, out);
}

static void make_reference(const pc_depth_image *image, const pc_depth_frame *laid_out, reference *r) {
    float *z = NULL;
    r->frame = *laid_out;
    for (int n = 0; n < r->frame.levels; n++) {
        const pc_depth_level *l = &r->frame.level[n], *fine = l - 1;
        float *own = calloc((size_t)(l->width * l->height), sizeof *own);
        r->pixels[n] = calloc((size_t)(l->width * l->height), PC_DEPTH_VALUES * sizeof(float));
        for (int i = 0; i < l->width * l->height; i++) {
            const int u = i % l->width, v = i / l->width;
            if (n > 0) {
                own[i] = pc_depth_halve(depth_at(z, fine, 2 * u, 2 * v), depth_at(z, fine, 2 * u + 1, 2 * v),
                                        depth_at(z, fine, 2 * u, 2 * v + 1), depth_at(z, fine, 2 * u + 1, 2 * v + 1),
                                        fine->edge);
            } else if (image->data) {
                own[i] = first_depth(image, u, v);
            } else {
                own[i] = pc_depth_given(image->maps.vertices + 3 * i);
            }
        }
        for (int i = 0; i < l->width * l->height; i++) {
            fit(own, l, i % l->width, i / l->width, r->pixels[n] + PC_DEPTH_VALUES * i);
        }
        free(z);
        z = own;
    }
    free(z);
}

/* A pass over the source, or a measure of it without a step. */
typedef struct pass {
    const reference *source, *target;
    int level;
    const pc_depth_step *step;
    bool scene;
} pass;

/* Adds pixel (u, v), or nothing where there is none, to sums that lie one after the other. */
static void add_pixel(const pass *p, int u, int v, float *sums) {
    const pc_depth_level *from = &p->source->frame.level[p->level];
    const float x = ((float)u - from->cx) * from->per_fx, y = ((float)v - from->cy) * from->per_fy;
    const float *pixel = pixel_of(p->source, p->level, u, v);
    if (!p->step) {
        pc_depth_add_measure(x, y, pixel[PC_DEPTH_Z], sums, 1);
        return;
    }
    const pc_depth_level *to = &p->target->frame.level[p->level];
    pc_depth_landing at;
    pc_depth_project(p->step, to, x, y, pixel[PC_DEPTH_Z], &at);
    const bool inside = at.at != pc_depth_nowhere(to);
    const float *there = pixel_of(p->target, p->level, inside ? (int)at.u : -1, (int)at.v);
    pc_depth_add(p->scene, p->step, to, &at, pixel[PC_DEPTH_NX], pixel[PC_DEPTH_NY], pixel[PC_DEPTH_NZ],
                 there[PC_DEPTH_NX], there[PC_DEPTH_NY], there[PC_DEPTH_NZ], there[PC_DEPTH_Z], sums, 1);
}

static void add_tile_in_order(const pass *p, int loads, int tile, double sums[PC_ICP_SUMS]) {
    const int across = p->source->frame.level[p->level].columns / PC_DEPTH_LANES;
    double lanes[PC_DEPTH_LANES][PC_ICP_SUMS];
    for (int lane = 0; lane < PC_DEPTH_LANES; lane++) {
        float own[PC_ICP_SUMS] = {0};
        for (int row = 0; row < loads; row++) {
            add_pixel(p, tile % across * PC_DEPTH_LANES + lane, tile / across * loads + row, own);
        }
        for (int k = 0; k < PC_ICP_SUMS; k++) {
            lanes[lane][k] = (double)own[k];
        }
    }
    for (int half = PC_DEPTH_LANES / 2; half >= 1; half /= 2) {
        for (int lane = 0; lane < half; lane++) {
            for (int k = 0; k < PC_ICP_SUMS; k++) {
                lanes[lane][k] += lanes[lane + half][k];
            }
        }
    }
    memcpy(sums, lanes[0], sizeof lanes[0]);
}

static void add_in_order(const pass *p, double sums[PC_ICP_SUMS]) {
    const pc_depth_level *level = &p->source->frame.level[p->level];
    const int loads = p->step ? level->loads : PC_DEPTH_LOADS;
    double parts[PC_DEPTH_PARTS][PC_ICP_SUMS] = {{0}}, group[PC_ICP_SUMS] = {0}, tile[PC_ICP_SUMS];
    const int tiles = pc_depth_tiles(level, loads);
    for (int i = 0; i < tiles; i++) {
        add_tile_in_order(p, loads, i, tile);
        const bool ends = i % PC_DEPTH_GROUP == PC_DEPTH_GROUP - 1 || i + 1 == tiles;
        for (int k = 0; k < PC_ICP_SUMS; k++) {
            group[k] += tile[k];
            parts[i / PC_DEPTH_GROUP % PC_DEPTH_PARTS][k] += ends ? group[k] : 0.0;
            group[k] = ends ? 0.0 : group[k];
        }
    }
    memset(sums, 0, PC_ICP_SUMS * sizeof *sums);
    for (int part = 0; part < PC_DEPTH_PARTS; part++) {
        for (int k = 0; k < PC_ICP_SUMS; k++) {
            sums[k] += parts[part][k];
        }
    }
}

static void follow(const reference *source, const reference *target, pc_depth_optimizer *optimizer) {
    double sums[PC_ICP_SUMS];
    pc_depth_measure from;
    add_in_order(&(pass){.source = source}, sums);
    pc_depth_measure_of(sums, &from);
    add_in_order(&(pass){.source = target}, sums);
    pc_depth_measure_of(sums, &optimizer->target);
    optimizer->source_points = from.points;
    pc_depth_optimizer_begin(optimizer);
    while (optimizer->end == PC_DEPTH_RUNNING) {
        add_in_order(&(pass){source, target, optimizer->base.level, &optimizer->step, optimizer->asks_scene}, sums);
        pc_depth_optimizer_next(optimizer, sums);
    }
}

/* ---- comparison ------------------------------------------------------------------------------------------------- */

static bool same_double(const double *a, const double *b, int n) {
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static void compare(const pc_depth_optimizer *got, const pc_depth_optimizer *wanted, const char *name,
                    const char *label, int64_t at) {
    expect(got->end == wanted->end, name, label, "end", at);
    expect(got->source_points == wanted->source_points, name, label, "points of the source", at);
    expect(same_double(&got->target.points, &wanted->target.points, 7), name, label, "measure of the target", at);
    expect(memcmp(got->base.iterations, wanted->base.iterations, sizeof got->base.iterations) == 0, name, label,
           "iterations", at);
    expect(same_double(got->final_sums, wanted->final_sums, PC_ICP_SUMS), name, label, "sums", at);
    expect(same_double(got->scene, wanted->scene, PC_ICP_SUMS), name, label, "sums of the scene", at);
    expect(same_double(got->base.pose.q, wanted->base.pose.q, 4) &&
               same_double(got->base.pose.t, wanted->base.pose.t, 3),
           name, label, "pose", at);
    expect(same_double(got->update, wanted->update, 6) && got->base.converged == wanted->base.converged, name, label,
           "update", at);
}

/* ---- scenes ----------------------------------------------------------------------------------------------------- */

typedef struct scene {
    char name[64];
    pcgpu_depth source, target;
    pc_maps maps; /* of the target; width 0 = it is the image */
    pcgpu_camera camera;
    pcgpu_register_depth_params params;
} scene;

/* NULL: a failure that it has told. */
static pcgpu_frame *frame_on(const platform *p, const scene *s, bool target) {
    pcgpu_frame *frame = NULL;
    pcgpu_status status =
        target && s->maps.width
            ? pc_frame_of_maps(p->context, p->backend, &s->maps, false, &s->camera, s->params.levels, &frame)
            : pc_frame_of_depth(p->context, p->backend, target ? &s->target : &s->source, &s->camera, &s->params,
                                &frame);
    expect(status == PCGPU_OK, s->name, p->label, pcgpu_last_error(p->context), 0);
    return frame;
}

static void fill_maps(pc_maps *maps, const scene *s) {
    maps->width = s->target.width;
    maps->height = s->target.height;
    const size_t n = (size_t)(maps->width * maps->height);
    maps->vertices = malloc(3 * n * sizeof *maps->vertices);
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++) {
            const bool none = test_float(&numbers) < 0.05f;
            maps->vertices[3 * i + (size_t)k] = none ? NAN : (float)s->target.data[i] / 1000.0f;
        }
    }
}

/* What keep_made makes: the library tells it no more than a back end. */
static reference *now_made;

static pcgpu_status keep_made(pcgpu_context *context, const struct pc_depth_image *image,
                              struct pc_depth_frame *frame) {
    (void)context;
    make_reference(image, frame, now_made);
    return PCGPU_OK;
}

static void keep_nothing(pcgpu_context *context, struct pc_depth_frame *frame) {
    (void)context, (void)frame;
}

static void refer(const scene *s, bool target, reference *r) {
    static const pc_projective_ops ops = {.make_frame = keep_made, .free_frame = keep_nothing};
    static const pc_backend backend = {.name = "reference", .projective = &ops};
    const platform there = {platforms->context, &backend, "reference"};
    now_made = r;
    pcgpu_frame_free(there.context, frame_on(&there, s, target));
}

/* Compares every place, twice, with the reference. */
static void check_scene(const scene *s, const pc_depth_optimizer *start) {
    reference source = {0}, target = {0};
    pc_depth_optimizer wanted = *start;
    refer(s, false, &source);
    refer(s, true, &target);
    wanted.levels = source.frame.levels < target.frame.levels ? source.frame.levels : target.frame.levels;
    pc_depth_optimizer begin = wanted;
    follow(&source, &target, &wanted);
    for (int i = 0; i < platform_count; i++) {
        const platform *p = &platforms[i];
        pcgpu_frame *a = frame_on(p, s, false), *b = frame_on(p, s, true);
        for (int again = 0; again < 2 && a && b; again++) {
            pc_depth_optimizer got = begin;
            expect(p->backend->projective->register_frames(p->context, &a->maps, &b->maps, &got) == PCGPU_OK, s->name,
                   p->label, pcgpu_last_error(p->context), again);
            compare(&got, &wanted, s->name, p->label, again);
        }
        pcgpu_frame_free(p->context, b);
        pcgpu_frame_free(p->context, a);
    }
    free_reference(&source);
    free_reference(&target);
}

static void run_scene(int number, int width, int height, kind which) {
    scene s = {.source = {.width = width, .height = height}, .target = {.width = width, .height = height}};
    snprintf(s.name, sizeof s.name, "%d x %d, %s, %d", width, height, kind_names[which], number);
    s.source.data = malloc((size_t)(width * height) * sizeof *s.source.data);
    s.target.data = malloc((size_t)(width * height) * sizeof *s.target.data);
    fill_image(&s.source, which, 1.5f);
    fill_image(&s.target, which, 0.0f);
    pcgpu_camera_init(&s.camera);
    s.camera.fx = 0.8 * width + 1.0;
    s.camera.fy = 0.9 * width + 1.0;
    s.camera.cx = 0.5 * width + 0.3;
    s.camera.cy = 0.5 * height - 0.2;
    s.camera.min_depth = number % 3 == 0 ? 0.4 : 0.0;
    s.camera.max_depth = number % 2 == 0 ? 8.0 : 0.0;
    pcgpu_register_depth_params_init(&s.params);
    s.params.levels = 1 + number % PCGPU_DEPTH_LEVELS;
    s.params.bilateral = number % 4 == 1 && width < 200 ? 0.03 : 0.0;
    if (number % 5 == 2) {
        fill_maps(&s.maps, &s);
    }
    pc_depth_optimizer start = {.max_correspondence = 0.2,
                                .metres = number % 2 ? 1e-5 : 0.0,
                                .radians = 1e-5,
                                .start = {.q = {1, 0, 0, 0}, .t = {0.002, 0.001, 0}}};
    for (int l = 0; l < PC_DEPTH_MAX_LEVELS; l++) {
        start.most[l] = 1 + (number + l) % 4;
    }
    check_scene(&s, &start);
    free(s.maps.vertices);
    free(s.source.data);
    free(s.target.data);
}

typedef enum extent { TINY, SMALL, WHOLE } extent;

static void run_all(extent which_sizes) {
    static const int sizes[][2] = {{1, 1}, {1, 40}, {16, 16}, {33, 9}, {31, 64}, {70, 50}, {161, 121}};
    const int most = (int)(sizeof sizes / sizeof sizes[0]) - (which_sizes == TINY ? 2 : 0);
    int number = 0;
    for (int i = 0; i < most; i++) {
        for (kind which = SMOOTH; which < KINDS; which++) {
            run_scene(number++, sizes[i][0], sizes[i][1], which);
        }
    }
    if (which_sizes == WHOLE) {
        run_scene(number++, 640, 480, NOISY);
        run_scene(number++, 1000, 700, HOLES);
    }
}

void test_depth(bool cuda, char **options) {
    static const int teams[] = {1, 2, 3, 8};
    const char *sizes = options[0] ? options[0] : "";
    open_platforms(cuda, teams, 4, true);
    run_all(strcmp(sizes, "tiny") == 0 ? TINY : strcmp(sizes, "small") == 0 ? SMALL : WHOLE);
}
