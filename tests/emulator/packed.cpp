/* The compressed bucket summary (cuda/sample/sample_packed.cuh): never below the exact values, and only slightly above. */
#include "sample_packed.cuh"

#include <cmath>
#include <cstdio>
#include <cstring>

static uint64_t state = 88172645463325252ull;

static uint32_t random_bits() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

/* Of every size: any finite float, or one of a few that touch the ends of the format. */
static float random_float(int kind) {
    static const float ends[] = {0.0f, -0.0f, 1e-45f, -1e-45f, 1.17549435e-38f, 3.4028234e38f, -3.4028234e38f, 1.0f};
    if (kind == 0) {
        return ends[random_bits() % 8];
    }
    if (kind == 1) {
        uint32_t bits = random_bits();
        float value;
        memcpy(&value, &bits, sizeof value);
        return std::isfinite(value) ? value : 1e30f;
    }
    return ((float)random_bits() * 0x1p-32f - 0.5f) * 100.0f;
}

int main() {
    enum { BOXES = 2000000 };
    long failed = 0, loose = 0;
    for (long i = 0; i < BOXES; i++) {
        const int kind = (int)(random_bits() % 4);
        pc_box box;
        float at[3], low[3], high[3], longest = 0.0f;
        for (int k = 0; k < 3; k++) {
            const float a = random_float(kind), near = kind == 3 ? a + random_float(2) * 1e-6f : random_float(kind);
            box.low[k] = fminf(a, near);
            box.high[k] = fmaxf(a, near);
            at[k] = random_bits() % 4 ? (random_bits() % 2 ? a : near) : random_float(kind);
            longest = fmaxf(longest, fmaxf(at[k] - box.low[k], box.high[k] - at[k]));
        }
        const uint64_t packed = pc_packed_box(box, at);
        pc_unpack_box(packed, at, low, high);
        bool good = packed >> PC_BOX_BITS == 0;
        for (int k = 0; k < 3; k++) {
            good = good && low[k] <= box.low[k] && high[k] >= box.high[k];
            /* Two units, and what rounding adds. */
            const double slack = longest / 15.0 + 1e-36 + fabs((double)at[k]) * 1e-6;
            if (longest < 1e38f && ((double)fminf(at[k], box.low[k]) - low[k] > slack ||
                                    high[k] - (double)fmaxf(at[k], box.high[k]) > slack)) {
                loose++;
            }
        }
        const uint32_t value = random_bits() % 0x7f800001u, told = pc_unpacked_value(pc_packed_value(value));
        good = good && told >= value && told - value < 1u << (31 - PC_VALUE_BITS) &&
               pc_packed_value(value) >> PC_VALUE_BITS == 0;
        failed += !good;
    }
    printf("%d boxes and values: %ld are below the exact ones, %ld sides are too far\n", (int)BOXES, failed, loose);
    return failed || loose;
}
