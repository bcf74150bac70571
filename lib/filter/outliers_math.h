/* The average and the standard deviation of mean distances, shared by the CPU and CUDA. Sums go over blocks of records,
 * then over the blocks: neither threads nor back ends change them. */
#ifndef PC_OUTLIERS_MATH_H
#define PC_OUTLIERS_MATH_H

#include "geometry.h"

#include <stdbool.h>

enum { PC_OUTLIERS_BLOCK = 4096 };

typedef struct pc_mean_sum {
    double sum;
    int64_t count;
} pc_mean_sum;

/* Adds a mean distance, or the square of its difference from the middle; one below 0 is that of a point alone. */
PC_HD void pc_mean_sum_add(pc_mean_sum *s, double mean, double middle, bool squares) {
    const double d = mean - middle;
    if (mean >= 0.0) {
        s->sum += squares ? d * d : d;
        s->count++;
    }
}

PC_HD void pc_mean_sum_join(pc_mean_sum *s, const pc_mean_sum *block) {
    s->sum += block->sum;
    s->count += block->count;
}

PC_HD double pc_average_of(const pc_mean_sum *s) {
    return s->count > 0 ? s->sum / (double)s->count : 0.0;
}

/* Of squares of differences from the average. */
PC_HD double pc_deviation_of(const pc_mean_sum *s) {
    return s->count > 1 ? sqrt(s->sum / (double)(s->count - 1)) : 0.0;
}

/* Whether a record has too few others within a radius; `within` counts them and the record. The square of a tiny radius
 * is 0: not even the record itself is within. */
PC_HD bool pc_is_sparse(int32_t within, int64_t others) {
    return others > 0 && within - 1 < others;
}

#endif
