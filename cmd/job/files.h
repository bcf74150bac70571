/* Inputs and outputs: "-", folders, outputs that appear complete or not at all, and the rules for terminals and
 * overwriting. A function that returns false or NULL has printed an error. */
#ifndef FILES_H
#define FILES_H

#include "reason.h"

#include <stdio.h>

/* Installs the signal handlers: a signal that ends the program removes unfinished outputs and prints how to continue:
 * by --skip-existing, or by the same command. Call it once, before outputs are opened. */
void files_catch_signals(bool continues);

/* The name for messages: "standard input", or "standard output", for "-". */
const char *input_name(const char *path);
const char *output_shown(const char *path);
/* input.c: opens a file, or standard input for "-". A pipe (FIFO) must get a writer within 10 s. */
FILE *input_open(const char *path);
/* The same with the error in `why`, without the name, instead of a message. */
FILE *input_try(const char *path, reason *why);
/* The same; *time: of a cloud of a recording, else unchanged. */
FILE *input_try_timed(const char *path, double *time, reason *why);
void input_close(FILE *stream);
/* What an input is, is known by its first bytes, also where the stream does not seek. */
enum { PEEK_HEAD = 1 << 14 };

/* The first bytes of an input, whose stream is read from its begin afterwards. A device, which may have no end, has no
 * first bytes. */
typedef struct peek {
    FILE *stream;   /* to be read */
    FILE *original; /* of the file */
    char *head;     /* PEEK_HEAD bytes at most, with a zero byte after `size` */
    size_t size, used;
} peek;

bool peek_open(peek *p, const char *path); /* false after an error message */
void peek_close(peek *p);
bool peek_is_text(const peek *p);

/* Marks a file as an input of this run, so that no output replaces it. Missing files are ignored. */
void input_protect(const char *path);

/* What happens to a file that has the name of an output. */
typedef enum existing_file {
    EXISTING_REFUSED,  /* an error before anything is written */
    EXISTING_REPLACED, /* --force */
    EXISTING_KEPT      /* --skip-existing: an error only if its content differs from that of the output */
} existing_file;

static inline existing_file existing_of(bool force) {
    return force ? EXISTING_REPLACED : EXISTING_REFUSED;
}

/* An open output. A regular file has a temporary name in its folder until it is committed; standard output, devices and
 * pipes are written directly. */
typedef struct output {
    char *path;      /* as given, "-" = standard output */
    char *final;     /* the file to replace, links followed; NULL when written directly */
    char *temporary; /* NULL when written directly */
    char *partial;   /* the name that a signal gives the file when it is not empty, or NULL */
    FILE *stream;
    existing_file existing;
} output;

/* Checks the rules without opening: an existing file is handled as `existing` says, and an input is never replaced;
 * binary data (not `text`) goes to a terminal only with EXISTING_REPLACED, which is --force. */
bool output_check(const char *path, existing_file existing, bool text);
/* From now on the message about an existing file names --skip-existing, too. */
void output_suggest_keeping(void);
/* Checks that standard output is not an input. */
bool output_check_stdout(void);
bool output_open(output *output, const char *path, existing_file existing, bool text);
/* Flushes and closes the file, which keeps its temporary name. On failure the output is discarded. */
bool output_finish(output *output);
/* Finishes the output, if it is open, and renames it. On failure the output is discarded. */
bool output_commit(output *output);
void output_discard(output *output); /* accepts a zeroed struct */

bool path_is_link(const char *path);
/* Whether the name ends in an extension such as ".txt", in any case, and is longer. */
bool path_ends_in(const char *path, const char *extension);
/* The name of a file without its folder. */
const char *path_base(const char *path);
/* The canonical path of an existing file, malloc'd, in place of `path`, which is freed; other paths stay. */
char *path_followed(char *path);
/* True for "-"; NULL is accepted. */
bool path_is_dash(const char *path);
/* The folder of a file: "DIR/", or "."; malloc'd. */
char *path_folder(const char *path);
/* Whether two files have the same folder, whatever its spelling. */
bool path_shares_folder(const char *path, const char *other);
/* True for "DIR/" and for an existing folder. */
bool path_is_folder(const char *path);
/* folders.c: creates a folder "DIR/" and its parents. */
bool folder_make(const char *path);
bool folder_check(const char *path); /* whether it can be created */
/* True when the path exists and is neither a regular file nor a folder, or is "-". */
bool path_is_stream(const char *path);
/* Whether a name in a folder is below it: relative, and without "..". */
bool path_stays_below(const char *name);
/* "DIR/STEM.EXT" for a folder and an input, "DIR/SUB/STEM.EXT" for one that is named "..././SUB/STEM"; malloc'd.
 * `extension` has its dot. */
char *path_in_folder(const char *folder, const char *input, const char *extension);

#endif
