/* .ply: every variant of the format is generated here and must give the same cloud. Names and errors are lines of
 * answers.list and refusals.list. */
#define _GNU_SOURCE /* open_memstream */
#include "test_io.h"

typedef enum encoding { ASCII, LITTLE, BIG } encoding;

typedef struct variant {
    encoding how;
    bool crlf, new_names, list_in_vertex;
    int faces; /* 0 none, 1 before the vertices, 2 after */
} variant;

enum { ROWS = 5 };

/* Writes one value of a type given by its old PLY name. */
static void put(FILE *f, const variant *v, const char *type, double value) {
    unsigned char bytes[8];
    size_t size;
    float narrow = (float)value;
    int64_t whole = fabs(value) < 1e18 ? (int64_t)value : 0;
    if (v->how == ASCII) {
        fprintf(f, "%.17g ", value);
        return;
    }
    if (strcmp(type, "double") == 0) {
        size = 8;
        memcpy(bytes, &value, size);
    } else if (strcmp(type, "float") == 0) {
        size = 4;
        memcpy(bytes, &narrow, size);
    } else {
        size = strstr(type, "char") ? 1 : strstr(type, "short") ? 2 : 4;
        memcpy(bytes, &whole, size);
    }
    for (size_t i = 0; i < size; i++) {
        fputc(bytes[v->how == BIG ? size - 1 - i : i], f);
    }
}

static void end_row(FILE *f, const variant *v) {
    if (v->how == ASCII) {
        fputs(v->crlf ? "\r\n" : "\n", f);
    }
}

static void put_faces(FILE *f, const variant *v) {
    for (int i = 0; i < 3; i++) {
        put(f, v, "uchar", 3 + i);
        for (int j = 0; j < 3 + i; j++) {
            put(f, v, "int", j);
        }
        put(f, v, "uchar", 7);
        end_row(f, v);
    }
}

static const char *const types[][2] = {{"float", "float32"}, {"double", "float64"}, {"char", "int8"},
                                       {"uchar", "uint8"},   {"short", "int16"},    {"ushort", "uint16"},
                                       {"int", "int32"},     {"uint", "uint32"}};
static const double extremes[8] = {0.1, 1e-3, -128, 255, -32768, 65535, -16777216, 4294967040.0};

/* The value of column k of a row: z x y, then one column of every type. */
static double value_of(int row, int k) {
    return k < 3 ? row * 10 + k + 0.25 : row == 0 ? extremes[k - 3] : row == 1 ? 0 : row + k;
}

static void make_ply(const variant *v, char **data, size_t *size) {
    static const char *const formats[] = {"ascii", "binary_little_endian", "binary_big_endian"};
    const char *n = v->crlf ? "\r\n" : "\n";
    FILE *f = open_memstream(data, size);
    fprintf(f, "ply%sformat %s 1.0%scomment made by a test%sobj_info num_cols 512%s", n, formats[v->how], n, n, n);
    for (int part = 0; part < 3; part++) {
        if (part == 1) {
            fprintf(f, "element vertex %d%s", ROWS, n);
            fprintf(f, "property float z%sproperty double x%sproperty float y%s", n, n, n);
            if (v->list_in_vertex) {
                fprintf(f, "property list ushort short neighbours%s", n);
            }
            for (int k = 0; k < 8; k++) {
                fprintf(f, "property %s c_%s%s", types[k][v->new_names], types[k][0], n);
            }
            fprintf(f, "comment in between%s", n);
        } else if (v->faces == part / 2 + 1) {
            fprintf(f, "element face 3%sproperty list uchar int vertex_indices%sproperty uchar flags%s", n, n, n);
        }
    }
    fprintf(f, "end_header%s", n);
    if (v->faces == 1) {
        put_faces(f, v);
    }
    for (int row = 0; row < ROWS; row++) {
        put(f, v, "float", value_of(row, 0));
        put(f, v, "double", value_of(row, 1));
        put(f, v, "float", value_of(row, 2));
        for (int j = 0; v->list_in_vertex && j < row + 1; j++) {
            put(f, v, j ? "short" : "ushort", j ? 99 : row);
        }
        for (int k = 0; k < 8; k++) {
            put(f, v, types[k][0], value_of(row, k + 3));
        }
        end_row(f, v);
    }
    if (v->faces == 2) {
        put_faces(f, v);
    }
    fclose(f);
}

static void check_cloud(const pcgpu_cloud *cloud) {
    static const int place[3] = {1, 2, 0}; /* of x y z in the file */
    assert_int_equal(cloud->rows, ROWS);
    assert_int_equal(cloud->columns, 11);
    for (int k = 0; k < 11; k++) {
        char name[32];
        snprintf(name, sizeof name, k < 3 ? "%.1s" : "c_%s", k < 3 ? &"xyz"[k] : types[k - 3][0]);
        assert_string_equal(cloud->names[k], name);
        assert_int_equal(cloud->types[k], k == 0 ? PCGPU_FLOAT64 : k < 3 ? PCGPU_FLOAT32 : PCGPU_FLOAT32 + k - 3);
        for (int row = 0; row < ROWS; row++) {
            assert_true(cloud->data[row * 11 + k] == (float)value_of(row, k < 3 ? place[k] : k));
        }
    }
}

static void test_ply_variants(void **state) {
    for (int i = 0; i < 3 * 2 * 2 * 2 * 3; i++) {
        const variant v = {(encoding)(i % 3), i / 3 % 2, i / 6 % 2, i / 12 % 2, i / 24};
        char *data;
        size_t size;
        pcgpu_cloud cloud, again;
        make_ply(&v, &data, &size);
        io_read_good("ply", data, size, &cloud);
        check_cloud(&cloud);
        free(data);
        io_again(i % 2 ? "ply" : "ply-ascii", &cloud, &again, NULL);
        io_assert_same(&cloud, &again);
        /* Integers stay, float64 values in float32 memory are float32. */
        for (int k = 0; k < 11; k++) {
            assert_int_equal(again.types[k], k < 5 ? PCGPU_FLOAT32 : cloud.types[k]);
        }
        pcgpu_cloud_free(&cloud);
        pcgpu_cloud_free(&again);
    }
}

/* Text reads as the float32 nearest to it, compared with strtof, also where rounding twice would differ. */
static void test_ply_ascii_exact(void **state) {
    static const char texts[] =
        "0 -0 1e-45 1.401298464324817e-45 3.4028234663852886e38 16777217 16777217.0000001 16777219 0.1 -.5 5. +7 "
        "1e22 1e23 9007199254740993 1.00000005960464477539062500000000001 1.000000059604644775390625 8.589973e9 "
        "0.000000000000000000000000000001 123456789012345678901234567890 1e5 1E+05 1e-05 1.17549435e-38 2.5e-46 "
        "1e0000000005 4.35 0.3e1 00012 ";
    char text[256], number[64];
    pcgpu_cloud cloud;
    for (const char *p = texts; sscanf(p, "%63s", number) == 1; p += strlen(number) + 1) {
        int n = snprintf(text, sizeof text,
                         "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\n"
                         "property float z\nend_header\n%s\t0\v1",
                         number);
        io_read_good("ply", text, (size_t)n, &cloud);
        float want = strtof(number, NULL);
        assert_memory_equal(&want, &cloud.data[0], sizeof want);
        pcgpu_cloud_free(&cloud);
    }
    static const char *const odd[] = {"nan", "NaN",       "-nan",   "1.#QNAN",  "-1.#IND",
                                      "inf", "-Infinity", "1.#INF", "-1.#INF00"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        int n = snprintf(text, sizeof text,
                         "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty double y\n"
                         "property float z\nend_header\n%s %s 1\n",
                         odd[i], odd[i]);
        io_read_good("ply", text, (size_t)n, &cloud);
        for (int k = 0; k < 2; k++) {
            assert_true(i < 5 ? isnan(cloud.data[k])
                              : isinf(cloud.data[k]) && (signbit(cloud.data[k]) != 0) == (odd[i][0] == '-'));
        }
        pcgpu_cloud_free(&cloud);
    }
}

/* A caller's cloud: an integer column is written as such while its values are integers that fit; PLY has no quotes. */
static void test_ply_types(void **state) {
    static const float values[][2] = {{4, 5}, {4.5f, 3e9f}, {256, NAN}};
    pcgpu_cloud cloud;
    assert_int_equal(pcgpu_cloud_create(io.context, 1, 5, &cloud), PCGPU_OK);
    memset(cloud.data, 0, 3 * sizeof(float));
    strcpy(cloud.names[3], "two words");
    strcpy(cloud.names[4], "id");
    cloud.types[3] = PCGPU_UINT8;
    cloud.types[4] = PCGPU_INT32;
    for (int i = 0; i < 3; i++) {
        char *data;
        size_t size;
        memcpy(cloud.data + 3, values[i], sizeof values[i]);
        io_write("ply", &cloud, &data, &size);
        assert_non_null(strstr(data, i ? "property float two_words\nproperty float id\n"
                                       : "property uchar two_words\nproperty int id\n"));
        free(data);
    }
    pcgpu_cloud_free(&cloud);
}

UNIT_GROUP(io_ply, io_set_up, io_tear_down, TEST(test_ply_variants), TEST(test_ply_types), TEST(test_ply_ascii_exact))
