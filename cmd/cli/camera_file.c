/* Cameras in files. */
#include "camera_file.h"
#include "document.h"
#include "heap.h"
#include "json_reader.h"
#include "numbers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 20, NUMBERS = 17 };

/* The members that a file sets; NaN: not there. */
typedef struct found {
    double width, height, fx, fy, cx, cy;
    const char *format;
} found;

static bool is_complete(const found *f) {
    return f->fx > 0 && f->fy > 0 && !isnan(f->cx) && !isnan(f->cy);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void take_member(const json_member *m, found *f) {
    const struct {
        const char *key;
        double *value;
    } members[] = {{"width", &f->width}, {"height", &f->height}, {"fx", &f->fx},  {"fy", &f->fy},
                   {"cx", &f->cx},       {"cy", &f->cy},         {"ppx", &f->cx}, {"ppy", &f->cy}};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (m->count == 1 && strcmp(m->key, members[i].key) == 0 && isnan(*members[i].value)) {
            *members[i].value = m->numbers[0];
        }
    }
    if (m->count == 9 && strcmp(m->key, "intrinsic_matrix") == 0 && isnan(f->fx)) {
        f->fx = m->numbers[0];
        f->fy = m->numbers[4];
        f->cx = m->numbers[6];
        f->cy = m->numbers[7];
    }
}

static bool read_json(const char *text, size_t size, found *f, reason *why) {
    json_reader r = {.bytes = text, .size = size, .remedy = "give JSON as Open3D writes it", .why = why};
    json_member m;
    json_event event;
    f->format = "JSON";
    json_begin(&r);
    while ((event = json_next_member(&r, &m)) == JSON_KEY) {
        take_member(&m, f);
    }
    return event == JSON_END &&
           (is_complete(f) ||
            refuse(why, "no \"intrinsic_matrix\" of 9 numbers and no fx, fy, cx, cy; give the camera of Open3D"));
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* The numbers of a text up to `end`; returns how many, at most NUMBERS, or -1 for another word. */
static int take_numbers(const char *p, const char *end, double v[NUMBERS]) {
    int n = 0;
    while (n < NUMBERS) {
        char word[64];
        while (p < end && strchr(" \t\r\n,;[]", *p) && *p) {
            p++;
        }
        if (p < end && *p == '#') {
            const char *line = memchr(p, '\n', (size_t)(end - p));
            p = line ? line : end;
            continue;
        }
        size_t length = 0;
        while (p + length < end && !strchr(" \t\r\n,;[]", p[length])) {
            length++;
        }
        if (length == 0) {
            return p < end ? -1 : n;
        }
        if (length >= sizeof word) {
            return -1;
        }
        memcpy(word, p, length);
        word[length] = '\0';
        if (!number_parse(word, &v[n++])) {
            return -1;
        }
        p += length;
    }
    return n;
}

/* The line of a projection matrix, such as "P2: 721.5 0 ...". */
static bool read_projection(const char *text, const char *end, const char *name, found *f) {
    for (const char *p = text; p < end;) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        const size_t n = strlen(name);
        double v[NUMBERS];
        stop = stop ? stop : end;
        if ((size_t)(stop - p) > n && memcmp(p, name, n) == 0 && take_numbers(p + n, stop, v) == 12) {
            f->fx = v[0];
            f->cx = v[2];
            f->fy = v[5];
            f->cy = v[6];
            f->format = "calib.txt of KITTI";
            return is_complete(f);
        }
        p = stop + 1;
    }
    return false;
}

/* An intrinsic matrix of 3x3 or 4x4, row by row. */
static bool take_matrix(const double *v, int side, found *f) {
    for (int i = 0; i < side * side; i++) {
        const int row = i / side, column = i % side;
        const bool free_to_be = row < 2 && (column == row || column == 2);
        if (!free_to_be && v[i] != (row == column ? 1.0 : 0.0)) {
            return false;
        }
    }
    f->fx = v[0];
    f->cx = v[2];
    f->fy = v[side + 1];
    f->cy = v[side + 2];
    return is_complete(f) && f->fx > 1 && f->fy > 1; /* the identity is a pose */
}

static bool read_matrix(const char *text, const char *end, found *f) {
    double v[NUMBERS];
    const int n = take_numbers(text, end, v);
    f->format = n == 9 ? "3x3 matrix" : "4x4 matrix";
    return (n == 9 || n == 16) && take_matrix(v, n == 9 ? 3 : 4, f);
}

static bool read_text(const char *text, size_t size, found *f, reason *why) {
    static const char *const names[] = {"P2:", "P_rect_02:", "P0:"};
    const char *end = text + size;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (read_projection(text, end, names[i], f)) {
            return true;
        }
    }
    return read_matrix(text, end, f) ||
           refuse(why, "not a camera; give a 3x3 matrix fx 0 cx, 0 fy cy, 0 0 1 as text, a camera of Open3D (.json), a "
                       "calib.txt of KITTI or a camera_info of ROS (.yaml)");
}

/* ---- YAML -------------------------------------------------------------------------------------------------------- */

/* Whether a line begins with the key that cameras of ROS and OpenCV have. */
static bool is_yaml(const char *text) {
    static const char key[] = "camera_matrix:";
    const char *p = strstr(text, key);
    while (p && p > text && p[-1] != '\n') {
        p = strstr(p + 1, key);
    }
    return p;
}

/* The number of a node; NaN for others. */
static double number_of(const yaml_node_t *node) {
    double value = NAN;
    const char *text = node ? document_text(node) : NULL;
    return text && number_parse(text, &value) ? value : NAN;
}

/* The data of a matrix {rows, cols, data}; returns how many numbers, of which the first NUMBERS are kept. */
static int take_data(const document *d, const yaml_node_t *matrix, double v[NUMBERS]) {
    const yaml_node_t *data = document_value(d, matrix, "data");
    int n = 0;
    if (!data || data->type != YAML_SEQUENCE_NODE) {
        return -1;
    }
    for (const yaml_node_item_t *p = data->data.sequence.items.start; p < data->data.sequence.items.top; p++, n++) {
        if (n < NUMBERS) {
            v[n] = number_of(document_node(d, *p));
        }
    }
    return n;
}

static bool take_yaml(const document *d, found *f, reason *why) {
    const yaml_node_t *root = document_root(d), *matrix = document_value(d, root, "camera_matrix"),
                      *bends = document_value(d, root, "distortion_coefficients");
    double v[NUMBERS];
    if (take_data(d, matrix, v) != 9 || !take_matrix(v, 3, f)) {
        return refuse(why, "the data of camera_matrix is not fx 0 cx, 0 fy cy, 0 0 1; give the camera_info of ROS");
    }
    const int n = bends ? take_data(d, bends, v) : 0;
    if (n < 0 || n > NUMBERS) {
        return refuse(why, "the data of distortion_coefficients is not up to %d numbers; give the camera_info of ROS",
                      NUMBERS);
    }
    for (int i = 0; i < n; i++) {
        if (v[i] != 0.0) {
            return refuse(why,
                          "distortion_coefficients has %g, and cameras here have no distortion; rectify the images, "
                          "and give FX,FY,CX,CY of the projection_matrix",
                          v[i]);
        }
    }
    f->width = number_of(document_value(d, root, "image_width"));
    f->height = number_of(document_value(d, root, "image_height"));
    return true;
}

/* The camera_info of ROS, and what OpenCV writes with its names. The latter begins with %YAML:1.0, which is no YAML: it
 * becomes a comment. */
static bool read_yaml(char *text, size_t size, found *f, reason *why) {
    document d;
    f->format = "YAML of ROS";
    if (strncmp(text, "%YAML:", 6) == 0) {
        text[0] = '#';
    }
    if (!document_parse(&d, NULL, text, size, why)) {
        return false;
    }
    const bool good = take_yaml(&d, f, why);
    document_close(&d);
    return good;
}

static const found nothing = {NAN, NAN, NAN, NAN, NAN, NAN, ""};

static bool is_json(const char *text) {
    return text[strspn(text, " \t\r\n")] == '{';
}

static bool parse(char *text, size_t size, found *f, reason *why) {
    *f = nothing;
    return is_json(text)   ? read_json(text, size, f, why)
           : is_yaml(text) ? read_yaml(text, size, f, why)
                           : read_text(text, size, f, why);
}

bool camera_file_is(const char *head, size_t size) {
    found f = nothing;
    reason why;
    if (size == 0 || memchr(head, '\0', size)) {
        return false;
    }
    if (is_json(head)) {
        return strstr(head, "\"intrinsic_matrix\"") ? !strstr(head, "\"extrinsic\"") : read_json(head, size, &f, &why);
    }
    return is_yaml(head) || read_text(head, size, &f, &why);
}

static bool set_side(double value, int *side, const char *name, reason *why) {
    if (isnan(value)) {
        return true;
    }
    *side = value >= 0 && value <= PCGPU_DEPTH_SIDE && value == floor(value) ? (int)value : -1;
    return *side >= 0 || refuse(why, "%s is %g; give the pixels of the image", name, value);
}

static bool set_camera(const found *f, pcgpu_camera *camera, reason *why) {
    if (f->fx > 1e6 || f->fy > 1e6 || fabs(f->cx) > 1e6 || fabs(f->cy) > 1e6) {
        return refuse(why, "a focal length or centre of more than 1e6 pixels; give the camera in pixels");
    }
    camera->fx = f->fx;
    camera->fy = f->fy;
    camera->cx = f->cx;
    camera->cy = f->cy;
    return set_side(f->width, &camera->width, "width", why) && set_side(f->height, &camera->height, "height", why);
}

bool camera_file_read(const char *path, pcgpu_camera *camera, const char **format, reason *why) {
    FILE *file = fopen(path, "rb");
    reason inner;
    found f;
    if (!file) {
        return refuse(why, "%s: %s; give FX,FY,CX,CY in pixels, or a file with a camera", path, strerror(errno));
    }
    char *text = heap_zeroed(MOST_BYTES + 1, 1);
    const size_t size = fread(text, 1, MOST_BYTES, file);
    bool good = !ferror(file) || refuse(&inner, "cannot be read; give a file with a camera");
    good = good && (strlen(text) == size || refuse(&inner, "holds zero bytes; give a text file with a camera"));
    good = good && parse(text, size, &f, &inner) && set_camera(&f, camera, &inner);
    fclose(file);
    free(text);
    if (format && good) {
        *format = f.format;
    }
    return good || refuse(why, "%s: %s", path, inner.text);
}
