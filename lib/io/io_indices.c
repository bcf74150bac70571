/* Reading record indices: from .npy, from text, and from int32 values without a header. */
#include "io.h"

#include <stdlib.h>
#include <string.h>

/* `count` is a number of existing values: it was counted in the bytes of the file. */
static pcgpu_status allocate(const pc_file *file, size_t count, pcgpu_indices *indices) {
    indices->values = calloc(count ? count : 1, sizeof *indices->values); /* calloc checks the product */
    return indices->values ? PCGPU_OK : pc_fail_file_memory(file, (uint64_t)count * sizeof *indices->values);
}

/* Packed integers of any type. float64 represents every valid index exactly, and rounds no invalid value to a valid
 * one. */
static pcgpu_status take_integers(const pc_file *file, const unsigned char *data, size_t count, int type, bool swap,
                                  pcgpu_indices *indices) {
    size_t size = pc_type_size(type);
    PC_TRY(allocate(file, count, indices));
    for (size_t i = 0; i < count; i++) {
        double value = pc_load_value(data + i * size, type, swap);
        if (!(value >= 0 && value <= INT32_MAX)) {
            return pc_fail_format(file, "value %zu is %.0f, not a record index; give numbers from 0 to 2147483647",
                                  i + 1, value);
        }
        indices->values[indices->count++] = (int32_t)value;
    }
    return PCGPU_OK;
}

static pcgpu_status read_npy(const pc_file *file, const pc_bytes *bytes, pcgpu_indices *indices) {
    pc_npy npy;
    if (!pc_npy_begins(bytes)) {
        return pc_fail_format(
            file, "does not begin as a .npy file; save it again with numpy.save, or name it .txt if it is text");
    }
    PC_TRY(pc_npy_parse(file, bytes, &npy));
    if (npy.type < 0 || npy.type == PCGPU_FLOAT32 || npy.type == PCGPU_FLOAT64 || npy.type == PCGPU_FLOAT16) {
        return pc_fail_format(
            file, "holds values of type '%s', and record indices are integers; save it as indices.astype('int32')",
            npy.type_text.text);
    }
    if (npy.dimensions != 1 && !(npy.dimensions == 2 && npy.shape[1] == 1)) {
        return pc_fail_format(
            file, "its shape is %s; record indices are one dimension or one column, so save indices.ravel()",
            npy.shape_text.text);
    }
    size_t size = pc_type_size(npy.type);
    size_t present = bytes->size - npy.start; /* bytes */
    if (present / size < (uint64_t)npy.shape[0]) {
        return pc_fail_short(file, present / size, (uint64_t)npy.shape[0], "values");
    }
    size_t count = (size_t)npy.shape[0];
    if (present > count * size) {
        return pc_fail_format(file, "%zu bytes follow the %zu values of its header; save it again with numpy.save",
                              present - count * size, count);
    }
    return take_integers(file, bytes->data + npy.start, count, npy.type, npy.swap, indices);
}

static size_t count_lines(const pc_bytes *bytes) {
    size_t lines = bytes->size > 0 && bytes->data[bytes->size - 1] != '\n'; /* the last may have no end */
    for (size_t i = 0; i < bytes->size; i++) {
        lines += bytes->data[i] == '\n';
    }
    return lines;
}

static pcgpu_status read_text(const pc_file *file, const pc_bytes *bytes, pcgpu_indices *indices) {
    pc_text text = pc_text_of(bytes);
    pc_span line;
    PC_TRY(allocate(file, count_lines(bytes), indices));
    while (pc_text_line(&text, &line)) {
        pc_span rest = line, word, more;
        int64_t value = -1;
        bool good = pc_text_token(&rest, &word) && !pc_text_token(&rest, &more) && pc_span_count(word, &value);
        if (!good || value > INT32_MAX) {
            return pc_fail_line(file, &text,
                                "\"%s\" is not a record index; give one whole number a line, from 0 to 2147483647",
                                pc_span_show(line).text);
        }
        indices->values[indices->count++] = (int32_t)value;
    }
    return PCGPU_OK;
}

static pcgpu_status read_bin(const pc_file *file, const pc_bytes *bytes, pcgpu_indices *indices) {
    size_t size = pc_type_size(PCGPU_INT32);
    if (bytes->size % size) {
        return pc_fail_format(file, "%zu bytes are not whole int32 values; give what --indices wrote, .npy or .txt",
                              bytes->size);
    }
    return take_integers(file, bytes->data, bytes->size / size, PCGPU_INT32, false, indices);
}

/* The name determines the type; without a known name, the content does, so that every type can come through a pipe. */
static pcgpu_status read_any(const pc_file *file, const pc_bytes *bytes, pcgpu_indices *indices) {
    if (pc_has_extension(file->name, ".npy")) {
        return read_npy(file, bytes, indices);
    }
    if (pc_has_extension(file->name, ".txt") || pc_looks_like_text(bytes->data, bytes->size)) {
        /* int32 values look like this only above 150 million */
        return read_text(file, bytes, indices);
    }
    return pc_npy_begins(bytes) ? read_npy(file, bytes, indices) : read_bin(file, bytes, indices);
}

pcgpu_status pcgpu_read_indices(pcgpu_context *context, FILE *stream, const char *name, pcgpu_indices *indices) {
    const pc_file file = {.context = context, .name = pc_input_name(name), .stream = stream};
    pc_bytes bytes = {NULL, 0};
    *indices = (pcgpu_indices){0};
    if (pc_has_extension(file.name, ".npz")) {
        return pc_fail_file(&file, PCGPU_ERROR_ARGUMENT, "an archive is not read; give the indices as .npy or .txt");
    }
    PC_TRY(pc_bytes_read(&file, &bytes));
    pcgpu_status status = read_any(&file, &bytes, indices);
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
