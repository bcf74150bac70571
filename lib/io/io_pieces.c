/* Files that are read in pieces: each piece is converted as pc_table_to_cloud converts the whole file, with one offset,
 * which a pass over the file finds where the coordinates are not float32. The threads of the context share the records
 * of a piece. */
#include "context.h"
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FIRST_BYTES = 1 << 17, /* more than the longest header of an .npy of version 1 */
    PARTS = 64,            /* of a piece */
    PART_ROWS = 4096,      /* at least, in a part */
};

/* What the records of a part of each piece have in common. */
typedef struct found_in_part {
    pc_axis axes[PCGPU_MAX_COLUMNS];
    pc_rounding rounded[PCGPU_MAX_COLUMNS];
} found_in_part;

struct pcgpu_pieces {
    pc_file file;
    pcgpu_read_options options; /* of the file */
    const pc_format *format;
    char *name;
    pc_table table;       /* of the whole file */
    int64_t at, most;     /* the next row, and the rows of a piece */
    size_t stride;        /* of a record */
    unsigned char *bytes; /* of a piece */
    float *values;        /* of a piece; NULL: the bytes are the values */
    double offset[3];
    found_in_part *found; /* PARTS */
    bool reported;        /* a whole pass has counted what was rounded */
    bool finds_offset;    /* the pass that does */
    int64_t rows;         /* of this piece */
    int parts;
    atomic_int failed; /* 0, an errno, or SHORT */
};
enum { SHORT = -1 };

bool pcgpu_format_has_pieces(const pcgpu_format_info *info) {
    const pc_format *format = pc_format_of(info);
    return format && format->layout;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Reads bytes at a place of the file. */
static bool read_at(pcgpu_pieces *p, unsigned char *bytes, size_t count, uint64_t at) {
    while (count > 0) {
        const ssize_t got = pread(fileno(p->file.stream), bytes, count, (off_t)at);
        if (got <= 0) {
            atomic_store(&p->failed, got == 0 ? SHORT : errno);
            return got < 0 && errno == EINTR && read_at(p, bytes, count, at);
        }
        bytes += got;
        count -= (size_t)got;
        at += (uint64_t)got;
    }
    return true;
}

/* Reads and converts the records of a part of the piece. */
static void take_part(void *state, int part) {
    pcgpu_pieces *p = state;
    const int64_t begin = p->rows * part / p->parts, rows = p->rows * (part + 1) / p->parts - begin;
    unsigned char *bytes = p->bytes + (size_t)begin * p->stride;
    pc_table records = p->table;
    records.start = 0;
    records.rows = rows;
    if (!read_at(p, bytes, (size_t)rows * p->stride, p->table.start + (uint64_t)(p->at + begin) * p->stride)) {
        return;
    }
    if (p->finds_offset) {
        for (int k = 0; k < records.columns; k++) {
            pc_axis_add(&records, k, bytes, &p->found[part].axes[k]);
        }
    } else if (p->values) {
        pc_table_convert(&records, bytes, p->offset, p->values + begin * p->table.columns, p->found[part].rounded);
    }
}

/* Takes the next p->rows records, 0 at the end of the file. */
static pcgpu_status take_records(pcgpu_pieces *p) {
    const int64_t left = p->table.rows - p->at;
    p->rows = left < p->most ? left : p->most;
    atomic_store(&p->failed, 0);
    p->parts = p->rows >= PARTS * PART_ROWS ? PARTS : 1 + (int)(p->rows / PART_ROWS);
    pc_run_parts(p->file.context, p->parts, take_part, p);
    errno = atomic_load(&p->failed);
    if (errno == SHORT) {
        struct stat st;
        const uint64_t size = fstat(fileno(p->file.stream), &st) == 0 ? (uint64_t)st.st_size : 0;
        return pc_fail_short(&p->file, size > p->table.start ? (size - p->table.start) / p->stride : 0,
                             (uint64_t)p->table.rows, "points");
    }
    if (errno) {
        return pc_fail_read(&p->file);
    }
    p->at = p->rows ? p->at + p->rows : 0;
    /* the next piece is read while this one is in use */
    posix_fadvise(fileno(p->file.stream), (off_t)(p->table.start + (uint64_t)p->at * p->stride),
                  (off_t)((size_t)p->most * p->stride), POSIX_FADV_WILLNEED);
    return PCGPU_OK;
}

/* The offsets of the columns, and which there are, by a pass over the file. */
static pcgpu_status find_offset(pcgpu_pieces *p) {
    pcgpu_status status = PCGPU_OK;
    if (p->table.rows > 0 && read_at(p, p->bytes, p->stride, p->table.start)) { /* else the pass fails */
        pc_table_begin(&p->table, p->bytes);
    }
    for (int part = 0; part < PARTS; part++) {
        for (int k = 0; k < p->table.columns; k++) {
            p->found[part].axes[k] = pc_no_axis;
        }
    }
    p->finds_offset = true;
    do {
        status = take_records(p);
    } while (status == PCGPU_OK && p->rows > 0);
    p->finds_offset = false;
    pc_axis all[PCGPU_MAX_COLUMNS];
    for (int k = 0; k < p->table.columns; k++) {
        all[k] = pc_no_axis;
        for (int part = 0; part < PARTS; part++) {
            pc_axis_join(&p->found[part].axes[k], &all[k]);
        }
    }
    pc_table_settle(&p->file, &p->table, all, p->offset);
    return status;
}

/* Warns of what a whole pass has rounded. */
static void report_rounded(pcgpu_pieces *p) {
    pc_rounding all[PCGPU_MAX_COLUMNS] = {{0}};
    for (int k = 0; k < p->table.columns; k++) {
        for (int part = 0; part < PARTS; part++) {
            const pc_rounding *one = &p->found[part].rounded[k];
            all[k].changed += one->changed;
            all[k].largest = one->largest > all[k].largest ? one->largest : all[k].largest;
        }
    }
    pc_table_warn(&p->file, &p->table, p->table.rows, all);
}

pcgpu_status pcgpu_pieces_next(pcgpu_pieces *p, pcgpu_cloud *cloud) {
    const bool first = p->at == 0;
    memset(cloud, 0, sizeof *cloud);
    PC_TRY(take_records(p));
    pcgpu_status status = PCGPU_OK;
    pcgpu_pieces_describe(p, cloud);
    cloud->rows = p->rows;
    cloud->data = p->values ? p->values : (float *)(void *)p->bytes;
    if (first && !p->reported && strcmp(p->format->info.name, "bin") == 0) {
        status = pc_bin_check(&p->file, cloud);
    }
    if (p->rows == 0 && !p->reported) {
        report_rounded(p);
        p->reported = true;
    }
    return status;
}

void pcgpu_pieces_describe(const pcgpu_pieces *p, pcgpu_cloud *cloud) {
    memset(cloud, 0, sizeof *cloud);
    pc_table_describe(&p->table, cloud);
    memcpy(cloud->offset, p->offset, sizeof p->offset);
    cloud->header = p->table.header;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static pcgpu_status choose_format(pcgpu_pieces *p, const pc_bytes *head) {
    const char *format = p->options.format;
    char why[256];
    if (pc_gzip_begins(head->data, head->size)) { /* the format that is given is that of the expanded bytes */
        return pc_fail_file(
            &p->file, PCGPU_ERROR_ARGUMENT,
            "is compressed by gzip, and such a file is not read in pieces; give more memory, or expand it: gzip -dc");
    }
    const pcgpu_format_info *info =
        format ? pcgpu_format_by_name(format) : pcgpu_format_of_input(p->name, head->data, head->size, why, sizeof why);
    if (!info) {
        return pc_fail_file(&p->file, format ? PCGPU_ERROR_ARGUMENT : PCGPU_ERROR_FORMAT, "%s",
                            format ? "the format does not exist" : why);
    }
    p->format = pc_format_of(info);
    return p->format->layout
               ? PCGPU_OK
               : pc_fail_file(
                     &p->file, PCGPU_ERROR_ARGUMENT,
                     ".%s is not read in pieces; give more memory, or convert it to .las, .npy or .bin where there is "
                     "more",
                     info->name);
}

/* Reads the first bytes, as many as the format needs, and describes the records. */
static pcgpu_status describe_records(pcgpu_pieces *p) {
    struct stat st;
    size_t wanted = FIRST_BYTES;
    pc_bytes head = {NULL, 0};
    pcgpu_status status = PCGPU_OK;
    if (fstat(fileno(p->file.stream), &st) != 0 || !S_ISREG(st.st_mode)) {
        return pc_fail_file(&p->file, PCGPU_ERROR_ARGUMENT,
                            "is no regular file, and only such are read in pieces; give a file");
    }
    while (wanted && status == PCGPU_OK) {
        pc_bytes_free(&head);
        head.data = malloc(wanted + 1);
        if (!head.data) {
            return pc_fail_file_memory(&p->file, wanted);
        }
        errno = 0;
        rewind(p->file.stream);
        head.size = fread(head.data, 1, wanted, p->file.stream);
        head.data[head.size] = '\0';
        status = ferror(p->file.stream) ? pc_fail_read(&p->file) : choose_format(p, &head);
        if (status == PCGPU_OK) {
            status = p->format->layout(&p->file, &head, (uint64_t)st.st_size, &p->table, &wanted);
        }
    }
    pc_bytes_free(&head);
    return status == PCGPU_OK ? pc_table_order(&p->file, &p->table) : status;
}

static pcgpu_status allocate(pcgpu_pieces *p, size_t bytes) {
    const bool plain = pc_table_is_cloud(&p->table);
    const size_t row = ((size_t)p->table.columns + PC_MOST_REMAINDERS) * sizeof(float);
    p->stride = p->table.fields[0].stride;
    const size_t each = p->stride + (plain ? 0 : row), most = bytes / each;
    p->most = most > 0 ? (int64_t)most : 1;
    p->most = p->most < p->table.rows ? p->most : p->table.rows;
    const size_t rows = p->most > 0 ? (size_t)p->most : 1;
    p->bytes = malloc(rows * p->stride);
    p->values = plain ? NULL : malloc(rows * row);
    p->found = calloc(PARTS, sizeof *p->found);
    return p->bytes && p->found && (plain || p->values) ? PCGPU_OK : pc_fail_file_memory(&p->file, rows * each);
}

pcgpu_status pcgpu_pieces_open(pcgpu_context *context, const char *path, const pcgpu_read_options *options,
                               size_t bytes, pcgpu_pieces **pieces) {
    const pcgpu_read_options defaults = {.struct_size = sizeof defaults};
    *pieces = NULL;
    options = options ? options : &defaults;
    PC_TRY(pc_struct_check(context, "pcgpu_read_options", options->struct_size, sizeof *options));
    pcgpu_pieces *p = *pieces = calloc(1, sizeof *p);
    pcgpu_status status = PCGPU_ERROR_MEMORY;
    if (!p || !(p->name = strdup(path))) {
        pc_fail_memory(context, sizeof *p, path);
        goto failed;
    }
    p->options = *options;
    p->file = (pc_file){.context = context, .name = p->name, .options = &p->options};
    PC_TRY_OR(failed, status, pc_open(&p->file));
    PC_TRY_OR(failed, status, describe_records(p));
    PC_TRY_OR(failed, status, allocate(p, bytes));
    PC_TRY_OR(failed, status, p->values ? find_offset(p) : PCGPU_OK);
    if (p->options.found) {
        *p->options.found = &p->format->info;
    }
    return PCGPU_OK;
failed:
    pcgpu_pieces_close(p);
    *pieces = NULL;
    return status;
}

void pcgpu_pieces_close(pcgpu_pieces *p) {
    if (p) {
        if (p->file.stream) {
            fclose(p->file.stream);
        }
        free(p->name);
        pc_header_release(p->table.header);
        free(p->bytes);
        free(p->values);
        free(p->found);
        free(p);
    }
}
