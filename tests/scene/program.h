/* What the programs that write scenes share: options from a table, and files in a folder. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* An option has one value, which goes where one of the pointers leads. */
typedef struct program_option {
    const char *name;
    double low, high; /* of numbers; any whole number is a seed, and 0 or 1 is a flag */
    int *whole;
    double *real;
    uint64_t *seed;
    bool *flag;
    const char **text;
} program_option;

/* The argument after all options; NULL where it is missing or an option is wrong, which is then said. */
const char *program_options(int argc, char **argv, const program_option *options, size_t count);

/* A new file; NULL where it cannot be written, which is then said. */
FILE *program_create(const char *folder, const char *name);

#endif
