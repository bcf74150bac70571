/* .las: coordinates far from 0 and apart, hostile headers. tests/oracle reads every point format that NumPy and laspy
 * write, and what is written. */
#include "test_io.h"

static void name_column(pcgpu_cloud *cloud, int column, const char *name, pcgpu_type type) {
    snprintf(cloud->names[column], PCGPU_NAME_SIZE, "%s", name);
    cloud->types[column] = (uint8_t)type;
}

/* x y z of a scan and the columns of a format, all of which fit. */
static void make_full(pcgpu_cloud *cloud) {
    static const char *const names[] = {"intensity", "return_number", "classification", "red",
                                        "green",     "blue",          "ring",           "height"};
    assert_int_equal(pcgpu_cloud_create(io.context, 500, 11, cloud), PCGPU_OK);
    for (int k = 0; k < 8; k++) {
        name_column(cloud, 3 + k, names[k], k < 7 ? PCGPU_UINT16 : PCGPU_FLOAT32);
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        float *p = cloud->data + i * cloud->columns;
        for (int k = 0; k < 11; k++) {
            p[k] = k < 3 ? (float)((i * 7919 + k * 104729) % 200003) * 0.001f - 100.0f
                         : (float)(i % (k == 4   ? 8
                                        : k == 5 ? 32
                                                 : 400));
        }
        p[10] += 0.25f;
    }
}

static float at(const pcgpu_cloud *cloud, int64_t row, const char *name) {
    const int k = pcgpu_cloud_column(cloud, name);
    assert_true(k >= 0);
    return cloud->data[row * cloud->columns + k];
}

static void test_las_extremes(void **state) {
    pcgpu_cloud cloud, again;
    char *data;
    size_t size;
    io_make_cloud(5, 4, &cloud); /* intensity: any float */
    name_column(&cloud, 3, "gps_time", PCGPU_FLOAT32);
    cloud.data[0] = NAN;
    cloud.data[9] = INFINITY;
    cloud.data[12] = 3e7f;
    io_again("las", &cloud, &again, NULL);
    assert_non_null(
        strstr(io.log, "out: 2 points without finite coordinates were left out, since LAS cannot hold them"));
    assert_non_null(
        strstr(io.log, "out: the coordinates span too much for LAS and were rounded to multiples of 0.01 m"));
    assert_int_equal(again.rows, 3);
    assert_true(fabs((double)at(&again, 1, "x") + again.offset[0] - 3e7) < 0.01);
    pcgpu_cloud_free(&again);
    for (int i = 0; i < 5; i++) { /* far from the offset of the cloud: that of the file is near the middle */
        cloud.data[4 * i] = 3e7f + 2.0f * (float)i;
        cloud.data[4 * i + 1] = -5e6f - 0.5f * (float)i;
        cloud.data[4 * i + 2] = 0.25f;
    }
    io_again("las", &cloud, &again, NULL);
    assert_string_equal(io.log, "");
    for (int i = 0; i < 5; i++) {
        assert_true(again.offset[0] + (double)at(&again, i, "x") == 3e7 + 2.0 * i);
        assert_true(again.offset[1] + (double)at(&again, i, "y") == -5e6 - 0.5 * i);
    }
    pcgpu_cloud_free(&again);
    for (int k = 0; k < 3; k++) {
        cloud.data[k] = 1e30f;
    }
    io_again("las", &cloud, &again, NULL);
    pcgpu_cloud_free(&again);
    pcgpu_cloud_free(&cloud);
    io_make_cloud(0, 3, &cloud);
    io_write("las", &cloud, &data, &size);
    assert_int_equal(size, 227);
    io_read_good("las", data, size, &again);
    assert_int_equal(again.rows, 0);
    free(data);
    pcgpu_cloud_free(&again);
    pcgpu_cloud_free(&cloud);
    io_make_cloud(2, 60, &cloud);
    assert_int_equal(pcgpu_write(io.context, stderr, "out", "las", &cloud), PCGPU_ERROR_ARGUMENT);
    assert_string_equal(pcgpu_last_error(io.context),
                        "out: LAS takes at most 54 columns and the cloud has 60; write .ply");
    pcgpu_cloud_free(&cloud);
}

/* Each damages one number of a good header. */
static void test_las_bad(void **state) {
    static const struct {
        size_t at, size;
        uint64_t value;
        const char *sentence;
    } bad[] = {
        {0, 4, 0x4653414d, "does not begin as a LAS file; give format"},
        {24, 1, 2, "is LAS 2.2; 1.0 to 1.4 are read"},
        {25, 1, 5, "is LAS 1.5; 1.0 to 1.4 are read"},
        {25, 1, 4, "its header says a header size of 227"},
        {94, 2, 10, "its header says a header size of 10"},
        {94, 2, 60000, "its header says a header size of 60000"},
        {96, 4, 100, "its header says that its points begin at byte 100"},
        {96, 4, 0xffffffff, "its header says that its points begin at byte 4294967295"},
        {104, 1, 11, "its header says point format 11"},
        {104, 1, 5, "its header says points of a length of "},
        {105, 2, 3, "its header says points of a length of 3"},
        {107, 4, 501, "file ends after 500 of 501 points; it is cut short"},
        {107, 4, 0xffffffff, "file ends after 500 of 4294967295 points"},
        {131, 8, 0, "its header says a scale of 0, or no finite scale and offset, of axis 0"},
        {163, 8, UINT64_C(0x7ff8000000000000), "no finite scale and offset, of axis 1"},
        {104, 1, 130, "LASzip"}, /* LAZ: it is not installed, or finds no compressed points */
    };
    pcgpu_cloud cloud;
    char *data;
    size_t size;
    make_full(&cloud);
    io_write("las", &cloud, &data, &size);
    pcgpu_cloud_free(&cloud);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, data, size);
        memcpy(copy + bad[i].at, &bad[i].value, bad[i].size);
        io_read_bad("las", copy, size, bad[i].sentence);
        free(copy);
    }
    io_read_bad("las", data, 100, "file ends within its header; it is cut short");
    io_read_bad("las", data, size - 1, "file ends after 499 of 500 points");
    const uint32_t none = 0;
    memcpy(data + 107, &none, 4); /* a writer that was interrupted */
    io_read_good("las", data, size, &cloud);
    assert_int_equal(cloud.rows, 0);
    assert_non_null(strstr(io.log, "its header says 0 points, and 500 may follow; its writer did not finish"));
    pcgpu_cloud_free(&cloud);
    free(data);
}

UNIT_GROUP(io_las, io_set_up, io_tear_down, TEST(test_las_extremes), TEST(test_las_bad))
