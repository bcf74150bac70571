/* A recording: opening, the list of its clouds, chunks that are kept while they are used. */
#include "recording.h"

#include <pthread.h>
#include <stdlib.h>

static const pc_container *const containers[] = {&pc_container_mcap, &pc_container_bag, &pc_container_db3};
enum { CONTAINERS = sizeof containers / sizeof containers[0] };

/* ---- chunks that are in memory ----------------------------------------------------------------------------------- */

/* Slots that no thread uses: the chunk of the message before is often that of the next one. */
enum { IDLE_SLOTS = 2 };

typedef struct pc_chunk_slot {
    int64_t chunk; /* -1: none */
    int users;
    bool ready;
    uint64_t used; /* when */
    pc_bytes bytes;
} pc_chunk_slot;

typedef struct pc_chunk_cache {
    pthread_mutex_t lock; /* guards what follows, but for the bytes of a slot with users */
    pthread_cond_t change;
    pc_chunk_slot **slots;
    int count;
    uint64_t uses;
} pc_chunk_cache;

static pc_chunk_slot *find_slot(const pc_chunk_cache *c, int64_t chunk) {
    for (int i = 0; i < c->count; i++) {
        if (c->slots[i]->chunk == chunk) {
            return c->slots[i];
        }
    }
    return NULL;
}

static pc_chunk_slot *add_slot(pc_chunk_cache *c) {
    pc_chunk_slot **slots = realloc(c->slots, (size_t)(c->count + 1) * sizeof *slots);
    pc_chunk_slot *s = calloc(1, sizeof *s);
    c->slots = slots ? slots : c->slots;
    if (!slots || !s) {
        free(s);
        return NULL;
    }
    return slots[c->count++] = s;
}

/* The slot that was unused for the longest time, or a new one; NULL without memory. */
static pc_chunk_slot *take_slot(pc_chunk_cache *c) {
    pc_chunk_slot *oldest = NULL;
    int idle = 0;
    for (int i = 0; i < c->count; i++) {
        pc_chunk_slot *s = c->slots[i];
        idle += s->users == 0;
        oldest = s->users == 0 && (!oldest || s->used < oldest->used) ? s : oldest;
    }
    pc_chunk_slot *added = idle < IDLE_SLOTS ? add_slot(c) : NULL;
    return added ? added : oldest;
}

/* Loads a chunk into a slot that the caller has taken. With the lock. */
static pcgpu_status fill_slot(pc_recording *r, const pc_file *file, pc_chunk_slot *s, int64_t chunk) {
    pc_chunk_cache *c = r->cache;
    s->chunk = chunk;
    s->users = 1;
    s->ready = false;
    pthread_mutex_unlock(&c->lock);
    pc_recording_unload(r, &s->bytes);
    const pcgpu_status status = r->container->load(r, file, (const pc_chunk *)r->chunk.memory + chunk, &s->bytes);
    pthread_mutex_lock(&c->lock);
    s->ready = status == PCGPU_OK;
    s->chunk = s->ready ? chunk : -1;
    s->users -= !s->ready;
    pthread_cond_broadcast(&c->change);
    return status;
}

static pcgpu_status hold(pc_recording *r, const pc_file *file, int64_t chunk, pc_chunk_slot **slot) {
    pc_chunk_cache *c = r->cache;
    pcgpu_status status = PCGPU_OK;
    bool held = false;
    pthread_mutex_lock(&c->lock);
    while (!held && status == PCGPU_OK) {
        pc_chunk_slot *s = find_slot(c, chunk);
        if (s) {
            s->users++;
            while (s->chunk == chunk && !s->ready) {
                pthread_cond_wait(&c->change, &c->lock);
            }
            held = s->chunk == chunk; /* else its thread failed; this one finds the reason */
            s->users -= !held;
        } else {
            s = take_slot(c);
            status = s ? fill_slot(r, file, s, chunk) : pc_fail_file_memory(file, sizeof *s);
            held = status == PCGPU_OK;
        }
        *slot = s;
    }
    pthread_mutex_unlock(&c->lock);
    return status;
}

static void let_go(pc_recording *r, pc_chunk_slot *s) {
    pthread_mutex_lock(&r->cache->lock);
    s->users--;
    s->used = ++r->cache->uses;
    pthread_mutex_unlock(&r->cache->lock);
}

static bool open_cache(pc_recording *r) {
    r->cache = calloc(1, sizeof *r->cache);
    if (r->cache) {
        pthread_mutex_init(&r->cache->lock, NULL);
        pthread_cond_init(&r->cache->change, NULL);
    }
    return r->cache != NULL;
}

static void close_cache(pc_recording *r) {
    for (int i = 0; r->cache && i < r->cache->count; i++) {
        pc_recording_unload(r, &r->cache->slots[i]->bytes);
        free(r->cache->slots[i]);
    }
    if (r->cache) {
        pthread_mutex_destroy(&r->cache->lock);
        pthread_cond_destroy(&r->cache->change);
        free(r->cache->slots);
    }
    free(r->cache);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static const pc_container *container_of(const void *head, size_t size) {
    for (int i = 0; i < CONTAINERS; i++) {
        const size_t n = strlen(containers[i]->begins);
        if (size >= n && memcmp(head, containers[i]->begins, n) == 0) {
            return containers[i];
        }
    }
    return NULL;
}

bool pc_recording_begins(const void *head, size_t size) {
    return container_of(head, size);
}

/* Expands a file that is compressed as a whole, such as FILE.db3.zstd of ROS 2. */
static pcgpu_status expand(pc_recording *r, const pc_file *file) {
    PC_TRY(pc_recording_load(r, file, 0, r->size, &r->expanded));
    PC_TRY(pc_unpack_zstd(file, &r->expanded));
    r->bytes = r->expanded.data;
    r->size = r->expanded.size;
    return PCGPU_OK;
}

/* Whether the first message of an image topic that can be read has depths. */
static bool has_depths(pc_recording *r, const pc_file *file, int topic) {
    pc_message message;
    for (int64_t i = 0; i < r->entries; i++) {
        if (((const pc_entry *)r->entry.memory)[i].topic == topic &&
            pc_recording_message(r, file, i, &message) == PCGPU_OK) {
            const bool has = pc_message_is_depth(&message);
            pc_recording_release(r, &message);
            return has;
        }
    }
    return false;
}

static void settle_images(pc_recording *r, const pc_file *file) {
    for (int i = 0; i < r->topics; i++) {
        pc_topic *t = pc_recording_topics(r) + i;
        const bool image = pc_message_is_image(t->kind);
        t->kind = image && !has_depths(r, file, i) ? PC_MESSAGE_OTHER : t->kind;
    }
}

static pcgpu_status open_recording(pc_recording *r, const pc_file *file) {
    size_t there = 0;
    if (!open_cache(r)) {
        return pc_fail_file_memory(file, sizeof *r);
    }
    PC_TRY(pc_recording_open_file(r, file));
    const unsigned char *head = pc_recording_peek(r, 0, 0, &there);
    if (head && r->path && pc_zstd_begins(head, there)) {
        PC_TRY(expand(r, file));
        head = pc_recording_peek(r, 0, 0, &there);
    }
    r->container = head ? container_of(head, there) : NULL;
    if (!r->container) {
        return pc_fail_format(file, there == 0 ? "is empty; give a recording: .mcap, .bag or .db3"
                                               : "is not a recording; give one of MCAP, ROS 1 (.bag) or ROS 2 (.db3)");
    }
    PC_TRY(r->container->index(r, file));
    settle_images(r, file);
    return PCGPU_OK;
}

pcgpu_status pc_recording_open(const pc_file *file, const char *path, const pc_bytes *bytes, pc_recording **recording) {
    pc_recording *r = *recording = calloc(1, sizeof *r);
    if (!r) {
        return pc_fail_file_memory(file, sizeof *r);
    }
    *r = (pc_recording){.path = path, .fd = -1};
    if (!path) {
        r->bytes = bytes->data;
        r->size = bytes->size;
    }
    const pcgpu_status status = open_recording(r, file);
    pc_buffer_free(&r->window);
    if (status != PCGPU_OK) {
        pc_recording_close(r);
        *recording = NULL;
    }
    return status;
}

void pc_recording_close(pc_recording *r) {
    if (!r) {
        return;
    }
    close_cache(r);
    for (int i = 0; i < r->topics; i++) {
        free(pc_recording_topics(r)[i].name);
        free(pc_recording_topics(r)[i].type);
    }
    pc_recording_close_database(r); /* whose bytes may be those of the file */
    pc_recording_close_file(r);
    pc_bytes_free(&r->expanded);
    pc_buffer *const buffers[] = {&r->topic, &r->channel, &r->chunk, &r->entry, &r->schema, &r->window};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        pc_buffer_free(buffers[i]);
    }
    free(r);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

const char *pc_recording_container(const pc_recording *r) {
    return r->container->name;
}

const pc_topic *pc_recording_topic(const pc_recording *r, int i) {
    return i < r->topics ? pc_recording_topics(r) + i : NULL;
}

static int by_time(const void *a, const void *b) {
    const pc_entry *x = a, *y = b;
    return x->time != y->time     ? (x->time < y->time ? -1 : 1)
           : x->chunk != y->chunk ? (x->chunk < y->chunk ? -1 : 1)
                                  : (x->offset > y->offset) - (x->offset < y->offset);
}

int64_t pc_recording_choose(pc_recording *r, const char *topic, bool path) {
    pc_entry *entries = r->entry.memory;
    int64_t kept = 0;
    for (int64_t i = 0; i < r->entries; i++) {
        const pc_topic *t = pc_recording_topics(r) + entries[i].topic;
        if ((path ? pc_message_is_path(t->kind) : pc_message_is_cloud(t->kind)) && strcmp(t->name, topic) == 0) {
            entries[kept++] = entries[i];
        }
    }
    r->entries = kept;
    if (kept > 0) {
        qsort(entries, (size_t)kept, sizeof *entries, by_time);
    }
    return kept;
}

int64_t pc_recording_time(const pc_recording *r, int64_t i) {
    return ((const pc_entry *)r->entry.memory)[i].time;
}

pcgpu_status pc_recording_message(pc_recording *r, const pc_file *file, int64_t i, pc_message *message) {
    const pc_entry *e = (const pc_entry *)r->entry.memory + i;
    *message = (pc_message){.topic = pc_recording_topics(r) + e->topic, .time = e->time};
    PC_TRY(hold(r, file, (int64_t)e->chunk, &message->slot));
    const pc_bytes *chunk = &message->slot->bytes;
    const unsigned char *p = chunk->data + e->offset;
    pc_record rec;
    if (e->offset >= chunk->size || !r->container->take(p, chunk->size - (size_t)e->offset, &rec) ||
        rec.kind != PC_RECORD_MESSAGE || rec.size > chunk->size - e->offset ||
        rec.size < rec.at + r->container->least) {
        const uint64_t at = ((const pc_chunk *)r->chunk.memory)[e->chunk].at;
        let_go(r, message->slot);
        return pc_fail_chunk(file, at, "index");
    }
    message->data = p + rec.at + r->container->least;
    message->size = (size_t)(rec.size - rec.at - r->container->least);
    return PCGPU_OK;
}

void pc_recording_release(pc_recording *r, pc_message *message) {
    let_go(r, message->slot);
    *message = (pc_message){0};
}
