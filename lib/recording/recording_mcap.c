/* MCAP (mcap.dev/spec): records of an operation code, a length of 8 bytes and the content, little-endian. Messages lie
 * in chunks, or alone. An index of its messages follows a chunk, and a summary at the end repeats the channels. Where
 * one of both is missing, as in a file that ends in the middle, the chunks are expanded to find the messages. */
#include "recording.h"

#include <stdlib.h>
#include <zlib.h>

enum { FOOTER = 2, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, DATA_END = 15 };
enum { MAGIC = 8, RECORD = 9, FOOTER_SIZE = RECORD + 20, MESSAGE_HEAD = 22, NAME = 128 };

static const char magic[] = "\x89MCAP0\r\n";

typedef struct record {
    int op;
    uint64_t at, size; /* of the content */
} record;

typedef struct schema {
    uint64_t id;
    char name[NAME];
} schema;

typedef struct mcap_index {
    pc_recording *r;
    const pc_file *file;
    pc_buffer schemas;
    int schema_count;
    bool summarized; /* the summary has the channels */
    bool indexed;    /* and the last chunk an index of its messages */
    int64_t damaged; /* chunks */
} mcap_index;

static pc_cursor cursor_of(const void *data, size_t size) {
    return (pc_cursor){.data = data, .size = size};
}

/* A record of the file whose content is there as a whole. */
static bool record_at(pc_recording *r, uint64_t at, record *out) {
    size_t there;
    const unsigned char *p = pc_recording_peek(r, at, RECORD, &there);
    if (p) {
        *out = (record){p[0], at + RECORD, pc_load_number(p + 1, 8)};
    }
    return p && out->op != 0 && out->size <= r->size - out->at;
}

/* ---- records in memory ------------------------------------------------------------------------------------------- */

/* The name of a schema, of a number that comes again the first one; empty: none. */
static pc_span schema_name(const mcap_index *m, uint64_t id) {
    const schema *s = m->schemas.memory;
    for (int i = 0; i < m->schema_count; i++, s++) {
        if (s->id == id) {
            return (pc_span){s->name, strlen(s->name)};
        }
    }
    return (pc_span){"", 0};
}

static pcgpu_status add_schema(mcap_index *m, pc_cursor c) {
    const uint64_t id = pc_take(&c, 2);
    const pc_span name = pc_take_text(&c);
    if (c.bad || schema_name(m, id).n > 0) {
        return PCGPU_OK;
    }
    schema *schemas = pc_buffer_take(&m->schemas, (size_t)(m->schema_count + 1) * sizeof *schemas, true);
    if (!schemas) {
        return pc_fail_file_memory(m->file, sizeof *schemas);
    }
    schemas[m->schema_count].id = id;
    snprintf(schemas[m->schema_count++].name, NAME, "%.*s", (int)(name.n < NAME ? name.n : NAME), name.p);
    return PCGPU_OK;
}

static pcgpu_status add_channel(mcap_index *m, pc_cursor c) {
    const uint64_t id = pc_take(&c, 2), type = pc_take(&c, 2);
    const pc_span name = pc_take_text(&c), encoding = pc_take_text(&c);
    return c.bad ? PCGPU_OK : pc_recording_add_channel(m->r, m->file, id, name, schema_name(m, type), encoding);
}

/* A message of the last chunk, of whose content the head suffices. */
static pcgpu_status add_message(mcap_index *m, pc_cursor c, uint64_t offset) {
    pc_topic *topic = pc_recording_channel(m->r, pc_take(&c, 2));
    pc_take(&c, 4); /* sequence */
    const uint64_t time = pc_take(&c, 8);
    return c.bad || !topic ? PCGPU_OK : pc_recording_add(m->r, m->file, topic, (int64_t)time, offset);
}

static bool take_record(pc_cursor *c, int *op, pc_cursor *content) {
    *op = (int)pc_take(c, 1);
    const pc_span bytes = pc_take_bytes(c, pc_take(c, 8));
    *content = cursor_of(bytes.p, bytes.n);
    return !c->bad && *op != 0;
}

static pcgpu_status add_records(mcap_index *m, const pc_bytes *bytes) {
    pc_cursor c = cursor_of(bytes->data, bytes->size), content;
    int op;
    for (size_t at = 0; take_record(&c, &op, &content); at = c.at) {
        PC_TRY(op == SCHEMA    ? add_schema(m, content)
               : op == CHANNEL ? add_channel(m, content)
               : op == MESSAGE ? add_message(m, content, at)
                               : PCGPU_OK);
    }
    return PCGPU_OK;
}

/* ---- records of the file ----------------------------------------------------------------------------------------- */

static pcgpu_status load_mcap(pc_recording *r, const pc_file *file, const pc_chunk *chunk, pc_bytes *out);

/* A chunk is expanded unless its index follows; one that is damaged is left out. */
static pcgpu_status add_chunk(mcap_index *m, const record *rec) {
    const pc_chunk chunk = {rec->at - RECORD, rec->size + RECORD};
    record next;
    pc_bytes bytes;
    PC_TRY(pc_recording_add_chunk(m->r, m->file, chunk.at, chunk.size));
    m->indexed = m->summarized && record_at(m->r, chunk.at + chunk.size, &next) && next.op == MESSAGE_INDEX;
    if (m->indexed) {
        return PCGPU_OK;
    }
    pcgpu_status status = load_mcap(m->r, m->file, &chunk, &bytes);
    m->damaged += status == PCGPU_ERROR_FORMAT;
    if (status != PCGPU_OK) {
        return status == PCGPU_ERROR_FORMAT ? PCGPU_OK : status;
    }
    status = add_records(m, &bytes);
    pc_recording_unload(m->r, &bytes);
    return status;
}

/* The times and offsets of the messages of one channel in the last chunk. */
static pcgpu_status add_message_index(mcap_index *m, const pc_bytes *bytes) {
    pc_cursor c = cursor_of(bytes->data, bytes->size);
    pc_take_bytes(&c, RECORD);
    pc_topic *topic = pc_recording_channel(m->r, pc_take(&c, 2));
    c.size = c.at + 4 <= c.size ? c.size : c.at;
    for (pc_take(&c, 4); topic && c.size - c.at >= 16;) {
        const uint64_t time = pc_take(&c, 8);
        PC_TRY(pc_recording_add(m->r, m->file, topic, (int64_t)time, pc_take(&c, 8)));
    }
    return PCGPU_OK;
}

static pcgpu_status add_record(mcap_index *m, const record *rec) {
    pc_recording *r = m->r;
    const uint64_t at = rec->at - RECORD, size = rec->size + RECORD;
    size_t there;
    pc_bytes bytes;
    if (rec->op == CHUNK) {
        return add_chunk(m, rec);
    }
    if (rec->op == MESSAGE && rec->size >= MESSAGE_HEAD) {
        PC_TRY(pc_recording_add_chunk(r, m->file, at, size));
        const unsigned char *p = pc_recording_peek(r, rec->at, MESSAGE_HEAD, &there);
        return p ? add_message(m, cursor_of(p, MESSAGE_HEAD), 0) : PCGPU_OK;
    }
    if (rec->op != SCHEMA && rec->op != CHANNEL && (rec->op != MESSAGE_INDEX || !m->indexed)) {
        return PCGPU_OK;
    }
    PC_TRY(pc_recording_load(r, m->file, at, size, &bytes));
    const pcgpu_status status = rec->op == MESSAGE_INDEX ? add_message_index(m, &bytes) : add_records(m, &bytes);
    pc_recording_unload(r, &bytes);
    return status;
}

/* Takes the channels from the summary, where that is whole. */
static pcgpu_status read_summary(mcap_index *m) {
    pc_recording *r = m->r;
    size_t there;
    pc_bytes summary;
    const uint64_t end = r->size > MAGIC + FOOTER_SIZE ? r->size - MAGIC - FOOTER_SIZE : 0;
    const unsigned char *p = end > 0 ? pc_recording_peek(r, end, FOOTER_SIZE + MAGIC, &there) : NULL;
    const bool whole = p && p[0] == FOOTER && memcmp(p + FOOTER_SIZE, magic, MAGIC) == 0;
    const uint64_t begin = whole ? pc_load_number(p + RECORD, 8) : 0;
    const uint32_t crc = whole ? (uint32_t)pc_load_number(p + FOOTER_SIZE - 4, 4) : 0;
    if (begin == 0 || begin >= end) {
        return PCGPU_OK;
    }
    PC_TRY(pc_recording_load(r, m->file, begin, end + FOOTER_SIZE - 4 - begin, &summary));
    pcgpu_status status = PCGPU_OK;
    if (crc == 0 || crc32_z(0, summary.data, summary.size) == crc) {
        status = add_records(m, &summary);
    } else {
        pc_warn(m->file, "the checksum of the summary at byte %llu is wrong; all chunks are expanded instead",
                (unsigned long long)begin);
    }
    pc_recording_unload(r, &summary);
    return status;
}

static pcgpu_status index_mcap(pc_recording *r, const pc_file *file) {
    mcap_index m = {.r = r, .file = file};
    record rec = {0};
    uint64_t at = MAGIC;
    pcgpu_status status = read_summary(&m);
    m.summarized = r->channels > 0;
    while (status == PCGPU_OK && rec.op != FOOTER && rec.op != DATA_END && record_at(r, at, &rec)) {
        status = add_record(&m, &rec);
        at = rec.at + rec.size;
    }
    if (status == PCGPU_OK) {
        pc_recording_warn(r, file, rec.op != FOOTER && rec.op != DATA_END, at, m.damaged);
    }
    pc_buffer_free(&m.schemas);
    return status;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

static pcgpu_status fail_chunk(const pc_file *file, const pc_chunk *chunk, const char *what) {
    return pc_fail_format(file, "the %s of the chunk at byte %llu is wrong; the recording is damaged, so copy it again",
                          what, (unsigned long long)chunk->at);
}

/* The records of a chunk, expanded, or one message with its record. */
static pcgpu_status load_mcap(pc_recording *r, const pc_file *file, const pc_chunk *chunk, pc_bytes *out) {
    enum { METHOD = 32, HEAD = RECORD + 28 + 4 + METHOD + 8 };
    pc_bytes head, packed;
    char method[METHOD] = "";
    PC_TRY(pc_recording_load(r, file, chunk->at, chunk->size < HEAD ? chunk->size : HEAD, &head));
    const int op = head.data[0];
    pc_cursor c = cursor_of(head.data, head.size);
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
        return fail_chunk(file, chunk, "head");
    }
    PC_TRY(pc_recording_load(r, file, chunk->at + c.at, stored, &packed));
    PC_TRY(pc_unpack(r, file, chunk->at, method, &packed, size, out));
    if (crc == 0 || crc32_z(0, out->data, out->size) == crc) {
        return PCGPU_OK;
    }
    pc_recording_unload(r, out);
    return fail_chunk(file, chunk, "checksum");
}

static bool find_mcap(const pc_bytes *chunk, uint64_t offset, pc_span *message) {
    pc_cursor c = cursor_of(chunk->data, chunk->size), content;
    int op;
    pc_take_bytes(&c, offset);
    if (c.bad || !take_record(&c, &op, &content) || op != MESSAGE || content.size < MESSAGE_HEAD) {
        return false;
    }
    *message = (pc_span){(const char *)content.data + MESSAGE_HEAD, content.size - MESSAGE_HEAD};
    return true;
}

const pc_container pc_container_mcap = {"mcap", magic, index_mcap, load_mcap, find_mcap};

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

pcgpu_status pc_message_stream(const pc_file *file, const pc_message *m, FILE **stream) {
    const pc_topic *t = m->topic;
    const char *encoding = t->cdr ? "cdr" : "ros1";
    const size_t type = strlen(t->type), name = strlen(t->name), all = type + name + m->size + 256;
    FILE *out = *stream = fmemopen(NULL, all, "w+");
    const bool good = out && fputs(magic, out) >= 0 && put_record(out, SCHEMA, 2 + 4 + type + 4 + 4) &&
                      put_number(out, 1, 2) && put_text(out, t->type) && put_text(out, "") && put_text(out, "") &&
                      put_record(out, CHANNEL, 4 + 4 + name + 4 + strlen(encoding) + 4) &&
                      put_number(out, 1 << 16, 4) && put_text(out, t->name) && put_text(out, encoding) &&
                      put_text(out, "") && put_record(out, MESSAGE, MESSAGE_HEAD + m->size) && put_number(out, 0, 6) &&
                      put_number(out, (uint64_t)m->time, 8) && put_number(out, (uint64_t)m->time, 8) &&
                      fwrite(m->data, 1, m->size, out) == m->size && put_record(out, DATA_END, 0) &&
                      fseek(out, 0, SEEK_SET) == 0;
    if (!good && out) {
        fclose(out);
    }
    return good ? PCGPU_OK : pc_fail_file_memory(file, all);
}
