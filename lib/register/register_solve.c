/* Normal equations: the update, and the unconstrained directions. */
#include "register.h"
#include "solve.h"

#include <stdio.h>
#include <string.h>

void pc_conditioning_of(const double *sums, const double gyration[3], double limit, pc_conditioning *c) {
    double a[36];
    pc_information(sums, a);
    for (int i = 0; i < 36; i++) {
        double scale = (i / 6 < 3 ? gyration[i / 6] : 1.0) * (i % 6 < 3 ? gyration[i % 6] : 1.0);
        a[i] /= scale * sums[PC_ICP_EQUATIONS];
    }
    pc_eigen6(a, c->values, c->vectors);
    c->unconstrained = 0;
    while (c->unconstrained < 6 && !(c->values[c->unconstrained] >= limit)) {
        c->unconstrained++;
    }
}

void pc_covariance_of(const double information[36], double variance, double covariance[36]) {
    for (int i = 0; i < 6; i++) {
        double unit[6] = {0}, row[6];
        unit[i] = variance;
        pc_solve6(information, unit, row);
        memcpy(covariance + 6 * i, row, sizeof row);
    }
}

bool pc_solve_step(const double *sums, const double gyration[3], double update[6]) {
    double a[36], b[6];
    pc_conditioning c;
    pc_information(sums, a);
    pc_conditioning_of(sums, gyration, PC_DEGENERATE_PLANE, &c);
    for (int i = 0; i < 6; i++) {
        b[i] = -sums[PC_ICP_JR + i];
    }
    if (c.unconstrained == 0) {
        return pc_solve6(a, b, update);
    }
    /* Zhang, Kaess and Singh 2016: update only constrained directions. */
    memset(update, 0, 6 * sizeof *update);
    for (int v = c.unconstrained; v < 6; v++) {
        const double *e = c.vectors + 6 * v;
        double along = 0.0;
        for (int i = 0; i < 6; i++) {
            along += e[i] * (i < 3 ? b[i] / gyration[i] : b[i]);
        }
        along /= c.values[v] * sums[PC_ICP_EQUATIONS];
        for (int i = 0; i < 6; i++) {
            update[i] += along * (i < 3 ? e[i] / gyration[i] : e[i]);
        }
    }
    return c.unconstrained < 6;
}

/* ---- words ----------------------------------------------------------------------------------------------------- */

static void append(char *text, size_t size, const char *what) {
    size_t used = strlen(text);
    const char *comma = used ? ", " : "";
    if (used + strlen(comma) + strlen(what) < size) {
        snprintf(text + used, size - used, "%s%s", comma, what);
    }
}

/* The axes of the update that lie in the unconstrained subspace; returns how many there are. */
static int name_axes(const pc_conditioning *c, char *text, size_t size) {
    static const char *const names[6] = {"rotation about x",    "rotation about y",    "rotation about z",
                                         "translation along x", "translation along y", "translation along z"};
    int named = 0;
    for (int n = 0; n < 6; n++) {
        int axis = (n + 3) % 6; /* translations first */
        double inside = 0.0;
        for (int v = 0; v < c->unconstrained; v++) {
            inside += c->vectors[6 * v + axis] * c->vectors[6 * v + axis];
        }
        if (inside > 0.95) {
            append(text, size, names[axis]);
            named++;
        }
    }
    return named;
}

/* One direction that is not an axis; the part that moves points more comes first. */
static void name_vector(const double *e, char *text, size_t size) {
    double share = e[3] * e[3] + e[4] * e[4] + e[5] * e[5];
    const double *main_part = share >= 0.5 ? e + 3 : e;
    double length = sqrt(share >= 0.5 ? share : 1.0 - share);
    char part[96];
    snprintf(part, sizeof part, "%s (%.2f, %.2f, %.2f)%s", share >= 0.5 ? "translation along" : "rotation about",
             main_part[0] / length, main_part[1] / length, main_part[2] / length,
             share > 0.9    ? ""
             : share >= 0.5 ? " with a rotation"
             : share >= 0.1 ? " with a translation"
                            : "");
    append(text, size, part);
}

void pc_describe_unconstrained(const pc_conditioning *c, char *text, size_t size) {
    text[0] = '\0';
    if (name_axes(c, text, size) == c->unconstrained) {
        return;
    }
    text[0] = '\0';
    for (int v = 0; v < c->unconstrained; v++) {
        name_vector(c->vectors + 6 * v, text, size);
    }
}
