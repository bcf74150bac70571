/* Inputs and outputs: "-", folders, whole files or none, and the rules about terminals and overwriting. Every function
 * that returns false or NULL has said why. */
#ifndef FILES_H
#define FILES_H

#include <stdbool.h>
#include <stdio.h>

/* When a signal ends the program, unfinished outputs are removed and it is said how to go on. Call once, before outputs
 * are opened. */
void files_catch_signals(void);

/* The name to show: "standard input" for "-". */
const char *input_name(const char *path);
/* input.c: opens a file, or standard input for "-". A pipe (FIFO) must get a writer within 10 s. */
FILE *input_open(const char *path);
/* The same without a message: `why` is one, without the name. */
FILE *input_try(const char *path, char *why, size_t why_size);
void input_close(FILE *stream);
/* Remembers a file that is read in this run, so that no output replaces it. Missing files are ignored. */
void input_protect(const char *path);

/* An output file being written. Regular files get a temporary name in their folder until they are committed; standard
 * output, devices and pipes are written directly. */
typedef struct output {
    char *path;      /* as asked for, "-" = standard output */
    char *final;     /* the file to replace, links followed; NULL when written directly */
    char *temporary; /* NULL when written directly */
    FILE *stream;
    bool replaces; /* whatever has the name by then */
} output;

/* The rules without opening: nothing that exists is replaced without `force`, an input never; data that is not `text`
 * goes to a terminal only with `force`. */
bool output_check(const char *path, bool force, bool text);
/* Standard output is no input, whatever may be printed there. */
bool output_check_stdout(void);
bool output_open(output *output, const char *path, bool force, bool text);
/* Flushes and closes: all its data is written, but it has not got its name. On failure the output is discarded. */
bool output_finish(output *output);
/* Finishes it if need be and renames. On failure the output is discarded. */
bool output_commit(output *output);
void output_discard(output *output); /* accepts a zeroed struct */

/* True for "DIR/" and for a folder that exists. */
bool path_is_folder(const char *path);
/* folders.c: makes a folder "DIR/" that is not there, and those above it. */
bool folder_make(const char *path);
bool folder_check(const char *path); /* that it can be made */
/* True when the path exists and is neither a regular file nor a folder, or is "-". */
bool path_is_stream(const char *path);
/* "DIR/STEM.EXT" for a folder and an input; malloc'd, NULL when memory is exhausted. `extension` has its dot. */
char *path_in_folder(const char *folder, const char *input, const char *extension);

#endif
