/* Registration: score, conditioning and convergence check of a result. */
#include "optimizer.h"
#include "icp.h"
#include "solve.h"

#include <stdio.h>
#include <string.h>

/* Overlaps and scores of surfaces that are nothing, whatever the sensors saw. */
#define LITTLE_OVERLAP 0.1
#define LEAST_SURFACES 0.02
/* The points that match are compared with those that the other sensor could see, or with this fraction of all. */
#define LEAST_OVERLAP 0.15
/* PC_MOST_FREE near a pose that the motion predicts: other cars leave up to 0.07 on a road. */
#define MOST_FREE_NEAR 0.2
/* One sigma of the translation by the residuals, of a voxel, for ndt, where both scans see the same. Of 2112 right
 * answers of generated pairs (seeds 1 and 2) 10 are above, of 48 wrong ones that had the score 21: sparse scans of a
 * road, whose information is little. Real drives have up to 0.015; rooms 0.019 times the overlap to the power of
 * -1.5. */
#define MOST_UNCERTAIN 0.02

/* A result whose score is below this times the least one is to be confirmed. Of 283 right ones of a real room, a road
 * and a street 4 move when the scans are exchanged, by up to 1.15 voxels; 4 wrong ones by 1.26 to 5.6. */
#define CLEAR 1.2

/* What the scene constrains at the last pose: by its planes, or, where point-to-point met few of them, by all. */
static pcgpu_status condition(pc_register_work *w, double *sums) {
    pcgpu_registration *r = w->result;
    double limit = PC_DEGENERATE_PLANE;
    if (w->params->method == PCGPU_REGISTER_POINT && sums[PC_ICP_EQUATIONS] < 0.5 * sums[PC_ICP_MATCHES]) {
        limit = PC_DEGENERATE_MIXED;
        pc_icp_rows kind = w->normals ? PC_ICP_ROWS_MIXED : PC_ICP_ROWS_POINT;
        PC_TRY(pc_register_step(w, kind, (pc_register_weights){0}, sums));
    }
    if (sums[PC_ICP_EQUATIONS] > 0.0) {
        pc_conditioning c;
        pc_conditioning_of(sums, w->gyration, limit, &c);
        double free = sums[PC_ICP_EQUATIONS] - 6.0;
        pc_information(sums, r->information);
        pc_covariance_of(r->information, sums[PC_ICP_R2] / (free > 1.0 ? free : 1.0), r->covariance);
        memcpy(r->eigenvalues, c.values, sizeof r->eigenvalues);
        r->degenerate = c.unconstrained > 0;
        if (r->degenerate) {
            pc_describe_unconstrained(&c, r->unconstrained, sizeof r->unconstrained);
        }
    }
    return PCGPU_OK;
}

/* The score: fitness times the mean robust weight of the matches, which says how well the surfaces lie on each other,
 * whatever the maximum correspondence distance. Grounds match anywhere, so that fitness alone would accept two places
 * of one city. The power of 1.5 of the weight is for method point, which has no kernel: it slides along surfaces to
 * where more points match, and on rooms that share less than half it is then 0.1 to 0.3 m off at scores up to 0.52
 * without that power. */
static pcgpu_status measure_score(pc_register_work *w) {
    pcgpu_registration *r = w->result;
    double sums[PC_ICP_SUMS], information[36];
    r->score = r->fitness;
    if (!w->normals) {
        return PCGPU_OK;
    }
    PC_TRY(pc_register_step(w, PC_ICP_ROWS_PLANE, pc_register_score_weights(w), sums));
    if (sums[PC_ICP_EQUATIONS] > 0.0) {
        pc_information(sums, information);
        /* normals have length 1: the trace of the translation's block is the sum of the weights */
        double mean = (information[21] + information[28] + information[35]) / sums[PC_ICP_EQUATIONS];
        r->score *= w->params->method == PCGPU_REGISTER_POINT ? mean * sqrt(mean) : mean;
    }
    return PCGPU_OK;
}

/* Fills what the last pose is worth, measured once more at that pose with all weights 1. */
pcgpu_status pc_register_evaluate(pc_register_work *w) {
    pcgpu_registration *r = w->result;
    double sums[PC_ICP_SUMS];
    const pc_icp_rows rows = w->normals ? PC_ICP_ROWS_PLANE : PC_ICP_ROWS_POINT;
    PC_TRY(pc_register_step(w, rows, (pc_register_weights){0}, sums));
    r->inliers = (int64_t)sums[PC_ICP_MATCHES];
    r->fitness = sums[PC_ICP_MATCHES] / (double)r->source_points;
    if (r->inliers > 0) {
        r->inlier_rmse = sqrt(sums[PC_ICP_D2] / sums[PC_ICP_MATCHES]);
    }
    if (w->params->method != PCGPU_REGISTER_POINT && sums[PC_ICP_EQUATIONS] > 0.0) {
        r->plane_rmse = sqrt(sums[PC_ICP_R2] / sums[PC_ICP_EQUATIONS]);
    }
    PC_TRY(condition(w, sums));
    return measure_score(w);
}

double pc_translation_sigma(const pcgpu_registration *r) {
    return sqrt((r->covariance[21] + r->covariance[28]) + r->covariance[35]);
}

bool pc_is_uncertain(const pcgpu_registration *r) {
    return pc_translation_sigma(r) > MOST_UNCERTAIN * r->voxel;
}

/* The score of the surfaces in what both sensors could see: two scans that share a third are as right as two of one
 * place. Less where the scene hardly says which of several places is meant, unless that is the reason by itself. The
 * score of voxels is the product of fitness and agreement, whose mean is taken. */
static double score_of_surfaces(const pc_register_work *w) {
    const pcgpu_registration *r = w->result;
    double score = r->score;
    if (r->overlap >= 0.0 && r->fitness > 0.0) {
        score *= fmin(1.0 / r->fitness, 1.0 / fmax(r->overlap, LEAST_OVERLAP));
    }
    if (!r->degenerate && !w->near) {
        score *= fmin(1.0, sqrt(fmax(0.0, r->eigenvalues[0]) / PC_WELL_CONSTRAINED));
    }
    return w->params->method == PCGPU_REGISTER_NDT ? sqrt(score) : score;
}

/* The surfaces alone say how well what overlaps agrees, which depends on density, noise and overlap. What the sensors
 * saw through does not: where both scans are known to be seen from their origins, it decides. */
static pcgpu_status measure_free_space(pc_register_work *w) {
    pcgpu_registration *r = w->result;
    pc_view_comparison compared = {-1.0, -1.0};
    double T[16], back[16];
    if (!w->stopped && r->score >= LEAST_SURFACES) {
        pc_transform_multiply(w->seen_from_target, r->T_target_source, T);
        const pc_pose there = pc_matrix_pose(T), returned = pc_pose_inverse(&there);
        pc_pose_matrix(&returned, back);
        PC_TRY(w->look ? w->look(w, &compared.free)
                       : pc_view_compare(w->context, w->seen, T, back, r->voxel, &compared));
    }
    r->free_space = compared.free;
    r->overlap = compared.overlap;
    if (r->free_space >= 0.0) {
        const double most = w->near && !pc_is_uncertain(r) ? MOST_FREE_NEAR : PC_MOST_FREE;
        r->score = score_of_surfaces(w) * fmax(0.0, 1.0 - r->free_space / most);
    }
    return PCGPU_OK;
}

/* A pair of which the surfaces in common say too little: few voxels match, though the scans share much. Of scans that
 * share less, right results have larger sigmas. */
static bool leaves_uncertain(const pc_register_work *w) {
    const pcgpu_registration *r = w->result;
    const double shared = r->overlap > 0.0 ? r->overlap : 1.0;
    return w->params->method == PCGPU_REGISTER_NDT && !w->in_sequence &&
           pc_translation_sigma(r) * shared * sqrt(shared) > MOST_UNCERTAIN * r->voxel;
}

double pc_register_reach(const pc_register_work *w) {
    const pcgpu_register_params *p = w->params;
    return p->method == PCGPU_REGISTER_NDT ? 4.0 * p->voxel * (double)(1 << (w->levels - 1)) : p->max_distance;
}

static bool is_departed(const pc_register_work *w) {
    const double reach = pc_register_reach(w);
    return !pc_pose_near(&w->start, &w->pose, w->center, reach * reach, PC_MOST_TURNED);
}

/* A result that no level could reach from the start has found another place. */
static void describe_departure(const pc_register_work *w) {
    double turn[9], shift[3];
    pc_pose_difference(&w->start, &w->pose, w->center, turn, shift);
    const double trace = turn[0] + turn[4] + turn[8]; /* 2 cos - 2 of the angle */
    snprintf(
        w->result->reason, sizeof w->result->reason,
        "the result is %.3g m and %.0f degrees from the initial transform; the coarsest level reaches %.3g m and 30 "
        "degrees; start closer",
        pc_norm3(shift), acos(fmax(-1.0, 1.0 + 0.5 * trace)) * 57.29577951308232, pc_register_reach(w));
}

static void describe_disagreement(pcgpu_registration *r, double least) {
    char seen[64] = "";
    if (r->overlap >= 0.0) {
        snprintf(seen, sizeof seen, ", and the target's sensor could see %.1f %%", 100.0 * r->overlap);
    }
    snprintf(r->reason, sizeof r->reason,
             "the surfaces do not agree: %.1f %% of the source points match%s; the score is %.3f, %.3f is wanted",
             100.0 * r->fitness, seen, r->score, least);
}

static void check_convergence(pc_register_work *w) {
    pcgpu_registration *r = w->result;
    const pcgpu_register_params *p = w->params;
    char *why = r->reason;
    size_t size = sizeof r->reason;
    if (w->stopped) {
        return;
    }
    const bool low = r->score < p->min_score;
    if (low && r->fitness < LITTLE_OVERLAP) {
        snprintf(why, size, "no overlap: %.1f %% of the source points have a target point within %g m",
                 100.0 * r->fitness, w->max_correspondence);
    } else if (low && r->free_space > 0.5 * PC_MOST_FREE) {
        snprintf(why, size,
                 "the scans contradict each other: %.1f %% of the points lie in the free space of the other scan",
                 100.0 * r->free_space);
    } else if (r->degenerate && !w->near) { /* near a prediction, that says where along it */
        snprintf(why, size, "the scene leaves a direction open: %s", r->unconstrained);
    } else if (low) {
        describe_disagreement(r, p->min_score);
    } else if (is_departed(w)) {
        describe_departure(w);
    } else if (leaves_uncertain(w)) {
        snprintf(why, size, "the surfaces leave the translation uncertain: +- %.1f mm, too much for voxels of %g m",
                 1e3 * pc_translation_sigma(r), r->voxel);
    } else if (!w->converged && !w->near) {
        snprintf(why, size, "%d iterations were not enough at the finest level; allow more or start closer",
                 r->level_iterations[w->levels - 1]);
    } else {
        r->converged = true;
        snprintf(why, size, "%s after %d iterations", w->near ? "near the predicted pose" : "converged", r->iterations);
    }
}

pcgpu_status pc_register_check_convergence(pc_register_work *w) {
    PC_TRY(measure_free_space(w));
    check_convergence(w);
    return PCGPU_OK;
}

bool pc_register_is_doubtful(const pcgpu_register_params *params, const pcgpu_registration *result) {
    return result->converged && result->score < CLEAR * params->min_score && params->voxel > 0.0;
}

bool pc_register_needs_search(const pcgpu_register_params *params, const pcgpu_registration *result) {
    return params->search == PCGPU_SEARCH_RESCUE && result->source_points >= PC_REGISTER_MIN_POINTS &&
           result->target_points >= PC_REGISTER_MIN_POINTS &&
           (!result->converged || pc_register_is_doubtful(params, result));
}
