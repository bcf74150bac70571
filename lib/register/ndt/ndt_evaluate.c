/* Method ndt: quality of the result. */
#include "ndt.h"
#include "solve.h"

#include <string.h>

/* Converts sums to the form of point-to-plane ICP: one equation with a unit normal per source point on a plane. */
static void as_equations(double *sums) {
    double trace = sums[PC_ICP_JJ + 15] + sums[PC_ICP_JJ + 18] + sums[PC_ICP_JJ + 20]; /* translation's diagonal */
    sums[PC_ICP_EQUATIONS] = trace;
}

/* Consistency score: the smallest generalized eigenvalue of the robust information matrix relative to the information
 * matrix without the kernel. It is the least fraction of the available constraint on any motion that the matches
 * confirm. A mean over all points would accept two places of one city, since ground matches anywhere; only walls and
 * poles constrain the other motions. Unconstrained motions do not count. */
static double consistency_of(const pc_register_work *w, const double *scene, const double *agree) {
    double whole[36], part[36], L[36], inverse[6], half[36], values[6], vectors[36];
    pc_information(scene, whole);
    pc_information(agree, part);
    for (int i = 0; i < 36; i++) {
        double scale = (i / 6 < 3 ? w->gyration[i / 6] : 1.0) * (i % 6 < 3 ? w->gyration[i % 6] : 1.0);
        double ridge = i % 7 == 0 ? PC_DEGENERATE_NDT * scene[PC_ICP_EQUATIONS] : 0.0;
        whole[i] = whole[i] / scale + ridge;
        part[i] = part[i] / scale + ridge;
    }
    if (!pc_cholesky6(whole, L, inverse)) {
        return 0.0;
    }
    for (int column = 0; column < 6; column++) { /* L^-1 part, then the same from the other side */
        for (int i = 0; i < 6; i++) {
            double sum = part[6 * i + column];
            for (int k = 0; k < i; k++) {
                sum -= L[6 * i + k] * half[6 * k + column];
            }
            half[6 * i + column] = sum * inverse[i];
        }
    }
    for (int row = 0; row < 6; row++) {
        for (int i = 0; i < 6; i++) {
            double sum = half[6 * row + i];
            for (int k = 0; k < i; k++) {
                sum -= L[6 * i + k] * part[6 * row + k];
            }
            part[6 * row + i] = sum * inverse[i];
        }
    }
    pc_eigen6(part, values, vectors);
    return values[0] > 0.0 ? values[0] : 0.0;
}

void pc_ndt_evaluate(const pc_ndt_work *c, const pc_ndt_optimizer *optimizer) {
    pc_register_work *w = c->w;
    pcgpu_registration *r = w->result;
    const pc_ndt_phase *f = &optimizer->phase;
    double sums[PC_NDT_SUMS], scene[PC_NDT_SUMS];
    memcpy(sums, optimizer->final_sums[PC_SUMS_SOLVE], sizeof sums);
    memcpy(scene, optimizer->final_sums[PC_SUMS_SCENE], sizeof scene);
    double matched = sums[PC_NDT_POINTS], voxels = sums[PC_NDT_VOXELS];
    r->inliers = (int64_t)(matched / f->grids + 0.5);
    r->fitness = matched / f->grids / (double)optimizer->points[f->set];
    r->inlier_rmse = matched > 0.0 ? sqrt(sums[PC_NDT_D2] / matched) : 0.0;
    as_equations(sums);
    as_equations(scene);
    if (scene[PC_ICP_EQUATIONS] > 0.0 && sums[PC_ICP_EQUATIONS] > 0.0) {
        pc_conditioning conditioning;
        r->plane_rmse = sqrt(sums[PC_NDT_R2] / sums[PC_ICP_EQUATIONS]);
        pc_conditioning_of(scene, w->gyration, PC_DEGENERATE_NDT, &conditioning);
        double s2 = c->sigma * c->sigma; /* makes equations of unit normals of the weights */
        pc_information(sums, r->information);
        for (int i = 0; i < 36; i++) {
            r->information[i] *= s2;
        }
        /* every voxel is one equation, and the two grids see the same pc_points */
        pc_covariance_of(r->information, s2 * f->grids * sums[PC_NDT_R2] / (voxels > 7.0 ? voxels - 6.0 : 1.0),
                         r->covariance);
        memcpy(r->eigenvalues, conditioning.values, sizeof r->eigenvalues);
        r->degenerate = conditioning.unconstrained > 0;
        pc_describe_unconstrained(&conditioning, r->unconstrained, sizeof r->unconstrained);
        r->agreement = consistency_of(w, scene, optimizer->final_sums[PC_SUMS_CONSISTENCY]);
    }
    r->score = r->fitness * r->agreement;
}
