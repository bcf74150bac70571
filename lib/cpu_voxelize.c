/* Voxelization on the CPU: keys of all records (parallel) -> voxel numbers by a hash table in index order -> the kept
 * points of each voxel side by side by a counting sort -> features (parallel). Memory grows with the points and the
 * voxels found, never with the volume of the grid, and no step depends on the number of threads. */
#include "cpu.h"
#include "voxel.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 4096, ENOUGH_FOR_THREADS = 20000 };

/* Open addressing, at most half full. `points` counts the points of each voxel found. */
typedef struct slot {
    int64_t key;
    int32_t voxel; /* -1 = free */
} slot;

typedef struct table {
    slot *slots;
    int32_t *points; /* size / 2 */
    size_t size;     /* a power of two */
    int32_t found;
} table;

typedef struct voxelizer {
    const pc_voxelize_job *job;
    int threads;
    int64_t *keys;    /* rows: cell of each record, -1 = out of range */
    int32_t *numbers; /* rows: voxel of each record, -1 = none; becomes out->point_voxel */
    table table;
    int64_t *starts; /* count + 1: where the kept points of a voxel begin in `order` */
    int32_t *order;  /* kept: rows, voxel by voxel, in index order */
} voxelizer;

static bool resize(table *t, size_t size) {
    slot *slots = malloc(size * sizeof *slots);
    int32_t *points = realloc(t->points, size / 2 * sizeof *points);
    t->points = points ? points : t->points;
    if (!slots || !points) {
        free(slots);
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        slots[i].voxel = -1;
    }
    for (size_t i = 0; i < t->size; i++) {
        if (t->slots[i].voxel >= 0) {
            size_t at = pc_hash64((uint64_t)t->slots[i].key) & (size - 1);
            while (slots[at].voxel >= 0) {
                at = (at + 1) & (size - 1);
            }
            slots[at] = t->slots[i];
        }
    }
    free(t->slots);
    t->slots = slots;
    t->size = size;
    return true;
}

/* The number of the voxel with this key, a new one when it is met for the first time; -1 when memory is short. */
static int32_t voxel_of(table *t, int64_t key) {
    size_t at = pc_hash64((uint64_t)key) & (t->size - 1);
    while (t->slots[at].voxel >= 0) {
        if (t->slots[at].key == key) {
            return t->slots[at].voxel;
        }
        at = (at + 1) & (t->size - 1);
    }
    if ((size_t)t->found == t->size / 2) {
        return resize(t, 2 * t->size) ? voxel_of(t, key) : -1;
    }
    t->slots[at] = (slot){.key = key, .voxel = t->found};
    t->points[t->found] = 0;
    return t->found++;
}

/* Keys of all records, then voxel numbers in the order of the records. */
static bool number_voxels(voxelizer *v, pcgpu_voxels *out) {
    const pc_voxelize_job *job = v->job;
#pragma omp parallel for num_threads(v->threads) if (job->rows > ENOUGH_FOR_THREADS) schedule(static)
    for (int64_t i = 0; i < job->rows; i++) {
        v->keys[i] = pc_record_key(&job->grid, job->skip_origin, job->skip, job->data + i * job->columns);
    }
    int64_t last_key = -1;
    int32_t last = -1;
    out->in_range = 0;
    for (int64_t i = 0; i < job->rows; i++) {
        int64_t key = v->keys[i];
        if (key < 0) {
            v->numbers[i] = -1;
            continue;
        }
        if (key != last_key) { /* neighbours in a scan often share a voxel */
            last_key = key;
            last = voxel_of(&v->table, key);
            if (last < 0) {
                return false;
            }
        }
        v->numbers[i] = last;
        v->table.points[last]++;
        out->in_range++;
    }
    return true;
}

/* Counts what is kept and what is dropped, and returns the largest number of kept points in a voxel. */
static int64_t count_points(const voxelizer *v, pcgpu_voxels *out) {
    const pc_voxelize_job *job = v->job;
    int64_t largest_kept = 0;
    out->kept = out->over_points = out->over_voxels = out->largest = 0;
    out->voxels_found = v->table.found;
    out->count = job->max_voxels && job->max_voxels < out->voxels_found ? job->max_voxels : out->voxels_found;
    for (int64_t i = 0; i < out->voxels_found; i++) {
        int64_t points = v->table.points[i];
        out->largest = points > out->largest ? points : out->largest;
        if (i >= out->count) {
            out->over_voxels += points;
            continue;
        }
        int64_t kept = job->max_points && job->max_points < points ? job->max_points : points;
        out->kept += kept;
        out->over_points += points - kept;
        largest_kept = kept > largest_kept ? kept : largest_kept;
    }
    return largest_kept;
}

/* A stable counting sort of the kept points by voxel; numbers[] becomes -1 for all others. */
static void sort_points(voxelizer *v, pcgpu_voxels *out) {
    const pc_voxelize_job *job = v->job;
    int64_t start = 0;
    for (int64_t i = 0; i < out->count; i++) {
        int64_t points = v->table.points[i];
        int64_t kept = job->max_points && job->max_points < points ? job->max_points : points;
        v->starts[i] = start;
        start += kept;
        out->counts[i] = 0; /* counts the points placed so far */
    }
    v->starts[out->count] = start;
    for (int64_t i = 0; i < job->rows; i++) {
        int32_t voxel = v->numbers[i];
        if (voxel < 0 || voxel >= out->count || out->counts[voxel] == v->starts[voxel + 1] - v->starts[voxel]) {
            out->point_voxel[i] = -1;
        } else {
            v->order[v->starts[voxel] + out->counts[voxel]++] = (int32_t)i;
            out->point_voxel[i] = voxel;
        }
    }
}

/* ---- features of one voxel ------------------------------------------------------------------------------------ */

static void fill_points(const pc_voxelize_job *job, const int32_t *rows, int32_t count, float *out) {
    for (int32_t i = 0; i < count; i++) {
        memcpy(out + (int64_t)i * job->columns, job->data + (int64_t)rows[i] * job->columns,
               (size_t)job->columns * sizeof *out);
    }
}

static void fill_pillar(const pc_voxelize_job *job, const int32_t *rows, int32_t count, const float mean[3],
                        const int32_t *coords, float *out) {
    for (int32_t i = 0; i < count; i++) {
        pc_pillar_row(&job->grid, job->data + (int64_t)rows[i] * job->columns, job->columns, mean, coords,
                      out + (int64_t)i * PC_PILLAR_COLUMNS);
    }
}

static void fill_voxel(const voxelizer *v, int64_t i, pcgpu_voxels *out) {
    const pc_voxelize_job *job = v->job;
    const int32_t *rows = v->order + v->starts[i];
    int32_t count = out->counts[i], *coords = out->coords + 4 * i;
    int64_t width = out->capacity * out->columns;
    float *to = out->features + i * width;
    bool wide = job->max_points == 0;
    float mean[3] = {0};
    pc_voxel_coords(&job->grid, job->data + (int64_t)rows[0] * job->columns, coords);
    for (int k = 0; k < 3 && (job->features == PCGPU_FEATURES_PILLAR || job->features == PCGPU_FEATURES_NEAREST); k++) {
        mean[k] = pc_voxel_mean(job->data, job->columns, rows, count, k, wide);
    }
    int64_t filled = (int64_t)count * out->columns;
    switch (job->features) {
    case PCGPU_FEATURES_MEAN:
        for (int k = 0; k < job->columns; k++) {
            to[k] = pc_voxel_mean(job->data, job->columns, rows, count, k, wide);
        }
        return;
    case PCGPU_FEATURES_FIRST:
        out->selected[i] = rows[0];
        fill_points(job, rows, 1, to);
        return;
    case PCGPU_FEATURES_NEAREST:
        out->selected[i] = pc_voxel_nearest(job->data, job->columns, rows, count, mean);
        fill_points(job, out->selected + i, 1, to);
        return;
    case PCGPU_FEATURES_POINTS: fill_points(job, rows, count, to); break;
    case PCGPU_FEATURES_PILLAR: fill_pillar(job, rows, count, mean, coords, to); break;
    }
    memset(to + filled, 0, (size_t)(width - filled) * sizeof *to);
}

/* ---- all of it ------------------------------------------------------------------------------------------------ */

static pcgpu_status run(pcgpu_context *context, voxelizer *v, pcgpu_voxels *out) {
    size_t rows = (size_t)v->job->rows, some = rows ? rows : 1;
    v->keys = malloc(some * sizeof *v->keys);
    v->numbers = malloc(some * sizeof *v->numbers);
    if (!v->keys || !v->numbers || !resize(&v->table, FIRST_SLOTS) || !number_voxels(v, out)) {
        return pc_fail_memory(context, rows * 12 + v->table.size * 2 * sizeof(slot), "the voxels' hash table");
    }
    free(v->keys);
    v->keys = NULL;
    pcgpu_status status = pc_voxels_allocate(context, v->job, count_points(v, out), out);
    if (status != PCGPU_OK) {
        return status;
    }
    v->starts = malloc(((size_t)out->count + 1) * sizeof *v->starts);
    v->order = malloc((size_t)(out->kept ? out->kept : 1) * sizeof *v->order);
    if (!v->starts || !v->order) {
        pcgpu_voxels_free(out);
        return pc_fail_memory(context, rows * 12, "the points of the voxels");
    }
    sort_points(v, out);
#pragma omp parallel for num_threads(v->threads) if (rows > ENOUGH_FOR_THREADS) schedule(dynamic, 256)
    for (int64_t i = 0; i < out->count; i++) {
        fill_voxel(v, i, out);
    }
    return PCGPU_OK;
}

pcgpu_status pc_cpu_voxelize(pcgpu_context *context, const pc_voxelize_job *job, pcgpu_voxels *out) {
    voxelizer v = {.job = job, .threads = context->threads};
    pcgpu_status status = run(context, &v, out);
    free(v.keys);
    free(v.numbers);
    free(v.table.slots);
    free(v.table.points);
    free(v.starts);
    free(v.order);
    return status;
}
