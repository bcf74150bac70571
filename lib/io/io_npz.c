/* .npz of NumPy, written: a zip archive with one .npy a member. The sizes and the checksum of a member are known before
 * its header is written, so nothing is patched afterwards and the stream may be a pipe.
 *
 * Arrays padded with zeros (points and pillars of voxels) are deflated; float32 measurements hardly shrink, and are
 * stored. Format: PKWARE APPNOTE 6.3, with zip64 where 32 bits are too few. */
#include "io.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { TRIAL = 1 << 16, PART = 1 << 20, MAX_NAME = 256, STORED = 0, DEFLATED = 8 };

#define LIMIT32 UINT32_MAX /* a field with this value refers to the zip64 record */

typedef struct member {
    char name[MAX_NAME];
    uint32_t crc;
    int method;
    uint64_t size, packed, offset; /* bytes of the .npy, bytes in the archive, offset of the local header */
} member;

typedef struct archive {
    const pc_file *file;
    uint64_t position;
    pcgpu_status status; /* of the first failed write */
} archive;

static void put(archive *a, const void *data, size_t size) {
    if (a->status == PCGPU_OK) {
        a->status = pc_write_bytes(a->file, data, size);
        a->position += size;
    }
}

static uint64_t clamp32(uint64_t value) {
    return value < LIMIT32 ? value : LIMIT32;
}

/* ---- members that are deflated ----------------------------------------------------------------------------------- */

/* The bytes of a member, deflated in parts by the threads of the context. A part ends at a byte and refers to none
 * before it (zlib's Z_FULL_FLUSH), so the parts one after the other are one stream, whatever thread made which. */
typedef struct packing {
    const char *header; /* before the data, in the first part */
    size_t header_size;
    const unsigned char *data;
    size_t size;
    int level, parts;
    bool store;         /* the checksum alone */
    size_t most;        /* bytes of a deflated part */
    unsigned char *out; /* of `most` bytes each */
    size_t packed[];    /* by parts, 0: without memory; then the checksums by parts */
} packing;

static size_t *checksums(packing *p) {
    return p->packed + p->parts;
}

static size_t part_size(const packing *p, int part) {
    const size_t left = p->size - (size_t)part * PART;
    return left < PART ? left : PART;
}

/* Level 1 is the run lengths of zlib, Z_RLE: padding is what these arrays can lose, and the numbers between it hardly
 * shrink. It takes two thirds of the time of zlib's own level 1. */
static bool begin_deflate(z_stream *z, int level) {
    return deflateInit2(z, level, Z_DEFLATED, -MAX_WBITS, 8, level == 1 ? Z_RLE : Z_DEFAULT_STRATEGY) == Z_OK;
}

static void feed(z_stream *z, const void *data, size_t size, int flush) {
    z->next_in = (z_const Bytef *)(uintptr_t)data;
    z->avail_in = (uInt)size;
    deflate(z, flush);
}

static void deflate_part(void *state, int part) {
    packing *p = state;
    z_stream z = {0};
    const unsigned char *data = p->data + (size_t)part * PART;
    const size_t size = part_size(p, part);
    const uLong before = part == 0 ? crc32_z(0, (const Bytef *)p->header, p->header_size) : crc32_z(0, NULL, 0);
    checksums(p)[part] = size ? crc32_z(before, data, size) : before;
    p->packed[part] = 0;
    if (p->store || !begin_deflate(&z, p->level)) {
        return;
    }
    z.next_out = p->out + (size_t)part * p->most;
    z.avail_out = (uInt)p->most;
    if (part == 0) {
        feed(&z, p->header, p->header_size, Z_NO_FLUSH);
    }
    feed(&z, data, size, part + 1 == p->parts ? Z_FINISH : Z_FULL_FLUSH);
    p->packed[part] = p->most - z.avail_out;
    deflateEnd(&z);
}

/* Whether a piece of 64 KiB from the middle deflates to less than half of it. */
static bool is_worth(int level, const unsigned char *data, size_t size, bool *worth) {
    unsigned char *out;
    z_stream z = {0};
    const size_t piece = size < TRIAL ? size : TRIAL;
    *worth = false;
    if (level == 0 || size == 0) {
        return true;
    }
    if (!(out = malloc(TRIAL / 2)) || !begin_deflate(&z, level)) {
        free(out);
        return false;
    }
    z.next_out = out;
    z.avail_out = (uInt)(piece / 2);
    feed(&z, data + (size - piece) / 2, piece, Z_FINISH);
    *worth = z.avail_in == 0 && z.avail_out > 0;
    deflateEnd(&z);
    free(out);
    return true;
}

/* The packing of a member, malloc'd, with its sum in *packed, 0 where storing is better; NULL after an error: the bytes
 * of an archive must not depend on the memory that is left. */
static packing *pack(archive *a, const char *header, size_t header_size, const void *data, size_t size,
                     size_t *packed) {
    const size_t parts = size ? (size + PART - 1) / PART : 1, most = PART + PART / 1000 + PC_NPY_HEADER_SIZE + 256;
    const int given = a->file->context ? a->file->context->settings.compression : 0, level = given == 0  ? 1
                                                                                             : given > 0 ? given
                                                                                                         : 0;
    bool worth = false, good = is_worth(level, data, size, &worth);
    packing *p = good ? malloc(sizeof *p + 2 * parts * sizeof p->packed[0]) : NULL;
    unsigned char *out = p && worth ? malloc(parts * most) : NULL;
    *packed = 0;
    if (!p || (worth && !out)) {
        free(p);
        a->status = pc_fail_file_memory(a->file, parts * most);
        return NULL;
    }
    *p = (packing){.header = header,
                   .header_size = header_size,
                   .data = data,
                   .size = size,
                   .level = level,
                   .parts = (int)parts,
                   .store = !worth,
                   .most = most,
                   .out = out};
    pc_run_parts(a->file->context, p->parts, deflate_part, p);
    for (int i = 0; i < p->parts && worth; i++) {
        good = good && p->packed[i] > 0;
        *packed += p->packed[i];
    }
    if (!good) {
        a->status = pc_fail_file_memory(a->file, parts * most);
    }
    *packed = *packed < size / 2 + 1024 ? *packed : 0;
    return p;
}

static uint32_t checksum(packing *p) {
    uLong crc = checksums(p)[0];
    for (int i = 1; i < p->parts; i++) {
        crc = crc32_combine(crc, checksums(p)[i], (z_off_t)part_size(p, i));
    }
    return (uint32_t)crc;
}

/* ---- the archive ------------------------------------------------------------------------------------------------- */

/* The common part of local and central headers, from "version needed" to the length of the name. */
static size_t common_fields(unsigned char *out, size_t at, const member *m, bool zip64, size_t extra) {
    at = pc_put_number(out, at, 2, zip64 ? 45 : 20);
    at = pc_put_number(out, at, 2, 1 << 11); /* the name is UTF-8 */
    at = pc_put_number(out, at, 2, (uint64_t)m->method);
    at = pc_put_number(out, at, 4, 0x00210000); /* 1980-01-01: the same input gives the same bytes */
    at = pc_put_number(out, at, 4, m->crc);
    at = pc_put_number(out, at, 4, zip64 ? LIMIT32 : m->packed);
    at = pc_put_number(out, at, 4, zip64 ? LIMIT32 : m->size);
    at = pc_put_number(out, at, 2, strlen(m->name));
    return pc_put_number(out, at, 2, extra);
}

static bool needs_zip64(const member *m) {
    return m->size >= LIMIT32 || m->packed >= LIMIT32;
}

static void put_local_header(archive *a, const member *m) {
    unsigned char out[64];
    bool zip64 = needs_zip64(m);
    size_t at = pc_put_number(out, 0, 4, 0x04034b50);
    at = common_fields(out, at, m, zip64, zip64 ? 20 : 0);
    put(a, out, at);
    put(a, m->name, strlen(m->name));
    if (zip64) {
        at = pc_put_number(out, 0, 2, 1);
        at = pc_put_number(out, at, 2, 16);
        at = pc_put_number(out, at, 8, m->size);
        put(a, out, pc_put_number(out, at, 8, m->packed));
    }
}

static void put_central_header(archive *a, const member *m) {
    unsigned char out[96];
    bool zip64 = needs_zip64(m) || m->offset >= LIMIT32;
    size_t at = pc_put_number(out, 0, 4, 0x02014b50);
    at = pc_put_number(out, at, 2, zip64 ? 45 : 20); /* made by */
    at = common_fields(out, at, m, zip64, zip64 ? 28 : 0);
    at = pc_put_number(out, at, 2, 0); /* comment */
    at = pc_put_number(out, at, 2, 0); /* disk */
    at = pc_put_number(out, at, 2, 0); /* internal attributes */
    at = pc_put_number(out, at, 4, 0); /* external attributes */
    at = pc_put_number(out, at, 4, zip64 ? LIMIT32 : m->offset);
    put(a, out, at);
    put(a, m->name, strlen(m->name));
    if (zip64) {
        at = pc_put_number(out, 0, 2, 1);
        at = pc_put_number(out, at, 2, 24);
        at = pc_put_number(out, at, 8, m->size);
        at = pc_put_number(out, at, 8, m->packed);
        put(a, out, pc_put_number(out, at, 8, m->offset));
    }
}

static void put_end(archive *a, uint64_t members, uint64_t directory) {
    unsigned char out[128];
    uint64_t size = a->position - directory;
    uint64_t end = a->position;
    size_t at = 0;
    if (members >= 0xffff || size >= LIMIT32 || directory >= LIMIT32) {
        at = pc_put_number(out, at, 4, 0x06064b50);
        at = pc_put_number(out, at, 8, 44); /* bytes that follow */
        at = pc_put_number(out, at, 2, 45);
        at = pc_put_number(out, at, 2, 45);
        at = pc_put_number(out, at, 8, 0); /* disks */
        at = pc_put_number(out, at, 8, members);
        at = pc_put_number(out, at, 8, members);
        at = pc_put_number(out, at, 8, size);
        at = pc_put_number(out, at, 8, directory);
        at = pc_put_number(out, at, 4, 0x07064b50);
        at = pc_put_number(out, at, 4, 0);
        at = pc_put_number(out, at, 8, end);
        at = pc_put_number(out, at, 4, 1);
    }
    uint64_t shown = members < 0xffff ? members : 0xffff;
    at = pc_put_number(out, at, 4, 0x06054b50);
    at = pc_put_number(out, at, 4, 0); /* disks */
    at = pc_put_number(out, at, 2, shown);
    at = pc_put_number(out, at, 2, shown);
    at = pc_put_number(out, at, 4, clamp32(size));
    at = pc_put_number(out, at, 4, clamp32(directory));
    at = pc_put_number(out, at, 2, 0); /* comment */
    put(a, out, at);
}

static void put_member(archive *a, const pcgpu_array *array, size_t size, member *m) {
    char header[PC_NPY_HEADER_SIZE];
    size_t header_size = pc_npy_header(header, array->type, array->dimensions, array->shape);
    size_t packed = 0;
    packing *p = pack(a, header, header_size, array->data, size, &packed);
    if (!p) {
        return;
    }
    snprintf(m->name, sizeof m->name, "%s.npy", array->name);
    m->crc = checksum(p);
    m->method = packed ? DEFLATED : STORED;
    m->size = header_size + size;
    m->packed = packed ? packed : m->size;
    m->offset = a->position;
    put_local_header(a, m);
    for (int i = 0; i < p->parts && packed; i++) {
        put(a, p->out + (size_t)i * p->most, p->packed[i]);
    }
    if (!packed) {
        put(a, header, header_size);
        put(a, array->data, size);
    }
    free(p->out);
    free(p);
}

static pcgpu_status write_npz(const pc_file *file, const pcgpu_array *arrays, int count) {
    archive a = {.file = file, .status = PCGPU_OK};
    member *members = calloc(count > 0 ? (size_t)count : 1, sizeof *members);
    if (!members) {
        return pc_fail_file_memory(file, (uint64_t)count * sizeof *members);
    }
    for (int i = 0; i < count && a.status == PCGPU_OK; i++) {
        size_t size;
        if (!arrays[i].name || !arrays[i].name[0] || strlen(arrays[i].name) > MAX_NAME - 8) {
            a.status = pc_fail_file(file, PCGPU_ERROR_ARGUMENT,
                                    "array %d has no name, or one over %d bytes; every member of an .npz has a name", i,
                                    MAX_NAME - 8);
            break;
        }
        a.status = pc_array_size(file, &arrays[i], &size);
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
             .reads = true,
             .writes_arrays = true,
             .description =
                 "NumPy: an array of an archive, by --format npz:NAME where several fit; written with the arrays of "
                 "voxelize"},
    .begins = {"PK\3\4"},
    .read = pc_npz_read,
    .write_arrays = write_npz,
};
