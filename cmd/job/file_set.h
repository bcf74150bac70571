/* Sets of files, by device and inode. */
#ifndef FILE_SET_H
#define FILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

typedef struct file_identity {
    dev_t device;
    ino_t inode;
    bool used;
} file_identity;

/* Open addressing (Knuth 1973, 6.4): a free place follows within a few. */
typedef struct file_set {
    file_identity *items;
    size_t count, capacity; /* a power of 2, or 0 */
} file_set;

bool file_set_has(const file_set *set, const struct stat *st);
/* Adds a regular file or a folder; others are left out. */
void file_set_add(file_set *set, const struct stat *st);

/* Whether both files can be read and have the same bytes. */
bool files_are_equal(const char *path, const char *other);

#endif
