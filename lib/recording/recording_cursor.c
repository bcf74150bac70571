/* Numbers and texts in bytes that may be too few. */
#include "recording.h"

static bool has(pc_cursor *c, uint64_t bytes) {
    c->bad = c->bad || bytes > c->size - c->at;
    return !c->bad;
}

uint64_t pc_take(pc_cursor *c, size_t bytes) {
    const size_t align = bytes < c->align ? bytes : c->align, beside = align ? c->at % align : 0;
    const size_t padding = beside ? align - beside : 0;
    if (!has(c, padding + bytes)) {
        return 0;
    }
    c->at += padding + bytes;
    return pc_load_bits(c->data + c->at - bytes, bytes, c->swap);
}

double pc_take_double(pc_cursor *c) {
    const uint64_t bits = pc_take(c, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

pc_span pc_take_bytes(pc_cursor *c, uint64_t bytes) {
    if (!has(c, bytes)) {
        return (pc_span){"", 0};
    }
    c->at += (size_t)bytes;
    return (pc_span){(const char *)c->data + c->at - bytes, (size_t)bytes};
}

pc_span pc_take_text(pc_cursor *c) {
    return pc_take_bytes(c, pc_take(c, 4));
}
