/* What info prints of a cloud. */
#include "info.h"
#include "cloud.h"
#include "numbers.h"

#include <math.h>
#include <stdlib.h>

enum { TEXT = 48 };

/* The shortest text of a value that reads back as the same float32 of the cloud, with its offset. */
static const char *value_text(float value, double offset, char text[TEXT]) {
    int digits = 6; /* and no exponent for UTM */
    for (double v = fabs(offset + (double)value); v >= 1e6 && digits < 15; v /= 10) {
        digits++;
    }
    for (; digits <= 17; digits++) {
        snprintf(text, TEXT, "%.*g", digits, offset + (double)value);
        if ((float)(strtod(text, NULL) - offset) == value) {
            break;
        }
    }
    return text;
}

static void json_value(json *out, const char *key, float value, double offset) {
    char text[TEXT];
    json_key(out, key);
    fputs(isfinite(value) ? value_text(value, offset, text) : "null", out->out);
}

static void add_columns(json *out, const pcgpu_cloud *cloud, const column_info *columns) {
    json_key(out, "columns");
    fputc('[', out->out);
    for (int k = 0; k < cloud->columns; k++) {
        if (pcgpu_column_is_remainder(cloud, k)) {
            continue;
        }
        fputs(k ? ", " : "", out->out);
        json_open(out, NULL);
        json_text(out, "name", cloud->names[k]);
        json_text(out, "type", pc_type_name(cloud->types[k]));
        json_value(out, "min", columns[k].low, cloud->offset[k]);
        json_value(out, "max", columns[k].high, cloud->offset[k]);
        json_number(out, "mean", columns[k].mean);
        json_integer(out, "non_finite", columns[k].non_finite);
        json_close(out);
    }
    fputc(']', out->out);
}

/* With what float32 leaves of it. */
static const char *row_value(const pcgpu_cloud *cloud, int64_t row, int column, char text[NUMBER_SIZE]) {
    const float *v = cloud->data + row * cloud->columns + column;
    const double rest = pcgpu_column_is_remainder(cloud, column + 1) ? (double)v[1] : 0.0,
                 offset = cloud->offset[column];
    return offset == 0.0 && rest == 0.0 ? number_text((double)*v, true, text)
                                        : number_text(offset + (double)*v + rest, false, text);
}

/* The first records: a line each, or arrays of JSON. */
static void print_rows(FILE *out, const job *j, bool is_json) {
    const pcgpu_cloud *cloud = &j->clouds[0];
    const int64_t most = info_own(j->session->options)->rows, count = cloud->rows < most ? cloud->rows : most;
    char text[NUMBER_SIZE];
    for (int64_t i = 0; i < count; i++) {
        fputs(is_json ? i > 0 ? ", [" : "[" : "  row:", out);
        for (int k = 0; k < cloud->columns; k++) {
            const bool finite = isfinite(cloud->data[i * cloud->columns + k]);
            if (!pcgpu_column_is_remainder(cloud, k)) {
                fputs(!is_json ? " " : k > 0 ? ", " : "", out);
                fputs(is_json && !finite ? "null" : row_value(cloud, i, k, text), out);
            }
        }
        fputs(is_json ? "]" : "\n", out);
    }
}

void cloud_print_json(json *out, const job *j, const cloud_info *info, const pcgpu_file_info *file) {
    const pcgpu_cloud *cloud = &j->clouds[0];
    json_text(out, "kind", "cloud");
    json_text(out, "format", j->input_format[0] ? j->input_format[0]->name : NULL);
    json_integer(out, "points", cloud->rows);
    json_text(out, "encoding", file->encoding[0] ? file->encoding : NULL);
    if (file->width > 0) {
        json_integer(out, "width", file->width);
        json_integer(out, "height", file->height);
    }
    if (file->faces > 0) {
        json_integer(out, "faces", file->faces);
    }
    add_columns(out, cloud, info->columns);
    if (info_own(j->session->options)->rows > 0) {
        json_key(out, "rows");
        fputc('[', out->out);
        print_rows(out->out, j, true);
        fputc(']', out->out);
    }
    json_numbers(out, "extent", info->extent, 3);
    json_numbers(out, "spacing", info->spacing, 3);
    json_number(out, "density", info->density);
    json_integer(out, "non_finite", info->non_finite);
    json_integer(out, "duplicates", info->duplicates);
    json_number(out, "near_duplicates", info->near_duplicates);
    json_integer(out, "at_origin", info->at_origin);
    json_integer(out, "outliers", info->outliers);
    json_numbers(out, "offset", cloud->offset, 3);
    if (info->wrong) {
        json_text(out, "looks_wrong", info->odd[0]);
    }
    json_key(out, "odd");
    fputc('[', out->out);
    for (int i = 0; i < info->odd_count; i++) {
        fputs(i ? ", " : "", out->out);
        json_print_string(out->out, info->odd[i]);
    }
    fputc(']', out->out);
}

static void print_columns(FILE *out, const pcgpu_cloud *cloud, const column_info *columns) {
    char low[TEXT], high[TEXT], mean[TEXT];
    fprintf(out, "  %-12s %-8s %16s %16s %16s %10s\n", "column", "type", "min", "max", "mean", "non-finite");
    for (int k = 0; k < cloud->columns; k++) {
        const double offset = cloud->offset[k];
        if (pcgpu_column_is_remainder(cloud, k)) {
            continue;
        }
        fprintf(out, "  ");
        const int shown = print_shown(out, cloud->names[k]);
        value_text(columns[k].low, offset, low);
        value_text(columns[k].high, offset, high);
        snprintf(mean, sizeof mean, offset != 0 ? "%.10g" : "%.7g", columns[k].mean);
        fprintf(out, "%*s %-8s %16s %16s %16s %10lld\n", shown < 12 ? 12 - shown : 0, "", pc_type_name(cloud->types[k]),
                low, high, mean, (long long)columns[k].non_finite);
    }
}

/* Metres, of a length that may be tiny: three digits at least. */
static const char *length_text(double metres, char text[TEXT]) {
    snprintf(text, TEXT, metres >= 100 ? "%.1f" : "%.3g", metres);
    return text;
}

static void print_geometry(FILE *out, const cloud_info *info) {
    char text[3][TEXT];
    if (!isnan(info->extent[0] + info->extent[1] + info->extent[2])) {
        fprintf(out, "  extent: %.7g x %.7g x %.7g m\n", info->extent[0], info->extent[1], info->extent[2]);
    }
    if (!isnan(info->spacing[1])) {
        fprintf(out, "  spacing: %s m to the nearest other point in the median; %s to %s m for eight of ten points\n",
                length_text(info->spacing[1], text[0]), length_text(info->spacing[0], text[1]),
                length_text(info->spacing[2], text[2]));
    }
    if (!isnan(info->density)) {
        fprintf(out, "  density: %.3g points per square metre, seen from above, in occupied cells of %s m\n",
                info->density, length_text(info->cell, text[0]));
    }
}

void cloud_print_text(FILE *out, const job *j, const cloud_info *info, const pcgpu_file_info *file) {
    const pcgpu_cloud *cloud = &j->clouds[0];
    int columns = 0;
    for (int k = 0; k < cloud->columns; k++) {
        columns += !pcgpu_column_is_remainder(cloud, k);
    }
    print_shown(out, j->names[0]);
    fprintf(out, ": %s, %lld points, %d columns\n", j->input_format[0] ? j->input_format[0]->name : "?",
            (long long)cloud->rows, columns);
    print_columns(out, cloud, info->columns);
    if (file->encoding[0]) {
        fputs("  encoding: ", out);
        print_shown(out, file->encoding);
        fputc('\n', out);
    }
    if (file->width > 0) {
        fprintf(out, "  organized: %lld x %lld\n", (long long)file->width, (long long)file->height);
    }
    if (file->faces > 0) {
        fprintf(out, "  mesh: %lld faces\n", (long long)file->faces);
    }
    print_geometry(out, info);
    if (cloud->offset[0] != 0 || cloud->offset[1] != 0 || cloud->offset[2] != 0) {
        fprintf(out, "  offset: %.0f %.0f %.0f\n", cloud->offset[0], cloud->offset[1], cloud->offset[2]);
    }
    if (j->depth[0].pixels > 0) {
        fprintf(out, "  pixels: %lld, without a return: %lld, out of the camera's range: %lld\n",
                (long long)j->depth[0].pixels, (long long)j->depth[0].no_return, (long long)j->depth[0].out_of_range);
    }
    print_rows(out, j, false);
    for (int i = 0; i < info->odd_count; i++) {
        fputs(i == 0 && info->wrong ? "  looks wrong: " : "  odd: ", out);
        print_shown(out, info->odd[i]);
        fputc('\n', out);
    }
}
