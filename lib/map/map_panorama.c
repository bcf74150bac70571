/* Panoramas: the least range that a scan has in each direction, in units of 1/16 voxel. */
#include "map.h"
#include "map_math.h"

#include <stdlib.h>
#include <string.h>

enum { PIXELS = PC_MAP_COLUMNS * PC_MAP_ROWS };

static void fill(const pcgpu_cloud *scan, double unit, uint16_t *image) {
    const float ox = (float)scan->offset[0], oy = (float)scan->offset[1], oz = (float)scan->offset[2];
    const float per = (float)(1.0 / unit);
    for (int64_t i = 0; i < scan->rows; i++) {
        const float *p = scan->data + i * scan->columns;
        const float x = ox + p[0], y = oy + p[1], z = oz + p[2], range = sqrtf((x * x + y * y) + z * z),
                    units = range * per;
        if (!(range > 0.0f && units - units == 0.0f)) {
            continue;
        }
        const int pixel = (int)pc_map_row(z, range) * PC_MAP_COLUMNS + (int)pc_map_column(x, y);
        const uint16_t whole = units < 65535.0f ? units >= 1.0f ? (uint16_t)units : 1 : 65535;
        image[pixel] = image[pixel] == 0 || whole < image[pixel] ? whole : image[pixel];
    }
}

/* The rows with returns. */
static void find_rows(const uint16_t *image, pc_map_panorama *p) {
    int32_t first = PC_MAP_ROWS, last = -1;
    for (int32_t row = 0; row < PC_MAP_ROWS; row++) {
        bool any = false;
        for (int c = 0; c < PC_MAP_COLUMNS && !any; c++) {
            any = image[row * PC_MAP_COLUMNS + c] != 0;
        }
        first = any && row < first ? row : first;
        last = any ? row : last;
    }
    p->first = last >= 0 ? first : 0;
    p->rows = last >= 0 ? last - first + 1 : 0;
}

pcgpu_status pc_map_panorama_add(pcgpu_context *context, pc_map_panoramas *all, pc_map_file *file,
                                 const pcgpu_cloud *scan, const double T[16], double unit) {
    const size_t needed = ((size_t)all->count + 1) * sizeof *all->all;
    uint16_t *image = pc_buffer_take(&all->image, PIXELS * sizeof *image, false);
    pc_map_panorama *list = pc_buffer_take(&all->memory, needed, true);
    if (!image || !list) {
        return pc_fail_memory(context, needed + PIXELS * sizeof *image, "a panorama");
    }
    all->all = list;
    pc_map_panorama *p = &list[all->count];
    *p = (pc_map_panorama){0};
    memcpy(p->T, T, sizeof p->T);
    memset(image, 0, PIXELS * sizeof *image);
    fill(scan, unit, image);
    find_rows(image, p);
    const size_t bytes = (size_t)p->rows * PC_MAP_COLUMNS * sizeof *image;
    const uint16_t *begin = image + (size_t)p->first * PC_MAP_COLUMNS;
    if (file->fd >= 0) {
        PC_TRY(pc_map_file_append(context, file, begin, bytes, &p->where));
    } else if (bytes > 0) {
        p->ranges = malloc(bytes);
        if (!p->ranges) {
            return pc_fail_memory(context, bytes, "a panorama");
        }
        memcpy(p->ranges, begin, bytes);
    }
    all->count++;
    return PCGPU_OK;
}

/* The least range of a pixel and its eight neighbours that have returns. */
static uint32_t least_around(const uint16_t *ranges, int32_t rows, int32_t row, int column) {
    uint32_t least = UINT16_MAX;
    for (int32_t r = row > 0 ? row - 1 : row; r <= row + 1 && r < rows; r++) {
        for (int c = column + PC_MAP_COLUMNS - 1; c <= column + PC_MAP_COLUMNS + 1; c++) {
            const uint32_t range = ranges[r * PC_MAP_COLUMNS + c % PC_MAP_COLUMNS];
            least = range != 0 && range < least ? range : least;
        }
    }
    return least;
}

pcgpu_status pc_map_panorama_load(pcgpu_context *context, pc_map_panoramas *all, const pc_map_file *file, int64_t i) {
    pc_map_panorama *p = &all->all[i];
    const size_t pixels = (size_t)p->rows * PC_MAP_COLUMNS;
    if (p->pixels || pixels == 0) {
        return PCGPU_OK;
    }
    p->pixels = malloc(pixels * sizeof *p->pixels);
    if (!p->pixels) {
        return pc_fail_memory(context, pixels * sizeof *p->pixels, "a panorama");
    }
    all->bytes += (int64_t)(pixels * sizeof *p->pixels);
    const uint16_t *ranges = p->ranges;
    if (!ranges) {
        PC_TRY(pc_map_file_read(context, file, p->where, all->image.memory, pixels * sizeof *ranges));
        ranges = all->image.memory;
    }
    for (int32_t row = 0; row < p->rows; row++) {
        for (int c = 0; c < PC_MAP_COLUMNS; c++) {
            const uint32_t range = ranges[row * PC_MAP_COLUMNS + c];
            p->pixels[row * PC_MAP_COLUMNS + c] = range ? range << 16 | least_around(ranges, p->rows, row, c) : 0;
        }
    }
    return PCGPU_OK;
}

static void drop(pc_map_panoramas *all, pc_map_panorama *p) {
    all->bytes -= p->pixels ? (int64_t)p->rows * PC_MAP_COLUMNS * (int64_t)sizeof *p->pixels : 0;
    free(p->pixels);
    p->pixels = NULL;
}

void pc_map_panoramas_drop(pc_map_panoramas *all, uint32_t now) {
    for (int64_t i = 0; i < all->count; i++) {
        if (all->all[i].used != now) {
            drop(all, &all->all[i]);
        }
    }
}

void pc_map_panoramas_free(pc_map_panoramas *all) {
    for (int64_t i = 0; i < all->count; i++) {
        drop(all, &all->all[i]);
        free(all->all[i].ranges);
    }
    pc_buffer_free(&all->memory);
    pc_buffer_free(&all->image);
}
