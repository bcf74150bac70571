/* An order of points along a Morton curve (Morton 1966): 1,024 cells along the longest side of the bounding box, the
 * bits of the three cell numbers interleaved, a radix sort of these keys. Where many points share a cell, because one
 * stray point stretches the box, say, the cell is ordered again within a box of its own. */
#include "cpu_sample.h"

enum {
    AXIS_BITS = 10,
    DIGIT_BITS = 10,
    DIGITS = 1 << DIGIT_BITS,
    PASSES = 3 * AXIS_BITS / DIGIT_BITS,
    CROWD = 1024, /* points in a cell that repay another sort: more than the digits its counters have */
};

static const double last_cell = (1 << AXIS_BITS) - 1;

typedef struct bounds {
    float low[3], high[3];
} bounds;

static bounds find_bounds(const pc_sample_job *job, const uint64_t *items, int64_t n) {
    const float *axes[3] = {job->x, job->y, job->z};
    bounds b;
    for (int k = 0; k < 3; k++) {
        const float *v = axes[k];
        float low = v[(uint32_t)items[0]], high = low;
        for (int64_t i = 1; i < n; i++) {
            float p = v[(uint32_t)items[i]];
            low = p < low ? p : low;
            high = p > high ? p : high;
        }
        b.low[k] = low;
        b.high[k] = high;
    }
    return b;
}

/* Moves bit i of a cell number to bit 3 i. */
static inline uint32_t spread(uint32_t v) {
    v = (v | v << 16) & 0x030000ffu;
    v = (v | v << 8) & 0x0300f00fu;
    v = (v | v << 4) & 0x030c30c3u;
    return (v | v << 2) & 0x09249249u;
}

/* One pass of the radix sort, by the digit of the key that begins at bit `shift` of an item; stable. */
static void sort_pass(const uint64_t *from, uint64_t *to, int64_t n, int shift, uint32_t *starts) {
    uint32_t sum = 0;
    for (int d = 0; d < DIGITS; d++) {
        uint32_t count = starts[d];
        starts[d] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) {
        to[starts[from[i] >> shift & (DIGITS - 1)]++] = from[i];
    }
}

/* Orders n items. A recursion has fewer points, since the ends of the longest side lie in different cells, and a box
 * a thousandth as long, so its depth is at most the 277 binary orders of magnitude of a float32 by ten. */
static void order_items(const pc_sample_job *job, uint64_t *items, uint64_t *scratch, int64_t n) {
    bounds b = find_bounds(job, items, n);
    double side = 0.0;
    for (int k = 0; k < 3; k++) {
        side = fmax(side, (double)b.high[k] - (double)b.low[k]);
    }
    if (side == 0.0) {
        return;
    }
    const double scale = last_cell / side; /* in float64 neither this nor a product overflows */
    uint32_t counts[PASSES][DIGITS] = {{0}};
    for (int64_t i = 0; i < n; i++) {
        uint32_t p = (uint32_t)items[i];
        uint32_t cx = (uint32_t)(((double)job->x[p] - (double)b.low[0]) * scale);
        uint32_t cy = (uint32_t)(((double)job->y[p] - (double)b.low[1]) * scale);
        uint32_t cz = (uint32_t)(((double)job->z[p] - (double)b.low[2]) * scale);
        uint32_t key = spread(cx) | spread(cy) << 1 | spread(cz) << 2;
        scratch[i] = (uint64_t)key << 32 | p;
        for (int pass = 0; pass < PASSES; pass++) {
            counts[pass][key >> (pass * DIGIT_BITS) & (DIGITS - 1)]++;
        }
    }
    uint64_t *from = scratch, *to = items;
    for (int pass = 0; pass < PASSES; pass++) { /* an odd number of them: the last writes to `items` */
        sort_pass(from, to, n, 32 + pass * DIGIT_BITS, counts[pass]);
        uint64_t *other = from;
        from = to;
        to = other;
    }
    for (int64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && items[end] >> 32 == items[begin] >> 32;) {
            end++;
        }
        if (end - begin > CROWD) {
            order_items(job, items + begin, scratch + begin, end - begin);
        }
    }
}

void pc_sample_order(const pc_sample_job *job, uint64_t *items, uint64_t *scratch) {
    for (int64_t i = 0; i < job->n; i++) {
        items[i] = (uint64_t)i;
    }
    order_items(job, items, scratch, job->n);
}
