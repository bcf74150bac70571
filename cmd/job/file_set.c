/* Sets of files, and their content. */
#include "file_set.h"
#include "heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The place of a file, or the free one where it belongs. */
static file_identity *find(const file_set *set, dev_t device, ino_t inode) {
    size_t at = ((size_t)inode ^ (size_t)device << 7) * (size_t)0x9E3779B97F4A7C15u;
    at ^= at >> 29;
    file_identity *item = &set->items[at & (set->capacity - 1)];
    while (item->used && (item->device != device || item->inode != inode)) {
        item = &set->items[++at & (set->capacity - 1)];
    }
    return item;
}

bool file_set_has(const file_set *set, const struct stat *st) {
    return set->capacity > 0 && find(set, st->st_dev, st->st_ino)->used;
}

static void grow(file_set *set) {
    const file_set old = *set;
    set->capacity = old.capacity ? 2 * old.capacity : 64;
    set->items = heap_zeroed(set->capacity, sizeof *set->items);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.items[i].used) {
            *find(set, old.items[i].device, old.items[i].inode) = old.items[i];
        }
    }
    free(old.items);
}

void file_set_add(file_set *set, const struct stat *st) {
    if ((!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode)) || file_set_has(set, st)) {
        return;
    }
    if (2 * (set->count + 1) > set->capacity) {
        grow(set);
    }
    *find(set, st->st_dev, st->st_ino) = (file_identity){st->st_dev, st->st_ino, true};
    set->count++;
}

bool files_are_equal(const char *path, const char *other) {
    FILE *files[] = {fopen(path, "rb"), fopen(other, "rb")};
    bool same = files[0] && files[1];
    for (size_t n = 1; same && n > 0;) {
        char bytes[2][4096];
        n = fread(bytes[0], 1, sizeof bytes[0], files[0]);
        same = fread(bytes[1], 1, sizeof bytes[1], files[1]) == n && memcmp(bytes[0], bytes[1], n) == 0;
    }
    for (int i = 0; i < 2; i++) {
        same = files[i] && !ferror(files[i]) && same;
        if (files[i]) {
            fclose(files[i]);
        }
    }
    return same;
}
