/* Text of a page: numbers, strings that cannot leave their place, and base64. */
#include "page_parts.h"
#include "shown.h"

static void write_base64(page_text *t) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char out[4 * sizeof t->bytes / 3];
    size_t n = 0;
    for (size_t i = 0; i < t->used; i += 3) {
        const size_t left = t->used - i;
        const unsigned b = left > 1 ? t->bytes[i + 1] : 0, c = left > 2 ? t->bytes[i + 2] : 0;
        const unsigned bits = (unsigned)t->bytes[i] << 16 | b << 8 | c;
        out[n++] = digits[bits >> 18];
        out[n++] = digits[bits >> 12 & 63];
        out[n++] = left > 1 ? digits[bits >> 6 & 63] : '=';
        out[n++] = left > 2 ? digits[bits & 63] : '=';
    }
    fwrite(out, 1, n, t->stream);
    t->used = 0;
}

void page_bytes(page_text *t, const void *data, size_t size) {
    const unsigned char *from = data;
    for (size_t i = 0; i < size; i++) {
        t->bytes[t->used++] = from[i];
        if (t->used == sizeof t->bytes) {
            write_base64(t);
        }
    }
}

void page_end_bytes(page_text *t) {
    write_base64(t);
}

/* The code point at *s, which advances; U+FFFD for what is not shown. */
static unsigned next_code(const unsigned char **s) {
    int length;
    const unsigned code = pc_code_at(*s, &length);
    *s += length ? length : 1;
    return length && pc_code_is_shown(code) ? code : 0xfffd;
}

void page_string(page_text *t, const char *s) {
    const unsigned char *p = (const unsigned char *)s;
    fputc('"', t->stream);
    while (*p) {
        const unsigned char *begin = p;
        const unsigned code = next_code(&p);
        const bool escaped = code == 0xfffd || code == '<' || code == '>' || code == '&' || code == '\'' ||
                             code == '"' || code == '\\' || code == '`';
        if (escaped) {
            fprintf(t->stream, "\\u%04x", code);
        } else {
            fwrite(begin, 1, (size_t)(p - begin), t->stream);
        }
    }
    fputc('"', t->stream);
}

void page_number(page_text *t, double v) {
    fprintf(t->stream, "%.17g", v - v == 0 ? v : 0.0);
}
