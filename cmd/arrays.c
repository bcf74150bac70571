/* Arrays next to a cloud: as text, and record indices read back. */
#include "arrays.h"
#include "numbers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool ends_with(const char *path, const char *extension) {
    size_t n = strlen(path), e = strlen(extension);
    return n > e && strcasecmp(path + n - e, extension) == 0;
}

/* ---- writing ---- */

bool array_is_text(const char *path) {
    return ends_with(path, ".txt");
}

void array_write_text(FILE *stream, const pcgpu_array *array) {
    char buffer[NUMBER_SIZE];
    int64_t columns = 1;
    for (int k = 1; k < array->dimensions; k++) {
        columns *= array->shape[k];
    }
    for (int64_t i = 0; i < array->shape[0] * columns; i++) {
        const char *end = (i + 1) % columns ? " " : "\n";
        if (array->type == PCGPU_INT32) {
            fprintf(stream, "%" PRId32 "%s", ((const int32_t *)array->data)[i], end);
        } else {
            fprintf(stream, "%s%s", number_text((double)((const float *)array->data)[i], true, buffer), end);
        }
    }
}

/* ---- reading ---- */

typedef struct bytes {
    char *data; /* and a NUL behind it */
    size_t size;
} bytes;

static bool read_bytes(FILE *stream, bytes *b, char *why, size_t why_size) {
    size_t room = 0, got = 1;
    while (got > 0) {
        if (b->size + 1 >= room) {
            room = room ? 2 * room : 1 << 16;
            char *data = realloc(b->data, room);
            if (!data) {
                snprintf(why, why_size, "out of memory");
                return false;
            }
            b->data = data;
        }
        got = fread(b->data + b->size, 1, room - 1 - b->size, stream);
        b->size += got;
    }
    b->data[b->size] = '\0';
    if (ferror(stream)) {
        snprintf(why, why_size, "cannot be read; give a file of record indices");
        return false;
    }
    return true;
}

/* Of int32 values only such above 150 million could look like this. */
static bool looks_like_text(const bytes *b) {
    for (size_t i = 0; i < b->size; i++) {
        char c = b->data[i];
        if (!((c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t')) {
            return false;
        }
    }
    return true;
}

/* One line without its end as a record index. */
static bool parse_line(const char *text, size_t size, int64_t *value) {
    size_t i = 0;
    while (size > 0 && strchr(" \t\r", text[size - 1])) {
        size--;
    }
    while (i < size && (text[i] == ' ' || text[i] == '\t')) {
        i++;
    }
    bool good = i < size;
    for (*value = 0; i < size && good; i++) {
        good = text[i] >= '0' && text[i] <= '9' && *value <= INT32_MAX;
        *value = good ? *value * 10 + (text[i] - '0') : *value;
    }
    return good && *value <= INT32_MAX;
}

static bool read_text(const bytes *b, int32_t *records, int64_t *count, char *why, size_t why_size) {
    const char *p = b->data, *end = p + b->size;
    while (p < end) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t size = (size_t)((newline ? newline : end) - p);
        int64_t value;
        if (!parse_line(p, size, &value)) {
            char shown[24];
            snprintf(shown, sizeof shown, "%.*s", size < sizeof shown ? (int)size : (int)sizeof shown - 1, p);
            for (char *c = shown; *c; c++) {
                *c = *c >= ' ' && *c <= '~' ? *c : '?'; /* a binary file may hold what steers terminals */
            }
            snprintf(why, why_size, "line %" PRId64 ": \"%s\" is not a record index; give one whole number a line",
                     *count + 1, shown);
            return false;
        }
        records[(*count)++] = (int32_t)value;
        p = newline ? newline + 1 : end;
    }
    return true;
}

/* The header of a .npy as text, or NULL; *start is where its values begin. */
static const char *npy_header(bytes *b, size_t *start) {
    const unsigned char *d = (const unsigned char *)b->data;
    if (b->size < 12 || memcmp(d, "\x93NUMPY", 6) != 0 || d[6] < 1 || d[6] > 3) {
        return NULL;
    }
    size_t prefix = d[6] == 1 ? 10 : 12;
    size_t length = d[8] | (size_t)d[9] << 8 | (d[6] > 1 ? (size_t)d[10] << 16 | (size_t)d[11] << 24 : 0);
    if (length == 0 || length > b->size - prefix) {
        return NULL;
    }
    *start = prefix + length;
    b->data[*start - 1] = '\0'; /* in place of the newline that ends it */
    return b->data + prefix;
}

/* The value that follows a key of the header: NumPy writes {'descr': '<i4', 'fortran_order': False, 'shape': (5,), }.
 */
static const char *npy_value(const char *header, const char *key) {
    const char *p = strstr(header, key);
    return p ? p + strlen(key) + strspn(p + strlen(key), ": '") : "";
}

static int64_t npy_integer(const char *p, size_t size, bool sign) {
    uint32_t narrow;
    uint64_t wide;
    if (size == 4) {
        memcpy(&narrow, p, 4);
        return sign ? (int32_t)narrow : (int64_t)narrow;
    }
    memcpy(&wide, p, 8);
    return (int64_t)wide; /* a large uint64 becomes negative, and is refused as well */
}

static bool read_npy(bytes *b, int32_t *records, int64_t *count, char *why, size_t why_size) {
    size_t start = 0;
    const char *header = npy_header(b, &start);
    if (!header) {
        snprintf(why, why_size, "does not begin as a .npy file; save it again with numpy.save");
        return false;
    }
    const char *type = npy_value(header, "'descr'"), *shape = npy_value(header, "'shape'");
    char *end;
    bool known = type[0] == '<' && (type[1] == 'i' || type[1] == 'u') && (type[2] == '4' || type[2] == '8');
    unsigned long long n = *shape == '(' ? strtoull(shape + 1, &end, 10) : 0;
    if (!known || *shape != '(' || end == shape + 1 || strncmp(end, ",)", 2) != 0) {
        snprintf(why, why_size,
                 "is not an array of one dimension of record indices; save it as indices.astype('int32').ravel()");
        return false;
    }
    size_t size = (size_t)(type[2] - '0');
    if (n != (b->size - start) / size) {
        snprintf(why, why_size, "holds %zu of %llu values; copy it again", (b->size - start) / size, n);
        return false;
    }
    for (; *count < (int64_t)n; ++*count) {
        int64_t value = npy_integer(b->data + start + (size_t)*count * size, size, type[1] == 'i');
        if (value < 0 || value > INT32_MAX) {
            snprintf(why, why_size, "value %" PRId64 " is not a record index; give numbers from 0", *count + 1);
            return false;
        }
        records[*count] = (int32_t)value;
    }
    return true;
}

static bool read_raw(const bytes *b, int32_t *records, int64_t *count, char *why, size_t why_size) {
    if (b->size % sizeof *records) {
        snprintf(why, why_size, "%zu bytes are not whole int32 values; give what --indices wrote, .npy or .txt",
                 b->size);
        return false;
    }
    memcpy(records, b->data, b->size);
    *count = (int64_t)(b->size / sizeof *records);
    for (int64_t i = 0; i < *count; i++) {
        if (records[i] < 0) {
            snprintf(why, why_size, "value %" PRId64 " is %" PRId32 ", not a record index; give numbers from 0", i + 1,
                     records[i]);
            return false;
        }
    }
    return true;
}

bool records_read(FILE *stream, const char *path, int32_t **records, int64_t *count, char *why, size_t why_size) {
    bytes b = {0};
    *records = NULL;
    *count = 0;
    if (ends_with(path, ".npz")) {
        snprintf(why, why_size, "an archive is not read; give the indices as .npy or .txt");
        return false;
    }
    bool good = read_bytes(stream, &b, why, why_size);
    *records = good ? malloc((b.size / 2 + 1) * sizeof **records) : NULL; /* a digit and a newline at least */
    if (good && !*records) {
        snprintf(why, why_size, "out of memory");
        good = false;
    }
    if (good) {
        good = ends_with(path, ".npy")                      ? read_npy(&b, *records, count, why, why_size)
               : array_is_text(path) || looks_like_text(&b) ? read_text(&b, *records, count, why, why_size)
                                                            : read_raw(&b, *records, count, why, why_size);
    }
    free(b.data);
    if (!good) {
        free(*records);
        *records = NULL;
        *count = 0;
    }
    return good;
}
