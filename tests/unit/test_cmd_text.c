/* Text and bits: numbers, JSON, float16, transforms. */
#include "test_cmd.h"

#include "arrays.h"
#include "error.h"
#include "files.h"
#include "numbers.h"
#include "report.h"
#include "transform_file.h"

static void test_number_text(void **state) {
    char buffer[NUMBER_SIZE];
    static const double values[] = {0, -0.0, 0.1, 1.0 / 3, 1e300, 5e-324, 123456789.123456789, -1, 0.30000000000000004};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        assert_true(strtod(number_text(values[i], false, buffer), NULL) == values[i]);
    }
    assert_string_equal(number_text(0.1, false, buffer), "0.1");
    assert_string_equal(number_text((double)0.1f, true, buffer), "0.1");
}

static char *json_of(const char *text) {
    char *made = NULL;
    size_t size;
    FILE *memory = open_memstream(&made, &size);
    json_print_string(memory, text);
    fclose(memory);
    return made;
}

static void test_json_strings(void **state) {
    static const struct {
        const char *text, *json;
    } cases[] = {{"a\"b\\c", "\"a\\\"b\\\\c\""},
                 {"\t\n\x01", "\"\\u0009\\u000a\\u0001\""},
                 {"\x7f\xc2\x80\xc2\x9f\xc2\xa0", "\"\\u007f\\u0080\\u009f\xc2\xa0\""},
                 {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
                 {"\xff\xc3", "\"\\ufffd\\ufffd\""},
                 {"\xc0\xaf", "\"\\ufffd\\ufffd\""},            /* overlong */
                 {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, /* a surrogate */
                 {"\xe2\x82", "\"\\ufffd\\ufffd\""}};           /* cut short */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *made = json_of(cases[i].text);
        assert_string_equal(made, cases[i].json);
        free(made);
    }
}

static void test_json_objects(void **state) {
    char *made = NULL;
    size_t size;
    json j = {.out = open_memstream(&made, &size), .first = true};
    const double values[] = {1, INFINITY, -0.5};
    json_open(&j, NULL);
    json_open(&j, "empty");
    json_close(&j);
    json_number(&j, "nan", NAN);
    json_numbers(&j, "list", values, 3);
    json_integer(&j, "n", INT64_MIN);
    json_boolean(&j, "yes", true);
    json_text(&j, "none", NULL);
    json_close(&j);
    fclose(j.out);
    assert_string_equal(made, "{\"empty\": {}, \"nan\": null, \"list\": [1, null, -0.5], \"n\": -9223372036854775808, "
                              "\"yes\": true, \"none\": null}");
    free(made);
}

/* The value of a finite binary16 by the definition. */
static double half_value(uint16_t h) {
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double magnitude = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return h & 0x8000 ? -magnitude : magnitude;
}

/* Every binary16 is its own image; halfway between neighbours the even one is taken, and just beside it the nearer. */
static void test_half(void **state) {
    for (unsigned h = 0; h < 0x7C00; h++) {
        float value = (float)half_value((uint16_t)h);
        assert_int_equal(half_from_float(value), h);
        assert_int_equal(half_from_float(-value), h | 0x8000);
        double next = h == 0x7BFF ? 65536 : half_value((uint16_t)(h + 1));
        float middle = (float)((half_value((uint16_t)h) + next) / 2);
        assert_int_equal(half_from_float(middle), h + (h & 1));
        assert_int_equal(half_from_float(nextafterf(middle, 0)), h);
        assert_int_equal(half_from_float(nextafterf(middle, INFINITY)), h + 1);
    }
    assert_int_equal(half_from_float(INFINITY), 0x7C00);
    assert_int_equal(half_from_float(-1e30f), 0xFC00);
    assert_true((half_from_float(NAN) & 0x7FFF) > 0x7C00);
    assert_int_equal(half_from_float(1e-40f), 0);
}

static bool read_text(const char *text, double T[16], reason *why) {
    FILE *stream = fmemopen((void *)(uintptr_t)text, strlen(text), "rb");
    assert_non_null(stream);
    bool good = transform_read(stream, T, why);
    fclose(stream);
    return good;
}

static void test_transform_read(void **state) {
    double T[16];
    reason why;
    assert_true(read_text("0 -1 0 5\n1,0,0,6\n# a comment\n0 0 1 7 # another\n0 0 0 1\n", T, &why));
    assert_true(T[3] == 5 && T[7] == 6 && T[11] == 7 && T[1] == -1);
    assert_true(read_text("1 0 0 1 0 1 0 2 0 0 1 3", T, &why));
    assert_true(T[3] == 1 && T[11] == 3 && T[15] == 1);
    assert_true(read_text("1305031102.17 1 2 3 0 0 0.70710678 0.70710678", T, &why));
    assert_true(T[3] == 1 && fabs(T[0]) < 1e-7 && fabs(T[4] - 1) < 1e-7);
}

/* Files in an output folder, by the names of the inputs. */
static void test_names(void **state) {
    static const struct {
        const char *folder, *input, *path;
    } cases[] = {{"d/", "x/scan.bin", "d/scan.ply"},        {"d", "scan", "d/scan.ply"},
                 {"d/", "n015.pcd.bin", "d/n015.ply"},      {"d/", "a.b.c", "d/a.b.ply"},
                 {"/", ".hidden", "/.hidden.ply"},          {"d/", "-", "d/stdin.ply"},
                 {"d/", ".pcd.bin", "d/.pcd.ply"},          {"d/", "scan.ply.gz", "d/scan.ply"},
                 {"d/", "x/n015.pcd.bin.gz", "d/n015.ply"}, {"d/", "x.gz", "d/x.ply"},
                 {"d/", "x/./y/a.csv.gz", "d/y/a.ply"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *made = path_in_folder(cases[i].folder, cases[i].input, ".ply");
        assert_string_equal(made, cases[i].path);
        free(made);
    }
    assert_true(path_is_folder("nowhere/") && path_is_folder(".") && !path_is_folder("nowhere"));
    assert_true(path_is_stream("-") && path_is_stream("/dev/null") && !path_is_stream("."));
}

/* Parameters as the caller of the library spells them. */
static void test_spelling(void **state) {
    (void)state;
    static const char *const rows[][4] = {
        {"a --b.ply: give --at-most", "a --b.ply: give --at-most", "a b.ply: give at_most", "a b.ply: give at_most"},
        {"no GPU; use --cpu", "no GPU; use --cpu", "no GPU; use PCGPU_DEVICE_CPU", "no GPU; use device='cpu'"},
        {"(--set time-column) -- a--b --", "(--set time-column) -- a--b --", "(time_column) -- a--b --",
         "(time_column) -- a--b --"},
        {"give --output-format ply", "give --output-format ply", "give format ply", "give format ply"},
        {"pcgpu --version", "pcgpu --version", "pcgpu --version", "pcgpu --version"},
    };
    static const pcgpu_names names[] = {PCGPU_NAMES_OPTIONS, PCGPU_NAMES_C, PCGPU_NAMES_PYTHON};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int k = 0; k < 3; k++) {
            char text[64];
            snprintf(text, sizeof text, "%s", rows[i][0]);
            pc_spell(text, sizeof text, names[k]);
            assert_string_equal(text, rows[i][1 + k]);
        }
    }
}

UNIT_GROUP(cmd_text, NULL, NULL, TEST(test_number_text), TEST(test_json_strings), TEST(test_json_objects),
           TEST(test_half), TEST(test_transform_read), TEST(test_names), TEST(test_spelling))
