/* The header of .ply: its elements and their properties, in any order. Counts are only parsed here; the reader compares
 * them with the bytes that follow. */
#include "io_ply.h"

#include <string.h>

void pc_ply_free(pc_ply *ply) {
    pc_buffer_free(&ply->element_memory);
    pc_buffer_free(&ply->property_memory);
}

const pc_ply_element *pc_ply_element_called(const pc_ply *ply, const char *name) {
    for (size_t i = 0; i < ply->element_count; i++) {
        if (pc_span_is(ply->elements[i].name, name)) {
            return &ply->elements[i];
        }
    }
    return NULL;
}

static pcgpu_status fail_line(const pc_file *file, const pc_text *text, pc_span what, const char *expected) {
    return pc_fail_line(file, text, "'%s' where %s is expected; correct the header", pc_span_show(what).text, expected);
}

static bool parse_type(pc_span span, uint8_t *type) {
    static const struct {
        const char *name;
        uint8_t type;
    } types[] = {
        {"char", PCGPU_INT8},     {"int8", PCGPU_INT8},       {"uchar", PCGPU_UINT8},    {"uint8", PCGPU_UINT8},
        {"short", PCGPU_INT16},   {"int16", PCGPU_INT16},     {"ushort", PCGPU_UINT16},  {"uint16", PCGPU_UINT16},
        {"int", PCGPU_INT32},     {"int32", PCGPU_INT32},     {"uint", PCGPU_UINT32},    {"uint32", PCGPU_UINT32},
        {"float", PCGPU_FLOAT32}, {"float32", PCGPU_FLOAT32}, {"double", PCGPU_FLOAT64}, {"float64", PCGPU_FLOAT64},
        {"int64", PCGPU_INT64},   {"uint64", PC_UINT64},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (pc_span_is(span, types[i].name)) {
            *type = types[i].type;
            return true;
        }
    }
    return false;
}

static pcgpu_status parse_format(const pc_file *file, const pc_text *text, pc_span line, pc_ply *ply) {
    pc_span kind;
    pc_text_token(&line, &kind);
    ply->ascii = pc_span_is(kind, "ascii");
    ply->swap = pc_span_is(kind, "binary_big_endian");
    if (!ply->ascii && !ply->swap && !pc_span_is(kind, "binary_little_endian")) {
        return fail_line(file, text, kind, "ascii, binary_little_endian or binary_big_endian");
    }
    return PCGPU_OK;
}

static pcgpu_status parse_element(const pc_file *file, const pc_text *text, pc_span line, pc_ply *ply) {
    pc_ply_element element = {.first = ply->property_count};
    pc_span count;
    if (!pc_text_token(&line, &element.name)) {
        return fail_line(file, text, element.name, "the name of an element");
    }
    pc_text_token(&line, &count);
    if (!pc_span_count(count, &element.count)) {
        return fail_line(file, text, count, "a number of elements, 0 or more,");
    }
    const size_t bytes = (ply->element_count + 1) * sizeof element;
    ply->elements = pc_buffer_take(&ply->element_memory, bytes, true);
    if (!ply->elements) {
        return pc_fail_file_memory(file, bytes);
    }
    ply->elements[ply->element_count++] = element;
    return PCGPU_OK;
}

static pcgpu_status parse_property(const pc_file *file, const pc_text *text, pc_span line, pc_ply *ply) {
    static const char types[] = "a type (char uchar short ushort int uint float double)";
    pc_ply_property property = {.list = false};
    pc_span token;
    pc_text_token(&line, &token);
    if (ply->element_count == 0) {
        return fail_line(file, text, token, "an element before the first property");
    }
    property.list = pc_span_is(token, "list");
    if (property.list) {
        pc_text_token(&line, &token);
        if (!parse_type(token, &property.count_type) || property.count_type == PCGPU_FLOAT32 ||
            property.count_type == PCGPU_FLOAT64) {
            return fail_line(file, text, token, "an integer type for the length of a list");
        }
        pc_text_token(&line, &token);
    }
    if (!parse_type(token, &property.type)) {
        return fail_line(file, text, token, types);
    }
    if (!pc_text_token(&line, &property.name)) {
        return fail_line(file, text, property.name, "the name of a property");
    }
    const size_t bytes = (ply->property_count + 1) * sizeof property;
    ply->properties = pc_buffer_take(&ply->property_memory, bytes, true);
    if (!ply->properties) {
        return pc_fail_file_memory(file, bytes);
    }
    ply->properties[ply->property_count++] = property;
    ply->elements[ply->element_count - 1].properties++;
    return PCGPU_OK;
}

/* Of "up -y", which follows the word comment. */
static pc_up up_of_comment(pc_span line) {
    pc_span word;
    pc_up up = PC_UP_AUTO;
    if (pc_text_token(&line, &word) && pc_span_is(word, "up") && pc_text_token(&line, &word)) {
        for (int i = PC_UP_X; i <= PC_UP_MINUS_Z; i++) {
            up = pc_span_is(word, pc_up_names[i]) ? (pc_up)i : up;
        }
    }
    return up;
}

pcgpu_status pc_ply_header(const pc_file *file, pc_text *text, pc_ply *ply) {
    pc_span line, key;
    bool format = false;
    memset(ply, 0, sizeof *ply);
    if (!pc_text_line(text, &line) || !pc_text_token(&line, &key) || !pc_span_is(key, "ply")) {
        return pc_fail_format(file, "does not begin with a line 'ply'; give --format if it is not a .ply file");
    }
    while (pc_text_line(text, &line)) {
        if (!pc_text_token(&line, &key) || pc_span_is(key, "obj_info")) {
            continue;
        }
        if (pc_span_is(key, "comment")) {
            ply->up = ply->up == PC_UP_AUTO ? up_of_comment(line) : ply->up;
            continue;
        }
        if (pc_span_is(key, "end_header")) {
            return format ? PCGPU_OK
                          : pc_fail_format(file,
                                           "the header has no format line; add 'format ascii 1.0' or what the data is");
        }
        if (pc_span_is(key, "format")) {
            PC_TRY(parse_format(file, text, line, ply));
            format = true;
        } else if (pc_span_is(key, "element")) {
            PC_TRY(parse_element(file, text, line, ply));
        } else if (pc_span_is(key, "property")) {
            PC_TRY(parse_property(file, text, line, ply));
        } else {
            return fail_line(file, text, key, "format, element, property, comment or end_header");
        }
    }
    return pc_fail_format(file, "the header has no line end_header; the file is cut short, so copy or export it again");
}
