/* Recordings as inputs. Those that are open are in one list, since an input is known by its name alone. */
#define _DEFAULT_SOURCE /* scandir */
#include "recordings.h"
#include "files.h"
#include "heap.h"
#include "recording.h"
#include "report.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char standard_input[] = "stdin"; /* its name in those of its clouds */

/* A recording: one file, or the files of a folder, in the order of time. */
typedef struct recorded {
    char *path;
    char *error;    /* it cannot be read; without its name */
    pc_bytes bytes; /* of standard input */
    struct part {
        char *path;
        pc_recording *recording;
        int64_t begin, count; /* of its clouds, in those of all */
    } * parts;
    int part_count;
    int64_t count;
} recorded;

static struct {
    pthread_mutex_t lock; /* guards the list; what is open does not change */
    recorded **items;
    int count;
    const char *topic;
} open_ones = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- what is a recording ----------------------------------------------------------------------------------------- */

/* The bytes remain to be read. */
static bool stream_begins(FILE *stream) {
    unsigned char head[16];
    const size_t n = fread(head, 1, sizeof head, stream);
    for (size_t i = n; i > 0; i--) {
        ungetc(head[i - 1], stream);
    }
    return pc_recording_begins(head, n);
}

static bool file_begins(const char *path) {
    struct stat st;
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "rb") : NULL;
    const bool is = file && stream_begins(file);
    if (file) {
        fclose(file);
    }
    return is;
}

bool recording_is_name(const char *name) {
    return path_ends_in(name, ".mcap") || path_ends_in(name, ".bag");
}

static void free_names(char **names, int count) {
    for (int i = 0; i < count; i++) {
        free(names[i]);
    }
    free(names);
}

/* The files of a folder of ROS 2, which has a metadata.yaml, too; their number. */
static int list_files(const char *folder, char ***files) {
    struct dirent **entries = NULL;
    const int n = path_is_folder(folder) ? scandir(folder, &entries, NULL, alphasort) : 0;
    bool ros = false;
    int count = 0;
    *files = NULL;
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        ros = ros || strcmp(name, "metadata.yaml") == 0;
        if (recording_is_name(name)) {
            *files = heap_grow(*files, (size_t)count, sizeof **files);
            (*files)[count++] = heap_text("%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
        }
        free(entries[i]);
    }
    free(entries);
    if (!ros) {
        free_names(*files, count);
        *files = NULL;
    }
    return ros ? count : 0;
}

bool recording_is(const char *path) {
    char **files;
    if (path_is_dash(path)) {
        return stream_begins(stdin);
    }
    const int count = list_files(path, &files);
    free_names(files, count);
    return count > 0 || file_begins(path);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void close_recorded(recorded *r) {
    for (int i = 0; i < r->part_count; i++) {
        pc_recording_close(r->parts[i].recording);
        free(r->parts[i].path);
    }
    free(r->parts);
    free(r->error);
    free(r->path);
    pc_bytes_free(&r->bytes);
    free(r);
}

void recordings_close(void) {
    for (int i = 0; i < open_ones.count; i++) {
        close_recorded(open_ones.items[i]);
    }
    free(open_ones.items);
    open_ones.items = NULL;
    open_ones.count = 0;
}

/* The context of calls that need no more of it than its errors. */
static pcgpu_context *open_context(const char **name) {
    const pcgpu_settings settings = {.struct_size = sizeof settings,
                                     .device = PCGPU_DEVICE_CPU,
                                     .threads = 1,
                                     .names = PCGPU_NAMES_OPTIONS,
                                     .log = report_log,
                                     .log_user = name};
    pcgpu_context *context;
    return heap_or_end(pcgpu_open(&settings, &context) == PCGPU_OK ? context : NULL); /* it has no other error */
}

/* Takes the error of the library. */
static bool fail(recorded *r, const pc_file *file) {
    r->error = heap_text("%s", sentence_without_name(pcgpu_last_error(file->context), file->name));
    return false;
}

static bool open_part(recorded *r, char *path, const pc_file *file) {
    r->parts = heap_grow(r->parts, (size_t)r->part_count, sizeof *r->parts);
    r->parts[r->part_count] = (struct part){.path = path};
    struct part *p = &r->parts[r->part_count++];
    const pc_file named = {.context = file->context, .name = path};
    input_protect(path);
    return pc_recording_open(&named, file->stream ? NULL : path, &r->bytes, &p->recording) == PCGPU_OK ||
           fail(r, &named);
}

static bool open_parts(recorded *r, const pc_file *file) {
    char **files = NULL;
    const int count = file->stream ? 0 : list_files(r->path, &files);
    bool good = count > 0 || open_part(r, heap_text("%s", file->name), file);
    for (int i = 0; i < count; i++) {
        good = open_part(r, files[i], file) && good;
    }
    free(files);
    return good;
}

/* ---- the topic --------------------------------------------------------------------------------------------------- */

typedef struct name_list {
    const char **names;
    int count;
} name_list;

static bool has_name(const name_list *list, const char *name) {
    int i = 0;
    while (i < list->count && strcmp(list->names[i], name) != 0) {
        i++;
    }
    return i < list->count;
}

/* The topics with clouds, each once. The names are those of the recording. */
static name_list list_topics(const recorded *r) {
    name_list list = {0};
    const pc_topic *t;
    for (int p = 0; p < r->part_count; p++) {
        for (int i = 0; (t = pc_recording_topic(r->parts[p].recording, i)); i++) {
            if (t->kind != PC_MESSAGE_OTHER && t->count > 0 && !has_name(&list, t->name)) {
                list.names = heap_grow(list.names, (size_t)list.count, sizeof *list.names);
                list.names[list.count++] = t->name;
            }
        }
    }
    return list;
}

/* The rest of a sentence: some of the names. */
static bool refuse_with_names(reason *why, const name_list *list) {
    enum { SHOWN = 12 };
    for (int i = 0; i < list->count && i < SHOWN; i++) {
        refuse_more(why, "%s%.60s", i ? ", " : "", list->names[i]);
    }
    return refuse_more(why, list->count > SHOWN ? ", ..." : "");
}

/* The topic to take; NULL: `why`, or an error of the recording. */
static const char *choose_topic(recorded *r, const char *given, reason *why) {
    name_list clouds = list_topics(r);
    const bool known = given && has_name(&clouds, given);
    const char *topic = known ? given : clouds.count > 0 ? clouds.names[0] : NULL;
    if (clouds.count == 0) {
        r->error =
            heap_text("has no message with a cloud (PointCloud2, or CustomMsg of Livox); pcgpu info lists its topics");
    } else if (!known && (given || clouds.count > 1)) {
        refuse(why, "%s: %s%.80s; give --topic NAME, one of: ", r->path,
               given ? "has no clouds on " : "has clouds on several topics", given ? given : "");
        refuse_with_names(why, &clouds);
        topic = NULL;
    }
    free(clouds.names);
    return topic;
}

static int by_begin(const void *a, const void *b) {
    const struct part *x = a, *y = b;
    const int64_t first = x->count ? pc_recording_time(x->recording, 0) : INT64_MAX,
                  second = y->count ? pc_recording_time(y->recording, 0) : INT64_MAX;
    return first != second ? (first < second ? -1 : 1) : strcmp(x->path, y->path);
}

static bool take_topic(recorded *r, const char *given, reason *why) {
    const char *topic = choose_topic(r, given, why);
    for (int i = 0; topic && i < r->part_count; i++) {
        r->parts[i].count = pc_recording_choose(r->parts[i].recording, topic);
    }
    if (topic) {
        qsort(r->parts, (size_t)r->part_count, sizeof *r->parts, by_begin);
    }
    for (int i = 0; i < r->part_count; i++) {
        r->parts[i].begin = r->count;
        r->count += r->parts[i].count;
    }
    return topic;
}

/* Adds a recording to the list, also one with an error; NULL: `why`. With the lock. */
static recorded *add_recorded(const char *path, reason *why) {
    recorded *r = heap_zeroed(1, sizeof *r);
    const char *name = input_name(path);
    const bool piped = path_is_dash(path);
    pcgpu_context *context = open_context(&name);
    const pc_file file = {.context = context, .name = name, .stream = piped ? stdin : NULL};
    r->path = heap_text("%s", piped ? standard_input : path);
    const bool good = ((!piped || pc_bytes_read(&file, &r->bytes) == PCGPU_OK || fail(r, &file)) &&
                       open_parts(r, &file) && take_topic(r, open_ones.topic, why)) ||
                      r->error;
    pcgpu_close(context);
    if (!good) {
        close_recorded(r);
        return NULL;
    }
    if (piped && r->error) {
        snprintf(r->path, sizeof standard_input, "-"); /* so that messages have its name */
    }
    open_ones.items = heap_grow(open_ones.items, (size_t)open_ones.count, sizeof *open_ones.items);
    return open_ones.items[open_ones.count++] = r;
}

void recordings_use_topic(const char *topic) {
    open_ones.topic = topic;
}

/* ---- names of clouds --------------------------------------------------------------------------------------------- */

static struct part *part_of(const recorded *r, int64_t i) {
    struct part *p = r->parts;
    while (i >= p->begin + p->count) {
        p++;
    }
    return p;
}

static int64_t time_of(const recorded *r, int64_t i) {
    const struct part *p = part_of(r, i);
    return pc_recording_time(p->recording, i - p->begin);
}

bool recording_list(const char *path, const char *between, const recording_options *how, char ***names, int *count,
                    reason *why) {
    pthread_mutex_lock(&open_ones.lock);
    const recorded *r = add_recorded(path, why);
    pthread_mutex_unlock(&open_ones.lock);
    *names = NULL;
    *count = 0;
    for (int64_t i = 0, taken = 0; r && i < r->count && *count < INT32_MAX; i++) {
        const double seconds = (double)(time_of(r, i) - time_of(r, 0)) / 1e9;
        if (seconds >= how->from && (how->to == 0 || seconds <= how->to) &&
            taken++ % (how->every ? how->every : 1) == 0) {
            *names = heap_grow(*names, (size_t)*count, sizeof **names);
            (*names)[(*count)++] = heap_text("%s%s%06lld", r->path, between, (long long)i);
        }
    }
    if (r && r->error) { /* it fails when it is read */
        *names = heap_grow(NULL, 0, sizeof **names);
        (*names)[(*count)++] = heap_text("%s", r->path);
    }
    return r && (*count > 0 ||
                 refuse(why, "%s: from-time and to-time leave none of its clouds, from 0 to %.3f s; give others",
                        r->path, (double)(time_of(r, r->count - 1) - time_of(r, 0)) / 1e9));
}

/* FOLDER/REC of FOLDER/REC/./000012 or FOLDER/REC/000012, malloc'd; NULL: the name has no number. */
static char *name_of_recording(const char *input, int64_t *i) {
    const char *number = path_base(input);
    const size_t digits = strspn(number, "0123456789");
    *i = 0;
    if (digits < 6 || digits > 12 || number[digits] != '\0' || number == input) {
        return NULL;
    }
    *i = strtoll(number, NULL, 10);
    const size_t length = (size_t)(number - input) - 1;
    const bool dot = length > 2 && memcmp(input + length - 2, "/.", 2) == 0;
    return heap_text("%.*s", (int)(length - 2 * dot), input);
}

/* The recording of a cloud and its number there, or a recording with an error. False: the input is neither. *r NULL:
 * `why`. */
static bool find_cloud(const char *input, const recorded **r, int64_t *i, reason *why) {
    char *path = name_of_recording(input, i);
    *r = NULL;
    pthread_mutex_lock(&open_ones.lock);
    for (int k = 0; k < open_ones.count && !*r; k++) {
        const recorded *one = open_ones.items[k];
        *r = strcmp(one->path, one->error ? input : path ? path : "") == 0 ? one : NULL;
    }
    const bool is = *r || (path && access(input, F_OK) != 0 && recording_is(path));
    *r = is && !*r ? add_recorded(path, why) : *r;
    pthread_mutex_unlock(&open_ones.lock);
    if (*r && (*r)->error) {
        refuse(why, "%s", (*r)->error);
        *r = NULL;
    } else if (*r && *i >= (*r)->count) {
        refuse(why, "the recording has %lld clouds, numbered from 0; give one of them", (long long)(*r)->count);
        *r = NULL;
    }
    free(path);
    return is;
}

bool recording_holds(const char *input) {
    const recorded *r;
    reason unused;
    int64_t i;
    return find_cloud(input, &r, &i, &unused);
}

bool recording_time(const char *input, double *seconds) {
    const recorded *r;
    reason unused;
    int64_t i;
    const bool is = find_cloud(input, &r, &i, &unused) && r;
    *seconds = is ? (double)time_of(r, i) / 1e9 : *seconds;
    return is;
}

bool recording_stream(const char *input, FILE **stream, double *seconds, reason *why) {
    const recorded *r;
    pc_message message;
    int64_t i;
    *stream = NULL;
    if (!find_cloud(input, &r, &i, why)) {
        return false;
    }
    if (!r) {
        return true;
    }
    pcgpu_context *context = open_context(&input);
    const pc_file file = {.context = context, .name = input};
    const struct part *p = part_of(r, i);
    pcgpu_status status = pc_recording_message(p->recording, &file, i - p->begin, &message);
    if (status == PCGPU_OK) {
        *seconds = (double)pc_message_stamp(&message) / 1e9;
        status = pc_message_stream(&file, &message, stream);
        pc_recording_release(p->recording, &message);
    }
    if (status != PCGPU_OK) {
        refuse(why, "%s", pcgpu_last_error(context) + strlen(input) + 2); /* without "INPUT: " */
    }
    pcgpu_close(context);
    return true;
}
