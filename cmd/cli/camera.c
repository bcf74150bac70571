/* The camera of depth images, one option: FX,FY,CX,CY on the command line, a mapping in a configuration. */
#include "camera_file.h"
#include "numbers.h"
#include "options.h"
#include "report.h"

#include <math.h>
#include <string.h>

/* In the order of the output. Members from SHORTHAND to before SHORTHAND_END may be given without their names. */
static const struct member {
    const char *name;
    size_t field; /* in pcgpu_camera */
    bool whole;   /* an int, else a double */
    bool above;   /* `min` itself is out of range */
    double min, max;
} members[] = {
    {"width", offsetof(pcgpu_camera, width), true, false, 0, PCGPU_DEPTH_SIDE},
    {"height", offsetof(pcgpu_camera, height), true, false, 0, PCGPU_DEPTH_SIDE},
    {"fx", offsetof(pcgpu_camera, fx), false, true, 0, 1e6},
    {"fy", offsetof(pcgpu_camera, fy), false, true, 0, 1e6},
    {"cx", offsetof(pcgpu_camera, cx), false, false, -1e6, 1e6},
    {"cy", offsetof(pcgpu_camera, cy), false, false, -1e6, 1e6},
    {"depth_scale", offsetof(pcgpu_camera, depth_scale), false, true, 0, 1e9},
    {"min_depth", offsetof(pcgpu_camera, min_depth), false, false, 0, 1e6},
    {"max_depth", offsetof(pcgpu_camera, max_depth), false, false, 0, 1e6},
};
enum { MEMBERS = sizeof members / sizeof members[0], SHORTHAND = 2, SHORTHAND_END = 6 };

static double get(const pcgpu_camera *camera, const struct member *m) {
    const char *field = (const char *)camera + m->field;
    return m->whole ? *(const int *)(const void *)field : *(const double *)(const void *)field;
}

/* Units per metre. No unit is above a metre: a smaller number is metres per unit, as librealsense's 0.001. */
static double units_per_metre(double value) {
    const double units = value > 0 && value < 1 ? 1 / value : value;
    return fabs(units - round(units)) < 1e-6 * units ? round(units) : units;
}

static bool set(pcgpu_camera *camera, const struct member *m, const char *text, reason *why) {
    char *field = (char *)camera + m->field;
    double value;
    if (!number_parse(text, &value) || value > m->max || value < m->min || (m->above && value == m->min) ||
        (m->whole && value != floor(value))) {
        return refuse(why, "%s: \"%s\" is not %s in range; give %s%g to %g", m->name, text,
                      m->whole ? "a whole number" : "a number", m->above ? "above " : "", m->min, m->max);
    }
    if (m->whole) {
        *(int *)(void *)field = (int)value;
    } else {
        *(double *)(void *)field = m->field == offsetof(pcgpu_camera, depth_scale) ? units_per_metre(value) : value;
    }
    return true;
}

static bool refuse_member(const char *name, size_t length, reason *why) {
    refuse(why, "a camera has no \"%.*s\"; give", (int)(length < 40 ? length : 40), name);
    for (int i = 0; i < MEMBERS; i++) {
        refuse_more(why, "%s %s", i ? "," : "", members[i].name);
    }
    return false;
}

/* Parses one word: NAME=VALUE, or the `position`-th number without a name. */
static bool parse_word(pcgpu_camera *camera, const char *word, int position, reason *why) {
    const char *equals = strchr(word, '=');
    if (!equals) {
        if (position >= SHORTHAND_END - SHORTHAND) {
            return refuse(why, "\"%s\" is one number too many after FX,FY,CX,CY; name it, such as depth_scale=%s", word,
                          word);
        }
        return set(camera, &members[SHORTHAND + position], word, why);
    }
    for (int i = 0; i < MEMBERS; i++) {
        size_t length = strlen(members[i].name);
        if ((size_t)(equals - word) == length && strncmp(word, members[i].name, length) == 0) {
            return set(camera, &members[i], equals + 1, why);
        }
    }
    return refuse_member(word, (size_t)(equals - word), why);
}

/* Copies a word without the blanks around it, up to a comma or the end. False for an empty or long word. */
static bool take_word(const char **p, char word[CAMERA_WORD]) {
    const char *begin = *p + strspn(*p, " \t");
    size_t length = strcspn(begin, ",");
    *p = begin + length;
    while (length > 0 && strchr(" \t", begin[length - 1])) {
        length--;
    }
    snprintf(word, CAMERA_WORD, "%.*s", (int)(length < CAMERA_WORD ? length : 0), begin);
    return word[0] != '\0';
}

/* A word that is neither a number nor NAME=VALUE. */
static bool is_file_name(const char *word) {
    double value;
    return !strchr(word, '=') && !number_parse(word, &value) && strpbrk(word, "./\\") &&
           strspn(word, "+-.0123456789eE") < strlen(word);
}

bool camera_names_file(const char *text, char word[CAMERA_WORD]) {
    return take_word(&text, word) && is_file_name(word);
}

/* Parses words between commas; the first may be a file, whose camera the others complete. Other members keep their
 * values, so that a line can complete a configuration. */
static bool parse_camera(const option_row *o, const char *text, void *field, reason *why) {
    (void)o;
    pcgpu_camera camera = *(const pcgpu_camera *)field;
    int plain = 0;
    bool named = false;
    char word[CAMERA_WORD];
    for (const char *p = text;; p++) {
        if (!take_word(&p, word)) {
            return refuse(why, "\"%s\" is not a camera; give FX,FY,CX,CY in pixels", text);
        }
        if (p == text + strlen(word) && is_file_name(word)) {
            if (!camera_file_read(word, &camera, NULL, why)) {
                return false;
            }
            named = true; /* the numbers are there */
            if (!*p) {
                break;
            }
            continue;
        }
        if (named && !strchr(word, '=')) {
            return refuse(why, "\"%s\" follows a name; give FX,FY,CX,CY first", word);
        }
        if (!parse_word(&camera, word, plain, why)) {
            return false;
        }
        named = strchr(word, '=') != NULL;
        plain += !named;
        if (!*p) {
            break;
        }
    }
    if (plain != 0 && plain != SHORTHAND_END - SHORTHAND) {
        return refuse(why, "\"%s\" has %d numbers without a name; give four, FX,FY,CX,CY in pixels", text, plain);
    }
    *(pcgpu_camera *)field = camera;
    return true;
}

/* Prints the members that were set. */
static bool print_camera(const option_row *o, const void *field, FILE *out) {
    (void)o;
    const pcgpu_camera *camera = field;
    pcgpu_camera none;
    bool any = false;
    pcgpu_camera_init(&none);
    for (int i = 0; i < MEMBERS; i++) {
        double value = get(camera, &members[i]), unset = get(&none, &members[i]);
        any = any || (value != unset && !(isnan(value) && isnan(unset)));
    }
    if (!any) {
        return false;
    }
    json j = {.out = out};
    json_open(&j, NULL);
    for (int i = 0; i < MEMBERS; i++) {
        const struct member *m = &members[i];
        double value = get(camera, m);
        if (value >= m->min && !((m->above || m->whole) && value == m->min)) {
            json_number(&j, m->name, value);
        }
    }
    json_close(&j);
    return true;
}

bool camera_check(const pcgpu_camera *camera, reason *why) {
    for (int i = SHORTHAND; i < SHORTHAND_END; i++) {
        double value = get(camera, &members[i]);
        if (!(value >= members[i].min) || (members[i].above && value == members[i].min)) {
            return refuse(why, "camera: %s is missing; give fx, fy, cx and cy", members[i].name);
        }
    }
    if (camera->max_depth > 0 && camera->max_depth <= camera->min_depth) {
        return refuse(why, "camera: depths from %g to %g m; max_depth is above min_depth, or 0 for no limit",
                      camera->min_depth, camera->max_depth);
    }
    return true;
}

const option_type type_camera = {VALUE_TEXT, true, true, parse_camera, print_camera};
