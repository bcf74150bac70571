/* IEEE 754 binary16, in integer arithmetic, so that the result does not depend on the machine. */
#include "half.h"

#include <string.h>

uint16_t half_from_float(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) {
        return (uint16_t)(sign | 0x7E00);
    }
    if (magnitude >= 0x477FF000) { /* 65520, halfway to the number after the largest, and above */
        return (uint16_t)(sign | 0x7C00);
    }
    if (magnitude < 0x33000000) { /* below half of the smallest subnormal */
        return (uint16_t)sign;
    }
    uint32_t shift, mantissa;
    if (magnitude >= 0x38800000) { /* normal: drop 13 bits, rebase the exponent from 127 to 15 */
        shift = 13;
        mantissa = magnitude - 0x38000000;
    } else { /* subnormal: the value in units of 2^-24 */
        shift = 126 - (magnitude >> 23);
        mantissa = (magnitude & 0x7FFFFF) | 0x800000;
    }
    uint32_t rest = mantissa & ((1u << shift) - 1), half = 1u << (shift - 1);
    uint32_t result = mantissa >> shift;
    result += rest > half || (rest == half && (result & 1));
    return (uint16_t)(sign | result);
}
