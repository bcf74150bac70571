/* .glb, reading: the triangles of the binary file of glTF 2.0 (Khronos). Positions and normals; materials are left
 * out. */
#include "io_mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { JSON = 0x4e4f534a, BIN = 0x004e4942, DEEPEST = 32, TRIANGLES = 4 };
/* A file may name a part again and again, and each is looked up in the text. */
enum { MOST_PARTS = 1024, MOST_TEXT = 1 << 20 };
enum { UNSIGNED_BYTE = 5121, UNSIGNED_SHORT = 5123, UNSIGNED_INT = 5125, FLOAT = 5126 };

typedef struct glb {
    pc_mesh_parts *m;
    pc_span json;             /* its outermost object */
    const unsigned char *bin; /* the buffer */
    size_t bin_size;
    size_t file_size;
    int parts; /* nodes and primitives that were visited */
} glb;

static pcgpu_status fail(const glb *g, const char *what) {
    return pc_fail(g->m->context, PCGPU_ERROR_FORMAT, "%s: %s; export it again as a .glb, .ply or .obj of triangles",
                   g->m->name, what);
}

static pcgpu_status fail_parts(const glb *g) {
    return pc_fail(g->m->context, PCGPU_ERROR_FORMAT,
                   "%s: has more than %d nodes and primitives; join them into one mesh", g->m->name, MOST_PARTS);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static pc_span after_blanks(pc_span s) {
    while (s.n > 0 && (*s.p == ' ' || *s.p == '\n' || *s.p == '\r' || *s.p == '\t' || *s.p == ',' || *s.p == ':')) {
        s.p++;
        s.n--;
    }
    return s;
}

/* Takes the next value, as its text; `n` of it is 0 at the end and where the text is none. */
static pc_span take_value(pc_span *rest) {
    pc_span s = after_blanks(*rest);
    size_t i = 0;
    int depth = 0;
    bool text = false;
    for (; i < s.n; i++) {
        const char c = s.p[i];
        if (text) {
            i += c == '\\';
            text = c != '"';
        } else if (c == '"') {
            text = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
        } else if (depth > 0 || !(c == ',' || c == ':' || c == ' ' || c == '\n' || c == '\r' || c == '\t')) {
            continue;
        } else {
            break;
        }
        if (!text && depth <= 0) {
            i += depth == 0;
            break;
        }
    }
    i = i < s.n ? i : s.n;
    rest->p = s.p + i;
    rest->n = s.n - i;
    return (pc_span){s.p, i};
}

/* What is within the brackets of an object or array; nothing for another value. */
static pc_span inside(pc_span value, char bracket) {
    return value.n >= 2 && *value.p == bracket ? (pc_span){value.p + 1, value.n - 2} : (pc_span){value.p, 0};
}

static pc_span member(pc_span object, const char *key) {
    pc_span rest = inside(object, '{');
    const size_t n = strlen(key);
    for (;;) {
        const pc_span name = take_value(&rest), value = take_value(&rest);
        if (value.n == 0 || (name.n == n + 2 && memcmp(name.p + 1, key, n) == 0)) {
            return value;
        }
    }
}

static pc_span item(pc_span array, int64_t i) {
    pc_span rest = inside(array, '['), value;
    do {
        value = take_value(&rest);
    } while (value.n > 0 && i-- > 0);
    return value;
}

/* A number, or `otherwise` without one. */
static double number(pc_span value, double otherwise) {
    char text[40], *end;
    const size_t n = value.n < sizeof text - 1 ? value.n : 0;
    memcpy(text, n ? value.p : "", n);
    text[n] = '\0';
    const double x = strtod(text, &end);
    return n > 0 && *end == '\0' && isfinite(x) ? x : otherwise;
}

static double number_of(pc_span object, const char *key, double otherwise) {
    return number(member(object, key), otherwise);
}

/* Item i of an array of the outermost object, where `index` is a number. */
static pc_span indexed(const glb *g, const char *array, double index) {
    return index >= 0 && index < 1e6 ? item(member(g->json, array), (int64_t)index) : (pc_span){"", 0};
}

/* ---- accessors --------------------------------------------------------------------------------------------------- */

typedef struct accessor {
    const unsigned char *data;
    int64_t count;
    size_t stride;
    int type; /* a pcgpu_type */
} accessor;

/* Finds the values of an accessor of `width` components; false where they are not within the buffer. */
static bool find_accessor(const glb *g, double index, int width, accessor *a) {
    const pc_span s = indexed(g, "accessors", index), view = indexed(g, "bufferViews", number_of(s, "bufferView", -1));
    const double component = number_of(s, "componentType", 0);
    const double offset = number_of(s, "byteOffset", 0) + number_of(view, "byteOffset", 0),
                 count = number_of(s, "count", -1);
    a->type = component == FLOAT            ? PCGPU_FLOAT32
              : component == UNSIGNED_INT   ? PCGPU_UINT32
              : component == UNSIGNED_SHORT ? PCGPU_UINT16
                                            : PCGPU_UINT8;
    const double size = (double)width * (double)pc_type_size(a->type), stride = number_of(view, "byteStride", size);
    const pc_span kind = member(s, "type");
    const bool known =
        component == FLOAT || component == UNSIGNED_INT || component == UNSIGNED_SHORT || component == UNSIGNED_BYTE;
    if (!known || view.n == 0 || member(s, "sparse").n > 0 || number_of(view, "buffer", -1) != 0 || offset < 0 ||
        count < 1 || stride < size || !(stride <= (double)g->bin_size) ||
        !pc_span_is(kind, width == 3 ? "\"VEC3\"" : "\"SCALAR\"") ||
        !(offset + (count - 1) * stride + size <= (double)g->bin_size)) {
        return false;
    }
    a->data = g->bin + (size_t)offset;
    a->count = (int64_t)count;
    a->stride = (size_t)stride;
    return true;
}

static double component_at(const accessor *a, int64_t i, int k) {
    return pc_load_value(a->data + (size_t)i * a->stride + (size_t)k * pc_type_size(a->type), a->type, false);
}

/* ---- meshes ------------------------------------------------------------------------------------------------------ */

static pcgpu_status add_vertices(glb *g, const accessor *positions, const accessor *normals, const double T[16]) {
    pcgpu_status status = PCGPU_OK;
    for (int64_t i = 0; i < positions->count && status == PCGPU_OK; i++) {
        double row[PC_MESH_ROW];
        for (int r = 0; r < 3; r++) {
            row[r] = T[4 * r + 3];
            row[3 + r] = normals ? 0 : NAN;
            for (int k = 0; k < 3; k++) {
                row[r] += T[4 * r + k] * component_at(positions, i, k);
                row[3 + r] += normals ? T[4 * r + k] * component_at(normals, i, k) : 0;
            }
        }
        status = pc_mesh_add_vertex(g->m, row);
    }
    return status;
}

static pcgpu_status add_primitive(glb *g, pc_span primitive, const double T[16]) {
    const pc_span attributes = member(primitive, "attributes");
    const double normal = number_of(attributes, "NORMAL", -1), index = number_of(primitive, "indices", -1);
    const int64_t first = g->m->vertices;
    accessor positions, normals, indices;
    if (++g->parts > MOST_PARTS) {
        return fail_parts(g);
    }
    if (number_of(primitive, "mode", TRIANGLES) != TRIANGLES) {
        return PCGPU_OK; /* points, lines and strips */
    }
    if (!find_accessor(g, number_of(attributes, "POSITION", -1), 3, &positions) || positions.type != PCGPU_FLOAT32 ||
        (index >= 0 && (!find_accessor(g, index, 1, &indices) || indices.type == PCGPU_FLOAT32))) {
        return fail(g, "its positions or indices are not in the file as they should be, or are compressed");
    }
    const bool has_normals = normal >= 0 && find_accessor(g, normal, 3, &normals) && normals.count == positions.count &&
                             normals.type == PCGPU_FLOAT32;
    pcgpu_status status = add_vertices(g, &positions, has_normals ? &normals : NULL, T);
    const int64_t corners = index >= 0 ? indices.count : positions.count;
    if (status == PCGPU_OK && (uint64_t)(g->m->vertices + g->m->triangles + corners) > 16 * (uint64_t)g->file_size) {
        return fail(g, "its nodes repeat a mesh more often than is plausible");
    }
    int32_t fan[2] = {0, 0};
    for (int64_t i = 0; i < corners - corners % 3 && status == PCGPU_OK; i++) {
        const int64_t corner = index >= 0 ? (int64_t)component_at(&indices, i, 0) : i;
        status = pc_mesh_add_corner(g->m, first + corner, (uint64_t)(i % 3), fan);
    }
    return status;
}

static void multiply(const double a[16], const double b[16], double out[16]) {
    for (int i = 0; i < 16; i++) {
        const double *row = a + 4 * (i / 4), *column = b + i % 4;
        out[i] = ((row[0] * column[0] + row[1] * column[4]) + row[2] * column[8]) + row[3] * column[12];
    }
}

/* The matrix of a node, row-major: its "matrix", or its translation, rotation and scale. */
static void node_matrix(pc_span node, double T[16]) {
    const pc_span matrix = member(node, "matrix"), t = member(node, "translation"), r = member(node, "rotation"),
                  s = member(node, "scale");
    for (int i = 0; i < 16 && matrix.n > 0; i++) {
        T[i] = number(item(matrix, i % 4 * 4 + i / 4), 0);
    }
    if (matrix.n > 0) {
        return;
    }
    const double x = number(item(r, 0), 0), y = number(item(r, 1), 0), z = number(item(r, 2), 0),
                 w = number(item(r, 3), 1);
    const double R[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - z * w),     2 * (x * z + y * w),
                         2 * (x * y + z * w),     1 - 2 * (x * x + z * z), 2 * (y * z - x * w),
                         2 * (x * z - y * w),     2 * (y * z + x * w),     1 - 2 * (x * x + y * y)};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            T[4 * i + k] = R[3 * i + k] * number(item(s, k), 1);
        }
        T[4 * i + 3] = number(item(t, i), 0);
        T[12 + i] = 0;
    }
    T[15] = 1;
}

static pcgpu_status add_node(glb *g, double index, const double parent[16], int depth) {
    const pc_span node = indexed(g, "nodes", index), children = member(node, "children");
    const pc_span primitives = member(indexed(g, "meshes", number_of(node, "mesh", -1)), "primitives");
    double own[16], T[16];
    pcgpu_status status = PCGPU_OK;
    if (++g->parts > MOST_PARTS) {
        return fail_parts(g);
    }
    if (node.n == 0 || depth > DEEPEST) {
        return fail(g, "its nodes are not a tree");
    }
    node_matrix(node, own);
    multiply(parent, own, T);
    for (int64_t i = 0; status == PCGPU_OK && item(primitives, i).n > 0; i++) {
        status = add_primitive(g, item(primitives, i), T);
    }
    for (int64_t i = 0; status == PCGPU_OK && item(children, i).n > 0; i++) {
        status = add_node(g, number(item(children, i), -1), T, depth + 1);
    }
    return status;
}

static uint32_t word(const unsigned char *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Finds the two chunks; what follows them is left out. */
static bool find_chunks(glb *g, const pc_bytes *bytes) {
    for (size_t at = 12; at <= bytes->size && bytes->size - at >= 8;) {
        const size_t size = word(bytes->data + at);
        const uint32_t type = word(bytes->data + at + 4);
        if (size > bytes->size - at - 8) {
            return false;
        }
        if (type == JSON && g->json.n == 0) {
            g->json = after_blanks((pc_span){(const char *)bytes->data + at + 8, size});
        } else if (type == BIN && !g->bin) {
            g->bin = bytes->data + at + 8;
            g->bin_size = size;
        }
        at += 8 + size;
    }
    return g->json.n > 0 && g->json.n <= MOST_TEXT && g->bin && word(bytes->data + 4) == 2;
}

pcgpu_status pc_glb_read(const pc_bytes *bytes, pc_mesh_parts *m, pcgpu_cloud *vertices) {
    static const double identity[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    static const char *const normals[] = {"nx", "ny", "nz"};
    glb g = {.m = m, .file_size = bytes->size};
    if (!find_chunks(&g, bytes)) {
        return fail(&g, "is not a whole .glb of version 2 with its buffer and at most 1 MiB of JSON");
    }
    pc_span rest = g.json;
    g.json = take_value(&rest);
    const pc_span nodes = member(indexed(&g, "scenes", number_of(g.json, "scene", 0)), "nodes");
    pcgpu_status status = PCGPU_OK;
    for (int64_t i = 0; status == PCGPU_OK && item(nodes, i).n > 0; i++) {
        status = add_node(&g, number(item(nodes, i), -1), identity, 0);
    }
    return status == PCGPU_OK ? pc_mesh_cloud(m, normals, vertices) : status;
}
