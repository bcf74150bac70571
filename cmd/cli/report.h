/* What the program says: messages, the progress line, JSON. */
#ifndef REPORT_H
#define REPORT_H

#include "pcgpu.h"

/* Messages are "pcgpu: NAME: text" on stderr; `name` may be NULL. Nothing is coloured, so NO_COLOR needs no care. Names
 * and texts may hold anything: they are shown by print_shown. */
void report_setup(bool verbose, bool quiet);
/* From now on messages are about a line of a list, which they name first: "pcgpu: LIST:LINE: NAME: text"; NULL ends it. */
void report_place(const char *list, int64_t line);
void report_error(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_warning(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3))); /* not with -q */
void report_detail(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));  /* with -v */
/* The text of the last report_error since report_forget_error, or NULL: what --json says of a failed input. */
const char *report_last_error(void);
void report_forget_error(void);
void report_result(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3))); /* not with -q */
/* For a person who watches: when stderr is a terminal or with -v. */
void report_summary(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The library's sentence, which may begin with the name itself. */
void report_failure(const char *name, const pcgpu_context *context);
/* A pcgpu_log_fn; `user` points to the name of the current input. */
void report_log(void *user, pcgpu_log_level level, const char *message);

/* "pcgpu: " and the two texts (NULL: none), in a handler of signals. */
void report_signal(const char *begin, const char *end);

/* A line such as "pcgpu: a.bin: sampling, 3 s" that a thread draws while work takes over half a second and stderr is a
 * terminal that can erase a line. `name` and `what` are borrowed until progress_end. */
void progress_begin(const char *name, const char *what);
void progress_end(void);

/* ---- JSON on one line ---- */

/* An object being written. Members are added in order; the caller closes what it opens. */
typedef struct json {
    FILE *out;
    bool first; /* nothing stands yet in the innermost object */
} json;

void json_open(json *j, const char *key); /* an object; key NULL for the outermost */
void json_close(json *j);
void json_text(json *j, const char *key, const char *value); /* NULL = null */
void json_integer(json *j, const char *key, int64_t value);
void json_number(json *j, const char *key, double value); /* null when not finite */
void json_boolean(json *j, const char *key, bool value);
void json_numbers(json *j, const char *key, const double *values, int count);
/* Writes `"key": `; the caller writes the value. */
void json_key(json *j, const char *key);

/* A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void json_print_string(FILE *out, const char *text);

/* For a terminal: control characters, those of C1 too, and bytes that are not UTF-8 are written as \xNN. Returns the
 * number of characters. */
int print_shown(FILE *out, const char *text);

double seconds_now(void);

#endif
