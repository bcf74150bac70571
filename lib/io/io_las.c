/* .las of ASPRS, versions 1.0 to 1.4, point formats 0 to 10. The records are read where they lie in the file:
 * coordinates are integers with a scale and an offset, returns are bits of a byte. .laz is expanded to such records by
 * io_laz.c. Format: "LAS Specification 1.4 - R15". */
#include "io.h"
#include "io_las.h"

#include <math.h>
#include <string.h>

bool pcgpu_column_default(const char *name, float *value) {
    for (int i = 0; i < PC_LAS_DIMENSIONS; i++) {
        if (pc_las_dimensions[i].unset != PC_NO_DEFAULT && strcmp(pc_las_dimensions[i].name, name) == 0) {
            *value = (float)pc_las_dimensions[i].unset;
            return true;
        }
    }
    return false;
}

static double real(const unsigned char *p) {
    return pc_load_value(p, PCGPU_FLOAT64, false);
}

static pcgpu_status fail(const pc_file *file, const char *what, long long value) {
    return pc_fail_format(file, "its header says %s %lld; it is damaged or no LAS file, so export it again", what,
                          value);
}

static pcgpu_status read_header(const pc_file *file, const pc_bytes *bytes, pc_las *las) {
    const unsigned char *d = bytes->data;
    *las = (pc_las){0};
    if (bytes->size < 4 || memcmp(d, "LASF", 4) != 0) {
        return pc_fail_format(file, "does not begin as a LAS file; give --format if it is another");
    }
    if (bytes->size < PC_LAS_HEADER) {
        return pc_fail_format(file, "file ends within its header; it is cut short, so copy it again");
    }
    const int minor = d[25];
    if (d[24] != 1 || minor > 4) {
        return pc_fail_format(
            file, "is LAS %d.%d; 1.0 to 1.4 are read, so convert it, such as by: pdal translate FILE out.las", d[24],
            minor);
    }
    las->header = pc_load_number(d + 94, 2);
    las->start = pc_load_number(d + 96, 4);
    las->records = pc_load_number(d + 100, 4);
    las->compressed = (d[104] & 0x80) != 0;
    las->format = d[104] & 0x3f;
    las->stride = pc_load_number(d + 105, 2);
    las->points = pc_load_number(d + 107, 4);
    for (int k = 0; k < 3; k++) {
        las->scale[k] = real(d + 131 + 8 * k);
        las->offset[k] = real(d + 155 + 8 * k);
    }
    const size_t least = minor >= 4 ? PC_LAS_HEADER_14 : PC_LAS_HEADER;
    if (las->header < least || las->header > bytes->size) {
        return fail(file, "a header size of", (long long)las->header);
    }
    if (minor >= 4) {
        const uint64_t points = pc_load_number(d + 247, 8);
        las->points = points ? points : las->points;
        las->extended_at = pc_load_number(d + 235, 8);
        las->extended = pc_load_number(d + 243, 4);
    }
    if (las->format >= PC_LAS_FORMATS || las->stride < pc_las_layouts[las->format].size) {
        return fail(file, las->format >= PC_LAS_FORMATS ? "point format" : "points of a length of",
                    (long long)(las->format >= PC_LAS_FORMATS ? (size_t)las->format : las->stride));
    }
    if (las->start < las->header || las->start > bytes->size) {
        return fail(file, "that its points begin at byte", (long long)las->start);
    }
    for (int k = 0; k < 3; k++) {
        if (!isfinite(las->scale[k]) || las->scale[k] == 0.0 || !isfinite(las->offset[k])) {
            return fail(file, "a scale of 0, or no finite scale and offset, of axis", k);
        }
    }
    las->size = pc_las_layouts[las->format].size;
    las->time = pc_las_layouts[las->format].time;
    las->colour = pc_las_layouts[las->format].colour;
    las->infrared = pc_las_layouts[las->format].infrared;
    return PCGPU_OK;
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

typedef struct las_input {
    const pc_file *file;
    const pc_las *las;
    bool described; /* its extra bytes */
    char lost[64];  /* what of them is no column */
    pc_table table;
} las_input;

/* Appends a column; on failure the status stays. */
static pc_field *add(las_input *in, pcgpu_status *status, const char *label, size_t length, int type, size_t at) {
    if (*status == PCGPU_OK) {
        *status = pc_table_add(in->file, &in->table, label, length, type, at);
    }
    pc_field *f = &in->table.fields[in->table.columns > 0 ? in->table.columns - 1 : 0];
    f->stride = in->las->stride;
    return f;
}

static void add_dimension(las_input *in, pcgpu_status *status, const pc_las_dimension *d) {
    const bool wide = in->las->format >= 6, angle = strcmp(d->name, "scan_angle") == 0;
    const int bits = d->in[wide].bits, type = angle        ? (wide ? PCGPU_INT16 : PCGPU_INT8)
                                              : bits == 16 ? PCGPU_UINT16
                                                           : PCGPU_UINT8;
    if (bits > 0) {
        pc_field *f = add(in, status, d->name, strlen(d->name), type, d->in[wide].at);
        f->mask = bits < 8 ? (uint8_t)(((1 << bits) - 1) << d->in[wide].low) : 0;
        f->scale = angle && wide ? PC_LAS_ANGLE : 0.0;
        f->unset = d->unset;
    }
}

static pcgpu_status add_columns(las_input *in) {
    static const char *const axes[] = {"x", "y", "z"};
    const pc_las *las = in->las;
    pcgpu_status status = PCGPU_OK;
    for (int k = 0; k < 3; k++) {
        pc_field *f = add(in, &status, axes[k], 1, PCGPU_INT32, (size_t)k * 4);
        f->scale = las->scale[k];
        f->shift = las->offset[k];
    }
    for (int i = 0; i < PC_LAS_DIMENSIONS && pc_las_dimensions[i].unset == PC_NO_DEFAULT; i++) {
        add_dimension(in, &status, &pc_las_dimensions[i]);
    }
    if (las->time) {
        add(in, &status, "gps_time", 8, PCGPU_FLOAT64, las->time);
    }
    for (int k = 0; k < 3 && las->colour; k++) {
        add(in, &status, pc_color_names[k], strlen(pc_color_names[k]), PCGPU_UINT16,
            (size_t)las->colour + 2 * (size_t)k);
    }
    if (las->infrared) {
        add(in, &status, "nir", 3, PCGPU_UINT16, las->infrared);
    }
    for (int i = 0; i < PC_LAS_DIMENSIONS && in->file->options->complete & (PCGPU_ALL_COLUMNS | PCGPU_KEEP_HEADER);
         i++) {
        if (pc_las_dimensions[i].unset != PC_NO_DEFAULT) {
            add_dimension(in, &status, &pc_las_dimensions[i]);
        }
    }
    return status;
}

/* The types of extra dimensions, from 1 on. */
static const uint8_t extra_types[] = {PCGPU_UINT8, PCGPU_INT8, PCGPU_UINT16, PCGPU_INT16,   PCGPU_UINT32,
                                      PCGPU_INT32, PC_UINT64,  PCGPU_INT64,  PCGPU_FLOAT32, PCGPU_FLOAT64};

/* An extra dimension. One that holds what a column of the format could not takes the place of that column. */
static pc_field *extra_field(las_input *in, pcgpu_status *status, const char *label, size_t length, int type,
                             size_t at) {
    const size_t suffix = strlen(PC_LAS_VALUE), base = length > suffix ? length - suffix : 0;
    if (base == 0 || memcmp(label + base, PC_LAS_VALUE, suffix) != 0 || !pc_las_has(label, base)) {
        return add(in, status, label, length, type, at);
    }
    for (int k = 3; k < in->table.columns; k++) {
        pc_field *f = &in->table.fields[k];
        if (strlen(f->name) == base && memcmp(f->name, label, base) == 0) {
            f->type = (uint8_t)type;
            f->offset = at;
            f->mask = 0;
            return f;
        }
    }
    return add(in, status, label, base, type, at);
}

/* Appends the extra dimensions of numbers that a record describes: `count` descriptions, one after the other. */
static pcgpu_status add_extra(las_input *in, const unsigned char *p, size_t count) {
    size_t at = in->las->size;
    pcgpu_status status = PCGPU_OK;
    for (size_t n = 0; n < count && status == PCGPU_OK; n++, p += PC_LAS_EXTRA) {
        const int kind = p[2], type = kind >= 1 && kind <= 30 ? extra_types[(kind - 1) % 10] : -1;
        const size_t size = type < 0 ? p[3] : pc_type_size(type) * (size_t)(1 + (kind - 1) / 10);
        if (size > in->las->stride - at) {
            return pc_fail_format(in->file,
                                  "describes more extra bytes than its points have; it is damaged, so export it again");
        }
        for (int i = 0; i <= (kind - 1) / 10 && type >= 0 && status == PCGPU_OK; i++) {
            const double scale = p[3] & 8 ? real(p + 112 + 8 * i) : 1.0,
                         shift = p[3] & 16 ? real(p + 136 + 8 * i) : 0.0;
            const bool scaled = (p[3] & 24) && isfinite(scale) && isfinite(shift) && scale != 0.0;
            char label[40];
            const int length = snprintf(label, sizeof label, kind > 10 ? "%.28s[%d]" : "%.32s", (const char *)p + 4, i);
            pc_field *f = extra_field(in, &status, label, (size_t)length, type, at + (size_t)i * pc_type_size(type));
            f->scale = scaled ? scale : 0.0;
            f->shift = scaled ? shift : 0.0;
        }
        if (type < 0) {
            snprintf(in->lost, sizeof in->lost, "extra dimension '%.28s' of no known type",
                     pc_span_show((pc_span){(const char *)p + 4, strnlen((const char *)p + 4, 32)}).text);
        }
        at += size;
    }
    return status;
}

/* Looks for the description of extra bytes among records from `at` on. */
static pcgpu_status find_extra(las_input *in, const pc_bytes *bytes, uint64_t at, uint64_t records, bool extended) {
    const size_t header = extended ? PC_LAS_EXTENDED : PC_LAS_VLR;
    for (uint64_t i = 0; i < records && at <= bytes->size && bytes->size - at >= header; i++) {
        const unsigned char *p = bytes->data + at;
        const uint64_t length = extended ? pc_load_number(p + 20, 8) : pc_load_number(p + 20, 2),
                       left = bytes->size - at - header;
        const bool is_extra = memcmp(p + 2, "LASF_Spec\0", 10) == 0 && pc_load_number(p + 18, 2) == 4;
        if (length > left) {
            return PCGPU_OK; /* of no importance for the points */
        }
        if (is_extra) {
            in->described = true;
            return add_extra(in, p + header, (size_t)length / PC_LAS_EXTRA);
        }
        at += header + length;
    }
    return PCGPU_OK;
}

/* The columns by what is before the points. `in` has the header. */
static pcgpu_status describe(las_input *in, const pc_bytes *bytes) {
    PC_TRY(add_columns(in));
    return find_extra(in, bytes, in->las->header, in->las->records, false);
}

static pcgpu_status check_points(const las_input *in, uint64_t present) {
    const pc_las *las = in->las;
    if (las->points > present) {
        return pc_fail_short(in->file, present, las->points, "points");
    }
    if (las->points == 0 && present > 0) {
        pc_warn(in->file,
                "its header says 0 points, and %llu may follow; its writer did not finish, so export it again",
                (unsigned long long)present);
    }
    return PCGPU_OK;
}

static pcgpu_status keep(las_input *in, const pc_bytes *bytes, pcgpu_header **header) {
    const size_t extra = in->described ? 0 : in->las->stride - in->las->size;
    if (extra > 0) {
        snprintf(in->lost, sizeof in->lost, "%zu bytes per point without a description", extra);
    }
    return pc_las_keep(in->file, bytes, in->las, in->lost, header);
}

static pcgpu_status read_las(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud) {
    pc_las las;
    pc_bytes expanded = {NULL, 0};
    pc_bytes *points = bytes;
    las_input in = {.file = file, .las = &las};
    PC_TRY(read_header(file, bytes, &las));
    pc_say_encoding(file, "LA%c 1.%d, point format %d, steps of %g %g %g m", las.compressed ? 'Z' : 'S',
                    bytes->data[25], las.format, las.scale[0], las.scale[1], las.scale[2]);
    PC_TRY(describe(&in, bytes));
    if (las.extended > 0 && !in.described) {
        PC_TRY(find_extra(&in, bytes, las.extended_at, las.extended, true));
    }
    if (las.compressed) {
        PC_TRY(pc_laz_expand(file, bytes, &las, &expanded));
        points = &expanded;
    }
    const size_t start = las.compressed ? 0 : las.start;
    pcgpu_status status;
    PC_TRY_OR(done, status, check_points(&in, (points->size - start) / las.stride));
    in.table.rows = (int64_t)las.points;
    in.table.start = start;
    PC_TRY_OR(done, status, pc_table_to_cloud(file, &in.table, points, cloud));
    if (file->options->complete & PCGPU_KEEP_HEADER) {
        status = keep(&in, bytes, &cloud->header);
    }
done:
    pc_bytes_free(&expanded);
    return status;
}

static pcgpu_status layout_of_las(const pc_file *file, const pc_bytes *head, uint64_t size, pc_table *table,
                                  size_t *wanted) {
    pc_las las;
    las_input in = {.file = file, .las = &las};
    const uint64_t start = head->size >= PC_LAS_HEADER ? pc_load_number(head->data + 96, 4) : 0;
    *wanted = start > head->size && start <= size ? (size_t)start : 0;
    if (*wanted) {
        return PCGPU_OK;
    }
    PC_TRY(read_header(file, head, &las));
    PC_TRY(describe(&in, head));
    if (las.compressed || (las.extended > 0 && !in.described && las.stride > las.size)) {
        return pc_fail_file(
            file, PCGPU_ERROR_ARGUMENT,
            "%s, so it is not read in pieces; write it as .las with pcgpu convert where there is more memory",
            las.compressed ? "is compressed" : "describes extra bytes behind its points");
    }
    PC_TRY(check_points(&in, (size - las.start) / las.stride));
    in.table.rows = (int64_t)las.points;
    in.table.start = las.start;
    *table = in.table;
    return file->options->complete & PCGPU_KEEP_HEADER ? keep(&in, head, &table->header) : PCGPU_OK;
}

const pc_format pc_format_las = {
    .info = {.name = "las",
             .extension = ".las",
             .reads = true,
             .writes = true,
             .description = "LAS 1.0 to 1.4, all point formats; written as 1.2, or 1.4 where values need it"},
    .begins = {"LASF"},
    .read = read_las,
    .layout = layout_of_las,
    .write = pc_las_write,
};

const pc_format pc_format_laz = {
    .info = {.name = "laz",
             .extension = ".laz",
             .reads = true,
             .description = "compressed LAS, where the library LASzip is installed"},
    .read = read_las,
};
