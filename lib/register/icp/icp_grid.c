/* The grid of a registration's target: cells numbered by their first point, points of a cell in index order, so that
 * its bytes depend on the points alone. */
#include "icp_grid.h"

#include <stdlib.h>
#include <string.h>

static size_t table_size(size_t cells) {
    size_t size = 16;
    while (size < 2 * cells) {
        size *= 2;
    }
    return size;
}

/* The slot of `key`, or the free one where it belongs. */
static pc_icp_slot *slot_of(pc_icp_slot *slots, uint64_t mask, int64_t key) {
    uint64_t h = pc_hash64((uint64_t)key) & mask;
    while (slots[h].count != 0 && slots[h].key != key) {
        h = (h + 1) & mask;
    }
    return &slots[h];
}

static pcgpu_status set_extent(pcgpu_context *context, int64_t n, const float *xyz, double edge, pc_icp_grid *grid) {
    grid->edge = (float)edge;
    grid->inverse_edge = 1.0 / edge;
    for (int k = 0; k < 3; k++) {
        float low = xyz[k], high = xyz[k];
        for (int64_t i = 1; i < n; i++) {
            float p = xyz[3 * i + k];
            low = p < low ? p : low;
            high = p > high ? p : high;
        }
        double last = floor(((double)high - (double)low) * grid->inverse_edge);
        if (!(last < PC_ICP_MAX_CELLS)) {
            return pc_fail(
                context, PCGPU_ERROR_ARGUMENT,
                "the target spans %.3g m, more than %d cells of %.3g m; remove far outliers or use a larger voxel",
                (double)high - (double)low, PC_ICP_MAX_CELLS, edge);
        }
        grid->origin[k] = (double)low;
        grid->cells[k] = (int32_t)last + 1;
    }
    return PCGPU_OK;
}

static int64_t key_of(const pc_icp_grid *grid, const float *p) {
    int32_t c[3];
    for (int k = 0; k < 3; k++) {
        c[k] = (int32_t)floor(((double)p[k] - grid->origin[k]) * grid->inverse_edge);
    }
    return pc_icp_key(c[0], c[1], c[2]);
}

/* Counts the points of each cell in a table that is large enough for a cell a point. cell[i] = number of point i's
 * cell, keys and counts are by cell; returns the number of cells, -1 when memory is short. */
static int64_t number_cells(const pc_icp_grid *grid, const float *xyz, int32_t *cell, int64_t *keys, int32_t *counts) {
    size_t size = table_size((size_t)grid->n);
    pc_icp_slot *table = calloc(size, sizeof *table);
    int32_t found = 0;
    if (!table) {
        return -1;
    }
    for (int64_t i = 0; i < grid->n; i++) {
        int64_t key = key_of(grid, xyz + 3 * i);
        pc_icp_slot *slot = slot_of(table, size - 1, key);
        if (slot->count == 0) {
            *slot = (pc_icp_slot){.key = key, .start = found, .count = 1};
            keys[found] = key;
            counts[found++] = 0;
        }
        cell[i] = slot->start;
        counts[slot->start]++;
    }
    free(table);
    return found;
}

/* The final table holds only what was found, so that searches stay in the caches. */
static pcgpu_status fill(pcgpu_context *context, const float *xyz, const int32_t *cell, const int64_t *keys,
                         int32_t *counts, int64_t cells, pc_icp_grid *grid) {
    size_t size = table_size((size_t)cells), n = (size_t)grid->n;
    pc_icp_slot *slots = calloc(size, sizeof *slots);
    pc_icp_point *points = malloc(n * sizeof *points);
    grid->slots = slots;
    grid->points = points;
    grid->mask = size - 1;
    if (!slots || !points) {
        return pc_fail_memory(context, size * sizeof *slots + n * sizeof *points, "the target's grid");
    }
    int32_t start = 0;
    for (int64_t i = 0; i < cells; i++) {
        *slot_of(slots, grid->mask, keys[i]) = (pc_icp_slot){.key = keys[i], .start = start, .count = counts[i]};
        int32_t count = counts[i];
        counts[i] = start; /* from here on: where the cell's next point goes */
        start += count;
    }
    for (size_t i = 0; i < n; i++) {
        const float *p = xyz + 3 * i;
        points[counts[cell[i]]++] = (pc_icp_point){p[0], p[1], p[2], (int32_t)i};
    }
    return PCGPU_OK;
}

pcgpu_status pc_icp_grid_build(pcgpu_context *context, int64_t n, const float *xyz, double edge, pc_icp_grid *grid) {
    memset(grid, 0, sizeof *grid);
    grid->n = n;
    int32_t *cell = malloc((size_t)n * sizeof *cell), *counts = malloc((size_t)n * sizeof *counts);
    int64_t *keys = malloc((size_t)n * sizeof *keys);
    pcgpu_status status;
    PC_TRY_OR(done, status, set_extent(context, n, xyz, edge, grid));
    int64_t cells = cell && counts && keys ? number_cells(grid, xyz, cell, keys, counts) : -1;
    status = cells < 0 ? pc_fail_memory(context, (uint64_t)n * 80, "the target's grid")
                       : fill(context, xyz, cell, keys, counts, cells, grid);
done:
    if (status != PCGPU_OK) {
        pc_icp_grid_free(grid);
    }
    free(cell);
    free(counts);
    free(keys);
    return status;
}

void pc_icp_grid_free(pc_icp_grid *grid) {
    free((void *)grid->points);
    free((void *)grid->slots);
    memset(grid, 0, sizeof *grid);
}
