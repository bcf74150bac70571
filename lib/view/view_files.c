/* Layers from files that are more than a cloud: meshes and the voxels of pcgpu voxelize. */
#include "io.h"
#include "view.h"

#include <stdlib.h>

pcgpu_status pc_layer_read_mesh(pcgpu_context *context, FILE *stream, const char *name, pc_layer *layer) {
    const pcgpu_read_options options = {.struct_size = sizeof options};
    const pc_file file = {.context = context, .name = name, .stream = stream, .options = &options};
    pc_bytes bytes = {NULL, 0};
    pcgpu_mesh mesh = {0};
    PC_TRY(pc_bytes_read(&file, &bytes));
    pcgpu_status status = pc_mesh_read(&file, &bytes, &mesh);
    pc_bytes_free(&bytes);
    layer->cloud = mesh.vertices;
    layer->indices = mesh.indices;
    layer->triangles = mesh.triangles;
    layer->kind = mesh.triangles > 0 ? PC_TRIANGLES : PC_POINTS;
    return status;
}

/* ---- voxels ------------------------------------------------------------------------------------------------------ */

/* An array of an archive. */
typedef struct array {
    pc_bytes bytes;
    pc_npy npy;
    int64_t rows, columns; /* of the first index, and values of each */
    size_t size;           /* of a value */
} array;

/* Whether the archive has such an array of numbers, complete. */
static bool read_array(const pc_file *file, const pc_bytes *bytes, const char *wanted, array *a) {
    *a = (array){0};
    if (pc_npz_array(file, bytes, wanted, &a->bytes) != PCGPU_OK ||
        pc_npy_parse(file, &a->bytes, &a->npy) != PCGPU_OK || a->npy.type < 0 || a->npy.type == PCGPU_FLOAT16 ||
        a->npy.fortran || a->npy.dimensions < 1) {
        return false;
    }
    uint64_t columns = 1, total;
    bool good = true;
    for (int k = 1; k < a->npy.dimensions; k++) {
        good = good && !__builtin_mul_overflow(columns, (uint64_t)a->npy.shape[k], &columns);
    }
    a->size = pc_type_size(a->npy.type);
    a->rows = a->npy.shape[0];
    a->columns = (int64_t)columns;
    return good && columns > 0 && columns < INT32_MAX &&
           !__builtin_mul_overflow(columns * a->size, (uint64_t)a->rows, &total) &&
           total <= a->bytes.size - a->npy.start;
}

static double value_at(const array *a, int64_t row, int64_t column) {
    return pc_load_value(a->bytes.data + a->npy.start + (size_t)(row * a->columns + column) * a->size, a->npy.type,
                         a->npy.swap);
}

/* The grid from the features, whose first three values are the mean of a voxel or its first point: the line through
 * these positions over the coordinates (least squares) has the size as its slope. An axis with one voxel has the extent
 * of the points. */
static bool fit_axis(const array *coords, const array *features, int axis, double *size, double *low) {
    double n = 0, c = 0, x = 0, cc = 0, cx = 0, least = 0, most = 0, first = value_at(coords, 0, 3 - axis);
    bool one = true;
    for (int64_t i = 0; i < coords->rows; i++) {
        const double k = value_at(coords, i, 3 - axis), p = value_at(features, i, axis);
        if (p - p != 0) {
            continue;
        }
        least = n == 0 || p < least ? p : least;
        most = n == 0 || p > most ? p : most;
        one = one && k == first;
        n += 1;
        c += k - first;
        x += p;
        cc += (k - first) * (k - first);
        cx += (k - first) * p;
    }
    const double spread = n * cc - c * c;
    *size = one || spread == 0 ? most - least : (n * cx - c * x) / spread;
    *low = one || spread == 0 ? least - first * *size : (x - *size * c) / n - (first + 0.5) * *size;
    return n > 0 && (one || *size > 0);
}

static bool find_grid(const array *coords, const array *features, double size[3], double low[3]) {
    bool good = coords->rows > 0 && features->rows == coords->rows && features->columns >= 3;
    for (int axis = 0; axis < 3 && good; axis++) {
        good = fit_axis(coords, features, axis, &size[axis], &low[axis]);
    }
    return good;
}

static pcgpu_status make_boxes(pcgpu_context *context, const array *coords, const array *counts, const double size[3],
                               const double low[3], pc_layer *layer) {
    const bool counted = counts->rows == coords->rows && counts->columns == 1;
    PC_TRY(pcgpu_cloud_create(context, coords->rows, counted ? 4 : 3, &layer->cloud));
    for (int64_t i = 0; i < coords->rows; i++) {
        float *p = layer->cloud.data + i * layer->cloud.columns;
        for (int k = 0; k < 3; k++) { /* coords are batch z y x */
            p[k] = (float)(low[k] + (value_at(coords, i, 3 - k) + 0.5) * size[k]);
            layer->half[k] = (float)(0.5 * size[k]);
        }
        if (counted) {
            p[3] = (float)value_at(counts, i, 0);
        }
    }
    if (counted) {
        snprintf(layer->cloud.names[3], PCGPU_NAME_SIZE, "count");
    }
    layer->kind = PC_BOXES;
    return PCGPU_OK;
}

pcgpu_status pc_layer_read_voxels(pcgpu_context *context, FILE *stream, const char *name, const double *size,
                                  const double *low, bool *voxels, pc_layer *layer) {
    const pc_file file = {.context = context, .name = name, .stream = stream};
    pc_bytes bytes = {NULL, 0};
    array coords = {0}, features = {0}, counts = {0};
    double sizes[3] = {1, 1, 1}, lows[3] = {0, 0, 0};
    pcgpu_status status = pc_bytes_read(&file, &bytes);
    /* By the layouts of voxelize: its own, OpenPCDet's, mmdetection3d's. */
    static const char *const names[][2] = {
        {"coords", "num_points"}, {"voxel_coords", "voxel_num_points"}, {"coors", "num_points"}};
    *voxels = false;
    for (int k = 0; k < 3 && status == PCGPU_OK && !*voxels; k++) {
        pc_bytes_free(&coords.bytes);
        pc_bytes_free(&counts.bytes);
        *voxels = read_array(&file, &bytes, names[k][0], &coords) && coords.columns == 4;
        if (*voxels && !read_array(&file, &bytes, names[k][1], &counts)) {
            counts.rows = 0;
        }
    }
    if (status == PCGPU_OK && *voxels) {
        const bool fits = read_array(&file, &bytes, "voxels", &features) && find_grid(&coords, &features, sizes, lows);
        for (int k = 0; k < 3; k++) {
            sizes[k] = size ? size[k] : sizes[k];
            lows[k] = low ? low[k] : lows[k];
        }
        pc_clear_error(context);
        status =
            fits || (size && low)
                ? make_boxes(context, &coords, &counts, sizes, lows, layer)
                : pc_fail(context, PCGPU_ERROR_FORMAT,
                          "%s: its voxels have no features that show where they are; give --voxel-size and --range of "
                          "pcgpu voxelize",
                          name);
    }
    pc_bytes_free(&coords.bytes);
    pc_bytes_free(&features.bytes);
    pc_bytes_free(&counts.bytes);
    pc_bytes_free(&bytes);
    return status;
}
