/* Record indices: .npy of every integer type, text, int32 alone; damaged and hostile files. */
#define _GNU_SOURCE /* fmemopen */
#include "test_io.h"

#include <inttypes.h>

static pcgpu_status read_indices(const char *name, const void *data, size_t size, pcgpu_indices *got) {
    FILE *f = size ? fmemopen((void *)(uintptr_t)data, size, "rb") : fopen("/dev/null", "rb");
    assert_non_null(f);
    memset(got, 0xa5, sizeof *got); /* an output is overwritten, never read */
    pcgpu_status status = pcgpu_read_indices(io.context, f, name, got);
    fclose(f);
    if (status != PCGPU_OK) {
        assert_null(got->values);
        assert_int_equal(got->count, 0);
    }
    return status;
}

static void reads(const char *name, const void *data, size_t size, int count, const int32_t *wanted) {
    pcgpu_indices got;
    if (read_indices(name, data, size, &got) != PCGPU_OK) {
        fail_msg("%s", pcgpu_last_error(io.context));
    }
    assert_int_equal(got.count, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(got.values[i], wanted[i]);
    }
    pcgpu_indices_free(&got);
    assert_null(got.values);
    assert_int_equal(got.count, 0);
}

static void refuses(const char *name, const void *data, size_t size, const char *sentence) {
    pcgpu_indices got;
    pcgpu_status status = read_indices(name, data, size, &got);
    const char *error = pcgpu_last_error(io.context);
    if (status != PCGPU_ERROR_FORMAT || !strstr(error, sentence)) {
        fail_msg("status %d, '%s' where '%s' is expected", status, error, sentence);
    }
    assert_int_equal(strncmp(error, name, strlen(name)), 0);
    assert_int_equal(strncmp(error + strlen(name), ": ", 2), 0);
}

/* A .npy, version 1, of values as bits; `shape` with its parentheses. Returns its size. */
static size_t make_npy(unsigned char out[512], const char *descr, const char *shape, int count, const int64_t *values) {
    char text[256];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape);
    size_t width = (size_t)(descr[2] - '0');
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (unsigned char)n;
    out[9] = 0;
    memcpy(out + 10, text, (size_t)n);
    unsigned char *p = out + 10 + n;
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < width; k++) {
            size_t byte = descr[0] == '>' ? width - 1 - k : k;
            *p++ = (unsigned char)((uint64_t)values[i] >> 8 * byte);
        }
    }
    return (size_t)(p - out);
}

static void test_indices_text(void **state) {
    static const struct {
        const char *text;
        int count;
        int32_t indices[2];
    } right[] = {{"7\n", 1, {7}},
                 {"7", 1, {7}},
                 {"1\r\n2147483647\r\n", 2, {1, INT32_MAX}},
                 {" 8 \n\t09\t\r\n", 2, {8, 9}},
                 {"0000000000002147483647", 1, {INT32_MAX}},
                 {"3\n3\n", 2, {3, 3}},
                 {"", 0, {0}}};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        static const char *const names[] = {"x.txt", "dir.npy/X.TXT", "-", "list", "x.csv"}; /* text by name or looks */
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            reads(names[k], right[i].text, strlen(right[i].text), right[i].count, right[i].indices);
        }
    }
    static const struct {
        const char *text, *sentence;
    } wrong[] = {
        {"\n", "line 1: \"\" is not a record index; give one whole number a line, from 0 to 2147483647"},
        {"1\n\n", "line 2: \"\""},
        {"1\n2\n3 4\n", "line 3: \"3 4\""},
        {"-1", "line 1: \"-1\""},
        {"+1", "line 1: \"+1\""},
        {"1.0", "\"1.0\""},
        {"0x1", "\"0x1\""},
        {"1\n#2\n", "line 2: \"#2\""},
        {"1,2\n", "\"1,2\""},
        {"2147483648", "\"2147483648\""},
        {"18446744073709551617", "\"18446744073709551617\""},
        {"1\n\x1b[2J\n", "line 2: \"?[2J\""},
        {"1\n\xef\xbb\xbf"
         "2\n",
         "line 2: \"???2\""},
        {"000000000000000000000000000000000000000000000000000000000000000x", "0...\" is not a record index"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        refuses("x.txt", wrong[i].text, strlen(wrong[i].text), wrong[i].sentence);
    }
    refuses("x.txt", "1\n2\0003\n", 6, "line 2: \"2?3\"");
    refuses("x.txt", "\0", 1, "line 1: \"?\"");
}

static void test_indices_bin(void **state) {
    static const int32_t values[] = {0, 5, INT32_MAX, 5, 1};
    static const int32_t negative[] = {4, -1};
    for (int n = 1; n <= 5; n++) {
        reads("x.bin", values, (size_t)n * sizeof *values, n, values);
        reads("-", values, (size_t)n * sizeof *values, n, values);
    }
    reads("x.bin", "", 0, 0, NULL);
    refuses("x.bin", values, 7, "7 bytes are not whole int32 values; give what indices wrote, .npy or .txt");
    refuses("x.bin", negative, sizeof negative, "value 2 is -1, not a record index; give numbers from 0 to 2147483647");
    /* What is binary is not text because it holds digits. */
    reads("x", "12\n\0", 4, 1, (const int32_t[]){0x000a3231});
}

/* test_io_numpy.py has the types that NumPy writes. */
static void test_indices_npy_bad(void **state) {
    static const int64_t values[] = {1, 2, 3, 4, 5, 6};
    static const int32_t wanted[] = {1, 2, 3, 4, 5, 6};
    unsigned char data[512];
    static const char *const names[] = {"x.npy", "X.NPY", "-", "x.bin"}; /* by name, else by how it begins */
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        reads(names[k], data, make_npy(data, "<i8", "(6,)", 6, values), 6, wanted);
    }
    static const char *const others[] = {"|O8", "|i4", "=i4"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char sentence[64];
        snprintf(sentence, sizeof sentence, "holds values of type '%s', and record indices are integers; ", others[i]);
        refuses("x.npy", data, make_npy(data, others[i], "(1,)", 1, values), sentence);
    }
    static const char *const shapes[] = {"()", "(1, 6)", "(2, 3)", "(6, 1, 1)", "(0, 2)", "(6, 0)"};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        char sentence[64];
        snprintf(sentence, sizeof sentence, "its shape is %s; record indices are one dimension or one col", shapes[i]);
        refuses("x.npy", data, make_npy(data, "<i4", shapes[i], 6, values), sentence);
    }
    /* Huge shapes: nothing is allocated for values that are not there. */
    static const char *const huge[] = {"(4294967297,)", "(999999999999999999,)", "(999999999999999999, 1)"};
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        refuses("x.npy", data, make_npy(data, "<i8", huge[i], 6, values), "file ends after 6 of ");
    }
    static const char *const unreadable[] = {"(9223372036854775807,)", "(18446744073709551616,)", "(-1,)", "(6,",
                                             "(x,)"};
    for (size_t i = 0; i < sizeof unreadable / sizeof unreadable[0]; i++) {
        refuses("x.npy", data, make_npy(data, "<i8", unreadable[i], 6, values), "its header has a shape that cannot");
    }
    char many[256] = "(";
    for (int i = 0; i < 65; i++) {
        strcat(many, "1,");
    }
    refuses("x.npy", data, make_npy(data, "<i4", strcat(many, ")"), 1, values), "a shape that cannot be read");
    refuses("x.npy", data, make_npy(data, "<i4", "6", 6, values), "its header has no shape; ");
    /* Cut anywhere, or with more behind it. */
    size_t size = make_npy(data, "<i8", "(6,)", 6, values), header = size - 48;
    for (size_t n = 0; n < size; n++) {
        char sentence[64];
        snprintf(sentence, sizeof sentence, "file ends after %zu of 6 values; ", n >= header ? (n - header) / 8 : 0);
        refuses("x.npy", data, n, n < 10 ? "does not begin as a .npy" : n < header ? "within its header" : sentence);
    }
    refuses("x.npy", data, size + 3, "3 bytes follow the 6 values of its header; ");
    data[6] = 4;
    refuses("x.npy", data, size, "is .npy version 4; ");
    refuses("x.npy", "1\n2\n", 4, "does not begin as a .npy file; ");
    static const char records[] =
        "\x93NUMPY\1\0\x4b\0{'descr': [('descr', '<i4')], 'fortran_order': False, 'shape': (1,), }"
        "      \n\1\0\0";
    refuses("x.npy", records, sizeof records, "holds values of type 'records', and record indices are integers; ");
}

static void test_indices_streams(void **state) {
    pcgpu_indices got;
    assert_int_equal(read_indices("a.npz", "PK", 2, &got), PCGPU_ERROR_ARGUMENT);
    assert_string_equal(pcgpu_last_error(io.context),
                        "a.npz: an archive is not read; give the indices as .npy or .txt");
    assert_int_equal(read_indices("-", "x\n", 2, &got), PCGPU_ERROR_FORMAT);
    assert_int_equal(strncmp(pcgpu_last_error(io.context), "standard input: line 1: ", 24), 0);
    FILE *folder = fopen("/", "rb");
    assert_non_null(folder);
    assert_int_equal(pcgpu_read_indices(io.context, folder, "/", &got), PCGPU_ERROR_IO);
    assert_non_null(strstr(pcgpu_last_error(io.context), "/: cannot be read: Is a directory; "));
    assert_null(got.values);
    fclose(folder);
    /* What the library writes it reads, from where the stream stands. */
    static const int32_t values[] = {7, 0, INT32_MAX};
    const pcgpu_array array = {"indices", PCGPU_INT32, 1, {3}, values};
    static const char *const formats[] = {"npy", "bin"};
    for (size_t i = 0; i < 2; i++) {
        FILE *f = tmpfile();
        fputs("before", f);
        assert_int_equal(pcgpu_write_arrays(io.context, f, "x", formats[i], &array, 1), PCGPU_OK);
        fseek(f, 6, SEEK_SET);
        assert_int_equal(pcgpu_read_indices(io.context, f, "x", &got), PCGPU_OK);
        assert_int_equal(got.count, 3);
        assert_memory_equal(got.values, values, sizeof values);
        pcgpu_indices_free(&got);
        fclose(f);
    }
}

UNIT_GROUP(io_indices, io_set_up, io_tear_down, TEST(test_indices_text), TEST(test_indices_bin),
           TEST(test_indices_npy_bad), TEST(test_indices_streams))
