/* Text of ASCII files: lines, tokens, and numbers that are rounded once in both directions.
 *
 * strtod and printf follow the thread's locale; pcgpu_read and pcgpu_write set it to C. */
#include "io.h"
#include "io_number.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool pc_text_line(pc_text *text, pc_span *line) {
    if (text->p == text->end) {
        return false;
    }
    const char *end = memchr(text->p, '\n', (size_t)(text->end - text->p));
    const char *stop = end ? end : text->end;
    *line = (pc_span){text->p, (size_t)(stop - text->p)};
    if (line->n && stop[-1] == '\r') {
        line->n--;
    }
    text->p = end ? end + 1 : text->end;
    text->line++;
    return true;
}

bool pc_text_filled_line(pc_text *text, pc_span *line) {
    while (pc_text_line(text, line)) {
        for (size_t i = 0; i < line->n; i++) {
            if (!pc_is_blank(line->p[i])) {
                return true;
            }
        }
    }
    return false;
}

bool pc_text_token(pc_span *line, pc_span *token) {
    const char *p = line->p;
    const char *end = p + line->n;
    while (p < end && pc_is_blank(*p)) {
        p++;
    }
    token->p = p;
    while (p < end && !pc_is_blank(*p)) {
        p++;
    }
    token->n = (size_t)(p - token->p);
    *line = (pc_span){p, (size_t)(end - p)};
    return token->n > 0;
}

bool pc_span_is(pc_span span, const char *text) {
    return strlen(text) == span.n && memcmp(span.p, text, span.n) == 0;
}

bool pc_span_count(pc_span span, int64_t *value) {
    int64_t v = 0;
    for (size_t i = 0; i < span.n; i++) {
        if (span.p[i] < '0' || span.p[i] > '9' || v >= INT64_C(100000000000000000)) {
            return false;
        }
        v = v * 10 + (span.p[i] - '0');
    }
    *value = v;
    return span.n > 0;
}

pc_shown pc_span_show(pc_span span) {
    pc_shown shown;
    size_t capacity = sizeof shown.text - 4;
    size_t n = span.n < capacity ? span.n : capacity;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)span.p[i];
        shown.text[i] = c >= 0x20 && c < 0x7f ? (char)c : '?';
    }
    strcpy(shown.text + n, n < span.n ? "..." : "");
    return shown;
}

/* "1.#QNAN", "-1.#IND", "1.#INF": the output of old Microsoft libraries. */
static bool parse_microsoft(pc_span span, double *value) {
    bool negative = span.n && *span.p == '-';
    const char *p = span.p + negative;
    size_t n = span.n - negative;
    if (n < 6 || strncmp(p, "1.#", 3) != 0) {
        return false;
    }
    *value = strncasecmp(p + 3, "INF", 3) == 0 ? (double)INFINITY : (double)NAN;
    *value = negative ? -*value : *value;
    return strncasecmp(p + 3, "INF", 3) == 0 || strncasecmp(p + 3, "IND", 3) == 0 ||
           (n >= 7 && strncasecmp(p + 3, "QNAN", 4) == 0);
}

static bool parse_float64(pc_span span, double *value) {
    bool exact;
    if (pc_scan_number(span.p, value, &exact) == span.p + span.n && exact) {
        return true;
    }
    char *end;
    *value = strtod(span.p, &end);
    return end == span.p + span.n || parse_microsoft(span, value);
}

static bool parse_float32(pc_span span, float *value) {
    double v;
    bool exact;
    if (pc_scan_number(span.p, &v, &exact) == span.p + span.n && !pc_is_undecided(v, exact, false)) {
        *value = (float)v;
        return true;
    }
    char *end;
    *value = strtof(span.p, &end);
    if (end == span.p + span.n) {
        return true;
    }
    bool known = parse_microsoft(span, &v);
    *value = (float)v;
    return known;
}

#define STORE_INTEGER(T, LOW, HIGH)                                                                                    \
    do {                                                                                                               \
        if (!(v >= (LOW) && v <= (HIGH)) || v != trunc(v)) {                                                           \
            return false;                                                                                              \
        }                                                                                                              \
        T stored = (T)v;                                                                                               \
        memcpy(out, &stored, sizeof stored);                                                                           \
        return true;                                                                                                   \
    } while (0)

bool pc_span_number(pc_span span, int type, unsigned char *out) {
    if (span.n == 0) {
        return false;
    }
    if (type == PCGPU_FLOAT32) {
        float f = 0;
        bool good = parse_float32(span, &f);
        memcpy(out, &f, sizeof f);
        return good;
    }
    double v = 0;
    if (!parse_float64(span, &v)) {
        return false;
    }
    switch (type) {
    case PCGPU_INT8: STORE_INTEGER(int8_t, -128.0, 127.0);
    case PCGPU_UINT8: STORE_INTEGER(uint8_t, 0.0, 255.0);
    case PCGPU_INT16: STORE_INTEGER(int16_t, -32768.0, 32767.0);
    case PCGPU_UINT16: STORE_INTEGER(uint16_t, 0.0, 65535.0);
    case PCGPU_INT32: STORE_INTEGER(int32_t, -2147483648.0, 2147483647.0);
    case PCGPU_UINT32: STORE_INTEGER(uint32_t, 0.0, 4294967295.0);
    case PCGPU_INT64: STORE_INTEGER(int64_t, -9223372036854775808.0, 9223372036854774784.0);
    case PC_UINT64: STORE_INTEGER(uint64_t, 0.0, 18446744073709549568.0);
    default: memcpy(out, &v, sizeof v); return true;
    }
}

int pc_format_offset(char out[PC_NUMBER_SIZE], double offset, float value) {
    const double sum = offset + (double)value;
    int n = 0, digits = 6;
    for (double v = fabs(sum); v >= 1e6 && v < 1e17; v /= 10.0) {
        digits++;
    }
    for (bool same = !isfinite(sum); digits <= 17 && !same; digits++) {
        n = snprintf(out, PC_NUMBER_SIZE, "%.*g", digits, sum);
        const double read = strtod(out, NULL);
        same = (float)(read - offset) == value && fabs(read - sum) < 1e-4; /* 500000.125 is no 500000.12 */
    }
    return isfinite(sum) ? n : pc_format_number(out, sum, true);
}

int pc_format_number(char out[PC_NUMBER_SIZE], double value, bool single) {
    if (isnan(value)) {
        return snprintf(out, PC_NUMBER_SIZE, "nan");
    }
    int n = 0;
    for (int digits = single ? 6 : 15; digits <= (single ? 9 : 17); digits++) {
        n = snprintf(out, PC_NUMBER_SIZE, "%.*g", digits, value);
        if (single ? strtof(out, NULL) == (float)value : strtod(out, NULL) == value) {
            break;
        }
    }
    return n;
}

bool pc_looks_like_text(const void *data, size_t size) {
    const unsigned char *p = data;
    for (size_t i = 0; i < size; i++) {
        if (!((p[i] >= ' ' && p[i] <= '~') || p[i] == '\n' || p[i] == '\r' || p[i] == '\t')) {
            return false;
        }
    }
    return true;
}

bool pc_has_extension(const char *path, const char *extension) {
    size_t n = strlen(path), e = strlen(extension);
    return n > e && strcasecmp(path + n - e, extension) == 0;
}

const char *pc_input_name(const char *name) {
    return strcmp(name, "-") == 0 ? "standard input" : name;
}

bool pc_enter_c_locale(pc_c_locale *l) {
    l->own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    l->before = l->own ? uselocale(l->own) : (locale_t)0;
    return l->own != (locale_t)0;
}

void pc_leave_c_locale(pc_c_locale *l) {
    uselocale(l->before);
    freelocale(l->own);
}

/* "NAME: PREFIX" and the sentence. */
static pcgpu_status fail_about(const pc_file *file, pcgpu_status status, const char *prefix, const char *format,
                               va_list args) {
    char sentence[1024];
    vsnprintf(sentence, sizeof sentence, format, args);
    return pc_fail(file->context, status, "%s: %s%s", file->name, prefix, sentence);
}

pcgpu_status pc_fail_format(const pc_file *file, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pcgpu_status status = fail_about(file, PCGPU_ERROR_FORMAT, "", format, args);
    va_end(args);
    return status;
}

pcgpu_status pc_fail_file(const pc_file *file, pcgpu_status status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    fail_about(file, status, "", format, args);
    va_end(args);
    return status;
}

pcgpu_status pc_fail_line(const pc_file *file, const pc_text *text, const char *format, ...) {
    char prefix[32];
    va_list args;
    snprintf(prefix, sizeof prefix, "line %lld: ", (long long)text->line);
    va_start(args, format);
    pcgpu_status status = fail_about(file, PCGPU_ERROR_FORMAT, prefix, format, args);
    va_end(args);
    return status;
}

pcgpu_status pc_fail_file_memory(const pc_file *file, uint64_t bytes) {
    return pc_fail_memory(file->context, bytes, file->name);
}

void pc_warn(const pc_file *file, const char *format, ...) {
    char sentence[512]; /* as pc_log has: threads may have small stacks */
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    pc_log(file->context, PCGPU_LOG_WARNING, "%s: %s", file->name, sentence);
}

void pc_say_encoding(const pc_file *file, const char *format, ...) {
    va_list args;
    if (file->options->file) {
        va_start(args, format);
        vsnprintf(file->options->file->encoding, sizeof file->options->file->encoding, format, args);
        va_end(args);
    }
}
