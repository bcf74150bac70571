/* pcgpu convert: the columns of --columns, and those that an output can hold. */
#include "convert.h"

#include <string.h>

/* ---- --columns --------------------------------------------------------------------------------------------------- */

bool columns_parse(const char *text, column_list *list, reason *why) {
    if (!columns_split(text, list, why)) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        const char axis[] = {(char)('x' + k), '\0'};
        if (k >= list->count || strcmp(list->names[k], axis) != 0) {
            return refuse(why, "columns: a cloud begins with x,y,z; give --columns x,y,z,...");
        }
    }
    return true;
}

static void copy_column(const pcgpu_cloud *in, int from, pcgpu_cloud *out, int k) {
    const double change = in->offset[from] - out->offset[k];
    for (int64_t i = 0; i < in->rows; i++) {
        const float *value = in->data + i * in->columns + from;
        float *to = out->data + i * out->columns + k;
        if (change != 0) {
            *to = (float)((double)*value + change);
        } else {
            memcpy(to, value, sizeof *to); /* bits: a NaN keeps its own */
        }
    }
}

int columns_take(pcgpu_context *context, const char *name, const column_list *list, pcgpu_cloud *cloud) {
    pcgpu_cloud out;
    int from[PCGPU_MAX_COLUMNS], columns = 0;
    const char *label[PCGPU_MAX_COLUMNS];
    for (int k = 0; k < list->count; k++) {
        const int found = columns_find(name, list->from[k], cloud);
        if (found < 0) {
            return EXIT_FAILED;
        }
        label[columns] = list->names[k];
        from[columns++] = found;
        if (k >= 3 && pcgpu_column_is_remainder(cloud, found + 1) && columns + list->count - k < PCGPU_MAX_COLUMNS) {
            label[columns] = cloud->names[found + 1];
            from[columns++] = found + 1;
        }
    }
    PC_TRY(exit_code_of(pcgpu_cloud_create(context, cloud->rows, columns, &out), name, context));
    pcgpu_cloud_take_header(&out, cloud, 1);
    out.width = cloud->width;
    for (int k = 0; k < columns; k++) {
        if ((k < 3) == (from[k] < 3)) {
            out.offset[k] = cloud->offset[from[k]];
        }
        snprintf(out.names[k], PCGPU_NAME_SIZE, "%s", label[k]);
        out.types[k] = cloud->types[from[k]];
        copy_column(cloud, from[k], &out, k);
    }
    pcgpu_cloud_free(cloud);
    *cloud = out;
    return EXIT_DONE;
}

/* ---- what an output can hold ------------------------------------------------------------------------------------- */

enum { BIN_COLUMNS = 16 };

/* The names that a reader gives to the columns of a file without names. */
static const char *name_of_position(int k, char buffer[PCGPU_NAME_SIZE]) {
    snprintf(buffer, PCGPU_NAME_SIZE, k == 3 ? "intensity" : "c%d", k);
    return buffer;
}

/* .bin and .npy have columns without names. */
static void warn_of_names(const char *path, const char *format, const pcgpu_cloud *cloud) {
    char names[512] = "", read_as[512] = "", position[PCGPU_NAME_SIZE];
    size_t n = 0, r = 0;
    for (int k = 3, written = 3; k < cloud->columns && n + PCGPU_NAME_SIZE + 2 < sizeof names; k++) {
        if (!pcgpu_column_is_remainder(cloud, k) &&
            strcmp(cloud->names[k], name_of_position(written++, position)) != 0) {
            r += (size_t)snprintf(read_as + r, sizeof read_as - r, "%s%s", n ? ", " : "", position);
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", cloud->names[k]);
        }
    }
    if (n > 0) {
        report_warning(path, ".%s has no names of columns: %s will be read as %s; %s to keep them", format, names,
                       read_as, strcmp(path, "standard output") == 0 ? "give --output-format ply" : "write .ply");
    }
}

/* The size of a .bin does not say how many columns it has. */
static void warn_of_fields(const job *j, const char *path, const pcgpu_cloud *cloud) {
    const bool nuscenes = path_ends_in(path, ".pcd.bin");
    const int given = session_fields(j->session), fields = nuscenes ? 5 : given ? given : 4;
    if (cloud->columns != fields) {
        report_warning(path, "a .bin does not hold the number of its columns, here %d; read it with --fields %d",
                       cloud->columns, cloud->columns);
    }
}

int columns_fit_output(job *j, pcgpu_cloud *cloud) {
    const char *format = j->format ? cloud_format(j, cloud) : "";
    const char *path = job_output_name(j, "output");
    const bool bin = strcmp(format, "bin") == 0;
    if (bin && cloud->columns > BIN_COLUMNS) {
        column_list first = {.count = BIN_COLUMNS};
        char names[512];
        columns_show(cloud, BIN_COLUMNS, names, sizeof names);
        report_warning(path, "a record of .bin holds at most %d columns; left out: %s; write .ply to keep them",
                       BIN_COLUMNS, names);
        memcpy(first.names, cloud->names, sizeof first.names);
        memcpy(first.from, cloud->names, sizeof first.from);
        PC_TRY(columns_take(j->session->context, j->names[0], &first, cloud));
    }
    if (bin || strcmp(format, "npy") == 0) {
        warn_of_names(path, format, cloud);
    }
    if (bin) {
        warn_of_fields(j, path, cloud);
    }
    return EXIT_DONE;
}
