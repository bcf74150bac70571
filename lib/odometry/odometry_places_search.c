/* Odometry: the places of a map where a scan may have been taken, without a guess.
 *
 * As in the search for the start of a registration (register_search.c), map and scan are seen from above, in square
 * columns; a column is tall when its points differ in height by half a cell or more. The scan's columns are turned
 * about the vertical by all multiples of 2 degrees, and for each turn the sensor is put into each cell of the map. A
 * tall column of the scan counts most on a tall one of the map or beside it, less where the map was not seen, and
 * nothing on flat ground; a flat one counts unless it is on a tall one. All scores of a turn are sums of bytes of two
 * pictures of the map, at offsets that are the same for all cells: rows of cells are added at once. Scores are integers
 * and each turn is its own, so that neither threads nor back ends change anything. The scores take 20 ms for a map of 1
 * km of streets on one core. Related: Olson 2009 (correlative scan matching), Hess et al. 2016 (the same in large maps,
 * by branch and bound). */
#include "odometry_places.h"
#include "register_peaks.h"
#include "transform.h"
#include "simd.h"

#include <stdlib.h>
#include <string.h>

enum {
    TURNS = PC_SEARCH_TURNS,
    REACH = PC_PLACES_REACH,
    WINDOW = 2 * REACH, /* of the columns of a scan */
    WIDE = PC_PLACES_WIDE,
    DEEP = 16, /* cells of a tile */
    MOST_TALL = 512,
    MOST_FLAT = 256,
    FEWEST_TALL = 8,
    PEAKS = 8,      /* that are kept of a turn */
    AT_A_TIME = 60, /* columns whose values, up to PC_TALL, add up in a byte */
};

/* The columns of a scan that count, cells from the sensor. */
typedef struct scan_columns {
    double cell;
    int tall_count, flat_count;
    float tall[MOST_TALL][2], flat[MOST_FLAT][2], low[MOST_FLAT]; /* low: of the flat ones */
} scan_columns;

typedef struct place_search {
    const pc_places *map;
    scan_columns scan;
    pc_simd simd;
    pc_peak peaks[TURNS * PEAKS]; /* of each turn; then the best in front */
} place_search;

/* ---- the scan ---------------------------------------------------------------------------------------------------- */

/* Subsamples the visible columns to at most MOST_FLAT flat and MOST_TALL tall ones. */
static void take_columns(const pc_column *columns, double cell, scan_columns *s) {
    int all[2] = {0}, at[2] = {0};
    for (int pass = 0; pass < 2; pass++) {
        const int every[2] = {(all[0] + MOST_FLAT - 1) / MOST_FLAT, (all[1] + MOST_TALL - 1) / MOST_TALL};
        for (int i = 0; i < WINDOW * WINDOW; i++) {
            if (!pc_column_is_seen(&columns[i])) {
                continue;
            }
            const bool tall = pc_column_is_tall(&columns[i], cell);
            const float x = (float)(i % WINDOW - REACH) + 0.5f, y = (float)(i / WINDOW - REACH) + 0.5f;
            if (x * x + y * y > (REACH - 1.0f) * (REACH - 1.0f)) {
                continue;
            }
            if (pass == 0) {
                all[tall]++;
            } else if (at[tall]++ % every[tall] == 0) {
                const int n = tall ? s->tall_count++ : s->flat_count++;
                float *to = tall ? s->tall[n] : s->flat[n];
                to[0] = x;
                to[1] = y;
                if (!tall) {
                    s->low[n] = columns[i].low;
                }
            }
        }
    }
}

static bool describe(const pc_points *scan, const double offset[3], double cell, scan_columns *s) {
    const double corner[2] = {-REACH * cell, -REACH * cell};
    pc_column *columns = malloc((size_t)WINDOW * WINDOW * sizeof *columns);
    *s = (scan_columns){.cell = cell};
    if (columns) {
        pc_columns_clear(columns, (size_t)WINDOW * WINDOW);
        pc_columns_fill(columns, corner, cell, WINDOW, WINDOW, scan, offset);
        take_columns(columns, cell, s);
    }
    const bool good = columns;
    free(columns);
    return good;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

/* Adds the bytes of a picture around each cell of a tile, at `count` offsets, to the scores of the cells. */
PC_INLINE void add_rows(const uint8_t *picture, size_t width, const int32_t *offsets, int count,
                        uint16_t scores[DEEP][WIDE]) {
    for (int first = 0; first < count; first += AT_A_TIME) {
        const int end = first + AT_A_TIME < count ? first + AT_A_TIME : count;
        uint8_t bytes[DEEP][WIDE] = {{0}};
        for (int k = first; k < end; k++) {
            const uint8_t *from = picture + offsets[k];
            for (int j = 0; j < DEEP; j++) {
                for (int i = 0; i < WIDE; i++) {
                    bytes[j][i] = (uint8_t)(bytes[j][i] + from[(size_t)j * width + (size_t)i]);
                }
            }
        }
        for (int j = 0; j < DEEP; j++) {
            for (int i = 0; i < WIDE; i++) {
                scores[j][i] = (uint16_t)(scores[j][i] + bytes[j][i]);
            }
        }
    }
}

PC_SIMD_FORMS_OF(add_rows,
                 (const uint8_t *picture, size_t width, const int32_t *offsets, int count, uint16_t scores[DEEP][WIDE]),
                 (picture, width, offsets, count, scores))

/* Keeps a peak of a turn among the best ones, in their order, unless a better one is near; the first of equal ones. */
static void keep_peak(pc_peak *peaks, const pc_peak *p) {
    int at = PEAKS;
    for (int i = PEAKS - 1; i >= 0; i--) {
        if (peaks[i].score >= p->score && peaks[i].score >= 0 && pc_peak_is_near(&peaks[i], p)) {
            return;
        }
        at = peaks[i].score < p->score ? i : at;
    }
    if (at == PEAKS) {
        return;
    }
    int last = at; /* what it replaces: a worse one near it, or the last one */
    while (last < PEAKS - 1 && !(peaks[last].score >= 0 && pc_peak_is_near(&peaks[last], p))) {
        last++;
    }
    memmove(&peaks[at + 1], &peaks[at], (size_t)(last - at) * sizeof *peaks);
    peaks[at] = *p;
}

static void turn_columns(const float (*columns)[2], int count, const double R[9], int32_t width, int32_t *offsets) {
    for (int k = 0; k < count; k++) {
        const double x = (double)columns[k][0], y = (double)columns[k][1];
        offsets[k] = (int32_t)floor(R[3] * x + R[4] * y + 0.5) * width + (int32_t)floor(R[0] * x + R[1] * y + 0.5);
    }
}

/* Whether the sensor may be in a cell of a tile: the map has been seen there. */
static bool is_there(const pc_places *map, size_t first) {
    for (size_t j = 0; j < DEEP; j++) {
        for (size_t i = 0; i < WIDE; i++) {
            if (map->low[first + j * (size_t)map->width + i] < INFINITY) {
                return true;
            }
        }
    }
    return false;
}

static void score_tile(const place_search *s, int turn, const int32_t *tall, const int32_t *flat, int x, int y,
                       pc_peak *peaks) {
    const pc_places *map = s->map;
    const size_t width = (size_t)map->width, first = (size_t)y * width + (size_t)x;
    const pc_simd simd = s->simd == PC_SIMD_AVX512 ? PC_SIMD_AVX2 : s->simd; /* 512 bits have no bytes everywhere */
    uint16_t scores[DEEP][WIDE] = {{0}};
    if (!is_there(map, first)) {
        return;
    }
    add_rows_for(simd)(map->tall + first, width, tall, s->scan.tall_count, scores);
    add_rows_for(simd)(map->flat + first, width, flat, s->scan.flat_count, scores);
    for (int j = 0; j < DEEP; j++) {
        for (int i = 0; i < WIDE; i++) {
            if (scores[j][i] > peaks[PEAKS - 1].score && map->low[first + (size_t)j * width + (size_t)i] < INFINITY) {
                const pc_peak p = {.score = scores[j][i], .turn = turn, .x = x + i, .y = y + j};
                keep_peak(peaks, &p);
            }
        }
    }
}

static void score_turn(void *state, int turn) {
    place_search *s = state;
    const pc_places *map = s->map;
    int32_t tall[MOST_TALL], flat[MOST_FLAT];
    double R[9];
    for (int i = 0; i < PEAKS; i++) {
        s->peaks[turn * PEAKS + i] = (pc_peak){.score = -1};
    }
    pc_search_rotation(turn, R);
    turn_columns((const float(*)[2])s->scan.tall, s->scan.tall_count, R, map->width, tall);
    turn_columns((const float(*)[2])s->scan.flat, s->scan.flat_count, R, map->width, flat);
    for (int y = REACH; y + REACH + DEEP <= map->height; y += DEEP) {
        for (int x = REACH; x + REACH + WIDE <= map->width; x += WIDE) {
            score_tile(s, turn, tall, flat, x, y, s->peaks + turn * PEAKS);
        }
    }
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* The median difference in height of the grounds of map and scan, over the flat columns of the scan. */
static double height_of(const place_search *s, const pc_peak *p, const double R[9]) {
    const pc_places *map = s->map;
    pc_heights heights = {0};
    int32_t offsets[MOST_FLAT];
    const double ground = pc_places_ground_at(map, p->x, p->y);
    turn_columns((const float(*)[2])s->scan.flat, s->scan.flat_count, R, map->width, offsets);
    for (int k = 0; k < s->scan.flat_count; k++) {
        const float low = map->low[(ptrdiff_t)p->y * map->width + p->x + offsets[k]];
        if (low < INFINITY) { /* heights of maps may be far from 0, those over the ground are not */
            pc_heights_add(&heights, (((double)low - ground) - (double)s->scan.low[k]) / map->cell);
        }
    }
    return ground + pc_heights_median(&heights) * map->cell;
}

static void place_of(const place_search *s, const pc_peak *p, pc_place *place) {
    const pc_places *map = s->map;
    double R[9];
    pc_search_rotation(p->turn, R);
    const double t[3] = {map->origin[0] + (p->x + 0.5) * map->cell, map->origin[1] + (p->y + 0.5) * map->cell,
                         height_of(s, p, R)};
    pc_transform_compose(R, t, place->T);
}

int pc_places_search(pcgpu_context *context, const pc_places *places, const pc_points *scan, const double offset[3],
                     pc_place found[PC_PLACES]) {
    place_search *s = malloc(sizeof *s);
    int count = -1;
    if (s && describe(scan, offset, places->cell, &s->scan)) {
        s->map = places;
        s->simd = pc_context_simd(context);
        count = 0;
        if (s->scan.tall_count >= FEWEST_TALL) {
            pc_run_parts(context, TURNS, score_turn, s);
            count = pc_peaks_choose(s->peaks, TURNS * PEAKS, PC_PLACES);
            for (int i = 0; i < count; i++) {
                place_of(s, &s->peaks[i], &found[i]);
            }
        }
    }
    free(s);
    return count;
}
