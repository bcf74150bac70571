/* The table of formats, .bin, the rule of offsets, and round trips of every format. */
#define _GNU_SOURCE /* open_memstream, fmemopen */
#include "test_io.h"

#include <locale.h>

io_state io;

static void keep_log(void *user, pcgpu_log_level level, const char *message) {
    (void)level;
    size_t used = strlen(io.log);
    snprintf(io.log + used, sizeof io.log - used, "%s\n", message);
}

/* The messages are added to those of the write before. */
static pcgpu_status read_bytes(const char *format, const void *data, size_t size, pcgpu_cloud *cloud) {
    const pcgpu_read_options options = {.struct_size = sizeof options, .format = format};
    FILE *f = tmpfile();
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    rewind(f);
    pcgpu_status status = pcgpu_read(io.context, f, "file", &options, cloud);
    fclose(f);
    return status;
}

/* Reads bytes as a file called "file". */
static pcgpu_status io_read(const char *format, const void *data, size_t size, pcgpu_cloud *cloud) {
    io.log[0] = '\0';
    return read_bytes(format, data, size, cloud);
}

void io_read_good(const char *format, const void *data, size_t size, pcgpu_cloud *cloud) {
    if (io_read(format, data, size, cloud) != PCGPU_OK) {
        fail_msg("%s", pcgpu_last_error(io.context));
    }
}

void io_read_bad(const char *format, const void *data, size_t size, const char *sentence) {
    pcgpu_cloud cloud;
    pcgpu_status status = io_read(format, data, size, &cloud);
    const char *error = pcgpu_last_error(io.context);
    if (status != PCGPU_ERROR_FORMAT || strncmp(error, "file: ", 6) != 0 || !strstr(error, sentence)) {
        fail_msg("status %d, '%s' where '%s' is expected", status, error, sentence);
    }
    assert_null(cloud.data);
    assert_int_equal(cloud.rows, 0);
}

void io_write(const char *format, const pcgpu_cloud *cloud, char **data, size_t *size) {
    FILE *f = open_memstream(data, size);
    assert_non_null(f);
    io.log[0] = '\0';
    if (pcgpu_write(io.context, f, "out", format, cloud) != PCGPU_OK) {
        fail_msg("%s", pcgpu_last_error(io.context));
    }
    assert_int_equal(fclose(f), 0);
}

void io_again(const char *format, const pcgpu_cloud *cloud, pcgpu_cloud *again, char **data) {
    char *bytes;
    size_t size;
    io_write(format, cloud, &bytes, &size);
    if (read_bytes(strcmp(format, "ply-ascii") == 0 ? "ply" : format, bytes, size, again) != PCGPU_OK) {
        fail_msg("%s", pcgpu_last_error(io.context));
    }
    if (data) {
        *data = bytes;
    } else {
        free(bytes);
    }
}

void io_assert_same(const pcgpu_cloud *a, const pcgpu_cloud *b) {
    assert_int_equal(a->rows, b->rows);
    assert_int_equal(a->columns, b->columns);
    for (int k = 0; k < a->columns; k++) {
        assert_string_equal(a->names[k], b->names[k]);
    }
    assert_memory_equal(a->offset, b->offset, sizeof a->offset);
    if (a->rows > 0) {
        assert_memory_equal(a->data, b->data, (size_t)a->rows * (size_t)a->columns * sizeof(float));
    }
}

void io_make_cloud(int64_t rows, int columns, pcgpu_cloud *cloud) {
    test_random random = {12345};
    assert_int_equal(pcgpu_cloud_create(io.context, rows, columns, cloud), PCGPU_OK);
    for (int64_t i = 0; i < rows * columns; i++) {
        uint32_t bits = (uint32_t)test_bits(&random);
        float any;
        memcpy(&any, &bits, sizeof any);
        /* NaN have one bit pattern, since text cannot keep the others. */
        cloud->data[i] = i % columns < 3 ? (float)(int32_t)bits * 1e-7f : any - any == 0.0f ? any : NAN;
    }
}

/* The i-th format that holds clouds exactly, or NULL past the last: not .las, which has integers, and .label; its text
 * variant is read by the name of the other. */
static const pcgpu_format_info *cloud_format(int i, const char **reader) {
    for (int k = 0; pcgpu_format_at(k); k++) {
        const char *name = pcgpu_format_at(k)->name;
        if (pcgpu_format_at(k)->writes && strcmp(name, "las") != 0 && strcmp(name, "label") != 0 && i-- == 0) {
            *reader = pcgpu_format_at(k)->reads ? pcgpu_format_at(k)->name : "ply";
            return pcgpu_format_at(k);
        }
    }
    return NULL;
}

/* ---- formats ---------------------------------------------------------------------------------------------------- */

static void test_formats(void **state) {
    static const char *const pairs[][2] = {
        {"-", "bin"},         {"n015.pcd.bin", "bin"}, {"A.PLY", "ply"}, {"dir.ply/a.pcd", "pcd"},
        {"a.b/c.NpY", "npy"}, {"a.ply.gz", "gzip"},    {"noext", NULL},  {".ply", NULL}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const pcgpu_format_info *info = pcgpu_format_of_path(pairs[i][0]);
        assert_string_equal(info ? info->name : "none", pairs[i][1] ? pairs[i][1] : "none");
    }
    int count = 0;
    for (; pcgpu_format_at(count); count++) {
        assert_ptr_equal(pcgpu_format_by_name(pcgpu_format_at(count)->name), pcgpu_format_at(count));
    }
    assert_true(count >= 8 && !pcgpu_format_at(-1) && !pcgpu_format_by_name("foo") && !pcgpu_format_by_name("ply:a"));
}

/* What the program does not ask: the messages of files are lines of refusals.list. */
static void test_format_errors(void **state) {
    static const struct {
        const char *path;
        int64_t rows;
        int count;
    } arrays[] = {{"a.ply", 2, 1}, {"a.npy", 2, 2}, {"a.npz", INT64_MAX, 1}, {"a.bin", INT64_MAX, 1}};
    const pcgpu_read_options options = {.struct_size = sizeof options, .format = "foo"};
    pcgpu_cloud cloud;
    FILE *f = tmpfile();
    assert_int_equal(pcgpu_read(io.context, f, "-", &options, &cloud), PCGPU_ERROR_ARGUMENT);
    assert_non_null(strstr(pcgpu_last_error(io.context), "standard input: 'foo' is not a format; format takes bin, "));
    io_make_cloud(2, 17, &cloud);
    assert_int_equal(pcgpu_write(io.context, f, "-", "npz", &cloud), PCGPU_ERROR_ARGUMENT);
    assert_non_null(strstr(pcgpu_last_error(io.context), "standard output: npz cannot hold a cloud; use bin, "));
    assert_int_equal(pcgpu_write(io.context, f, "a", NULL, &cloud), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(pcgpu_write(io.context, f, "-", "bin", &cloud), PCGPU_ERROR_ARGUMENT); /* 17 columns */
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        const pcgpu_array array = {"a", PCGPU_FLOAT32, 2, {arrays[i].rows, arrays[i].rows}, cloud.data};
        assert_int_equal(pcgpu_write_arrays(io.context, f, arrays[i].path, NULL, &array, arrays[i].count),
                         PCGPU_ERROR_ARGUMENT);
    }
    assert_int_equal(ftell(f), 0);
    pcgpu_cloud_free(&cloud);
    fclose(f);
}

/* ---- .bin -------------------------------------------------------------------------------------------------------- */

static void test_bin(void **state) {
    for (int fields = 3; fields <= 16; fields++) {
        const pcgpu_read_options options = {.struct_size = sizeof options, .fields = fields};
        pcgpu_cloud cloud, again;
        char *data;
        size_t size;
        io_make_cloud(11, fields, &cloud);
        io_write("bin", &cloud, &data, &size);
        assert_int_equal(size, 11 * fields * 4);
        FILE *f = fmemopen(data, size, "rb");
        assert_int_equal(pcgpu_read(io.context, f, "a.pcd.bin", &options, &again), PCGPU_OK);
        io_assert_same(&cloud, &again);
        fclose(f);
        free(data);
        pcgpu_cloud_free(&cloud);
        pcgpu_cloud_free(&again);
    }
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

/* ---- clouds through files ---------------------------------------------------------------------------------------- */

static void test_round_trips(void **state) {
    const pcgpu_format_info *format;
    const char *reader;
    for (int i = 0; (format = cloud_format(i, &reader)); i++) {
        for (int64_t rows = 0; rows < 3000; rows = rows * 7 + 1) {
            pcgpu_cloud cloud, again;
            io_make_cloud(rows, 4, &cloud);
            io_again(format->name, &cloud, &again, NULL);
            assert_string_equal(io.log, "");
            io_assert_same(&cloud, &again);
            pcgpu_cloud_free(&cloud);
            pcgpu_cloud_free(&again);
        }
    }
}

static void one_axis(double a, double b, double offset) {
    char text[512];
    pcgpu_cloud cloud;
    int n = snprintf(text, sizeof text,
                     "ply\nformat ascii 1.0\nelement vertex 3\nproperty double x\nproperty double y\n"
                     "property double z\nend_header\n%.17g 0 0\n%.17g 0 0\nnan 0 0\n",
                     a, b);
    io_read_good("ply", text, (size_t)n, &cloud);
    assert_true(cloud.offset[0] == offset && cloud.offset[1] == 0 && cloud.offset[2] == 0);
    assert_true(cloud.data[0] == (float)(a - offset) && cloud.data[3] == (float)(b - offset));
    assert_true(isnan(cloud.data[6]));
    assert_int_equal(cloud.types[0], PCGPU_FLOAT64);
    pcgpu_cloud_free(&cloud);
}

static void test_offset_rule(void **state) {
    one_axis(0.1, 1023.9, 0); /* small: a float32 is good enough */
    one_axis(-1023.9, 0.3, 0);
    one_axis(0.1, 1024.0, 512);       /* one value is not */
    one_axis(16777216, 5403000.5, 0); /* float32 in disguise, however large */
    one_axis(5403000.1, 5403001.5, 5403001);
    one_axis(-5403000.1, -5403001.7, -5403001);
    one_axis(1e300, 1.1e300, 1e300 / 2 + 1.1e300 / 2);
    one_axis(-1.7e308, 1.7e308, 0);
}

/* A program may have set a locale whose decimal point is a comma. */
static void test_locale(void **state) {
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    bool set = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !set; i++) {
        set = setlocale(LC_ALL, names[i]) != NULL;
    }
    if (!set) {
        skip();
    }
    pcgpu_cloud cloud, again;
    io_make_cloud(100, 4, &cloud);
    io_again("ply-ascii", &cloud, &again, NULL);
    setlocale(LC_ALL, "C");
    io_assert_same(&cloud, &again);
    pcgpu_cloud_free(&cloud);
    pcgpu_cloud_free(&again);
}

int io_set_up(void **state) {
    pcgpu_settings settings;
    pcgpu_settings_init(&settings);
    settings.log = keep_log;
    return pcgpu_open(&settings, &io.context) == PCGPU_OK ? 0 : -1;
}

int io_tear_down(void **state) {
    pcgpu_close(io.context);
    return 0;
}

UNIT_GROUP(io, io_set_up, io_tear_down, TEST(test_formats), TEST(test_format_errors), TEST(test_bin),
           TEST(test_round_trips), TEST(test_offset_rule), TEST(test_locale))
