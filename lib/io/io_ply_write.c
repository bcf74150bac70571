/* .ply, writing: binary little endian, and text. */
#include "io_ply.h"

#include <string.h>

/* faces: < 0 = no element for them. */
static void write_header(FILE *stream, const pcgpu_cloud *cloud, const uint8_t *types, const char *format,
                         int64_t faces) {
    static const char *const names[] = {"float", "double", "char", "uchar", "short", "ushort", "int", "uint"};
    fprintf(stream, "ply\nformat %s 1.0\n", format);
    if (pcgpu_cloud_up(cloud)) {
        fprintf(stream, "comment up %s\n", pcgpu_cloud_up(cloud));
    }
    fprintf(stream, "element vertex %lld\n", (long long)cloud->rows);
    for (int k = 0; k < cloud->columns; k++) {
        char name[PCGPU_NAME_SIZE];
        if (types[k] == PCGPU_REMAINDER) {
            continue;
        }
        pc_output_name(cloud, k, name);
        fprintf(stream, "property %s %s\n", names[types[k]], name);
    }
    if (faces >= 0) {
        fprintf(stream, "element face %lld\nproperty list uchar int vertex_indices\n", (long long)faces);
    }
    fprintf(stream, "end_header\n");
}

pcgpu_status pc_ply_write(const pc_file *file, const pcgpu_cloud *cloud) {
    uint8_t types[PCGPU_MAX_COLUMNS];
    pc_output_types(cloud, types);
    write_header(file->stream, cloud, types, "binary_little_endian", -1);
    PC_TRY(pc_write_check(file));
    return pc_output_rows(file, cloud, types);
}

pcgpu_status pc_ply_write_ascii(const pc_file *file, const pcgpu_cloud *cloud) {
    uint8_t types[PCGPU_MAX_COLUMNS];
    pc_output_types(cloud, types);
    write_header(file->stream, cloud, types, "ascii", -1);
    return pc_output_text(file, cloud, types, ' ');
}

pcgpu_status pc_ply_write_mesh(const pc_file *file, const pcgpu_mesh *mesh) {
    enum { FACE = 1 + 3 * sizeof(int32_t), FACES = 1024 };
    uint8_t types[PCGPU_MAX_COLUMNS];
    unsigned char block[FACES * FACE];
    pc_output_types(&mesh->vertices, types);
    write_header(file->stream, &mesh->vertices, types, "binary_little_endian", mesh->triangles);
    PC_TRY(pc_write_check(file));
    PC_TRY(pc_output_rows(file, &mesh->vertices, types));
    for (int64_t first = 0; first < mesh->triangles; first += FACES) {
        const int64_t count = mesh->triangles - first < FACES ? mesh->triangles - first : FACES;
        for (int64_t i = 0; i < count; i++) {
            block[i * FACE] = 3;
            memcpy(block + i * FACE + 1, mesh->indices + 3 * (first + i), FACE - 1);
        }
        PC_TRY(pc_write_bytes(file, block, (size_t)count * FACE));
    }
    return PCGPU_OK;
}
