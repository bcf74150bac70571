/* .npz, reading: the array of a zip archive that is a cloud. Members are .npy files, stored or deflated; the directory
 * at the end of the archive says where. Format: PKWARE APPNOTE 6.3, with zip64. */
#include "io.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { END = 22, LOCATOR = 20, END64 = 56, CENTRAL = 46, LOCAL = 30, COMMENT = 65535, TRIAL = 1 << 12 };

typedef struct entry {
    pc_span name; /* with .npy */
    uint32_t crc;
    int method, flags;
    uint64_t packed, size, offset;
} entry;

typedef struct archive {
    const pc_file *file;
    const unsigned char *data;
    size_t size;
    size_t at, left; /* of the directory: the next entry, entries to come */
} archive;

static pcgpu_status fail_damaged(const archive *a, const char *what) {
    return pc_fail_format(a->file, "%s; it is damaged or cut short, so copy it again", what);
}

/* Whether `size` bytes at `at` are there. */
static bool within(const archive *a, uint64_t at, uint64_t size) {
    return at <= a->size && size <= a->size - at;
}

static bool has_mark(const archive *a, uint64_t at, uint64_t size, const char mark[4]) {
    return within(a, at, size) && memcmp(a->data + at, mark, 4) == 0;
}

/* Finds the directory. */
static pcgpu_status open_archive(archive *a) {
    const size_t least = a->size > END + COMMENT ? a->size - END - COMMENT : 0;
    size_t end = a->size < END ? 0 : a->size - END;
    while (end > least && !has_mark(a, end, END, "PK\5\6")) {
        end--;
    }
    if (!has_mark(a, end, END, "PK\5\6")) {
        return fail_damaged(a, "the directory of the archive is missing at its end");
    }
    uint64_t count = pc_load_number(a->data + end + 10, 2), at = pc_load_number(a->data + end + 16, 4);
    if (end >= LOCATOR && has_mark(a, end - LOCATOR, LOCATOR, "PK\6\7")) {
        const uint64_t end64 = pc_load_number(a->data + end - LOCATOR + 8, 8);
        if (!has_mark(a, end64, END64, "PK\6\6")) {
            return fail_damaged(a, "the 64-bit directory of the archive is missing");
        }
        count = pc_load_number(a->data + end64 + 32, 8);
        at = pc_load_number(a->data + end64 + 48, 8);
    }
    if (at > a->size || count > (a->size - at) / CENTRAL) {
        return fail_damaged(a, "the directory of the archive lies outside of it");
    }
    a->at = (size_t)at;
    a->left = (size_t)count;
    return PCGPU_OK;
}

/* Sizes and offset of 64 bits, in this order, where those of 32 are all ones. False when they are not there. */
static bool read_zip64(const unsigned char *extra, size_t size, entry *e) {
    uint64_t *const wide[] = {&e->size, &e->packed, &e->offset};
    size_t at = 0;
    while (size - at >= 4 && pc_load_number(extra + at, 2) != 1) {
        const size_t field = 4 + (size_t)pc_load_number(extra + at + 2, 2);
        if (field > size - at) {
            return false;
        }
        at += field;
    }
    size_t left = size - at >= 4 ? (size_t)pc_load_number(extra + at + 2, 2) : 0;
    left = left < size - at - (left ? 4 : 0) ? left : size - at - (left ? 4 : 0);
    at += 4;
    for (int i = 0; i < 3; i++) {
        if (*wide[i] == UINT32_MAX) {
            if (left < 8) {
                return false;
            }
            *wide[i] = pc_load_number(extra + at, 8);
            at += 8;
            left -= 8;
        }
    }
    return true;
}

/* Reads the next entry of the directory. */
static pcgpu_status next_entry(archive *a, entry *e) {
    if (!has_mark(a, a->at, CENTRAL, "PK\1\2")) {
        return fail_damaged(a, "an entry of the directory of the archive is missing");
    }
    const unsigned char *p = a->data + a->at;
    const size_t name = (size_t)pc_load_number(p + 28, 2), extra = (size_t)pc_load_number(p + 30, 2),
                 comment = (size_t)pc_load_number(p + 32, 2);
    if (!within(a, a->at, CENTRAL + name + extra + comment)) {
        return fail_damaged(a, "an entry of the directory of the archive is cut");
    }
    *e = (entry){.name = {(const char *)p + CENTRAL, name},
                 .flags = (int)pc_load_number(p + 8, 2),
                 .method = (int)pc_load_number(p + 10, 2),
                 .crc = (uint32_t)pc_load_number(p + 16, 4),
                 .packed = pc_load_number(p + 20, 4),
                 .size = pc_load_number(p + 24, 4),
                 .offset = pc_load_number(p + 42, 4)};
    a->at += CENTRAL + name + extra + comment;
    a->left--;
    return read_zip64(p + CENTRAL + name, extra, e) ? PCGPU_OK : fail_damaged(a, "an entry has no 64-bit sizes");
}

/* The bytes of a member as they are in the archive. */
static pcgpu_status find_data(const archive *a, const entry *e, const unsigned char **data) {
    if (!has_mark(a, e->offset, LOCAL, "PK\3\4")) {
        return fail_damaged(a, "a member of the archive is not where the directory says");
    }
    const unsigned char *p = a->data + e->offset;
    const uint64_t begin = e->offset + LOCAL + pc_load_number(p + 26, 2) + pc_load_number(p + 28, 2);
    if (!within(a, begin, e->packed)) {
        return fail_damaged(a, "a member of the archive ends after the file");
    }
    *data = a->data + begin;
    return PCGPU_OK;
}

/* Expands a member into new memory; with `trial`, only its beginning, whose errors are none. */
static pcgpu_status extract(const archive *a, const entry *e, bool trial, pc_bytes *out) {
    const unsigned char *data = NULL;
    *out = (pc_bytes){NULL, 0};
    PC_TRY(find_data(a, e, &data));
    if ((e->flags & 1) || (e->method != 0 && e->method != Z_DEFLATED)) {
        return pc_fail_format(a->file,
                              "member '%s' is encrypted or packed by method %d; save it with numpy.savez_compressed",
                              pc_span_show(e->name).text, e->method);
    }
    if (e->method == Z_DEFLATED && !trial) {
        return e->size > SIZE_MAX / 2 ? pc_fail_file_memory(a->file, e->size)
                                      : pc_inflate(a->file, data, (size_t)e->packed, false, (size_t)e->size, out);
    }
    const size_t size = (size_t)(trial && e->packed > TRIAL ? TRIAL : e->packed);
    out->data = malloc((trial && size < TRIAL ? TRIAL : size) + 1);
    if (!out->data) {
        return pc_fail_file_memory(a->file, size);
    }
    if (e->method == Z_DEFLATED) {
        z_stream z = {.next_in = (z_const Bytef *)(uintptr_t)data,
                      .avail_in = (uInt)size,
                      .next_out = out->data,
                      .avail_out = TRIAL};
        if (inflateInit2(&z, -MAX_WBITS) == Z_OK) {
            inflate(&z, Z_SYNC_FLUSH);
            inflateEnd(&z);
        }
        out->size = TRIAL - z.avail_out;
    } else {
        memcpy(out->data, data, size);
        out->size = size;
    }
    out->data[out->size] = '\0';
    return PCGPU_OK;
}

/* ---- the array --------------------------------------------------------------------------------------------------- */

static bool is_npy(pc_span name) {
    return name.n > 4 && memcmp(name.p + name.n - 4, ".npy", 4) == 0;
}

static pc_span array_name(const entry *e) {
    return (pc_span){e->name.p, e->name.n - (is_npy(e->name) ? 4 : 0)};
}

/* What the members of an archive are, for the choice of one and for messages. */
typedef struct survey {
    int arrays, clouds;
    entry only, cloud; /* the last array; the last that can be a cloud, or the one called points */
    char list[512];    /* "points (100, 4) <f4, ..." */
} survey;

static pcgpu_status look_at(const archive *a, const entry *e, survey *s) {
    pc_bytes head;
    pc_npy npy = {0};
    PC_TRY(extract(a, e, true, &head));
    const bool array = pc_npy_begins(&head) && pc_npy_parse(a->file, &head, &npy) == PCGPU_OK;
    pc_clear_error(a->file->context); /* records and texts are no clouds, which is no error */
    const size_t used = strlen(s->list);
    snprintf(s->list + used, sizeof s->list - used, "%s%s %s%s%s", used ? ", " : "", pc_span_show(array_name(e)).text,
             array ? npy.shape_text.text : "of records", array ? " " : "", array ? npy.type_text.text : "");
    s->arrays++;
    s->only = *e;
    const bool points = pc_span_is(array_name(e), "points");
    if (array && (pc_npy_is_cloud(&npy) || (points && npy.records.n > 0))) {
        const bool before = s->clouds > 0 && pc_span_is(array_name(&s->cloud), "points");
        s->clouds = points || before ? 1 : s->clouds + 1;
        s->cloud = before ? s->cloud : *e;
    }
    pc_bytes_free(&head);
    return PCGPU_OK;
}

/* Chooses the array called `wanted`; without a name the only one, or the only one that can be a cloud, or points. */
static pcgpu_status choose(archive *a, const char *wanted, entry *chosen) {
    survey s = {0};
    PC_TRY(open_archive(a));
    while (a->left > 0) {
        PC_TRY(next_entry(a, chosen));
        if (wanted && (pc_span_is(chosen->name, wanted) || pc_span_is(array_name(chosen), wanted))) {
            return PCGPU_OK;
        }
        if (is_npy(chosen->name)) {
            PC_TRY(look_at(a, chosen, &s));
        }
    }
    *chosen = s.clouds == 1 ? s.cloud : s.only;
    if (!wanted && (s.clouds == 1 || s.arrays == 1)) {
        return PCGPU_OK;
    }
    const char *remedy = s.arrays == 0 ? "save it with numpy.savez" : "give --format npz:NAME, of points x columns";
    if (wanted && s.arrays > 0) {
        return pc_fail_format(a->file, "has no array '%s', only: %s; give one of them",
                              pc_span_show((pc_span){wanted, strlen(wanted)}).text, s.list);
    }
    if (a->file->options->file) {
        pcgpu_file_info *file = a->file->options->file;
        snprintf(file->arrays, sizeof file->arrays, "%s", s.list);
    }
    return pc_fail_format(a->file, "holds %s; %s", s.arrays ? s.list : "no arrays", remedy);
}

pcgpu_status pc_npz_read(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud) {
    archive a = {.file = file, .data = bytes->data, .size = bytes->size};
    entry e;
    pc_bytes npy = {NULL, 0};
    if (!has_mark(&a, 0, 4, "PK\3\4") && !has_mark(&a, 0, 4, "PK\5\6")) {
        return pc_fail_format(file, "does not begin as a .npz file; give --format if it is another");
    }
    const char *colon = file->options->format ? strchr(file->options->format, ':') : NULL;
    PC_TRY(choose(&a, colon ? colon + 1 : NULL, &e));
    PC_TRY(extract(&a, &e, false, &npy));
    pcgpu_status status;
    if (npy.size != e.size || crc32_z(0, npy.data, npy.size) != e.crc) {
        status = fail_damaged(&a, "a member of the archive has another size or checksum than the directory says");
    } else {
        char shown[600];
        snprintf(shown, sizeof shown, "%.500s: array '%s'", file->name, pc_span_show(array_name(&e)).text);
        pc_log(file->context, PCGPU_LOG_INFO, "%s is read", shown);
        pc_file member = *file;
        member.name = shown;
        status = pc_npy_read(&member, &npy, cloud);
        if (file->options->file) {
            char inner[sizeof file->options->file->encoding];
            memcpy(inner, file->options->file->encoding, sizeof inner);
            pc_say_encoding(file, "array '%s' %.40s", pc_span_show(array_name(&e)).text, inner);
        }
    }
    pc_bytes_free(&npy);
    return status;
}

pcgpu_status pc_npz_array(const pc_file *file, const pc_bytes *bytes, const char *wanted, pc_bytes *npy) {
    archive a = {.file = file, .data = bytes->data, .size = bytes->size};
    entry e;
    *npy = (pc_bytes){NULL, 0};
    pcgpu_status status = open_archive(&a);
    while (status == PCGPU_OK && a.left > 0) {
        status = next_entry(&a, &e);
        if (status == PCGPU_OK && is_npy(e.name) && pc_span_is(array_name(&e), wanted)) {
            return extract(&a, &e, false, npy);
        }
    }
    return PCGPU_ERROR_FORMAT;
}
