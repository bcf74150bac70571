/* Names of columns on the command line, and the columns of a cloud that have them. */
#ifndef COLUMNS_H
#define COLUMNS_H

#include "job.h"

/* The columns of --columns: each has a name, and the name that it has in the input. */
typedef struct column_list {
    int count;
    char names[PCGPU_MAX_COLUMNS][PCGPU_NAME_SIZE], from[PCGPU_MAX_COLUMNS][PCGPU_NAME_SIZE];
} column_list;

/* Reads NAME[=OLD],... */
bool columns_split(const char *text, column_list *list, reason *why);
/* The names of the columns from the k-th on, "red, green, blue", cut to fit. */
void columns_show(const pcgpu_cloud *cloud, int k, char *out, size_t size);
/* The index of a column in a cloud, called `name` in messages; -1 after an error message. */
int columns_find(const char *name, const char *column, const pcgpu_cloud *cloud);

#endif
