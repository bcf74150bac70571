/* ROS 2 bags of SQLite (.db3, rosbag2): a table of topics, and one of messages with a row each. A chunk is one message,
 * and its place in the file is the number of the row. */
#include "recording.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#if PC_SQLITE
#include <sqlite3.h>

/* The last error, which may have names of the file. */
static pc_shown last_error(const pc_recording *r) {
    const char *text = sqlite3_errmsg(r->database);
    return pc_span_show((pc_span){text, strlen(text)});
}

static pcgpu_status fail_database(const pc_recording *r, const pc_file *file) {
    const int code = r->database ? sqlite3_errcode(r->database) : SQLITE_NOMEM;
    return code == SQLITE_NOMEM
               ? pc_fail_file_memory(file, r->size)
               : pc_fail_format(file, "its database cannot be read: %s; copy the recording again", last_error(r).text);
}

/* A file URI whose database is not locked and gets no files beside it, unless the last writer left some that belong to
 * it. */
static char *uri_of(const char *path) {
    static const char digits[] = "0123456789ABCDEF", wal[] = "-wal", fixed[] = "?immutable=1";
    const size_t n = strlen(path);
    char *uri = malloc(3 * n + sizeof "file:" + sizeof fixed), *p = uri;
    struct stat st;
    if (!uri) {
        return NULL;
    }
    p += sprintf(p, "%s%s", path, wal);
    const bool open = stat(uri, &st) == 0 && st.st_size > 0;
    p = uri + sprintf(uri, "file:");
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)path[i];
        if (c == '%' || c == '?' || c == '#' || (i == 1 && c == '/')) { /* no host */
            *p++ = '%';
            *p++ = digits[c >> 4];
            *p++ = digits[c & 15];
        } else {
            *p++ = path[i];
        }
    }
    strcpy(p, open ? "" : fixed);
    return uri;
}

static bool open_database(pc_recording *r) {
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX;
    sqlite3 *db = NULL;
    char *uri = r->bytes ? NULL : uri_of(r->path);
    const bool opened =
        (r->bytes || uri) &&
        sqlite3_open_v2(uri ? uri : ":memory:", &db, uri ? flags : flags | SQLITE_OPEN_MEMORY, NULL) == SQLITE_OK;
    free(uri);
    r->database = db;
    return opened &&
           (!r->bytes || sqlite3_deserialize(db, "main", (unsigned char *)(uintptr_t)r->bytes, (sqlite3_int64)r->size,
                                             (sqlite3_int64)r->size, SQLITE_DESERIALIZE_READONLY) == SQLITE_OK) &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL) == SQLITE_OK &&
           sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL) == SQLITE_OK;
}

/* Rows of a query, one at a time. False: past the last, or an error, which the database keeps. */
static bool next_row(pc_recording *r, const char *query, sqlite3_stmt **rows) {
    return (*rows || sqlite3_prepare_v2(r->database, query, -1, rows, NULL) == SQLITE_OK) &&
           sqlite3_step(*rows) == SQLITE_ROW;
}

/* Whether both are tables: views could have any queries. */
static bool has_tables(pc_recording *r) {
    sqlite3_stmt *rows = NULL;
    const bool has = next_row(r,
                              "SELECT count(*) FROM sqlite_master WHERE name IN ('topics', 'messages') AND type = "
                              "'table' AND sql LIKE 'CREATE TABLE%'",
                              &rows) &&
                     sqlite3_column_int(rows, 0) == 2;
    sqlite3_finalize(rows);
    return has;
}

static pc_span text_of(sqlite3_stmt *row, int column) {
    const char *text = (const char *)sqlite3_column_text(row, column);
    return (pc_span){text ? text : "", text ? (size_t)sqlite3_column_bytes(row, column) : 0};
}

static pcgpu_status add_topics(pc_recording *r, const pc_file *file) {
    sqlite3_stmt *row = NULL;
    pcgpu_status status = PCGPU_OK;
    while (status == PCGPU_OK &&
           next_row(r, "SELECT id, name, type, serialization_format FROM topics ORDER BY id", &row)) {
        status = pc_recording_add_channel(r, file, (uint64_t)sqlite3_column_int64(row, 0), text_of(row, 1),
                                          text_of(row, 2), text_of(row, 3));
    }
    const bool ended = sqlite3_errcode(r->database) == SQLITE_DONE;
    status = status == PCGPU_OK && !ended ? fail_database(r, file) : status;
    sqlite3_finalize(row);
    return status;
}

static pcgpu_status add_messages(pc_recording *r, const pc_file *file) {
    sqlite3_stmt *row = NULL;
    pcgpu_status status = PCGPU_OK;
    int64_t rows = 0;
    for (; status == PCGPU_OK && next_row(r, "SELECT id, topic_id, timestamp FROM messages ORDER BY id", &row);
         rows++) {
        const uint64_t id = (uint64_t)sqlite3_column_int64(row, 0);
        pc_topic *topic = pc_recording_channel(r, (uint64_t)sqlite3_column_int64(row, 1));
        status = topic && topic->kind != PC_MESSAGE_OTHER ? pc_recording_add_chunk(r, file, (pc_chunk){id, 0}) : status;
        status =
            topic && status == PCGPU_OK ? pc_recording_add(r, file, topic, sqlite3_column_int64(row, 2), 0) : status;
    }
    if (status == PCGPU_OK && sqlite3_errcode(r->database) != SQLITE_DONE) {
        pc_warn(file, "its database is damaged after %lld messages (%s); these are read", (long long)rows,
                last_error(r).text);
    }
    sqlite3_finalize(row);
    return status;
}

/* SQLite takes missing bytes at the end for zeros. */
static pcgpu_status check_size(pc_recording *r, const pc_file *file) {
    enum { HEAD = 100, PAGE = 16, CHANGES = 24, PAGES = 28, CHANGES_OF_PAGES = 92 }; /* sqlite.org/fileformat.html */
    size_t there;
    const unsigned char *p = pc_recording_peek(r, 0, HEAD, &there);
    const uint64_t page = p ? pc_load_bits(p + PAGE, 2, true) : 0, pages = p ? pc_load_bits(p + PAGES, 4, true) : 0;
    const uint64_t size =
        p && memcmp(p + CHANGES, p + CHANGES_OF_PAGES, 4) == 0 ? (page == 1 ? 65536 : page) * pages : 0;
    return p && r->size >= size ? PCGPU_OK
                                : pc_fail_format(file, "ends at byte %llu, in the middle; copy the recording again",
                                                 (unsigned long long)r->size);
}

static pcgpu_status index_db3(pc_recording *r, const pc_file *file) {
    PC_TRY(check_size(r, file));
    if (!open_database(r)) {
        return fail_database(r, file);
    }
    if (!has_tables(r)) {
        return sqlite3_errcode(r->database) == SQLITE_ROW || sqlite3_errcode(r->database) == SQLITE_DONE ||
                       sqlite3_errcode(r->database) == SQLITE_OK
                   ? pc_fail_format(file, "is a database of SQLite without the tables topics and messages of a ROS 2 "
                                          "recording; give one that ros2 bag record wrote")
                   : fail_database(r, file);
    }
    PC_TRY(add_topics(r, file));
    return add_messages(r, file);
}

static pcgpu_status load_db3(pc_recording *r, const pc_file *file, const pc_chunk *chunk, pc_bytes *out) {
    sqlite3_blob *blob = NULL;
    *out = (pc_bytes){0};
    bool good =
        sqlite3_blob_open(r->database, "main", "messages", "data", (sqlite3_int64)chunk->at, 0, &blob) == SQLITE_OK;
    const int size = good ? sqlite3_blob_bytes(blob) : 0;
    out->data = malloc((size_t)size + 1);
    out->size = (size_t)size;
    good = good && out->data && sqlite3_blob_read(blob, out->data, size, 0) == SQLITE_OK;
    sqlite3_blob_close(blob);
    if (!good || size == 0) {
        const bool memory = !out->data;
        pc_bytes_free(out);
        return memory ? pc_fail_file_memory(file, (uint64_t)size)
                      : pc_fail_format(file,
                                       "row %lld of its table messages %s; the recording is damaged, so copy it again",
                                       (long long)chunk->at, good ? "is empty" : "cannot be read");
    }
    return pc_zstd_begins(out->data, out->size) ? pc_unpack_zstd(file, out) : PCGPU_OK;
}

void pc_recording_close_database(pc_recording *r) {
    sqlite3_close(r->database);
}
#else
static pcgpu_status index_db3(pc_recording *r, const pc_file *file) {
    (void)r;
    return pc_fail_file(file, PCGPU_ERROR_IO,
                        "is a database of SQLite, which this build does not read; build pcgpu with libsqlite3-dev");
}

#define load_db3 NULL /* nothing is found in it */

void pc_recording_close_database(pc_recording *r) {
    (void)r;
}
#endif

/* A message as it lies in its chunk. */
static bool take_db3(const unsigned char *p, size_t there, pc_record *out) {
    (void)p;
    *out = (pc_record){.kind = PC_RECORD_MESSAGE, .at = 0, .size = there};
    return true;
}

static pcgpu_status add_db3(pc_recording *r, const pc_file *file, const pc_record *record, const unsigned char *p,
                            uint64_t offset) {
    (void)r, (void)file, (void)record, (void)p, (void)offset; /* nothing is walked */
    return PCGPU_OK;
}

const pc_container pc_container_db3 = {"db3", PC_DB3_BEGINS, 0, index_db3, take_db3, add_db3, load_db3};
