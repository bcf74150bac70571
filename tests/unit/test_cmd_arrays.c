/* Lists of record indices: what is written is read back, and damaged files are refused or give indices. */
#include "arrays.h"
#include "test_cmd.h"

#include <math.h>

static char why[256];
static int32_t *records;
static int64_t count;

static bool reads(const char *name, const void *data, size_t size) {
    FILE *stream = size ? fmemopen((void *)(uintptr_t)data, size, "rb") : fopen("/dev/null", "rb");
    assert_non_null(stream);
    why[0] = '\0';
    bool good = records_read(stream, name, &records, &count, why, sizeof why);
    fclose(stream);
    assert_true(good == (why[0] == '\0'));
    assert_true(good || (!records && count == 0));
    return good;
}

static void forget(void) {
    free(records);
    records = NULL;
}

static void test_text(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t count;
        int32_t last;
    } right[] = {{"7\n", 1, 7}, {"7", 1, 7}, {"1\r\n2147483647\r\n", 2, INT32_MAX}, {" 8 \n\t09\n", 2, 9}, {"", 0, 0}};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        assert_true(reads("x.txt", right[i].text, strlen(right[i].text)));
        assert_int_equal(count, right[i].count);
        assert_true(count == 0 || records[count - 1] == right[i].last);
        forget();
        assert_true(reads("-", right[i].text, strlen(right[i].text))); /* text by its looks */
        assert_int_equal(count, right[i].count);
        forget();
    }
    static const char *const wrong[] = {"\n", "1\n\n", "1 2", "-1", "+1", "1.0", "0x1", "2147483648", "1\n#2\n", "x"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(reads("x.txt", wrong[i], strlen(wrong[i])));
        assert_non_null(strstr(why, "line "));
    }
}

static void test_written(void **state) {
    (void)state;
    static const int32_t whole[] = {0, 5, INT32_MAX, 3, 2, 1};
    static const float real[] = {INFINITY, 0.1f, 3e-42f};
    const pcgpu_array table = {.type = PCGPU_INT32, .dimensions = 2, .shape = {2, 3}, .data = whole};
    const pcgpu_array list = {.type = PCGPU_FLOAT32, .dimensions = 1, .shape = {3}, .data = real};
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    array_write_text(stream, &table);
    array_write_text(stream, &list);
    fclose(stream);
    static const char begin[] = "0 5 2147483647\n3 2 1\ninf\n0.1\n";
    assert_true(size > sizeof begin && memcmp(text, begin, sizeof begin - 1) == 0);
    assert_true(strtof(text + sizeof begin - 1, NULL) == real[2]);
    free(text);
}

/* A .npy of int64 with a byte or more changed, or cut: refused, or it gives indices that are there to be read. */
static void test_damaged(void **state) {
    (void)state;
    static const char header[] = "\x93NUMPY\x01\x00\x46\x00{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }";
    unsigned char good[80 + 32] = {0}, bad[sizeof good];
    memset(good, ' ', 80);
    memcpy(good, header, sizeof header - 1);
    good[79] = '\n';
    for (int i = 0; i < 4; i++) {
        good[80 + 8 * i] = (unsigned char)(10 + i);
    }
    assert_true(reads("x.npy", good, sizeof good));
    assert_int_equal(count, 4);
    assert_int_equal(records[3], 13);
    forget();
    uint64_t random = 1;
    int refused = 0;
    for (int round = 0; round < 20000; round++) {
        memcpy(bad, good, sizeof bad);
        for (int k = 0; k <= round % 3; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            bad[(random >> 33) % sizeof bad] = (unsigned char)(random >> 24);
        }
        size_t size = round % 5 ? sizeof bad : (random >> 40) % sizeof bad;
        if (reads("x.npy", bad, size)) {
            int64_t sum = 0;
            for (int64_t i = 0; i < count; i++) {
                assert_true(records[i] >= 0);
                sum += records[i];
            }
            assert_true(sum >= 0);
            forget();
        } else {
            refused++;
        }
    }
    assert_true(refused > 5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
