/* The records that take part in a filter: all of them or, where the context has a limit of memory, in tiles. A tile is
 * a box that is halved along its longest side until it and its margin hold few enough points; a half selects from the
 * records of the whole, which are in a temporary file. The results of the points in a tile do not depend on the tiles,
 * since the margin has all points within reach, in the order of the records. */
#include "filter.h"
#include "temporary.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 8192 };

/* ---- a selection ------------------------------------------------------------------------------------------------- */

/* Threads count the records of chunks, and then copy them. */
typedef struct selecting {
    const pcgpu_cloud *cloud;
    const uint8_t *mask;
    const pc_tile *tile;
    const pc_subset *from; /* NULL: of all records */
    pc_subset *subset;
    int64_t *chosen, *inside, *non_finite; /* by chunks; in the end *chosen has those of all chunks before */
} selecting;

static int64_t record_of(const selecting *s, int64_t i) {
    return s->from ? s->from->rows[i] : i;
}

static const float *point_of(const selecting *s, int64_t record) {
    return s->cloud->data + record * s->cloud->columns;
}

static bool is_chosen(const selecting *s, int64_t record) {
    const float *p = point_of(s, record);
    return (!s->mask || s->mask[record]) && pc_is_finite3(p[0], p[1], p[2]) &&
           pc_is_in_tile(s->tile, p, s->tile->reach);
}

static void count_range(void *state, int64_t begin, int64_t end) {
    const selecting *s = state;
    int64_t chosen = 0, inside = 0, non_finite = 0;
    for (int64_t i = begin; i < end; i++) {
        const int64_t record = record_of(s, i);
        const float *p = point_of(s, record);
        const bool is = is_chosen(s, record);
        chosen += is;
        inside += is && pc_is_in_tile(s->tile, p, 0.0);
        non_finite += !is && (!s->mask || s->mask[record]) && !pc_is_finite3(p[0], p[1], p[2]);
    }
    s->chosen[begin / CHUNK] = chosen;
    s->inside[begin / CHUNK] = inside;
    s->non_finite[begin / CHUNK] = non_finite;
}

static void copy_range(void *state, int64_t begin, int64_t end) {
    const selecting *s = state;
    int64_t at = s->chosen[begin / CHUNK];
    for (int64_t i = begin; i < end; i++) {
        const int64_t record = record_of(s, i);
        if (is_chosen(s, record)) {
            if (s->subset->xyz) {
                memcpy(s->subset->xyz + 3 * at, point_of(s, record), 3 * sizeof(float));
            }
            s->subset->rows[at++] = (int32_t)record;
        }
    }
}

/* Memory for the points; without coordinates, in a temporary file, where they are too many. */
static pcgpu_status allocate(pcgpu_context *context, bool fits, pc_subset *subset) {
    const uint64_t n = (uint64_t)subset->n + 1, rows = n * sizeof *subset->rows, xyz = n * 3 * sizeof *subset->xyz;
    PC_TRY(pc_allocate(context, fits ? rows + xyz : rows, fits ? UINT64_MAX : 0, &subset->memory));
    subset->rows = subset->memory;
    subset->xyz = fits ? (float *)(subset->rows + n) : NULL;
    return PCGPU_OK;
}

/* Selects the points of a tile and its margin; only counts them where none is inside and there is a limit. */
static pcgpu_status select_tile(pcgpu_context *context, selecting *s, int64_t most, pcgpu_run *run) {
    const int64_t n = s->from ? s->from->n : s->cloud->rows;
    const size_t chunks = (size_t)n / CHUNK + 1;
    int64_t *numbers = malloc(chunks * 3 * sizeof *numbers), inside = 0;
    *s->subset = (pc_subset){0};
    if (!numbers) {
        return pc_fail_memory(context, chunks * 3 * sizeof *numbers, "the points");
    }
    s->chosen = numbers;
    s->inside = numbers + chunks;
    s->non_finite = numbers + 2 * chunks;
    pc_run_ranges(context, n, CHUNK, count_range, s);
    for (int64_t chunk = 0; chunk * CHUNK < n; chunk++) {
        const int64_t chosen = s->chosen[chunk];
        s->chosen[chunk] = s->subset->n;
        s->subset->n += chosen;
        inside += s->inside[chunk];
        run->non_finite += s->non_finite[chunk];
    }
    run->points_in += n;
    pcgpu_status status = PCGPU_OK;
    if (inside > 0 || most == INT64_MAX) {
        status = allocate(context, s->subset->n <= most, s->subset);
    }
    if (s->subset->memory) {
        pc_run_ranges(context, n, CHUNK, copy_range, s);
    }
    free(numbers);
    return status;
}

static const pc_tile everywhere = {.low = {-INFINITY, -INFINITY, -INFINITY}, .high = {INFINITY, INFINITY, INFINITY}};

static pcgpu_status check_rows(pcgpu_context *context, const pcgpu_cloud *cloud) {
    return cloud->rows > INT32_MAX ? pc_fail(context, PCGPU_ERROR_ARGUMENT,
                                             "%lld points; more than 2^31 are not possible", (long long)cloud->rows)
                                   : PCGPU_OK;
}

pcgpu_status pc_subset_select(pcgpu_context *context, const pcgpu_cloud *cloud, const uint8_t *mask, pc_subset *subset,
                              pcgpu_run *run) {
    selecting s = {.cloud = cloud, .mask = mask, .tile = &everywhere, .subset = subset};
    *subset = (pc_subset){0};
    PC_TRY(check_rows(context, cloud));
    return select_tile(context, &s, INT64_MAX, run);
}

void pc_subset_free(pc_subset *subset) {
    pc_release(subset->memory);
    *subset = (pc_subset){0};
}

void pc_subset_add_run(pcgpu_run *run, const pcgpu_run *search, const pcgpu_run *counts) {
    const int64_t points_in = counts->points_in, non_finite = counts->non_finite;
    *run = *search;
    run->points_in = points_in;
    run->non_finite = non_finite;
}

pcgpu_status pc_subset_count(pcgpu_context *context, const pc_subset *subset, float radius, int32_t *counts,
                             pcgpu_run *run) {
    const pcgpu_clouds clouds = pc_subset_clouds(subset);
    const pcgpu_neighbor_lists lists = {.counts = counts};
    pcgpu_neighbors_params params;
    pcgpu_run search;
    pcgpu_neighbors_params_init(&params);
    params.k = 0;
    params.radius = radius;
    PC_TRY(pcgpu_neighbors(context, &clouds, &clouds, &params, &lists, &search));
    pc_subset_add_run(run, &search, run);
    return PCGPU_OK;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

typedef struct tiling {
    pcgpu_context *context;
    const pcgpu_cloud *cloud;
    const uint8_t *mask;
    int64_t most; /* points of a tile and its margin */
    pc_tile_fn *function;
    void *state;
    pcgpu_run *run;
} tiling;

/* Makes the tile as small as its points; false: there are none. */
static bool find_bounds(const tiling *t, pc_tile *tile) {
    const selecting s = {.cloud = t->cloud, .mask = t->mask, .tile = &everywhere};
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int64_t i = 0; i < t->cloud->rows; i++) {
        const float *p = point_of(&s, i);
        const bool is = is_chosen(&s, i);
        for (int k = 0; k < 3 && is; k++) {
            low[k] = (double)p[k] < low[k] ? (double)p[k] : low[k];
            high[k] = (double)p[k] > high[k] ? (double)p[k] : high[k];
        }
    }
    for (int k = 0; k < 3 && low[0] <= high[0]; k++) {
        tile->low[k] = low[k];
        tile->high[k] = nextafter(high[k], INFINITY); /* it is not in the tile */
    }
    return low[0] <= high[0];
}

/* Adds how the filter ran on a tile; the counts of the run stay those of all records. */
static void add_tile(pcgpu_run *run, pcgpu_run *one) {
    for (int i = 0; i < one->stages && i < run->stages; i++) {
        one->stage[i].seconds += run->stage[i].seconds;
    }
    pc_subset_add_run(run, one, run);
}

/* from: the points of a larger tile, or NULL. */
static pcgpu_status visit(tiling *t, const pc_subset *from, pc_tile tile) {
    pcgpu_run counts = {0}, own = {0};
    pcgpu_status status;
    selecting s = {.cloud = t->cloud, .mask = t->mask, .tile = &tile, .from = from, .subset = &tile.points};
    PC_TRY(pc_check_cancelled(t->context));
    PC_TRY(select_tile(t->context, &s, t->most, from ? &counts : t->run));
    if (!tile.points.memory) {
        return PCGPU_OK;
    }
    if (tile.points.xyz) {
        status = t->function(t->context, t->state, &tile, &own);
        add_tile(t->run, &own);
        goto done;
    }
    int axis = 0;
    for (int k = 1; k < 3; k++) {
        axis = tile.high[k] - tile.low[k] > tile.high[axis] - tile.low[axis] ? k : axis;
    }
    const double low = tile.low[axis], high = tile.high[axis], middle = low + 0.5 * (high - low);
    if (!(high - low > tile.reach && low < middle && middle < high)) {
        status = pc_fail(t->context, PCGPU_ERROR_MEMORY,
                         "%lld points are within %.4g m of a place, and the memory holds %lld at a time; give more by "
                         "--set memory, a smaller radius or distance, or downsample the cloud first",
                         (long long)tile.points.n, 1.5 * tile.reach, (long long)t->most);
        goto done;
    }
    pc_tile half = tile;
    half.high[axis] = middle;
    PC_TRY_OR(done, status, visit(t, &tile.points, half));
    half = tile;
    half.low[axis] = middle;
    status = visit(t, &tile.points, half);
done:
    pc_subset_free(&tile.points);
    return status;
}

pcgpu_status pc_run_tiles(pcgpu_context *context, const pcgpu_cloud *cloud, const uint8_t *mask, float radius,
                          int bytes, pc_tile_fn *function, void *state, pcgpu_run *run) {
    tiling t = {context, cloud, mask, INT64_MAX, function, state, run};
    pc_tile tile = everywhere;
    memset(run, 0, sizeof *run);
    PC_TRY(check_rows(context, cloud));
    if (context->memory > 0 && find_bounds(&t, &tile)) {
        /* squared distances and their limit are rounded */
        tile.reach = radius > 0.0f ? 1.00001 * (double)radius + 1e-20 : INFINITY;
        t.most = (int64_t)(context->memory / (size_t)bytes);
    }
    const pcgpu_status status = visit(&t, NULL, tile);
    *run = status == PCGPU_OK ? *run : (pcgpu_run){0};
    return status;
}

uint64_t pc_filter_heap(const pcgpu_context *context) {
    return context->memory > 0 ? 0 : UINT64_MAX;
}
