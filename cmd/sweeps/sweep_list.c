/* A list of scans with their times, and a file of their poses. */
#include "files.h"
#include "heap.h"
#include "lines.h"
#include "numbers.h"
#include "trajectory.h"
#include "sweep_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void sweep_inputs_begin(sweep_table *t, const char *const *inputs, int count) {
    t->inputs = heap_zeroed((size_t)count, sizeof *t->inputs);
    t->input_count = count;
    for (int i = 0; i < count; i++) {
        t->inputs[i] = (sweep_input){.name = inputs[i], .scan = -1};
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const sweep_input *)a)->name, ((const sweep_input *)b)->name);
}

bool sweep_inputs_end(sweep_table *t, reason *why) {
    for (int i = 0; i < t->input_count; i++) {
        if (!t->scans[t->inputs[i].scan].posed) {
            return refuse(why, "%s: its pose is not known; leave this input out", t->inputs[i].name);
        }
    }
    qsort(t->inputs, (size_t)t->input_count, sizeof *t->inputs, by_name);
    return true;
}

int64_t sweep_of_input(const sweep_table *t, const char *input) {
    const sweep_input key = {.name = input};
    const sweep_input *found = bsearch(&key, t->inputs, (size_t)t->input_count, sizeof key, by_name);
    return found ? found->scan : -1;
}

void sweep_scan_add(sweep_table *t, const sweep_scan *scan) {
    t->scans = heap_grow(t->scans, (size_t)t->count, sizeof *t->scans);
    t->scans[t->count++] = *scan;
}

/* "FILE TIME": the last word is the time, so that names may have blanks. */
static const char *append(void *table, char *line, int64_t number) {
    sweep_table *t = table;
    char *time = line + strlen(line);
    double seconds;
    (void)number;
    while (time > line && !strchr(" \t", time[-1])) {
        time--;
    }
    if (time == line || !number_parse(time, &seconds)) {
        return "no time at its end";
    }
    while (time > line && strchr(" \t", time[-1])) {
        *--time = '\0';
    }
    if (t->count > 0 && !(seconds > t->scans[t->count - 1].time)) {
        return "a time that is not after that of the line before";
    }
    const sweep_scan scan = {.path = heap_text("%s", line), .time = seconds, .previous = t->count - 1};
    sweep_scan_add(t, &scan);
    return NULL;
}

static bool take_poses(const char *path, sweep_table *t, reason *why) {
    trajectory poses;
    if (!trajectory_read(path, &poses, why)) {
        return false;
    }
    const bool good = poses.count == t->count ||
                      refuse(why, "%s: %lld poses for the %lld scans of the list; give one per scan, in their order",
                             input_name(path), (long long)poses.count, (long long)t->count);
    for (int64_t i = 0; i < t->count && good; i++) {
        const double *T = poses.poses + 16 * i;
        t->scans[i].posed = !isnan(T[0]);
        memcpy(t->scans[i].T, T, sizeof t->scans[i].T);
    }
    trajectory_free(&poses);
    return good;
}

/* The scan of an input: by the same name, else the same file (`files`: of each scan). Inputs mostly come in the order
 * of the list, so the search begins at `hint`. */
static int64_t find(const sweep_table *t, const char *input, const struct stat *files, int64_t hint) {
    struct stat st;
    const bool there = stat(input, &st) == 0;
    for (int64_t k = 0; k < t->count; k++) {
        const int64_t i = (hint + k) % t->count;
        if (strcmp(t->scans[i].path, input) == 0) {
            return i;
        }
    }
    for (int64_t k = 0; k < t->count && there; k++) {
        const int64_t i = (hint + k) % t->count;
        if (files[i].st_nlink > 0 && files[i].st_dev == st.st_dev && files[i].st_ino == st.st_ino) {
            return i;
        }
    }
    return -1;
}

static bool match_inputs(const char *list, sweep_table *t, reason *why) {
    struct stat *files = heap_zeroed((size_t)t->count, sizeof *files); /* without links: the file is not there */
    bool good = true;
    for (int64_t i = 0; i < t->count; i++) {
        input_protect(t->scans[i].path);
        if (stat(t->scans[i].path, &files[i]) != 0) {
            files[i].st_nlink = 0;
        }
    }
    int64_t hint = 0;
    for (int i = 0; i < t->input_count && good; i++) {
        const int64_t found = find(t, t->inputs[i].name, files, hint);
        t->inputs[i].scan = found;
        hint = found + 1;
        good = found >= 0 || refuse(why, "%s: not among the scans of %s; add a line with its time", t->inputs[i].name,
                                    input_name(list));
    }
    free(files);
    return good;
}

bool sweep_list_read(const char *list, const char *poses, const char *const *inputs, int input_count,
                     sweep_table *table, reason *why) {
    static const list_kind kind = {append, "give one line FILE TIME per scan, in the order of time, in seconds",
                                   "no scan; give one line FILE TIME per scan"};
    sweep_inputs_begin(table, inputs, input_count);
    return read_list(list, &kind, table, why) && take_poses(poses, table, why) && match_inputs(list, table, why) &&
           sweep_inputs_end(table, why);
}
