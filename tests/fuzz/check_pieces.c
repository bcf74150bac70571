/* What must hold for any file in pieces: it gives the columns, records and offset that it gives as a whole, or it
 * fails; when it is damaged, it is so as a whole. */
#include "fuzz.h"

#include "pcgpu.h"

#include <string.h>

static void check_piece(const pcgpu_cloud *whole, const pcgpu_cloud *piece, int64_t at) {
    MUST(piece->columns == whole->columns && piece->rows <= whole->rows - at);
    MUST(memcmp(piece->offset, whole->offset, sizeof whole->offset) == 0);
    for (int k = 0; k < whole->columns; k++) {
        MUST(strcmp(piece->names[k], whole->names[k]) == 0 && piece->types[k] == whole->types[k]);
    }
    const size_t record = sizeof(float) * (size_t)whole->columns;
    MUST(piece->rows == 0 || memcmp(piece->data, whole->data + at * whole->columns, (size_t)piece->rows * record) == 0);
}

static bool check_format(pcgpu_context *context, const char *format, size_t bytes) {
    const pcgpu_read_options options = {.struct_size = sizeof options, .format = format};
    pcgpu_cloud whole, piece = {0};
    pcgpu_pieces *pieces;
    const pcgpu_status whole_status = pcgpu_read_file(context, "input.bin", &options, &whole);
    const pcgpu_status status = pcgpu_pieces_open(context, "input.bin", &options, bytes, &pieces);
    if (status == PCGPU_OK) {
        int64_t at = 0;
        MUST(whole_status == PCGPU_OK);
        do {
            MUST(pcgpu_pieces_next(pieces, &piece) == PCGPU_OK);
            check_piece(&whole, &piece, at);
            at += piece.rows;
        } while (piece.rows > 0);
        MUST(at == whole.rows);
    } else {
        MUST(!pieces && (status == PCGPU_ERROR_ARGUMENT || (status == PCGPU_ERROR_FORMAT && whole_status == status)));
        fuzz_check_sentence(pcgpu_last_error(context), "input.bin");
    }
    pcgpu_pieces_close(pieces);
    pcgpu_cloud_free(&whole);
    return status == PCGPU_OK;
}

int fuzz_check_pieces(const uint8_t *data, size_t size) {
    static const char *const formats[] = {NULL, "bin", "npy", "las"};
    fuzz_write_file("input.bin", data, size);
    pcgpu_context *context = test_open(PCGPU_DEVICE_CPU, 1);
    int valid = 0;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        valid |= check_format(context, formats[i], (size_t)1 << 5 * i);
    }
    pcgpu_close(context);
    return valid;
}
