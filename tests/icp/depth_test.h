/* What the tests of the registration of frames share: a reference that follows a path pixel by pixel and adds up in the
 * order that projective_math.h says, written once more without vectors or threads; the back ends that run; and the
 * comparison of both. */
#ifndef DEPTH_TEST_H
#define DEPTH_TEST_H

#include "projective_ops.h"
#include "projective_maps.h"
#include "projective_optimizer.h"
#include "../support/backends.h"
#include "projective.h"

/* ---- the reference ----------------------------------------------------------------------------------------------- */

typedef struct reference {
    pc_depth_frame frame;
    float *pixels[PC_DEPTH_MAX_LEVELS]; /* height x width, each of as many values as its maker has */
} reference;

static inline void free_reference(reference *r) {
    for (int n = 0; n < r->frame.levels; n++) {
        free(r->pixels[n]);
    }
}

/* A pass over the source, or a measure of it without a step. */
typedef struct pass {
    const reference *source, *target;
    int level;
    const pc_depth_step *step;
    bool scene;
} pass;

/* Adds pixel (u, v), or nothing where there is none, to sums that lie one after the other. */
typedef void add_pixel_fn(const pass *p, int u, int v, float *sums);

static inline void add_tile_in_order(const pass *p, int loads, add_pixel_fn *add, int tile, double sums[PC_ICP_SUMS]) {
    const int across = p->source->frame.level[p->level].columns / PC_DEPTH_LANES;
    double lanes[PC_DEPTH_LANES][PC_ICP_SUMS];
    for (int lane = 0; lane < PC_DEPTH_LANES; lane++) {
        float own[PC_ICP_SUMS] = {0};
        for (int row = 0; row < loads; row++) {
            add(p, tile % across * PC_DEPTH_LANES + lane, tile / across * loads + row, own);
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

static inline void add_in_order(const pass *p, add_pixel_fn *add, double sums[PC_ICP_SUMS]) {
    const pc_depth_level *level = &p->source->frame.level[p->level];
    const int loads = p->step ? level->loads : PC_DEPTH_LOADS;
    double parts[PC_DEPTH_PARTS][PC_ICP_SUMS] = {{0}}, group[PC_ICP_SUMS] = {0}, tile[PC_ICP_SUMS];
    const int tiles = pc_depth_tiles(level, loads);
    for (int i = 0; i < tiles; i++) {
        add_tile_in_order(p, loads, add, i, tile);
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

static inline void follow(const reference *source, const reference *target, add_pixel_fn *add,
                          pc_depth_optimizer *optimizer) {
    double sums[PC_ICP_SUMS];
    pc_depth_measure from;
    add_in_order(&(pass){.source = source}, add, sums);
    pc_depth_measure_of(sums, &from);
    add_in_order(&(pass){.source = target}, add, sums);
    pc_depth_measure_of(sums, &optimizer->target);
    optimizer->source_points = from.points;
    pc_depth_optimizer_begin(optimizer);
    while (optimizer->end == PC_DEPTH_RUNNING) {
        add_in_order(&(pass){source, target, optimizer->base.level, &optimizer->step, optimizer->asks_scene}, add,
                     sums);
        pc_depth_optimizer_next(optimizer, sums);
    }
}

/* ---- comparison ------------------------------------------------------------------------------------------------- */

static inline bool same_double(const double *a, const double *b, int n) {
    return memcmp(a, b, (size_t)n * sizeof *a) == 0;
}

static inline void compare(const pc_depth_optimizer *got, const pc_depth_optimizer *wanted, const char *name,
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

/* A scene that all back ends register, and the reference. */
typedef struct trial {
    const char *name;
    const void *scene;
    pcgpu_frame *(*frame_on)(const platform *p, const void *scene, bool target); /* NULL: a failure that it has told */
    void (*make)(const pc_depth_image *image, const pc_depth_frame *laid_out, reference *r);
    add_pixel_fn *add;
    pc_depth_optimizer optimizer; /* but for its levels */
} trial;

/* What keep_made makes: the library tells it no more than a back end. */
static struct {
    const trial *of;
    reference *to;
} now_made;

static inline pcgpu_status keep_made(pcgpu_context *context, const struct pc_depth_image *image,
                                     struct pc_depth_frame *frame) {
    (void)context;
    now_made.of->make(image, frame, now_made.to);
    return PCGPU_OK;
}

static inline void keep_nothing(pcgpu_context *context, struct pc_depth_frame *frame) {
    (void)context, (void)frame;
}

static inline void refer(const platform *p, const trial *t, bool target, reference *r) {
    static const pc_projective_ops ops = {.make_frame = keep_made, .free_frame = keep_nothing};
    static const pc_backend backend = {.name = "reference", .projective = &ops};
    const platform there = {p->context, &backend, "reference"};
    now_made.of = t;
    now_made.to = r;
    pcgpu_frame_free(p->context, t->frame_on(&there, t->scene, target));
}

/* Compares every place, twice, with the reference, whose path it returns. */
static inline pc_depth_optimizer run_trial(const trial *t) {
    reference source = {0}, target = {0};
    pc_depth_optimizer wanted = t->optimizer;
    refer(platforms, t, false, &source);
    refer(platforms, t, true, &target);
    const int levels = source.frame.levels < target.frame.levels ? source.frame.levels : target.frame.levels;
    wanted.levels = levels;
    follow(&source, &target, t->add, &wanted);
    for (int i = 0; i < platform_count; i++) {
        const platform *p = &platforms[i];
        pcgpu_frame *a = t->frame_on(p, t->scene, false), *b = t->frame_on(p, t->scene, true);
        for (int again = 0; again < 2 && a && b; again++) {
            pc_depth_optimizer got = t->optimizer;
            got.levels = levels;
            expect(p->backend->projective->register_frames(p->context, &a->maps, &b->maps, &got) == PCGPU_OK, t->name,
                   p->label, pcgpu_last_error(p->context), again);
            compare(&got, &wanted, t->name, p->label, again);
        }
        pcgpu_frame_free(p->context, b);
        pcgpu_frame_free(p->context, a);
    }
    free_reference(&source);
    free_reference(&target);
    return wanted;
}

#endif
