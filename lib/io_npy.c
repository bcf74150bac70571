/* .npy of NumPy: a 2-D array of float32 or float64 is a cloud; any dense array can be written.
 * Format: numpy.lib.format, versions 1.0, 2.0 and 3.0. */
#include "io.h"

#include <string.h>

typedef struct npy_header {
    bool swap, fortran, wide; /* wide: float64 */
    int dimensions;
    int64_t shape[4];
} npy_header;

static pcgpu_status fail_header(pcgpu_context *context, const char *name, const char *what) {
    return pc_fail(context, PCGPU_ERROR_FORMAT, "%s: %s; save it again with numpy.save", name, what);
}

/* The text after `'key':` in the header's dictionary, or an empty span. */
static pc_span find_key(pc_span header, const char *key) {
    size_t n = strlen(key);
    for (size_t i = 0; i + n + 2 < header.n; i++) {
        const char *p = header.p + i;
        if ((*p == '\'' || *p == '"') && memcmp(p + 1, key, n) == 0 && p[n + 1] == *p) {
            const char *end = header.p + header.n;
            for (p += n + 2; p < end && (*p == ' ' || *p == ':'); p++) {
            }
            return (pc_span){p, (size_t)(end - p)};
        }
    }
    return (pc_span){header.p, 0};
}

static pcgpu_status parse_descr(pcgpu_context *context, const char *name, pc_span value, npy_header *h) {
    size_t n = 1;
    if (value.n == 0 || (*value.p != '\'' && *value.p != '"')) {
        return fail_header(context, name, "is an array of records, not of float32 or float64");
    }
    while (n < value.n && value.p[n] != *value.p) {
        n++;
    }
    pc_span type = {value.p + 1, n - 1};
    h->swap = type.n && *type.p == '>';
    h->wide = pc_span_is(type, "<f8") || pc_span_is(type, ">f8");
    if (!h->wide && !pc_span_is(type, "<f4") && !pc_span_is(type, ">f4")) {
        pc_shown shown = pc_span_show(type);
        return pc_fail(context, PCGPU_ERROR_FORMAT,
                       "%s: holds values of type '%s'; save it as float32 or float64 "
                       "(array.astype('float32'))",
                       name, shown.text);
    }
    return PCGPU_OK;
}

static pcgpu_status parse_shape(pcgpu_context *context, const char *name, pc_span value, npy_header *h) {
    const char *p = value.p + 1;
    const char *end = value.p + value.n;
    h->dimensions = 0;
    if (value.n == 0 || *value.p != '(') {
        return fail_header(context, name, "its header has no shape");
    }
    for (;;) {
        while (p < end && (*p == ' ' || *p == ',')) {
            p++;
        }
        pc_span digits = {p, 0};
        while (p < end && *p >= '0' && *p <= '9') {
            p++;
            digits.n++;
        }
        if (p < end && *p == ')' && digits.n == 0) {
            break;
        }
        if (h->dimensions == 4 || !pc_span_count(digits, &h->shape[h->dimensions])) {
            return fail_header(context, name, "its header has a shape that cannot be read");
        }
        h->dimensions++;
    }
    if (h->dimensions != 2 || h->shape[1] < 3 || h->shape[1] > PCGPU_MAX_COLUMNS) {
        size_t length = (size_t)(p + 1 - value.p);
        pc_shown shown = pc_span_show((pc_span){value.p, length});
        return pc_fail(context, PCGPU_ERROR_FORMAT,
                       "%s: its shape is %s; a cloud is points x columns with 3 to %d columns", name, shown.text,
                       PCGPU_MAX_COLUMNS);
    }
    return PCGPU_OK;
}

/* Reads the header; *start is where the data begins. */
static pcgpu_status parse_header(pcgpu_context *context, const char *name, const pc_bytes *bytes, npy_header *h,
                                 size_t *start) {
    const unsigned char *d = bytes->data;
    if (bytes->size < 10 || memcmp(d, "\x93NUMPY", 6) != 0) {
        return pc_fail(context, PCGPU_ERROR_FORMAT, "%s: does not begin as a .npy file; give --format if it is another",
                       name);
    }
    if (d[6] < 1 || d[6] > 3) {
        return pc_fail(context, PCGPU_ERROR_FORMAT, "%s: is .npy version %d; save it as version 1, 2 or 3", name, d[6]);
    }
    size_t prefix = d[6] == 1 ? 10 : 12;
    size_t length = d[8] | (size_t)d[9] << 8;
    if (d[6] > 1 && bytes->size >= prefix) {
        length |= (size_t)d[10] << 16 | (size_t)d[11] << 24;
    }
    if (bytes->size < prefix || length > bytes->size - prefix) {
        return fail_header(context, name, "file ends within its header");
    }
    pc_span header = {(const char *)d + prefix, length};
    *start = prefix + length;
    pc_span order = find_key(header, "fortran_order");
    h->fortran = order.n >= 4 && memcmp(order.p, "True", 4) == 0;
    if (!h->fortran && !(order.n >= 5 && memcmp(order.p, "False", 5) == 0)) {
        return fail_header(context, name, "its header has no fortran_order");
    }
    pcgpu_status status = parse_descr(context, name, find_key(header, "descr"), h);
    return status == PCGPU_OK ? parse_shape(context, name, find_key(header, "shape"), h) : status;
}

/* Columns of an array in C or Fortran order, named as in every file without names. */
static pcgpu_status build_table(pcgpu_context *context, const char *name, const npy_header *h, pc_table *table) {
    pcgpu_cloud names;
    size_t size = h->wide ? 8 : 4;
    size_t rows = (size_t)h->shape[0];
    int columns = (int)h->shape[1];
    pcgpu_status status = pcgpu_cloud_create(context, 0, columns, &names);
    table->rows = h->shape[0];
    table->swap = h->swap;
    for (int k = 0; k < columns && status == PCGPU_OK; k++) {
        status = pc_table_add(context, name, table, names.names[k], strlen(names.names[k]),
                              h->wide ? PCGPU_FLOAT64 : PCGPU_FLOAT32, (h->fortran ? rows : 1) * (size_t)k * size);
        table->fields[k].stride = h->fortran ? size : size * (size_t)columns;
    }
    pcgpu_cloud_free(&names);
    return status;
}

static pcgpu_status read_npy(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_read_options *options,
                             pcgpu_cloud *cloud) {
    (void)options;
    pc_bytes bytes;
    npy_header h;
    pc_table table = {.rows = 0};
    pcgpu_status status = pc_bytes_read(context, stream, name, &bytes);
    if (status == PCGPU_OK) {
        status = parse_header(context, name, &bytes, &h, &table.start);
    }
    if (status == PCGPU_OK) {
        size_t present = (bytes.size - table.start) / ((size_t)h.shape[1] * (h.wide ? 8 : 4));
        status = present < (uint64_t)h.shape[0] ? pc_fail_short(context, name, present, (uint64_t)h.shape[0])
                                                : build_table(context, name, &h, &table);
    }
    if (status == PCGPU_OK) {
        status = pc_table_to_cloud(context, name, &table, &bytes, cloud);
    }
    pc_bytes_free(&bytes);
    return status;
}

/* ---- writing -------------------------------------------------------------------------------------------------- */

static const char *const descriptions[] = {"<f4", "<f8", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<f2"};

size_t pc_npy_header(char out[PC_NPY_HEADER_SIZE], int type, int dimensions, const int64_t *shape) {
    char text[PC_NPY_HEADER_SIZE];
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descriptions[type]);
    for (int i = 0; i < dimensions; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, i ? ", %lld" : "%lld", (long long)shape[i]);
    }
    n += snprintf(text + n, sizeof text - (size_t)n, dimensions == 1 ? ",), }" : "), }");
    size_t size = (10 + (size_t)n + 1 + 63) / 64 * 64;
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((size - 10) & 255);
    out[9] = (char)((size - 10) >> 8);
    memcpy(out + 10, text, (size_t)n);
    memset(out + 10 + n, ' ', size - 11 - (size_t)n);
    out[size - 1] = '\n';
    return size;
}

pcgpu_status pc_array_size(pcgpu_context *context, const char *name, const pcgpu_array *array, size_t *size) {
    bool good = array->dimensions >= 1 && array->dimensions <= 4 && (unsigned)array->type <= PCGPU_FLOAT16;
    uint64_t total = good ? pc_type_size(array->type) : 0;
    bool empty = false;
    for (int i = 0; good && i < array->dimensions; i++) {
        good = array->shape[i] >= 0;
        empty = empty || array->shape[i] == 0;
    }
    for (int i = 0; good && !empty && i < array->dimensions; i++) {
        good = !__builtin_mul_overflow(total, (uint64_t)array->shape[i], &total) && total <= INT64_MAX;
    }
    *size = empty ? 0 : (size_t)total;
    return good && (array->data || *size == 0)
               ? PCGPU_OK
               : pc_fail(context, PCGPU_ERROR_ARGUMENT,
                         "%s: an array to be written has no data, an unknown type or a shape "
                         "that is not possible; give 1 to 4 dimensions",
                         name);
}

static pcgpu_status write_array(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_array *arrays,
                                int count) {
    char header[PC_NPY_HEADER_SIZE];
    size_t size;
    if (count != 1) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%s: .npy holds one array and %d are given; write .npz", name,
                       count);
    }
    pcgpu_status status = pc_array_size(context, name, arrays, &size);
    if (status == PCGPU_OK) {
        size_t length = pc_npy_header(header, arrays->type, arrays->dimensions, arrays->shape);
        status = pc_write_bytes(context, stream, name, header, length);
    }
    return status == PCGPU_OK ? pc_write_bytes(context, stream, name, arrays->data, size) : status;
}

/* float32; with an offset float64 in all columns, since an array has one type. */
static pcgpu_status write_npy(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_cloud *cloud) {
    char header[PC_NPY_HEADER_SIZE];
    const int64_t shape[2] = {cloud->rows, cloud->columns};
    bool wide = pc_has_offset(cloud);
    size_t length = pc_npy_header(header, wide ? PCGPU_FLOAT64 : PCGPU_FLOAT32, 2, shape);
    pcgpu_status status = pc_write_bytes(context, stream, name, header, length);
    if (!wide && status == PCGPU_OK) {
        return pc_write_bytes(context, stream, name, cloud->data,
                              (size_t)cloud->rows * (size_t)cloud->columns * sizeof(float));
    }
    for (int64_t i = 0; i < cloud->rows && status == PCGPU_OK; i++) {
        double record[PCGPU_MAX_COLUMNS];
        for (int k = 0; k < cloud->columns; k++) {
            record[k] = pc_output_value(cloud, i, k);
        }
        status = pc_write_bytes(context, stream, name, record, (size_t)cloud->columns * sizeof(double));
    }
    return status;
}

const pc_format pc_format_npy = {
    .info = {.name = "npy",
             .extension = ".npy",
             .reads = true,
             .writes = true,
             .writes_arrays = true,
             .description = "NumPy array of float32 or float64, points x columns"},
    .read = read_npy,
    .write = write_npy,
    .write_arrays = write_array,
};
