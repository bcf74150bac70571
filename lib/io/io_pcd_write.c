/* .pcd, writing: version 0.7, binary. */
#include "io.h"

#include <string.h>

/* A field of the file: one column, or the columns of a colour. */
typedef struct pcd_field {
    char name[PCGPU_NAME_SIZE];
    size_t size;
    char kind;
} pcd_field;

/* PCL and Open3D know colours in one field only: rgb, a float32 whose bits they are, or rgba; and normals as normal_x
 * ... */
static int describe(const pcgpu_cloud *cloud, uint8_t *types, pcd_field *fields) {
    static const char letters[] = "FFIUIUIU"; /* by pcgpu_type */
    const int color = pc_color_column(cloud, types), next = color + 3;
    const bool alpha = color >= 0 && next < cloud->columns && types[next] == PCGPU_UINT8 &&
                       strcmp(cloud->names[next], pc_color_names[3]) == 0;
    const int normal = pc_normal_column(cloud);
    int count = 0;
    for (int k = 0; k < cloud->columns;) {
        if (types[k] == PCGPU_REMAINDER) {
            k++;
            continue;
        }
        pcd_field *f = &fields[count++];
        if (k == color) {
            types[k] = alpha ? PC_OUTPUT_RGBA : PC_OUTPUT_RGB;
            *f = alpha ? (pcd_field){"rgba", 4, 'U'} : (pcd_field){"rgb", 4, 'F'};
            k = alpha ? next + 1 : next;
            continue;
        }
        pc_output_name(cloud, k, f->name);
        if (normal >= 0 && k >= normal && k < normal + 3) {
            snprintf(f->name, sizeof f->name, "normal_%c", 'x' + k - normal);
        } else if (strcmp(f->name, "_") == 0) {
            snprintf(f->name, sizeof f->name, "c%d", k); /* "_" would be padding, which readers skip */
        }
        f->size = pc_type_size(types[k]);
        f->kind = letters[types[k]];
        k++;
    }
    return count;
}

pcgpu_status pc_pcd_write(const pc_file *file, const pcgpu_cloud *cloud) {
    FILE *stream = file->stream;
    uint8_t types[PCGPU_MAX_COLUMNS];
    pcd_field fields[PCGPU_MAX_COLUMNS];
    pc_output_types(cloud, types);
    const int count = describe(cloud, types, fields);
    fprintf(stream, "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS");
    for (int i = 0; i < count; i++) {
        fprintf(stream, " %s", fields[i].name);
    }
    fprintf(stream, "\nSIZE");
    for (int i = 0; i < count; i++) {
        fprintf(stream, " %zu", fields[i].size);
    }
    fprintf(stream, "\nTYPE");
    for (int i = 0; i < count; i++) {
        fprintf(stream, " %c", fields[i].kind);
    }
    fprintf(stream, "\nCOUNT");
    for (int i = 0; i < count; i++) {
        fprintf(stream, " 1");
    }
    const bool organized = cloud->width > 0 && cloud->rows % cloud->width == 0;
    fprintf(stream, "\nWIDTH %lld\nHEIGHT %lld\nVIEWPOINT", (long long)(organized ? cloud->width : cloud->rows),
            (long long)(organized ? cloud->rows / cloud->width : 1));
    static const double plain[7] = {0, 0, 0, 1, 0, 0, 0};
    const double *viewpoint = cloud->header ? cloud->header->viewpoint : plain;
    for (int i = 0; i < 7; i++) {
        char text[PC_NUMBER_SIZE];
        pc_format_number(text, memcmp(viewpoint + 3, (double[4]){0}, 32) == 0 ? plain[i] : viewpoint[i], false);
        fprintf(stream, " %s", text);
    }
    fprintf(stream, "\nPOINTS %lld\nDATA binary\n", (long long)cloud->rows);
    PC_TRY(pc_write_check(file));
    return pc_output_rows(file, cloud, types);
}
