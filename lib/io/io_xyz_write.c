/* .xyz and .csv, writing, and the table's rows of all text. */
#include "io.h"

#include <string.h>

static pcgpu_status write_text(const pc_file *file, const pcgpu_cloud *cloud, const char *before, char separator) {
    FILE *stream = file->stream;
    uint8_t types[PCGPU_MAX_COLUMNS];
    pc_output_types(cloud, types);
    fputs(before, stream);
    for (int k = 0; k < cloud->columns; k++) {
        if (types[k] == PCGPU_REMAINDER) {
            continue;
        }
        char label[PCGPU_NAME_SIZE];
        pc_output_name(cloud, k, label);
        for (char *p = label; *p; p++) {
            *p = strchr(",;\"", *p) ? '_' : *p;
        }
        fprintf(stream, "%s%.*s", label, k + 1 + pcgpu_column_is_remainder(cloud, k + 1) < cloud->columns, &separator);
    }
    fputc('\n', stream);
    return pc_output_text(file, cloud, types, separator);
}

/* The header is a comment, which readers of three numbers per line skip. */
static pcgpu_status write_xyz(const pc_file *file, const pcgpu_cloud *cloud) {
    return write_text(file, cloud, "# ", ' ');
}

static pcgpu_status write_csv(const pc_file *file, const pcgpu_cloud *cloud) {
    return write_text(file, cloud, "", ',');
}

const pc_format pc_format_xyz = {
    .info = {.name = "xyz",
             .extension = ".xyz",
             .reads = true,
             .writes = true,
             .text = true,
             .description = "text, a line per point, any separator; also .txt and .asc, by their content"},
    .read = pc_xyz_read,
    .write = write_xyz,
};

const pc_format pc_format_csv = {
    .info = {.name = "csv",
             .extension = ".csv",
             .reads = true,
             .writes = true,
             .text = true,
             .description = "the same, with a header line of names"},
    .read = pc_xyz_read,
    .write = write_csv,
};

const pc_format pc_format_pts = {
    .info = {.name = "pts",
             .extension = ".pts",
             .reads = true,
             .text = true,
             .description = "the same of Leica: the number of points, then x y z intensity red green blue"},
    .read = pc_xyz_read,
};
