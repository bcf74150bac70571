/* A layer in a page: its description as JSON, and its numbers as base64, in this order: positions (3 x uint16 per row),
 * columns (uint8 or uint16), colours (3 x uint8), corners of triangles (uint16, or uint32 above 65,536 vertices), and
 * the steps between the records of the file (LEB128), which only a layer without some of its records has. All
 * little-endian. */
#include "page_parts.h"

static void write_list(page_text *t, const char *name, const double *values) {
    fprintf(t->stream, ",\"%s\":[", name);
    for (int k = 0; k < 3; k++) {
        fputs(k ? "," : "", t->stream);
        page_number(t, values[k]);
    }
    fputc(']', t->stream);
}

static void write_name(page_text *t, const char *name, const page_layer *p, int column) {
    if (column >= 0) {
        fprintf(t->stream, ",\"%s\":", name);
        page_string(t, p->layer->cloud.names[column]);
    }
}

static void write_columns(page_text *t, const page_layer *p) {
    static const char *const kinds[] = {NULL, "number", "las", "semantic", "cluster"}; /* by pc_classes */
    fputs(",\"columns\":[", t->stream);
    for (int i = 0; i < p->column_count; i++) {
        const page_column *c = &p->columns[i];
        const char *kind = kinds[pc_classes_of(p->layer, c->column)];
        fprintf(t->stream, "%s{\"name\":", i ? "," : "");
        page_string(t, p->layer->cloud.names[c->column]);
        fprintf(t->stream, ",\"bytes\":%d,\"whole\":%s,\"low\":", c->bytes, c->whole ? "true" : "false");
        page_number(t, c->low);
        fputs(",\"step\":", t->stream);
        page_number(t, c->step);
        fprintf(t->stream, kind ? ",\"kind\":\"%s\"}" : "}", kind);
    }
    fputc(']', t->stream);
}

/* Whether the vertices of a triangle are shown. */
static bool has_triangle(const pc_layer *l, int64_t triangle) {
    const int32_t *c = l->indices + 3 * triangle;
    return pc_layer_shows(l, pc_layer_row(l, c[0])) && pc_layer_shows(l, pc_layer_row(l, c[1])) &&
           pc_layer_shows(l, pc_layer_row(l, c[2]));
}

static int64_t count_triangles(const page_layer *p) {
    int64_t n = 0;
    for (int64_t i = 0; i < p->layer->triangles; i++) {
        n += has_triangle(p->layer, i);
    }
    return n;
}

void page_write_layer(page_text *t, const page_layer *p) {
    static const char *const kinds[] = {"points", "mesh", "line", "boxes", "image"};
    const pc_layer *l = p->layer;
    const double half[3] = {(double)l->half[0], (double)l->half[1], (double)l->half[2]};
    fputs("{\"name\":", t->stream);
    page_string(t, l->name);
    fprintf(
        t->stream,
        ",\"kind\":\"%s\",\"total\":%lld,\"count\":%lld,\"outside\":%lld,\"every\":%lld,\"sampled\":%s,\"records\":%s",
        kinds[l->kind], (long long)p->total, (long long)p->count, (long long)p->outside, (long long)p->every,
        p->sampled ? "true" : "false", p->rows ? "true" : "false");
    fprintf(t->stream, ",\"triangles\":%lld,\"color\":\"#%06x\",\"scaled\":%s", (long long)count_triangles(p),
            (unsigned)l->color, l->paint == PC_PAINT_FLAT ? "false" : "true");
    write_list(t, "low", p->low);
    write_list(t, "step", p->step);
    write_list(t, "origin", l->origin);
    write_list(t, "offset", l->cloud.offset);
    write_list(t, "half", half);
    write_columns(t, p);
    fprintf(t->stream, ",\"rgb\":%s", p->rgb ? "true" : "false");
    write_name(t, "classes", p, p->classes);
    write_name(t, "normals", p, p->normals);
    write_name(t, "intensity", p, p->intensity);
    fputc('}', t->stream);
}

static void write_u16(page_text *t, unsigned v) {
    const unsigned char bytes[2] = {(unsigned char)v, (unsigned char)(v >> 8)};
    page_bytes(t, bytes, 2);
}

/* The code of a value: the nearest one, and `none` for a value that is not finite. */
static unsigned code_of(double value, double low, double step, unsigned most, unsigned none) {
    const double code = step > 0 ? (value - low) / step + 0.5 : 0.0;
    return value - value != 0 ? none : code <= 0 ? 0 : code >= (double)most ? most : (unsigned)code;
}

static void write_column(page_text *t, const page_layer *p, const page_column *c) {
    for (int64_t i = 0; i < p->count; i++) {
        const double v = (double)page_row(p, i)[c->column];
        if (c->bytes == 1) {
            const unsigned char byte = (unsigned char)code_of(v, c->low, c->step, 254, 255);
            page_bytes(t, &byte, 1);
        } else if (c->bytes == 2) {
            write_u16(t, code_of(v, c->low, c->step, 65534, 65535));
        }
    }
}

static void write_triangles(page_text *t, const page_layer *p) {
    const pc_layer *l = p->layer;
    const bool small = l->cloud.rows <= 65536;
    for (int64_t i = 0; i < l->triangles; i++) {
        for (int k = 0; k < 3 && has_triangle(l, i); k++) {
            const unsigned corner = (unsigned)l->indices[3 * i + k];
            write_u16(t, corner & 0xffff);
            if (!small) {
                write_u16(t, corner >> 16);
            }
        }
    }
}

static void write_records(page_text *t, const page_layer *p) {
    int32_t before = -1;
    for (int64_t i = 0; p->rows && i < p->count; i++) {
        unsigned step = (unsigned)(p->rows[i] - before);
        before = p->rows[i];
        while (step > 127) {
            const unsigned char byte = (unsigned char)(step & 127u) | 128u;
            page_bytes(t, &byte, 1);
            step >>= 7;
        }
        const unsigned char last = (unsigned char)step;
        page_bytes(t, &last, 1);
    }
}

void page_write_data(page_text *t, const page_layer *p) {
    for (int64_t i = 0; i < p->count; i++) {
        for (int k = 0; k < 3; k++) {
            write_u16(t, code_of((double)page_row(p, i)[k], p->low[k], p->step[k], 65535, 0));
        }
    }
    for (int k = 0; k < p->column_count; k++) {
        write_column(t, p, &p->columns[k]);
    }
    for (int64_t i = 0; p->rgb && i < p->count; i++) {
        const uint32_t color = pc_layer_color_other(&p->paint, page_row(p, i));
        const unsigned char rgb[3] = {(unsigned char)(color >> 16), (unsigned char)(color >> 8), (unsigned char)color};
        page_bytes(t, rgb, 3);
    }
    write_triangles(t, p);
    write_records(t, p);
    page_end_bytes(t);
}
