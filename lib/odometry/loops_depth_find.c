/* Loops of a depth camera: which earlier places a place sees again.
 *
 * The shortest path in the graph of places predicts where an earlier place is, and its length bounds how wrong that may
 * be. A loop needs a return: a camera that only moves on sees the same things for long, and its odometry has compared
 * these images. The earlier places that see most of the present one are registered to it, in both directions. A result
 * outside the bound is refused, and a loose bound needs a witness: a second earlier place that corrects the prediction
 * alike (pairwise consistency, Mangelson et al. 2018). */
#include "depth.h"
#include "error.h"
#include "loops.h"
#include "odometry.h"
#include "projective.h"
#include "solve.h"

#include <stdlib.h>
#include <string.h>

double pc_loops_length(const double T[16]) {
    const double square = 3.0 - ((T[0] + T[5]) + T[10]); /* (2 sin(angle / 2))^2 */
    return pc_transform_length(T) + sqrt(fmax(square, 0.0));
}

#define LEAST_METRES    0.06 /* that any prediction may be off */
#define LEAST_RADIANS   0.06
#define RADIANS_A_METRE 0.5  /* of the bound */
#define LEAST_PATH      1.0  /* metres between two places of a loop, */
#define RETURN          1.5  /* and times as far as the places are apart */
#define OVERLAP         0.25 /* fraction of the samples of an image that the other one sees */
#define OCCLUSION       0.1  /* metres, besides the bound: from there on another surface is seen */
#define TIGHT_METRES    0.2  /* a bound that needs no witness */
#define CYCLE_METRES    0.03 /* a cycle has to close within these */
#define CYCLE_RADIANS   0.02
#define BACK_METRES     0.05 /* and the registrations in both directions agree within these */
#define BACK_RADIANS    0.0175

enum {
    MOST_LINKS = 4, /* registrations of a place */
    APART = 2,      /* places between candidates, which would show the same otherwise */
    SAMPLE = 16     /* pixels between samples of an image */
};

static double most_metres(const pcgpu_loops *l, double length) {
    return LEAST_METRES + l->params.drift * length;
}

static double most_radians(const pcgpu_loops *l, double length) {
    return LEAST_RADIANS + RADIANS_A_METRE * l->params.drift * length;
}

/* Whether a point of the frame of a place is the surface that its image shows there. */
static bool sees(const pcgpu_camera *c, const uint16_t *image, const double p[3], double metres) {
    const double x = p[0] / p[2] * c->fx + c->cx + 0.5, y = p[1] / p[2] * c->fy + c->cy + 0.5;
    unsigned low, high;
    if (!(p[2] > 0.0 && x >= 0.0 && x < c->width && y >= 0.0 && y < c->height)) {
        return false;
    }
    const unsigned depth = image[(int)y * c->width + (int)x];
    pc_depth_range(c, &low, &high);
    return depth >= low && depth < high && fabs(depth / c->depth_scale - p[2]) < OCCLUSION + metres;
}

/* The fraction of the last place's samples that another place, at T_place_last within so many metres, sees. */
static double overlap(const pcgpu_loops *l, int32_t place, const double T[16], double metres) {
    const pcgpu_camera *c = &l->small;
    const uint16_t *image = l->places[l->place_count - 1].depth;
    unsigned low, high;
    int all = 0, seen = 0;
    pc_depth_range(c, &low, &high);
    for (int v = SAMPLE / 2; v < c->height; v += SAMPLE) {
        for (int u = SAMPLE / 2; u < c->width; u += SAMPLE) {
            const unsigned depth = image[v * c->width + u];
            if (depth < low || depth >= high) {
                continue;
            }
            const double z = depth / c->depth_scale, p[3] = {(u - c->cx) / c->fx * z, (v - c->cy) / c->fy * z, z};
            double moved[3];
            pc_transform_apply(T, p, moved);
            all++;
            seen += sees(c, l->places[place].depth, moved, metres);
        }
    }
    return all > 0 ? (double)seen / all : 0.0;
}

static bool returned(const pcgpu_loops *l, const pc_prediction *p, int32_t i) {
    const double path = l->places[l->place_count - 1].path - l->places[i].path;
    return path >= LEAST_PATH && path >= RETURN * pc_loops_length(p[i].T);
}

static pcgpu_status make_frame(pcgpu_loops *l, int32_t place, pcgpu_frame **frame) {
    const pcgpu_depth depth = {.width = l->small.width, .height = l->small.height, .data = l->places[place].depth};
    return pc_frame_of_depth(l->context, l->backend, &depth, &l->small, &l->depth.registration, frame);
}

/* ---- registration ------------------------------------------------------------------------------------------------ */

/* M with b = M a. */
static pc_pose motion_between(const pc_pose *a, const pc_pose *b) {
    pc_pose motion = {.q = {a->q[0], -a->q[1], -a->q[2], -a->q[3]}};
    double t[3];
    pc_quaternion_turned(b->q, motion.q);
    if (motion.q[0] < 0.0) { /* the same rotation by the smaller angle */
        for (int k = 0; k < 4; k++) {
            motion.q[k] = -motion.q[k];
        }
    }
    pc_quaternion_rotate(motion.q, a->t, t);
    for (int k = 0; k < 3; k++) {
        motion.t[k] = b->t[k] - t[k];
    }
    return motion;
}

/* H with H H = motion: (I + R) u = t for the translation u, and by Cayley's transform 2 (I + R)^-1 = I - [c]x with c
 * the tangent of half the angle of R times its axis. */
static pc_pose half_of(const pc_pose *motion) {
    pc_pose half = *motion;
    const double *t = motion->t;
    half.q[0] += 1.0; /* halves the angle: 1 and q are of one length */
    pc_quaternion_normalize(half.q);
    const double c[3] = {half.q[1] / half.q[0], half.q[2] / half.q[0], half.q[3] / half.q[0]};
    half.t[0] = 0.5 * (t[0] - (c[1] * t[2] - c[2] * t[1]));
    half.t[1] = 0.5 * (t[1] - (c[2] * t[0] - c[0] * t[2]));
    half.t[2] = 0.5 * (t[2] - (c[0] * t[1] - c[1] * t[0]));
    return half;
}

/* Where the inverse of `back` is near T, T becomes the pose halfway, on the screw motion from one to the other: it does
 * not depend on the coordinates of either image (Pennec and Arsigny 2013). False where they are not near, which reveals
 * a wrong result that one direction alone accepts (Christensen and Johnson 2001). */
static bool meet_halfway(const double center[3], const double back[16], double T[16]) {
    const pc_pose a = pc_matrix_pose(T), returned = pc_matrix_pose(back);
    const pc_pose b = pc_pose_inverse(&returned), motion = motion_between(&a, &b), half = half_of(&motion);
    double turn[9], shift[3];
    pc_pose_difference(&a, &b, center, turn, shift);
    if (!(pc_norm3(shift) <= BACK_METRES && 2.0 * pc_angle(pc_norm3(motion.q + 1), motion.q[0]) <= BACK_RADIANS)) {
        return false;
    }
    pc_pose middle = a;
    pc_quaternion_turned(half.q, middle.q);
    pc_quaternion_rotate(half.q, a.t, middle.t);
    for (int k = 0; k < 3; k++) {
        middle.t[k] += half.t[k];
    }
    pc_pose_matrix(&middle, T);
    return true;
}

/* Registers in both directions, the second one from the inverse of the start: each one favours its target, whose
 * surfaces it takes. The result has converged when both have and agree. */
static pcgpu_status register_both(pcgpu_loops *l, pcgpu_frame *source, pcgpu_frame *target, const double init[16],
                                  pcgpu_registration *r) {
    pcgpu_register_depth_params params = l->depth.registration;
    pcgpu_registration back = {0};
    memcpy(params.init, init, sizeof params.init);
    PC_TRY(pc_register_frames(l->context, source, target, &params, false, r));
    if (!r->converged) {
        return PCGPU_OK;
    }
    const pc_pose start = pc_matrix_pose(init), inverse = pc_pose_inverse(&start);
    pc_pose_matrix(&inverse, params.init);
    PC_TRY(pc_register_frames(l->context, target, source, &params, false, &back));
    r->converged = meet_halfway(r->center, back.T_target_source, r->T_target_source) && back.converged;
    return PCGPU_OK;
}

/* Registers the last place to an earlier one. *fits: with a result within the bound of the prediction. */
static pcgpu_status try_place(pcgpu_loops *l, pcgpu_frame *present, const pc_prediction *p, pc_link *link, bool *fits) {
    pcgpu_registration r = {0};
    pcgpu_frame *target = NULL;
    PC_TRY(make_frame(l, link->from, &target));
    const pcgpu_status status = register_both(l, present, target, p->T, &r);
    pcgpu_frame_free(l->context, target);
    PC_TRY(status);
    l->tried++;
    *fits =
        r.converged && !pc_moved_beyond(p->T, r.T_target_source, most_metres(l, p->length), most_radians(l, p->length));
    l->refused += r.converged && !*fits;
    memcpy(link->T_from_to, r.T_target_source, sizeof link->T_from_to);
    link->score = r.score;
    return PCGPU_OK;
}

/* Whether two results correct the prediction alike. */
static bool agree(const pc_prediction *p, const pc_link *a, const pc_link *b) {
    double corrected[2][16];
    pc_transform_between(p[a->from].T, a->T_from_to, corrected[0]);
    pc_transform_between(p[b->from].T, b->T_from_to, corrected[1]);
    return !pc_moved_beyond(corrected[0], corrected[1], CYCLE_METRES, CYCLE_RADIANS);
}

/* Appends the links whose prediction was good, or which have a witness: another that corrects the prediction alike. */
static pcgpu_status append_links(pcgpu_loops *l, const pc_prediction *p, const pc_link *links, int count) {
    for (int i = 0; i < count; i++) {
        bool holds = most_metres(l, p[links[i].from].length) <= TIGHT_METRES;
        for (int k = 0; k < count && !holds; k++) {
            holds = k != i && agree(p, &links[i], &links[k]);
        }
        l->refused += !holds;
        PC_TRY(holds ? pc_loops_append(l, &links[i]) : PCGPU_OK);
    }
    return PCGPU_OK;
}

/* The earlier place that sees most of what the last one sees, or -1; its neighbours are no candidates any more. */
static int32_t next_candidate(pc_prediction *p, int32_t last) {
    int32_t best = -1;
    for (int32_t i = 0; i < last; i++) {
        best = p[i].cost >= OVERLAP && (best < 0 || p[i].cost > p[best].cost) ? i : best;
    }
    for (int32_t i = best - APART; best >= 0 && i <= best + APART; i++) {
        if (i >= 0 && i < last) {
            p[i].cost = 0.0;
        }
    }
    return best;
}

static pcgpu_status try_all(pcgpu_loops *l, pc_prediction *p) {
    const int32_t last = l->place_count - 1;
    pc_link links[MOST_LINKS];
    pcgpu_frame *present = NULL;
    pcgpu_status status;
    int count = 0;
    for (int32_t i = 0; i < last; i++) {
        p[i].cost = returned(l, p, i) ? overlap(l, i, p[i].T, most_metres(l, p[i].length)) : 0.0;
    }
    for (int k = 0; k < MOST_LINKS; k++) {
        const int32_t place = next_candidate(p, last);
        bool fits = false;
        if (place < 0) {
            break;
        }
        links[count] = (pc_link){.from = place, .to = last};
        if (!present) {
            PC_TRY_OR(done, status, make_frame(l, last, &present));
        }
        PC_TRY_OR(done, status, try_place(l, present, &p[place], &links[count], &fits));
        count += fits;
    }
    status = append_links(l, p, links, count);
done:
    pcgpu_frame_free(l->context, present);
    return status;
}

pcgpu_status pc_loops_find_depth(pcgpu_loops *l) {
    pc_prediction *p = malloc((size_t)l->place_count * sizeof *p);
    if (!p || !pc_loops_predict(l, p)) {
        free(p);
        return pc_fail_memory(l->context, (size_t)l->place_count * sizeof *p, "the places");
    }
    pcgpu_status status = try_all(l, p);
    free(p);
    return status;
}
