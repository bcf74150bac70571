/* The table of formats, .bin, streams, offsets, and round trips of every format. */
#define _GNU_SOURCE /* pipe sizes and fmemopen */
#include "test_io.h"

#include <locale.h>
#include <sys/wait.h>
#include <unistd.h>

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

static pcgpu_status read_as(FILE *f, const char *format, int fields, pcgpu_cloud *cloud) {
    const pcgpu_read_options options = {.struct_size = sizeof options, .format = format, .fields = fields};
    return pcgpu_read(io.context, f, "-", &options, cloud);
}

pcgpu_status io_read(const char *format, const void *data, size_t size, pcgpu_cloud *cloud) {
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

const char *io_data(const char *file) {
    static char path[4096];
    const char *folder = getenv("PCGPU_DATA");
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "/nonexistent", file);
    return path;
}

void io_skip_without(const char *path) {
    if (access(path, R_OK) != 0) {
        skip();
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
        {"-", "bin"},
        {"a.bin", "bin"},
        {"n015.pcd.bin", "bin"},
        {"A.PLY", "ply"},
        {"dir.ply/a.pcd", "pcd"},
        {"a.b/c.NpY", "npy"},
        {"x.npz", "npz"},
        {"frame-0.depth.png", "png"},
        {"a.PGM", "pgm"},
        {"noext", NULL},
        {"a.ply.gz", "gzip"},
        {".ply", NULL},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        const pcgpu_format_info *info = pcgpu_format_of_path(pairs[i][0]);
        if (pairs[i][1]) {
            assert_non_null(info);
            assert_string_equal(info->name, pairs[i][1]);
        } else {
            assert_null(info);
        }
    }
    int count = 0;
    for (; pcgpu_format_at(count); count++) {
        assert_ptr_equal(pcgpu_format_by_name(pcgpu_format_at(count)->name), pcgpu_format_at(count));
        assert_non_null(pcgpu_format_at(count)->description);
    }
    assert_true(count >= 8);
    assert_null(pcgpu_format_at(-1));
    assert_null(pcgpu_format_by_name("foo"));
}

/* The rest of the sentence lists the formats. */
static void assert_begins(const char *sentence) {
    if (strncmp(pcgpu_last_error(io.context), sentence, strlen(sentence)) != 0) {
        fail_msg("'%s' where '%s' is expected", pcgpu_last_error(io.context), sentence);
    }
}

static void test_format_errors(void **state) {
    pcgpu_cloud cloud;
    FILE *f = tmpfile();
    assert_int_equal(pcgpu_read(io.context, f, "scan.dat", NULL, &cloud), PCGPU_ERROR_FORMAT);
    assert_begins("scan.dat: is empty; give a file with points");
    static char bytes[] = {1, 2, 3, 4};
    FILE *four = fmemopen(bytes, sizeof bytes, "rb");
    assert_int_equal(pcgpu_read(io.context, four, "scan.dat", NULL, &cloud), PCGPU_ERROR_FORMAT);
    fclose(four);
    assert_begins("scan.dat: neither its first bytes nor its name have a known format; give format NAME");
    assert_int_equal(pcgpu_read(io.context, f, "scan.e57", NULL, &cloud), PCGPU_ERROR_FORMAT);
    assert_begins("scan.e57: is E57 by its name, which is not read; convert it first, such as by: pdal translate");
    assert_int_equal(read_as(f, "foo", 0, &cloud), PCGPU_ERROR_ARGUMENT);
    assert_begins("standard input: 'foo' is not a format; format takes bin, ply, pcd, npy, ");
    assert_int_equal(pcgpu_read(io.context, f, "a.npz", NULL, &cloud), PCGPU_ERROR_FORMAT);
    assert_begins("a.npz: is empty; give a file with points");
    assert_int_equal(pcgpu_read(io.context, f, "a.ply.gz", NULL, &cloud), PCGPU_ERROR_FORMAT);
    assert_begins("a.ply.gz: does not begin as a file of gzip");
    assert_null(pcgpu_format_by_name("ply:a"));
    io_make_cloud(2, 3, &cloud);
    assert_int_equal(pcgpu_write(io.context, f, "-", "npz", &cloud), PCGPU_ERROR_ARGUMENT);
    assert_begins("standard output: npz cannot hold a cloud; use bin, ply, ply-ascii, ");
    assert_int_equal(pcgpu_write(io.context, f, "a", NULL, &cloud), PCGPU_ERROR_ARGUMENT);
    const pcgpu_array array = {"a", PCGPU_FLOAT32, 2, {2, 3}, cloud.data};
    assert_int_equal(pcgpu_write_arrays(io.context, f, "a.ply", NULL, &array, 1), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(pcgpu_write_arrays(io.context, f, "a.npy", NULL, &array, 2), PCGPU_ERROR_ARGUMENT);
    const pcgpu_array huge = {"a", PCGPU_FLOAT32, 2, {INT64_MAX, INT64_MAX}, cloud.data};
    assert_int_equal(pcgpu_write_arrays(io.context, f, "a.npz", NULL, &huge, 1), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(pcgpu_write_arrays(io.context, f, "a.bin", NULL, &huge, 1), PCGPU_ERROR_ARGUMENT);
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

static void test_bin_sizes(void **state) {
    static const char zeros[200];
    pcgpu_cloud cloud;
    io_read_bad("bin", zeros, 100,
                "100 bytes are not whole records of 4 float32 (16 bytes): 4 bytes are left over; give "
                "fields, the size allows 5");
    io_read_bad("bin", zeros, 120, "fields, the size allows 3, 5, 6, 10, 15");
    io_read_bad("bin", zeros, 33, "no fields from 3 to 16 divides the size");
    io_read_good("bin", zeros, 0, &cloud);
    assert_int_equal(cloud.rows, 0);
    assert_int_equal(cloud.columns, 4);
    pcgpu_cloud_free(&cloud);
    FILE *f = tmpfile();
    assert_int_equal(read_as(f, NULL, 17, &cloud), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(read_as(f, NULL, -2, &cloud), PCGPU_ERROR_ARGUMENT);
    io_make_cloud(1, 17, &cloud);
    assert_int_equal(pcgpu_write(io.context, f, "-", NULL, &cloud), PCGPU_ERROR_ARGUMENT);
    pcgpu_cloud_free(&cloud);
    fclose(f);
}

/* ---- streams ----------------------------------------------------------------------------------------------------- */

/* A pipe cannot seek and gives its content in pieces. */
static void test_pipe(void **state) {
    const pcgpu_format_info *format;
    const char *reader;
    for (int i = 0; (format = cloud_format(i, &reader)); i++) {
        pcgpu_cloud cloud, again;
        int ends[2];
        io_make_cloud(30000, 4, &cloud);
        assert_int_equal(pipe(ends), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            close(ends[0]);
            FILE *out = fdopen(ends[1], "wb");
            pcgpu_status status = pcgpu_write(io.context, out, "-", format->name, &cloud);
            _exit(status == PCGPU_OK && fclose(out) == 0 ? 0 : 1);
        }
        close(ends[1]);
        FILE *in = fdopen(ends[0], "rb");
        assert_int_equal(read_as(in, reader, 0, &again), PCGPU_OK);
        fclose(in);
        int result = 1;
        assert_int_equal(waitpid(child, &result, 0), child);
        assert_int_equal(result, 0);
        io_assert_same(&cloud, &again);
        pcgpu_cloud_free(&cloud);
        pcgpu_cloud_free(&again);
    }
}

static void test_stream_errors(void **state) {
    pcgpu_cloud cloud;
    assert_int_equal(pcgpu_read_file(io.context, "/nonexistent/a.ply", NULL, &cloud), PCGPU_ERROR_IO);
    assert_string_equal(pcgpu_last_error(io.context),
                        "/nonexistent/a.ply: cannot be opened: No such file or directory; check the name");
    assert_int_equal(pcgpu_read_file(io.context, "/", NULL, &cloud), PCGPU_ERROR_IO);
    assert_non_null(strstr(pcgpu_last_error(io.context), "/: cannot be read: Is a directory"));
    io_make_cloud(100000, 4, &cloud);
    for (int i = 0; i < 5; i++) {
        FILE *full = fopen("/dev/full", "wb");
        if (full) {
            assert_int_equal(pcgpu_write(io.context, full, "full", pcgpu_format_at(i)->name, &cloud), PCGPU_ERROR_IO);
            assert_non_null(strstr(pcgpu_last_error(io.context), "full: cannot be written"));
            fclose(full);
        }
    }
    pcgpu_cloud_free(&cloud);
}

/* Arrays of every type; indices that the library writes it reads, from where the stream stands. */
static void test_arrays(void **state) {
    static const int32_t values[] = {7, 0, INT32_MAX};
    static const pcgpu_type types[] = {PCGPU_INT32, PCGPU_FLOAT64, PCGPU_UINT8, PCGPU_FLOAT16};
    static const char *const kinds[] = {"<i4", "<f8", "|u1", "<f2"};
    for (int i = 0; i < 5; i++) {
        const pcgpu_array array = {"indices", i < 4 ? types[i] : PCGPU_INT32, 1, {i ? 1 : 3}, values};
        char head[128] = "";
        pcgpu_indices got;
        FILE *f = tmpfile();
        fputs("before", f);
        assert_int_equal(pcgpu_write_arrays(io.context, f, "x", i < 4 ? "npy" : "bin", &array, 1), PCGPU_OK);
        fseek(f, 6, SEEK_SET);
        if (i % 4 == 0) {
            assert_int_equal(pcgpu_read_indices(io.context, f, "x", &got), PCGPU_OK);
            assert_int_equal(got.count, i ? 1 : 3);
            assert_memory_equal(got.values, values, (size_t)got.count * sizeof values[0]);
            pcgpu_indices_free(&got);
        }
        fseek(f, 6, SEEK_SET);
        assert_true(fread(head, 1, sizeof head - 1, f) > 0);
        assert_true(i == 4 || strstr(head + 10, kinds[i]));
        fclose(f);
    }
}

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

/* Formats with float64 keep what a cloud with an offset holds, to half a step of the float32 residual. */
static void test_offsets(void **state) {
    static const char *const formats[] = {"ply", "ply-ascii", "pcd", "npy", "xyz", "csv"};
    pcgpu_cloud cloud;
    io_make_cloud(500, 4, &cloud);
    for (int64_t i = 0; i < cloud.rows; i++) {
        cloud.data[i * 4 + 3] = (float)i;
    }
    cloud.offset[0] = 513000;
    cloud.offset[1] = -5403000;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        pcgpu_cloud again;
        io_again(formats[i], &cloud, &again, NULL);
        assert_string_equal(io.log, "");
        assert_true(fabs(again.offset[0] - 513000) < 300 && again.offset[0] == round(again.offset[0]));
        assert_true(fabs(again.offset[1] + 5403000) < 300 && again.offset[1] == round(again.offset[1]));
        assert_true(again.offset[2] == 0);
        for (int64_t j = 0; j < cloud.rows * 4; j++) {
            int k = (int)(j % 4);
            double was = (k < 3 ? cloud.offset[k] : 0) + (double)cloud.data[j];
            double is = (k < 3 ? again.offset[k] : 0) + (double)again.data[j];
            assert_true(fabs(was - is) <= 1.6e-5);
        }
        pcgpu_cloud_free(&again);
    }
    char *data;
    size_t size;
    io_write("bin", &cloud, &data, &size);
    assert_non_null(strstr(io.log, "out: coordinates were rounded to float32 by up to 0.2"));
    free(data);
    pcgpu_cloud_free(&cloud);
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
           TEST(test_bin_sizes), TEST(test_pipe), TEST(test_stream_errors), TEST(test_arrays), TEST(test_round_trips),
           TEST(test_offsets), TEST(test_offset_rule), TEST(test_locale))
