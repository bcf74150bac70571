/* Arrays next to a cloud. */
#include "arrays.h"
#include "numbers.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

void array_write_text(FILE *stream, const pcgpu_array *array) {
    char buffer[NUMBER_SIZE];
    int64_t columns = 1;
    for (int k = 1; k < array->dimensions; k++) {
        columns *= array->shape[k];
    }
    for (int64_t i = 0; i < array->shape[0] * columns; i++) {
        const char *end = (i + 1) % columns ? " " : "\n";
        if (array->type == PCGPU_INT32) {
            fprintf(stream, "%" PRId32 "%s", ((const int32_t *)array->data)[i], end);
        } else if (array->type == PCGPU_INT64) {
            fprintf(stream, "%" PRId64 "%s", ((const int64_t *)array->data)[i], end);
        } else {
            fprintf(stream, "%s%s", number_text((double)((const float *)array->data)[i], true, buffer), end);
        }
    }
}

double array_add_offset(const double offset[3], float *row) {
    double largest = 0;
    for (int k = 0; k < 3; k++) {
        const double exact = offset[k] + (double)row[k];
        row[k] = (float)exact;
        largest = fmax(largest, fabs((double)row[k] - exact));
    }
    return largest;
}

/* In integer arithmetic, so that the result does not depend on the machine. */
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
