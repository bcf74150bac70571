/* .ply, writing: binary little endian, and text. */
#include "io.h"

static void write_header(FILE *stream, const pcgpu_cloud *cloud, const uint8_t *types, const char *format) {
    static const char *const names[] = {"float", "double", "char", "uchar", "short", "ushort", "int", "uint"};
    fprintf(stream, "ply\nformat %s 1.0\nelement vertex %lld\n", format, (long long)cloud->rows);
    for (int k = 0; k < cloud->columns; k++) {
        char name[PCGPU_NAME_SIZE];
        pc_output_name(cloud, k, name);
        fprintf(stream, "property %s %s\n", names[types[k]], name);
    }
    fprintf(stream, "end_header\n");
}

pcgpu_status pc_ply_write(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_cloud *cloud) {
    uint8_t types[PCGPU_MAX_COLUMNS];
    pc_output_types(cloud, types);
    write_header(stream, cloud, types, "binary_little_endian");
    pcgpu_status status = pc_write_check(context, stream, name);
    return status == PCGPU_OK ? pc_output_rows(context, stream, name, cloud, types) : status;
}

pcgpu_status pc_ply_write_ascii(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_cloud *cloud) {
    uint8_t types[PCGPU_MAX_COLUMNS];
    pc_output_types(cloud, types);
    write_header(stream, cloud, types, "ascii");
    for (int64_t i = 0; i < cloud->rows && !ferror(stream); i++) {
        char line[PCGPU_MAX_COLUMNS * (PC_NUMBER_SIZE + 1)];
        char *end = line;
        for (int k = 0; k < cloud->columns; k++) {
            double v = pc_output_value(cloud, i, k);
            if (types[k] == PCGPU_FLOAT32) {
                end += pc_format_float32(end, (float)v);
            } else if (types[k] == PCGPU_FLOAT64) {
                end += pc_format_float64(end, v);
            } else {
                end += snprintf(end, PC_NUMBER_SIZE, "%.0f", v);
            }
            *end++ = k + 1 < cloud->columns ? ' ' : '\n';
        }
        fwrite(line, 1, (size_t)(end - line), stream);
    }
    return pc_write_check(context, stream, name);
}
