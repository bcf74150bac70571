/* .bin: records of float32 without a header, as in KITTI (4 per point) and nuScenes (5 per point). */
#include "io.h"

#include <math.h>
#include <string.h>

enum { MIN_FIELDS = 3, MAX_FIELDS = 16, DEFAULT_FIELDS = 4, NUSCENES_FIELDS = 5 };

/* Lists the numbers of fields that divide a size, for the error of a size that `fields` does not divide. */
static pcgpu_status fail_size(const pc_file *file, const pc_bytes *bytes, size_t size, int fields) {
    char choices[128] = "";
    size_t used = 0;
    const int likely = pc_bin_columns(bytes->data, bytes->size, size, 0);
    for (int f = MIN_FIELDS; f <= MAX_FIELDS; f++) {
        if (size % ((size_t)f * 4) == 0) {
            used += (size_t)snprintf(choices + used, sizeof choices - used, "%s%d", used ? ", " : "", f);
        }
    }
    size_t record = (size_t)fields * 4;
    if (likely > 0) {
        return pc_fail_format(
            file,
            "%zu bytes are not whole records of %d float32 (%zu bytes): %zu bytes are left over; the values repeat "
            "every %d columns, so give --fields %d",
            size, fields, record, size % record, likely, likely);
    }
    if (used) {
        return pc_fail_format(
            file,
            "%zu bytes are not whole records of %d float32 (%zu bytes): %zu bytes are left over; give --fields, the "
            "size allows %s",
            size, fields, record, size % record, choices);
    }
    return pc_fail_format(
        file,
        "%zu bytes are not whole records of %d float32 (%zu bytes): %zu bytes are left over, and no --fields from %d "
        "to %d divides the size; it is cut short or not a .bin, so copy it again or give --format",
        size, fields, record, size % record, MIN_FIELDS, MAX_FIELDS);
}

static pcgpu_status layout_of_bin(const pc_file *file, const pc_bytes *bytes, uint64_t size, pc_table *table,
                                  size_t *wanted) {
    const pcgpu_read_options *options = file->options;
    const bool finds = options->fields == PCGPU_LIKELY_FIELDS,
               nuscenes = pc_has_extension(file->name, ".pcd.bin") || pc_has_extension(file->name, ".pcd.bin.gz");
    int fields = options->fields && !finds ? options->fields : nuscenes ? NUSCENES_FIELDS : DEFAULT_FIELDS;
    if (fields < MIN_FIELDS || fields > MAX_FIELDS) {
        return pc_fail_file(file, PCGPU_ERROR_ARGUMENT,
                            "a record of %d fields is not possible; --fields takes %d to %d", fields, MIN_FIELDS,
                            MAX_FIELDS);
    }
    if (bytes->size >= 16 && pc_looks_like_text(bytes->data, bytes->size < PC_HEAD ? bytes->size : PC_HEAD)) {
        return pc_fail_format(file,
                              "begins as text, and .bin holds float32 values; leave --format out to read it as text");
    }
    const bool fits = size % ((size_t)fields * sizeof(float)) == 0;
    const int likely =
        options->fields && !finds ? 0 : pc_bin_columns(bytes->data, bytes->size, size, fits ? fields : 0);
    fields = finds && likely > 0 ? likely : fields;
    const size_t record = (size_t)fields * sizeof(float);
    *wanted = 0;
    if (size % record) {
        return fail_size(file, bytes, (size_t)size, fields);
    }
    if (likely > 0 && !finds) {
        return pc_fail_format(
            file,
            "the values repeat every %d columns and not every %d; give --fields %d, or --fields %d to read it as it is",
            likely, fields, likely, fields);
    }
    pc_say_encoding(file, "records of %d float32", fields);
    *table = (pc_table){.rows = (int64_t)(size / record)};
    return pc_table_add_unnamed(file, table, fields, PCGPU_FLOAT32, sizeof(float), record);
}

static pcgpu_status read_bin(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud) {
    pc_table table;
    size_t wanted;
    PC_TRY(layout_of_bin(file, bytes, bytes->size, &table, &wanted));
    PC_TRY(pc_table_to_cloud(file, &table, bytes, cloud));
    return pc_bin_check(file, cloud);
}

/* float32 coordinates in the frame of the file; logs a warning with the size of the rounding. */
static pcgpu_status write_rounded(const pc_file *file, const pcgpu_cloud *cloud) {
    double largest = 0;
    int columns;
    for (int64_t i = 0; i < cloud->rows; i++) {
        float record[MAX_FIELDS];
        memcpy(record, cloud->data + (size_t)i * (size_t)cloud->columns, (size_t)cloud->columns * sizeof(float));
        for (int k = 0; k < 3; k++) {
            double v = pc_output_value(cloud, i, k);
            record[k] = (float)v;
            double error = fabs((double)record[k] - v);
            largest = error > largest ? error : largest; /* false for NaN */
        }
        for (int k = columns = 3; k < cloud->columns; k++) {
            record[columns] = record[k];
            columns += !pcgpu_column_is_remainder(cloud, k);
        }
        PC_TRY(pc_write_bytes(file, record, (size_t)columns * sizeof(float)));
    }
    if (largest > 0) {
        pc_warn(file, "coordinates were rounded to float32 by up to %.3g m; write .ply, .pcd or .npy to keep them",
                largest);
    }
    return PCGPU_OK;
}

static pcgpu_status write_bin(const pc_file *file, const pcgpu_cloud *cloud) {
    if (cloud->columns > MAX_FIELDS) {
        return pc_fail_file(file, PCGPU_ERROR_ARGUMENT,
                            "a record of .bin holds at most %d columns and the cloud has %d; write .ply or .npy",
                            MAX_FIELDS, cloud->columns);
    }
    bool remainders = false;
    for (int k = 3; k < cloud->columns; k++) {
        remainders = remainders || pcgpu_column_is_remainder(cloud, k);
        if (cloud->offset[k] != 0.0) {
            pc_warn(
                file,
                "column '%s' begins at %.17g, which was subtracted, since float32 cannot hold it; write .ply, .pcd or "
                ".las to keep it",
                cloud->names[k], cloud->offset[k]);
        }
    }
    if (pc_has_offset(cloud) || remainders) {
        return write_rounded(file, cloud);
    }
    return pc_write_bytes(file, cloud->data, (size_t)cloud->rows * (size_t)cloud->columns * sizeof(float));
}

/* Writes the raw data of one array. */
static pcgpu_status write_arrays(const pc_file *file, const pcgpu_array *arrays, int count) {
    size_t size;
    if (count != 1) {
        return pc_fail_file(file, PCGPU_ERROR_ARGUMENT, ".bin holds one array and %d are given; write .npz", count);
    }
    PC_TRY(pc_array_size(file, arrays, &size));
    return pc_write_bytes(file, arrays->data, size);
}

const pc_format pc_format_bin = {
    .info = {.name = "bin",
             .extension = ".bin",
             .reads = true,
             .writes = true,
             .writes_arrays = true,
             .description =
                 "records of float32 without a header: 4 for KITTI, 5 for nuScenes (.pcd.bin), 3 to 16 by --fields"},
    .may_be_empty = true,
    .read = read_bin,
    .layout = layout_of_bin,
    .write = write_bin,
    .write_arrays = write_arrays,
};
