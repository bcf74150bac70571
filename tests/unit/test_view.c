/* Parts of the renderer: quantiles, functions without libm, discs, bounds, colours. tests/cli/view.sh: pictures. */
#include "unit.h"
#include "view_draw.h"

enum { COUNT = 5000 };

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int compare(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void test_quantile(void **state) {
    static const double fractions[] = {0, 0.01, 0.3, 0.5, 0.99, 1};
    float values[COUNT], sorted[COUNT];
    uint32_t seed = 7;
    for (int i = 0; i < COUNT; i++) {
        const float wide = (float)next(&seed) - 8388608.0f;
        values[i] = i % 3 == 0 ? wide : i % 3 == 1 ? wide * 1e-40f : (float)(next(&seed) % 4) - 2.0f;
    }
    values[3] = INFINITY;
    values[4] = -INFINITY;
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, COUNT, sizeof *sorted, compare);
    for (size_t i = 0; i < sizeof fractions / sizeof *fractions; i++) {
        for (int n = 1; n <= COUNT; n += n == 1 ? COUNT - 1 : 1) {
            const float wanted = n == 1 ? values[0] : sorted[(int)(fractions[i] * (COUNT - 1) + 0.5)];
            assert_true(pc_quantile(values, n, fractions[i]) == wanted);
        }
    }
    assert_true(pc_quantile(values, 0, 0.5) == 0.0f);
}

static void test_math(void **state) {
    float before = -INFINITY;
    for (float x = 1e-6f; x < 1e9f; x *= 1.003f) {
        const float y = pc_ln(x);
        assert_true(fabsf(y - logf(x)) < 0.006f && y > before);
        before = y;
    }
    for (int i = 0; i < 720; i++) {
        const float angle = (float)i * 0.0087266f - 3.1f, y = 5.0f * sinf(angle), x = 5.0f * cosf(angle);
        assert_true(fabsf(pc_atan2(y, x) - atan2f(y, x)) < 2e-5f);
    }
    assert_true(pc_atan2(0.0f, 0.0f) == 0.0f);
}

static int count_drawn(const canvas *c) {
    int n = 0;
    for (int i = 0; i < c->width * c->height; i++) {
        n += c->keys[i] != 0;
    }
    return n;
}

static void test_discs(void **state) {
    enum { SIDE = 100, GUARD = 64 };
    static uint64_t memory[GUARD + SIDE * SIDE + GUARD];
    canvas c = {.width = SIDE, .height = SIDE, .keys = memory + GUARD};
    for (int size = 1; size <= SPLAT_MOST; size++) {
        for (int shared = 0; shared < 2; shared++) {
            memset(memory, 0, sizeof memory);
            c.shared = shared;
            splat(&c, 50.3f, 49.8f, size, 9);
            const double area = size <= 3 ? size * size : 0.7854 * size * size;
            assert_true(fabs(count_drawn(&c) - area) <= 0.15 * area + 0.1);
        }
        /* around the edges: nothing outside, and a quarter of it at a corner */
        for (float x = -70; x <= 170; x += 7.5f) {
            splat(&c, x, 0, size, 9);
            splat(&c, 0, x, size, 9);
            splat(&c, x, SIDE, size, 9);
            splat(&c, SIDE, x, size, 9);
        }
        for (int i = 0; i < GUARD; i++) {
            assert_true(memory[i] == 0 && memory[GUARD + SIDE * SIDE + i] == 0);
        }
    }
    splat(&c, NAN, 1, 5, 9);
    splat(&c, 1e30f, -1e30f, 5, 9);
}

/* The nearest fragment wins, then the lower layer, in any order. */
static void test_keys(void **state) {
    assert_true(key_of(1.0f, 0, 0) > key_of(1.0001f, 0, 0xffffff));
    assert_true(key_of(1.0f, 3, 0) > key_of(1.0f, 4, 0xffffff));
    assert_true(key_of(1e-30f, 0, 0) > key_of(1e30f, 0, 0) && key_of(3e38f, 300, 0) > 0);
}

UNIT_GROUP(view, NULL, NULL, TEST(test_quantile), TEST(test_math), TEST(test_discs), TEST(test_keys))
