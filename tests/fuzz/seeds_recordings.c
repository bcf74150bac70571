/* Recordings of one cloud, where mutations begin: MCAP and a ROS 1 bag, as ROS 1 and ROS 2 serialize. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

static uint8_t *put(uint8_t *p, uint64_t value, int size) {
    for (int i = 0; i < size; i++) {
        *p++ = (uint8_t)(value >> (8 * i));
    }
    return p;
}

static uint8_t *put_bytes(uint8_t *p, const void *bytes, size_t size) {
    memcpy(p, bytes, size);
    return p + size;
}

/* With its length. */
static uint8_t *put_text(uint8_t *p, const char *text) {
    return put_bytes(put(p, strlen(text), 4), text, strlen(text));
}

static uint8_t *align(uint8_t *p, const uint8_t *begin, int to) {
    while (to && (p - begin) % to) {
        *p++ = 0;
    }
    return p;
}

/* A PointCloud2 of two points, or a CustomMsg; by CDR or as ROS 1 does. */
static size_t make_message(uint8_t *out, int cdr, int livox) {
    static const char *const names[] = {"x", "y", "z", "rgb"};
    uint8_t *p = out, *begin = cdr ? out + 4 : out;
    p = cdr ? put(p, 0x0100, 4) : put(p, 7, 4);
    p = put(put(p, 5, 4), 6, 4);
    p = align(put_text(p, "abc"), begin, cdr ? (livox ? 8 : 4) : 0);
    if (livox) {
        p = put(put(put(p, 9, 8), 2, 4), 1, 4);
        p = put(p, 2, 4);
        for (int i = 0; i < 2 * 20 - !cdr * 2; i++) {
            *p++ = (uint8_t)(i * 5);
        }
        return (size_t)(p - out);
    }
    p = put(put(p, 1, 4), 2, 4);
    p = put(p, 4, 4);
    for (int k = 0; k < 4; k++) {
        p = align(put_text(p, names[k]), begin, cdr ? 4 : 0);
        p = put(put(p, (uint64_t)k * 4, 4), 7, 1);
        p = put(align(p, begin, cdr ? 4 : 0), 1, 4);
    }
    p = align(put(p, 0, 1), begin, cdr ? 4 : 0);
    p = put(put(put(p, 16, 4), 32, 4), 32, 4);
    for (int i = 0; i < 32; i++) {
        *p++ = (uint8_t)(i % 4 == 3 ? 0x40 : i);
    }
    return (size_t)(put(p, 1, 1) - out);
}

/* As lz4 stores what it cannot compress, where the build has lz4; "": it stays as it is. */
static const char *pack(const char *name, uint8_t *bytes, size_t *size) {
    if (!PC_LZ4 || !strstr(name, "lz4")) {
        return "";
    }
    memmove(bytes + 11, bytes, *size);
    put(put_bytes(bytes, "\x04\x22\x4d\x18\x60\x40\x82", 7), *size | 0x80000000, 4);
    put(bytes + 11 + *size, 0, 4);
    *size += 15;
    return "lz4";
}

/* ---- MCAP ---- */

static uint8_t *put_record(uint8_t *p, int op, const void *content, size_t size) {
    *p++ = (uint8_t)op;
    return put_bytes(put(p, size, 8), content, size);
}

/* Schema, channel and message. */
static size_t make_records(uint8_t *out, int cdr, int livox, size_t *message) {
    uint8_t content[400], *p = out, *c;
    c = put_text(put(content, 1, 2), livox ? "livox_ros_driver2/msg/CustomMsg" : "sensor_msgs/PointCloud2");
    p = put_record(p, 3, content, (size_t)(put_text(put_text(c, ""), "") - content));
    c = put_text(put_text(put(put(content, 4, 2), 1, 2), "/p"), cdr ? "cdr" : "ros1");
    p = put_record(p, 4, content, (size_t)(put(c, 0, 4) - content));
    *message = (size_t)(p - out);
    c = put(put(put(put(content, 4, 2), 0, 4), 1000, 8), 1000, 8);
    c += make_message(c, cdr, livox);
    return (size_t)(put_record(p, 5, content, (size_t)(c - content)) - out);
}

size_t fuzz_make_mcap(const char *name, uint8_t *out) {
    static const char magic[] = "\x89MCAP0\r\n";
    const int cdr = strstr(name, "cdr") != NULL, livox = strstr(name, "livox") != NULL;
    uint8_t records[600], content[700], *p = put_bytes(out, magic, 8), *c;
    size_t message;
    const size_t size = make_records(records, cdr, livox, &message);
    size_t packed = size;
    if (strstr(name, "chunk")) {
        c = put(put(put(put(content, 1000, 8), 1000, 8), size, 8), 0, 4);
        const char *method = pack(name, records, &packed);
        c = put_bytes(put(put_text(c, method), packed, 8), records, packed);
        p = put_record(p, 6, content, (size_t)(c - content));
    } else {
        p = put_bytes(p, records, size);
    }
    if (strstr(name, "index")) {
        p = put_record(p, 7, content,
                       (size_t)(put(put(put(put(content, 4, 2), 16, 4), 1000, 8), message, 8) - content));
    }
    p = put_record(p, 15, "\0\0\0\0", 4);
    const uint64_t summary = strstr(name, "index") ? (uint64_t)(p - out) : 0;
    p = summary ? put_bytes(p, records, message) : p;
    p = put_record(p, 2, content, (size_t)(put(put(put(content, summary, 8), 0, 8), 0, 4) - content));
    return (size_t)(put_bytes(p, magic, 8) - out);
}

/* ---- a bag ---- */

/* A record of fields of at most eight bytes, one text, and data. */
static uint8_t *put_head(uint8_t *p, int op, const char *more, size_t size) {
    uint8_t *length = p;
    p = put(put_bytes(put(p + 4, 4, 4), "op=", 3), (uint64_t)op, 1);
    for (const char *end; *more; more = end + 1) { /* NAME=VALUE| with hexadecimal digits after a # */
        end = strchr(more, '|');
        const char *number = memchr(more, '#', (size_t)(end - more));
        const size_t text = (size_t)((number ? number : end) - more),
                     bytes = number ? (size_t)(end - number - 1) / 2 : 0;
        p = put_bytes(put(p, text + bytes, 4), more, text);
        for (size_t i = 0; i < bytes; i++) {
            unsigned byte = 0;
            sscanf(number + 1 + 2 * i, "%2x", &byte);
            *p++ = (uint8_t)byte;
        }
    }
    put(length, (uint64_t)(p - length - 4), 4);
    return put(p, size, 4);
}

size_t fuzz_make_bag(const char *name, uint8_t *out) {
    uint8_t chunk[700], message[400], *c = chunk, *p = put_bytes(out, "#ROSBAG V2.0\n", 13);
    const size_t size = make_message(message, 0, strstr(name, "livox") != NULL);
    uint8_t type[80],
        *t = put_text(type, strstr(name, "livox") ? "type=livox_ros_driver/CustomMsg" : "type=sensor_msgs/PointCloud2");
    const size_t types = (size_t)(t - type);
    c = put_bytes(put_head(c, 7, "conn=#00000000|topic=/p|", types), type, types);
    const size_t at = (size_t)(c - chunk);
    c = put_bytes(put_head(c, 2, "conn=#00000000|time=#0100000002000000|", size), message, size);
    const unsigned all = (unsigned)(c - chunk);
    size_t packed = all;
    char field[64];
    const char *method = pack(name, chunk, &packed);
    snprintf(field, sizeof field, "compression=%s|size=#%02x%02x0000|", *method ? method : "none", all & 255, all >> 8);
    uint8_t *begin = p;
    p = put_head(p, 3, "index_pos=#0000000000000000|conn_count=#01000000|chunk_count=#01000000|", 0);
    p = put_bytes(put_head(p, 5, field, packed), chunk, packed);
    if (strstr(name, "index")) {
        p = put_head(p, 4, "ver=#01000000|conn=#00000000|count=#01000000|", 12);
        p = put(put(p, 0x0000000200000001, 8), at, 4);
        char place[96];
        const unsigned index = (unsigned)(p - out);
        snprintf(place, sizeof place, "index_pos=#%02x%02x000000000000|conn_count=#01000000|chunk_count=#01000000|",
                 index & 255, index >> 8);
        put_head(begin, 3, place, 0);
        p = put_bytes(put_head(p, 7, "conn=#00000000|topic=/p|", types), type, types);
    }
    return (size_t)(p - out);
}
