/* .las: what its header and records hold besides points, such as the coordinate system, from one file to another. In
 * memory each record is an extended one, whose length has 8 bytes. */
#include "io_las.h"

#include <stdlib.h>
#include <string.h>

const pc_las_layout pc_las_layouts[PC_LAS_FORMATS] = {
    {20, 0, 0, 0},  {28, 20, 0, 0},  {26, 0, 20, 0},   {34, 20, 28, 0}, {57, 20, 0, 0},  {63, 20, 28, 0},
    {30, 22, 0, 0}, {36, 22, 30, 0}, {38, 22, 30, 36}, {59, 22, 0, 0},  {67, 22, 30, 36}};

const pc_las_dimension pc_las_dimensions[PC_LAS_DIMENSIONS] = {
    {"intensity", {{12, 0, 16}, {12, 0, 16}}, PC_NO_DEFAULT},
    {"return_number", {{14, 0, 3}, {14, 0, 4}}, PC_NO_DEFAULT},
    {"classification", {{15, 0, 5}, {16, 0, 8}}, PC_NO_DEFAULT},
    {"number_of_returns", {{14, 3, 3}, {14, 4, 4}}, 1},
    {"scan_direction_flag", {{14, 6, 1}, {15, 6, 1}}, 0},
    {"edge_of_flight_line", {{14, 7, 1}, {15, 7, 1}}, 0},
    {"synthetic", {{15, 5, 1}, {15, 0, 1}}, 0},
    {"key_point", {{15, 6, 1}, {15, 1, 1}}, 0},
    {"withheld", {{15, 7, 1}, {15, 2, 1}}, 0},
    {"overlap", {{0, 0, 0}, {15, 3, 1}}, 0},
    {"scanner_channel", {{0, 0, 0}, {15, 4, 2}}, 0},
    {"scan_angle", {{16, 0, 8}, {18, 0, 16}}, 0},
    {"user_data", {{17, 0, 8}, {17, 0, 8}}, 0},
    {"point_source_id", {{18, 0, 16}, {20, 0, 16}}, 0},
};

enum { LENGTH_AT = 20, MOST_BEFORE = 65535 };
/* Of the encoding, which is in `begin`: kind of time, synthetic returns, WKT. */
enum { ENCODING_AT = 2, KEPT_BITS = 0x19, WKT_BIT = 0x10 };

static bool is_of(const unsigned char *record, const char *user) {
    return strncmp((const char *)record + 2, user, 16) == 0;
}

/* A record that is about the bytes of the points, which the writer makes. */
static bool is_of_bytes(const unsigned char *record) {
    const uint64_t id = pc_load_number(record + 18, 2);
    return is_of(record, "laszip encoded") || is_of(record, "copc") ||
           (is_of(record, "LASF_Spec") && (id == 4 || (id >= 100 && id < 355) || id == 65535));
}

static bool is_projection(const unsigned char *record) {
    return is_of(record, "LASF_Projection");
}

/* Appends the records of a part of the file. False without memory. */
static bool add_records(const pc_bytes *bytes, uint64_t at, uint64_t count, bool extended, pcgpu_header *header) {
    const size_t head = extended ? PC_LAS_EXTENDED : PC_LAS_VLR;
    for (uint64_t i = 0; i < count && at <= bytes->size && bytes->size - at >= head; i++) {
        const unsigned char *p = bytes->data + at;
        const uint64_t length = pc_load_number(p + LENGTH_AT, extended ? 8 : 2);
        if (length > bytes->size - at - head) {
            break;
        }
        if (!is_of_bytes(p)) {
            unsigned char *more = realloc(header->records, header->size + PC_LAS_EXTENDED + (size_t)length);
            if (!more) {
                return false;
            }
            header->records = more;
            more += header->size;
            memcpy(more, p, LENGTH_AT);
            memcpy(more + LENGTH_AT, &length, sizeof length);
            memcpy(more + 28, p + head - 32, 32 + (size_t)length);
            header->size += PC_LAS_EXTENDED + (size_t)length;
        }
        at += head + length;
    }
    return true;
}

pcgpu_status pc_las_keep(const pc_file *file, const pc_bytes *bytes, const pc_las *las, const char *lost,
                         pcgpu_header **kept) {
    pcgpu_header *header = *kept = pc_header_create();
    const bool waves = las->format == 4 || las->format == 5 || las->format >= 9;
    const bool cut = las->extended > 0 && las->extended_at >= bytes->size;
    if (!header || !add_records(bytes, las->header, las->records, false, header) ||
        (las->extended > 0 && !add_records(bytes, las->extended_at, las->extended, true, header))) {
        pc_header_release(header);
        *kept = NULL;
        return pc_fail_file_memory(file, bytes->size);
    }
    memcpy(header->begin, bytes->data + 4, sizeof header->begin);
    if (waves || cut || *lost) {
        pc_warn(file, "left out: %s%s%s%s%s", waves ? "waveforms" : "", waves && (cut || *lost) ? ", " : "",
                cut ? "records behind the points" : "", cut && *lost ? ", " : "", lost);
    }
    return PCGPU_OK;
}

static const unsigned char *next_record(const pcgpu_header *header, size_t *at, uint64_t *length) {
    const unsigned char *p = header && *at < header->size ? header->records + *at : NULL;
    *length = p ? pc_load_number(p + LENGTH_AT, 8) : 0;
    *at += PC_LAS_EXTENDED + (size_t)*length;
    return p;
}

bool pc_las_has_projection(const pcgpu_header *header, bool wkt) {
    uint64_t length;
    size_t at = 0;
    for (const unsigned char *p; (p = next_record(header, &at, &length));) {
        if (is_projection(p) &&
            (!wkt || (pc_load_number(p + 18, 2) == 2112 && (header->begin[ENCODING_AT] & WKT_BIT)))) {
            return true;
        }
    }
    return false;
}

void pc_las_put_begin(const pcgpu_header *header, bool modern, unsigned char out[20]) {
    memcpy(out, header ? header->begin : out, header ? sizeof header->begin : 0);
    const bool text = pc_las_has_projection(header, true) || (modern && !pc_las_has_projection(header, false));
    out[ENCODING_AT] = (unsigned char)((out[ENCODING_AT] & KEPT_BITS & ~WKT_BIT) | (text ? WKT_BIT : 0));
    out[ENCODING_AT + 1] = 0;
}

pcgpu_status pc_las_put_records(const pc_file *file, const pcgpu_header *header, bool behind, uint32_t *count,
                                uint64_t *size) {
    uint64_t length;
    size_t at = 0;
    *count = 0;
    *size = 0;
    for (const unsigned char *p; (p = next_record(header, &at, &length));) {
        if ((length > MOST_BEFORE) != behind) {
            continue;
        }
        unsigned char head[PC_LAS_EXTENDED];
        const size_t bytes = behind ? PC_LAS_EXTENDED : PC_LAS_VLR;
        memcpy(head, p, behind ? PC_LAS_EXTENDED : LENGTH_AT + 2); /* little endian: the low bytes of the length */
        memcpy(head + bytes - 32, p + 28, 32);
        if (file) {
            PC_TRY(pc_write_bytes(file, head, bytes));
            PC_TRY(pc_write_bytes(file, p + PC_LAS_EXTENDED, (size_t)length));
        }
        *count += 1;
        *size += bytes + length;
    }
    return PCGPU_OK;
}

bool pc_las_has(const char *label, size_t length) {
    static const char *const others[] = {"X", "Y", "Z", "scan_angle_rank", "gps_time", "red", "green", "blue"};
    const size_t apart = sizeof others / sizeof others[0];
    for (size_t i = 0; i < apart + PC_LAS_DIMENSIONS; i++) {
        const char *name = i < apart ? others[i] : pc_las_dimensions[i - apart].name;
        if (strlen(name) == length && memcmp(name, label, length) == 0) {
            return true;
        }
    }
    const size_t suffix = strlen(PC_LAS_VALUE); /* of a column that has such a name itself */
    return length > suffix && memcmp(label + length - suffix, PC_LAS_VALUE, suffix) == 0 &&
           pc_las_has(label, length - suffix);
}

/* ---- one header of several -------------------------------------------------------------------------------------- */

/* Whether the records of two headers have the same bytes; of those of coordinate systems, or of all. */
static bool same_records(const pcgpu_header *a, const pcgpu_header *b, bool projections) {
    size_t at[2] = {0, 0};
    uint64_t length[2];
    for (;;) {
        const unsigned char *p, *q;
        while ((p = next_record(a, &at[0], &length[0])) && projections && !is_projection(p)) {
        }
        while ((q = next_record(b, &at[1], &length[1])) && projections && !is_projection(q)) {
        }
        if (!p || !q) {
            return p == q;
        }
        if (length[0] != length[1] || memcmp(p, q, PC_LAS_EXTENDED - 32) != 0 ||
            memcmp(p + PC_LAS_EXTENDED, q + PC_LAS_EXTENDED, (size_t)length[0]) != 0) {
            return false;
        }
    }
}

const char *pcgpu_cloud_take_header(pcgpu_cloud *out, const pcgpu_cloud *clouds, int count) {
    const pcgpu_header *first = clouds[0].header;
    const char *lost = NULL;
    pc_header_release(out->header);
    out->header = NULL;
    for (int i = 1; i < count; i++) {
        const pcgpu_header *other = clouds[i].header;
        static const double none[7];
        if (!same_records(first, other, true)) {
            return "the coordinate systems, which differ";
        }
        if (memcmp(first ? first->viewpoint : none, other ? other->viewpoint : none, sizeof none) != 0) {
            return "the viewpoints, which differ";
        }
        if ((first ? first->up : PC_UP_AUTO) != (other ? other->up : PC_UP_AUTO)) {
            return "the axes that point up, which differ";
        }
        lost = same_records(first, other, false) ? lost : "records of the headers of all but the first";
    }
    pc_header_share(clouds[0].header, out);
    return lost;
}
