/* Text of numbers. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a whole word as a finite decimal number. */
/* What is wrong with a number where an input is expected. */
#define NUMBER_ALONE "is a number and no file; numbers are joined by commas: --voxel-size 0.1,0.1,0.2"
bool number_parse(const char *text, double *value);
/* Reads 1 to `capacity` numbers separated by commas, spaces or both; returns how many, or -1. */
int numbers_parse(const char *text, double *values, int capacity);

enum { NUMBER_SIZE = 32 };
/* The shortest decimal text that reads back as the same float64 (or float32, when `single`). */
const char *number_text(double value, bool single, char buffer[NUMBER_SIZE]);

#endif
