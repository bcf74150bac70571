/* .npz of NumPy, written: a zip archive with one .npy a member. The sizes and the checksum of a member are known before
 * its header is written, so nothing is patched afterwards and the stream may be a pipe.
 *
 * Arrays padded with zeros (points and pillars of voxels) deflate to a few percent, which is worth the time; float32
 * measurements hardly shrink, and are stored. Format: PKWARE APPNOTE 6.3, with zip64 where 32 bits are too few. */
#include "io.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { TRIAL = 1 << 16, CHUNK = 1 << 30, MAX_NAME = 256, STORED = 0, DEFLATED = 8 };

#define LIMIT32 UINT32_MAX /* a field with this value refers to the zip64 record */

typedef struct member {
    char name[MAX_NAME];
    uint32_t crc;
    int method;
    uint64_t size, packed, offset; /* bytes of the .npy, bytes in the archive, offset of the local header */
} member;

typedef struct archive {
    pcgpu_context *context;
    FILE *stream;
    const char *name;
    uint64_t position;
    pcgpu_status status; /* of the first failed write */
} archive;

static void put(archive *a, const void *data, size_t size) {
    if (a->status == PCGPU_OK) {
        a->status = pc_write_bytes(a->context, a->stream, a->name, data, size);
        a->position += size;
    }
}

/* Appends a little-endian number of `size` bytes. */
static size_t number(unsigned char *out, size_t at, size_t size, uint64_t value) {
    memcpy(out + at, &value, size);
    return at + size;
}

static uint64_t clamp32(uint64_t value) {
    return value < LIMIT32 ? value : LIMIT32;
}

static bool deflate_some(z_stream *z, const void *data, size_t size, int flush) {
    const unsigned char *p = data;
    do {
        z->next_in = (z_const Bytef *)(uintptr_t)p;
        z->avail_in = (uInt)(size < CHUNK ? size : CHUNK);
        p += z->avail_in;
        size -= z->avail_in;
        bool last = flush == Z_FINISH && size == 0;
        int result = deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
        if (z->avail_in > 0 || (last && result != Z_STREAM_END)) {
            return false;
        }
    } while (size > 0);
    return true;
}

/* Deflates a header and data into at most `capacity` bytes; *packed is the size, or 0 when they do not fit. False when
 * memory is exhausted. */
static bool deflate_into(unsigned char *out, size_t capacity, const char *header, size_t header_size, const void *data,
                         size_t size, size_t *packed) {
    z_stream z = {0};
    *packed = 0;
    if (deflateInit2(&z, 1, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return false;
    }
    z.next_out = out;
    z.avail_out = (uInt)(capacity < CHUNK ? capacity : CHUNK);
    if (deflate_some(&z, header, header_size, Z_NO_FLUSH) && deflate_some(&z, data, size, Z_FINISH)) {
        *packed = (size_t)(z.next_out - out);
    }
    deflateEnd(&z);
    return true;
}

/* Returns the deflated member, or NULL when storing is better. Exhausted memory is an error, since the bytes of an
 * archive must not depend on it. A piece of 64 KiB from the middle decides. */
static unsigned char *try_deflate(archive *a, const char *header, size_t header_size, const void *data, size_t size,
                                  size_t *packed) {
    size_t piece = size < TRIAL ? size : TRIAL;
    size_t capacity = size / 2 + 1024;
    unsigned char *out = malloc(capacity);
    const unsigned char *middle = (const unsigned char *)data + (size - piece) / 2;
    bool good = out && deflate_into(out, piece / 2, "", 0, middle, piece, packed);
    if (good && *packed > 0) {
        good = deflate_into(out, capacity, header, header_size, data, size, packed);
    }
    if (!good) {
        a->status = pc_fail_memory(a->context, capacity, a->name);
    }
    if (!good || *packed == 0) {
        free(out);
        return NULL;
    }
    return out;
}

/* The common part of local and central headers, from "version needed" to the length of the name. */
static size_t common_fields(unsigned char *out, size_t at, const member *m, bool zip64, size_t extra) {
    at = number(out, at, 2, zip64 ? 45 : 20);
    at = number(out, at, 2, 1 << 11); /* the name is UTF-8 */
    at = number(out, at, 2, (uint64_t)m->method);
    at = number(out, at, 4, 0x00210000); /* 1980-01-01: the same input gives the same bytes */
    at = number(out, at, 4, m->crc);
    at = number(out, at, 4, zip64 ? LIMIT32 : m->packed);
    at = number(out, at, 4, zip64 ? LIMIT32 : m->size);
    at = number(out, at, 2, strlen(m->name));
    return number(out, at, 2, extra);
}

static bool needs_zip64(const member *m) {
    return m->size >= LIMIT32 || m->packed >= LIMIT32;
}

static void put_local_header(archive *a, const member *m) {
    unsigned char out[64];
    bool zip64 = needs_zip64(m);
    size_t at = number(out, 0, 4, 0x04034b50);
    at = common_fields(out, at, m, zip64, zip64 ? 20 : 0);
    put(a, out, at);
    put(a, m->name, strlen(m->name));
    if (zip64) {
        at = number(out, 0, 2, 1);
        at = number(out, at, 2, 16);
        at = number(out, at, 8, m->size);
        put(a, out, number(out, at, 8, m->packed));
    }
}

static void put_central_header(archive *a, const member *m) {
    unsigned char out[96];
    bool zip64 = needs_zip64(m) || m->offset >= LIMIT32;
    size_t at = number(out, 0, 4, 0x02014b50);
    at = number(out, at, 2, zip64 ? 45 : 20); /* made by */
    at = common_fields(out, at, m, zip64, zip64 ? 28 : 0);
    at = number(out, at, 2, 0); /* comment */
    at = number(out, at, 2, 0); /* disk */
    at = number(out, at, 2, 0); /* internal attributes */
    at = number(out, at, 4, 0); /* external attributes */
    at = number(out, at, 4, zip64 ? LIMIT32 : m->offset);
    put(a, out, at);
    put(a, m->name, strlen(m->name));
    if (zip64) {
        at = number(out, 0, 2, 1);
        at = number(out, at, 2, 24);
        at = number(out, at, 8, m->size);
        at = number(out, at, 8, m->packed);
        put(a, out, number(out, at, 8, m->offset));
    }
}

static void put_end(archive *a, uint64_t members, uint64_t directory) {
    unsigned char out[128];
    uint64_t size = a->position - directory;
    uint64_t end = a->position;
    size_t at = 0;
    if (members >= 0xffff || size >= LIMIT32 || directory >= LIMIT32) {
        at = number(out, at, 4, 0x06064b50);
        at = number(out, at, 8, 44); /* bytes that follow */
        at = number(out, at, 2, 45);
        at = number(out, at, 2, 45);
        at = number(out, at, 8, 0); /* disks */
        at = number(out, at, 8, members);
        at = number(out, at, 8, members);
        at = number(out, at, 8, size);
        at = number(out, at, 8, directory);
        at = number(out, at, 4, 0x07064b50);
        at = number(out, at, 4, 0);
        at = number(out, at, 8, end);
        at = number(out, at, 4, 1);
    }
    uint64_t shown = members < 0xffff ? members : 0xffff;
    at = number(out, at, 4, 0x06054b50);
    at = number(out, at, 4, 0); /* disks */
    at = number(out, at, 2, shown);
    at = number(out, at, 2, shown);
    at = number(out, at, 4, clamp32(size));
    at = number(out, at, 4, clamp32(directory));
    at = number(out, at, 2, 0); /* comment */
    put(a, out, at);
}

static void put_member(archive *a, const pcgpu_array *array, size_t size, member *m) {
    char header[PC_NPY_HEADER_SIZE];
    size_t header_size = pc_npy_header(header, array->type, array->dimensions, array->shape);
    size_t packed = 0;
    unsigned char *deflated = size ? try_deflate(a, header, header_size, array->data, size, &packed) : NULL;
    snprintf(m->name, sizeof m->name, "%s.npy", array->name);
    m->crc = (uint32_t)crc32_z(crc32_z(0, NULL, 0), (const Bytef *)header, header_size);
    if (size) {
        m->crc = (uint32_t)crc32_z(m->crc, array->data, size);
    }
    m->method = deflated ? DEFLATED : STORED;
    m->size = header_size + size;
    m->packed = deflated ? packed : m->size;
    m->offset = a->position;
    put_local_header(a, m);
    if (deflated) {
        put(a, deflated, packed);
    } else {
        put(a, header, header_size);
        put(a, array->data, size);
    }
    free(deflated);
}

static pcgpu_status write_npz(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_array *arrays,
                              int count) {
    archive a = {.context = context, .stream = stream, .name = name, .status = PCGPU_OK};
    member *members = calloc(count > 0 ? (size_t)count : 1, sizeof *members);
    if (!members) {
        return pc_fail_memory(context, (uint64_t)count * sizeof *members, name);
    }
    for (int i = 0; i < count && a.status == PCGPU_OK; i++) {
        size_t size;
        if (!arrays[i].name || !arrays[i].name[0] || strlen(arrays[i].name) > MAX_NAME - 8) {
            a.status = pc_fail(context, PCGPU_ERROR_ARGUMENT,
                               "%s: array %d has no name, or one over %d bytes; every member of "
                               "an .npz has a name",
                               name, i, MAX_NAME - 8);
            break;
        }
        a.status = pc_array_size(context, name, &arrays[i], &size);
        if (a.status == PCGPU_OK) {
            put_member(&a, &arrays[i], size, &members[i]);
        }
    }
    uint64_t directory = a.position;
    for (int i = 0; i < count; i++) {
        put_central_header(&a, &members[i]);
    }
    put_end(&a, (uint64_t)(count > 0 ? count : 0), directory);
    free(members);
    return a.status;
}

const pc_format pc_format_npz = {
    .info = {.name = "npz",
             .extension = ".npz",
             .writes_arrays = true,
             .description = "NumPy archive of several arrays"},
    .write_arrays = write_npz,
};
