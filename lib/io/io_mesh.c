/* Meshes, by the name of the file: .ply, Wavefront .obj as text, and .glb, the binary file of glTF 2.0 (Khronos). */
#include "cloud.h"
#include "io_ply.h"

#include <stdlib.h>
#include <string.h>

typedef pcgpu_status mesh_writer(const pc_file *file, const pcgpu_mesh *mesh);

/* ---- .obj -------------------------------------------------------------------------------------------------------- */

/* Indices count from 1; a vertex has the number of its normal. A colour follows the position, from 0 to 1. */
static pcgpu_status write_obj(const pc_file *file, const pcgpu_mesh *mesh) {
    FILE *stream = file->stream;
    const pcgpu_cloud *v = &mesh->vertices;
    const int normal = pc_normal_column(v), color = pc_color_column(v, v->types);
    const bool wide = pc_has_offset(v);
    for (int64_t i = 0; i < v->rows && !ferror(stream); i++) {
        char text[6][PC_NUMBER_SIZE];
        for (int k = 0; k < 6 && (k < 3 || normal >= 0); k++) {
            const int column = k < 3 ? k : normal + k - 3;
            if (wide && k < 3) {
                pc_format_number(text[k], pc_output_value(v, i, column), false);
            } else {
                pc_format_number(text[k], (double)v->data[i * v->columns + column], true);
            }
        }
        fprintf(stream, "v %s %s %s", text[0], text[1], text[2]);
        for (int k = 0; k < 3 && color >= 0; k++) {
            char level[PC_NUMBER_SIZE];
            pc_format_number(level, (double)(v->data[i * v->columns + color + k] / 255.0f), true);
            fprintf(stream, " %s", level);
        }
        fputc('\n', stream);
        if (normal >= 0) {
            fprintf(stream, "vn %s %s %s\n", text[3], text[4], text[5]);
        }
    }
    for (int64_t i = 0; i < mesh->triangles && !ferror(stream); i++) {
        const int32_t *t = mesh->indices + 3 * i;
        const long a = (long)t[0] + 1, b = (long)t[1] + 1, c = (long)t[2] + 1;
        if (normal >= 0) {
            fprintf(stream, "f %ld//%ld %ld//%ld %ld//%ld\n", a, a, b, b, c, c);
        } else {
            fprintf(stream, "f %ld %ld %ld\n", a, b, c);
        }
    }
    return pc_write_check(file);
}

/* ---- .glb -------------------------------------------------------------------------------------------------------- */

enum { GLB_JSON = 0x4e4f534a, GLB_BIN = 0x004e4942, FLOAT = 5126, UNSIGNED = 5125 };

/* The linear light of a level of sRGB (IEC 61966-2-1), as glTF has its colours: x^2.4 = x^2 (x^2)^(1/5), with the fifth
 * root by Newton's method, the same on every machine. */
static float linear_of(float level) {
    const double c = (double)level / 255.0;
    if (c <= 0.04045) {
        return (float)(c / 12.92);
    }
    const double x = (c + 0.055) / 1.055, square = x * x;
    double root = 1.0;
    for (int i = 0; i < 30; i++) {
        root = 0.8 * root + 0.2 * square / ((root * root) * (root * root));
    }
    return (float)(square * root);
}

/* The values of all vertices with linear colours; NULL without memory. */
static float *with_linear_colors(const pcgpu_cloud *v, int color) {
    const size_t count = (size_t)v->rows * (size_t)v->columns;
    float *values = malloc(count * sizeof *values);
    if (values) {
        memcpy(values, v->data, count * sizeof *values);
        for (int64_t i = 0; i < v->rows; i++) {
            for (int k = 0; k < 3; k++) {
                float *value = &values[i * v->columns + color + k];
                *value = linear_of(*value);
            }
        }
    }
    return values;
}

/* The node, which turns what is up to y, as glTF has it. */
static int glb_node(char *out, size_t size, const pcgpu_cloud *v) {
    static const double h = 0.70710678118654757; /* x, z and w of the quaternions; y is 0 */
    static const double turns[][3] = {[PC_UP_X] = {0, h, h},
                                      [PC_UP_Z] = {-h, 0, h},
                                      [PC_UP_MINUS_X] = {0, -h, h},
                                      [PC_UP_MINUS_Y] = {1, 0, 0},
                                      [PC_UP_MINUS_Z] = {h, 0, h}};
    const pc_up up = pc_cloud_up(v);
    const double *o = v->offset, *q = turns[up];
    if (up == PC_UP_AUTO || up == PC_UP_Y) {
        return snprintf(out, size, "{\"mesh\":0,\"translation\":[%.17g,%.17g,%.17g]}", o[0], o[1], o[2]);
    }
    const int axis = pc_up_axis(up);
    const double sign = (double)pc_up_sign(up);
    const double at[3] = {axis == 0 ? -sign * o[1] : o[0], sign * o[axis],
                          axis == 1   ? -o[2]
                          : axis == 2 ? -sign * o[1]
                                      : o[2]};
    return snprintf(out, size, "{\"mesh\":0,\"rotation\":[%.17g,0,%.17g,%.17g],\"translation\":[%.17g,%.17g,%.17g]}",
                    q[0], q[1], q[2], at[0] + 0.0, at[1] + 0.0, at[2] + 0.0);
}

/* The scene: one mesh whose buffer holds the vertices with all columns, and then the triangles. The offset is the
 * translation of its node, which is float64. Without triangles a scene has no mesh, since an accessor must not be
 * empty. */
static int glb_scene(char *out, size_t size, const pcgpu_mesh *mesh, uint64_t vertices, uint64_t triangles) {
    const pcgpu_cloud *v = &mesh->vertices;
    const int normal = pc_normal_column(v), color = pc_color_column(v, v->types);
    char attributes[64];
    snprintf(attributes, sizeof attributes, "%s%s", normal >= 0 ? ",\"NORMAL\":2" : "",
             color < 0     ? ""
             : normal >= 0 ? ",\"COLOR_0\":3"
                           : ",\"COLOR_0\":2");
    float low[3] = {0}, high[3] = {0};
    for (int64_t i = 0; i < v->rows; i++) {
        for (int k = 0; k < 3; k++) {
            const float x = v->data[i * v->columns + k];
            low[k] = i == 0 || x < low[k] ? x : low[k];
            high[k] = i == 0 || x > high[k] ? x : high[k];
        }
    }
    int n = snprintf(out, size, "{\"asset\":{\"version\":\"2.0\",\"generator\":\"pcgpu\"},\"scene\":0,");
    if (mesh->triangles == 0) {
        return n + snprintf(out + n, size - (size_t)n, "\"scenes\":[{}]}");
    }
    n += snprintf(out + n, size - (size_t)n, "\"scenes\":[{\"nodes\":[0]}],\"nodes\":[");
    n += glb_node(out + n, size - (size_t)n, v);
    n += snprintf(out + n, size - (size_t)n,
                  "],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0%s},\"indices\":1}]}],"
                  "\"buffers\":[{\"byteLength\":%llu}],",
                  attributes, (unsigned long long)(vertices + triangles));
    n += snprintf(out + n, size - (size_t)n,
                  "\"bufferViews\":[{\"buffer\":0,\"byteLength\":%llu,\"byteStride\":%d,\"target\":34962},"
                  "{\"buffer\":0,\"byteOffset\":%llu,\"byteLength\":%llu,\"target\":34963}],",
                  (unsigned long long)vertices, 4 * v->columns, (unsigned long long)vertices,
                  (unsigned long long)triangles);
    n += snprintf(out + n, size - (size_t)n,
                  "\"accessors\":[{\"bufferView\":0,\"componentType\":%d,\"count\":%lld,\"type\":\"VEC3\","
                  "\"min\":[%.9g,%.9g,%.9g],\"max\":[%.9g,%.9g,%.9g]},"
                  "{\"bufferView\":1,\"componentType\":%d,\"count\":%lld,\"type\":\"SCALAR\"}",
                  FLOAT, (long long)v->rows, (double)low[0], (double)low[1], (double)low[2], (double)high[0],
                  (double)high[1], (double)high[2], UNSIGNED, (long long)(3 * mesh->triangles));
    const int columns[] = {normal, color};
    for (int i = 0; i < 2; i++) {
        if (columns[i] >= 0) {
            n += snprintf(out + n, size - (size_t)n,
                          ",{\"bufferView\":0,\"byteOffset\":%d,\"componentType\":%d,\"count\":%lld,\"type\":\"VEC3\"}",
                          4 * columns[i], FLOAT, (long long)v->rows);
        }
    }
    return n + snprintf(out + n, size - (size_t)n, "]}");
}

static pcgpu_status write_glb(const pc_file *file, const pcgpu_mesh *mesh) {
    const bool any = mesh->triangles > 0;
    const uint64_t vertices =
        any ? (uint64_t)mesh->vertices.rows * (uint64_t)mesh->vertices.columns * sizeof(float) : 0;
    const uint64_t triangles = (uint64_t)mesh->triangles * 3 * sizeof(int32_t);
    char scene[2048];
    int length = glb_scene(scene, sizeof scene, mesh, vertices, triangles);
    while (length % 4) {
        scene[length++] = ' ';
    }
    const uint64_t size = 12 + 8 + (uint64_t)length + (any ? 8 + vertices + triangles : 0);
    if (size > UINT32_MAX) {
        return pc_fail_file(file, PCGPU_ERROR_ARGUMENT, "a .glb holds at most 4.3 GB and the mesh has %.1f; write .ply",
                            (double)size / 1e9);
    }
    const uint32_t head[] = {0x46546c67, 2, (uint32_t)size, (uint32_t)length, GLB_JSON};
    const uint32_t chunk[] = {(uint32_t)(vertices + triangles), GLB_BIN};
    const int color = any ? pc_color_column(&mesh->vertices, mesh->vertices.types) : -1;
    float *colored = color >= 0 ? with_linear_colors(&mesh->vertices, color) : NULL;
    if (color >= 0 && !colored) {
        return pc_fail_file_memory(file, vertices);
    }
    pcgpu_status status;
    PC_TRY_OR(done, status, pc_write_bytes(file, head, sizeof head));
    PC_TRY_OR(done, status, pc_write_bytes(file, scene, (size_t)length));
    if (any) {
        const float *data = colored ? colored : mesh->vertices.data;
        PC_TRY_OR(done, status, pc_write_bytes(file, chunk, sizeof chunk));
        PC_TRY_OR(done, status, pc_write_bytes(file, data, (size_t)vertices));
        PC_TRY_OR(done, status, pc_write_bytes(file, mesh->indices, (size_t)triangles));
    }
done:
    free(colored);
    return status;
}

/* ---- by name ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *extension;
    mesh_writer *write;
} formats[] = {{".ply", pc_ply_write_mesh}, {".obj", write_obj}, {".glb", write_glb}};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static mesh_writer *writer_of(const char *name) {
    for (int i = 0; i < FORMATS; i++) {
        if (pc_has_extension(name, formats[i].extension)) {
            return formats[i].write;
        }
    }
    return NULL;
}

bool pcgpu_mesh_is_name(const char *path) {
    return writer_of(path) != NULL;
}

pcgpu_status pcgpu_write_mesh(pcgpu_context *context, FILE *stream, const char *name, const pcgpu_mesh *mesh) {
    const pc_file file = {.context = context, .name = name, .stream = stream};
    mesh_writer *write = writer_of(name);
    pc_c_locale locale;
    if (!pc_enter_c_locale(&locale)) {
        return pc_fail_file_memory(&file, 1);
    }
    pcgpu_status status = (write ? write : pc_ply_write_mesh)(&file, mesh);
    pc_leave_c_locale(&locale);
    return status;
}
