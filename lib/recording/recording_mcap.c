/* MCAP (mcap.dev/spec): records of an operation code, a length of 8 bytes and the content, little-endian. Messages lie
 * in chunks, or alone. An index of its messages follows a chunk, and a summary at the end repeats the channels. */
#include "recording.h"

#include <stdlib.h>
#include <zlib.h>

enum { FOOTER = 2, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, DATA_END = 15 };
enum { MAGIC = 8, RECORD = 9, FOOTER_SIZE = RECORD + 20, MESSAGE_HEAD = 22, NAME = 128 };

typedef struct schema {
    uint64_t id;
    char name[NAME];
} schema;

static bool take_mcap(const unsigned char *p, size_t there, pc_record *out) {
    static const pc_record_kind kinds[] = {
        [FOOTER] = PC_RECORD_END,      [SCHEMA] = PC_RECORD_NAMES, [CHANNEL] = PC_RECORD_NAMES,
        [MESSAGE] = PC_RECORD_MESSAGE, [CHUNK] = PC_RECORD_CHUNK,  [MESSAGE_INDEX] = PC_RECORD_INDEX,
        [DATA_END] = PC_RECORD_END};
    const uint64_t size = there < RECORD ? UINT64_MAX : pc_load_number(p + 1, 8);
    if (size > INT64_MAX || p[0] == 0) {
        return false;
    }
    *out = (pc_record){.kind = p[0] <= DATA_END ? kinds[p[0]] : PC_RECORD_OTHER, .at = RECORD, .size = RECORD + size};
    return true;
}

/* The name of a schema, of a number that comes again the first one; empty: none. */
static pc_span schema_name(const pc_recording *r, uint64_t id) {
    const schema *s = r->schema.memory;
    for (int i = 0; i < r->schemas; i++, s++) {
        if (s->id == id) {
            return (pc_span){s->name, strlen(s->name)};
        }
    }
    return (pc_span){"", 0};
}

static pcgpu_status add_schema(pc_recording *r, const pc_file *file, uint64_t id, pc_span name) {
    if (name.n == 0 || schema_name(r, id).n > 0) {
        return PCGPU_OK;
    }
    schema *schemas = pc_buffer_take(&r->schema, (size_t)(r->schemas + 1) * sizeof *schemas, true);
    if (!schemas) {
        return pc_fail_file_memory(file, sizeof *schemas);
    }
    schemas[r->schemas].id = id;
    snprintf(schemas[r->schemas++].name, NAME, "%.*s", (int)(name.n < NAME ? name.n : NAME), name.p);
    return PCGPU_OK;
}

static pcgpu_status add_mcap(pc_recording *r, const pc_file *file, const pc_record *rec, const unsigned char *p,
                             uint64_t offset) {
    pc_cursor c = {.data = p, .size = (size_t)rec->size, .at = RECORD};
    const uint64_t id = pc_take(&c, 2);
    pc_topic *topic = pc_recording_channel(r, id);
    if (p[0] == SCHEMA) {
        return add_schema(r, file, id, pc_take_text(&c));
    }
    if (p[0] == CHANNEL) {
        const pc_span type = schema_name(r, pc_take(&c, 2)), name = pc_take_text(&c), encoding = pc_take_text(&c);
        return c.bad ? PCGPU_OK : pc_recording_add_channel(r, file, id, name, type, encoding);
    }
    pc_take(&c, 4); /* the sequence, or the length of the index */
    for (bool more = topic; more && c.size - c.at >= 8; more = p[0] == MESSAGE_INDEX && c.size - c.at >= 16) {
        const uint64_t time = pc_take(&c, 8);
        PC_TRY(pc_recording_add(r, file, topic, (int64_t)time, p[0] == MESSAGE ? offset : pc_take(&c, 8)));
    }
    return PCGPU_OK;
}

/* Takes the channels from the summary, where that is whole. */
static pcgpu_status read_summary(pc_recording *r, const pc_file *file) {
    size_t there;
    pc_bytes summary;
    const uint64_t end = r->size > MAGIC + FOOTER_SIZE ? r->size - MAGIC - FOOTER_SIZE : 0;
    const unsigned char *p = end > 0 ? pc_recording_peek(r, end, FOOTER_SIZE + MAGIC, &there) : NULL;
    const bool whole = p && p[0] == FOOTER && memcmp(p + FOOTER_SIZE, PC_MCAP_BEGINS, MAGIC) == 0;
    const uint64_t begin = whole ? pc_load_number(p + RECORD, 8) : 0;
    const uint32_t crc = whole ? (uint32_t)pc_load_number(p + FOOTER_SIZE - 4, 4) : 0;
    if (begin == 0 || begin >= end) {
        return PCGPU_OK;
    }
    PC_TRY(pc_recording_load(r, file, begin, end + FOOTER_SIZE - 4 - begin, &summary));
    pcgpu_status status = PCGPU_OK;
    if (crc == 0 || crc32_z(0, summary.data, summary.size) == crc) {
        status = pc_recording_add_records(r, file, &summary);
    } else {
        pc_warn(file, "the checksum of the summary at byte %llu is wrong; all chunks are expanded instead",
                (unsigned long long)begin);
    }
    pc_recording_unload(r, &summary);
    return status;
}

static pcgpu_status index_mcap(pc_recording *r, const pc_file *file) {
    PC_TRY(read_summary(r, file));
    return pc_recording_walk(r, file, MAGIC, r->channels > 0);
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* The records of a chunk, expanded, or one message with its record. */
static pcgpu_status load_mcap(pc_recording *r, const pc_file *file, const pc_chunk *chunk, pc_bytes *out) {
    enum { METHOD = 32, HEAD = RECORD + 28 + 4 + METHOD + 8 };
    pc_bytes head, packed;
    char method[METHOD] = "";
    PC_TRY(pc_recording_load(r, file, chunk->at, chunk->size < HEAD ? chunk->size : HEAD, &head));
    const int op = head.data[0];
    pc_cursor c = {.data = head.data, .size = head.size};
    pc_take_bytes(&c, RECORD + 8 + 8);
    const uint64_t size = pc_take(&c, 8);
    const uint32_t crc = (uint32_t)pc_take(&c, 4);
    const pc_span name = pc_take_text(&c);
    const uint64_t stored = pc_take(&c, 8);
    memcpy(method, name.p, name.n < METHOD ? name.n : METHOD - 1);
    pc_recording_unload(r, &head);
    if (op == MESSAGE) {
        return pc_recording_load(r, file, chunk->at, chunk->size, out);
    }
    if (op != CHUNK || c.bad || stored > chunk->size - c.at || (name.n == 0 && stored != size)) {
        return pc_fail_chunk(file, chunk->at, "head");
    }
    PC_TRY(pc_recording_load(r, file, chunk->at + c.at, stored, &packed));
    PC_TRY(pc_unpack(r, file, chunk->at, method, &packed, size, out));
    if (crc == 0 || crc32_z(0, out->data, out->size) == crc) {
        return PCGPU_OK;
    }
    pc_recording_unload(r, out);
    return pc_fail_chunk(file, chunk->at, "checksum");
}

const pc_container pc_container_mcap = {"mcap",    PC_MCAP_BEGINS, MESSAGE_HEAD, index_mcap,
                                        take_mcap, add_mcap,       load_mcap};

/* ---- one message as an .mcap ------------------------------------------------------------------------------------- */

static bool put_number(FILE *out, uint64_t value, size_t bytes) {
    return fwrite(&value, 1, bytes, out) == bytes;
}

static bool put_text(FILE *out, const char *text) {
    return put_number(out, strlen(text), 4) && fputs(text, out) >= 0;
}

static bool put_record(FILE *out, int op, uint64_t size) {
    return put_number(out, (uint64_t)op, 1) && put_number(out, size, 8);
}

bool pc_put_mcap(FILE *out, const pc_message *m) {
    const pc_topic *t = m->topic;
    const char *encoding = t->cdr ? "cdr" : "ros1";
    const size_t type = strlen(t->type), name = strlen(t->name);
    return fputs(PC_MCAP_BEGINS, out) >= 0 && put_record(out, SCHEMA, 2 + 4 + type + 4 + 4) && put_number(out, 1, 2) &&
           put_text(out, t->type) && put_text(out, "") && put_text(out, "") &&
           put_record(out, CHANNEL, 4 + 4 + name + 4 + strlen(encoding) + 4) && put_number(out, 1 << 16, 4) &&
           put_text(out, t->name) && put_text(out, encoding) && put_text(out, "") &&
           put_record(out, MESSAGE, MESSAGE_HEAD + m->size) && put_number(out, 0, 6) &&
           put_number(out, (uint64_t)m->time, 8) && put_number(out, (uint64_t)m->time, 8) &&
           fwrite(m->data, 1, m->size, out) == m->size && put_record(out, DATA_END, 0);
}
