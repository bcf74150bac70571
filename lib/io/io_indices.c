/* Reading record indices: from .npy, from text, and from int32 values without a header. */
#include "io.h"

#include <stdlib.h>
#include <string.h>

/* `count` is a number of existing values: it was counted in the bytes of the file. */
static pcgpu_status allocate(pcgpu_context *context, const char *name, size_t count, pcgpu_indices *indices) {
    indices->values = calloc(count ? count : 1, sizeof *indices->values); /* calloc checks the product */
    return indices->values ? PCGPU_OK : pc_fail_memory(context, (uint64_t)count * sizeof *indices->values, name);
}

/* Packed integers of any type. float64 represents every valid index exactly, and rounds no invalid value to a valid
 * one. */
static pcgpu_status take_integers(pcgpu_context *context, const char *name, const unsigned char *data, size_t count,
                                  int type, bool swap, pcgpu_indices *indices) {
    size_t size = pc_type_size(type);
    PC_TRY(allocate(context, name, count, indices));
    for (size_t i = 0; i < count; i++) {
        double value = pc_load_value(data + i * size, type, swap);
        if (!(value >= 0 && value <= INT32_MAX)) {
            return pc_fail(context, PCGPU_ERROR_FORMAT,
                           "%s: value %zu is %.0f, not a record index; give numbers from 0 to 2147483647", name, i + 1,
                           value);
        }
        indices->values[indices->count++] = (int32_t)value;
    }
    return PCGPU_OK;
}

static pcgpu_status read_npy(pcgpu_context *context, const char *name, const pc_bytes *bytes, pcgpu_indices *indices) {
    pc_npy npy;
    if (!pc_npy_begins(bytes)) {
        return pc_fail(
            context, PCGPU_ERROR_FORMAT,
            "%s: does not begin as a .npy file; save it again with numpy.save, or name it .txt if it is text", name);
    }
    PC_TRY(pc_npy_parse(context, name, bytes, &npy));
    if (npy.type < 0 || npy.type == PCGPU_FLOAT32 || npy.type == PCGPU_FLOAT64 || npy.type == PCGPU_FLOAT16) {
        return pc_fail(context, PCGPU_ERROR_FORMAT,
                       "%s: holds values of type '%s', and record indices are integers; save it as "
                       "indices.astype('int32')",
                       name, npy.type_text.text);
    }
    if (npy.dimensions != 1 && !(npy.dimensions == 2 && npy.shape[1] == 1)) {
        return pc_fail(context, PCGPU_ERROR_FORMAT,
                       "%s: its shape is %s; record indices are one dimension or one column, so save indices.ravel()",
                       name, npy.shape_text.text);
    }
    size_t size = pc_type_size(npy.type);
    size_t present = bytes->size - npy.start; /* bytes */
    if (present / size < (uint64_t)npy.shape[0]) {
        return pc_fail_short(context, name, present / size, (uint64_t)npy.shape[0], "values");
    }
    size_t count = (size_t)npy.shape[0];
    if (present > count * size) {
        return pc_fail(context, PCGPU_ERROR_FORMAT,
                       "%s: %zu bytes follow the %zu values of its header; save it again with numpy.save", name,
                       present - count * size, count);
    }
    return take_integers(context, name, bytes->data + npy.start, count, npy.type, npy.swap, indices);
}

static size_t count_lines(const pc_bytes *bytes) {
    size_t lines = bytes->size > 0 && bytes->data[bytes->size - 1] != '\n'; /* the last may have no end */
    for (size_t i = 0; i < bytes->size; i++) {
        lines += bytes->data[i] == '\n';
    }
    return lines;
}

static pcgpu_status read_text(pcgpu_context *context, const char *name, const pc_bytes *bytes, pcgpu_indices *indices) {
    const char *begin = (const char *)bytes->data;
    pc_text text = {.p = begin, .end = begin + bytes->size};
    pc_span line;
    PC_TRY(allocate(context, name, count_lines(bytes), indices));
    while (pc_text_line(&text, &line)) {
        pc_span rest = line, word, more;
        int64_t value = -1;
        bool good = pc_text_token(&rest, &word) && !pc_text_token(&rest, &more) && pc_span_count(word, &value);
        if (!good || value > INT32_MAX) {
            pc_shown shown = pc_span_show(line);
            return pc_fail(context, PCGPU_ERROR_FORMAT,
                           "%s: line %lld: \"%s\" is not a record index; give one whole number a line, from 0 to "
                           "2147483647",
                           name, (long long)text.line, shown.text);
        }
        indices->values[indices->count++] = (int32_t)value;
    }
    return PCGPU_OK;
}

static pcgpu_status read_bin(pcgpu_context *context, const char *name, const pc_bytes *bytes, pcgpu_indices *indices) {
    size_t size = pc_type_size(PCGPU_INT32);
    if (bytes->size % size) {
        return pc_fail(context, PCGPU_ERROR_FORMAT,
                       "%s: %zu bytes are not whole int32 values; give what --indices wrote, .npy or .txt", name,
                       bytes->size);
    }
    return take_integers(context, name, bytes->data, bytes->size / size, PCGPU_INT32, false, indices);
}

/* The name determines the type; without a known name, the content does, so that every type can come through a pipe. */
static pcgpu_status read_any(pcgpu_context *context, const char *name, const pc_bytes *bytes, pcgpu_indices *indices) {
    if (pc_has_extension(name, ".npy")) {
        return read_npy(context, name, bytes, indices);
    }
    if (pc_has_extension(name, ".txt") || pc_looks_like_text(bytes->data, bytes->size)) {
        /* int32 values look like this only above 150 million */
        return read_text(context, name, bytes, indices);
    }
    return pc_npy_begins(bytes) ? read_npy(context, name, bytes, indices) : read_bin(context, name, bytes, indices);
}

pcgpu_status pcgpu_read_indices(pcgpu_context *context, FILE *stream, const char *name, pcgpu_indices *indices) {
    pc_bytes bytes = {NULL, 0};
    name = pc_input_name(name);
    *indices = (pcgpu_indices){0};
    if (pc_has_extension(name, ".npz")) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%s: an archive is not read; give the indices as .npy or .txt",
                       name);
    }
    PC_TRY(pc_bytes_read(context, stream, name, &bytes));
    pcgpu_status status = read_any(context, name, &bytes, indices);
    pc_bytes_free(&bytes);
    if (status != PCGPU_OK) {
        pcgpu_indices_free(indices);
    }
    return status;
}

void pcgpu_indices_free(pcgpu_indices *indices) {
    free(indices->values);
    *indices = (pcgpu_indices){0};
}
