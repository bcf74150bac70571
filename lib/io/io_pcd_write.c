/* .pcd, writing: version 0.7, binary. */
#include "io.h"

#include <string.h>

pcgpu_status pc_pcd_write(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_cloud *cloud) {
    static const char letters[] = "FFIUIUIU"; /* by pcgpu_type */
    uint8_t types[PCGPU_MAX_COLUMNS];
    pc_output_types(cloud, types);
    fprintf(stream, "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS");
    for (int k = 0; k < cloud->columns; k++) {
        char label[PCGPU_NAME_SIZE];
        pc_output_name(cloud, k, label);
        if (strcmp(label, "_") == 0) {
            snprintf(label, sizeof label, "c%d", k); /* "_" would be padding, which readers skip */
        }
        fprintf(stream, " %s", label);
    }
    fprintf(stream, "\nSIZE");
    for (int k = 0; k < cloud->columns; k++) {
        fprintf(stream, " %zu", pc_type_size(types[k]));
    }
    fprintf(stream, "\nTYPE");
    for (int k = 0; k < cloud->columns; k++) {
        fprintf(stream, " %c", letters[types[k]]);
    }
    fprintf(stream, "\nCOUNT");
    for (int k = 0; k < cloud->columns; k++) {
        fprintf(stream, " 1");
    }
    fprintf(stream, "\nWIDTH %lld\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS %lld\nDATA binary\n",
            (long long)cloud->rows, (long long)cloud->rows);
    pcgpu_status status = pc_write_check(context, stream, name);
    return status == PCGPU_OK ? pc_output_rows(context, stream, name, cloud, types) : status;
}
