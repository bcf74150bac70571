/* The points of a map, tile by tile. */
#include "map.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { COLUMNS = 9 }; /* that a map can have */

/* ---- the cloud --------------------------------------------------------------------------------------------------- */

/* Those of an existing map that both have. */
static void name_columns(pcgpu_map *m) {
    static const char *const names[] = {"x", "y", "z", "intensity", "nx", "ny", "nz", "seen", "label"};
    const pcgpu_cloud *into = m->into.cloud;
    pcgpu_cloud *c = &m->points;
    for (int k = 0; k < COLUMNS; k++) {
        const bool own = k == 3 ? m->has_intensity : k < 8 || (m->has_labels && m->label_count > 0);
        const int there = into && k >= 3 ? pcgpu_cloud_column(into, names[k]) : k;
        const int type = k == 7 ? PCGPU_UINT32 : k == 8 ? PCGPU_UINT16 : PCGPU_FLOAT32;
        if (own && there >= 0) {
            m->columns[c->columns] = k;
            m->into.columns[c->columns] = there;
            c->types[c->columns] = into && into->types[there] != type ? PCGPU_FLOAT32 : type;
            snprintf(c->names[c->columns++], PCGPU_NAME_SIZE, "%s", names[k]);
        }
    }
}

/* That of an existing map; else by the bounds of the tiles, since those of the points are known at the end only. */
static void choose_offset(pcgpu_map *m) {
    const double side = PC_MAP_SIDE * m->stats.params.voxel;
    if (m->into.cloud) {
        memcpy(m->points.offset, m->into.cloud->offset, 3 * sizeof *m->points.offset);
        return;
    }
    for (int k = 0; k < 3 && m->tiles.count > 0; k++) {
        int32_t low = INT32_MAX, high = INT32_MIN;
        for (int64_t i = 0; i < m->tiles.count; i++) {
            const int32_t at = m->tiles.tiles[i].at[k];
            low = at < low ? at : low;
            high = at > high ? at : high;
        }
        const double from = (double)low * side, to = ((double)high + 1.0) * side;
        m->points.offset[k] = from >= -1024.0 && to <= 1024.0 ? 0.0 : floor(0.5 * (from + to) + 0.5);
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Rows go to memory, or, when voxels went to the file, there. */
typedef struct writing {
    pcgpu_map *map;
    pc_buffer rows, memory; /* of a tile; of all */
    int64_t begin;          /* in the file */
} writing;

static void fill_row(const pcgpu_map *m, const pc_map_tile *tile, const pc_map_voxels *v, int64_t i, float *row) {
    const pc_map_voxel *a = &v->voxels[i];
    const double side = PC_MAP_SIDE * m->stats.params.voxel, *sensor = (const double *)m->sensors.memory + 3 * a->first;
    const double normal[3] = {(double)v->normal[0][i], (double)v->normal[1][i], (double)v->normal[2][i]};
    float all[COLUMNS];
    double facing = 0.0;
    for (int k = 0; k < 3; k++) {
        const double p = (double)tile->at[k] * side + (double)v->at[k][i];
        all[k] = (float)(p - m->points.offset[k]);
        facing += normal[k] * (sensor[k] - p);
    }
    all[3] = (float)((double)a->intensity / 65536.0 / (double)a->points);
    for (int k = 0; k < 3; k++) {
        all[4 + k] = normal[k] == 0.0 ? 0.0f : (float)(facing < 0.0 ? -normal[k] : normal[k]);
    }
    all[7] = (float)a->seen;
    all[8] = (float)a->label;
    for (int k = 0; k < m->points.columns; k++) {
        row[k] = all[m->columns[k]];
    }
}

/* Memory for so many more rows. */
static float *take_rows(writing *w, int64_t count) {
    const pcgpu_map *m = w->map;
    const size_t record = (size_t)m->points.columns * sizeof(float);
    const bool in_file = m->tiles.run_count > 0;
    pc_buffer *to = in_file ? &w->rows : &w->memory;
    const size_t before = in_file ? 0 : (size_t)m->points.rows * record, needed = before + (size_t)count * record + 1;
    char *memory = pc_buffer_take(to, needed, true);
    if (!memory) {
        pc_fail_memory(m->context, needed, "the points of the map");
    }
    return memory ? (float *)(memory + before) : NULL;
}

static pcgpu_status add_rows(writing *w, const float *rows, int64_t count) {
    pcgpu_map *m = w->map;
    int64_t where;
    m->points.rows += count;
    return m->tiles.run_count > 0 ? pc_map_file_append(m->context, &m->file, rows,
                                                       (size_t)count * (size_t)m->points.columns * sizeof *rows, &where)
                                  : PCGPU_OK;
}

static pcgpu_status write_tile(writing *w, const pc_map_tile *tile, const pc_map_voxels *v) {
    pcgpu_map *m = w->map;
    float *rows = take_rows(w, v->count);
    int64_t kept = 0;
    if (!rows) {
        return PCGPU_ERROR_MEMORY;
    }
    for (int64_t i = 0; i < v->count; i++) {
        m->stats.moved += v->moved[i] & 1;
        if (!v->moved[i]) {
            fill_row(m, tile, v, i, rows + kept++ * m->points.columns);
        }
    }
    m->stats.voxels += v->count;
    m->stats.added += m->into.cloud ? kept : 0;
    return add_rows(w, rows, kept);
}

/* The points of the existing map, as they are. */
static pcgpu_status write_into(writing *w) {
    enum { PIECE = 1 << 16 };
    const pcgpu_map *m = w->map;
    const pcgpu_cloud *from = m->into.cloud;
    for (int64_t begin = 0; from && begin < from->rows; begin += PIECE) {
        const int64_t n = from->rows - begin < PIECE ? from->rows - begin : PIECE;
        float *rows = take_rows(w, n), *to = rows;
        if (!rows) {
            return PCGPU_ERROR_MEMORY;
        }
        for (int64_t i = begin; i < begin + n; i++) {
            for (int k = 0; k < m->points.columns; k++) {
                const int c = m->into.columns[k];
                const float value = from->data[i * from->columns + c];
                *to++ = k < 3 || from->offset[c] == 0.0 ? value : (float)((double)value + from->offset[c]);
            }
        }
        PC_TRY(add_rows(w, rows, n));
    }
    return PCGPU_OK;
}

/* The rows in the file, from the page that they begin on. All parts of the file have whole multiples of four bytes. */
static pcgpu_status map_rows(writing *w) {
    pcgpu_map *m = w->map;
    const int64_t page = (int64_t)sysconf(_SC_PAGESIZE), before = w->begin % page;
    m->mapped_bytes = (size_t)(m->file.size - w->begin + before);
    void *memory = mmap(NULL, m->mapped_bytes, PROT_READ, MAP_PRIVATE, m->file.fd, (off_t)(w->begin - before));
    if (memory == MAP_FAILED) {
        return pc_fail(m->context, PCGPU_ERROR_IO, "%s: the temporary file of the map cannot be mapped: %s",
                       m->file.folder, strerror(errno));
    }
    m->mapped = memory;
    m->points.data = (float *)((char *)memory + before);
    return PCGPU_OK;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

typedef struct sorted_tile {
    int32_t at[3];
    int64_t tile;
} sorted_tile;

static int by_place(const void *a, const void *b) {
    const sorted_tile *l = a, *r = b;
    for (int k = 2; k >= 0; k--) {
        if (l->at[k] != r->at[k]) {
            return l->at[k] < r->at[k] ? -1 : 1;
        }
    }
    return 0;
}

static pcgpu_status finish_tiles(writing *w, const sorted_tile *order) {
    pcgpu_map *m = w->map;
    const int64_t before = m->into.map ? m->into.map->tiles.count : 0;
    pc_map_voxels v = {0};
    pcgpu_status status = PCGPU_OK;
    for (int64_t i = 0; i < m->tiles.count; i++) {
        pc_map_tile *tile = &m->tiles.tiles[order[i].tile];
        PC_TRY_OR(done, status, pc_map_voxels_of(m, tile, true, &v));
        pc_map_tile_empty(tile);
        if (!m->stats.params.keep_moving) {
            PC_TRY_OR(done, status, pc_map_find_moved(m, tile, (uint32_t)(before + i) + 1, &v));
        }
        if (m->into.map) {
            PC_TRY_OR(done, status, pc_map_into_compare(m, tile, &v));
        }
        PC_TRY_OR(done, status, write_tile(w, tile, &v));
    }
done:
    pc_map_voxels_free(&v);
    return status;
}

static pcgpu_status finish(pcgpu_map *m) {
    writing w = {.map = m};
    sorted_tile *order = malloc(((size_t)m->tiles.count + 1) * sizeof *order);
    if (!order) {
        return pc_fail_memory(m->context, (uint64_t)m->tiles.count * sizeof *order, "the tiles of the map");
    }
    for (int64_t i = 0; i < m->tiles.count; i++) {
        order[i].tile = i;
        memcpy(order[i].at, m->tiles.tiles[i].at, sizeof order->at);
    }
    qsort(order, (size_t)m->tiles.count, sizeof *order, by_place);
    name_columns(m);
    choose_offset(m);
    w.begin = m->file.size;
    pcgpu_status status = m->into.map ? pc_map_into_list(m) : PCGPU_OK;
    status = status == PCGPU_OK ? write_into(&w) : status;
    status = status == PCGPU_OK ? finish_tiles(&w, order) : status;
    status = status == PCGPU_OK && m->into.map ? pc_map_into_end(m) : status;
    free(order);
    pc_buffer_free(&w.rows);
    if (status == PCGPU_OK && m->tiles.run_count > 0 && m->points.rows > 0) {
        status = map_rows(&w);
    } else {
        m->points.data = w.memory.memory;
    }
    return status;
}

pcgpu_status pcgpu_map_finish(pcgpu_map *m, const pcgpu_cloud **points) {
    double begin = pc_now();
    *points = NULL;
    if (m->finished) {
        return pc_fail(m->context, PCGPU_ERROR_ARGUMENT, "the map is finished already");
    }
    m->finished = true;
    PC_TRY(finish(m));
    m->stats.run.stage[1].seconds = pc_now() - begin;
    *points = &m->points;
    return PCGPU_OK;
}
