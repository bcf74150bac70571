/* .pcd: times, packed colours, compressed. Text and errors are lines of answers.list and refusals.list. */
#include "test_io.h"

/* Seconds since 1970, and their nanoseconds: float32 has one in 128 and in 1.4e11. They begin at 0. */
static void test_pcd_times(void **state) {
    enum { ROWS = 3, RECORD = 28 };
    static const char head[] =
        "VERSION 0.7\nFIELDS timestamp x y z t\nSIZE 8 4 4 4 8\nTYPE F F F F U\nCOUNT 1 1 1 1 1\n"
        "WIDTH 3\nHEIGHT 1\nPOINTS 3\nDATA binary\n";
    const float p[3] = {1, 2, 3};
    char data[sizeof head + ROWS * RECORD], *at = data + sizeof head - 1;
    memcpy(data, head, sizeof head);
    for (int i = 0; i < ROWS; i++, at += RECORD) {
        const double seconds = 1.7e9 + 0.0625 * i;
        const uint64_t nanoseconds = 1700000000000000000u + 62500096u * (uint64_t)i; /* multiples of 256, as float64 */
        memcpy(at, &seconds, 8);
        memcpy(at + 8, p, 12);
        memcpy(at + 20, &nanoseconds, 8);
    }
    pcgpu_cloud cloud;
    io_read_good("pcd", data, (size_t)(at - data), &cloud);
    assert_non_null(
        strstr(io.log, "column 't' has values that float32 cannot hold; its first one, 1.7e+18, was subtracted"));
    for (int i = 0; i < ROWS; i++) {
        assert_true(cloud.data[5 * i + 3] == 0.0625f * (float)i);
        assert_true(cloud.data[5 * i + 4] == 62500096.0f * (float)i);
    }
    pcgpu_cloud_free(&cloud);
}

/* PCL's packed colours are columns in memory, whatever their type and place, and one field in a .pcd. */
static void test_pcd_color(void **state) {
    static const struct {
        const char *fields, *values, *written; /* of ascii, and the lines that the writer makes */
        float expected[4];
        int columns;
    } cases[] = {
        {"FIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F U\n",
         "1 2 3 16711935",
         "FIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F F\n",
         {255, 0, 255},
         6},
        {"FIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F F\n",
         "1 2 3 4.2108e+06",
         "FIELDS x y z rgb\nSIZE 4 4 4 4\nTYPE F F F F\n",
         {128, 128, 224},
         6},
        {"FIELDS rgba x y z\nSIZE 4 4 4 4\nTYPE U F F F\n",
         "2147549957 1 2 3",
         "FIELDS x y z rgba\nSIZE 4 4 4 4\nTYPE F F F U\n",
         {1, 3, 5, 128},
         7},
        {"FIELDS x y z red rgb\nSIZE 4 4 4 4 4\nTYPE F F F F U\n", "1 2 3 4 5", "FIELDS x y z red rgb\n", {4, 5}, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256], *written;
        pcgpu_cloud cloud, again;
        const int length = snprintf(text, sizeof text, "VERSION 0.7\n%sWIDTH 1\nHEIGHT 1\nPOINTS 1\nDATA ascii\n%s\n",
                                    cases[i].fields, cases[i].values);
        io_read_good("pcd", text, (size_t)length, &cloud);
        assert_int_equal(cloud.columns, cases[i].columns);
        for (int k = 3; k < cloud.columns; k++) {
            assert_true(cloud.data[k] == cases[i].expected[k - 3]);
        }
        io_again("pcd", &cloud, &again, &written);
        assert_non_null(strstr(written, cases[i].written));
        io_assert_same(&cloud, &again);
        free(written);
        pcgpu_cloud_free(&cloud);
        pcgpu_cloud_free(&again);
    }
}

/* Field after field; the zeros of x are one literal and one overlapping copy. */
static size_t make_compressed(char *out, const char *points, uint32_t packed, uint32_t expanded) {
    static const unsigned char runs[] = {
        0,    0,         /* a literal zero */
        0xe0, 38 - 9, 0, /* 38 more, from 1 back: 39 bytes */
        0,    0x3f,      /* the last byte of x: 10 floats, the last is 0.5 */
        31,   1,      2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4,
        5,    6,      7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 7, 1, 2, 3, 4, 5, 6, 7, 8, /* y: 40 bytes */
        0xe0, 31,     39};                                                     /* z: 40 bytes from 40 back */
    const uint32_t sizes[2] = {packed ? packed : sizeof runs, expanded ? expanded : 120};
    int n =
        sprintf(out, "FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nPOINTS %s\nDATA binary_compressed\n", points);
    memcpy(out + n, sizes, 8);
    memcpy(out + n + 8, runs, sizeof runs);
    return (size_t)n + 8 + sizeof runs;
}

static void test_pcd_compressed(void **state) {
    static const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    char data[512];
    pcgpu_cloud cloud;
    io_read_good("pcd", data, make_compressed(data, "10", 0, 0), &cloud);
    assert_int_equal(cloud.rows, 10);
    for (int i = 0; i < 10; i++) {
        assert_true(cloud.data[i * 3] == (i == 9 ? 0.5f : 0.0f));
        assert_memory_equal(&cloud.data[i * 3 + 1], pattern + i % 2 * 4, 4);
        assert_memory_equal(&cloud.data[i * 3 + 2], pattern + i % 2 * 4, 4);
    }
    pcgpu_cloud_free(&cloud);
    io_read_bad("pcd", data, make_compressed(data, "11", 0, 0), "120 bytes of compressed data cannot be 11 points");
    io_read_bad("pcd", data, make_compressed(data, "10", 1000, 0), "of 1000 bytes of compressed data");
    io_read_bad("pcd", data, make_compressed(data, "10", 20, 0), "compressed data is damaged");
    io_read_bad("pcd", data, make_compressed(data, "100000000", 0, 1200000000), "compressed data is damaged");
    size_t size = make_compressed(data, "10", 0, 0);
    data[size - 1] = (char)255; /* further back than the data begins */
    data[size - 3] |= 31;
    io_read_bad("pcd", data, size, "compressed data is damaged");
    io_read_bad("pcd", data, size - 60, "bytes of compressed data; it is cut short");
}

UNIT_GROUP(io_pcd, io_set_up, io_tear_down, TEST(test_pcd_times), TEST(test_pcd_color), TEST(test_pcd_compressed))
