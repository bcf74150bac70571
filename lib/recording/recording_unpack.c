/* Compressed chunks, by the libraries that the build found. */
#include "recording.h"

#include <stdlib.h>

#if PC_LZ4
#include <lz4frame.h>
#endif
#if PC_ZSTD
#include <zstd.h>
#endif
#if PC_BZIP2
#include <bzlib.h>
#endif

/* Each expands to exactly `size` bytes, or returns false. */
typedef bool unpack_fn(const void *data, size_t packed, unsigned char *out, size_t size);

#if PC_LZ4
static bool unpack_lz4(const void *data, size_t packed, unsigned char *out, size_t size) {
    LZ4F_dctx *context;
    const unsigned char *in = data;
    size_t read = 0, written = 0, more = 1;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) {
        return false;
    }
    while (more && !LZ4F_isError(more) && read < packed) {
        size_t n = size - written, used = packed - read;
        more = LZ4F_decompress(context, out + written, &n, in + read, &used, NULL);
        written += n;
        read += used;
        if (n == 0 && used == 0) {
            break;
        }
    }
    LZ4F_freeDecompressionContext(context);
    return more == 0 && written == size;
}
#else
#define unpack_lz4 NULL
#endif

#if PC_ZSTD
static bool unpack_zstd(const void *data, size_t packed, unsigned char *out, size_t size) {
    return ZSTD_decompress(out, size, data, packed) == size;
}
#else
#define unpack_zstd NULL
#endif

#if PC_BZIP2
static bool unpack_bzip2(const void *data, size_t packed, unsigned char *out, size_t size) {
    unsigned n = (unsigned)size;
    return packed <= UINT32_MAX && size <= UINT32_MAX &&
           BZ2_bzBuffToBuffDecompress((char *)out, &n, (char *)(uintptr_t)data, (unsigned)packed, 0, 0) == BZ_OK &&
           n == size;
}
#else
#define unpack_bzip2 NULL
#endif

static const struct {
    const char *name, *package;
    unpack_fn *unpack;
    uint64_t most; /* bytes that one byte can become */
} methods[] = {{"zstd", "libzstd-dev", unpack_zstd, 1 << 16},
               {"lz4", "liblz4-dev", unpack_lz4, 255},
               {"bz2", "libbz2-dev", unpack_bzip2, 1 << 21}};
enum { METHODS = sizeof methods / sizeof methods[0] };

const char *pc_recording_libraries(void) {
    static const char names[] = "" /* ", " before each */
#if PC_ZSTD
                                ", zstd"
#endif
#if PC_LZ4
                                ", lz4"
#endif
#if PC_BZIP2
                                ", bzip2"
#endif
#if PC_SQLITE
                                ", sqlite"
#endif
        ;
    return sizeof names > 1 ? names + 2 : "none";
}

pcgpu_status pc_fail_chunk(const pc_file *file, uint64_t at, const char *what) {
    return pc_fail_format(file, "the %s of the chunk at byte %llu is wrong; the recording is damaged, so copy it again",
                          what, (unsigned long long)at);
}

static pcgpu_status fail_library(const pc_file *file, const char *method, const char *package) {
    return pc_fail_file(file, PCGPU_ERROR_IO,
                        "is compressed by %s, which this build does not expand; build pcgpu with %s", method, package);
}

static pcgpu_status unpack(const pc_file *file, uint64_t at, const char *method, const pc_bytes *packed, uint64_t size,
                           pc_bytes *out) {
    int i = 0;
    while (i < METHODS && strcmp(method, methods[i].name) != 0) {
        i++;
    }
    if (i == METHODS) {
        const pc_shown shown = pc_span_show((pc_span){method, strlen(method)});
        return pc_fail_format(file,
                              "the chunk at byte %llu is compressed by '%s', and lz4, zstd and bz2 are read; "
                              "record it with one of them",
                              (unsigned long long)at, shown.text);
    }
    if (!methods[i].unpack) {
        return fail_library(file, method, methods[i].package);
    }
    if (size > pc_bytes_limit() || size / methods[i].most > packed->size) {
        return pc_fail_chunk(file, at, "declared size");
    }
    *out = (pc_bytes){malloc((size_t)size + 1), (size_t)size};
    if (!out->data) {
        return pc_fail_file_memory(file, size);
    }
    if (methods[i].unpack(packed->data, packed->size, out->data, (size_t)size)) {
        return PCGPU_OK;
    }
    pc_bytes_free(out);
    return pc_fail_chunk(file, at, "compressed data");
}

pcgpu_status pc_unpack(pc_recording *r, const pc_file *file, uint64_t at, const char *method, pc_bytes *packed,
                       uint64_t size, pc_bytes *out) {
    if (!method[0] || strcmp(method, "none") == 0) {
        *out = *packed;
        return PCGPU_OK;
    }
    const pcgpu_status status = unpack(file, at, method, packed, size, out);
    pc_recording_unload(r, packed);
    return status;
}

/* ---- zstd of a size that only the frames know ------------------------------------------------------------------- */

bool pc_zstd_begins(const void *data, size_t size) {
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    return size >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

#if PC_ZSTD
/* Expands all frames. `out` grows. */
static pcgpu_status expand_frames(const pc_file *file, ZSTD_DStream *stream, const pc_bytes *packed, pc_bytes *out) {
    ZSTD_inBuffer in = {packed->data, packed->size, 0};
    ZSTD_outBuffer to = {NULL, 0, 0};
    size_t more = 1;
    while (in.pos < in.size || more) {
        if (to.pos == to.size) {
            const size_t size = to.size ? 2 * to.size : 8 * packed->size + (1 << 16);
            unsigned char *grown = size < pc_bytes_limit() ? realloc(out->data, size + 1) : NULL;
            if (!grown) {
                return pc_fail_file_memory(file, size);
            }
            out->data = grown;
            to.dst = grown;
            to.size = size;
        }
        const size_t before = in.pos + to.pos;
        more = ZSTD_decompressStream(stream, &to, &in);
        if (ZSTD_isError(more) || (in.pos + to.pos == before && to.pos < to.size)) { /* damaged, or cut */
            return pc_fail_format(file, "its zstd data are damaged or cut short; copy the recording again");
        }
    }
    out->size = to.pos;
    return PCGPU_OK;
}

pcgpu_status pc_unpack_zstd(const pc_file *file, pc_bytes *bytes) {
    pc_bytes out = {0};
    ZSTD_DStream *stream = ZSTD_createDStream();
    const pcgpu_status status =
        stream ? expand_frames(file, stream, bytes, &out) : pc_fail_file_memory(file, sizeof out);
    ZSTD_freeDStream(stream);
    pc_bytes_free(bytes);
    if (status != PCGPU_OK) {
        pc_bytes_free(&out);
    }
    *bytes = out;
    return status;
}
#else
pcgpu_status pc_unpack_zstd(const pc_file *file, pc_bytes *bytes) {
    pc_bytes_free(bytes);
    return fail_library(file, "zstd", "libzstd-dev");
}
#endif
