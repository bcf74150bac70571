/* Arithmetic shared by the CPU and the CUDA back end: written once, compiled by both, so that both return the same
 * bits.
 *
 * Rules for everything here: float32 (or float64 where said) with + - * / sqrt floor and comparisons only, in a fixed
 * order, never contracted (the build passes -ffp-contract=off and -fmad=false). */
#ifndef PC_GEOMETRY_H
#define PC_GEOMETRY_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define PC_HD        __host__ __device__ __forceinline__ static
#define PC_HD_ALWAYS PC_HD
#else
#define PC_HD        static inline
#define PC_HD_ALWAYS static inline __attribute__((always_inline)) /* where a loop around it is to be vectorized */
#endif

/* Squared distance in the order every back end and every test uses. Never NaN for finite coordinates: an overflowing
 * difference gives +inf, and +inf is larger than every finite value, which is all that farthest points need. */
PC_HD float pc_squared_distance(float ax, float ay, float az, float bx, float by, float bz) {
    float dx = ax - bx;
    float dy = ay - by;
    float dz = az - bz;
    return (dx * dx + dy * dy) + dz * dz;
}

/* The bits of a float32. */
PC_HD_ALWAYS int32_t pc_float_bits(float value) {
    int32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The float32 of these bits. */
PC_HD_ALWAYS float pc_bits_float(int32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The bits of float32s as integers in the order of these, and such integers as bits. */
PC_HD_ALWAYS int32_t pc_in_order(int32_t bits) {
    return bits ^ (bits >> 31 & INT32_MAX);
}

/* 1 / x of 2^-100 <= x <= 2^100. There two steps from a GPU's own estimate are rounded as a division is, which
 * tests/icp/reciprocal.cu shows for every such x; what a compiler adds for others is a branch. */
PC_HD_ALWAYS float pc_reciprocal(float x) {
#if defined(__CUDACC__) && defined(__CUDA_ARCH__)
    float estimate;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(estimate) : "f"(x));
    return __fmaf_rn(estimate, __fmaf_rn(-x, estimate, 1.0f), estimate);
#else
    return 1.0f / x;
#endif
}

/* The whole number nearest to x, of two the even one, for |x| < 2^22; any other x gives one that is negative or at
 * least 2^22. Returns it as a float32, too, which is good only within. */
#define PC_ROUNDER 12582912.0f /* 1.5 x 2^23: a sum with it has no fraction, and the bits are in order */
PC_HD_ALWAYS int32_t pc_nearest(float x, float *whole) {
    const float sum = x + PC_ROUNDER;
    *whole = sum - PC_ROUNDER;
    return (int32_t)((uint32_t)pc_float_bits(sum) - 0x4b400000u);
}

/* x - x is 0 for a finite x, NaN for NaN and infinities. */
PC_HD int pc_is_finite3(float x, float y, float z) {
    return x - x == 0.0f && y - y == 0.0f && z - z == 0.0f;
}

/* A regular grid: cell c of a point on one axis is floor((p - min) / size), accepted while 0 <= c < cells and p <= max,
 * which is infinite where the cell alone decides. cells is a whole number, at most 2^24, so that a float32 holds every
 * cell index exactly. */
typedef struct pc_grid {
    float min[3], max[3], size[3];
    float cells[3];
} pc_grid;

/* The cell of p on axis k, or -1, also for NaN. */
PC_HD int32_t pc_axis_cell(const pc_grid *grid, int k, float p) {
    float c = floorf((p - grid->min[k]) / grid->size[k]);
    return c >= 0.0f && c < grid->cells[k] && p <= grid->max[k] ? (int32_t)c : -1;
}

/* Key of a cell: z slowest, x fastest; fits since the product of the three cell counts is at most 2^62. */
PC_HD int64_t pc_cell_key(const pc_grid *grid, int32_t cx, int32_t cy, int32_t cz) {
    return ((int64_t)cz * (int64_t)grid->cells[1] + cy) * (int64_t)grid->cells[0] + cx;
}

/* Key of the cell that holds a point, or -1 when the point is out of range. */
PC_HD int64_t pc_point_key(const pc_grid *grid, float x, float y, float z) {
    int32_t cx = pc_axis_cell(grid, 0, x);
    int32_t cy = pc_axis_cell(grid, 1, y);
    int32_t cz = pc_axis_cell(grid, 2, z);
    return cx < 0 || cy < 0 || cz < 0 ? -1 : pc_cell_key(grid, cx, cy, cz);
}

/* Sine and cosine by Taylor's series, since those of libraries differ in the last bit. For |angle| up to 1e6; up to 10
 * degrees the first term left out is below 1e-25, else below 1e-19. */
PC_HD void pc_sine_cosine(double angle, double *sine, double *cosine) {
    enum { PC_TERMS = 8 };
    const double quarter = 1.5707963267948966, left = 6.123233995736766e-17; /* pi / 2 = quarter + left */
    const double quarters = floor(angle / quarter + 0.5), turned = quarters - 4.0 * floor(quarters * 0.25);
    angle = (angle - quarters * quarter) - quarters * left;
    const double square = angle * angle;
    double s = 1.0, c = 1.0;
    for (int k = 2 * PC_TERMS; k > 0; k -= 2) {
        s = 1.0 - square / (double)(k * (k + 1)) * s;
        c = 1.0 - square / (double)((k - 1) * k) * c;
    }
    s *= angle;
    *sine = turned == 0.0 ? s : turned == 1.0 ? c : turned == 2.0 ? -s : -c;
    *cosine = turned == 0.0 ? c : turned == 1.0 ? -s : turned == 2.0 ? -c : s;
}

/* The angle from the x axis to (cosine, sine), sine >= 0, in [0, pi]: atan2 by + - * / sqrt, since that of one libm
 * differs from that of another in the last bit. Two halvings, tan(a/2) = tan(a) / (1 + sqrt(1 + tan(a)^2)), leave 0.2
 * at most, where 13 terms of the series are exact to the last digits. 0 for (0, 0). */
PC_HD double pc_angle(double sine, double cosine) {
    const int steep = sine > fabs(cosine);
    const double whole = steep ? fabs(cosine) / sine : sine / fabs(cosine);
    if (!(sine > 0.0)) {
        return sine != sine ? sine : cosine < 0.0 ? 3.141592653589793 : 0.0;
    }
    double t = whole / (1.0 + sqrt(1.0 + whole * whole)), sum = 0.0;
    t = t / (1.0 + sqrt(1.0 + t * t));
    for (int k = 12; k >= 0; k--) {
        sum = 1.0 / (2 * k + 1) - t * t * sum;
    }
    const double angle = 4.0 * t * sum, acute = steep ? 1.5707963267948966 - angle : angle;
    return cosine < 0.0 ? 3.141592653589793 - acute : acute;
}

/* Mixes the bits of a key for hash tables (the finalizer of splitmix64, Steele et al. 2014). */
PC_HD uint64_t pc_hash64(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

/* The i-th point of a sample: a random one out of every `every` consecutive points. This samples a scan evenly in space
 * and is not in step with its rings or columns. */
PC_HD_ALWAYS int64_t pc_pick(int64_t i, int64_t every) {
    return i * every + (int64_t)((pc_hash64((uint64_t)i) >> 32) * (uint64_t)every >> 32);
}

#endif
