/* Deflated data: files of gzip, which may hold any other format, and members of .npz. */
#include "io.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { FIRST = 1 << 18, DEFLATE_MOST = 1032 /* bytes that one deflated byte can become */ };

/* Bytes of the output at first, and at most. */
typedef struct capacity {
    size_t now, most;
} capacity;

static bool grow(pc_bytes *out, capacity *c) {
    c->now = c->now > c->most / 2 ? c->most : c->now * 2;
    unsigned char *data = realloc(out->data, c->now + 1);
    out->data = data ? data : out->data;
    return data != NULL;
}

/* Inflates up to the end of a stream, appending to `out`. zlib counts in 32 bits, so that both sides come in parts. */
static int inflate_stream(z_stream *z, const unsigned char *in, size_t size, size_t *used, pc_bytes *out, capacity *c) {
    enum { PART = 1 << 30 };
    int code = Z_OK;
    size_t at = 0;
    while (code == Z_OK) {
        if (out->size == c->now && (c->now == c->most || !grow(out, c))) {
            return c->now == c->most ? Z_BUF_ERROR : Z_MEM_ERROR;
        }
        const size_t left = size - at, space = c->now - out->size;
        z->next_in = (z_const Bytef *)(uintptr_t)(in + at);
        z->avail_in = (uInt)(left < PART ? left : PART);
        z->next_out = out->data + out->size;
        z->avail_out = (uInt)(space < PART ? space : PART);
        const uInt in_before = z->avail_in, out_before = z->avail_out;
        code = inflate(z, Z_NO_FLUSH);
        at += in_before - z->avail_in;
        out->size += out_before - z->avail_out;
        if (code == Z_BUF_ERROR && z->avail_out == 0) {
            code = Z_OK;
        }
    }
    *used = at;
    return code;
}

static pcgpu_status fail(const pc_file *file, int code, const pc_bytes *out, const capacity *c) {
    return code == Z_MEM_ERROR ? pc_fail_file_memory(file, c->now)
           : out->size == c->most
               ? pc_fail_format(file, "expands to more than %.0f MB; give a smaller file, or a part of it",
                                (double)c->most / 1e6)
               : pc_fail_format(file,
                                "its compressed data is damaged or cut short after %zu expanded bytes; copy it again",
                                out->size);
}

pcgpu_status pc_inflate(const pc_file *file, const void *data, size_t size, bool gzip, size_t most, pc_bytes *out) {
    const unsigned char *in = data;
    const size_t possible = size < SIZE_MAX / DEFLATE_MOST - 64 ? (size + 64) * DEFLATE_MOST : SIZE_MAX - 1;
    capacity c = {FIRST, most < possible ? most : possible};
    c.now = c.now < c.most ? c.now : c.most;
    *out = (pc_bytes){malloc(c.now + 1), 0};
    if (!out->data) {
        return pc_fail_file_memory(file, c.now);
    }
    int code = Z_OK;
    do { /* a file of gzip may have several members, one after the other */
        z_stream z = {0};
        size_t used = 0;
        code = inflateInit2(&z, gzip ? 16 + MAX_WBITS : -MAX_WBITS);
        if (code == Z_OK) {
            code = inflate_stream(&z, in, size, &used, out, &c);
            inflateEnd(&z);
        }
        in += used;
        size -= used;
    } while (code == Z_STREAM_END && gzip && pc_gzip_begins(in, size));
    out->data[out->size] = '\0';
    pcgpu_status status = code == Z_STREAM_END ? PCGPU_OK : fail(file, code, out, &c);
    if (status != PCGPU_OK) {
        pc_bytes_free(out);
    }
    return status;
}

/* The reserved flags are zero (RFC 1952, 2.3.1): a float32 that begins so has them, unless it is below 1e-18. */
bool pc_gzip_begins(const void *data, size_t size) {
    return size >= 4 && memcmp(data, "\x1f\x8b\x08", 3) == 0 && (((const unsigned char *)data)[3] & 0xe0) == 0;
}

/* Never chosen for reading: io.c expands the file and looks at what it holds. */
const pc_format pc_format_gzip = {
    .info = {.name = "gzip", .extension = ".gz", .reads = true, .description = "any of the above, compressed by gzip"},
};
