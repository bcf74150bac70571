/* Which characters of names and texts from files are shown as they are, on a terminal and in a page. */
#ifndef PC_SHOWN_H
#define PC_SHOWN_H

#include <stdbool.h>

/* The code point at p; *length: its bytes of UTF-8 (RFC 3629), or 0 where a byte is none. */
static inline unsigned pc_code_at(const unsigned char *p, int *length) {
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    const int n = *p < 0x80 ? 1 : *p >> 5 == 6 ? 2 : *p >> 4 == 14 ? 3 : *p >> 3 == 30 ? 4 : 0;
    unsigned code = n == 1 ? *p : *p & (0x7fu >> n);
    int i = 1;
    while (i < n && p[i] >> 6 == 2) {
        code = code << 6 | (p[i++] & 63u);
    }
    *length = n > 0 && i == n && code >= least[n] && code <= 0x10ffff && code >> 11 != 0x1b ? n : 0;
    return code;
}

/* Not a control character, and none of those that turn the direction of the text around them. */
static inline bool pc_code_is_shown(unsigned code) {
    const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
    const bool turns = code == 0x61c || (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                       (code >= 0x2066 && code <= 0x2069);
    return !control && !turns;
}

#endif
