/* .xyz, .csv and .pts: separators, names, exact numbers, wide coordinates, errors. */
#include "test_io.h"

#include "io.h"
#include "io_number.h"

/* Names of the columns joined by blanks. */
static const char *joined(const pcgpu_cloud *cloud) {
    static char text[4096];
    text[0] = '\0';
    for (int k = 0; k < cloud->columns; k++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k ? " " : "", cloud->names[k]);
    }
    return text;
}

/* Each holds the points (1 2 3) and (-4 0.5 6e-1) and perhaps a column of 7 and 8. */
static const struct {
    const char *text, *names;
} variants[] = {
    {"1 2 3\n-4 0.5 6e-1\n", "x y z"},
    {"1 2 3\r\n-4 0.5 6e-1\r\n", "x y z"},
    {"  1\t2   3  \n\n \n-4 .5 6.0E-01", "x y z"},
    {"1,2,3,7\n-4, 0.5 ,+6e-1,8\n", "x y z intensity"},
    {"1;2;3;7;\n-4;0.5;6e-1;8;\n", "x y z intensity"},
    {"# made by hand\n1 2 3 7\n# between\n-4 0.5 6e-1 8\n", "x y z intensity"},
    {"x y z ring\n1 2 3 7\n-4 0.5 6e-1 8\n", "x y z ring"},
    {"\"X\",\"Y\",\"Z\",\"Reflectance value\"\n1,2,3,7\n\"-4\",0.5,6e-1,8\n", "x y z Reflectance_value"},
    {"//X Y Z R\n1 2 3 7\n-4 0.5 6e-1 8\n", "x y z R"},
    {"# x y z\n# unit: m\n1 2 3\n-4 0.5 6e-1\n", "x y z"},
    {"# x y z i\n1 2 3 7\n-4 0.5 6e-1 8\n", "x y z i"},
    {"# x y\n1 2 3\n-4 0.5 6e-1\n", "x y z"}, /* not the names of three */
    {"intensity,Points_m_XYZ:0,Points_m_XYZ:1,Points_m_XYZ:2\n7,1,2,3\n8,-4,0.5,6e-1\n", "x y z intensity"},
    {"a,z,y,x\n7,3,2,1\n8,6e-1,0.5,-4\n", "x y z a"},
    {"2\n1 2 3 7\n-4 0.5 6e-1 8\n", "x y z intensity"},
    {"1\n1 2 3 7\n1\n-4 0.5 6e-1 8\n", "x y z intensity"},
    {"\xef\xbb\xbfx;y;z\n1;2;3\n-4;0.5;6e-1\n", "x y z"},
};

static void test_xyz_variants(void **state) {
    static const float wanted[2][4] = {{1, 2, 3, 7}, {-4, 0.5f, 0.6f, 8}};
    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
        pcgpu_cloud cloud;
        io_read_good("xyz", variants[i].text, strlen(variants[i].text), &cloud);
        assert_string_equal(io.log, "");
        assert_string_equal(joined(&cloud), variants[i].names);
        assert_int_equal(cloud.rows, 2);
        for (int64_t row = 0; row < 2; row++) {
            assert_memory_equal(cloud.data + row * cloud.columns, wanted[row], (size_t)cloud.columns * sizeof(float));
        }
        pcgpu_cloud_free(&cloud);
    }
    pcgpu_cloud cloud;
    static const char missing[] = "x,y,z,a,b\n1,2,3,,\n1,,3,4,5\n";
    io_read_good("csv", missing, sizeof missing - 1, &cloud);
    assert_true(isnan(cloud.data[3]) && isnan(cloud.data[4]) && isnan(cloud.data[6]) && cloud.data[9] == 5);
    pcgpu_cloud_free(&cloud);
    static const char colours[] = "1\n1 2 3 255 0 9\n";
    io_read_good("pts", colours, sizeof colours - 1, &cloud);
    assert_string_equal(joined(&cloud), "x y z red green blue");
    pcgpu_cloud_free(&cloud);
}

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

/* UTM keeps its precision with an offset, whatever row shows it; a column that float32 cannot hold has its warning. */
static void test_xyz_wide(void **state) {
    pcgpu_cloud cloud;
    static const char utm[] = "1 2 3 0\n513149.123 5403150.4567 290.25 1\n513149.625 5403151.4567 290.5 16777217\n";
    io_read_good("xyz", utm, sizeof utm - 1, &cloud);
    assert_non_null(strstr(io.log, "column 'intensity' is float64; 1 of 3 values were rounded to float32"));
    assert_true(cloud.offset[0] != 0 && cloud.offset[1] != 0 && cloud.offset[2] == 0);
    assert_true(cloud.data[4] == (float)(513149.123 - cloud.offset[0]));
    assert_true(cloud.data[5] == (float)(5403150.4567 - cloud.offset[1]) && cloud.data[6] == 290.25f);
    assert_int_equal(cloud.types[0], PCGPU_FLOAT64);
    assert_int_equal(cloud.types[2], PCGPU_FLOAT32);
    pcgpu_cloud_free(&cloud);
    static const char large[] = "2048 4096.5 1e30\n1 1 1\n"; /* float32 all the same */
    io_read_good("xyz", large, sizeof large - 1, &cloud);
    assert_true(cloud.offset[0] == 0 && cloud.data[2] == 1e30f);
    pcgpu_cloud_free(&cloud);
}

static void test_xyz_bad(void **state) {
    static const struct {
        const char *text, *sentence;
    } bad[] = {
        {"", "is empty; give a file with points"},
        {"\n# nothing\n", "a point is a line of 3 to 64 numbers"},
        {"1 2\n3 4\n", "line 1: 2 values; a point is a line of 3 to 64 numbers"},
        {"1 2 3\n4 5\n", "line 2: 2 values where 3 are expected; correct the line"},
        {"1 2 3\n\n4 5 6 7\n", "line 3: at least 4 values where 3 are expected"},
        {"1 2 3\n4 five 6\n", "line 2: 'five' is not a number; give numbers with a decimal point, such as 1.5"},
        {"1,5;2,5;3,5\n", "line 1: '1,5' is not a number; give numbers with a decimal point"},
        {"x;y;z\n1,5;2,5;3,5\n", "line 2: '1,5' is not a number; give numbers with a decimal point"},
        {"1 2 3\n4 5 6x\n", "line 2: '6x' is not a number"},
        {"1 2 3\n4 5 1e\n", "line 2: '1e' is not a number"},
        {"a,b,c\n1,2,3\n", "points have no 'x', only: a b c; name the coordinates x y z"},
        {"x,y,z\n1,2,3,4\n", "line 1 names 3 columns and line 2 has 4 values; correct the header"},
        {"3\n1 2 3\n4 5 6\n", "file ends after 2 of 3 points"},
        {"1\n1 2 3\n4 5 6\n", "line 3: '4 5 6' follows the last point that the number of points allows"},
        {"v 1 2 3\nv 4 5 6\n", "line 2: 'v' is not a number"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        io_read_bad("xyz", bad[i].text, strlen(bad[i].text), bad[i].sentence);
    }
    io_read_bad("xyz", "1 2 3\n4 \0 6\n", 12, "holds zero bytes and is not text");
}

/* By content where the name says nothing or .bin; not where the name says what is not read. */
static void test_xyz_content(void **state) {
    static const struct {
        const char *name, *head, *format;
    } files[] = {{"a.bin", "FIELDS x y z\nSIZE 4 4 4\n", "pcd"},
                 {"a.txt", "1 2 3\n4 5 6\n", "xyz"},
                 {"-", "x,y,z\n1,2,3", "xyz"},
                 {"a.bin", "0.5 1.5 2.5 0\n", "xyz"},
                 {"a", "# a cloud 1\n1 2 3\n", "xyz"},
                 {"a.csv", "1,2,3\n", "csv"},
                 {"a.obj", "v 1 2 3\n", NULL},
                 {"a.pcd", "1 2 3 4 5\n", "pcd"},
                 {"a", "hello you\n", NULL},
                 {"a.pts", "2\n1 2 3\n4 5 6\n", "pts"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char why[256];
        const pcgpu_format_info *found =
            pcgpu_format_of_input(files[i].name, files[i].head, strlen(files[i].head), why, sizeof why);
        assert_string_equal(found ? found->name : "none", files[i].format ? files[i].format : "none");
        assert_true(found ? !why[0] : strlen(why) > 20);
    }
}

UNIT_GROUP(io_xyz, io_set_up, io_tear_down, TEST(test_xyz_variants), TEST(test_xyz_exact), TEST(test_xyz_wide),
           TEST(test_xyz_bad), TEST(test_xyz_content))
