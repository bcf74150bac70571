/* Messages, the progress line, and JSON. */
#ifndef REPORT_H
#define REPORT_H

#include "pcgpu.h"

/* The exit codes scripts rely on. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NO_CUDA = 3, EXIT_NOT_CONVERGED = 4 };

/* Messages are "pcgpu: NAME: text" on standard error; `name` may be NULL. They have no colours. print_shown escapes the
 * names and texts. */
void report_setup(bool verbose, bool quiet);
/* Whether the progress line is shown: on a terminal that can erase a line; always, elsewhere as a line every few
 * seconds of a run of many inputs; never. */
typedef enum progress_mode { PROGRESS_AUTO, PROGRESS_ON, PROGRESS_OFF } progress_mode;
void report_progress(progress_mode mode);
/* Sets the line of a list for later messages: "pcgpu: LIST:LINE: NAME: text". NULL ends it. */
void report_place(const char *list, int64_t line);
/* A warning or an error that many inputs have is printed for the first three; report_repeated prints how many more
 * there were. */
void report_repeated(void);
/* A summary is printed when standard error is a terminal, or with -v; a detail with -v; only errors with -q. */
typedef enum report_kind { REPORT_ERROR, REPORT_WARNING, REPORT_RESULT, REPORT_SUMMARY, REPORT_DETAIL } report_kind;
void report(report_kind kind, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* An error; returns EXIT_FAILED. */
int report_error(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define report_warning(...) report(REPORT_WARNING, __VA_ARGS__)
#define report_result(...)  report(REPORT_RESULT, __VA_ARGS__)
#define report_summary(...) report(REPORT_SUMMARY, __VA_ARGS__)
#define report_detail(...)  report(REPORT_DETAIL, __VA_ARGS__)
/* Messages of this thread go to `stream` from now on; NULL: to standard error. report_captured prints such lines. */
void report_capture(FILE *stream);
/* `name`: of the input that they are of, which does not matter for equal errors; or NULL. */
void report_captured(const char *lines, const char *name);
/* Where the last error of this thread is kept, the "error" of --json, or NULL. */
enum { REPORT_ERROR_SIZE = 1024 };
void report_keep_error(char *error);
/* A sentence of the library, which may begin with the name, without it. */
const char *sentence_without_name(const char *sentence, const char *name);
/* Reports the last error of the library. Returns EXIT_FAILED. */
int report_failure(const char *name, const pcgpu_context *context);
/* A pcgpu_log_fn; `user` points to the name of the current input. */
void report_log(void *user, pcgpu_log_level level, const char *message);

/* Prints what ends the program, "pcgpu: NAME SENTENCE": from a handler of signals, and where there is no memory. */
void report_end(const char *name, const char *sentence);

/* Shows a line such as "pcgpu: a.bin: sampling, 3 s" while work takes more than half a second and standard error is a
 * terminal that can erase a line. A thread draws it. `name` and `what` must stay valid until progress_end. */
void progress_begin(const char *name, const char *what);
void progress_end(void);

/* In a run of many inputs, the line is "57/200  34.1 files/s  64 MB/s  ETA 4 s  1 failed" in their place, and summaries
 * are printed only with -v. */
typedef enum progress_outcome { PROGRESS_DONE, PROGRESS_SKIPPED, PROGRESS_FAILED } progress_outcome;

void progress_run_begin(int total);
void progress_run_add(const char *input, progress_outcome outcome);
double progress_run_end(void); /* seconds since the run began */

/* ---- JSON on one line ---- */

/* A JSON writer. Members are written in the order of the calls; the caller closes every object. */
typedef struct json {
    FILE *out;
    bool first; /* the innermost object is empty */
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
void json_print_strings(FILE *out, const char *const *texts, int count); /* an array */

/* Prints text for a terminal: control characters, including C1, and bytes that are not UTF-8 become \xNN. Returns the
 * number of characters. */
int print_shown(FILE *out, const char *text);

double seconds_now(void);

#endif
