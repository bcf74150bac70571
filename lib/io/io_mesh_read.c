/* Meshes, reading: the faces of a .ply, and Wavefront .obj. */
#include "io_mesh.h"

#include <stdlib.h>
#include <string.h>

static pcgpu_status fail_index(const pc_mesh_parts *m, int64_t index) {
    return pc_fail(m->context, PCGPU_ERROR_FORMAT,
                   "%s: a face has the vertex %lld, and there are %lld; export the mesh again", m->name,
                   (long long)index, (long long)m->vertices);
}

/* Memory for `count` items of `size` bytes; NULL without it. */
static void *reserve(pc_buffer *buffer, int64_t count, size_t size) {
    const size_t bytes = (size_t)count * size;
    return count > INT32_MAX        ? NULL
           : bytes <= buffer->bytes ? buffer->memory
                                    : pc_buffer_take(buffer, 2 * bytes + 4096, true);
}

pcgpu_status pc_mesh_add_vertex(pc_mesh_parts *m, const double row[PC_MESH_ROW]) {
    const size_t size = PC_MESH_ROW * sizeof *row;
    double *rows = reserve(&m->rows, m->vertices + 1, size);
    if (!rows) {
        return pc_fail_memory(m->context, 2 * ((uint64_t)m->vertices + 1) * size, m->name);
    }
    memcpy(rows + PC_MESH_ROW * m->vertices++, row, size);
    return PCGPU_OK;
}

pcgpu_status pc_mesh_add_corner(pc_mesh_parts *m, int64_t index, uint64_t i, int32_t fan[2]) {
    if (index < 0 || index >= m->vertices || index > INT32_MAX) {
        return fail_index(m, index);
    }
    if (i >= 2) {
        const int32_t triangle[3] = {fan[0], fan[1], (int32_t)index};
        int32_t *all = reserve(&m->indices, m->triangles + 1, sizeof triangle);
        if (!all) {
            return pc_fail_memory(m->context, 2 * ((uint64_t)m->triangles + 1) * sizeof triangle, m->name);
        }
        memcpy(all + 3 * m->triangles++, triangle, sizeof triangle);
    }
    fan[i > 0] = (int32_t)index;
    return PCGPU_OK;
}

pcgpu_status pc_mesh_cloud(pc_mesh_parts *m, const char *const more[3], pcgpu_cloud *cloud) {
    const char *const names[PC_MESH_ROW] = {"x", "y", "z", more[0], more[1], more[2]};
    const double *v = m->rows.memory;
    bool all = m->vertices > 0;
    if (m->vertices == 0) {
        return pc_fail(m->context, PCGPU_ERROR_FORMAT, "%s: has no vertex; give a mesh", m->name);
    }
    for (int64_t i = 0; i < m->vertices; i++) {
        all = all && v[PC_MESH_ROW * i + 5] == v[PC_MESH_ROW * i + 5];
    }
    pc_table table = {.rows = m->vertices};
    pcgpu_status status = PCGPU_OK;
    for (int k = 0; k < (all ? PC_MESH_ROW : 3) && status == PCGPU_OK; k++) {
        status =
            pc_table_add(m->context, m->name, &table, names[k], strlen(names[k]), PCGPU_FLOAT64, (size_t)k * sizeof *v);
        table.fields[k].stride = PC_MESH_ROW * sizeof *v;
    }
    pc_bytes bytes = {m->rows.memory, (size_t)m->vertices * PC_MESH_ROW * sizeof *v};
    m->rows = (pc_buffer){NULL, 0};
    status = status == PCGPU_OK ? pc_table_to_cloud(m->context, m->name, &table, &bytes, cloud) : status;
    pc_bytes_free(&bytes);
    return status;
}

/* ---- .ply -------------------------------------------------------------------------------------------------------- */

static const pc_ply_element *element_called(const pc_ply *ply, const char *name) {
    for (size_t i = 0; i < ply->element_count; i++) {
        if (pc_span_is(ply->elements[i].name, name)) {
            return &ply->elements[i];
        }
    }
    return NULL;
}

static bool is_indices(const pc_ply_property *p) {
    return p->list && (pc_span_is(p->name, "vertex_indices") || pc_span_is(p->name, "vertex_index"));
}

static pcgpu_status fail_end(const pc_mesh_parts *f) {
    return pc_fail(f->context, PCGPU_ERROR_FORMAT,
                   "%s: file ends within its faces; it is cut short, so copy or export it again", f->name);
}

static pcgpu_status binary_face(pc_ply_input *in, const pc_ply_element *element, pc_mesh_parts *f) {
    for (size_t i = 0; i < element->properties; i++) {
        const pc_ply_property *p = &in->ply.properties[element->first + i];
        const size_t size = pc_type_size(p->type), left = (size_t)(in->text.end - in->text.p);
        const size_t prefix = p->list ? pc_type_size(p->count_type) : 0;
        const uint64_t length = !p->list        ? 1
                                : left < prefix ? UINT64_MAX
                                                : pc_ply_list_length(in->text.p, p, in->ply.swap);
        if (left < prefix || length > (left - prefix) / size) {
            return fail_end(f);
        }
        in->text.p += prefix;
        int32_t fan[2] = {0, 0};
        for (uint64_t k = 0; is_indices(p) && k < length; k++) {
            const double index = pc_load_value((const unsigned char *)in->text.p + k * size, p->type, in->ply.swap);
            pcgpu_status status =
                pc_mesh_add_corner(f, index >= 0 && index < 2147483648.0 ? (int64_t)index : -1, k, fan);
            if (status != PCGPU_OK) {
                return status;
            }
        }
        in->text.p += length * size;
    }
    return PCGPU_OK;
}

static pcgpu_status ascii_face(pc_ply_input *in, const pc_ply_element *element, pc_mesh_parts *f) {
    pc_span line, token;
    if (!pc_text_filled_line(&in->text, &line)) {
        return fail_end(f);
    }
    for (size_t i = 0; i < element->properties; i++) {
        const pc_ply_property *p = &in->ply.properties[element->first + i];
        int64_t length = 1, index = 0;
        if (p->list && (!pc_text_token(&line, &token) || !pc_span_count(token, &length))) {
            return pc_fail(f->context, PCGPU_ERROR_FORMAT,
                           "%s: line %lld: a face without the number of its vertices; export it again", f->name,
                           (long long)in->text.line);
        }
        int32_t fan[2] = {0, 0};
        for (int64_t k = 0; k < length; k++) {
            if (!pc_text_token(&line, &token) || (is_indices(p) && !pc_span_count(token, &index))) {
                return pc_fail(f->context, PCGPU_ERROR_FORMAT,
                               "%s: line %lld: a face ends before its vertices do; export it again", f->name,
                               (long long)in->text.line);
            }
            pcgpu_status status = is_indices(p) ? pc_mesh_add_corner(f, index, (uint64_t)k, fan) : PCGPU_OK;
            if (status != PCGPU_OK) {
                return status;
            }
        }
    }
    return PCGPU_OK;
}

static pcgpu_status ply_faces(pc_ply_input *in, pc_mesh_parts *f) {
    pcgpu_status status = pc_ply_header(in->context, in->name, &in->text, &in->ply);
    const pc_ply_element *face = status == PCGPU_OK ? element_called(&in->ply, "face") : NULL;
    const pc_ply_element *vertex = status == PCGPU_OK ? element_called(&in->ply, "vertex") : NULL;
    if (!face || !vertex || face->properties == 0) {
        return status;
    }
    f->vertices = vertex->count;
    for (const pc_ply_element *e = in->ply.elements; e < face && status == PCGPU_OK; e++) {
        status = pc_ply_skip(in, e);
    }
    for (int64_t i = 0; i < face->count && status == PCGPU_OK; i++) {
        status = in->ply.ascii ? ascii_face(in, face, f) : binary_face(in, face, f);
    }
    return status;
}

/* The faces come first, since the vertices may take over the memory of the file. */
static pcgpu_status read_ply_mesh(pcgpu_context *context, pc_bytes *bytes, const char *name, pc_mesh_parts *f,
                                  pcgpu_cloud *vertices) {
    extern const pc_format pc_format_ply;
    const pcgpu_read_options options = {0};
    const char *text = (const char *)bytes->data;
    pc_ply_input in = {.context = context, .name = name, .text = {.p = text, .end = text + bytes->size}};
    pcgpu_status status = ply_faces(&in, f);
    pc_ply_free(&in.ply);
    return status == PCGPU_OK ? pc_format_ply.read(context, bytes, name, &options, vertices) : status;
}

/* ---- .obj -------------------------------------------------------------------------------------------------------- */

static pcgpu_status fail_obj(const pc_mesh_parts *f, const pc_text *text, const char *what) {
    return pc_fail(f->context, PCGPU_ERROR_FORMAT, "%s: line %lld: %s; export it again", f->name, (long long)text->line,
                   what);
}

static bool take_number(pc_span *line, double *value) {
    pc_span token;
    unsigned char bytes[8];
    if (!pc_text_token(line, &token) || !pc_span_number(token, PCGPU_FLOAT64, bytes)) {
        return false;
    }
    memcpy(value, bytes, sizeof bytes);
    return true;
}

/* "v x y z" and possibly a colour. */
static pcgpu_status obj_vertex(pc_span line, const pc_text *text, pc_mesh_parts *f) {
    double v[PC_MESH_ROW] = {0, 0, 0, NAN, NAN, NAN};
    int n = 0;
    while (n < PC_MESH_ROW && take_number(&line, &v[n])) {
        n++;
    }
    return n < 3 ? fail_obj(f, text, "a vertex has fewer than three numbers") : pc_mesh_add_vertex(f, v);
}

/* "f 1/2/3 4//5 6": from 1, or from the last vertex, which is -1. */
static pcgpu_status obj_face(pc_span line, const pc_text *text, pc_mesh_parts *f) {
    pc_span token;
    int32_t fan[2] = {0, 0};
    pcgpu_status status = PCGPU_OK;
    for (uint64_t i = 0; status == PCGPU_OK && pc_text_token(&line, &token); i++) {
        const bool back = token.n > 0 && token.p[0] == '-';
        const char *slash = memchr(token.p, '/', token.n);
        pc_span digits = {token.p + back, (slash ? (size_t)(slash - token.p) : token.n) - back};
        int64_t index = 0;
        if (!pc_span_count(digits, &index) || index == 0) {
            return fail_obj(f, text, "a face has a corner without the number of its vertex");
        }
        status = pc_mesh_add_corner(f, back ? f->vertices - index : index - 1, i, fan);
    }
    return status;
}

static pcgpu_status read_obj_mesh(const pc_bytes *bytes, pc_mesh_parts *f, pcgpu_cloud *vertices) {
    pc_text text = {.p = (const char *)bytes->data, .end = (const char *)bytes->data + bytes->size};
    pc_span line, word;
    pcgpu_status status = PCGPU_OK;
    while (status == PCGPU_OK && pc_text_filled_line(&text, &line)) {
        if (pc_text_token(&line, &word)) {
            status = pc_span_is(word, "v")   ? obj_vertex(line, &text, f)
                     : pc_span_is(word, "f") ? obj_face(line, &text, f)
                                             : PCGPU_OK;
        }
    }
    return status == PCGPU_OK ? pc_mesh_cloud(f, pc_color_names, vertices) : status;
}

/* ---- by name and content ----------------------------------------------------------------------------------------- */

static pcgpu_status read_mesh(pc_bytes *bytes, pc_mesh_parts *f, pcgpu_cloud *vertices) {
    return bytes->size >= 4 && memcmp(bytes->data, "glTF", 4) == 0 ? pc_glb_read(bytes, f, vertices)
           : pc_has_extension(f->name, ".obj")                     ? read_obj_mesh(bytes, f, vertices)
                                               : read_ply_mesh(f->context, bytes, f->name, f, vertices);
}

pcgpu_status pc_mesh_read(pcgpu_context *context, pc_bytes *bytes, const char *name, pcgpu_mesh *mesh) {
    pc_mesh_parts f = {.context = context, .name = name};
    pc_c_locale locale;
    *mesh = (pcgpu_mesh){0};
    if (!pc_enter_c_locale(&locale)) {
        return pc_fail_memory(context, 1, name);
    }
    pcgpu_status status = read_mesh(bytes, &f, &mesh->vertices);
    pc_leave_c_locale(&locale);
    if (status == PCGPU_OK) {
        mesh->triangles = f.triangles;
        mesh->indices = f.indices.memory;
        f.indices = (pc_buffer){NULL, 0};
    } else {
        memset(mesh, 0, sizeof *mesh);
    }
    pc_buffer_free(&f.indices);
    pc_buffer_free(&f.rows);
    return status;
}
