/* --cluster-list: a row for each cluster. */
#include "filter_run.h"
#include "numbers.h"

#include <math.h>
#include <stdlib.h>

typedef struct cluster_row {
    int64_t points;
    double low[3], high[3];
} cluster_row;

static void measure(const pcgpu_cloud *cloud, const filtered *f, cluster_row *rows) {
    for (int64_t c = 0; c < f->clusters; c++) {
        rows[c] = (cluster_row){0, {INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *p = cloud->data + i * cloud->columns;
        cluster_row *row = f->cluster[i] >= 0 ? &rows[f->cluster[i]] : NULL;
        for (int k = 0; k < 3 && row; k++) {
            const double at = cloud->offset[k] + (double)p[k];
            row->low[k] = fmin(row->low[k], at);
            row->high[k] = fmax(row->high[k], at);
        }
        if (row) {
            row->points++;
        }
    }
}

static void print(FILE *out, const pcgpu_cloud *cloud, const cluster_row *rows, int64_t count, bool as_json) {
    char number[NUMBER_SIZE];
    fputs(as_json ? "[" : "cluster,points,x0,y0,z0,x1,y1,z1\n", out);
    for (int64_t c = 0; c < count; c++) {
        fprintf(out, as_json ? "%s\n  {\"cluster\": %lld, \"points\": %lld, \"box\": [" : "%s%lld,%lld,",
                as_json && c > 0 ? "," : "", (long long)c, (long long)rows[c].points);
        for (int k = 0; k < 6; k++) {
            const double value = k < 3 ? rows[c].low[k] : rows[c].high[k - 3], offset = cloud->offset[k % 3];
            fprintf(out, "%s%s", k == 0 ? "" : as_json ? ", " : ",", number_text(value, offset == 0, number));
        }
        fputs(as_json ? "]}" : "\n", out);
    }
    fputs(as_json ? "\n]\n" : "", out);
}

int filter_write_clusters(job *j, const filtered *f) {
    FILE *out = job_stream(j, "cluster-list");
    if (!out) {
        return EXIT_DONE;
    }
    cluster_row *rows = malloc((size_t)(f->clusters + 1) * sizeof *rows);
    if (!rows) {
        return report_error(j->names[0], "out of memory");
    }
    measure(&j->clouds[0], f, rows);
    print(out, &j->clouds[0], rows, f->clusters, path_ends_in(job_output_name(j, "cluster-list"), ".json"));
    free(rows);
    return EXIT_DONE;
}
