/* ROS 1 bags, version 2.0 (wiki.ros.org/Bags/Format/2.0): records of a header, fields NAME=VALUE each with a length, and
 * of data. Messages lie in chunks. After each chunk records of an index say where; connections, which name the topics,
 * are repeated at the end. A bag that was not closed has neither there, so its chunks are expanded. */
#include "recording.h"

enum { OP_MESSAGE = 2, OP_HEADER, OP_INDEX, OP_CHUNK, OP_CHUNK_INFO, OP_CONNECTION };
enum { HEAD_MOST = 4096 /* bytes of the header of a record */ };

static const char magic[] = "#ROSBAG V2.0\n";

typedef struct record {
    int op;
    pc_span head;      /* valid as long as the bytes that it was taken from */
    uint64_t at, size; /* of the data, from the begin of the record */
} record;

static pc_cursor cursor_of(pc_span span) {
    return (pc_cursor){.data = (const unsigned char *)span.p, .size = span.n};
}

/* The value of a field of a header; empty: it is not there. */
static pc_span field_of(pc_span head, const char *name) {
    pc_cursor c = cursor_of(head);
    const size_t n = strlen(name);
    while (!c.bad && c.at < c.size) {
        const pc_span field = pc_take_text(&c);
        if (field.n > n && memcmp(field.p, name, n) == 0 && field.p[n] == '=') {
            return (pc_span){field.p + n + 1, field.n - n - 1};
        }
    }
    return (pc_span){"", 0};
}

static uint64_t number_of(pc_span head, const char *name, size_t bytes) {
    const pc_span value = field_of(head, name);
    return value.n == bytes ? pc_load_number((const unsigned char *)value.p, bytes) : 0;
}

/* Nanoseconds of a time: seconds and nanoseconds of four bytes each. */
static int64_t time_of(uint64_t value) {
    return (int64_t)(value & UINT32_MAX) * 1000000000 + (int64_t)(value >> 32);
}

/* A record at the begin of bytes; its data may be beyond them. */
static bool take_record(const void *data, size_t size, record *out) {
    pc_cursor c = cursor_of((pc_span){data, size});
    out->head = pc_take_text(&c);
    out->size = pc_take(&c, 4);
    out->at = c.at;
    out->op = (int)number_of(out->head, "op", 1);
    return !c.bad && out->op != 0;
}

/* A record of the file whose data is there as a whole. Its head is valid until the file is read again. */
static bool record_at(pc_recording *r, uint64_t at, record *out) {
    size_t there;
    const unsigned char *p = pc_recording_peek(r, at, 8, &there);
    const uint64_t need = p ? 8 + pc_load_number(p, 4) : 0;
    p = p && need <= HEAD_MOST ? pc_recording_peek(r, at, (size_t)need, &there) : NULL;
    return p && take_record(p, there, out) && out->at + out->size <= r->size - at;
}

/* A connection: `head` has its number and topic, the data has the type. */
static pcgpu_status add_connection(pc_recording *r, const pc_file *file, pc_span head, pc_span data) {
    static const char ros1[] = "ros1";
    return pc_recording_add_channel(r, file, number_of(head, "conn", 4), field_of(head, "topic"),
                                    field_of(data, "type"), (pc_span){ros1, 4});
}

static pcgpu_status add_message(pc_recording *r, const pc_file *file, uint64_t channel, uint64_t time,
                                uint64_t offset) {
    pc_topic *topic = pc_recording_channel(r, channel);
    return topic ? pc_recording_add(r, file, topic, time_of(time), offset) : PCGPU_OK;
}

/* The connections and messages of an expanded chunk. */
static pcgpu_status add_records(pc_recording *r, const pc_file *file, const pc_bytes *bytes) {
    record rec;
    for (size_t at = 0; at < bytes->size && take_record(bytes->data + at, bytes->size - at, &rec) &&
                        rec.size <= bytes->size - at - rec.at;
         at += (size_t)(rec.at + rec.size)) {
        const pc_span data = {(const char *)bytes->data + at + rec.at, (size_t)rec.size};
        if (rec.op == OP_CONNECTION) {
            PC_TRY(add_connection(r, file, rec.head, data));
        } else if (rec.op == OP_MESSAGE) {
            PC_TRY(add_message(r, file, number_of(rec.head, "conn", 4), number_of(rec.head, "time", 8), at));
        }
    }
    return PCGPU_OK;
}

static pcgpu_status load_bag(pc_recording *r, const pc_file *file, const pc_chunk *chunk, pc_bytes *out) {
    record rec;
    pc_bytes bytes, packed;
    char method[8] = "?";
    PC_TRY(pc_recording_load(r, file, chunk->at, chunk->size < HEAD_MOST ? chunk->size : HEAD_MOST, &bytes));
    const bool good = take_record(bytes.data, bytes.size, &rec) && rec.op == OP_CHUNK;
    const pc_span name = field_of(rec.head, "compression");
    const uint64_t size = number_of(rec.head, "size", 4);
    if (good && name.n < sizeof method) {
        snprintf(method, sizeof method, "%.*s", (int)name.n, name.p);
    }
    pc_recording_unload(r, &bytes);
    if (!good || (strcmp(method, "none") == 0 && size != rec.size)) {
        return pc_fail_format(file,
                              "the head of the chunk at byte %llu is wrong; the recording is damaged, so copy it "
                              "again",
                              (unsigned long long)chunk->at);
    }
    PC_TRY(pc_recording_load(r, file, chunk->at + rec.at, rec.size, &packed));
    return pc_unpack(r, file, chunk->at, method, &packed, size, out);
}

/* A chunk, which is expanded unless the topics are known and its index follows, or left out if it is damaged. */
static pcgpu_status add_chunk(pc_recording *r, const pc_file *file, uint64_t at, uint64_t size, bool known,
                              bool *indexed, int64_t *damaged) {
    const pc_chunk chunk = {at, size};
    record next;
    pc_bytes bytes;
    PC_TRY(pc_recording_add_chunk(r, file, at, size));
    *indexed = known && record_at(r, at + size, &next) && next.op == OP_INDEX;
    if (*indexed) {
        return PCGPU_OK;
    }
    pcgpu_status status = load_bag(r, file, &chunk, &bytes);
    *damaged += status == PCGPU_ERROR_FORMAT;
    if (status != PCGPU_OK) {
        return status == PCGPU_ERROR_FORMAT ? PCGPU_OK : status;
    }
    status = add_records(r, file, &bytes);
    pc_recording_unload(r, &bytes);
    return status;
}

/* The messages of one connection in the last chunk: a time and an offset of four bytes each. */
static pcgpu_status add_index(pc_recording *r, const pc_file *file, uint64_t channel, pc_span data) {
    pc_cursor c = cursor_of(data);
    while (c.size - c.at >= 12) {
        const uint64_t time = pc_take(&c, 8);
        PC_TRY(add_message(r, file, channel, time, pc_take(&c, 4)));
    }
    return PCGPU_OK;
}

/* A record of a connection or an index. */
static pcgpu_status add_record(pc_recording *r, const pc_file *file, uint64_t at, const record *rec) {
    pc_bytes bytes;
    record own;
    PC_TRY(pc_recording_load(r, file, at, rec->at + rec->size, &bytes));
    pcgpu_status status = PCGPU_OK;
    if (take_record(bytes.data, bytes.size, &own)) {
        const pc_span data = {(const char *)bytes.data + own.at, (size_t)own.size};
        status = own.op == OP_CONNECTION ? add_connection(r, file, own.head, data)
                                         : add_index(r, file, number_of(own.head, "conn", 4), data);
    }
    pc_recording_unload(r, &bytes);
    return status;
}

static pcgpu_status index_bag(pc_recording *r, const pc_file *file) {
    uint64_t at = sizeof magic - 1, repeated = 0, connections = 0;
    record rec;
    bool indexed = false;
    int64_t damaged = 0;
    if (record_at(r, at, &rec) && rec.op == OP_HEADER) {
        if (field_of(rec.head, "encryptor").n > 0) {
            return pc_fail_format(file, "is encrypted; decrypt it first: rosbag decrypt FILE");
        }
        repeated = number_of(rec.head, "index_pos", 8);
        connections = number_of(rec.head, "conn_count", 4);
    }
    for (uint64_t c = repeated; c > 0 && record_at(r, c, &rec) && rec.op == OP_CONNECTION; c += rec.at + rec.size) {
        PC_TRY(add_record(r, file, c, &rec));
    }
    const bool known = repeated > 0 && (uint64_t)r->channels == connections;
    for (; record_at(r, at, &rec); at += rec.at + rec.size) {
        const record now = rec; /* a head is not used below */
        if (now.op == OP_CHUNK) {
            PC_TRY(add_chunk(r, file, at, now.at + now.size, known, &indexed, &damaged));
        } else if (now.op == OP_CONNECTION || (now.op == OP_INDEX && indexed)) {
            PC_TRY(add_record(r, file, at, &now));
        }
    }
    pc_recording_warn(r, file, at != r->size || repeated == 0, at, damaged);
    return PCGPU_OK;
}

static bool find_bag(const pc_bytes *chunk, uint64_t offset, pc_span *message) {
    record rec;
    if (offset >= chunk->size || !take_record(chunk->data + offset, chunk->size - offset, &rec) ||
        rec.op != OP_MESSAGE || rec.size > chunk->size - offset - rec.at) {
        return false;
    }
    *message = (pc_span){(const char *)chunk->data + offset + rec.at, (size_t)rec.size};
    return true;
}

const pc_container pc_container_bag = {"bag", magic, index_bag, load_bag, find_bag};
