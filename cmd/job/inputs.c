/* The inputs of a run: names on the command line and of --files-from, the files of folders, and the share of
 * --shard. */
#define _DEFAULT_SOURCE /* scandir */
#include "inputs.h"
#include "files.h"
#include "heap.h"
#include "lines.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- a list ------------------------------------------------------------------------------------------------------ */

void input_list_free(input_list *list) {
    for (int i = 0; i < list->count; i++) {
        free((char *)list->paths[i]);
    }
    free(list->paths);
    free(list->entered.items);
    *list = (input_list){0};
}

/* Takes over a malloc'd path. */
static void append(input_list *list, char *path) {
    list->paths = heap_grow(list->paths, (size_t)list->count, sizeof *list->paths);
    list->paths[list->count++] = path;
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

/* Appends the clouds of a recording. */
static bool add_recording(input_list *list, const input_options *how, const char *path, const char *between,
                          reason *why) {
    char **names;
    int count;
    const bool good = recording_list(path, between, how->recordings, &names, &count, why);
    for (int i = 0; i < count; i++) {
        append(list, names[i]);
    }
    free(names);
    return good;
}

static bool is_recording(const input_options *how, const char *path) {
    return how->recordings && (!how->dry_run || !path_is_dash(path)) && recording_is(path);
}

static char *joined(const char *folder, const char *between, const char *name) {
    const size_t length = strlen(folder), slashes = length > 0 && folder[length - 1] == '/';
    return heap_text("%s%s%s%s", folder, slashes ? "" : "/", between, name);
}

static int is_visible(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static bool list_folder(input_list *list, const input_options *how, const char *folder, bool below, reason *why);

/* Whether a folder stands for files of a format: not for .npz, which are outputs of voxelize more often than scans. */
static bool is_taken(const pcgpu_format_info *format) {
    return format && format->reads && (format->writes || !format->writes_arrays);
}

/* A link without a file counts, unless its name is that of a file that is not taken. */
static bool is_dead_link(const input_options *how, const char *path, const char *name) {
    return path_is_link(path) && (how->any_format || is_taken(pcgpu_format_of_path(name)) || !strchr(name, '.'));
}

static bool is_output(const input_options *how, const struct stat *st) {
    return how->outputs && file_set_has(how->outputs, st);
}

/* Links are not followed into folders without --set follow; then each folder is entered once, so that loops end. */
static bool is_entered(const input_list *list, const input_options *how, const char *path, const struct stat *st) {
    return how->recursive && S_ISDIR(st->st_mode) && (how->follow || !path_is_link(path)) && !is_output(how, st) &&
           !file_set_has(&list->entered, st);
}

/* Appends an entry of a folder: a file of a format that can be read, or what a sub-folder has. */
static bool add_entry(input_list *list, const input_options *how, const char *folder, const char *name, bool below,
                      reason *why) {
    struct stat st;
    const pcgpu_format_info *format = pcgpu_format_of_path(name);
    char *path = joined(folder, "", name);
    bool good = true;
    const bool there = stat(path, &st) == 0;
    if (there && recording_is_name(name) && is_recording(how, path)) {
        char *inner = joined(folder, below ? "" : "./", name);
        good = add_recording(list, how, inner, "/", why);
        free(inner);
        free(path);
        return good;
    }
    if (there ? S_ISREG(st.st_mode) && (how->any_format || is_taken(format)) : is_dead_link(how, path, name)) {
        append(list, path);
        return true;
    }
    if (there && is_entered(list, how, path, &st)) {
        char *inner = joined(folder, below ? "" : "./", name);
        good = list_folder(list, how, inner, true, why);
        free(inner);
    }
    free(path);
    return good;
}

/* By name. `below`: the path has its "/./". */
static bool list_folder(input_list *list, const input_options *how, const char *folder, bool below, reason *why) {
    struct dirent **entries = NULL;
    struct stat st;
    const int n = scandir(folder, &entries, is_visible, by_name);
    if (n < 0) {
        return refuse(why, "%s: %s; give a folder that can be read", folder, strerror(errno));
    }
    bool good = true;
    if (how->follow && stat(folder, &st) == 0) {
        file_set_add(&list->entered, &st);
    }
    for (int i = 0; i < n; i++) {
        good = good && add_entry(list, how, folder, entries[i]->d_name, below, why);
        free(entries[i]);
    }
    free(entries);
    return good;
}

static bool is_folder(const char *path, struct stat *st) {
    return stat(path, st) == 0 && S_ISDIR(st->st_mode);
}

/* `alone`: there is no other name, so that the folder of the outputs is meant. */
static bool add(input_list *list, const input_options *how, const char *path, bool alone, reason *why) {
    struct stat st;
    const int before = list->count;
    const size_t length = strlen(path);
    if (length > 0 && path[length - 1] == '/' && access(path, F_OK) != 0) {
        return refuse(why, "%s: %s; give a folder that can be read", path, strerror(errno));
    }
    if (is_recording(how, path)) {
        return add_recording(list, how, path, "/./", why);
    }
    if (!is_folder(path, &st)) {
        append(list, heap_text("%s", strcmp(path, "/dev/stdin") == 0 ? "-" : path));
        return true;
    }
    if (!alone && is_output(how, &st)) {
        return true; /* as the shell's * names it, too */
    }
    return list_folder(list, how, path, strstr(path, "/./"), why) &&
           (list->count > before || refuse(why,
                                           "%s: no file of a known format in this folder; give %s--format for files "
                                           "with other names",
                                           path, how->recursive ? "" : "-r for those in its sub-folders, or "));
}

/* ---- lists of names ---------------------------------------------------------------------------------------------- */

/* The name of a line "TIME NAME", which is relative to the folder of the list; NULL for another line. */
static char *timed_name(const char *list, const char *line) {
    char name[TIMED_NAME];
    double time;
    struct stat st;
    if (stat(line, &st) == 0 || !timed_line(line, true, &time, name, sizeof name)) {
        return NULL;
    }
    char *folder = name[0] == '/' || stat(name, &st) == 0 ? NULL : path_folder(list);
    char *path = folder ? joined(folder, "", name) : heap_text("%s", name);
    free(folder);
    return path;
}

static bool add_line(input_list *list, const input_options *how, const line_file *f) {
    char *timed = f->zero_ends ? NULL : timed_name(how->files_from, f->line);
    const bool comment = f->line[0] == '#' && !f->zero_ends && access(f->line, F_OK) != 0;
    const bool good = comment || add(list, how, timed ? timed : f->line, false, f->why);
    free(timed);
    return good;
}

static bool add_lines(input_list *list, const input_options *how, line_file *f) {
    const int before = list->count;
    while (next_line(f)) {
        if (strlen(f->line) != f->length) {
            return line_wrong(f, "a zero byte; give -0 when names end with zero bytes");
        }
        if (!f->zero_ends && f->length > 0 && f->line[f->length - 1] == '\r' && access(f->line, F_OK) != 0) {
            f->line[--f->length] = '\0'; /* a list of Windows */
        }
        if (f->length > 0 && !add_line(list, how, f)) {
            return false;
        }
    }
    return f->failed || list->count > before || refuse(f->why, "%s: no name; give one per line", f->name);
}

static bool add_listed(input_list *list, const input_options *how, reason *why) {
    line_file f;
    if (!open_lines(&f, how->files_from, why)) {
        return false;
    }
    f.zero_ends = how->zero_ends;
    bool good = add_lines(list, how, &f);
    return close_lines(&f) && good;
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

static bool environment_number(const char *name, long *value, reason *why) {
    const char *text = getenv(name);
    char *end = NULL;
    *value = text ? strtol(text, &end, 10) : 0;
    return (text && *text && *end == '\0') ||
           refuse(why, "shard slurm: %s is not set; submit the job with sbatch --array", name);
}

/* The place of this task in its array, which has no gaps: of the tasks of 1-3,9, for instance, the fourth cannot know
 * that it is the fourth, and resubmitted tasks 3,5 cannot know of how many they were. */
static bool slurm_task(long *id, long *count, reason *why) {
    long first = 0, last = 0, step = 1;
    if (!environment_number("SLURM_ARRAY_TASK_ID", id, why) ||
        !environment_number("SLURM_ARRAY_TASK_MIN", &first, why) ||
        !environment_number("SLURM_ARRAY_TASK_COUNT", count, why) ||
        (getenv("SLURM_ARRAY_TASK_STEP") && !environment_number("SLURM_ARRAY_TASK_STEP", &step, why)) ||
        (getenv("SLURM_ARRAY_TASK_MAX") && !environment_number("SLURM_ARRAY_TASK_MAX", &last, why))) {
        return false;
    }
    step = step > 0 ? step : 1;
    if (getenv("SLURM_ARRAY_TASK_MAX") && (last - first) / step + 1 != *count) {
        return refuse(why,
                      "shard slurm: the array of %ld tasks from %ld to %ld has gaps; submit the whole array, such as "
                      "0-7, and give --skip-existing to complete an earlier one",
                      *count, first, last);
    }
    *id = (*id - first) / step + 1;
    return true;
}

bool shard_parse(const char *text, shard *out, reason *why) {
    char *end = NULL;
    long id = 0, count = 0;
    if (strcmp(text, "slurm") == 0) {
        if (!slurm_task(&id, &count, why)) {
            return false;
        }
    } else {
        id = strtol(text, &end, 10);
        count = *end == '/' ? strtol(end + 1, &end, 10) : 0;
        if (*end != '\0') {
            count = 0;
        }
    }
    *out = (shard){(int)id, (int)count};
    return (count >= 1 && count <= INT32_MAX && id >= 1 && id <= count) ||
           refuse(why, "shard %.80s is not one of I/N; give 1/8 to 8/8 for eight shards, or slurm", text);
}

void shard_keep(const shard *share, int each, const char **inputs, int64_t *lines, int *jobs) {
    int kept = 0;
    for (int i = share->index - 1; i < *jobs; i += share->count, kept++) {
        for (int k = 0; k < each; k++) { /* exchanged, so that the owner frees all of them */
            const char *input = inputs[kept * each + k];
            inputs[kept * each + k] = inputs[i * each + k];
            inputs[i * each + k] = input;
        }
        if (lines) {
            lines[kept] = lines[i];
        }
    }
    *jobs = kept;
}

bool input_list_make(const input_options *how, const char *const *given, int count, input_list *list, reason *why) {
    *list = (input_list){0};
    bool good = true;
    for (int i = 0; i < count && good; i++) {
        good = add(list, how, given[i], count == 1 && !how->files_from, why);
    }
    good = good && (!how->files_from || add_listed(list, how, why));
    if (!good) {
        input_list_free(list);
    }
    return good;
}
