/* .ply, reading: ascii and binary of both byte orders; the element `vertex` becomes the cloud, its lists and all other
 * elements are skipped. Format: Turk 1994, "The PLY polygon file format". */
#include "io_ply.h"

#include <stdlib.h>
#include <string.h>

static size_t remaining(const pc_ply_input *in) {
    return (size_t)(in->text.end - in->text.p);
}

/* Bytes of the scalars of a row, and whether the row has lists; the bytes of their counts are then added to `least`. */
static bool row_size(const pc_ply *ply, const pc_ply_element *element, size_t *scalars, size_t *least) {
    bool lists = false;
    *scalars = *least = 0;
    for (size_t i = 0; i < element->properties; i++) {
        const pc_ply_property *p = &ply->properties[element->first + i];
        if (p->list) {
            lists = true;
            *least += pc_type_size(p->count_type);
        } else {
            *scalars += pc_type_size(p->type);
        }
    }
    *least += *scalars;
    return lists;
}

uint64_t pc_ply_list_length(const char *p, const pc_ply_property *property, bool swap) {
    return pc_load_bits((const unsigned char *)p, pc_type_size(property->count_type), swap);
}

/* Skips one binary row, and copies its scalars to `out` unless that is NULL. False at the end of the file. */
static bool binary_row(pc_ply_input *in, const pc_ply_element *element, unsigned char *out) {
    const char *p = in->text.p;
    for (size_t i = 0; i < element->properties; i++) {
        const pc_ply_property *property = &in->ply.properties[element->first + i];
        size_t left = (size_t)(in->text.end - p);
        size_t size = pc_type_size(property->type);
        if (property->list) {
            size_t prefix = pc_type_size(property->count_type);
            if (left < prefix) {
                return false;
            }
            uint64_t length = pc_ply_list_length(p, property, in->ply.swap);
            if (length > (left - prefix) / size) {
                return false;
            }
            p += prefix + (size_t)length * size;
            continue;
        }
        if (left < size) {
            return false;
        }
        if (out) {
            memcpy(out, p, size);
            out += size;
        }
        p += size;
    }
    in->text.p = p;
    return true;
}

/* Reports the last line: `what` with the name of a property and, unless it is empty, a value before it. */
static pcgpu_status fail_line(const pc_ply_input *in, pc_span value, const char *what, pc_span property) {
    pc_shown v = pc_span_show(value);
    pc_shown p = pc_span_show(property);
    const char *quote = value.n ? "'" : "";
    return pc_fail_line(in->file, &in->text, "%s%s%s%s '%s'; correct the line or the header", quote, v.text,
                        value.n ? "' " : "", what, p.text);
}

/* Skips a list in a line; its length is the token before. */
static bool skip_list(pc_span *line, pc_span length) {
    unsigned char bytes[4];
    uint32_t left;
    pc_span token;
    if (!pc_span_number(length, PCGPU_UINT32, bytes)) {
        return false;
    }
    memcpy(&left, bytes, sizeof left);
    while (left > 0 && pc_text_token(line, &token)) {
        left--;
    }
    return left == 0;
}

/* Reads one ASCII row into native scalars. Every row is a line. */
static pcgpu_status ascii_row(pc_ply_input *in, const pc_ply_element *element, pc_span line, unsigned char *out) {
    const pc_span none = {"", 0};
    const pc_ply_property *property = NULL;
    pc_span token;
    for (size_t i = 0; i < element->properties; i++) {
        property = &in->ply.properties[element->first + i];
        if (!pc_text_token(&line, &token)) {
            return fail_line(in, none, "ends before property", property->name);
        }
        if (property->list) {
            if (!skip_list(&line, token)) {
                return fail_line(in, token, "is not the length of list", property->name);
            }
        } else if (pc_span_number(token, property->type, out)) {
            out += pc_type_size(property->type);
        } else {
            return fail_line(in, token, "is not a value that the property can have:", property->name);
        }
    }
    if (property && pc_text_token(&line, &token)) {
        return fail_line(in, token, "follows the last property,", property->name);
    }
    return PCGPU_OK;
}

pcgpu_status pc_ply_skip(pc_ply_input *in, const pc_ply_element *element) {
    size_t scalars, least;
    bool lists = row_size(&in->ply, element, &scalars, &least);
    bool good = true;
    if (element->properties == 0) {
        return PCGPU_OK;
    }
    if (in->ply.ascii) {
        pc_span line;
        for (int64_t i = 0; i < element->count && good; i++) {
            good = pc_text_filled_line(&in->text, &line);
        }
    } else if (lists) {
        for (int64_t i = 0; i < element->count && good; i++) {
            good = binary_row(in, element, NULL);
        }
    } else {
        good = (uint64_t)element->count <= remaining(in) / scalars;
        in->text.p += good ? (size_t)element->count * scalars : 0;
    }
    if (!good) {
        return pc_fail_format(in->file, "file ends within element '%s'; it is cut short, so copy or export it again",
                              pc_span_show(element->name).text);
    }
    return PCGPU_OK;
}

/* Reads rows of text, or rows with lists: packs their scalars into new memory. A row has at least `least` bytes in a
 * binary file, and two characters per value in text, which bounds the allocation by the size of the file. The row after
 * the last possible one is parsed, too, so that its error has its line number. */
static pcgpu_status pack_vertices(pc_ply_input *in, const pc_ply_element *vertex, size_t scalars, size_t least,
                                  pc_bytes *packed) {
    uint64_t count = (uint64_t)vertex->count;
    uint64_t possible = remaining(in) / (in->ply.ascii ? 2 * vertex->properties : least) + 2;
    uint64_t rows = count < possible ? count : possible;
    packed->size = (size_t)rows * scalars;
    packed->data = malloc(packed->size + 1);
    if (!packed->data) {
        return pc_fail_file_memory(in->file, packed->size);
    }
    for (uint64_t i = 0; i < rows; i++) {
        unsigned char *out = packed->data + i * scalars;
        pc_span line;
        if (in->ply.ascii ? !pc_text_filled_line(&in->text, &line) : !binary_row(in, vertex, out)) {
            return pc_fail_short(in->file, i, count, "points");
        }
        if (in->ply.ascii) {
            PC_TRY(ascii_row(in, vertex, line, out));
        }
    }
    return rows < count ? pc_fail_short(in->file, rows, count, "points") : PCGPU_OK;
}

static pcgpu_status vertex_table(pc_ply_input *in, const pc_ply_element *vertex, pc_table *table, size_t stride) {
    size_t offset = 0;
    table->rows = vertex->count;
    for (size_t i = 0; i < vertex->properties; i++) {
        const pc_ply_property *p = &in->ply.properties[vertex->first + i];
        if (p->list) {
            continue;
        }
        PC_TRY(pc_table_add(in->file, table, p->name.p, p->name.n, p->type, offset));
        table->fields[table->columns - 1].stride = stride;
        offset += pc_type_size(p->type);
    }
    pc_table_split_color(table);
    return PCGPU_OK;
}

static pcgpu_status read_vertices(pc_ply_input *in, const pc_ply_element *vertex, pc_bytes *bytes, pcgpu_cloud *cloud) {
    size_t scalars, least;
    bool lists = row_size(&in->ply, vertex, &scalars, &least);
    pc_table table = {.swap = in->ply.swap};
    PC_TRY(vertex_table(in, vertex, &table, scalars));
    if (table.columns < 3) {
        return pc_table_to_cloud(in->file, &table, bytes, cloud);
    }
    if (!in->ply.ascii && !lists) {
        uint64_t present = remaining(in) / scalars;
        if ((uint64_t)vertex->count > present) {
            return pc_fail_short(in->file, present, (uint64_t)vertex->count, "points");
        }
        table.start = (size_t)((const unsigned char *)in->text.p - bytes->data);
        return pc_table_to_cloud(in->file, &table, bytes, cloud);
    }
    pc_bytes packed = {NULL, 0};
    pcgpu_status status = pack_vertices(in, vertex, scalars, least, &packed);
    if (status == PCGPU_OK) {
        status = pc_table_to_cloud(in->file, &table, &packed, cloud);
    }
    pc_bytes_free(&packed);
    return status;
}

static pcgpu_status fail_no_vertex(pc_ply_input *in) {
    char list[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < in->ply.element_count && used < sizeof list - sizeof(pc_shown) - 2; i++) {
        pc_shown shown = pc_span_show(in->ply.elements[i].name);
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? " " : "", shown.text);
    }
    return pc_fail_format(in->file, "has no element 'vertex', only: %s; export it with points",
                          used ? list : "nothing");
}

static void say_file(const pc_file *file, const pc_ply *ply) {
    pc_say_encoding(file, "%s", ply->ascii ? "ascii" : ply->swap ? "binary, big endian" : "binary, little endian");
    for (size_t i = 0; i < ply->element_count && file->options->file; i++) {
        file->options->file->faces =
            pc_span_is(ply->elements[i].name, "face") ? ply->elements[i].count : file->options->file->faces;
    }
}

static pcgpu_status read_ply(const pc_file *file, pc_bytes *bytes, pcgpu_cloud *cloud) {
    pc_ply_input in = {.file = file, .text = pc_text_of(bytes)};
    pcgpu_status status;
    PC_TRY_OR(done, status, pc_ply_header(file, &in.text, &in.ply));
    say_file(file, &in.ply);
    const pc_ply_element *vertex = pc_ply_element_called(&in.ply, "vertex");
    PC_TRY_OR(done, status, vertex ? PCGPU_OK : fail_no_vertex(&in));
    for (const pc_ply_element *e = in.ply.elements; e < vertex; e++) {
        PC_TRY_OR(done, status, pc_ply_skip(&in, e));
    }
    PC_TRY_OR(done, status, read_vertices(&in, vertex, bytes, cloud));
    status = pc_cloud_set_up(cloud, in.ply.up) ? PCGPU_OK : pc_fail_file_memory(file, sizeof *cloud->header);
done:
    pc_ply_free(&in.ply);
    return status;
}

const pc_format pc_format_ply = {
    .info = {.name = "ply",
             .extension = ".ply",
             .reads = true,
             .writes = true,
             .description = "PLY, every variant; columns keep their names and types; written as binary"},
    .begins = {"ply\n", "ply\r"},
    .read = read_ply,
    .write = pc_ply_write,
};

const pc_format pc_format_ply_ascii = {
    .info = {.name = "ply-ascii",
             .extension = ".ply",
             .writes = true,
             .text = true,
             .description = "PLY as text whose numbers read back exactly"},
    .write = pc_ply_write_ascii,
};
