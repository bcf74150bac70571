/* --labels: a .label of SemanticKITTI has a little-endian uint32 per record of a scan: the class in the lower 16 bits,
 * the instance in the upper ones. */
#include "labels.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 4, ADDED = 2 }; /* of a record; columns */

static bool is_voxel_label(const char *text) {
    return strcmp(text, "majority") == 0 || strcmp(text, "first") == 0 || strcmp(text, "mean") == 0;
}

bool labels_check(const session *s, reason *why) {
    const char *labels = s->options->labels;
    if (!labels) {
        return true;
    }
    if (is_voxel_label(labels)) {
        return refuse(
            why,
            "--labels takes a .label file or a folder; voxels have the majority of the labels of their points, or "
            "what --set voxel-labels=%s of pcgpu voxelize chooses",
            labels);
    }
    if (path_is_folder(labels)) {
        for (int i = 0; i < s->input_count; i++) {
            if (path_is_dash(s->inputs[i])) {
                return refuse(why, "--labels: standard input has no name in a folder; give the .label file");
            }
        }
        return true;
    }
    return s->input_count <= 1 ||
           refuse(why, "--labels: %d inputs and one file; give the folder of their .label files", s->input_count);
}

char *labels_path(const session *s, const char *input) {
    const char *labels = s->options->labels;
    return !labels ? NULL : path_is_folder(labels) ? path_in_folder(labels, input, ".label") : heap_text("%s", labels);
}

/* Reads the labels of `rows` records. */
static bool read_labels(const char *path, int64_t rows, unsigned char *labels, reason *why) {
    reason inner;
    unsigned char more[4096];
    FILE *stream = input_try(path, &inner);
    if (!stream) {
        return refuse(why, "%s: %s", input_name(path), inner.text);
    }
    size_t size = fread(labels, 1, BYTES * (size_t)rows, stream);
    for (size_t n; (n = fread(more, 1, sizeof more, stream)) > 0;) {
        size += n;
    }
    const bool good = !ferror(stream);
    input_close(stream);
    return good ? size == BYTES * (size_t)rows ||
                      refuse(why,
                             "%s: %zu bytes, and %lld records of the scan have labels of 4 bytes each, %lld; give "
                             "the labels of this scan",
                             input_name(path), size, (long long)rows, (long long)(BYTES * rows))
                : refuse(why, "%s: cannot be read", input_name(path));
}

/* Widens the rows, the last one first, by two columns with these labels. */
static bool append_columns(const unsigned char *labels, pcgpu_cloud *cloud) {
    const size_t rows = cloud->rows > 0 ? (size_t)cloud->rows : 1, old = (size_t)cloud->columns, wide = old + ADDED;
    float *data = rows <= SIZE_MAX / wide / sizeof *data ? realloc(cloud->data, rows * wide * sizeof *data) : NULL;
    if (!data) {
        return false;
    }
    cloud->data = data;
    for (int64_t i = cloud->rows - 1; i >= 0; i--) {
        const unsigned char *bytes = labels + BYTES * i;
        float *row = data + (size_t)i * wide;
        memmove(row, data + (size_t)i * old, old * sizeof *row);
        row[old] = (float)(bytes[0] | bytes[1] << 8);
        row[old + 1] = (float)(bytes[2] | bytes[3] << 8);
    }
    static const char *const names[ADDED] = {"label", "instance"};
    for (int k = 0; k < ADDED; k++) {
        snprintf(cloud->names[cloud->columns], PCGPU_NAME_SIZE, "%s", names[k]);
        cloud->offset[cloud->columns] = 0;
        cloud->types[cloud->columns++] = PCGPU_UINT16;
    }
    return true;
}

static bool add(const char *path, pcgpu_cloud *cloud, unsigned char *labels, reason *why) {
    if (pcgpu_cloud_column(cloud, "label") >= 0 || pcgpu_cloud_column(cloud, "instance") >= 0) {
        return refuse(why, "has a column label or instance already; leave --labels out");
    }
    if (cloud->columns + ADDED > PCGPU_MAX_COLUMNS) {
        return refuse(why, "has %d columns, and with labels %d are possible; leave --labels out", cloud->columns,
                      PCGPU_MAX_COLUMNS - ADDED);
    }
    return labels ? read_labels(path, cloud->rows, labels, why) &&
                        (append_columns(labels, cloud) || refuse(why, "out of memory for the labels"))
                  : refuse(why, "out of memory for the labels");
}

bool labels_add(const session *s, const char *input, pcgpu_cloud *cloud, reason *why) {
    char *path = labels_path(s, input);
    unsigned char *labels = path ? malloc(BYTES * (size_t)cloud->rows + 1) : NULL;
    const bool good = !path || add(path, cloud, labels, why);
    free(labels);
    free(path);
    return good;
}
