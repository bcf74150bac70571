/* A recording as an input: what is one, its files, its topic. */
#define _DEFAULT_SOURCE /* scandir */
#include "recorded.h"
#include "files.h"
#include "heap.h"
#include "recordings.h"
#include "report.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char standard_input[] = "stdin"; /* its name in those of its clouds */

/* ---- what is a recording ----------------------------------------------------------------------------------------- */

/* A file that is compressed as a whole is known by its name, too. The bytes remain to be read. */
static bool stream_begins(FILE *stream, const char *path) {
    unsigned char head[16];
    const size_t n = fread(head, 1, sizeof head, stream);
    for (size_t i = n; i > 0; i--) {
        ungetc(head[i - 1], stream);
    }
    return pc_recording_begins(head, n) || (pc_zstd_begins(head, n) && recording_is_name(path));
}

static bool file_begins(const char *path) {
    struct stat st;
    FILE *file = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "rb") : NULL;
    const bool is = file && stream_begins(file, path);
    if (file) {
        fclose(file);
    }
    return is;
}

bool recording_is_name(const char *name) {
    static const char *const ends[] = {".mcap", ".bag", ".db3", ".mcap.zstd", ".db3.zstd"};
    size_t i = 0;
    while (i < sizeof ends / sizeof ends[0] && !path_ends_in(name, ends[i])) {
        i++;
    }
    return i < sizeof ends / sizeof ends[0];
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
        return stream_begins(stdin, path);
    }
    const int count = list_files(path, &files);
    free_names(files, count);
    return count > 0 || file_begins(path);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

void recorded_close(recorded *r) {
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

pcgpu_context *recorded_context(const char **name) {
    const pcgpu_settings settings = {.struct_size = sizeof settings,
                                     .device = PCGPU_DEVICE_CPU,
                                     .threads = 1,
                                     .names = PCGPU_NAMES_OPTIONS,
                                     .log = report_log,
                                     .log_user = name};
    pcgpu_context *context;
    return heap_or_end(pcgpu_open(&settings, &context) == PCGPU_OK ? context : NULL); /* it has no other error */
}

const char *recorded_error(const pcgpu_context *context, const char *name) {
    return sentence_without_name(pcgpu_last_error(context), name);
}

/* Takes the error of the library. */
static bool fail(recorded *r, const pc_file *file) {
    r->error = heap_text("%s", recorded_error(file->context, file->name));
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

typedef bool kind_check(pc_message_kind kind);

/* The topics of some kinds, each once. The names are those of the recording. */
static name_list list_topics(const recorded *r, kind_check *is) {
    name_list list = {0};
    const pc_topic *t;
    for (int p = 0; p < r->part_count; p++) {
        for (int i = 0; (t = pc_recording_topic(r->parts[p].recording, i)); i++) {
            if (is(t->kind) && t->count > 0 && !has_name(&list, t->name)) {
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

/* The topic to take; NULL: `why`, or an error of the recording. Depth images are taken where there are no points. */
static const char *choose_topic(recorded *r, const char *given, bool poses, reason *why) {
    name_list list = list_topics(r, poses ? pc_message_is_path : given ? pc_message_is_cloud : pc_message_is_points);
    if (list.count == 0 && !poses && !given) {
        list = list_topics(r, pc_message_is_cloud);
    }
    const bool known = given && has_name(&list, given);
    const char *topic = known ? given : list.count > 0 ? list.names[0] : NULL, *what = poses ? "poses" : "clouds";
    if (list.count == 0) {
        r->error = heap_text("has no message with %s; pcgpu info lists its topics",
                             poses ? "a pose (Odometry, PoseStamped, TransformStamped, NavSatFix)"
                                   : "a cloud (PointCloud2, CustomMsg of Livox, Image of depths)");
    } else if (!known && (given || list.count > 1)) {
        refuse(why, "%s: has %s%s on %s%.80s; give %s, one of: ", r->path, given ? "no " : "", what,
               given ? "" : "several topics", given ? given : "", poses ? "REC/./TOPIC" : "--topic NAME");
        refuse_with_names(why, &list);
        topic = NULL;
    }
    free(list.names);
    return topic;
}

static int by_begin(const void *a, const void *b) {
    const struct part *x = a, *y = b;
    const int64_t first = x->count ? pc_recording_time(x->recording, 0) : INT64_MAX,
                  second = y->count ? pc_recording_time(y->recording, 0) : INT64_MAX;
    return first != second ? (first < second ? -1 : 1) : strcmp(x->path, y->path);
}

/* What the topic has: its kind, and the camera of its images. */
static void describe(recorded *r, const pc_file *file, const char *topic) {
    const pc_topic *t;
    for (int p = 0; p < r->part_count; p++) {
        pc_recording *recording = r->parts[p].recording;
        for (int i = 0; (t = pc_recording_topic(recording, i)); i++) {
            r->kind = strcmp(t->name, topic) == 0 && t->kind != PC_MESSAGE_OTHER ? t->kind : r->kind;
        }
        r->has_camera =
            r->has_camera || (pc_message_is_image(r->kind) &&
                              pc_recording_camera(recording, file, topic, r->kind == PC_MESSAGE_PNG, &r->camera));
    }
}

static bool take_topic(recorded *r, const pc_file *file, const char *given, bool poses, reason *why) {
    const char *topic = choose_topic(r, given, poses, why);
    if (!topic) {
        return false;
    }
    describe(r, file, topic);
    for (int i = 0; i < r->part_count; i++) {
        r->parts[i].count = pc_recording_choose(r->parts[i].recording, topic, poses);
    }
    qsort(r->parts, (size_t)r->part_count, sizeof *r->parts, by_begin);
    for (int i = 0; i < r->part_count; i++) {
        r->parts[i].begin = r->count;
        r->count += r->parts[i].count;
    }
    return true;
}

recorded *recorded_open(const char *path, const char *topic, bool poses, reason *why) {
    recorded *r = heap_zeroed(1, sizeof *r);
    const char *name = input_name(path);
    const bool piped = path_is_dash(path);
    pcgpu_context *context = recorded_context(&name);
    const pc_file file = {.context = context, .name = name, .stream = piped ? stdin : NULL};
    r->path = heap_text("%s", piped ? standard_input : path);
    const bool good = ((!piped || pc_bytes_read(&file, &r->bytes) == PCGPU_OK || fail(r, &file)) &&
                       open_parts(r, &file) && take_topic(r, &file, topic, poses, why)) ||
                      r->error;
    pcgpu_close(context);
    if (!good) {
        recorded_close(r);
        return NULL;
    }
    if (piped && r->error) {
        snprintf(r->path, sizeof standard_input, "-"); /* so that messages have its name */
    }
    return r;
}
