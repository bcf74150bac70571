/* ROS 1 bags, version 2.0 (wiki.ros.org/Bags/Format/2.0): records of a header, fields NAME=VALUE each with a length,
 * and of data. Messages lie in chunks. After each chunk records of an index say where; connections, which name the
 * topics, are repeated at the end of a bag that was closed. */
#include "recording.h"

enum { OP_MESSAGE = 2, OP_HEADER, OP_INDEX, OP_CHUNK, OP_CHUNK_INFO, OP_CONNECTION };

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

static pc_span head_of(const unsigned char *p, size_t there) {
    pc_cursor c = cursor_of((pc_span){(const char *)p, there});
    return pc_take_text(&c);
}

static bool take_bag(const unsigned char *p, size_t there, pc_record *out) {
    static const pc_record_kind kinds[] = {[OP_MESSAGE] = PC_RECORD_MESSAGE,
                                           [OP_INDEX] = PC_RECORD_INDEX,
                                           [OP_CHUNK] = PC_RECORD_CHUNK,
                                           [OP_CHUNK_INFO] = PC_RECORD_OTHER,
                                           [OP_CONNECTION] = PC_RECORD_NAMES};
    pc_cursor c = cursor_of((pc_span){(const char *)p, there});
    const uint64_t op = number_of(pc_take_text(&c), "op", 1);
    const uint64_t size = pc_take(&c, 4);
    *out = (pc_record){.kind = op <= OP_CONNECTION ? kinds[op] : PC_RECORD_OTHER, .at = c.at, .size = c.at + size};
    return !c.bad && op != 0;
}

/* A connection has its number and topic in the head, and the type in the data; an index has times and offsets. */
static pcgpu_status add_bag(pc_recording *r, const pc_file *file, const pc_record *rec, const unsigned char *p,
                            uint64_t offset) {
    const pc_span head = head_of(p, (size_t)rec->size), ros1 = {"ros1", 4};
    const pc_span data = {(const char *)p + rec->at,
                          rec->kind == PC_RECORD_MESSAGE ? 0 : (size_t)(rec->size - rec->at)};
    const uint64_t channel = number_of(head, "conn", 4);
    if (rec->kind == PC_RECORD_NAMES) {
        return pc_recording_add_channel(r, file, channel, field_of(head, "topic"), field_of(data, "type"), ros1);
    }
    pc_topic *topic = pc_recording_channel(r, channel);
    if (topic && rec->kind == PC_RECORD_MESSAGE) {
        return pc_recording_add(r, file, topic, time_of(number_of(head, "time", 8)), offset);
    }
    for (pc_cursor c = cursor_of(data); topic && c.size - c.at >= 12;) {
        const uint64_t time = pc_take(&c, 8);
        PC_TRY(pc_recording_add(r, file, topic, time_of(time), pc_take(&c, 4)));
    }
    return PCGPU_OK;
}

static pcgpu_status load_bag(pc_recording *r, const pc_file *file, const pc_chunk *chunk, pc_bytes *out) {
    pc_record rec;
    pc_bytes bytes, packed;
    char method[8] = "?";
    const uint64_t most = chunk->size < PC_RECORD_HEAD ? chunk->size : PC_RECORD_HEAD;
    PC_TRY(pc_recording_load(r, file, chunk->at, most, &bytes));
    const bool good = take_bag(bytes.data, bytes.size, &rec) && rec.kind == PC_RECORD_CHUNK;
    const pc_span head = head_of(bytes.data, bytes.size), name = field_of(head, "compression");
    const uint64_t size = number_of(head, "size", 4);
    if (good && name.n < sizeof method) {
        snprintf(method, sizeof method, "%.*s", (int)name.n, name.p);
    }
    pc_recording_unload(r, &bytes);
    if (!good || (strcmp(method, "none") == 0 && size != rec.size - rec.at)) {
        return pc_fail_chunk(file, chunk->at, "head");
    }
    PC_TRY(pc_recording_load(r, file, chunk->at + rec.at, rec.size - rec.at, &packed));
    return pc_unpack(r, file, chunk->at, method, &packed, size, out);
}

static pcgpu_status index_bag(pc_recording *r, const pc_file *file) {
    const uint64_t begin = sizeof PC_BAG_BEGINS - 1;
    size_t there;
    pc_record rec;
    const unsigned char *p = pc_recording_record(r, begin, &rec, &there);
    const pc_span head = p ? head_of(p, there) : (pc_span){"", 0};
    if (field_of(head, "encryptor").n > 0) {
        return pc_fail_format(file, "is encrypted; decrypt it first: rosbag decrypt FILE");
    }
    const uint64_t connections = number_of(head, "conn_count", 4);
    uint64_t at = number_of(head, "index_pos", 8);
    for (; at > 0 && (p = pc_recording_record(r, at, &rec, &there)) && rec.kind == PC_RECORD_NAMES; at += rec.size) {
        PC_TRY(pc_recording_add_record(r, file, at, &rec, p, there));
    }
    return pc_recording_walk(r, file, begin, at > 0 && (uint64_t)r->channels == connections);
}

const pc_container pc_container_bag = {"bag", PC_BAG_BEGINS, 0, index_bag, take_bag, add_bag, load_bag};
