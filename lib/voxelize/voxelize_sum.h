/* Sums that do not depend on the order, for the means of voxels without a limit of points. Shared by the CPU and CUDA
 * (see geometry.h for the rules).
 *
 * The sum is exact, and rounded once:
 *
 *     mean = float32( float64(sum of the values) / float64(count) )
 *
 * where float64() and float32() round to nearest, ties to even. So a back end may add the points of a voxel in any
 * order and in any partition, including one voxel with millions of points, and no other point influences the mean. With
 * m the exact mean,
 *
 *     |mean - m| <= (2^-24 + 2^-51) |m| + 2^-150,
 *
 * half a unit in the last place of float32 and, in about one case of 2^27, slightly more; the last term is for means
 * below the normal range of float32. A mean is never outside the smallest and the largest value, and equals the value
 * when all are equal. A NaN among the values, or infinities of both signs, give NaN; otherwise an infinity gives
 * itself. A sum of 0 is +0.
 *
 * There are two algorithms. Plain additions in float64 are exact as long as the bits of all values and of the sum fit
 * into one significand of 53 bits; the exponents of 1,000 values may then differ by 20, which is nearly always the
 * case. The error term of each addition shows whether it was exact (Knuth, TAOCP 2, 4.2.2, theorem B). If one addition
 * was not exact, the values are added again in fixed point that is wide enough for every float32: pc_exact_sum. */
#ifndef PC_VOXEL_SUM_H
#define PC_VOXEL_SUM_H

#include "geometry.h"

#include <stdbool.h>
#include <string.h>

/* NaN with a fixed bit pattern, since the NaN of an operation differs between processors. */
PC_HD float pc_one_nan(float value) {
    if (value != value) {
        const uint32_t bits = 0x7fc00000u;
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

/* The rounding error of the addition of two finite numbers; NaN when one of them is not finite. */
PC_HD double pc_addition_error(double a, double b, double sum) {
    double part = sum - a;
    return (a - (sum - part)) + (b - part);
}

PC_HD float pc_rounded_mean(double sum, int64_t count) {
    return pc_one_nan((float)(sum / (double)count));
}

/* A sum of up to 2^31 - 1 float32 values in units of 2^-149: digits of base 2^32 in 64 bits, lowest first, which leaves
 * bits for all carries. Start from zeroes. */
enum { PC_SUM_DIGITS = 9, PC_SUM_NAN = 1, PC_SUM_PLUS_INF = 2, PC_SUM_MINUS_INF = 4 };

typedef struct pc_exact_sum {
    int64_t digit[PC_SUM_DIGITS];
    uint32_t not_finite; /* PC_SUM_ bits of the kinds of values */
} pc_exact_sum;

PC_HD void pc_exact_add(pc_exact_sum *sum, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t exponent = bits >> 23 & 0xffu, significand = bits & 0x7fffffu;
    bool negative = bits >> 31 != 0;
    if (exponent == 0xffu) {
        sum->not_finite |= significand ? PC_SUM_NAN : negative ? PC_SUM_MINUS_INF : PC_SUM_PLUS_INF;
        return;
    }
    uint32_t shift = exponent ? exponent - 1 : 0;
    uint64_t term = (uint64_t)(exponent ? significand | 0x800000u : significand) << shift % 32;
    int64_t low = (int64_t)(term & 0xffffffffu), high = (int64_t)(term >> 32);
    sum->digit[shift / 32] += negative ? -low : low;
    sum->digit[shift / 32 + 1] += negative ? -high : high;
}

/* value * 2^exponent; the exponent and the result in float64's normal range. */
PC_HD double pc_scale(double value, int exponent) {
    uint64_t bits = (uint64_t)(1023 + exponent) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return value * power;
}

/* The sum, rounded once. */
PC_HD double pc_exact_round(const pc_exact_sum *sum) {
    uint32_t digit[PC_SUM_DIGITS + 1];
    int64_t carry = 0;
    if (sum->not_finite) {
        bool one_sign = sum->not_finite == PC_SUM_PLUS_INF || sum->not_finite == PC_SUM_MINUS_INF;
        return !one_sign ? (double)NAN : sum->not_finite == PC_SUM_PLUS_INF ? HUGE_VAL : -HUGE_VAL;
    }
    for (int i = 0; i < PC_SUM_DIGITS; i++) { /* a right shift of a negative number rounds down on all our compilers */
        carry += sum->digit[i];
        digit[i] = (uint32_t)carry;
        carry >>= 32;
    }
    digit[PC_SUM_DIGITS] = (uint32_t)carry;
    bool negative = carry < 0;
    uint64_t borrow = negative;
    for (int i = 0; negative && i <= PC_SUM_DIGITS; i++) { /* its absolute value */
        borrow += (uint32_t)~digit[i];
        digit[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    int top = PC_SUM_DIGITS;
    while (top >= 0 && digit[top] == 0) {
        top--;
    }
    if (top < 0) {
        return 0.0;
    }
    /* The leading 64 bits; the last bit is set if any lower bit is set, which only decides ties. */
    uint64_t head = (uint64_t)digit[top] << 32 | (top > 0 ? digit[top - 1] : 0);
    uint32_t next = top > 1 ? digit[top - 2] : 0, rest = 0;
    int exponent = 32 * (top - 1) - 149;
    for (; head >> 63 == 0; exponent--) {
        head = head << 1 | next >> 31;
        next <<= 1;
    }
    for (int i = 0; i < top - 2; i++) {
        rest |= digit[i];
    }
    double magnitude = pc_scale((double)(head | (next || rest ? 1u : 0u)), exponent);
    return negative ? -magnitude : magnitude;
}

#endif
