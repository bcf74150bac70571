/* .npy of NumPy: a 2-D array of float16, float32 or float64 is a cloud, and an array of records with fields x, y and z;
 * any dense array can be written. Format: numpy.lib.format, versions 1.0, 2.0 and 3.0. */
#include "io.h"

#include <string.h>

/* By pcgpu_type, then PCGPU_INT64 and PC_UINT64. */
static const char *const descriptions[] = {"<f4", "<f8", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<f2", "<i8", "<u8"};
enum { TYPES = sizeof descriptions / sizeof descriptions[0] };

/* ---- reading -------------------------------------------------------------------------------------------------- */

static pcgpu_status fail_header(const pc_file *file, const char *what) {
    return pc_fail_format(file, "%s; save it again with numpy.save", what);
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

/* "<i4": the byte order, which a type of one byte need not have, and the type. */
static int type_of(pc_span text) {
    for (int i = 0; i < TYPES && text.n == 3; i++) {
        bool ordered = *text.p == '<' || *text.p == '>' || (*text.p == '|' && pc_type_size(i) == 1);
        if (ordered && memcmp(text.p + 1, descriptions[i] + 1, 2) == 0) {
            return i;
        }
    }
    return -1;
}

static pcgpu_status parse_descr(const pc_file *file, pc_span value, pc_npy *npy) {
    size_t n = 1;
    if (value.n == 0) {
        return fail_header(file, "its header has no descr");
    }
    npy->records = *value.p == '[' ? value : (pc_span){value.p, 0};
    if (npy->records.n) {
        npy->type = -1;
        npy->type_text = pc_span_show((pc_span){"records", 7});
        return PCGPU_OK;
    }
    if (*value.p != '\'' && *value.p != '"') {
        return fail_header(file, "its header has a descr that cannot be read");
    }
    while (n < value.n && value.p[n] != *value.p) {
        n++;
    }
    pc_span text = {value.p + 1, n - 1};
    npy->swap = text.n && *text.p == '>';
    npy->type = type_of(text);
    npy->type_text = pc_span_show(text);
    return PCGPU_OK;
}

static pcgpu_status parse_shape(const pc_file *file, pc_span value, pc_npy *npy) {
    const char *p = value.p + 1;
    const char *end = value.p + value.n;
    npy->dimensions = 0;
    if (value.n == 0 || *value.p != '(') {
        return fail_header(file, "its header has no shape");
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
        if (npy->dimensions == PC_NPY_DIMENSIONS || !pc_span_count(digits, &npy->shape[npy->dimensions])) {
            return fail_header(file, "its header has a shape that cannot be read");
        }
        npy->dimensions++;
    }
    npy->shape_text = pc_span_show((pc_span){value.p, (size_t)(p + 1 - value.p)});
    return PCGPU_OK;
}

bool pc_npy_begins(const pc_bytes *bytes) {
    return bytes->size >= 10 && memcmp(bytes->data, "\x93NUMPY", 6) == 0;
}

pcgpu_status pc_npy_parse(const pc_file *file, const pc_bytes *bytes, pc_npy *npy) {
    const unsigned char *d = bytes->data;
    if (d[6] < 1 || d[6] > 3) {
        return pc_fail_format(file, "is .npy version %d; save it as version 1, 2 or 3", d[6]);
    }
    size_t prefix = d[6] == 1 ? 10 : 12;
    size_t length = d[8] | (size_t)d[9] << 8;
    if (d[6] > 1 && bytes->size >= prefix) {
        length |= (size_t)d[10] << 16 | (size_t)d[11] << 24;
    }
    if (bytes->size < prefix || length > bytes->size - prefix) {
        return fail_header(file, "file ends within its header");
    }
    pc_span header = {(const char *)d + prefix, length};
    npy->start = prefix + length;
    pc_span order = find_key(header, "fortran_order");
    npy->fortran = order.n >= 4 && memcmp(order.p, "True", 4) == 0;
    if (!npy->fortran && !(order.n >= 5 && memcmp(order.p, "False", 5) == 0)) {
        return fail_header(file, "its header has no fortran_order");
    }
    PC_TRY(parse_descr(file, find_key(header, "descr"), npy));
    return parse_shape(file, find_key(header, "shape"), npy);
}

/* ---- clouds --------------------------------------------------------------------------------------------------- */

static bool is_float(int type) {
    return type == PCGPU_FLOAT16 || type == PCGPU_FLOAT32 || type == PCGPU_FLOAT64;
}

bool pc_npy_is_cloud(const pc_npy *npy) {
    return is_float(npy->type) && npy->dimensions == 2 && npy->shape[1] >= 3 && npy->shape[1] <= PCGPU_MAX_COLUMNS;
}

/* `bytes`: the size of the file. */
static pcgpu_status check_cloud(const pc_file *file, uint64_t bytes, const pc_npy *npy) {
    const bool image = npy->dimensions == 2 && npy->shape[1] >= 32 && npy->shape[0] <= 2 * npy->shape[1];
    const char *hint = image ? "; if it is a depth image, save it as a 16-bit .png of millimetres" : "";
    if (!is_float(npy->type)) {
        return pc_fail_format(file,
                              "holds values of type '%s'; save it as float32 or float64 (array.astype('float32'))%s",
                              npy->type_text.text, hint);
    }
    if (!pc_npy_is_cloud(npy)) {
        return pc_fail_format(file, "its shape is %s; a cloud is points x columns with 3 to %d columns%s",
                              npy->shape_text.text, PCGPU_MAX_COLUMNS, hint);
    }
    if (image) {
        pc_warn(file, "its shape is %s, read as points x columns%s", npy->shape_text.text, hint);
    }
    uint64_t present = (bytes - npy->start) / ((size_t)npy->shape[1] * pc_type_size(npy->type));
    return present < (uint64_t)npy->shape[0] ? pc_fail_short(file, present, (uint64_t)npy->shape[0], "points")
                                             : PCGPU_OK;
}

/* Takes a character after blanks. */
static bool take_mark(pc_span *s, char mark) {
    while (s->n && *s->p == ' ') {
        s->p++, s->n--;
    }
    const bool is = s->n && *s->p == mark;
    s->p += is, s->n -= is;
    return is;
}

/* Takes a text in quotes. */
static bool take_text(pc_span *s, pc_span *text) {
    const char quote = take_mark(s, '\'') ? '\'' : '"';
    if (quote == '"' && !take_mark(s, '"')) {
        return false;
    }
    const char *end = memchr(s->p, quote, s->n);
    *text = (pc_span){s->p, end ? (size_t)(end - s->p) : 0};
    s->n -= end ? text->n + 1 : 0;
    s->p += end ? text->n + 1 : 0;
    return end;
}

/* ('ring', '<u2'), or the padding ('', '|V6'), which begins `*offset` bytes into the record. */
static pcgpu_status add_field(const pc_file *file, pc_span *s, pc_table *table, size_t *offset) {
    pc_span field, type;
    int64_t padding;
    if (!take_mark(s, '(') || !take_text(s, &field) || !take_mark(s, ',') || !take_text(s, &type) ||
        !take_mark(s, ')')) {
        return pc_fail_format(
            file, "its records have a field that is not one number; save the numbers alone (array[['x', 'y', 'z']])");
    }
    take_mark(s, ',');
    if (field.n == 0 && type.n > 2 && memcmp(type.p, "|V", 2) == 0 &&
        pc_span_count((pc_span){type.p + 2, type.n - 2}, &padding)) {
        *offset += padding < 1 << 20 ? (size_t)padding : 1 << 20;
        return PCGPU_OK;
    }
    const int found = type_of(type);
    const bool swap = *type.p == '>', first = table->columns == 0;
    if (found < 0 || (!first && swap != table->swap && pc_type_size(found) > 1)) {
        return pc_fail_format(
            file, "its field '%s' has the type '%s'%s; save the numbers alone (array[['x', 'y', 'z']])",
            pc_span_show(field).text, pc_span_show(type).text, found < 0 ? "" : ", and another byte order");
    }
    table->swap = first ? swap : table->swap;
    pcgpu_status status = pc_table_add(file, table, field.p, field.n, found, *offset);
    *offset += pc_type_size(found);
    return status;
}

/* An array of records; `bytes`: the size of the file. */
static pcgpu_status add_records(const pc_file *file, uint64_t bytes, const pc_npy *npy, pc_table *table) {
    pc_span s = npy->records;
    size_t record = 0;
    int64_t rows = 1;
    bool fits = npy->dimensions > 0 && (npy->dimensions == 1 || !npy->fortran);
    *table = (pc_table){.start = npy->start};
    for (int i = 0; i < npy->dimensions; i++) {
        fits = fits && !__builtin_mul_overflow(rows, npy->shape[i], &rows);
    }
    if (!fits) {
        return pc_fail_format(file, "its shape is %s; a cloud is one record per point", npy->shape_text.text);
    }
    take_mark(&s, '[');
    while (!take_mark(&s, ']')) {
        PC_TRY(add_field(file, &s, table, &record));
    }
    for (int k = 0; k < table->columns; k++) {
        table->fields[k].stride = record;
    }
    pc_table_split_color(table);
    const uint64_t present = record ? (bytes - npy->start) / record : 0;
    table->rows = rows;
    return present < (uint64_t)rows ? pc_fail_short(file, present, (uint64_t)rows, "points") : PCGPU_OK;
}

/* In C order the values of a point are neighbours, in Fortran order those of a column. */
static pcgpu_status build_table(const pc_file *file, const pc_npy *npy, pc_table *table) {
    size_t size = pc_type_size(npy->type);
    size_t rows = (size_t)npy->shape[0];
    size_t columns = (size_t)npy->shape[1];
    *table = (pc_table){.rows = npy->shape[0], .start = npy->start, .swap = npy->swap};
    return pc_table_add_unnamed(file, table, (int)columns, npy->type, npy->fortran ? rows * size : size,
                                npy->fortran ? size : columns * size);
}

static pcgpu_status describe(const pc_file *file, const pc_bytes *bytes, uint64_t size, pc_npy *npy, pc_table *table) {
    if (!pc_npy_begins(bytes)) {
        return pc_fail_format(file, "does not begin as a .npy file; give --format if it is another");
    }
    PC_TRY(pc_npy_parse(file, bytes, npy));
    if (npy->records.n) {
        return add_records(file, size, npy, table);
    }
    PC_TRY(check_cloud(file, size, npy));
    return build_table(file, npy, table);
}

pcgpu_status pc_npy_read(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud) {
    pc_npy npy;
    pc_table table;
    PC_TRY(describe(file, bytes, bytes->size, &npy, &table));
    pc_say_encoding(file, "%s %s%s", npy.type_text.text, npy.shape_text.text, npy.fortran ? " in Fortran order" : "");
    return pc_table_to_cloud(file, &table, bytes, cloud);
}

static pcgpu_status layout_of_npy(const pc_file *file, const pc_bytes *head, uint64_t size, pc_table *table,
                                  size_t *wanted) {
    pc_npy npy;
    *wanted = 0;
    PC_TRY(describe(file, head, size, &npy, table));
    if (npy.fortran && npy.dimensions > 1) {
        return pc_fail_file(
            file, PCGPU_ERROR_ARGUMENT,
            "is in Fortran order, which is not read in pieces; save it in C order (numpy.ascontiguousarray), or give "
            "more memory");
    }
    return PCGPU_OK;
}

/* ---- writing -------------------------------------------------------------------------------------------------- */

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

pcgpu_status pc_array_size(const pc_file *file, const pcgpu_array *array, size_t *size) {
    bool good = array->dimensions >= 1 && array->dimensions <= 4 && (unsigned)array->type <= PCGPU_INT64;
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
               : pc_fail_file(
                     file, PCGPU_ERROR_ARGUMENT,
                     "an array to be written has no data, an unknown type or a shape that is not possible; give 1 to "
                     "4 dimensions");
}

static pcgpu_status write_array(const pc_file *file, const pcgpu_array *arrays, int count) {
    char header[PC_NPY_HEADER_SIZE];
    size_t size;
    if (count != 1) {
        return pc_fail_file(file, PCGPU_ERROR_ARGUMENT, ".npy holds one array and %d are given; write .npz", count);
    }
    PC_TRY(pc_array_size(file, arrays, &size));
    size_t length = pc_npy_header(header, arrays->type, arrays->dimensions, arrays->shape);
    PC_TRY(pc_write_bytes(file, header, length));
    return pc_write_bytes(file, arrays->data, size);
}

/* float32; with an offset float64 in all columns, since an array has one type. */
static pcgpu_status write_npy(const pc_file *file, const pcgpu_cloud *cloud) {
    char header[PC_NPY_HEADER_SIZE];
    int64_t shape[2] = {cloud->rows, cloud->columns};
    uint8_t types[PCGPU_MAX_COLUMNS];
    bool wide = false;
    pc_output_types(cloud, types);
    for (int k = 0; k < cloud->columns; k++) {
        wide = wide || types[k] == PCGPU_FLOAT64;
        shape[1] -= types[k] == PCGPU_REMAINDER;
    }
    size_t length = pc_npy_header(header, wide ? PCGPU_FLOAT64 : PCGPU_FLOAT32, 2, shape);
    PC_TRY(pc_write_bytes(file, header, length));
    if (!wide) {
        return pc_write_bytes(file, cloud->data, (size_t)cloud->rows * (size_t)cloud->columns * sizeof(float));
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        double record[PCGPU_MAX_COLUMNS];
        int columns = 0;
        for (int k = 0; k < cloud->columns; k++) {
            record[columns] = pc_output_value(cloud, i, k);
            columns += types[k] != PCGPU_REMAINDER;
        }
        PC_TRY(pc_write_bytes(file, record, (size_t)columns * sizeof(double)));
    }
    return PCGPU_OK;
}

const pc_format pc_format_npy = {
    .info = {.name = "npy",
             .extension = ".npy",
             .reads = true,
             .writes = true,
             .writes_arrays = true,
             .description =
                 "NumPy: an array of float16, float32 or float64, points x columns, or of records with x, y, z"},
    .begins = {"\x93NUMPY"},
    .read = pc_npy_read,
    .layout = layout_of_npy,
    .write = write_npy,
    .write_arrays = write_array,
};
