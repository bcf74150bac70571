/* Compressed bucket summary for the exchange. Every field is rounded up, so that the tests stay conservative. */
#ifndef PC_SAMPLE_PACKED_CUH
#define PC_SAMPLE_PACKED_CUH

#include "sample_group.cuh"

enum {
    PC_VALUE_BITS = 21,                     /* of a nonnegative value */
    PC_SIDE_BITS = 6,                       /* of the distance of a side of the box from the bucket's farthest point */
    PC_MOST_SIDE = (1 << PC_SIDE_BITS) - 1, /* in units */
    PC_UNIT = PC_SIDE_BITS - 1,             /* a unit is the longest distance divided by 2^PC_UNIT */
    PC_BOX_BITS = 8 + 6 * PC_SIDE_BITS,     /* the exponent of the unit, and six sides */
};

__device__ static inline uint32_t pc_packed_value(uint32_t value) {
    const uint32_t cut = 31 - PC_VALUE_BITS;
    return (value + ((1u << cut) - 1u)) >> cut;
}

__device__ static inline uint32_t pc_unpacked_value(uint32_t packed) {
    return packed << (31 - PC_VALUE_BITS);
}

/* The power of 2 with that exponent. */
__device__ static inline float pc_power(uint32_t exponent) {
    return __uint_as_float(exponent << 23);
}

__device__ static inline uint32_t pc_units(float distance, float units_in_one) {
    return (uint32_t)ceilf(fminf(fmaxf(distance, 0.0f) * units_in_one, (float)PC_MOST_SIDE));
}

/* A box as the distances of its sides from `at`, below and above on each axis. An infinite side has PC_MOST_SIDE units,
 * which overflow to infinity. */
__device__ static inline uint64_t pc_packed_box(const pc_box &box, const float *at) {
    float most = 0.0f;
    for (int axis = 0; axis < 3; axis++) {
        most = fmaxf(most, fmaxf(at[axis] - box.low[axis], box.high[axis] - at[axis]));
    }
    const uint32_t exponent = max(__float_as_uint(most * 1.04f) << 1 >> 24, PC_UNIT + 1u);
    const float unit = pc_power(exponent - PC_UNIT), units_in_one = pc_power(254 + PC_UNIT - exponent);
    uint64_t packed = exponent;
    for (int axis = 0; axis < 3; axis++) {
        uint32_t below = pc_units(at[axis] - box.low[axis], units_in_one),
                 above = pc_units(box.high[axis] - at[axis], units_in_one);
        below += at[axis] - (float)below * unit > box.low[axis];
        above += at[axis] + (float)above * unit < box.high[axis];
        below = min(below, (uint32_t)PC_MOST_SIDE);
        above = min(above, (uint32_t)PC_MOST_SIDE);
        packed = packed << 2 * PC_SIDE_BITS | below << PC_SIDE_BITS | above;
    }
    return packed;
}

__device__ static inline void pc_unpack_box(uint64_t packed, const float *at, float *low, float *high) {
    const float unit = pc_power((uint32_t)(packed >> 6 * PC_SIDE_BITS) - PC_UNIT);
    for (int axis = 0; axis < 3; axis++) {
        const uint32_t sides = (uint32_t)(packed >> 2 * PC_SIDE_BITS * (2 - axis));
        low[axis] = at[axis] - (float)(sides >> PC_SIDE_BITS & PC_MOST_SIDE) * unit;
        high[axis] = at[axis] + (float)(sides & PC_MOST_SIDE) * unit;
    }
}

#endif
