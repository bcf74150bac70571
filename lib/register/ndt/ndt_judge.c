/* Registration by cells: how much the result is worth. */
#include "ndt.h"
#include "solve.h"

#include <string.h>

/* Puts sums into the form of point-to-plane ICP: equations of unit normals, one for each source point across a plane.
 */
static void as_equations(double *sums) {
    double trace = sums[PC_ICP_JJ + 15] + sums[PC_ICP_JJ + 18] + sums[PC_ICP_JJ + 20]; /* translation's diagonal */
    sums[PC_ICP_EQUATIONS] = trace;
}

/* The least share of what the planes could say about any motion that they do say: the smallest eigenvalue of the robust
 * information against the information without the kernel. Grounds match anywhere, so a mean over all points would
 * accept two places of one city; the motions that only walls and poles constrain are what tells them apart. Motions
 * that nothing constrains have no share in this. */
static double agreement_of(const pc_register_work *w, const double *scene, const double *agree) {
    double whole[36], part[36], L[36], inverse[6], half[36], values[6], vectors[36];
    pc_information(scene, whole);
    pc_information(agree, part);
    for (int i = 0; i < 36; i++) {
        double scale = (i / 6 < 3 ? w->lever[i / 6] : 1.0) * (i % 6 < 3 ? w->lever[i % 6] : 1.0);
        double ridge = i % 7 == 0 ? PC_DEGENERATE_CELLS * scene[PC_ICP_EQUATIONS] : 0.0;
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

void pc_cells_evaluate(const pc_cells_work *c, const pc_cells_path *path) {
    pc_register_work *w = c->w;
    pcgpu_registration *r = w->result;
    const pc_cells_phase *f = &path->phase;
    double sums[PC_CELLS_SUMS], scene[PC_CELLS_SUMS];
    memcpy(sums, path->worth[PC_SUMS_SOLVE], sizeof sums);
    memcpy(scene, path->worth[PC_SUMS_SCENE], sizeof scene);
    double matched = sums[PC_CELLS_POINTS], cells = sums[PC_CELLS_CELLS];
    r->inliers = (int64_t)(matched / f->grids + 0.5);
    r->fitness = matched / f->grids / (double)path->points[f->set];
    r->inlier_rmse = matched > 0.0 ? sqrt(sums[PC_CELLS_D2] / matched) : 0.0;
    as_equations(sums);
    as_equations(scene);
    if (scene[PC_ICP_EQUATIONS] > 0.0 && sums[PC_ICP_EQUATIONS] > 0.0) {
        pc_conditioning conditioning;
        r->plane_rmse = sqrt(sums[PC_CELLS_R2] / sums[PC_ICP_EQUATIONS]);
        pc_conditioning_of(scene, w->lever, PC_DEGENERATE_CELLS, &conditioning);
        double s2 = c->noise * c->noise; /* makes equations of unit normals of the weights */
        pc_information(sums, r->information);
        for (int i = 0; i < 36; i++) {
            r->information[i] *= s2;
        }
        /* every cell is one equation, and the two grids see the same pc_point_set */
        pc_covariance_of(r->information, s2 * f->grids * sums[PC_CELLS_R2] / (cells > 7.0 ? cells - 6.0 : 1.0),
                         r->covariance);
        memcpy(r->eigenvalues, conditioning.values, sizeof r->eigenvalues);
        r->degenerate = conditioning.unconstrained > 0;
        pc_describe_unconstrained(&conditioning, r->unconstrained, sizeof r->unconstrained);
        r->agreement = agreement_of(w, scene, path->worth[PC_SUMS_AGREE]);
    }
    r->score = r->fitness * r->agreement;
}
