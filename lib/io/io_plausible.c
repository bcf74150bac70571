/* Whether values look like a point cloud. A .bin has no header, so that a wrong number of columns, another type or
 * another unit reads without an error. A sample of the rows shows them.
 *
 * Columns: the values of a column are alike (their sign, their exponent, whether they are whole numbers), those of
 * different columns are not. With the right number of columns F, the columns explain a large part of the variance of
 * these three features; with another number each column is a mixture of all, which explains nothing. For KITTI,
 * nuScenes and Waymo the fraction is 0.4 to 0.8 for F and 0.00 to 0.35 for all that are not multiples of F, which
 * explain as much as F. The order of the points does not matter. */
#include "io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCKS = 32, /* of consecutive values, spread over the file */
    BLOCK = 64,
    SAMPLE = BLOCKS * BLOCK,
    FEWEST = 256, /* values; a smaller file is not judged */
    MIN_COLUMNS = 3,
    MAX_COLUMNS = 16,
    FEATURES = 3,
};

#define CLEAR 0.12   /* difference of two explained fractions that is no accident of a sample */
#define RATIO 1.8    /* and their least ratio */
#define WIDE  1500.0 /* extents of what is measured in millimetres, at least */
#define FLAT  300.0

typedef struct sample {
    int count, blocks, length; /* values in all, blocks, values of a block */
    size_t first[BLOCKS];      /* position of each block in the file */
    float features[SAMPLE][FEATURES];
} sample;

/* Reads the i-th float32. */
static float load(const void *data, size_t i) {
    float v;
    memcpy(&v, (const char *)data + i * sizeof v, sizeof v);
    return v;
}

static void describe(float v, float features[FEATURES]) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    const int exponent = (int)(bits >> 23 & 255) - 127;
    features[0] = (float)(exponent < -8 ? -8 : exponent > 16 ? 16 : exponent);
    features[1] = v < 0.0f ? 8.0f : 0.0f;
    features[2] = fabsf(v) < 1e6f && v == (float)(int)v ? 8.0f : 0.0f;
}

static void take(sample *s, const void *data, size_t count) {
    s->blocks = count <= SAMPLE ? 1 : BLOCKS;
    s->length = count <= SAMPLE ? (int)count : BLOCK;
    s->count = 0;
    for (int b = 0; b < s->blocks; b++) {
        s->first[b] = b == 0 ? 0 : (count - (size_t)s->length) / (size_t)(s->blocks - 1) * (size_t)b;
        for (int i = 0; i < s->length; i++) {
            describe(load(data, s->first[b] + (size_t)i), s->features[s->count++]);
        }
    }
}

/* The fraction of the features' variance that `columns` columns explain: 0 to 1. */
static double explained(const sample *s, int columns) {
    float sum[MAX_COLUMNS][FEATURES] = {{0}}, squares = 0; /* of small whole numbers: exact */
    double all[FEATURES] = {0}, between = 0, mean = 0;
    int n[MAX_COLUMNS] = {0};
    const float(*features)[FEATURES] = s->features;
    for (int b = 0; b < s->blocks; b++) {
        int column = (int)(s->first[b] % (size_t)columns);
        for (int i = 0; i < s->length; i++, features++) {
            n[column]++;
            for (int k = 0; k < FEATURES; k++) {
                const float f = (*features)[k];
                sum[column][k] += f;
                squares += f * f;
            }
            column = column + 1 == columns ? 0 : column + 1;
        }
    }
    for (int k = 0; k < FEATURES; k++) {
        for (int c = 0; c < columns; c++) {
            all[k] += (double)sum[c][k];
            between += n[c] ? (double)sum[c][k] * (double)sum[c][k] / n[c] : 0.0;
        }
        mean += all[k] * all[k] / s->count;
    }
    const double variance = (double)squares - mean;
    return variance > 1e-9 * (double)squares ? (between - mean) / variance : 0.0;
}

/* Whether three columns after x y z are unit normals, or 0, in all rows that are looked at. */
static bool has_normals(const void *data, size_t count, int columns) {
    const size_t rows = count / (size_t)columns, step = rows / FEWEST + 1;
    bool found = false;
    for (int k = 3; k + 3 <= columns && !found; k++) {
        size_t units = 0;
        found = true;
        for (size_t r = 0; r < rows && found; r += step) {
            double square = 0.0;
            for (int i = 0; i < 3; i++) {
                const double v = (double)load(data, r * (size_t)columns + (size_t)(k + i));
                square += v * v;
            }
            found = square == 0.0 || fabs(square - 1.0) < 1e-3;
            units += square > 0.0;
        }
        found = found && units * step > rows / 4;
    }
    return found;
}

/* The number of columns that fits much better than `columns`, or 0. A multiple fits as well by nature, and better where
 * points alternate: only the map of odometry, whose eight columns are no scan of four, and others with normals are
 * known. */
static int better_columns(const sample *s, const void *data, size_t count, uint64_t size, int columns) {
    const double now = columns > 0 ? explained(s, columns) : 0.0;
    double best = 0.0;
    int found = 0;
    if (now > 0.35) {
        return 0; /* RATIO times this is seldom reached, and the other numbers cost time */
    }
    for (int c = MIN_COLUMNS; c <= MAX_COLUMNS; c++) {
        if (size % ((size_t)c * sizeof(float)) == 0 && c != columns) {
            const double fraction = explained(s, c);
            const bool multiple = columns > 0 && c % columns == 0;
            if (fraction > best + 0.02 && (!multiple || has_normals(data, count, c))) {
                best = fraction;
                found = c;
            }
        }
    }
    return best > now + CLEAR && best > RATIO * now ? found : 0;
}

int pc_bin_columns(const void *data, size_t size, uint64_t whole, int columns) {
    sample *s = size / sizeof(float) < FEWEST ? NULL : malloc(sizeof *s);
    int better = 0;
    if (s) {
        take(s, data, size / sizeof(float));
        better = better_columns(s, data, size / sizeof(float), whole, columns);
    }
    free(s);
    return better;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* A coordinate that no sensor gives: above a million kilometres, or not 0 and smaller than any length. */
static bool is_absurd(double v) {
    const double size = fabs(v);
    return size > 1e9 || (size > 0.0 && size < 1e-30);
}

/* Whether most of the bytes of the first blocks are plausible as another type of `width` bytes. */
static bool plausible_as(const unsigned char *data, size_t size, int type, bool swap) {
    const size_t width = pc_type_size(type), count = size / width < SAMPLE ? size / width : SAMPLE;
    size_t good = 0, large = 0;
    for (size_t i = 0; i < count; i++) {
        const double v = pc_load_value(data + i * width, type, swap);
        good += v - v == 0.0 && !is_absurd(v) && (v == 0.0 || fabs(v) > 1e-9) && fabs(v) < 2e7;
        large += fabs(v) > 1e-3;
    }
    return count > 0 && good >= count - count / 50 && large > count / 4;
}

static void say_type(const pcgpu_cloud *cloud, double example, char *why, size_t why_size) {
    static const struct {
        int type;
        bool swap;
        const char *name, *numpy;
    } types[] = {{PCGPU_FLOAT64, false, "float64", "<f8"},
                 {PCGPU_FLOAT32, true, "float32 of the other byte order", ">f4"},
                 {PCGPU_INT32, false, "int32", "<i4"}};
    const size_t size = (size_t)cloud->rows * (size_t)cloud->columns * sizeof(float);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (plausible_as((const unsigned char *)cloud->data, size, types[i].type, types[i].swap)) {
            snprintf(why, why_size,
                     "coordinates such as %g are not possible, but the values look like %s; convert it with NumPy: "
                     "np.fromfile(FILE, '%s').astype('<f4').tofile(OUT)",
                     example, types[i].name, types[i].numpy);
            return;
        }
    }
    snprintf(why, why_size,
             "coordinates such as %g are not possible; it is damaged, or not records of float32: check the format and "
             "--fields, or export it again",
             example);
}

/* A NaN that no arithmetic makes, or one beside finite coordinates. */
enum { FARTHEST_DEPTH = 1000 /* metres of a depth image */ };

static bool has_odd_nan(const float *p) {
    int finite = 0, odd = 0;
    for (int k = 0; k < 3; k++) {
        uint32_t bits;
        memcpy(&bits, p + k, sizeof bits);
        finite += (bits & 0x7f800000) != 0x7f800000;
        odd += (bits & 0x7f800000) == 0x7f800000 && (bits & 0x3fffff) != 0;
    }
    return odd > 0 || (finite > 0 && finite < 3);
}

static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The extent that eight of ten values have; that of all when it is small. */
static double extent(float *values, int n) {
    float low = values[0], high = values[0];
    for (int i = 1; i < n; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    if ((double)high - (double)low < FLAT) {
        return (double)high - (double)low; /* of metres, mostly: no need to sort */
    }
    qsort(values, (size_t)n, sizeof *values, ascending);
    return (double)values[n - 1 - n / 10] - (double)values[n / 10];
}

/* A LiDAR scan or a room in millimetres: kilometres wide and hundreds of metres high. Mountains are flatter. */
enum { ROWS = SAMPLE / 4 };

static bool looks_like_millimetres(float axis[3][ROWS], int n) {
    if (n < FEWEST / 4) {
        return false;
    }
    const double z = extent(axis[2], n);
    if (z < FLAT) {
        return false;
    }
    const double x = extent(axis[0], n), y = extent(axis[1], n);
    const double wide = x > y ? x : y, narrow = fmin(x, fmin(y, z));
    return wide > WIDE && wide < 1e6 && narrow > FLAT && narrow > 0.03 * wide;
}

/* *impossible: no sensor gives such values. */
static bool values_look_wrong(const pcgpu_cloud *cloud, char *why, size_t why_size, bool *impossible) {
    static const int64_t run = 16; /* rows that follow each other */
    float axis[3][ROWS];
    int n = 0, absurd = 0, odd = 0, seen = 0;
    double example = 0.0;
    const int64_t runs = cloud->rows <= ROWS ? 1 : ROWS / run, length = cloud->rows <= ROWS ? cloud->rows : run;
    for (int64_t r = 0; r < runs; r++) {
        const int64_t first = r == 0 ? 0 : (cloud->rows - length) / (runs - 1) * r;
        for (int64_t i = first; i < first + length; i++, seen++) {
            const float *p = cloud->data + i * cloud->columns;
            bool bad = false;
            for (int k = 0; k < 3; k++) {
                if (is_absurd((double)p[k]) && isfinite(p[k])) {
                    example = (double)p[k];
                    bad = true;
                }
            }
            absurd += bad;
            odd += has_odd_nan(p);
            if (isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]) && (p[0] != 0 || p[1] != 0 || p[2] != 0)) {
                axis[0][n] = p[0];
                axis[1][n] = p[1];
                axis[2][n++] = p[2];
            }
        }
    }
    *impossible = seen >= FEWEST / 4 && (absurd > seen / 10 || odd > seen / 10);
    if (seen < FEWEST / 4) {
        return false;
    }
    if (absurd > seen / 10) {
        say_type(cloud, example, why, why_size);
    } else if (odd > seen / 10) {
        snprintf(why, why_size,
                 "%d of %d records looked at have NaN or infinity in some of x y z or with odd bits; it is damaged, or "
                 "not records of float32: check the format and --fields, or export it again",
                 odd, seen);
    } else if (looks_like_millimetres(axis, n)) {
        snprintf(why, why_size,
                 "the coordinates look like millimetres; lengths are metres: divide the coordinates by 1000 (convert "
                 "--scale 0.001), or give all lengths of the options in millimetres");
    }
    return *why != '\0';
}

bool pcgpu_cloud_looks_wrong(const pcgpu_cloud *cloud, const char *format, char *why, size_t why_size) {
    *why = '\0';
    if (format && strcmp(format, "bin") == 0) {
        const size_t size = (size_t)cloud->rows * (size_t)cloud->columns * sizeof(float);
        const int columns = pc_bin_columns(cloud->data, size, size, cloud->columns);
        if (columns > 0) {
            snprintf(why, why_size, "the values repeat every %d columns and not every %d; give --fields %d", columns,
                     cloud->columns, columns);
            return true;
        }
    }
    for (int64_t i = 0; format && (strcmp(format, "png") == 0 || strcmp(format, "pgm") == 0) && i < cloud->rows; i++) {
        const double depth = (double)cloud->data[i * cloud->columns + 2];
        if (depth > FARTHEST_DEPTH) {
            snprintf(why, why_size,
                     "depths of %.4g m; the camera's depth_scale is the units per metre, 1000 for millimetres", depth);
            return true;
        }
    }
    bool impossible;
    return values_look_wrong(cloud, why, why_size, &impossible);
}

pcgpu_status pc_bin_check(const pc_file *file, const pcgpu_cloud *cloud) {
    const pcgpu_read_options *options = file->options;
    char why[256] = "";
    bool impossible = false;
    /* Without --fields the layout has looked at the columns. */
    const bool wrong = values_look_wrong(cloud, why, sizeof why, &impossible) || options->fields;
    if (impossible && !options->fields && !options->force) {
        return pc_fail_format(file, "%s; to read it as it is, give --fields or -f", why);
    }
    if (wrong && pcgpu_cloud_looks_wrong(cloud, options->fields ? "bin" : NULL, why, sizeof why)) {
        pc_warn(file, "%s", why);
    }
    return PCGPU_OK;
}
