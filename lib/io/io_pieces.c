/* Files that are read in pieces: each piece is converted as pc_table_to_cloud converts the whole file, with one offset, which a
 * pass over the file finds where the coordinates are not float32. */
#include "io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_BYTES = 1 << 17 }; /* more than the longest header of an .npy of version 1 */

struct pcgpu_pieces {
    pcgpu_context *context;
    const pc_format *format;
    FILE *stream;
    char *name;
    pc_table table;       /* of the whole file */
    int64_t at, most;     /* the next row, and the rows of a piece */
    size_t stride;        /* of a record */
    unsigned char *bytes; /* of a piece */
    float *values;        /* of a piece; NULL: the bytes are the values */
    double offset[3];
    pc_rounding rounded[PCGPU_MAX_COLUMNS];
    bool reported; /* a whole pass has counted what was rounded */
};

static const pc_format *format_of(const pcgpu_format_info *info) {
    const pc_format *const *format = pc_formats;
    while (*format && &(*format)->info != info) {
        format++;
    }
    return *format;
}

bool pcgpu_format_has_pieces(const pcgpu_format_info *info) {
    const pc_format *format = format_of(info);
    return format && format->layout;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static pcgpu_status fail_read(const pcgpu_pieces *p) {
    return pc_fail(p->context, PCGPU_ERROR_IO, "%s: cannot be read: %s; check the file and its disk", p->name,
                   errno ? strerror(errno) : "input error");
}

static pcgpu_status go_to(pcgpu_pieces *p, int64_t row) {
    const off_t at = (off_t)(p->table.start + (size_t)row * p->stride);
    p->at = row;
    errno = 0;
    return fseeko(p->stream, at, SEEK_SET) == 0 ? PCGPU_OK : fail_read(p);
}

/* Reads the records of the next piece; *piece describes them, without rows at the end of the file. */
static pcgpu_status read_records(pcgpu_pieces *p, pc_table *piece) {
    const int64_t left = p->table.rows - p->at, rows = left < p->most ? left : p->most;
    *piece = p->table;
    piece->start = 0;
    piece->rows = rows;
    if (rows == 0) {
        return go_to(p, 0);
    }
    errno = 0;
    const size_t records = fread(p->bytes, p->stride, (size_t)rows, p->stream);
    if (ferror(p->stream)) {
        return fail_read(p);
    }
    if (records != (size_t)rows) {
        return pc_fail_short(p->context, p->name, (uint64_t)p->at + records, (uint64_t)p->table.rows, "points");
    }
    p->at += rows;
    return PCGPU_OK;
}

/* The offsets of the axes, by a pass over the file. */
static pcgpu_status find_offset(pcgpu_pieces *p) {
    pc_axis axes[3] = {pc_no_axis, pc_no_axis, pc_no_axis};
    pc_table piece;
    pcgpu_status status;
    do {
        status = read_records(p, &piece);
        for (int k = 0; k < 3 && status == PCGPU_OK; k++) {
            pc_axis_add(&piece, k, p->bytes, &axes[k]);
        }
    } while (status == PCGPU_OK && piece.rows > 0);
    for (int k = 0; k < 3; k++) {
        p->offset[k] = pc_axis_offset(&axes[k]);
    }
    return status;
}

pcgpu_status pcgpu_pieces_next(pcgpu_pieces *p, pcgpu_cloud *cloud) {
    pc_table piece;
    const bool first = p->at == 0;
    memset(cloud, 0, sizeof *cloud);
    pcgpu_status status = read_records(p, &piece);
    if (status != PCGPU_OK) {
        return status;
    }
    pc_table_describe(&piece, cloud);
    memcpy(cloud->offset, p->offset, sizeof cloud->offset);
    if (p->values) {
        pc_table_convert(&piece, p->bytes, p->offset, p->values, p->rounded);
    }
    cloud->data = p->values ? p->values : (float *)(void *)p->bytes;
    char why[256];
    if (first && !p->reported && strcmp(p->format->info.name, "bin") == 0 &&
        pcgpu_cloud_looks_wrong(cloud, "bin", why, sizeof why)) {
        pc_log(p->context, PCGPU_LOG_WARNING, "%s: %s", p->name, why);
    }
    if (piece.rows == 0 && !p->reported) {
        pc_table_warn(p->context, p->name, &p->table, p->table.rows, p->rounded);
        p->reported = true;
    }
    return PCGPU_OK;
}

void pcgpu_pieces_describe(const pcgpu_pieces *p, pcgpu_cloud *cloud) {
    memset(cloud, 0, sizeof *cloud);
    pc_table_describe(&p->table, cloud);
    memcpy(cloud->offset, p->offset, sizeof cloud->offset);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static pcgpu_status choose_format(pcgpu_pieces *p, const pc_bytes *head, const pcgpu_read_options *options) {
    char why[256];
    const pcgpu_format_info *info = options->format
                                        ? pcgpu_format_by_name(options->format)
                                        : pcgpu_format_of_input(p->name, head->data, head->size, why, sizeof why);
    if (!info) {
        return pc_fail(p->context, options->format ? PCGPU_ERROR_ARGUMENT : PCGPU_ERROR_FORMAT, "%s: %s", p->name,
                       options->format ? "the format does not exist" : why);
    }
    p->format = format_of(info);
    return p->format->layout ? PCGPU_OK
                             : pc_fail(p->context, PCGPU_ERROR_ARGUMENT,
                                       "%s: .%s is not read in pieces; give more memory, or convert it to .las, .npy or .bin where there is more",
                                       p->name, info->name);
}

/* Reads the first bytes, as many as the format needs, and describes the records. */
static pcgpu_status describe_records(pcgpu_pieces *p, const pcgpu_read_options *options) {
    struct stat st;
    size_t wanted = FIRST_BYTES;
    pc_bytes head = {NULL, 0};
    pcgpu_status status = PCGPU_OK;
    if (fstat(fileno(p->stream), &st) != 0 || !S_ISREG(st.st_mode)) {
        return pc_fail(p->context, PCGPU_ERROR_ARGUMENT, "%s: is no regular file, and only such are read in pieces; give a file",
                       p->name);
    }
    while (wanted && status == PCGPU_OK) {
        pc_bytes_free(&head);
        head.data = malloc(wanted + 1);
        if (!head.data) {
            return pc_fail_memory(p->context, wanted, p->name);
        }
        errno = 0;
        rewind(p->stream);
        head.size = fread(head.data, 1, wanted, p->stream);
        head.data[head.size] = '\0';
        status = ferror(p->stream) ? fail_read(p) : choose_format(p, &head, options);
        if (status == PCGPU_OK) {
            status = p->format->layout(p->context, &head, (uint64_t)st.st_size, p->name, options, &p->table, &wanted);
        }
    }
    pc_bytes_free(&head);
    return status == PCGPU_OK ? pc_table_order(p->context, p->name, &p->table) : status;
}

static pcgpu_status allocate(pcgpu_pieces *p, size_t bytes) {
    const bool plain = pc_table_is_cloud(&p->table);
    const size_t row = (size_t)p->table.columns * sizeof(float);
    p->stride = p->table.fields[0].stride;
    const size_t each = p->stride + (plain ? 0 : row), most = bytes / each;
    p->most = most > 0 ? (int64_t)most : 1;
    p->most = p->most < p->table.rows ? p->most : p->table.rows;
    const size_t rows = p->most > 0 ? (size_t)p->most : 1;
    p->bytes = malloc(rows * p->stride);
    p->values = plain ? NULL : malloc(rows * row);
    return p->bytes && (plain || p->values) ? PCGPU_OK : pc_fail_memory(p->context, rows * each, p->name);
}

pcgpu_status pcgpu_pieces_open(pcgpu_context *context, const char *path, const pcgpu_read_options *options, size_t bytes,
                               pcgpu_pieces **pieces) {
    const pcgpu_read_options defaults = {0};
    options = options ? options : &defaults;
    pcgpu_pieces *p = *pieces = calloc(1, sizeof *p);
    if (!p || !(p->name = strdup(path))) {
        pcgpu_pieces_close(p);
        *pieces = NULL;
        return pc_fail_memory(context, sizeof *p, path);
    }
    p->context = context;
    pcgpu_status status = PCGPU_OK;
    if (!(p->stream = fopen(path, "rb"))) {
        status = pc_fail(context, PCGPU_ERROR_IO, "%s: cannot be opened: %s; check the name", path, strerror(errno));
    }
    status = status == PCGPU_OK ? describe_records(p, options) : status;
    status = status == PCGPU_OK ? allocate(p, bytes) : status;
    status = status == PCGPU_OK ? go_to(p, 0) : status;
    if (status == PCGPU_OK && p->values) {
        status = find_offset(p);
    }
    if (status == PCGPU_OK && options->found) {
        *options->found = &p->format->info;
    }
    if (status != PCGPU_OK) {
        pcgpu_pieces_close(p);
        *pieces = NULL;
    }
    return status;
}

void pcgpu_pieces_close(pcgpu_pieces *p) {
    if (p) {
        if (p->stream) {
            fclose(p->stream);
        }
        free(p->name);
        free(p->bytes);
        free(p->values);
        free(p);
    }
}
