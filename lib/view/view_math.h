/* Functions by + - * / alone, so that pictures do not depend on a machine's libm. */
#ifndef PC_VIEW_MATH_H
#define PC_VIEW_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ln x for x > 0, within 0.006 and increasing: the exponent of a float32, and a parabola through its mantissa. For
 * shading. */
static inline float pc_ln(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    const uint32_t one = (bits & 0x7fffffu) | 0x3f800000u;
    float m;
    memcpy(&m, &one, sizeof m);
    m -= 1.0f;
    const float exponent = (float)((int)(bits >> 23) - 127);
    return 0.6931472f * (exponent + (m + (0.3466f * m) * (1.0f - m)));
}

/* The angle of (x, y) from the x axis, within 1e-5 radians. Polynomial: Abramowitz and Stegun 1964, 4.4.49. */
static inline float pc_atan2(float y, float x) {
    const float ax = fabsf(x), ay = fabsf(y);
    const float high = ax > ay ? ax : ay, low = ax > ay ? ay : ax;
    const float t = high > 0.0f ? low / high : 0.0f, s = t * t;
    float a = ((((0.0208351f * s - 0.0851330f) * s + 0.1801410f) * s - 0.3302995f) * s + 0.9998660f) * t;
    a = ay > ax ? 1.5707964f - a : a;
    a = x < 0.0f ? 3.1415927f - a : a;
    return y < 0.0f ? -a : a;
}

#endif
