/* The cells of records: which of a block are in range, and the key and the hash of each one's cell. The comparisons and
 * the division are those of pc_axis_cell, for a whole block at once, without a branch. */
#include "voxelize_cpu.h"

/* x, y and z of n records as arrays. */
PC_INLINE void take_coordinates(const float *restrict data, int columns, int32_t n, pc_cells *restrict c) {
    for (int32_t i = 0; i < n; i++) {
        c->x[i] = data[(int64_t)i * columns];
        c->y[i] = data[(int64_t)i * columns + 1];
        c->z[i] = data[(int64_t)i * columns + 2];
    }
}

/* Whether a quotient is a cell of the axis. It is then nonnegative, so that truncation is its floor. */
PC_INLINE int32_t on_axis(float p, float quotient, float max, float cells) {
    return (p <= max) & (quotient >= 0.0f) & (quotient < cells);
}

PC_INLINE void compute_cells(const pc_voxelize_job *job, const pc_cell_layout *layout, int32_t n, pc_cells *restrict c,
                             pc_drops *drops) {
    const pc_grid g = job->grid;
    const float sx = job->skip[0], sy = job->skip[1], sz = job->skip[2];
    const int32_t skip = job->skip_origin;
    const int y_shift = layout->y_shift, z_shift = layout->z_shift;
    int32_t finite = 0, skipped = 0;
    for (int32_t i = 0; i < n; i++) {
        const float x = c->x[i], y = c->y[i], z = c->z[i];
        const float qx = (x - g.min[0]) / g.size[0], qy = (y - g.min[1]) / g.size[1], qz = (z - g.min[2]) / g.size[2];
        const int32_t origin = skip & (x == sx) & (y == sy) & (z == sz);
        const int32_t inside = on_axis(x, qx, g.max[0], g.cells[0]) & on_axis(y, qy, g.max[1], g.cells[1]) &
                               on_axis(z, qz, g.max[2], g.cells[2]) & (origin ^ 1);
        const uint32_t cx = (uint32_t)(int32_t)(inside ? qx : 0.0f), cy = (uint32_t)(int32_t)(inside ? qy : 0.0f),
                       cz = (uint32_t)(int32_t)(inside ? qz : 0.0f);
        finite += (x - x == 0.0f) & (y - y == 0.0f) & (z - z == 0.0f);
        skipped += origin;
        c->inside[i] = inside;
        c->hash[i] = pc_cell_hash(cx, cy, cz);
        c->key[i] = (uint64_t)cx | (uint64_t)cy << y_shift | (uint64_t)cz << z_shift;
    }
    drops->non_finite += n - finite;
    drops->at_origin += skipped;
}

PC_INLINE void list_inside(int32_t n, pc_cells *c) {
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        c->place[count] = (uint16_t)i;
        count += c->inside[i];
    }
    c->count = count;
}

PC_INLINE void find_cells(const pc_voxelize_job *job, const pc_cell_layout *layout, int64_t row, int32_t n,
                          pc_cells *cells, pc_drops *drops) {
    const float *data = job->data + row * job->columns;
    const int64_t next = row + n, ahead = job->rows - next < PC_CELL_BLOCK ? job->rows - next : PC_CELL_BLOCK;
    for (int64_t k = 0; k < ahead * job->columns; k += 64 / (int64_t)sizeof *data) { /* prefetches the next block */
        __builtin_prefetch(job->data + next * job->columns + k);
    }
    switch (job->columns) { /* loads with a constant stride are vectorized */
    case 3: take_coordinates(data, 3, n, cells); break;
    case 4: take_coordinates(data, 4, n, cells); break;
    default: take_coordinates(data, job->columns, n, cells);
    }
    compute_cells(job, layout, n, cells, drops);
    list_inside(n, cells);
}

PC_SIMD_FORMS_OF(find_cells,
                 (const pc_voxelize_job *job, const pc_cell_layout *layout, int64_t row, int32_t n, pc_cells *cells,
                  pc_drops *drops),
                 (job, layout, row, n, cells, drops))

pc_find_cells_fn *pc_find_cells_form(pc_simd simd) {
    return find_cells_for(simd);
}

/* Bits that hold 0 to cells - 1. */
static int bits_of(float cells) {
    int bits = 0;
    while ((float)(UINT64_C(1) << bits) < cells) {
        bits++;
    }
    return bits;
}

pc_cell_layout pc_cell_layout_of(const pc_grid *grid) {
    int x = bits_of(grid->cells[0]), y = bits_of(grid->cells[1]);
    return (pc_cell_layout){.y_shift = x, .z_shift = x + y};
}
