/* Rigid transforms in files: matrices, KITTI poses, TUM poses. */
#include "transform_file.h"
#include "files.h"
#include "numbers.h"
#include "report.h"
#include "transform.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static const double TOLERANCE = 0.01; /* of the norm of a quaternion, which files have with two decimals, too */

/* The next byte, of at most *left: a pipe may have no end. */
static int next_byte(FILE *stream, long *left) {
    return (*left)-- > 0 ? getc(stream) : EOF;
}

/* The next word, or NULL at the end. A word that is too long is cut, and is then not a number. */
static const char *next_word(FILE *stream, long *left, char *word, size_t size) {
    size_t n = 0;
    int c;
    while ((c = next_byte(stream, left)) != EOF && (isspace(c) || c == ',' || c == '#')) {
        while (c == '#' && (c = next_byte(stream, left)) != EOF && c != '\n') {
            c = '#';
        }
    }
    for (; c != EOF && !isspace(c) && c != ',' && c != '#' && n + 1 < size; c = next_byte(stream, left)) {
        word[n++] = (char)c;
    }
    if (c == '#') {
        ungetc(c, stream);
    }
    word[n] = '\0';
    return n ? word : NULL;
}

void transform_from_rotation(const double q[4], const double t[3], double T[16]) {
    const double x = q[0], y = q[1], z = q[2], w = q[3];
    const double xx = x * x, yy = y * y, zz = z * z, xy = x * y, xz = x * z, yz = y * z;
    const double xw = x * w, yw = y * w, zw = z * w;
    const double R[9] = {1 - 2 * (yy + zz), 2 * (xy - zw), 2 * (xz + yw), 2 * (xy + zw),    1 - 2 * (xx + zz),
                         2 * (yz - xw),     2 * (xz - yw), 2 * (yz + xw), 1 - 2 * (xx + yy)};
    pc_transform_compose(R, t, T);
}

static bool from_quaternion(const double v[7], double T[16], reason *why) {
    const double x = v[3], y = v[4], z = v[5], w = v[6];
    const double norm = sqrt(x * x + y * y + z * z + w * w);
    if (!(fabs(norm - 1) < TOLERANCE)) {
        return refuse(why, "the quaternion has length %g; give a unit quaternion", norm);
    }
    transform_from_rotation((const double[4]){x / norm, y / norm, z / norm, w / norm}, v, T);
    return true;
}

bool transform_from_numbers(const double *v, int n, double T[16], reason *why) {
    char word[NUMBER_SIZE];
    memcpy(T, pc_identity, sizeof pc_identity);
    switch (n) {
    case 7:
    case 8: return from_quaternion(v + (n - 7), T, why);
    case 12:
    case 16: memcpy(T, v, (size_t)n * sizeof v[0]); return pcgpu_is_rigid(T, why->text, sizeof why->text);
    default:
        return refuse(why, "%s numbers; give a 4x4 matrix (16), a KITTI line (12) or a TUM line (7 or 8)",
                      n >= 17 ? "more than 16" : number_text(n, false, word));
    }
}

/* The three bytes at the start of UTF-8 as Windows writes it. */
static void skip_mark(FILE *stream) {
    const int c = getc(stream);
    if (c == 0xEF) {
        (void)getc(stream); /* no number begins with this byte, whatever the next two are */
        (void)getc(stream);
    } else if (c != EOF) {
        ungetc(c, stream);
    }
}

bool transform_read(FILE *stream, double T[16], reason *why) {
    double v[17];
    char word[64];
    long left = 1 << 20;
    int n = 0;
    skip_mark(stream);
    while (n < 17 && next_word(stream, &left, word, sizeof word)) {
        if (!number_parse(word, &v[n])) {
            return refuse(why, "\"%s\" is not a finite number; give a text file with a transform", word);
        }
        n++;
    }
    if (ferror(stream) || left < 0) {
        return refuse(why, left < 0 ? "more than 1 MiB; give a text file with a transform" : "cannot be read");
    }
    return transform_from_numbers(v, n, T, why);
}

bool transform_read_file(const char *path, const char *name, double T[16]) {
    reason why;
    FILE *stream = path ? input_open(path) : NULL;
    if (!stream) {
        return !path;
    }
    const bool good = transform_read(stream, T, &why);
    input_close(stream);
    if (!good) {
        report_error(name, "%s", why.text);
    }
    return good;
}

/* Quaternion x y z w of a rotation, w >= 0, from the largest of its four squares (Shepperd 1978). */
static void to_quaternion(const double T[16], double q[4]) {
    double trace = T[0] + T[5] + T[10];
    if (trace > 0) {
        double s = 2 * sqrt(trace + 1);
        q[0] = (T[9] - T[6]) / s, q[1] = (T[2] - T[8]) / s, q[2] = (T[4] - T[1]) / s, q[3] = s / 4;
    } else {
        int i = T[5] > T[0] ? 1 : 0;
        i = T[10] > T[5 * i] ? 2 : i;
        int j = (i + 1) % 3, k = (i + 2) % 3;
        double s = 2 * sqrt(1 + T[5 * i] - T[5 * j] - T[5 * k]);
        q[i] = s / 4;
        q[j] = (T[4 * i + j] + T[4 * j + i]) / s;
        q[k] = (T[4 * i + k] + T[4 * k + i]) / s;
        q[3] = (T[4 * k + j] - T[4 * j + k]) / s;
    }
    double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    for (int i = 0; i < 4; i++) {
        q[i] /= q[3] < 0 ? -norm : norm;
    }
}

static void write_row(FILE *stream, const double *values, int n) {
    char buffer[NUMBER_SIZE];
    for (int i = 0; i < n; i++) {
        fprintf(stream, "%s%s", number_text(values[i], false, buffer), i + 1 < n ? " " : "\n");
    }
}

static void write_tum(FILE *stream, const double T[16], double time) {
    double v[8] = {time, T[3], T[7], T[11]}, q[4];
    to_quaternion(T, q);
    memcpy(v + 4, q, sizeof q);
    write_row(stream, v, 8);
}

void transform_write(FILE *stream, const double T[16], transform_format format) {
    if (format == TRANSFORM_TUM) {
        write_tum(stream, T, 0.0);
    } else if (format == TRANSFORM_KITTI) {
        write_row(stream, T, 12);
    } else {
        for (int i = 0; i < 4; i++) {
            write_row(stream, T + 4 * i, 4);
        }
    }
}

void transform_write_line(FILE *stream, const double *T, transform_format format) {
    if (T && format == TRANSFORM_MATRIX) {
        write_row(stream, T, 16);
    } else if (T) {
        transform_write(stream, T, format);
    } else {
        int n = format == TRANSFORM_TUM ? 8 : format == TRANSFORM_KITTI ? 12 : 16;
        for (int i = 0; i < n; i++) {
            fputs(i + 1 < n ? "nan " : "nan\n", stream);
        }
    }
}

void transform_write_pose(FILE *stream, const double *T, double time, transform_format format) {
    char buffer[NUMBER_SIZE];
    if (format != TRANSFORM_TUM) {
        transform_write_line(stream, T, format);
    } else if (T) {
        write_tum(stream, T, time);
    } else {
        fprintf(stream, "# lost %s\n", number_text(time, false, buffer));
    }
}
