/* The kinds of messages, and those with clouds: sensor_msgs/PointCloud2, and CustomMsg of the drivers of Livox, as
 * ROS 1 serializes them (packed, little-endian) and as ROS 2 does (CDR: aligned, either order, after four bytes that
 * say which). */
#include "recording.h"

pc_message_kind pc_message_kind_of(const char *type) {
    static const struct {
        const char *package, *name;
        pc_message_kind kind;
    } kinds[] = {{"sensor_msgs", "PointCloud2", PC_MESSAGE_POINTS},
                 {"livox_ros_driver", "CustomMsg", PC_MESSAGE_LIVOX},
                 {"livox_ros_driver2", "CustomMsg", PC_MESSAGE_LIVOX},
                 {"sensor_msgs", "Image", PC_MESSAGE_IMAGE},
                 {"sensor_msgs", "CompressedImage", PC_MESSAGE_PNG},
                 {"sensor_msgs", "CameraInfo", PC_MESSAGE_CAMERA},
                 {"geometry_msgs", "PoseStamped", PC_MESSAGE_POSE},
                 {"geometry_msgs", "PoseWithCovarianceStamped", PC_MESSAGE_POSE},
                 {"geometry_msgs", "TransformStamped", PC_MESSAGE_TRANSFORM},
                 {"nav_msgs", "Odometry", PC_MESSAGE_TRANSFORM},
                 {"sensor_msgs", "NavSatFix", PC_MESSAGE_POSITION}};
    const char *slash = strchr(type, '/');
    const char *name = slash && strncmp(slash, "/msg/", 5) == 0 ? slash + 4 : slash; /* ROS 2 */
    for (size_t i = 0; name && i < sizeof kinds / sizeof kinds[0]; i++) {
        const size_t n = (size_t)(slash - type);
        if (strlen(kinds[i].package) == n && memcmp(type, kinds[i].package, n) == 0 &&
            strcmp(name + 1, kinds[i].name) == 0) {
            return kinds[i].kind;
        }
    }
    return PC_MESSAGE_OTHER;
}

/* The reader of a message; of CDR without its first four bytes, which say the order of bytes and the alignment. */
static pc_cursor open_message(const pc_message *m) {
    enum { ENCAPSULATION = 4, PLAIN = 1, PLAIN2 = 7 };
    pc_cursor c = {.data = m->data, .size = m->size};
    if (m->topic->cdr) {
        const bool there = m->size >= ENCAPSULATION;
        const int kind = there ? m->data[1] : 0, order = kind & 1;
        c = (pc_cursor){.data = m->data + ENCAPSULATION * there,
                        .size = m->size - ENCAPSULATION * there,
                        .align = (kind | 1) == PLAIN2 ? 4 : 8,
                        .swap = !order,
                        .bad = !there || m->data[0] != 0 || ((kind | 1) != PLAIN && (kind | 1) != PLAIN2)};
    }
    return c;
}

/* std_msgs/Header; returns its time in nanoseconds. */
static int64_t take_header(pc_cursor *c, bool cdr) {
    if (!cdr) {
        pc_take(c, 4); /* sequence */
    }
    const int64_t seconds = (int64_t)pc_take(c, 4);
    const int64_t stamp = seconds * 1000000000 + (int64_t)pc_take(c, 4);
    pc_take_text(c); /* frame */
    return stamp;
}

pc_cursor pc_message_open(const pc_message *message, int64_t *stamp) {
    pc_cursor c = open_message(message);
    const int64_t time = take_header(&c, message->topic->cdr);
    *stamp = time > 0 && !c.bad ? time : message->time;
    return c;
}

int64_t pc_message_stamp(const pc_message *message) {
    int64_t stamp;
    pc_message_open(message, &stamp);
    return stamp;
}

/* ---- PointCloud2 ------------------------------------------------------------------------------------------------- */

typedef struct cloud_layout {
    uint64_t height, width, step, row_step;
    pc_span data;
} cloud_layout;

pcgpu_status pc_fail_message(const pc_file *file, const pc_message *m, const char *what) {
    return pc_fail_format(file, "the message of %zu bytes on %s %s, or is no %s; record it again", m->size,
                          m->topic->name, what, m->topic->type);
}

/* Adds the columns of a field of `count` values, named as in a .pcd. */
static pcgpu_status add_field(const pc_file *file, pc_table *table, pc_span name, uint64_t offset, unsigned type,
                              uint64_t count) {
    static const int types[] = {PCGPU_INT8,  PCGPU_UINT8,  PCGPU_INT16,   PCGPU_UINT16,
                                PCGPU_INT32, PCGPU_UINT32, PCGPU_FLOAT32, PCGPU_FLOAT64};
    if (type < 1 || type > sizeof types / sizeof types[0]) {
        return pc_fail_format(file, "field '%s' has type %u, and PointCloud2 has types 1 to 8; record it again",
                              pc_span_show(name).text, type);
    }
    if (count > PCGPU_MAX_COLUMNS) {
        return pc_fail_format(file, "field '%s' has %llu values a point, more than %d; leave it out of the message",
                              pc_span_show(name).text, (unsigned long long)count, PCGPU_MAX_COLUMNS);
    }
    for (uint64_t i = 0; i < (count ? count : 1); i++) { /* some drivers write 0 for 1 */
        char label[PCGPU_NAME_SIZE];
        const int most = count > 1 ? 24 : PCGPU_NAME_SIZE - 1, n = name.n < (size_t)most ? (int)name.n : most;
        memcpy(label, name.p, (size_t)n);
        const int suffix = count > 1 ? snprintf(label + n, sizeof label - (size_t)n, "_%d", (int)i) : 0;
        const int kind = types[type - 1];
        PC_TRY(pc_table_add(file, table, label, (size_t)(n + suffix), kind, offset + i * pc_type_size(kind)));
    }
    return PCGPU_OK;
}

static pcgpu_status take_fields(const pc_file *file, pc_cursor *c, pc_table *table) {
    const uint64_t fields = pc_take(c, 4);
    for (uint64_t i = 0; i < fields && !c->bad; i++) {
        const pc_span name = pc_take_text(c);
        const pc_span text = {name.p, name.n > 0 && name.p[name.n - 1] == '\0' ? name.n - 1 : name.n}; /* of CDR */
        const uint64_t offset = pc_take(c, 4);
        const unsigned type = (unsigned)pc_take(c, 1);
        const uint64_t count = pc_take(c, 4);
        if (!c->bad) {
            PC_TRY(add_field(file, table, text, offset, type, count));
        }
    }
    return PCGPU_OK;
}

/* All values must lie within the data. */
static pcgpu_status check_layout(const pc_file *file, const pc_table *table, const cloud_layout *l) {
    const uint64_t rows = l->width * l->height, used = l->width * l->step; /* of 32 bits each */
    for (int k = 0; k < table->columns; k++) {
        const pc_field *f = &table->fields[k];
        if (f->offset + pc_type_size(f->type) > l->step) {
            return pc_fail_format(file, "column '%s' lies outside of its point of %llu bytes; record it again", f->name,
                                  (unsigned long long)l->step);
        }
    }
    const uint64_t row_step = l->height > 1 && l->row_step > used ? l->row_step : used;
    const uint64_t there = used == 0 || l->data.n < used ? 0 : row_step ? (l->data.n - used) / row_step + 1 : 0;
    return rows == 0 || there >= l->height
               ? PCGPU_OK
               : pc_fail_format(
                     file,
                     "the cloud has %llu x %llu points of %llu bytes in %zu bytes, which are too few; record "
                     "it again",
                     (unsigned long long)l->width, (unsigned long long)l->height, (unsigned long long)l->step,
                     l->data.n);
}

/* Moves the rows of an organized cloud together. */
static void close_gaps(const cloud_layout *l, unsigned char *data) {
    const size_t used = (size_t)(l->width * l->step);
    for (uint64_t row = 1; row < l->height && l->row_step > used; row++) {
        memmove(data + row * used, data + row * l->row_step, used);
    }
}

static pcgpu_status read_points(const pc_file *file, const pc_message *m, pc_cursor c, pc_bytes *bytes,
                                pcgpu_cloud *cloud) {
    cloud_layout l;
    pc_table table = {.rows = 0};
    l.height = pc_take(&c, 4);
    l.width = pc_take(&c, 4);
    PC_TRY(take_fields(file, &c, &table));
    table.swap = pc_take(&c, 1) != 0;
    l.step = pc_take(&c, 4);
    l.row_step = pc_take(&c, 4);
    l.data = pc_take_text(&c);
    if (c.bad) {
        return pc_fail_message(file, m, "ends too early");
    }
    PC_TRY(check_layout(file, &table, &l));
    table.rows = (int64_t)(l.width * l.height);
    table.start = (size_t)((const unsigned char *)l.data.p - bytes->data);
    for (int k = 0; k < table.columns; k++) {
        table.fields[k].stride = (size_t)l.step;
    }
    if (table.rows > 0) {
        close_gaps(&l, bytes->data + table.start);
    }
    pc_table_split_color(&table);
    if (file->options->file && l.height > 1) {
        file->options->file->width = (int64_t)l.width;
        file->options->file->height = (int64_t)l.height;
    }
    pc_say_encoding(file, "PointCloud2 of ROS %s%s", m->topic->cdr ? "2" : "1", table.swap ? ", big endian" : "");
    return pc_table_to_cloud(file, &table, bytes, cloud);
}

/* ---- CustomMsg --------------------------------------------------------------------------------------------------- */

static pcgpu_status read_livox(const pc_file *file, const pc_message *m, pc_cursor c, pc_bytes *bytes,
                               pcgpu_cloud *cloud) {
    static const struct {
        const char *name;
        int type;
    } members[] = {{"offset_time", PCGPU_UINT32}, {"x", PCGPU_FLOAT32},
                   {"y", PCGPU_FLOAT32},          {"z", PCGPU_FLOAT32},
                   {"intensity", PCGPU_UINT8},    /* its reflectivity */ {"tag", PCGPU_UINT8},
                   {"line", PCGPU_UINT8}};
    enum { POINT = 19, RESERVED = 3 };
    const size_t stride = m->topic->cdr ? POINT + 1 : POINT;
    pc_table table = {.swap = c.swap};
    pc_take(&c, 8); /* the time of the first point, in nanoseconds */
    pc_take(&c, 4); /* points, as below */
    pc_take_bytes(&c, 1 + RESERVED);
    const uint64_t rows = pc_take(&c, 4);
    if (c.bad || rows > (c.size - c.at + stride - POINT) / stride) {
        return pc_fail_message(file, m, "ends too early");
    }
    size_t offset = 0;
    for (size_t k = 0; k < sizeof members / sizeof members[0]; k++) {
        PC_TRY(pc_table_add(file, &table, members[k].name, strlen(members[k].name), members[k].type, offset));
        table.fields[k].stride = stride;
        offset += pc_type_size(members[k].type);
    }
    table.rows = (int64_t)rows;
    table.start = (size_t)(c.data + c.at - bytes->data);
    pc_say_encoding(file, "CustomMsg of Livox, ROS %s", m->topic->cdr ? "2" : "1");
    return pc_table_to_cloud(file, &table, bytes, cloud);
}

pcgpu_status pc_message_to_cloud(const pc_file *file, const pc_message *message, pc_bytes *bytes, pcgpu_cloud *cloud) {
    int64_t unused;
    const pc_cursor c = pc_message_open(message, &unused);
    if (c.bad) {
        return pc_fail_message(file, message, "ends too early");
    }
    return message->topic->kind == PC_MESSAGE_LIVOX ? read_livox(file, message, c, bytes, cloud)
                                                    : read_points(file, message, c, bytes, cloud);
}
