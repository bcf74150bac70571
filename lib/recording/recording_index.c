/* What containers share: bytes of the file, topics, chunks and messages that they find. */
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW = 2 * PC_RECORD_HEAD, /* records are far apart */ MOST_TOPICS = 4096, MOST_CHANNELS = 1 << 16 };

typedef struct pc_channel {
    uint64_t id;
    int topic;
} pc_channel;

/* ---- bytes of the file ------------------------------------------------------------------------------------------- */

pcgpu_status pc_recording_open_file(pc_recording *r, const pc_file *file) {
    struct stat st;
    if (!r->path) {
        return PCGPU_OK;
    }
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &st) != 0) {
        return pc_fail_file(file, PCGPU_ERROR_IO, "cannot be opened: %s; check the name", strerror(errno));
    }
    r->size = (uint64_t)st.st_size;
    return PCGPU_OK;
}

void pc_recording_close_file(pc_recording *r) {
    if (r->fd >= 0) {
        close(r->fd);
    }
}

/* As many bytes as there are; -1: an error. */
static ssize_t read_at(const pc_recording *r, uint64_t at, size_t bytes, unsigned char *out) {
    size_t done = 0;
    ssize_t n = 1;
    while (done < bytes && n > 0) {
        n = pread(r->fd, out + done, bytes - done, (off_t)(at + done));
        n = n < 0 && errno == EINTR ? 1 : n;
        done += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -1 : (ssize_t)done;
}

const unsigned char *pc_recording_peek(pc_recording *r, uint64_t at, size_t bytes, size_t *there) {
    if (at > r->size || bytes > r->size - at) {
        return NULL;
    }
    if (r->bytes) {
        *there = (size_t)(r->size - at);
        return r->bytes + at;
    }
    if (at < r->window_at || at + (bytes ? bytes : 1) > r->window_at + r->window_size) {
        unsigned char *window = pc_buffer_take(&r->window, WINDOW, false);
        const ssize_t n = window ? read_at(r, at, WINDOW, window) : -1;
        r->window_at = at;
        r->window_size = n > 0 ? (uint64_t)n : 0;
    }
    *there = (size_t)(r->window_at + r->window_size - at);
    return *there >= bytes ? (unsigned char *)r->window.memory + (at - r->window_at) : NULL;
}

/* Bytes of a recording in memory are not copied. */
static bool is_view(const pc_recording *r, const pc_bytes *bytes) {
    return r->bytes && bytes->data >= r->bytes && bytes->data <= r->bytes + r->size;
}

void pc_recording_unload(const pc_recording *r, pc_bytes *bytes) {
    if (!is_view(r, bytes)) {
        free(bytes->data);
    }
    *bytes = (pc_bytes){0};
}

pcgpu_status pc_recording_load(pc_recording *r, const pc_file *file, uint64_t at, uint64_t bytes, pc_bytes *out) {
    *out = (pc_bytes){0};
    if (at > r->size || bytes > r->size - at) {
        return pc_fail_format(file, "ends at byte %llu, and %llu bytes at byte %llu belong to it; copy it again",
                              (unsigned long long)r->size, (unsigned long long)bytes, (unsigned long long)at);
    }
    if (r->bytes) {
        *out = (pc_bytes){(unsigned char *)(uintptr_t)(r->bytes + at), (size_t)bytes};
        return PCGPU_OK;
    }
    out->data = malloc((size_t)bytes + 1);
    if (!out->data) {
        return pc_fail_file_memory(file, bytes);
    }
    errno = 0;
    const ssize_t n = read_at(r, at, (size_t)bytes, out->data);
    out->size = n > 0 ? (size_t)n : 0;
    if (n == (ssize_t)bytes) {
        return PCGPU_OK;
    }
    pc_recording_unload(r, out);
    return n < 0 ? pc_fail_read(file)
                 : pc_fail_format(file, "became shorter than %llu bytes while it was read; copy it again",
                                  (unsigned long long)(at + bytes));
}

/* ---- topics, chunks, messages ------------------------------------------------------------------------------------ */

pc_topic *pc_recording_topics(const pc_recording *r) {
    return r->topic.memory;
}

pc_topic *pc_recording_channel(const pc_recording *r, uint64_t id) {
    const pc_channel *channels = r->channel.memory;
    for (int i = 0; i < r->channels; i++) {
        if (channels[i].id == id) {
            return pc_recording_topics(r) + channels[i].topic;
        }
    }
    return NULL;
}

static bool is_topic(const pc_topic *t, pc_span name, pc_span type, bool cdr) {
    return pc_span_is(name, t->name) && pc_span_is(type, t->type) && t->cdr == cdr;
}

static char *copy_text(pc_span text) {
    char *copy = malloc(text.n + 1);
    for (size_t i = 0; copy && i < text.n; i++) {
        const unsigned char c = (unsigned char)text.p[i];
        copy[i] = c < 0x20 || c == 0x7f ? '?' : text.p[i];
    }
    if (copy) {
        copy[text.n] = '\0';
    }
    return copy;
}

static pcgpu_status add_topic(pc_recording *r, const pc_file *file, pc_span name, pc_span type, pc_span encoding) {
    const bool cdr = pc_span_is(encoding, "cdr"), known = cdr || pc_span_is(encoding, "ros1");
    pc_topic *topics = pc_buffer_take(&r->topic, (size_t)(r->topics + 1) * sizeof *topics, true);
    if (!topics) {
        return pc_fail_file_memory(file, sizeof *topics);
    }
    pc_topic *t = &topics[r->topics++];
    *t = (pc_topic){.name = copy_text(name), .type = copy_text(type), .cdr = cdr};
    if (!t->name || !t->type) {
        return pc_fail_file_memory(file, name.n + type.n);
    }
    t->kind = known ? pc_message_kind_of(t->type) : PC_MESSAGE_OTHER;
    return PCGPU_OK;
}

pcgpu_status pc_recording_add_channel(pc_recording *r, const pc_file *file, uint64_t id, pc_span name, pc_span type,
                                      pc_span encoding) {
    int topic = 0;
    if (pc_recording_channel(r, id)) {
        return PCGPU_OK;
    }
    while (topic < r->topics && !is_topic(pc_recording_topics(r) + topic, name, type, pc_span_is(encoding, "cdr"))) {
        topic++;
    }
    if (topic == MOST_TOPICS || r->channels == MOST_CHANNELS) {
        return pc_fail_format(file, "has more than %d topics; record fewer of them", MOST_TOPICS);
    }
    if (topic == r->topics) {
        PC_TRY(add_topic(r, file, name, type, encoding));
    }
    pc_channel *channels = pc_buffer_take(&r->channel, (size_t)(r->channels + 1) * sizeof *channels, true);
    if (!channels) {
        return pc_fail_file_memory(file, sizeof *channels);
    }
    channels[r->channels++] = (pc_channel){id, topic};
    return PCGPU_OK;
}

static void measure(pc_topic *t, int64_t time) {
    const bool some = t->count++ > 0;
    if (some && time < t->before) {
        t->backward++;
        t->furthest = t->before - time > t->furthest ? t->before - time : t->furthest;
    } else if (some && time - t->before > t->gap) {
        t->gap = time - t->before;
        t->gap_at = t->before;
    }
    t->first = !some || time < t->first ? time : t->first;
    t->last = !some || time > t->last ? time : t->last;
    t->before = time;
}

pcgpu_status pc_recording_add_chunk(pc_recording *r, const pc_file *file, pc_chunk chunk) {
    pc_chunk *chunks = pc_buffer_take(&r->chunk, (size_t)(r->chunks + 1) * sizeof *chunks, true);
    if (!chunks) {
        return pc_fail_file_memory(file, sizeof *chunks);
    }
    chunks[r->chunks++] = chunk;
    return PCGPU_OK;
}

pcgpu_status pc_recording_add(pc_recording *r, const pc_file *file, pc_topic *topic, int64_t time, uint64_t offset) {
    measure(topic, time < 0 ? 0 : time); /* no difference overflows */
    if (topic->kind == PC_MESSAGE_OTHER) {
        return PCGPU_OK;
    }
    pc_entry *entries = pc_buffer_take(&r->entry, (size_t)(r->entries + 1) * sizeof *entries, true);
    if (!entries) {
        return pc_fail_file_memory(file, sizeof *entries);
    }
    entries[r->entries++] =
        (pc_entry){topic->before, (uint64_t)r->chunks - 1, offset, (int)(topic - pc_recording_topics(r))};
    return PCGPU_OK;
}

/* ---- all records ------------------------------------------------------------------------------------------------ */

const unsigned char *pc_recording_record(pc_recording *r, uint64_t at, pc_record *record, size_t *there) {
    const uint64_t left = at < r->size ? r->size - at : 0;
    const unsigned char *p = pc_recording_peek(r, at, left < PC_RECORD_HEAD ? (size_t)left : PC_RECORD_HEAD, there);
    return p && r->container->take(p, *there, record) && record->size <= left ? p : NULL;
}

pcgpu_status pc_recording_add_record(pc_recording *r, const pc_file *file, uint64_t at, const pc_record *record,
                                     const unsigned char *p, size_t there) {
    pc_bytes bytes;
    if (record->size <= there || record->kind == PC_RECORD_MESSAGE) { /* of which the head suffices */
        return r->container->add(r, file, record, p, 0);
    }
    PC_TRY(pc_recording_load(r, file, at, record->size, &bytes));
    const pcgpu_status status = r->container->add(r, file, record, bytes.data, 0);
    pc_recording_unload(r, &bytes);
    return status;
}

pcgpu_status pc_recording_add_records(pc_recording *r, const pc_file *file, const pc_bytes *bytes) {
    pc_record rec;
    for (size_t at = 0; at < bytes->size && r->container->take(bytes->data + at, bytes->size - at, &rec) &&
                        rec.size <= bytes->size - at;
         at += (size_t)rec.size) {
        if (rec.kind == PC_RECORD_NAMES || rec.kind == PC_RECORD_MESSAGE) {
            PC_TRY(r->container->add(r, file, &rec, bytes->data + at, at));
        }
    }
    return PCGPU_OK;
}

/* Expands the last chunk to find its messages; it is left out when it is damaged. */
static pcgpu_status add_content(pc_recording *r, const pc_file *file, int64_t *damaged) {
    pc_bytes bytes;
    const pc_chunk chunk = ((const pc_chunk *)r->chunk.memory)[r->chunks - 1];
    pcgpu_status status = r->container->load(r, file, &chunk, &bytes);
    if (status == PCGPU_ERROR_FORMAT) {
        ++*damaged;
        return PCGPU_OK;
    }
    PC_TRY(status);
    status = pc_recording_add_records(r, file, &bytes);
    pc_recording_unload(r, &bytes);
    return status;
}

int64_t pc_recording_clouds(const pc_recording *r) {
    int64_t clouds = 0;
    for (int i = 0; i < r->topics; i++) {
        clouds += pc_message_is_cloud(pc_recording_topics(r)[i].kind) ? pc_recording_topics(r)[i].count : 0;
    }
    return clouds;
}

static void warn(const pc_recording *r, const pc_file *file, bool cut, uint64_t at, int64_t damaged) {
    int64_t messages = 0;
    for (int i = 0; i < r->topics; i++) {
        messages += pc_recording_topics(r)[i].count;
    }
    if (cut) {
        pc_warn(file, "ends in the middle, at byte %llu: the %lld messages before are read, %lld of them with clouds",
                (unsigned long long)at, (long long)messages, (long long)pc_recording_clouds(r));
    }
    if (damaged > 0) {
        pc_warn(file, "%lld of %lld chunks are damaged, and their messages are left out; copy the recording again",
                (long long)damaged, (long long)r->chunks);
    }
}

pcgpu_status pc_recording_walk(pc_recording *r, const pc_file *file, uint64_t at, bool known) {
    const unsigned char *p;
    size_t there;
    bool indexed = false;
    int64_t damaged = 0;
    pc_record rec = {PC_RECORD_OTHER}, next;
    for (; rec.kind != PC_RECORD_END && (p = pc_recording_record(r, at, &rec, &there)); at += rec.size) {
        const bool message = rec.kind == PC_RECORD_MESSAGE;
        if (message && rec.size < rec.at + r->container->least) {
            continue;
        }
        if (message || rec.kind == PC_RECORD_CHUNK) {
            PC_TRY(pc_recording_add_chunk(r, file, (pc_chunk){at, rec.size}));
        }
        if (rec.kind == PC_RECORD_CHUNK) {
            size_t unused;
            indexed = known && pc_recording_record(r, at + rec.size, &next, &unused) && next.kind == PC_RECORD_INDEX;
            PC_TRY(indexed ? PCGPU_OK : add_content(r, file, &damaged));
        } else if (message || rec.kind == PC_RECORD_NAMES || (rec.kind == PC_RECORD_INDEX && indexed)) {
            PC_TRY(pc_recording_add_record(r, file, at, &rec, p, there));
        }
    }
    warn(r, file, rec.kind != PC_RECORD_END && (at != r->size || !known), at, damaged);
    return PCGPU_OK;
}
