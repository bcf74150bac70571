/* Clouds: memory, columns, gathering, transforming, and the usable points of one. */
#include "cloud.h"
#include "error.h"
#include "geometry.h"
#include "temporary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <strings.h>

pcgpu_status pcgpu_cloud_create(pcgpu_context *context, int64_t rows, int columns, pcgpu_cloud *cloud) {
    static const char *const first[] = {"x", "y", "z", "intensity"};
    memset(cloud, 0, sizeof *cloud);
    if (rows < 0 || columns < 3 || columns > PCGPU_MAX_COLUMNS) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a cloud of %lld rows and %d columns; 3 to %d columns are possible", (long long)rows, columns,
                       PCGPU_MAX_COLUMNS);
    }
    uint64_t bytes = (uint64_t)rows * (uint64_t)columns * sizeof(float);
    cloud->data = malloc(bytes ? bytes : 1);
    if (!cloud->data) {
        return pc_fail_memory(context, bytes, "a cloud");
    }
    cloud->rows = rows;
    cloud->columns = columns;
    for (int k = 0; k < columns; k++) {
        if (k < 4) {
            snprintf(cloud->names[k], PCGPU_NAME_SIZE, "%s", first[k]);
        } else {
            snprintf(cloud->names[k], PCGPU_NAME_SIZE, "c%d", k);
        }
    }
    return PCGPU_OK;
}

bool pcgpu_column_is_remainder(const pcgpu_cloud *cloud, int column) {
    return column < cloud->columns && cloud->types[column] == PCGPU_REMAINDER;
}

pcgpu_header *pc_header_create(void) {
    pcgpu_header *header = calloc(1, sizeof *header);
    if (header) {
        header->users = 1;
    }
    return header;
}

const char *const pc_up_names[] = {"auto", "x", "y", "z", "-x", "-y", "-z", NULL};

pc_up pc_up_of(const double direction[3]) {
    double square = 0.0;
    int axis = 0;
    for (int k = 0; k < 3; k++) {
        square += direction[k] * direction[k];
        axis = fabs(direction[k]) > fabs(direction[axis]) ? k : axis;
    }
    const pc_up up = (pc_up)(axis + (direction[axis] < 0.0 ? PC_UP_MINUS_X : PC_UP_X));
    return 2.0 * direction[axis] * direction[axis] > square ? up : PC_UP_AUTO;
}

bool pc_cloud_set_up(pcgpu_cloud *cloud, pc_up up) {
    if (up != PC_UP_AUTO && !cloud->header) {
        cloud->header = pc_header_create();
    }
    if (cloud->header) {
        cloud->header->up = up;
    }
    return up == PC_UP_AUTO || cloud->header;
}

const char *pcgpu_cloud_up(const pcgpu_cloud *cloud) {
    return pc_cloud_up(cloud) != PC_UP_AUTO ? pc_up_names[pc_cloud_up(cloud)] : NULL;
}

bool pcgpu_cloud_set_up(pcgpu_cloud *cloud, const char *up) {
    int axis = up ? PC_UP_X : PC_UP_AUTO;
    while (up && pc_up_names[axis] && strcmp(pc_up_names[axis], up) != 0) {
        axis++;
    }
    return pc_up_names[axis] && pc_cloud_set_up(cloud, (pc_up)axis);
}

void pc_header_share(pcgpu_header *header, pcgpu_cloud *cloud) {
    if (header) {
        __atomic_fetch_add(&header->users, 1, __ATOMIC_RELAXED);
    }
    cloud->header = header;
}

void pc_header_release(pcgpu_header *header) {
    if (header && __atomic_sub_fetch(&header->users, 1, __ATOMIC_ACQ_REL) == 0) {
        free(header->records);
        free(header);
    }
}

void pcgpu_cloud_free(pcgpu_cloud *cloud) {
    pc_release(cloud->data);
    pc_header_release(cloud->header);
    memset(cloud, 0, sizeof *cloud);
}

int pcgpu_cloud_column(const pcgpu_cloud *cloud, const char *name) {
    int found = -1;
    for (int k = 0; k < cloud->columns; k++) {
        if (strcmp(cloud->names[k], name) == 0) {
            return k;
        }
        found = found < 0 && strcasecmp(cloud->names[k], name) == 0 ? k : found;
    }
    return found;
}

pcgpu_status pc_cloud_create_like(pcgpu_context *context, const pcgpu_cloud *model, int64_t rows, pcgpu_cloud *out) {
    PC_TRY(pcgpu_cloud_create(context, rows, model->columns, out));
    memcpy(out->offset, model->offset, sizeof out->offset);
    memcpy(out->names, model->names, sizeof out->names);
    memcpy(out->types, model->types, sizeof out->types);
    pc_header_share(model->header, out);
    return PCGPU_OK;
}

pcgpu_status pcgpu_cloud_gather(pcgpu_context *context, const pcgpu_cloud *cloud, const int32_t *indices, int64_t count,
                                pcgpu_cloud *out) {
    PC_TRY(pc_cloud_create_like(context, cloud, count, out));
    size_t columns = (size_t)cloud->columns;
    for (int64_t i = 0; i < count; i++) {
        int32_t row = indices[i];
        if (row < 0 || row >= cloud->rows) {
            pcgpu_cloud_free(out);
            return pc_fail(context, PCGPU_ERROR_ARGUMENT, "index %d at place %lld is not a record of a cloud of %lld",
                           (int)row, (long long)i, (long long)cloud->rows);
        }
        memcpy(out->data + (size_t)i * columns, cloud->data + (size_t)row * columns, columns * sizeof(float));
    }
    return PCGPU_OK;
}

bool pc_column_is_class(const pcgpu_cloud *cloud, int k) {
    static const char *const measured[] = {"red",       "green",    "blue",   "alpha",      "intensity", "reflectivity",
                                           "range",     "ambient",  "signal", "near_ir",    "t",         "time",
                                           "timestamp", "gps_time", "count",  "num_points", "seen"};
    const pcgpu_type type = cloud->types[k];
    bool is_class = type != PCGPU_FLOAT16 && type != PCGPU_FLOAT32 && type != PCGPU_FLOAT64 && type != PCGPU_REMAINDER;
    for (size_t i = 0; i < sizeof measured / sizeof *measured; i++) {
        is_class = is_class && strcmp(cloud->names[k], measured[i]) != 0;
    }
    return is_class;
}

bool pc_is_time(const char *name) {
    static const char *const names[] = {"t",          "time",        "times",     "timestamp", "timestamps",
                                        "time_stamp", "gps_time",    "gpstime",   "stamp",     "offset_time",
                                        "offsettime", "time_offset", "timeoffset"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcasecmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

const char *pc_type_name(int type) {
    static const char *const names[] = {"float32", "float64", "int8",    "uint8", "int16", "uint16",
                                        "int32",   "uint32",  "float16", "int64", "uint64"};
    return type >= 0 && type < (int)(sizeof names / sizeof names[0]) ? names[type] : "unknown";
}

int pc_time_column(const pcgpu_cloud *cloud, int given) {
    for (int k = 3; k < cloud->columns && given == 0; k++) {
        if (pc_is_time(cloud->names[k])) {
            return k;
        }
    }
    return given == 0 ? 4 : given;
}

int pc_normal_column(const pcgpu_cloud *cloud) {
    static const char *const names[][3] = {{"nx", "ny", "nz"}, {"normal_x", "normal_y", "normal_z"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int k = pcgpu_cloud_column(cloud, names[i][0]);
        if (k >= 0 && pcgpu_cloud_column(cloud, names[i][1]) == k + 1 &&
            pcgpu_cloud_column(cloud, names[i][2]) == k + 2) {
            return k;
        }
    }
    return -1;
}

pcgpu_status pcgpu_cloud_transform(pcgpu_context *context, const pcgpu_cloud *cloud, const double T[16],
                                   const double *offset, pcgpu_cloud *out) {
    PC_TRY(pc_cloud_create_like(context, cloud, cloud->rows, out));
    pc_header_release(out->header); /* which is about the coordinates before */
    out->header = NULL;
    out->width = cloud->width;
    if (offset) {
        memcpy(out->offset, offset, 3 * sizeof *offset);
    }
    int normal = pc_normal_column(cloud);
    size_t columns = (size_t)cloud->columns;
    memcpy(out->data, cloud->data, (size_t)cloud->rows * columns * sizeof(float));
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *from = cloud->data + (size_t)i * columns;
        float *to = out->data + (size_t)i * columns;
        double p[3];
        for (int k = 0; k < 3; k++) {
            p[k] = cloud->offset[k] + (double)from[k];
        }
        for (int k = 0; k < 3; k++) {
            const double *row = T + 4 * k;
            to[k] = (float)(((row[0] * p[0] + row[1] * p[1]) + row[2] * p[2]) + (row[3] - out->offset[k]));
            if (normal >= 0) {
                const float *n = from + normal;
                to[normal + k] = (float)((row[0] * (double)n[0] + row[1] * (double)n[1]) + row[2] * (double)n[2]);
            }
        }
    }
    return PCGPU_OK;
}

double pcgpu_rotation_angle(const double T[16]) {
    const double x = T[9] - T[6], y = T[2] - T[8], z = T[4] - T[1];
    return pc_angle(sqrt((x * x + y * y) + z * z), (T[0] + T[5]) + T[10] - 1.0);
}

bool pcgpu_is_rigid(const double T[16], char *why, size_t why_size) {
    const double tolerance = 1e-3;
    double worst = 0.0;
    bool finite = true;
    for (int k = 0; k < 16; k++) {
        finite = finite && isfinite(T[k]);
    }
    for (int i = 0; i < 3; i++) {
        for (int j = i; j < 3; j++) {
            const double dot = T[4 * i] * T[4 * j] + T[4 * i + 1] * T[4 * j + 1] + T[4 * i + 2] * T[4 * j + 2];
            worst = fmax(worst, fabs(dot - (i == j)));
        }
    }
    const double determinant =
        T[0] * (T[5] * T[10] - T[6] * T[9]) - T[1] * (T[4] * T[10] - T[6] * T[8]) + T[2] * (T[4] * T[9] - T[5] * T[8]);
    const bool last = T[12] == 0.0 && T[13] == 0.0 && T[14] == 0.0 && T[15] == 1.0;
    const bool rotation = worst < tolerance && determinant > 0.0;
    if (why && !finite) {
        snprintf(why, why_size, "not a rigid transform: a number of it is not finite");
    } else if (why && !last) {
        snprintf(why, why_size, "the last row is %g %g %g %g; it must be 0 0 0 1", T[12], T[13], T[14], T[15]);
    } else if (why && !rotation) {
        snprintf(why, why_size,
                 "not a rigid transform: the rotation%s has determinant %g and is off by %g; rows and "
                 "columns must be orthonormal",
                 determinant < 0.0 ? ", a mirror," : "", determinant, worst);
    }
    return finite && last && rotation;
}
