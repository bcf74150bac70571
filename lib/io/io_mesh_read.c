/* Meshes, reading: the faces of a .ply. */
#include "io_ply.h"

#include <string.h>

typedef struct faces {
    const pc_file *file;
    int64_t vertices, triangles;
    pc_buffer indices; /* 3 int32 per triangle */
} faces;

/* Adds the corner i of a polygon: from the third on, a triangle with the first corner and the one before, which `fan`
 * keeps. */
static pcgpu_status add_corner(faces *f, int64_t index, uint64_t i, int32_t fan[2]) {
    if (index < 0 || index >= f->vertices || index > INT32_MAX) {
        return pc_fail_format(f->file, "a face has the vertex %lld, and there are %lld; export the mesh again",
                              (long long)index, (long long)f->vertices);
    }
    if (i >= 2) {
        const int32_t triangle[3] = {fan[0], fan[1], (int32_t)index};
        const size_t bytes = ((size_t)f->triangles + 1) * sizeof triangle;
        int32_t *all = f->triangles < INT32_MAX ? pc_buffer_take(&f->indices, bytes, true) : NULL;
        if (!all) {
            return pc_fail_file_memory(f->file, bytes);
        }
        memcpy(all + 3 * f->triangles++, triangle, sizeof triangle);
    }
    fan[i > 0] = (int32_t)index;
    return PCGPU_OK;
}

static bool is_indices(const pc_ply_property *p) {
    return p->list && (pc_span_is(p->name, "vertex_indices") || pc_span_is(p->name, "vertex_index"));
}

static pcgpu_status fail_end(const faces *f) {
    return pc_fail_format(f->file, "file ends within its faces; it is cut short, so copy or export it again");
}

static pcgpu_status binary_face(pc_ply_input *in, const pc_ply_element *element, faces *f) {
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
            PC_TRY(add_corner(f, index >= 0 && index < 2147483648.0 ? (int64_t)index : -1, k, fan));
        }
        in->text.p += length * size;
    }
    return PCGPU_OK;
}

static pcgpu_status ascii_face(pc_ply_input *in, const pc_ply_element *element, faces *f) {
    pc_span line, token;
    if (!pc_text_filled_line(&in->text, &line)) {
        return fail_end(f);
    }
    for (size_t i = 0; i < element->properties; i++) {
        const pc_ply_property *p = &in->ply.properties[element->first + i];
        int64_t length = 1, index = 0;
        if (p->list && (!pc_text_token(&line, &token) || !pc_span_count(token, &length))) {
            return pc_fail_line(f->file, &in->text, "a face without the number of its vertices; export it again");
        }
        int32_t fan[2] = {0, 0};
        for (int64_t k = 0; k < length; k++) {
            if (!pc_text_token(&line, &token) || (is_indices(p) && !pc_span_count(token, &index))) {
                return pc_fail_line(f->file, &in->text, "a face ends before its vertices do; export it again");
            }
            PC_TRY(is_indices(p) ? add_corner(f, index, (uint64_t)k, fan) : PCGPU_OK);
        }
    }
    return PCGPU_OK;
}

static pcgpu_status ply_faces(pc_ply_input *in, faces *f) {
    PC_TRY(pc_ply_header(in->file, &in->text, &in->ply));
    const pc_ply_element *face = pc_ply_element_called(&in->ply, "face"),
                         *vertex = pc_ply_element_called(&in->ply, "vertex");
    if (!face || !vertex || face->properties == 0) {
        return PCGPU_OK;
    }
    f->vertices = vertex->count;
    for (const pc_ply_element *e = in->ply.elements; e < face; e++) {
        PC_TRY(pc_ply_skip(in, e));
    }
    for (int64_t i = 0; i < face->count; i++) {
        PC_TRY(in->ply.ascii ? ascii_face(in, face, f) : binary_face(in, face, f));
    }
    return PCGPU_OK;
}

pcgpu_status pc_mesh_read(const pc_file *file, pc_bytes *bytes, pcgpu_mesh *mesh) {
    extern const pc_format pc_format_ply;
    pc_ply_input in = {.file = file, .text = pc_text_of(bytes)};
    faces f = {.file = file};
    pc_c_locale locale;
    pcgpu_status status;
    *mesh = (pcgpu_mesh){0};
    if (!pc_enter_c_locale(&locale)) {
        return pc_fail_file_memory(file, 1);
    }
    /* The faces come first, since the vertices may take over the memory of the file. */
    PC_TRY_OR(done, status, ply_faces(&in, &f));
    PC_TRY_OR(done, status, pc_format_ply.read(file, bytes, &mesh->vertices));
    mesh->triangles = f.triangles;
    mesh->indices = f.indices.memory;
    f.indices = (pc_buffer){NULL, 0};
done:
    pc_ply_free(&in.ply);
    pc_leave_c_locale(&locale);
    pc_buffer_free(&f.indices);
    if (status != PCGPU_OK) {
        pcgpu_cloud_free(&mesh->vertices);
    }
    return status;
}
