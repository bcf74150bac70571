/* Values of a file: their types, and what they are as float64. */
#include "io.h"

#include <math.h>
#include <string.h>

const char *const pc_color_names[PC_COLORS] = {"red", "green", "blue", "alpha"};

size_t pc_type_size(int type) {
    switch (type) {
    case PCGPU_INT8:
    case PCGPU_UINT8: return 1;
    case PCGPU_INT16:
    case PCGPU_UINT16:
    case PCGPU_FLOAT16: return 2;
    case PCGPU_FLOAT64:
    case PCGPU_INT64:
    case PC_UINT64: return 8;
    default: return 4;
    }
}

uint64_t pc_load_bits(const unsigned char *p, size_t size, bool swap) {
    uint64_t bits = 0;
    for (size_t i = 0; i < size && swap; i++) {
        bits = bits << 8 | p[i];
    }
    return swap ? bits : pc_load_number(p, size);
}

/* IEEE 754 binary16: a sign, 5 bits of exponent, 10 of fraction. */
static double half_of(uint32_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double value = exponent == 31  ? (fraction ? NAN : INFINITY)
                         : exponent == 0 ? ldexp(fraction, -24)
                                         : ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 & 1 ? -value : value;
}

double pc_load_value(const unsigned char *p, int type, bool swap) {
    uint64_t bits = pc_load_bits(p, pc_type_size(type), swap);
    uint32_t low = (uint32_t)bits;
    float f;
    double d;
    switch (type) {
    case PCGPU_FLOAT32: memcpy(&f, &low, sizeof f); return (double)f;
    case PCGPU_FLOAT64: memcpy(&d, &bits, sizeof d); return d;
    case PCGPU_INT8: return (double)(int8_t)bits;
    case PCGPU_INT16: return (double)(int16_t)bits;
    case PCGPU_INT32: return (double)(int32_t)bits;
    case PCGPU_INT64: return (double)(int64_t)bits;
    case PCGPU_FLOAT16: return half_of(low);
    default: return (double)bits; /* unsigned */
    }
}

#define LOAD_VALUES(TYPE)                                                                                              \
    for (int i = 0; i < rows; i++, p += field->stride) {                                                               \
        TYPE value;                                                                                                    \
        memcpy(&value, p, sizeof value);                                                                               \
        values[i] = (double)value;                                                                                     \
    }                                                                                                                  \
    break

/* The type is looked at once, which takes longer than to convert a value. */
void pc_load_fields(const unsigned char *p, const pc_field *field, bool swap, int rows, double *values) {
    const double scale = field->scale, shift = field->shift;
    switch (swap ? -1 : (int)field->type) {
    case PCGPU_FLOAT32: LOAD_VALUES(float);
    case PCGPU_FLOAT64: LOAD_VALUES(double);
    case PCGPU_INT64: LOAD_VALUES(int64_t);
    case PC_UINT64: LOAD_VALUES(uint64_t);
    case PCGPU_INT32: LOAD_VALUES(int32_t);
    case PCGPU_UINT32: LOAD_VALUES(uint32_t);
    case PCGPU_INT16: LOAD_VALUES(int16_t);
    case PCGPU_UINT16: LOAD_VALUES(uint16_t);
    case PCGPU_INT8: LOAD_VALUES(int8_t);
    case PCGPU_UINT8: LOAD_VALUES(uint8_t);
    default:
        for (int i = 0; i < rows; i++, p += field->stride) {
            values[i] = pc_load_value(p, field->type, swap);
        }
    }
    for (int i = 0; i < rows && scale != 0.0; i++) {
        values[i] = values[i] * scale + shift;
    }
    const int low = field->mask ? __builtin_ctz(field->mask) : 0;
    for (int i = 0; i < rows && scale == 0.0 && field->mask; i++) {
        values[i] = (double)(((unsigned)values[i] & field->mask) >> low);
    }
}
