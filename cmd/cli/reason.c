/* The sentence that explains why something was refused. */
#include "reason.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool refuse(reason *why, const char *format, ...) {
    reason made;
    va_list args;
    va_start(args, format);
    vsnprintf(made.text, sizeof made.text, format, args);
    va_end(args);
    *why = made;
    return false;
}

bool refuse_more(reason *why, const char *format, ...) {
    const size_t used = strlen(why->text);
    va_list args;
    va_start(args, format);
    vsnprintf(why->text + used, sizeof why->text - used, format, args);
    va_end(args);
    return false;
}
