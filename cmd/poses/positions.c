/* Measured positions in files: lines of numbers, and tables with names. */
#include "positions.h"
#include "cloud.h"
#include "heap.h"
#include "lines.h"
#include "numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_CELLS = 64, SIGMA = 3, TIME, COLUMNS }; /* after x y z, or latitude, longitude, height */

#define REMEDY "give lines of TUM, or a first line with the names time and x, y, z or latitude, longitude, height"

/* Splits a line at commas, else semicolons, else tabs, between which a cell may be empty, or else at blanks. Returns
 * how many cells. */
static int split(char *line, char *cells[MOST_CELLS]) {
    const char mark = strchr(line, ',') ? ',' : strchr(line, ';') ? ';' : strchr(line, '\t') ? '\t' : ' ';
    int n = 0;
    for (char *p = line; p && n < MOST_CELLS;) {
        p += strspn(p, " \"\r");
        char *end = p + strcspn(p, (char[2]){mark, '\0'}), *next = *end ? end + 1 : NULL;
        while (end > p && strchr(" \"\r\t", end[-1])) {
            end--;
        }
        if (end > p || mark != ' ') {
            cells[n++] = p;
        }
        p = next;
        *end = '\0';
    }
    return n;
}

/* Whether a name is one of these, which are separated by blanks. */
static bool is_one_of(const char *name, const char *names) {
    const size_t n = strlen(name);
    for (const char *p = names; n > 0 && *p; p += strcspn(p, " "), p += strspn(p, " ")) {
        if (strncasecmp(p, name, n) == 0 && (p[n] == ' ' || p[n] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Finds the columns by names such as "latitude", "field.latitude" and "latitude [deg]"; -1: there is none. */
static bool find_columns(char *const *cells, int count, int at[COLUMNS], bool *geodetic) {
    static const char *const names[2][SIGMA + 1] = {
        {"x east easting", "y north northing", "z up height altitude alt elevation", "sigma"},
        {"latitude lat", "longitude lon lng long", "height altitude alt elevation ellipsoidal_height", "sigma"}};
    for (int g = 1; g >= 0; g--) {
        memset(at, -1, COLUMNS * sizeof *at);
        for (int i = count - 1; i >= 0; i--) { /* the first one of a name counts */
            char name[64];
            const char *dot = strrchr(cells[i], '.');
            snprintf(name, sizeof name, "%s", dot ? dot + 1 : cells[i]);
            name[strcspn(name, " [(")] = '\0';
            for (int k = 0; k < COLUMNS; k++) {
                at[k] = (k == TIME ? pc_is_time(name) : is_one_of(name, names[g][k])) ? i : at[k];
            }
        }
        *geodetic = g == 1;
        if (at[0] >= 0 && at[1] >= 0 && at[2] >= 0 && at[TIME] >= 0) {
            return true;
        }
    }
    return false;
}

static bool add_row(const line_file *f, positions *p, const double v[COLUMNS]) {
    const bool off_earth = p->geodetic && (fabs(v[0]) > 90 || fabs(v[1]) > 360);
    if (off_earth || !(fabs(v[0]) < 1e9 && fabs(v[1]) < 1e9 && fabs(v[2]) < 1e9)) {
        return line_wrong(f, off_earth ? "no latitude and longitude; give degrees" : "more than 1e9 m; give metres");
    }
    if (p->count > 0 && !(v[TIME] > p->times[p->count - 1])) {
        return line_wrong(f, "not later than the position before; give increasing times");
    }
    p->times = heap_grow(p->times, (size_t)p->count, sizeof *p->times);
    p->rows = heap_grow(p->rows, (size_t)p->count, sizeof *p->rows);
    p->times[p->count] = v[TIME];
    memcpy(p->rows[p->count++], v, sizeof *p->rows);
    return true;
}

/* Adds the position of a line, unless it has none. */
static bool parse_row(const line_file *f, char *const *cells, int count, const int at[COLUMNS], positions *p) {
    double v[COLUMNS];
    for (int k = 0; k < COLUMNS; k++) {
        const char *cell = at[k] >= 0 && at[k] < count ? cells[at[k]] : "";
        v[k] = NAN;
        if (*cell && strcasecmp(cell, "nan") != 0 && !number_parse(cell, &v[k])) {
            return refuse(f->why, "%s:%lld: \"%.30s\" is not a number; " REMEDY, f->name, (long long)f->number, cell);
        }
    }
    const bool none = p->geodetic && v[0] == 0 && v[1] == 0;
    return none || isnan(v[0] + v[1] + v[2] + v[TIME]) || add_row(f, p, v);
}

static bool read_lines(line_file *f, positions *p) {
    int at[COLUMNS] = {1, 2, 3, -1, 0}; /* of lines without names */
    bool known = false;
    while (next_line(f)) {
        char *cells[MOST_CELLS], *text = f->line + strspn(f->line, " \t\r");
        double number;
        const bool comment = *text == '#' || *text == '%';
        if (strlen(f->line) != f->length) {
            return line_wrong(f, "a zero byte; " REMEDY);
        }
        const int count = comment && known ? 0 : split(text + strspn(text, "#% "), cells);
        if (*text == '\0' || count == 0) {
            continue;
        }
        if (!known && (comment || !number_parse(cells[0], &number))) {
            int found[COLUMNS];
            known = find_columns(cells, count, found, &p->geodetic);
            memcpy(at, found, known ? sizeof at : 0);
        } else if (known || count == 4 || count == 8 || count == 11 || count == 17) {
            p->geodetic = known && p->geodetic;
            known = true;
            if (!parse_row(f, cells, count, at, p)) {
                return false;
            }
        }
        if (!known && !comment) {
            return line_wrong(f, "neither a position nor the names of its columns; " REMEDY);
        }
    }
    return !f->failed;
}

bool positions_read(const char *path, positions *p, reason *why) {
    line_file f;
    *p = (positions){0};
    if (!open_lines(&f, path, why)) {
        return false;
    }
    bool good = read_lines(&f, p);
    good = close_lines(&f) && good;
    if (!good) {
        positions_free(p);
    }
    return good;
}

void positions_free(positions *p) {
    free(p->times);
    free(p->rows);
    *p = (positions){0};
}

/* ---- WGS84 ------------------------------------------------------------------------------------------------------- */

#define RADIANS (3.14159265358979323846 / 180)

/* Earth centred, earth fixed. */
static void earth_centred(const double at[3], double xyz[3]) {
    const double a = 6378137, f = 1 / 298.257223563, e2 = f * (2 - f);
    const double s = sin(at[0] * RADIANS), c = cos(at[0] * RADIANS), n = a / sqrt(1 - e2 * s * s);
    xyz[0] = (n + at[2]) * c * cos(at[1] * RADIANS);
    xyz[1] = (n + at[2]) * c * sin(at[1] * RADIANS);
    xyz[2] = (n * (1 - e2) + at[2]) * s;
}

void positions_to_metres(positions *p, const double origin[3]) {
    const double sp = sin(origin[0] * RADIANS), cp = cos(origin[0] * RADIANS), sl = sin(origin[1] * RADIANS),
                 cl = cos(origin[1] * RADIANS);
    const double axes[3][3] = {{-sl, cl, 0}, {-sp * cl, -sp * sl, cp}, {cp * cl, cp * sl, sp}};
    double center[3], xyz[3];
    earth_centred(origin, center);
    for (int64_t i = 0; i < p->count && p->geodetic; i++) {
        earth_centred(p->rows[i], xyz);
        for (int k = 0; k < 3; k++) {
            p->rows[i][k] = axes[k][0] * (xyz[0] - center[0]) + axes[k][1] * (xyz[1] - center[1]) +
                            axes[k][2] * (xyz[2] - center[2]);
        }
    }
}
