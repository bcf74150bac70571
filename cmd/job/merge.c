/* Several clouds in one. */
#include "merge.h"
#include "report.h"

#include <math.h>
#include <string.h>

/* ---- the offset of coordinates ----------------------------------------------------------------------------------- */

#define NEAR      1024.0  /* float32 resolves 0.06 mm up to here */
#define RESOLVED  1e-3    /* metres */
#define HALF_UNIT 0x1p-24 /* the largest relative rounding error of float32 */

enum { BLOCK = 1024 }; /* rows */

const bounds no_bounds = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};

void bounds_add_point(bounds *b, const double p[3]) {
    for (int k = 0; k < 3 && isfinite(p[0]) && isfinite(p[1]) && isfinite(p[2]); k++) {
        b->low[k] = p[k] < b->low[k] ? p[k] : b->low[k];
        b->high[k] = p[k] > b->high[k] ? p[k] : b->high[k];
    }
}

void bounds_add_cloud(bounds *b, const pcgpu_cloud *cloud) {
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *v = cloud->data + i * cloud->columns;
        const double p[3] = {cloud->offset[0] + (double)v[0], cloud->offset[1] + (double)v[1],
                             cloud->offset[2] + (double)v[2]};
        bounds_add_point(b, p);
    }
}

void bounds_offset(const bounds *b, const char *name, double offset[3]) {
    double worst = 0;
    for (int k = 0; k < 3; k++) {
        const bool any = b->low[k] <= b->high[k], near = b->low[k] > -NEAR && b->high[k] < NEAR;
        offset[k] = any && !near ? (double)(float)round(b->low[k] / 2 + b->high[k] / 2) : 0.0;
        offset[k] = isfinite(offset[k]) ? offset[k] : 0.0;
        worst = any ? fmax(worst, fmax(b->high[k] - offset[k], offset[k] - b->low[k]) * HALF_UNIT) : worst;
    }
    if (worst > RESOLVED) {
        report_warning(
            name, "the coordinates span too much for float32 and were rounded by up to %.3g m; remove far outliers",
            worst);
    }
}

static bool same_offsets(const pcgpu_cloud *clouds, int count) {
    bool same = true;
    for (int i = 1; i < count; i++) {
        for (int k = 0; k < 3; k++) {
            same = same && clouds[i].offset[k] == clouds[0].offset[k];
        }
    }
    return same;
}

static void choose_offset(const pcgpu_cloud *clouds, int count, const char *name, double offset[3]) {
    bounds all = no_bounds;
    if (same_offsets(clouds, count)) {
        memcpy(offset, clouds[0].offset, 3 * sizeof *offset);
        return;
    }
    for (int i = 0; i < count; i++) {
        bounds_add_cloud(&all, &clouds[i]);
    }
    bounds_offset(&all, name, offset);
}

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* Whether each cloud has the column, or means a value without it. */
static bool all_have(const pcgpu_cloud *clouds, int count, const char *column) {
    float value;
    bool all = pcgpu_column_default(column, &value);
    for (int i = 0; i < count && !all; i++) {
        if (pcgpu_cloud_column(&clouds[i], column) < 0) {
            return false;
        }
    }
    return true;
}

static bool is_among(const char (*names)[PCGPU_NAME_SIZE], int count, const char *column) {
    int k = 0;
    while (k < count && strcmp(names[k], column) != 0) {
        k++;
    }
    return k < count;
}

enum { MOST_LISTED = 8 };

void clouds_warn_left_out(const pcgpu_cloud *clouds, int count, const char (*names)[PCGPU_NAME_SIZE], int columns,
                          const char *name) {
    char listed[MOST_LISTED][PCGPU_NAME_SIZE], list[MOST_LISTED * (PCGPU_NAME_SIZE + 2)] = "";
    size_t used = 0;
    int n = 0;
    for (int i = 0; i < count; i++) {
        for (int k = 3; k < clouds[i].columns && n < MOST_LISTED; k++) {
            const char *column = clouds[i].names[k];
            if (!is_among(names, columns, column) && !pcgpu_column_is_remainder(&clouds[i], k) &&
                !is_among((const char(*)[PCGPU_NAME_SIZE])listed, n, column)) {
                used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", column);
                snprintf(listed[n++], PCGPU_NAME_SIZE, "%s", column);
            }
        }
    }
    if (used > 0) {
        report_warning(name, "columns that not all inputs have are left out: %s", list);
    }
}

/* The column `name` of `out`, whose type is kept if all that have it have the type, unless some cloud lacks it. */
static void add_column(const pcgpu_cloud *clouds, int count, const char *name, pcgpu_cloud *out) {
    const int k = out->columns;
    bool any = false, exact = false;
    if (!all_have(clouds, count, name) || pcgpu_cloud_column(out, name) >= 0 || k + 2 > PCGPU_MAX_COLUMNS) {
        return;
    }
    for (int i = 0; i < count; i++) {
        const int from = pcgpu_cloud_column(&clouds[i], name);
        if (from >= 0) {
            out->types[k] = !any || clouds[i].types[from] == out->types[k] ? clouds[i].types[from] : PCGPU_FLOAT32;
            out->offset[k] = any ? out->offset[k] : clouds[i].offset[from];
            exact =
                exact || clouds[i].offset[from] != out->offset[k] || pcgpu_column_is_remainder(&clouds[i], from + 1);
            any = true;
        }
    }
    snprintf(out->names[k], PCGPU_NAME_SIZE, "%s", name);
    out->columns++;
    if (exact && k >= 3 && k + 3 <= PCGPU_MAX_COLUMNS) {
        snprintf(out->names[k + 1], PCGPU_NAME_SIZE, "%.20s_remainder", name);
        out->types[k] = PCGPU_FLOAT64;
        out->types[k + 1] = PCGPU_REMAINDER;
        out->columns++;
    }
}

/* Names the column `source`. A column of the clouds with this name, since they were merged before, becomes source_2, or
 * the next name that is free. */
static void name_source(const pcgpu_cloud *clouds, int count, pcgpu_cloud *out) {
    const int k = out->columns - 1, old = pcgpu_cloud_column(out, "source");
    out->types[k] = count <= 256 ? PCGPU_UINT8 : count <= 65536 ? PCGPU_UINT16 : PCGPU_UINT32;
    for (int n = 2; old >= 0; n++) {
        char free_name[PCGPU_NAME_SIZE];
        snprintf(free_name, sizeof free_name, "source_%d", n);
        if (pcgpu_cloud_column(&clouds[0], free_name) < 0) {
            memcpy(out->names[old], free_name, sizeof free_name);
            break;
        }
    }
    snprintf(out->names[k], PCGPU_NAME_SIZE, "source");
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Copies rows of a cloud to row `at` and on; column k is columns[k] there, or a value that its absence means. */
static void copy_rows(const pcgpu_cloud *from, int64_t begin, int64_t end, const int *columns, int source, int64_t at,
                      pcgpu_cloud *out) {
    const int n = out->columns - 1;
    for (int k = 0; k < n; k++) {
        const int c = columns[k];
        const bool exact = pcgpu_column_is_remainder(out, k + 1), more = pcgpu_column_is_remainder(from, c + 1);
        const double change = c < 0 ? 0.0 : from->offset[c] - out->offset[k];
        float value = 0.0f;
        pcgpu_column_default(out->names[k], &value);
        for (int64_t i = begin; i < end; i++) {
            const float *in = from->data + i * from->columns + (c < 0 ? 0 : c);
            float *to = out->data + (at + i) * out->columns + k;
            if (c < 0) {
                *to = value;
            } else if (exact) {
                const double v = change + ((double)in[0] + (more ? (double)in[1] : 0.0));
                to[0] = (float)v;
                to[1] = isfinite(to[0]) ? (float)(v - (double)to[0]) : 0.0f;
            } else if (change != 0) {
                *to = (float)((double)*in + change);
            } else {
                memcpy(to, in, sizeof *to); /* bits: a NaN keeps its own */
            }
        }
        k += exact;
    }
    for (int64_t i = begin; i < end; i++) {
        out->data[(at + i) * out->columns + n] = (float)source;
    }
}

static void fill(pcgpu_cloud *clouds, int count, const pcgpu_cloud *model, pcgpu_cloud *out) {
    int64_t at = 0;
    for (int i = 0; i < count; i++) {
        int columns[PCGPU_MAX_COLUMNS];
        for (int k = 0; k + 1 < out->columns; k++) {
            columns[k] = pcgpu_cloud_column(&clouds[i], model->names[k]);
        }
        for (int64_t row = 0; row < clouds[i].rows; row += BLOCK) { /* which stay in the cache */
            copy_rows(&clouds[i], row, row + BLOCK < clouds[i].rows ? row + BLOCK : clouds[i].rows, columns, i, at,
                      out);
        }
        at += clouds[i].rows;
        pcgpu_cloud_free(&clouds[i]); /* so that the memory is that of one cloud and the largest */
    }
}

pcgpu_status clouds_merge(pcgpu_context *context, const char *name, pcgpu_cloud *clouds, int count, pcgpu_cloud *out) {
    pcgpu_cloud model = {.columns = 0};
    float value;
    int64_t rows = 0;
    for (int k = 0; k < clouds[0].columns; k++) {
        if (!pcgpu_column_is_remainder(&clouds[0], k)) {
            add_column(clouds, count, clouds[0].names[k], &model);
        }
    }
    for (int i = 0; i < count; i++) {
        for (int k = 3; k < clouds[i].columns && i > 0; k++) {
            if (pcgpu_column_default(clouds[i].names[k], &value)) {
                add_column(clouds, count, clouds[i].names[k], &model);
            }
        }
        rows += clouds[i].rows;
    }
    clouds_warn_left_out(clouds, count, (const char(*)[PCGPU_NAME_SIZE])model.names, model.columns, name);
    pcgpu_status status = pcgpu_cloud_create(context, rows, model.columns + 1, out);
    if (status == PCGPU_OK) {
        choose_offset(clouds, count, name, model.offset);
        memcpy(out->offset, model.offset, sizeof model.offset);
        memcpy(out->names, model.names, (size_t)model.columns * sizeof *model.names);
        memcpy(out->types, model.types, (size_t)model.columns);
        const char *lost = pcgpu_cloud_take_header(out, clouds, count);
        if (lost) {
            report_warning(name, "left out: %s", lost);
        }
        name_source(clouds, count, out);
        fill(clouds, count, &model, out);
    }
    for (int i = 0; i < count; i++) {
        pcgpu_cloud_free(&clouds[i]);
    }
    return status;
}
