/* Sampling of a file that is read in pieces. At random: one pass counts the usable points, the draws are those of the
 * whole file, and a second pass collects the records that were drawn; the memory follows the picks, not the points.
 * Farthest point sampling: the second pass takes the coordinates of the points, and what the memory does not hold of
 * them, and of the tree of buckets, is in temporary files. A pick needs the buckets near it alone, so that the system
 * keeps those in memory that change. */
#include "sample.h"

#include "geometry.h"
#include "temporary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINT_BYTES = 30 }; /* of farthest point sampling: coordinates, record, order, distance, tree */

/* A pick: its record, or the index of the point among the usable ones, and its place in the result. */
typedef struct pick {
    int64_t point, place;
} pick;

static int by_point(const void *a, const void *b) {
    const pick *p = a, *q = b;
    return p->point < q->point ? -1 : p->point > q->point;
}

static bool is_usable(const pcgpu_cloud *cloud, const float *p, bool drop_origin, pcgpu_run *run) {
    const bool usable = pc_cloud_usable(cloud, p, drop_origin), finite = usable || pc_is_finite3(p[0], p[1], p[2]);
    run->non_finite += !finite;
    run->at_origin += finite && !usable;
    return usable;
}

static pcgpu_status count_usable(pcgpu_pieces *pieces, bool drop_origin, pcgpu_run *run) {
    pcgpu_cloud piece;
    pcgpu_status status;
    while ((status = pcgpu_pieces_next(pieces, &piece)) == PCGPU_OK && piece.rows > 0) {
        for (int64_t i = 0; i < piece.rows; i++) {
            is_usable(&piece, piece.data + i * piece.columns, drop_origin, run);
        }
    }
    return status;
}

/* Copies the records of the picks, which are in the order of the points, or of the records where they have them. */
static pcgpu_status collect(pcgpu_pieces *pieces, bool drop_origin, bool have_records, const pick *picks,
                            pcgpu_sampled *result, int64_t *wide, pcgpu_cloud *out) {
    pcgpu_cloud piece;
    pcgpu_status status;
    pcgpu_run counted = {0};
    int64_t record = 0, point = 0, next = 0;
    while ((status = pcgpu_pieces_next(pieces, &piece)) == PCGPU_OK && piece.rows > 0) {
        for (int64_t i = 0; i < piece.rows && next < result->count; i++) {
            const float *p = piece.data + i * piece.columns;
            if (have_records ? record + i == picks[next].point
                             : is_usable(&piece, p, drop_origin, &counted) && point++ == picks[next].point) {
                const int64_t place = picks[next++].place;
                if (wide) {
                    wide[place] = record + i;
                } else {
                    result->indices[place] = (int32_t)(record + i);
                }
                memcpy(out->data + place * out->columns, p, (size_t)out->columns * sizeof *p);
            }
        }
        record += piece.rows;
    }
    return status;
}

/* Memory for picks; malloc'd. */
static pcgpu_status allocate_picks(pcgpu_context *context, int64_t count, pick **picks) {
    const size_t bytes = (size_t)(count + 1) * sizeof **picks;
    *picks = malloc(bytes);
    return *picks ? PCGPU_OK : pc_fail_memory(context, bytes, "the picks");
}

/* Draws the picks. */
static pcgpu_status draw(pcgpu_context *context, uint64_t seed, int64_t n, int64_t count, pick *picks) {
    int64_t *drawn = malloc((size_t)count * sizeof *drawn);
    pcgpu_status status = drawn ? pc_random_draw_sparse(context, seed, n, count, drawn)
                                : pc_fail_memory(context, (uint64_t)count * sizeof *drawn, "the picks");
    for (int64_t k = 0; k < count && status == PCGPU_OK; k++) {
        picks[k] = (pick){drawn[k], k};
    }
    free(drawn);
    return status;
}

/* Allocates the records of the picks: 64 bits wide where the file has so many. */
static pcgpu_status allocate_records(pcgpu_context *context, int64_t rows, pcgpu_sampled *result, int64_t **wide) {
    const bool narrow = rows <= INT32_MAX;
    const size_t bytes = (size_t)result->count * (narrow ? sizeof *result->indices : sizeof **wide);
    void *memory = malloc(bytes ? bytes : 1);
    result->indices = narrow ? memory : NULL;
    *wide = narrow ? NULL : memory;
    return memory ? PCGPU_OK : pc_fail_memory(context, bytes, "the picks");
}

/* The coordinates of the n usable points, and their records if there are others. */
static pcgpu_status take_points(pcgpu_context *context, pcgpu_pieces *pieces, bool drop_origin, bool files,
                                int64_t rows, pc_points *points) {
    const uint64_t n = (uint64_t)points->n, most = files ? 0 : UINT64_MAX;
    pcgpu_cloud piece;
    pcgpu_run counted = {0};
    const bool some = points->n < rows;
    void *memory = NULL;
    pcgpu_status status;
    PC_TRY(pc_allocate(context, (some ? 4 : 3) * n * sizeof(float), most, &memory));
    points->memory = points->x = memory;
    points->y = points->x + n;
    points->z = points->y + n;
    points->rows = some ? (int32_t *)(points->z + n) : NULL;
    int64_t record = 0, next = 0;
    while ((status = pcgpu_pieces_next(pieces, &piece)) == PCGPU_OK && piece.rows > 0) {
        for (int64_t i = 0; i < piece.rows; i++) {
            const float *p = piece.data + i * piece.columns;
            if (is_usable(&piece, p, drop_origin, &counted) && next < points->n) {
                points->x[next] = p[0];
                points->y[next] = p[1];
                points->z[next] = p[2];
                if (points->rows) {
                    points->rows[next] = (int32_t)(record + i);
                }
                next++;
            }
        }
        record += piece.rows;
    }
    return status;
}

/* Farthest point sampling; the picks are in new memory. */
static pcgpu_status pick_farthest(pcgpu_context *context, pcgpu_pieces *pieces, const pcgpu_sample_params *params,
                                  int64_t rows, int64_t n, size_t memory, pcgpu_sampled *result, pick **picks) {
    pc_points points = {.n = n};
    const bool files = (double)n * POINT_BYTES > (double)memory;
    pcgpu_status status;
    if (rows > INT32_MAX) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "%lld points; farthest point sampling has indices of 32 bits, so split the cloud below 2^31, or "
                       "sample at random",
                       (long long)rows);
    }
    PC_TRY_OR(done, status, n > 0 ? take_points(context, pieces, params->drop_origin, files, rows, &points) : PCGPU_OK);
    PC_TRY_OR(done, status, pc_sample_points(context, &points, rows, files, params, result));
    PC_TRY_OR(done, status, allocate_picks(context, result->count, picks));
    for (int64_t k = 0; k < result->count; k++) {
        (*picks)[k] = (pick){result->indices[k], k};
    }
done:
    pc_points_free(&points);
    return status;
}

/* Random draws; the picks are in new memory. */
static pcgpu_status pick_at_random(pcgpu_context *context, const pcgpu_sample_params *params, const pcgpu_cloud *whole,
                                   int64_t n, size_t memory, pcgpu_sampled *result, int64_t **wide, pick **picks) {
    const double each =
        (double)whole->columns * sizeof(float) + PC_SPARSE_DRAW_BYTES + sizeof(pick) + 2 * sizeof(int64_t);
    PC_TRY(pc_sample_count(context, params, n, whole->rows, &result->count));
    if ((double)result->count * each > (double)memory) {
        return pc_fail(
            context, PCGPU_ERROR_MEMORY,
            "%lld picks need %.4g GB of memory, and %.4g are given; give more by --set memory, or ask for fewer",
            (long long)result->count, (double)result->count * each / 1e9, (double)memory / 1e9);
    }
    PC_TRY(allocate_picks(context, result->count, picks));
    PC_TRY(draw(context, params->seed, n, result->count, *picks));
    return allocate_records(context, whole->rows, result, wide);
}

static void describe_run(const pcgpu_context *context, int64_t rows, bool random, pcgpu_run *run) {
    run->points_in = rows;
    if (random) {
        run->threads = 1;
        snprintf(run->backend, sizeof run->backend, "cpu");
        snprintf(run->device, sizeof run->device, "%s", context->cpu_name);
    }
    snprintf(run->reason, sizeof run->reason, "the file is read in pieces");
}

pcgpu_status pcgpu_sample_pieces(pcgpu_context *context, pcgpu_pieces *pieces, const pcgpu_sample_params *params,
                                 size_t memory, pcgpu_sampled *result, int64_t **wide, pcgpu_cloud *cloud) {
    const bool random = params->method == PCGPU_SAMPLE_RANDOM;
    pcgpu_cloud whole;
    pick *picks = NULL;
    double begin = pc_now();
    memset(result, 0, sizeof *result);
    memset(cloud, 0, sizeof *cloud);
    *wide = NULL;
    pcgpu_pieces_describe(pieces, &whole);
    pcgpu_status status;
    PC_TRY(pc_sample_check(context, params, 1));
    if (params->column_count || params->starts) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a file in pieces is sampled by x y z from one start; leave %s out, or give more memory",
                       params->starts ? "starts" : "the columns");
    }
    if (random && params->seed_count) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT,
                       "a file in pieces is sampled at random without seeds; leave them out, or give more memory");
    }
    PC_TRY_OR(done, status, count_usable(pieces, params->drop_origin, &result->run));
    const int64_t n = whole.rows - result->run.non_finite - result->run.at_origin;
    pc_stage(&result->run, "select", begin);
    begin = pc_now();
    PC_TRY_OR(done, status,
              random ? pick_at_random(context, params, &whole, n, memory, result, wide, &picks)
                     : pick_farthest(context, pieces, params, whole.rows, n, memory, result, &picks));
    qsort(picks, (size_t)result->count, sizeof *picks, by_point);
    if (random) {
        pc_stage(&result->run, "sample", begin);
        result->coverage = NAN;
    }
    begin = pc_now();
    PC_TRY_OR(done, status, pc_cloud_create_like(context, &whole, result->count, cloud));
    PC_TRY_OR(done, status, collect(pieces, params->drop_origin, !random, picks, result, *wide, cloud));
    pc_stage(&result->run, "gather", begin);
    describe_run(context, whole.rows, random, &result->run);
done:
    free(picks);
    if (status != PCGPU_OK) {
        pcgpu_sampled_free(result);
        pcgpu_cloud_free(cloud);
        free(*wide);
        *wide = NULL;
    }
    return status;
}
