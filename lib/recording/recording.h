/* Recordings of robots: containers of messages (MCAP, ROS 1 .bag 2.0, ROS 2 .db3), and the clouds, depth images and
 * poses among the messages.
 *
 * A container is one file recording_NAME.c and a row of the table in recording.c. It finds the topics and, for each
 * message of a known kind, the chunk that has it; a chunk is read and expanded when a message of it is wanted. Threads
 * share a recording: a chunk that several of them need is expanded once. */
#ifndef PC_RECORDING_H
#define PC_RECORDING_H

#include "buffer.h"
#include "io.h"

typedef enum pc_message_kind {
    PC_MESSAGE_OTHER,
    PC_MESSAGE_POINTS,
    PC_MESSAGE_LIVOX,
    PC_MESSAGE_IMAGE, /* of depth, by its first message; others are OTHER */
    PC_MESSAGE_PNG,   /* the same, compressed */
    PC_MESSAGE_CAMERA,
    PC_MESSAGE_POSE,      /* PoseStamped, with covariance or not */
    PC_MESSAGE_TRANSFORM, /* Odometry, TransformStamped: a name is before the pose */
    PC_MESSAGE_POSITION   /* NavSatFix: latitude, longitude, height */
} pc_message_kind;

/* A cloud or a depth image, which becomes a cloud. */
static inline bool pc_message_is_cloud(pc_message_kind kind) {
    return kind >= PC_MESSAGE_POINTS && kind <= PC_MESSAGE_PNG;
}
static inline bool pc_message_is_points(pc_message_kind kind) {
    return kind == PC_MESSAGE_POINTS || kind == PC_MESSAGE_LIVOX;
}
static inline bool pc_message_is_image(pc_message_kind kind) {
    return kind == PC_MESSAGE_IMAGE || kind == PC_MESSAGE_PNG;
}
static inline bool pc_message_is_path(pc_message_kind kind) {
    return kind >= PC_MESSAGE_POSE;
}

/* Seconds of nanoseconds since 1970, which have more digits than a float64, as the nearest float64. */
static inline double pc_seconds(int64_t time) {
    return (double)(time / 1000000000) + (double)(time % 1000000000) / 1e9;
}

/* Times are those of the log, in nanoseconds. */
typedef struct pc_topic {
    char *name, *type;
    bool cdr; /* serialized by CDR, as ROS 2 does; else as ROS 1 does, or in words of others */
    pc_message_kind kind;
    int64_t count;              /* messages, in the order of the file: */
    int64_t first, last;        /* the lowest and the highest time */
    int64_t before;             /* of the last one */
    int64_t gap, gap_at;        /* the longest time from one message to the next, and when it began */
    int64_t backward, furthest; /* messages that are earlier than the one before, and by how much at most */
} pc_topic;

/* A message as it lies in a chunk. */
typedef struct pc_message {
    const pc_topic *topic;
    int64_t time; /* of the log */
    const unsigned char *data;
    size_t size;
    struct pc_chunk_slot *slot; /* see pc_recording_release */
} pc_message;

typedef struct pc_recording pc_recording;

/* Whether the first bytes are those of a recording. */
bool pc_recording_begins(const void *head, size_t size);
/* Opens the file `path`, or, where that is NULL, `bytes`, which must outlive the recording and stay as they are.
 * A file that ends too early is taken as far as it goes, with a warning. `file` names it in messages. Errors: IO,
 * MEMORY, FORMAT. */
pcgpu_status pc_recording_open(const pc_file *file, const char *path, const pc_bytes *bytes, pc_recording **recording);
void pc_recording_close(pc_recording *r);
const char *pc_recording_container(const pc_recording *r);
const pc_topic *pc_recording_topic(const pc_recording *r, int i); /* NULL past the last */
/* The clouds of all topics. */
int64_t pc_recording_clouds(const pc_recording *r);
/* The camera that the recording has for the depth images of a topic, compressed ones or not: that of the first
 * camera_info beside it, in millimetres. False: none. Before pc_recording_choose. */
bool pc_recording_camera(pc_recording *r, const pc_file *file, const char *topic, bool compressed,
                         pcgpu_camera *camera);
/* Keeps the clouds, or the poses and positions, of the topics with this name, and puts them in the order of their
 * times. Returns their number. */
int64_t pc_recording_choose(pc_recording *r, const char *topic, bool path);
int64_t pc_recording_time(const pc_recording *r, int64_t i); /* of message i, after pc_recording_choose */

/* Message i, whose bytes are kept until it is released. Any thread may call both, with a context of its own in `file`.
 * Errors: IO, MEMORY, FORMAT; there is then nothing to release. */
pcgpu_status pc_recording_message(pc_recording *r, const pc_file *file, int64_t i, pc_message *message);
void pc_recording_release(pc_recording *r, pc_message *message);

/* "zstd, lz4, bzip2", or "none": what this build expands. */
const char *pc_recording_libraries(void);

/* ---- numbers in bytes that may be too few: recording_cursor.c ---------------------------------------------------- */

typedef struct pc_cursor {
    const unsigned char *data;
    size_t size, at;
    size_t align; /* the largest alignment, as of CDR; 0: none */
    bool swap;    /* big endian */
    bool bad;     /* the bytes have ended: what was taken since is 0 or empty */
} pc_cursor;

uint64_t pc_take(pc_cursor *c, size_t bytes); /* a number of 1, 2, 4 or 8 bytes */
double pc_take_double(pc_cursor *c);
pc_span pc_take_bytes(pc_cursor *c, uint64_t bytes);
pc_span pc_take_text(pc_cursor *c); /* a length of 4 bytes, and as many */

/* ---- messages: recording_message.c ------------------------------------------------------------------------------- */

pc_message_kind pc_message_kind_of(const char *type);
/* The time of measurement that the header of the message states, else that of the log. */
int64_t pc_message_stamp(const pc_message *message);
/* `bytes` hold the message, and their memory may move into the cloud. Errors: FORMAT, MEMORY. */
pcgpu_status pc_message_to_cloud(const pc_file *file, const pc_message *message, pc_bytes *bytes, pcgpu_cloud *cloud);

/* ---- messages as files that readers take: recording_stream.c ----------------------------------------------------- */

/* The format that a cloud gets as a stream: "mcap"; "pgm" or "png" of a depth image. */
const char *pc_message_format(pc_message_kind kind);
/* A copy of the cloud as a stream. Depths in metres become millimetres. Errors: MEMORY, FORMAT. */
pcgpu_status pc_message_stream(const pc_file *file, const pc_message *message, FILE **stream);
/* Writes the chosen poses as lines: TUM, or a .csv of time, latitude, longitude, height for positions, with its names
 * (`head`). Errors: IO, MEMORY, FORMAT. */
pcgpu_status pc_recording_path(pc_recording *r, const pc_file *file, bool head, FILE *out);
/* recording_mcap.c: an .mcap of one message. False without memory. */
bool pc_put_mcap(FILE *out, const pc_message *message);
/* recording_message.c: the reader of a message after its header, and the time of measurement there. */
pc_cursor pc_message_open(const pc_message *message, int64_t *stamp);
/* "the message WHAT, or is none of its type". */
pcgpu_status pc_fail_message(const pc_file *file, const pc_message *message, const char *what);
/* recording_image.c: whether the image has depths; and the image as a stream. */
bool pc_message_is_depth(const pc_message *message);
pcgpu_status pc_put_depth(const pc_file *file, const pc_message *message, FILE **stream);

/* ---- for containers ---------------------------------------------------------------------------------------------- */

/* Bytes of the file that are read together: a chunk of messages, or one message. */
typedef struct pc_chunk {
    uint64_t at, size;
} pc_chunk;

/* Names: schemas, channels, connections. An index is that of the chunk before. */
typedef enum pc_record_kind {
    PC_RECORD_OTHER,
    PC_RECORD_NAMES,
    PC_RECORD_MESSAGE,
    PC_RECORD_CHUNK,
    PC_RECORD_INDEX,
    PC_RECORD_END
} pc_record_kind;

enum { PC_RECORD_HEAD = 4096 /* bytes that describe a record */ };

typedef struct pc_record {
    pc_record_kind kind;
    uint64_t at, size; /* of its content, from its begin; of all of it, which may be more than there is */
} pc_record;

typedef struct pc_container {
    const char *name, *begins;
    size_t least; /* bytes of the content of a message that are before its data */
    /* Finds what is at the end of the file, and walks. */
    pcgpu_status (*index)(pc_recording *r, const pc_file *file);
    /* Describes the record that bytes begin with. False: there is none. */
    bool (*take)(const unsigned char *p, size_t there, pc_record *out);
    /* Adds names, the messages of an index, or a message at an offset in the last chunk. The record is there as a
     * whole, a message of no chunk only with its head. */
    pcgpu_status (*add)(pc_recording *r, const pc_file *file, const pc_record *record, const unsigned char *p,
                        uint64_t offset);
    /* Reads and expands a chunk: pc_recording_load, pc_unpack. A message of no chunk stays as it is. */
    pcgpu_status (*load)(pc_recording *r, const pc_file *file, const pc_chunk *chunk, pc_bytes *out);
} pc_container;

extern const pc_container pc_container_mcap, pc_container_bag, pc_container_db3;
#define PC_MCAP_BEGINS "\x89MCAP0\r\n"
#define PC_BAG_BEGINS  "#ROSBAG V2.0\n"
#define PC_DB3_BEGINS  "SQLite format 3" /* and a zero byte */

typedef struct pc_entry {
    int64_t time;
    uint64_t chunk, offset;
    int topic;
} pc_entry;

struct pc_recording {
    const pc_container *container;
    const char *path;           /* NULL: in memory */
    int fd;                     /* -1: in memory */
    const unsigned char *bytes; /* NULL: in a file */
    uint64_t size;
    pc_bytes expanded; /* of a file that is compressed as a whole */
    void *database;    /* of a .db3; NULL: not open */
    int topics, channels, schemas;
    int64_t chunks, entries;
    pc_buffer topic, channel, chunk, entry, schema; /* pc_topic, pc_channel, pc_chunk, pc_entry; names of types */
    pc_buffer window;                               /* bytes of the file from window_at on, while it is indexed */
    uint64_t window_at, window_size;
    struct pc_chunk_cache *cache;
};

pc_topic *pc_recording_topics(const pc_recording *r);

/* recording_index.c: opens the file, unless the recording is in memory. Errors: IO. */
pcgpu_status pc_recording_open_file(pc_recording *r, const pc_file *file);
void pc_recording_close_file(pc_recording *r);
void pc_recording_unload(const pc_recording *r, pc_bytes *bytes);

/* At least `bytes` bytes, of the file, valid until the next call while the recording is opened; NULL:
 * it does not have them, or cannot be read. *there: as many as there are. */
const unsigned char *pc_recording_peek(pc_recording *r, uint64_t at, size_t bytes, size_t *there);
/* Reads bytes of the file, which pc_recording_unload frees. Errors: IO, MEMORY, FORMAT (the file ends before). */
pcgpu_status pc_recording_load(pc_recording *r, const pc_file *file, uint64_t at, uint64_t bytes, pc_bytes *out);
/* Adds a channel, whose messages are those of a topic. A second channel of that number is left out. */
pcgpu_status pc_recording_add_channel(pc_recording *r, const pc_file *file, uint64_t id, pc_span name, pc_span type,
                                      pc_span encoding);
pc_topic *pc_recording_channel(const pc_recording *r, uint64_t id); /* NULL: none */
pcgpu_status pc_recording_add_chunk(pc_recording *r, const pc_file *file, pc_chunk chunk);
/* Adds a message of the last chunk. */
pcgpu_status pc_recording_add(pc_recording *r, const pc_file *file, pc_topic *topic, int64_t time, uint64_t offset);
/* The bytes from a record on that are known, as by pc_recording_peek; NULL: no whole record is there. */
const unsigned char *pc_recording_record(pc_recording *r, uint64_t at, pc_record *record, size_t *there);
/* Adds what it has, by the container. */
pcgpu_status pc_recording_add_record(pc_recording *r, const pc_file *file, uint64_t at, const pc_record *record,
                                     const unsigned char *p, size_t there);
/* Adds the names and messages of records in memory. */
pcgpu_status pc_recording_add_records(pc_recording *r, const pc_file *file, const pc_bytes *bytes);
/* Adds those of the file from a byte on, and warns when it ends in the middle, or of chunks that are damaged. `known`:
 * the names are, so that a chunk whose index follows need not be expanded. */
pcgpu_status pc_recording_walk(pc_recording *r, const pc_file *file, uint64_t at, bool known);

pcgpu_status pc_fail_chunk(const pc_file *file, uint64_t at,
                           const char *what); /* "the WHAT of the chunk ... is wrong" */
/* Expands the bytes of a chunk, which are freed, or moved to *out where they are not compressed: "" or "none", "lz4",
 * "zstd", "bz2". `at`: of the chunk in the file, for messages. `size`: declared, checked before anything is allocated.
 * Errors: FORMAT, MEMORY, IO (a library is missing). */
pcgpu_status pc_unpack(pc_recording *r, const pc_file *file, uint64_t at, const char *method, pc_bytes *packed,
                       uint64_t size, pc_bytes *out);
bool pc_zstd_begins(const void *data, size_t size);
/* Expands bytes of zstd, whose size is not declared elsewhere, in place. Errors: FORMAT, MEMORY, IO (the library is
 * missing); there is then nothing to free. */
pcgpu_status pc_unpack_zstd(const pc_file *file, pc_bytes *bytes);
/* recording_db3.c */
void pc_recording_close_database(pc_recording *r);

#endif
