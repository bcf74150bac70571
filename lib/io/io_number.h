/* Decimal numbers of text files, fast.
 *
 * A number of at most 15 digits is exact in float64 with one multiplication (Clinger 1990). One with more has an error
 * of 2 units in the last place at most, so that its float32 is still right unless it lies that near to the middle of
 * two; then strtof decides. */
#ifndef PC_IO_NUMBER_H
#define PC_IO_NUMBER_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const double pc_tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10,
                                 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
                                 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30};

static inline bool pc_is_digit(char c) {
    return (unsigned char)(c - '0') < 10;
}

/* Parses a decimal number; a NUL ends the text. Returns its end, or NULL for what needs strtod. `exact`: the value is
 * rounded once. */
static inline const char *pc_scan_number(const char *p, double *value, bool *exact) {
    const bool negative = *p == '-';
    p += negative || *p == '+';
    const char *first = p;
    uint64_t digits = 0;
    int scale = 0;
    for (; pc_is_digit(*p); p++) {
        digits = digits * 10 + (uint64_t)(*p - '0');
    }
    ptrdiff_t count = p - first;
    if (*p == '.') {
        const char *point = ++p;
        for (; pc_is_digit(*p); p++) {
            digits = digits * 10 + (uint64_t)(*p - '0');
        }
        scale = (int)(point - p);
        count += p - point;
    }
    if (count == 0 || count > 19) {
        return NULL;
    }
    if (*p == 'e' || *p == 'E') {
        const bool minus = p[1] == '-';
        p += 1 + (minus || p[1] == '+');
        int exponent = 0;
        const char *begin = p;
        for (; pc_is_digit(*p) && p - begin < 4; p++) {
            exponent = exponent * 10 + (*p - '0');
        }
        if (p == begin) {
            return NULL;
        }
        scale += minus ? -exponent : exponent;
    }
    *exact = digits <= UINT64_C(1) << 53;
    const int power = scale < 0 ? -scale : scale;
    if (power > (*exact ? 22 : 30)) {
        return NULL;
    }
    const double v = scale < 0 ? (double)digits / pc_tens[power] : (double)digits * pc_tens[power];
    *value = negative ? -v : v;
    return p;
}

/* Whether a float64 that may be 4 units off could have another float32. Also near a float32, unless it may be: then
 * whether it is that float32 is open. */
static inline bool pc_is_undecided(double v, bool exact, bool whole) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    const uint32_t low = (uint32_t)bits & 0x1fffffff, margin = exact ? 0 : 4;
    const bool middle = low >= 0x10000000 - margin && low <= 0x10000000 + margin;
    const bool near = !exact && (low <= margin || low >= 0x20000000 - margin);
    return middle || (whole && near) || (!exact && !(fabs(v) > 1e-30 && fabs(v) < 1e30));
}

#endif
