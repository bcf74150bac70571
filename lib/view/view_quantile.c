/* Quantiles by the bits of float32, whose order as integers is that of the numbers: three histograms, whatever the
 * values. */
#include "scene.h"

#include <string.h>

static uint32_t ordered(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static float from_ordered(uint32_t o) {
    const uint32_t bits = o >> 31 ? o & 0x7fffffffu : ~o;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float pc_quantile(const float *values, int64_t n, double fraction) {
    static const int shifts[] = {21, 10, 0}, bits[] = {11, 11, 10};
    int64_t rank = (int64_t)(fraction * (double)(n - 1) + 0.5);
    uint32_t prefix = 0;
    for (int pass = 0; pass < 3 && n > 0; pass++) {
        uint32_t counts[1 << 11] = {0}; /* a picture has fewer values than 2^32 */
        const uint32_t mask = (1u << bits[pass]) - 1;
        for (int64_t i = 0; i < n; i++) {
            const uint32_t o = ordered(values[i]);
            if (pass == 0 || (o >> shifts[pass] >> bits[pass]) == prefix) {
                counts[o >> shifts[pass] & mask]++;
            }
        }
        uint32_t digit = 0;
        while (digit < mask && rank >= (int64_t)counts[digit]) {
            rank -= counts[digit++];
        }
        prefix = prefix << bits[pass] | digit;
    }
    return n > 0 ? from_ordered(prefix) : 0.0f;
}
