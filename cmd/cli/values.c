/* The types of options: how each parses its text and prints its value. */
#include "numbers.h"
#include "options.h"
#include "report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* "1 to 8", "above 0 to 1", "0 or more" */
static const char *bounds_text(const option_row *o, char buffer[80]) {
    char lowest[NUMBER_SIZE], highest[NUMBER_SIZE];
    const char *above = o->flags & OPTION_ABOVE_MIN ? "above " : "";
    number_text(o->min, false, lowest);
    number_text(o->max, false, highest);
    if (o->max >= 1e9) {
        snprintf(buffer, 80, *above ? "more than %s" : "%s or more", lowest);
    } else {
        snprintf(buffer, 80, "%s%s to %s", above, lowest, highest);
    }
    return buffer;
}

static bool in_bounds(const option_row *o, double value) {
    return value <= o->max && (o->flags & OPTION_ABOVE_MIN ? value > o->min : value >= o->min);
}

/* `digits`: the text is a number, but out of range. */
static bool number_wrong(const option_row *o, const char *text, bool digits, const char *what, reason *why) {
    char bounds[80];
    double value;
    if (o->max >= 1e9 && number_parse(text, &value) && value > o->max) {
        snprintf(bounds, sizeof bounds, "%.0f or less", o->max);
    } else {
        bounds_text(o, bounds);
    }
    bool whole = strcmp(what, "a number") != 0;
    return refuse(why, "\"%s\" is not %s%s; give %s%s", text, what, digits ? " in range" : "",
                  whole && !digits ? "digits only, " : "", bounds);
}

static bool parse_true(const option_row *o, const char *text, void *field, reason *why) {
    if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0) {
        return refuse(why, "\"%s\" is neither true nor false", text);
    }
    bool on = !text || text[0] == 't';
    *(bool *)field = o->type == &type_no_flag ? !on : on;
    return true;
}

static bool print_flag(const option_row *o, const void *field, FILE *out) {
    (void)o;
    fputs(*(const bool *)field ? "true" : "false", out);
    return true;
}

static bool parse_whole(const option_row *o, const char *text, int64_t *value, reason *why) {
    char *end;
    errno = 0;
    *value = strtoll(text, &end, 10);
    bool digits = text[0] != '\0' && strspn(text, "+-0123456789") == strlen(text) && *end == '\0';
    return (digits && errno == 0 && in_bounds(o, (double)*value)) ||
           number_wrong(o, text, digits, "a whole number", why);
}

/* An int or an int64_t, by the type. */
static bool parse_int(const option_row *o, const char *text, void *field, reason *why) {
    int64_t value;
    if (!parse_whole(o, text, &value, why)) {
        return false;
    }
    if (o->type == &type_int) {
        *(int *)field = (int)value;
    } else {
        *(int64_t *)field = value;
    }
    return true;
}

static bool print_int(const option_row *o, const void *field, FILE *out) {
    const int64_t value = o->type == &type_int ? *(const int *)field : *(const int64_t *)field;
    if (value == 0 && (o->flags & OPTION_ZERO_IS_NONE)) {
        return false;
    }
    fprintf(out, "%" PRId64, value);
    return true;
}

/* A number of bytes: digits, and K, M, G or T. */
static bool parse_bytes(const option_row *o, const char *text, void *field, reason *why) {
    static const char units[] = "KMGT";
    char digits[NUMBER_SIZE] = "";
    const size_t n = strlen(text);
    const char *unit = n > 1 ? strchr(units, text[n - 1]) : NULL;
    double value;
    snprintf(digits, sizeof digits, "%.*s", (int)(unit ? n - 1 : n), text);
    bool good = n < sizeof digits && strspn(digits, "0123456789.") == strlen(digits) && number_parse(digits, &value);
    for (const char *u = units; good && unit && u <= unit; u++) {
        value *= 1024;
    }
    if (!good || !in_bounds(o, value)) {
        return refuse(why, "\"%s\" is not a size of memory; give a number of at least 1M, such as 500M or 3G", text);
    }
    *(int64_t *)field = (int64_t)value;
    return true;
}

static bool parse_seed(const option_row *o, const char *text, void *field, reason *why) {
    (void)o;
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] == '\0' || strspn(text, "0123456789") != strlen(text) || errno != 0 || *end != '\0') {
        return refuse(why, "\"%s\" is not a seed; give a whole number from 0 to 18446744073709551615", text);
    }
    *(uint64_t *)field = value;
    return true;
}

static bool print_seed(const option_row *o, const void *field, FILE *out) {
    (void)o;
    fprintf(out, "%" PRIu64, *(const uint64_t *)field);
    return true;
}

/* A double, or a float, by the type. A tiny positive number must not become 0 there, which means "not given". */
static bool parse_real(const option_row *o, const char *text, void *field, reason *why) {
    const bool automatic = (o->flags & OPTION_AUTO) && strcmp(text, "auto") == 0, single = o->type == &type_float;
    double value = PCGPU_AUTO;
    const bool number = automatic || number_parse(text, &value);
    if (!number || (!automatic && !in_bounds(o, value))) {
        return number_wrong(o, text, number, "a number", why);
    }
    if (single && value != 0 && (float)value == 0.0f) {
        return number_wrong(o, text, true, "a float32 number", why);
    }
    if (single) {
        *(float *)field = (float)value;
    } else {
        *(double *)field = value;
    }
    return true;
}

static bool print_real(const option_row *o, const void *field, FILE *out) {
    const bool single = o->type == &type_float;
    const double value = single ? (double)*(const float *)field : *(const double *)field;
    char buffer[NUMBER_SIZE];
    if ((value == 0 && (o->flags & OPTION_ZERO_IS_NONE)) || (value == PCGPU_AUTO && (o->flags & OPTION_AUTO))) {
        return false;
    }
    fputs(number_text(value, single, buffer), out);
    return true;
}

static bool parse_path(const option_row *o, const char *text, void *field, reason *why) {
    if (text[0] == '\0') {
        return refuse(why, "the name is empty; give a path");
    }
    /* One name for standard output, so that the checks of outputs recognize it. */
    bool standard = (o->flags & OPTION_OUTPUT || strcmp(o->name, "json") == 0) && strcmp(text, "/dev/stdout") == 0;
    *(const char **)field = standard ? "-" : text;
    return true;
}

static bool print_path(const option_row *o, const void *field, FILE *out) {
    (void)o;
    const char *text = *(const char *const *)field;
    if (text) {
        json_print_string(out, text);
    }
    return text != NULL;
}

/* Adds the names of the formats that can be read, or written. Returns false. */
static bool refuse_formats(reason *why, bool reading) {
    const pcgpu_format_info *info;
    for (int i = 0; (info = pcgpu_format_at(i)); i++) {
        if (reading ? info->reads : info->writes || info->writes_arrays) {
            refuse_more(why, " %s", info->name);
        }
    }
    return false;
}

/* Names of formats that can be read, or written. */
static bool parse_format(const option_row *o, const char *text, void *field, reason *why) {
    bool reading = o->type == &type_reader;
    const pcgpu_format_info *info = pcgpu_format_by_name(text);
    const bool part = strchr(text, ':') != NULL; /* npz:NAME */
    if (info && (reading ? info->reads : !part && (info->writes || info->writes_arrays))) {
        *(const char **)field = part ? text : info->name;
        return true;
    }
    refuse(why, "\"%s\" is not a format that can be %s; give one of", text, reading ? "read" : "written");
    return refuse_formats(why, reading);
}

static bool choice_wrong(const option_row *o, const char *text, const char *more, reason *why) {
    refuse(why, "unknown value \"%s\"; give", text);
    bool explained = false;
    for (int i = 0; o->choices[i]; i++) {
        const size_t n = strlen(o->choices[i]);
        refuse_more(why, "%s %s", i ? "," : "", o->choices[i]);
        explained = explained || (strncmp(o->help, o->choices[i], n) == 0 && o->help[n] == ':');
    }
    refuse_more(why, "%s", more);
    return explained ? refuse_more(why, "; %.*s", (int)strcspn(o->help, "."), o->help) : false;
}

static bool parse_choice(const option_row *o, const char *text, void *field, reason *why) {
    for (int i = 0; o->choices[i]; i++) {
        if (strcasecmp(o->choices[i], text) == 0) {
            *(int *)field = i;
            return true;
        }
    }
    return choice_wrong(o, text, "", why);
}

static bool print_choice(const option_row *o, const void *field, FILE *out) {
    json_print_string(out, o->choices[*(const int *)field]);
    return true;
}

static void print_numbers(const double *values, int n, FILE *out) {
    char buffer[NUMBER_SIZE];
    for (int i = 0; i < n; i++) {
        fprintf(out, "%s%s", i ? ", " : "[", number_text(values[i], false, buffer));
    }
    fputc(']', out);
}

static bool parse_range(const option_row *o, const char *text, void *field, reason *why) {
    pcgpu_voxelize_params *p = field;
    p->range_auto = o->choices && strcmp(text, "auto") == 0;
    if (p->range_auto) {
        return true;
    }
    bool good = numbers_parse(text, p->range, 6) == 6;
    for (int i = 0; i < 6 && good; i++) {
        good = in_bounds(o, p->range[i]);
    }
    return good || refuse(why, "\"%s\" is not a range; give six numbers x0,y0,z0,x1,y1,z1 in metres%s", text,
                          o->choices ? ", or auto" : "");
}

static bool print_range(const option_row *o, const void *field, FILE *out) {
    const pcgpu_voxelize_params *p = field;
    if (!p->range_auto) {
        print_numbers(p->range, 6, out);
    } else if (o->choices) {
        json_print_string(out, "auto");
    }
    return !p->range_auto || o->choices;
}

static bool parse_size(const option_row *o, const char *text, void *field, reason *why) {
    double *size = field, values[3];
    int n = numbers_parse(text, values, 3);
    bool good = n == 1 || n == 3;
    for (int i = 0; i < n && good; i++) {
        good = in_bounds(o, values[i]);
    }
    if (!good) {
        return refuse(why, "\"%s\" is not a voxel size; give one or three numbers above 0, in metres", text);
    }
    for (int k = 0; k < 3; k++) {
        size[k] = values[n == 1 ? 0 : k];
    }
    return true;
}

static bool print_size(const option_row *o, const void *field, FILE *out) {
    (void)o;
    const double *size = field;
    if (size[0] > 0) {
        print_numbers(size, 3, out);
    }
    return size[0] > 0;
}

static bool parse_point(const option_row *o, const char *text, void *field, reason *why) {
    double *point = field;
    bool good = numbers_parse(text, point, 3) == 3;
    for (int k = 0; k < 3 && good; k++) {
        good = in_bounds(o, point[k]);
    }
    return good || refuse(why, "\"%s\" is not a point; give three numbers X,Y,Z in metres", text);
}

static bool print_point(const option_row *o, const void *field, FILE *out) {
    (void)o;
    print_numbers(field, 3, out);
    return true;
}

/* "1280x960" */
static bool parse_pixels(const option_row *o, const char *text, void *field, reason *why) {
    int *size = field, end = 0, width = 0, height = 0;
    const bool digits = strspn(text, "0123456789x") == strlen(text); /* of 9 at most, which an int holds */
    if (!digits || sscanf(text, "%9dx%9d%n", &width, &height, &end) != 2 || text[end] || !in_bounds(o, width) ||
        !in_bounds(o, height)) {
        return refuse(why, "\"%s\" is not a size; give WIDTHxHEIGHT, each %.0f to %.0f, such as 1920x1080", text,
                      o->min, o->max);
    }
    size[0] = width;
    size[1] = height;
    return true;
}

static bool print_pixels(const option_row *o, const void *field, FILE *out) {
    (void)o;
    const int *size = field;
    if (size[0] > 0) {
        fprintf(out, "\"%dx%d\"", size[0], size[1]);
    }
    return size[0] > 0;
}

static bool parse_start(const option_row *o, const char *text, void *field, reason *why) {
    pcgpu_sample_params *p = field;
    int64_t index = 0;
    if (strcmp(text, "first") == 0) {
        p->start = PCGPU_START_FIRST;
    } else if (strcmp(text, "center") == 0) {
        p->start = PCGPU_START_CENTER;
    } else if (strcmp(text, "random") == 0) {
        p->start = PCGPU_START_RANDOM;
    } else if (text[0] >= '0' && text[0] <= '9' && parse_whole(o, text, &index, why)) {
        p->start = PCGPU_START_INDEX;
    } else {
        return choice_wrong(o, text, " or a record index", why);
    }
    p->start_index = index;
    return true;
}

static bool print_start(const option_row *o, const void *field, FILE *out) {
    (void)o;
    const pcgpu_sample_params *p = field;
    if (p->start == PCGPU_START_INDEX) {
        fprintf(out, "%" PRId64, p->start_index);
    } else {
        json_print_string(out, p->start == PCGPU_START_FIRST    ? "first"
                               : p->start == PCGPU_START_CENTER ? "center"
                                                                : "random");
    }
    return true;
}

const option_type type_flag = {VALUE_BOOLEAN, false, false, parse_true, print_flag};
const option_type type_no_flag = {VALUE_BOOLEAN, false, false, parse_true, NULL};
const option_type type_int = {VALUE_NUMBER, false, false, parse_int, print_int};
const option_type type_int64 = {VALUE_NUMBER, false, false, parse_int, print_int};
const option_type type_bytes = {VALUE_TEXT, false, false, parse_bytes, print_int};
const option_type type_seed = {VALUE_NUMBER, false, false, parse_seed, print_seed};
const option_type type_real = {VALUE_NUMBER, false, false, parse_real, print_real};
const option_type type_float = {VALUE_NUMBER, false, false, parse_real, print_real};
const option_type type_path = {VALUE_TEXT, false, false, parse_path, print_path};
const option_type type_reader = {VALUE_TEXT, false, false, parse_format, print_path};
const option_type type_writer = {VALUE_TEXT, false, false, parse_format, print_path};
const option_type type_choice = {VALUE_TEXT, false, false, parse_choice, print_choice};
const option_type type_range = {VALUE_TEXT, true, false, parse_range, print_range};
const option_type type_size = {VALUE_TEXT, true, false, parse_size, print_size};
const option_type type_point = {VALUE_TEXT, true, false, parse_point, print_point};
const option_type type_pixels = {VALUE_TEXT, false, false, parse_pixels, print_pixels};
const option_type type_set = {VALUE_TEXT, false, true, NULL, NULL};
const option_type type_start = {VALUE_TEXT, false, false, parse_start, print_start};
