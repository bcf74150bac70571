/* .label: the labels of a scan of SemanticKITTI, beside its .bin: one little-endian uint32 per record, the class in the
 * lower 16 bits and the instance in the upper ones (Behley et al., ICCV 2019). */
#include "io.h"

enum { BLOCK = 1024, MOST = 65535 };

/* *label: the bits that a column has. */
static pcgpu_status take_value(const pc_file *file, const pcgpu_cloud *cloud, int64_t row, int column,
                               uint32_t *label) {
    const double value = column < 0 ? 0.0 : pc_output_value(cloud, row, column);
    *label = value >= 0 && value <= MOST ? (uint32_t)value : 0;
    return value == (double)*label
               ? PCGPU_OK
               : pc_fail_file(file, PCGPU_ERROR_ARGUMENT,
                              "point %lld has the %s %.9g, and a .label holds whole numbers from 0 to %d; write .ply",
                              (long long)row, cloud->names[column], value, MOST);
}

static pcgpu_status write_label(const pc_file *file, const pcgpu_cloud *cloud) {
    const int label = pcgpu_cloud_column(cloud, "label"), instance = pcgpu_cloud_column(cloud, "instance");
    unsigned char bytes[4 * BLOCK];
    if (label < 0) {
        return pc_fail_file(file, PCGPU_ERROR_ARGUMENT,
                            "holds labels, and the cloud has no column label; give --labels, or name a column, such as "
                            "--columns x,y,z,label=classification of convert");
    }
    for (int64_t begin = 0; begin < cloud->rows; begin += BLOCK) {
        const int64_t n = cloud->rows - begin < BLOCK ? cloud->rows - begin : BLOCK;
        for (int64_t i = 0; i < n; i++) {
            uint32_t low, high;
            PC_TRY(take_value(file, cloud, begin + i, label, &low));
            PC_TRY(take_value(file, cloud, begin + i, instance, &high));
            for (int k = 0; k < 4; k++) {
                bytes[4 * i + k] = (unsigned char)((high << 16 | low) >> 8 * k);
            }
        }
        PC_TRY(pc_write_bytes(file, bytes, 4 * (size_t)n));
    }
    return PCGPU_OK;
}

const pc_format pc_format_label = {
    .info = {.name = "label",
             .extension = ".label",
             .writes = true,
             .description = "labels of SemanticKITTI: the columns label and instance; --labels reads it"},
    .write = write_label,
};
