/* Several clouds in one. */
#include "merge.h"
#include "report.h"

#include <math.h>
#include <string.h>

/* ---- the offset of coordinates ----------------------------------------------------------------------------------- */

#define NEAR      1024.0      /* float32 resolves 0.06 mm up to here */
#define RESOLVED  1e-3        /* metres */
#define HALF_UNIT 0x1p-24     /* the largest relative rounding error of float32 */

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
        report_warning(name, "the coordinates span too much for float32 and were rounded by up to %.3g m; remove far outliers",
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

static bool all_have(const pcgpu_cloud *clouds, int count, const char *column) {
    bool all = true;
    for (int i = 0; i < count && all; i++) {
        all = pcgpu_cloud_column(&clouds[i], column) >= 0;
    }
    return all;
}

static bool is_among(const char (*names)[PCGPU_NAME_SIZE], int count, const char *column) {
    int k = 0;
    while (k < count && strcmp(names[k], column) != 0) {
        k++;
    }
    return k < count;
}

enum { MOST_LISTED = 8 };

/* `names`: the columns that all have. Each other one is listed once. */
static void warn_left_out(const pcgpu_cloud *clouds, int count, const char (*names)[PCGPU_NAME_SIZE], int columns, const char *name) {
    char listed[MOST_LISTED][PCGPU_NAME_SIZE], list[MOST_LISTED * (PCGPU_NAME_SIZE + 2)] = "";
    size_t used = 0;
    int n = 0;
    for (int i = 0; i < count; i++) {
        for (int k = 3; k < clouds[i].columns && n < MOST_LISTED; k++) {
            const char *column = clouds[i].names[k];
            if (!is_among(names, columns, column) && !is_among((const char(*)[PCGPU_NAME_SIZE])listed, n, column)) {
                used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", column);
                snprintf(listed[n++], PCGPU_NAME_SIZE, "%s", column);
            }
        }
    }
    if (used > 0) {
        report_warning(name, "columns that not all inputs have are left out: %s", list);
    }
}

/* A type that all have is kept. */
static uint8_t common_type(const pcgpu_cloud *clouds, int count, const char *column) {
    const int first = clouds[0].types[pcgpu_cloud_column(&clouds[0], column)];
    bool same = true;
    for (int i = 1; i < count; i++) {
        same = same && clouds[i].types[pcgpu_cloud_column(&clouds[i], column)] == first;
    }
    return (uint8_t)(same ? first : PCGPU_FLOAT32);
}

/* Names the column `source`. A column of the clouds with this name, since they were merged before, becomes source_2, or the
 * next name that is free. */
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

/* Copies the rows of a cloud to row `at`; column k is columns[k] there. */
static void copy_rows(const pcgpu_cloud *from, const int *columns, int source, int64_t at, pcgpu_cloud *out) {
    const int n = out->columns - 1;
    double change[3];
    for (int k = 0; k < 3; k++) {
        change[k] = from->offset[k] - out->offset[k];
    }
    for (int64_t i = 0; i < from->rows; i++) {
        const float *in = from->data + i * from->columns;
        float *row = out->data + (at + i) * out->columns;
        for (int k = 0; k < n; k++) {
            if (k < 3 && change[k] != 0) {
                row[k] = (float)((double)in[columns[k]] + change[k]);
            } else {
                memcpy(row + k, in + columns[k], sizeof *row); /* bits: a NaN keeps its own */
            }
        }
        row[n] = (float)source;
    }
}

static void fill(pcgpu_cloud *clouds, int count, const char (*names)[PCGPU_NAME_SIZE], pcgpu_cloud *out) {
    int64_t at = 0;
    for (int i = 0; i < count; i++) {
        int columns[PCGPU_MAX_COLUMNS];
        for (int k = 0; k + 1 < out->columns; k++) {
            columns[k] = pcgpu_cloud_column(&clouds[i], names[k]);
        }
        copy_rows(&clouds[i], columns, i, at, out);
        at += clouds[i].rows;
        pcgpu_cloud_free(&clouds[i]); /* so that the memory is that of one cloud and the largest */
    }
}

pcgpu_status clouds_merge(pcgpu_context *context, const char *name, pcgpu_cloud *clouds, int count, pcgpu_cloud *out) {
    char names[PCGPU_MAX_COLUMNS][PCGPU_NAME_SIZE];
    int64_t rows = 0;
    int columns = 0;
    for (int k = 0; k < clouds[0].columns; k++) {
        if (all_have(clouds, count, clouds[0].names[k])) {
            memcpy(names[columns++], clouds[0].names[k], PCGPU_NAME_SIZE);
        }
    }
    warn_left_out(clouds, count, (const char(*)[PCGPU_NAME_SIZE])names, columns, name);
    for (int i = 0; i < count; i++) {
        rows += clouds[i].rows;
    }
    pcgpu_status status = pcgpu_cloud_create(context, rows, columns + 1, out);
    if (status == PCGPU_OK) {
        choose_offset(clouds, count, name, out->offset);
        memcpy(out->names, names, (size_t)columns * sizeof *names);
        for (int k = 0; k < columns; k++) {
            out->types[k] = common_type(clouds, count, names[k]);
        }
        name_source(clouds, count, out);
        fill(clouds, count, (const char(*)[PCGPU_NAME_SIZE])names, out);
    }
    for (int i = 0; i < count; i++) {
        pcgpu_cloud_free(&clouds[i]);
    }
    return status;
}
