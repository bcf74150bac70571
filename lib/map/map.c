/* Maps: parameters, and scans that are added. */
#include "cloud.h"
#include "map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void pcgpu_map_params_init_sized(pcgpu_map_params *params, size_t struct_size) {
    pcgpu_map_params initial = {.voxel = 0.1, .drop_origin = true, .views_distance = 1.0, .views_scans = 10};
    pc_struct_init(params, struct_size, &initial, sizeof initial);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

static pcgpu_status check(pcgpu_context *context, const pcgpu_map_params *p) {
    PC_TRY(pc_struct_check(context, "pcgpu_map_params", p->struct_size, sizeof *p));
    if (!(p->voxel >= 1e-4 && p->voxel <= 1e3)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "voxels of %g m are not possible; 1e-4 to 1000 m are", p->voxel);
    }
    if (!(p->views_distance > 0.0 && p->views_distance < INFINITY) || p->views_scans < 1) {
        return pc_fail(
            context, PCGPU_ERROR_ARGUMENT,
            "a panorama per %g m and %lld scans is not possible; give a distance above 0 and 1 or more scans",
            p->views_distance, (long long)p->views_scans);
    }
    if (p->memory != 0 && p->memory < 1 << 20) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%lld bytes of memory are too few for a map; give 1 MiB or more",
                       (long long)p->memory);
    }
    if ((p->memory != 0) != (p->folder != NULL)) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a limit of memory needs a folder for what exceeds it, and only then; give both or neither");
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_map_open(pcgpu_context *context, const pcgpu_map_params *params, pcgpu_map **map) {
    *map = NULL;
    pcgpu_map *m = calloc(1, sizeof *m);
    if (!m) {
        return pc_fail_memory(context, sizeof *m, "a map");
    }
    m->context = context;
    m->file.fd = -1;
    m->has_intensity = m->has_labels = true;
    m->stats.params = *params;
    pcgpu_status status = check(context, params);
    if (status == PCGPU_OK && params->folder) {
        status = pc_map_file_open(context, params->folder, &m->file);
    }
    if (status != PCGPU_OK) {
        pcgpu_map_close(m);
        return status;
    }
    snprintf(m->stats.run.backend, sizeof m->stats.run.backend, "cpu");
    snprintf(m->stats.run.device, sizeof m->stats.run.device, "%s", context->cpu_name);
    snprintf(m->stats.run.reason, sizeof m->stats.run.reason, "maps are made on the CPU");
    m->stats.run.threads = context->threads;
    m->stats.run.stages = 2;
    snprintf(m->stats.run.stage[0].name, sizeof m->stats.run.stage[0].name, "add");
    snprintf(m->stats.run.stage[1].name, sizeof m->stats.run.stage[1].name, "finish");
    *map = m;
    return PCGPU_OK;
}

void pcgpu_map_close(pcgpu_map *m) {
    if (!m) {
        return;
    }
    if (m->mapped) {
        munmap(m->mapped, m->mapped_bytes);
    } else {
        free(m->points.data);
    }
    pcgpu_map_close(m->into.map);
    for (size_t i = 0; i < sizeof m->into.memory / sizeof m->into.memory[0]; i++) {
        pc_buffer_free(&m->into.memory[i]);
    }
    pc_map_tiles_free(&m->tiles);
    pc_map_panoramas_free(&m->panoramas);
    pc_map_file_close(&m->file);
    pc_buffer_free(&m->sensors);
    pc_buffer_free(&m->scan);
    pc_buffer_free(&m->sorted);
    pc_buffer_free(&m->touched);
    free(m);
}

void pcgpu_map_get_stats(const pcgpu_map *m, pcgpu_map_stats *stats) {
    *stats = m->stats;
    stats->on_disk = m->file.size;
}

/* ---- a scan ------------------------------------------------------------------------------------------------------ */

#define REACH 134217728.0 /* 2^27 voxels from the tile of the first pose */

/* Tiles of points that are dropped; others have 20 bits per axis. */
#define NOT_FINITE UINT64_MAX
#define AT_ORIGIN  (UINT64_MAX - 1)
#define TOO_FAR    (UINT64_MAX - 2)

typedef struct placed {
    uint64_t tile;
    pc_map_point point;
} placed;

typedef struct placing {
    const pcgpu_cloud *scan;
    const double *T;
    const int32_t *home; /* a tile */
    double voxel;
    bool drop_origin;
    int intensity, label; /* their columns, or -1 */
    const uint8_t *label_number;
    placed *to;
} placing;

static int64_t fixed_intensity(float value) {
    const double v = (double)value, most = 2147483647.0;
    return !(v - v == 0.0) ? 0 : (int64_t)floor((v > most ? most : v < -most ? -most : v) * 65536.0 + 0.5);
}

/* The voxel of a point, and the point in it. */
static void place_point(const placing *a, const float *row, placed *out) {
    const double *o = a->scan->offset, *T = a->T;
    const double x = o[0] + (double)row[0], y = o[1] + (double)row[1], z = o[2] + (double)row[2];
    out->tile = 0;
    out->point.key = 0;
    out->point.label = a->label >= 0 ? a->label_number[(int)row[a->label] & UINT16_MAX] : 0;
    out->point.intensity = a->intensity >= 0 ? fixed_intensity(row[a->intensity]) : 0;
    if (!(x - x == 0.0 && y - y == 0.0 && z - z == 0.0)) {
        out->tile = NOT_FINITE;
    } else if (a->drop_origin && pc_at_origin(a->scan, row)) {
        out->tile = AT_ORIGIN;
    }
    for (int k = 0; k < 3 && out->tile < TOO_FAR; k++) {
        const double u = (((T[4 * k] * x + T[4 * k + 1] * y) + T[4 * k + 2] * z) + T[4 * k + 3]) / a->voxel;
        const double cell = floor(u), part = (u - cell) * PC_MAP_STEPS, away = cell - (double)a->home[k] * PC_MAP_SIDE;
        if (!(fabs(away) < REACH)) {
            out->tile = TOO_FAR;
            break;
        }
        const uint32_t whole = (uint32_t)((int32_t)away + (1 << 27));
        out->point.at[k] = (uint16_t)(part < PC_MAP_STEPS - 1 ? part : PC_MAP_STEPS - 1);
        out->tile |= (uint64_t)(whole >> PC_MAP_SIDE_BITS) << 20 * k;
        out->point.key |= (whole & (PC_MAP_SIDE - 1)) << PC_MAP_SIDE_BITS * k;
    }
}

static void place_points(void *state, int64_t begin, int64_t end) {
    const placing *a = state;
    for (int64_t i = begin; i < end; i++) {
        place_point(a, a->scan->data + i * a->scan->columns, &a->to[i]);
    }
}

/* Finds the tile of each point, which takes the place of its coordinates, and counts the points of the tiles. */
static bool find_tiles(pcgpu_map *m, placed *points, int64_t n, int32_t *touched, int64_t *count) {
    uint64_t before = UINT64_MAX;
    int32_t tile = -1;
    pcgpu_run *run = &m->stats.run;
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t at = points[i].tile;
        if (at >= TOO_FAR) {
            run->non_finite += at == NOT_FINITE;
            run->at_origin += at == AT_ORIGIN;
            m->stats.unreachable += at == TOO_FAR;
            continue;
        }
        if (at != before) {
            int32_t t[3];
            for (int k = 0; k < 3; k++) {
                t[k] = m->home[k] + (int32_t)(at >> 20 * k & 0xfffff) - (1 << 19);
            }
            tile = pc_map_tile_of(&m->tiles, t);
            before = at;
        }
        if (tile < 0) {
            return false;
        }
        pc_map_tile *to = &m->tiles.tiles[tile];
        if (to->fresh++ == 0) {
            touched[(*count)++] = tile;
        }
        points[i].tile = (uint64_t)tile;
    }
    return true;
}

typedef struct adding {
    pcgpu_map *map;
    const int32_t *touched;
    const pc_map_point *sorted;
} adding;

static void add_to_tile(void *state, int part) {
    const adding *a = state;
    pc_map_tile *tile = &a->map->tiles.tiles[a->touched[part]];
    pc_map_tile_add(tile, (uint32_t)a->map->stats.scans, a->sorted + (tile->sorted - tile->fresh), tile->fresh);
}

/* Adds the points tile by tile, so that threads have tiles of their own. */
static pcgpu_status add_points(pcgpu_map *m, const placed *points, int64_t n, const int32_t *touched, int64_t count) {
    pc_map_tiles *t = &m->tiles;
    pc_map_point *sorted = pc_buffer_take(&m->sorted, ((size_t)n + 1) * sizeof *sorted, false);
    int64_t begin = 0;
    bool failed = !sorted;
    for (int64_t i = 0; i < count; i++) {
        pc_map_tile *tile = &t->tiles[touched[i]];
        tile->sorted = begin;
        begin += tile->fresh;
        t->bytes -= pc_map_tile_bytes(tile);
    }
    for (int64_t i = 0; i < n && !failed; i++) {
        if (points[i].tile < TOO_FAR) {
            sorted[t->tiles[points[i].tile].sorted++] = points[i].point;
        }
    }
    if (!failed) {
        adding a = {m, touched, sorted};
        pc_run_parts(m->context, (int)count, add_to_tile, &a);
    }
    for (int64_t i = 0; i < count; i++) {
        pc_map_tile *tile = &t->tiles[touched[i]];
        failed = failed || tile->failed;
        tile->fresh = 0;
        t->bytes += pc_map_tile_bytes(tile);
    }
    return failed ? pc_fail_memory(m->context, (uint64_t)t->bytes,
                                   "the voxels of the map; give larger voxels or less memory")
                  : PCGPU_OK;
}

/* Numbers the labels of a scan. Returns their column, or -1 where it has none or they are too many. */
static int number_labels(pcgpu_map *m, const pcgpu_cloud *scan) {
    const int column = pcgpu_cloud_column(scan, "label");
    m->has_labels =
        m->has_labels && column >= 3 && (scan->types[column] == PCGPU_UINT8 || scan->types[column] == PCGPU_UINT16);
    for (int64_t i = 0; i < scan->rows && m->has_labels; i++) {
        const float value = scan->data[i * scan->columns + column];
        const uint16_t label = value >= 0.0f && value <= 65535.0f ? (uint16_t)value : 0;
        if (m->label_number[label] == 0 && m->label_count == PC_MAP_LABELS) {
            pc_log(m->context, PCGPU_LOG_WARNING, "the scans have more than %d labels, so the map has no column label",
                   PC_MAP_LABELS);
            m->has_labels = false;
        } else if (m->label_number[label] == 0) {
            m->labels[++m->label_count] = label;
            m->label_number[label] = (uint8_t)m->label_count;
        }
    }
    return m->has_labels ? column : -1;
}

static pcgpu_status add_scan(pcgpu_map *m, const pcgpu_cloud *scan, const double T[16]) {
    const pcgpu_map_params *p = &m->stats.params;
    const int64_t n = scan->rows;
    placed *points = pc_buffer_take(&m->scan, ((size_t)n + 1) * sizeof *points, false);
    int32_t *touched = pc_buffer_take(&m->touched, ((size_t)n + 1) * sizeof *touched, false);
    int64_t count = 0;
    if (!points || !touched) {
        return pc_fail_memory(m->context, (uint64_t)n * sizeof *points, "the points of the scan");
    }
    placing a = {.scan = scan,
                 .T = T,
                 .home = m->home,
                 .voxel = p->voxel,
                 .drop_origin = p->drop_origin,
                 .intensity = pcgpu_cloud_column(scan, "intensity"),
                 .label = number_labels(m, scan),
                 .label_number = m->label_number,
                 .to = points};
    m->has_intensity = m->has_intensity && a.intensity >= 3;
    pc_run_ranges(m->context, n, 8192, place_points, &a);
    if (!find_tiles(m, points, n, touched, &count)) {
        return pc_fail_memory(m->context, (uint64_t)m->tiles.count * sizeof(pc_map_tile), "the tiles of the map");
    }
    PC_TRY(add_points(m, points, n, touched, count));
    if (p->memory > 0 && m->tiles.bytes > p->memory) {
        const double sensor[3] = {T[3] / p->voxel, T[7] / p->voxel, T[11] / p->voxel};
        PC_TRY(pc_map_tiles_spill(m->context, &m->tiles, &m->file, sensor, p->memory));
    }
    return PCGPU_OK;
}

/* The tile of the first pose. Tiles have 20 bits around it, and 32 in all: what is farther cannot be reached. */
static void set_home(pcgpu_map *m, const double T[16]) {
    for (int k = 0; k < 3; k++) {
        const double tile = floor(T[4 * k + 3] / (PC_MAP_SIDE * m->stats.params.voxel));
        m->home[k] = fabs(tile) < (double)(INT32_MAX - (1 << 20)) ? (int32_t)tile : 0;
    }
}

/* Whether the scan becomes a panorama. */
static bool is_view(const pcgpu_map *m, const double T[16]) {
    const pc_map_panoramas *v = &m->panoramas;
    const pcgpu_map_params *p = &m->stats.params;
    double square = 0.0;
    if (p->keep_moving || v->count == 0 || m->stats.scans - v->last_scan >= p->views_scans) {
        return !p->keep_moving;
    }
    for (int k = 0; k < 3; k++) {
        const double away = T[4 * k + 3] - v->all[v->count - 1].T[4 * k + 3];
        square += away * away;
    }
    return square >= p->views_distance * p->views_distance;
}

static pcgpu_status note_sensor(pcgpu_map *m, const double T[16]) {
    const size_t bytes = 3 * sizeof(double) * ((size_t)m->stats.scans + 1);
    double *sensors = pc_buffer_take(&m->sensors, bytes, true);
    if (!sensors) {
        return pc_fail_memory(m->context, bytes, "the poses of the map");
    }
    for (int k = 0; k < 3; k++) {
        sensors[3 * m->stats.scans + k] = T[4 * k + 3];
    }
    return PCGPU_OK;
}

pcgpu_status pcgpu_map_add(pcgpu_map *m, const pcgpu_cloud *scan, const double T[16]) {
    char why[160];
    double begin = pc_now();
    if (m->finished) {
        return pc_fail(m->context, PCGPU_ERROR_ARGUMENT, "the map is finished; open another one for more scans");
    }
    if (!pcgpu_is_rigid(T, why, sizeof why)) {
        return pc_fail(m->context, PCGPU_ERROR_ARGUMENT,
                       "the pose of a scan of the map: %s; give T_world_scan, a rotation and a translation in metres",
                       why);
    }
    if (scan->rows > INT32_MAX || m->stats.scans == UINT32_MAX) {
        return pc_fail(m->context, PCGPU_ERROR_ARGUMENT,
                       "a map takes scans of up to 2^31 points, and up to 2^32 scans");
    }
    if (m->stats.scans == 0) {
        set_home(m, T);
    }
    pcgpu_status status = note_sensor(m, T);
    status = status == PCGPU_OK ? add_scan(m, scan, T) : status;
    if (status == PCGPU_OK && is_view(m, T)) {
        m->panoramas.last_scan = m->stats.scans;
        status = pc_map_panorama_add(m->context, &m->panoramas, &m->file, scan, T, m->stats.params.voxel / 16.0);
        m->stats.panoramas = m->panoramas.count;
    }
    m->stats.run.points_in += scan->rows;
    m->stats.scans++;
    m->stats.run.stage[0].seconds += pc_now() - begin;
    return status;
}
