/* pcgpu convert: the columns of --columns, and those that an output can hold. */
#include "convert.h"

#include <string.h>

/* ---- --columns --------------------------------------------------------------------------------------------------- */

/* Takes a name of `length` bytes, without the blanks around it. */
static bool take_name(const char *text, size_t length, char out[PCGPU_NAME_SIZE], reason *why) {
    for (; length > 0 && *text == ' '; length--) {
        text++;
    }
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    if (length == 0) {
        return refuse(why, "a name is empty; give names such as x,y,z,intensity");
    }
    if (length >= PCGPU_NAME_SIZE) {
        return refuse(why, "\"%.*s\" is longer than %d bytes; give a shorter name", (int)length, text,
                      PCGPU_NAME_SIZE - 1);
    }
    memcpy(out, text, length);
    out[length] = '\0';
    return true;
}

/* NAME or NAME=OLD. */
static bool add_column(const char *text, size_t length, column_list *list, reason *why) {
    const char *equals = memchr(text, '=', length);
    const size_t name = equals ? (size_t)(equals - text) : length;
    const int k = list->count;
    if (k == PCGPU_MAX_COLUMNS) {
        return refuse(why, "more than %d columns; give fewer", PCGPU_MAX_COLUMNS);
    }
    if (!take_name(text, name, list->names[k], why)) {
        return false;
    }
    memcpy(list->from[k], list->names[k], PCGPU_NAME_SIZE);
    for (int i = 0; i < k; i++) {
        if (strcmp(list->names[i], list->names[k]) == 0) {
            return refuse(why, "\"%s\" is given twice; give each column its own name", list->names[k]);
        }
    }
    list->count++;
    return !equals || take_name(equals + 1, length - name - 1, list->from[k], why);
}

bool columns_parse(const char *text, column_list *list, reason *why) {
    *list = (column_list){0};
    for (const char *p = text; p;) {
        const size_t length = strcspn(p, ",");
        reason inner;
        if (!add_column(p, length, list, &inner)) {
            return refuse(why, "columns: %s", inner.text);
        }
        p = p[length] ? p + length + 1 : NULL;
    }
    for (int k = 0; k < 3; k++) {
        const char axis[] = {(char)('x' + k), '\0'};
        if (k >= list->count || strcmp(list->names[k], axis) != 0) {
            return refuse(why, "columns: a cloud begins with x,y,z; give --columns x,y,z,...");
        }
    }
    return true;
}

/* The names of the columns from the k-th on, "red, green, blue", cut to fit. */
static void columns_show(const pcgpu_cloud *cloud, int k, char *out, size_t size) {
    out[0] = '\0';
    for (size_t used = 0; k < cloud->columns && used + PCGPU_NAME_SIZE + 2 < size; k++) {
        used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", cloud->names[k]);
    }
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
        const int found = pcgpu_cloud_column(cloud, list->from[k]);
        if (found < 0) {
            char names[512];
            columns_show(cloud, 0, names, sizeof names);
            return report_error(name, "no column '%s'; it has %s", list->from[k], names);
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
