/* Text of numbers. */
#include "numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool number_parse(const char *text, double *value) {
    char *end;
    /* strtod alone accepts "nan", "inf", hexadecimal numbers and leading blanks, too. */
    if (text[0] == '\0' || strspn(text, "+-.0123456789eE") != strlen(text)) {
        return false;
    }
    *value = strtod(text, &end);
    return *end == '\0' && end != text && isfinite(*value);
}

int numbers_parse(const char *text, double *values, int capacity) {
    int n = 0;
    const char *p = text + strspn(text, " \t");
    while (*p) {
        char word[64];
        size_t length = strcspn(p, ", \t");
        if (length == 0 || length >= sizeof word || n == capacity) {
            return -1;
        }
        memcpy(word, p, length);
        word[length] = '\0';
        if (!number_parse(word, &values[n++])) {
            return -1;
        }
        p += length;
        p += strspn(p, " \t");
        if (*p == ',') {
            p++;
            p += strspn(p, " \t");
            if (!*p) {
                return -1;
            }
        }
    }
    return n > 0 ? n : -1;
}

const char *number_text(double value, bool single, char buffer[NUMBER_SIZE]) {
    for (int digits = single ? 6 : 15; digits <= 17; digits++) {
        snprintf(buffer, NUMBER_SIZE, "%.*g", digits, value);
        double back = strtod(buffer, NULL);
        if (single ? (float)back == (float)value : back == value) {
            break;
        }
    }
    return buffer;
}
