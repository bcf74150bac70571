/* .xyz: exact numbers, and what is one by content. Separators, names and errors are lines of answers.list and
 * refusals.list. */
#include "test_io.h"

#include "io.h"
#include "io_number.h"

/* A number of up to 25 digits with a point and an exponent, or a float32 or float64 as programs print it. */
static void make_number(char text[80], test_random *state) {
    const uint64_t kind = test_bits(state) % 6;
    const uint32_t bits = (uint32_t)(test_bits(state) >> 5);
    float f;
    memcpy(&f, &bits, sizeof f);
    f = isfinite(f) ? f : 1.5f;
    const double coordinate = (double)(int64_t)(test_bits(state) % 200000000) * 1e-5 - 1000.0;
    switch (kind) {
    case 0: snprintf(text, 80, "%.18e", (double)f); return;
    case 1: snprintf(text, 80, "%.9g", (double)f); return;
    case 2: snprintf(text, 80, "%.*f", (int)(test_bits(state) % 12), coordinate); return;
    case 3: snprintf(text, 80, "%.17g", coordinate); return;
    case 4: { /* near the middle of two float32 */
        const double middle = ((double)f + (double)nextafterf(f, INFINITY)) / 2;
        snprintf(text, 80, "%.*e", (int)(12 + test_bits(state) % 9), isfinite(middle) ? middle : 0.5);
        return;
    }
    default: break;
    }
    const int digits = 1 + (int)(test_bits(state) % 24), point = (int)(test_bits(state) % (uint64_t)(digits + 1));
    int n = 0;
    for (int i = 0; i < digits; i++) {
        n += snprintf(text + n, 80 - (size_t)n, "%s%d", i == point ? "." : "", (int)(test_bits(state) % 10));
    }
    if (test_bits(state) % 2) {
        snprintf(text + n, 80 - (size_t)n, "%c%d", test_bits(state) % 2 ? 'e' : 'E', (int)(test_bits(state) % 60) - 30);
    }
}

/* Every value is that of strtof, and of strtod where float64 is kept. */
static void test_xyz_exact(void **state) {
    enum { ROWS = 60000 };
    test_random random = {11};
    char *text = malloc((size_t)ROWS * 320), *p = text;
    float *wanted = malloc((size_t)ROWS * 4 * sizeof *wanted);
    assert_true(text && wanted);
    int decided = 0;
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < 4; k++) {
            char number[80];
            double v;
            bool exact = false;
            do {
                make_number(number, &random);
            } while (fabs(strtod(number, NULL)) >= 1024 && k < 3); /* else the column has an offset */
            if (fabs(strtod(number, NULL)) >= 1024) {
                snprintf(number, sizeof number, "7"); /* else the column is float64 */
            }
            decided += pc_scan_number(number, &v, &exact) && !pc_is_undecided(v, exact, false);
            wanted[4 * i + k] = strtof(number, NULL);
            p += sprintf(p, "%s%c", number, k < 3 ? ' ' : '\n');
        }
    }
    assert_true(decided > ROWS * 2); /* the fast path was there */
    pcgpu_cloud cloud;
    io_read_good("xyz", text, (size_t)(p - text), &cloud);
    assert_int_equal(cloud.rows, ROWS);
    assert_memory_equal(cloud.data, wanted, (size_t)ROWS * 4 * sizeof *wanted);
    pcgpu_cloud_free(&cloud);
    free(text);
    free(wanted);
}

UNIT_GROUP(io_xyz, io_set_up, io_tear_down, TEST(test_xyz_exact))
