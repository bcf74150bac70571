/* Recordings as inputs. Those that are open are in one list, since an input is known by its name alone. */
#define _GNU_SOURCE /* memfd_create */
#include "recordings.h"
#include "files.h"
#include "heap.h"
#include "recorded.h"
#include "report.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock; /* guards the list; what is open does not change */
    recorded **items;
    int count;
    const char *topic;
} open_ones = {.lock = PTHREAD_MUTEX_INITIALIZER};

void recordings_use_topic(const char *topic) {
    open_ones.topic = topic;
}

void recordings_close(void) {
    for (int i = 0; i < open_ones.count; i++) {
        recorded_close(open_ones.items[i]);
    }
    free(open_ones.items);
    open_ones.items = NULL;
    open_ones.count = 0;
}

/* Adds a recording to the list, also one with an error; NULL: `why`. With the lock. */
static recorded *add_recorded(const char *path, reason *why) {
    recorded *r = recorded_open(path, open_ones.topic, false, why);
    if (r) {
        open_ones.items = heap_grow(open_ones.items, (size_t)open_ones.count, sizeof *open_ones.items);
        open_ones.items[open_ones.count++] = r;
    }
    return r;
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
        const double seconds = pc_seconds(time_of(r, i) - time_of(r, 0));
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
                        r->path, pc_seconds(time_of(r, r->count - 1) - time_of(r, 0))));
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
    *seconds = is ? pc_seconds(time_of(r, i)) : *seconds;
    return is;
}

const char *recording_format(const char *input) {
    const recorded *r;
    reason unused;
    int64_t i;
    return !find_cloud(input, &r, &i, &unused) ? NULL : pc_message_format(r ? r->kind : PC_MESSAGE_OTHER);
}

bool recording_camera(const char *input, pcgpu_camera *camera) {
    const recorded *r;
    reason unused;
    int64_t i;
    const bool has = find_cloud(input, &r, &i, &unused) && r && r->has_camera;
    *camera = has ? r->camera : *camera;
    return has;
}

/* ---- messages as streams ----------------------------------------------------------------------------------------- */

static void open_cloud(const char *input, const recorded *r, int64_t i, FILE **stream, double *seconds, reason *why) {
    pc_message message;
    pcgpu_context *context = recorded_context(&input);
    const pc_file file = {.context = context, .name = input};
    const struct part *p = part_of(r, i);
    pcgpu_status status = pc_recording_message(p->recording, &file, i - p->begin, &message);
    if (status == PCGPU_OK) {
        *seconds = pc_seconds(pc_message_stamp(&message));
        status = pc_message_stream(&file, &message, stream);
        pc_recording_release(p->recording, &message);
    }
    if (status != PCGPU_OK) {
        refuse(why, "%s", recorded_error(context, input));
    }
    pcgpu_close(context);
}

/* The recording REC and the topic /TOPIC of a name REC/./TOPIC or REC/TOPIC, which is no file. */
static bool is_path(const char *input, char **recording, const char **topic) {
    size_t n = strlen(input);
    bool there = access(input, F_OK) == 0;
    *recording = heap_text("%s", input);
    while (!there && n > 0) {
        n--;
        if (input[n] == '/') {
            (*recording)[n] = '\0';
            there = access(*recording, F_OK) == 0;
        }
    }
    *topic = input + n + (strncmp(input + n, "/./", 3) == 0 ? 2 : 0);
    if (n == 0 || !**topic || !recording_is(*recording)) {
        free(*recording);
        *recording = NULL;
    }
    return *recording;
}

/* The poses on a topic; NULL: the only one. */
static void open_path(const char *input, const char *path, const char *topic, FILE **stream, reason *why) {
    reason unnamed;
    recorded *r = recorded_open(path, topic, true, &unnamed);
    pcgpu_context *context = recorded_context(&input);
    const pc_file file = {.context = context, .name = input};
    const int fd = r && !r->error ? memfd_create("poses", MFD_CLOEXEC) : -1;
    pcgpu_status status = PCGPU_OK;
    *stream = fd >= 0 ? fdopen(fd, "w+") : NULL;
    for (int i = 0; *stream && i < r->part_count && status == PCGPU_OK; i++) {
        status = pc_recording_path(r->parts[i].recording, &file, i == 0, *stream);
    }
    if (r && (r->error || !*stream || status != PCGPU_OK)) {
        refuse(why, "%s", r->error ? r->error : *stream ? recorded_error(context, input) : strerror(errno));
        if (*stream) {
            fclose(*stream);
        }
        *stream = NULL;
    }
    if (*stream) {
        rewind(*stream);
    }
    pcgpu_close(context);
    if (r) {
        recorded_close(r);
    } else {
        refuse(why, "%s", sentence_without_name(unnamed.text, path));
    }
}

FILE *recording_poses(const char *path, reason *why) {
    FILE *stream;
    open_path(path, path, NULL, &stream, why);
    return stream;
}

bool recording_stream(const char *input, FILE **stream, double *seconds, reason *why) {
    const recorded *r;
    const char *topic;
    char *path;
    int64_t i;
    *stream = NULL;
    if (find_cloud(input, &r, &i, why)) {
        if (r) {
            open_cloud(input, r, i, stream, seconds, why);
        }
        return true;
    }
    if (is_path(input, &path, &topic)) {
        open_path(input, path, topic, stream, why);
        free(path);
        return true;
    }
    return false;
}
