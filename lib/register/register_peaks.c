/* Turns, the highest scores of a search, and the median of heights. */
#include "register_peaks.h"
#include "pose.h"

#include <stdlib.h>

#define HALF_TURN_TAN 0.017455064928217585 /* of half a turn, which is 1 degree */

void pc_search_rotation(int turn, double R[9]) {
    double q[4] = {1, 0, 0, 0}, d[4];
    const double step[3] = {0, 0, 2.0 * HALF_TURN_TAN};
    pc_quaternion_turn(step, d);
    for (int i = 0; i < turn; i++) {
        pc_quaternion_turned(d, q);
    }
    pc_quaternion_matrix(q, R);
}

int pc_turns_between(int a, int b) {
    const int turns = abs(a - b);
    return turns < PC_SEARCH_TURNS - turns ? turns : PC_SEARCH_TURNS - turns;
}

bool pc_peak_is_near(const pc_peak *a, const pc_peak *b) {
    return pc_turns_between(a->turn, b->turn) < PC_PEAK_TURNS && abs(a->x - b->x) < PC_PEAK_CELLS &&
           abs(a->y - b->y) < PC_PEAK_CELLS;
}

static int compare(const void *a, const void *b) {
    const pc_peak *p = a, *q = b;
    if (p->score != q->score) {
        return (p->score < q->score) - (p->score > q->score);
    }
    return p->turn != q->turn ? p->turn - q->turn : p->y != q->y ? p->y - q->y : p->x - q->x;
}

int pc_peaks_choose(pc_peak *peaks, int count, int most) {
    int kept = 0;
    qsort(peaks, (size_t)count, sizeof *peaks, compare);
    for (int i = 0; i < count && kept < most && peaks[i].score >= 0; i++) {
        bool near = false;
        for (int k = 0; k < kept && !near; k++) {
            near = pc_peak_is_near(&peaks[i], &peaks[k]);
        }
        if (!near) {
            peaks[kept++] = peaks[i];
        }
    }
    return kept;
}

void pc_heights_add(pc_heights *h, double cells) {
    const double bin = floor(8.0 * cells) + PC_HEIGHT_BINS / 2;
    h->bins[bin < 0.0 ? 0 : bin > PC_HEIGHT_BINS - 1.0 ? PC_HEIGHT_BINS - 1 : (int)bin]++;
    h->count++;
}

double pc_heights_median(const pc_heights *h) {
    int32_t median = 0, below = 0;
    while (median < PC_HEIGHT_BINS - 1 && 2 * (below + h->bins[median]) <= h->count) {
        below += h->bins[median++];
    }
    return h->count ? (median - PC_HEIGHT_BINS / 2 + 0.5) / 8.0 : 0.0;
}
