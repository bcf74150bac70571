/* Features by slots: the slot of a point follows from the number of earlier points of its voxel, so that any number of
 * threads can write points to their slots. Padded features are written directly; the others are computed from the rows
 * of each voxel. */
#include "voxelize_cpu.h"

/* The features from the rows of a voxel. */
static bool needs_order(pcgpu_features features) {
    return features == PCGPU_FEATURES_MEAN || features == PCGPU_FEATURES_NEAREST;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

bool pc_start_order(pc_voxelizer *v, const pcgpu_voxels *out) {
    pc_voxel_scratch *s = v->scratch;
    const size_t count = (size_t)out->count, kept = (size_t)out->kept;
    if (!pc_buffer_take(&s->starts, (count + 1) * sizeof *v->starts, false) ||
        !pc_buffer_take(&s->order, (kept + PC_ORDER_PADDING) * sizeof *v->order, false)) {
        return false;
    }
    v->starts = s->starts.memory;
    v->order = s->order.memory;
    memset(v->order + kept, 0, PC_ORDER_PADDING * sizeof *v->order);
    v->starts[0] = 0;
    for (size_t i = 0; i < count; i++) {
        v->starts[i + 1] = v->starts[i] + out->counts[i];
    }
    return true;
}

bool pc_start_cursors(pc_voxelizer *v, const pcgpu_voxels *out) {
    const size_t bytes = (size_t)(out->count + 1) * sizeof *v->cursors;
    if (!pc_buffer_take(&v->scratch->cursors, bytes, false)) {
        return false;
    }
    v->cursors = memset(v->scratch->cursors.memory, 0, bytes);
    return true;
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

/* Stores a point that is kept in a slot of its voxel. */
PC_INLINE void put_point(const pc_voxelizer *v, int64_t row, int64_t voxel, int32_t place, pcgpu_features features,
                         int columns, pcgpu_voxels *out) {
    const float *p = v->job->data + row * columns;
    if (features == PCGPU_FEATURES_MEAN || features == PCGPU_FEATURES_NEAREST) {
        v->order[v->starts[voxel] + place] = (int32_t)row;
    } else if (features == PCGPU_FEATURES_POINTS) {
        memcpy(out->features + (voxel * out->capacity + place) * columns, p, (size_t)columns * sizeof *p);
    } else if (features == PCGPU_FEATURES_PILLAR) {
        float *to = out->features + (voxel * out->capacity + place) * PC_PILLAR_COLUMNS;
        memcpy(to, p, 3 * sizeof *p);
        to[3] = columns > 3 ? p[3] : 0.0f;
    }
}

PC_INLINE void place_records(const pc_voxelizer *v, int part, pcgpu_features features, int columns, pcgpu_voxels *out) {
    const pc_numbered *n = &v->numbered;
    const int64_t most = v->job->max_points ? v->job->max_points : INT64_MAX;
    const pc_part_map map = pc_map_part(v->scratch, n, part);
    int32_t *cursors = map.voxel ? map.before : v->cursors;
    for (int64_t i = n->begin[part]; i < n->begin[part + 1]; i++) {
        const int32_t local = out->point_voxel[i];
        if (local < 0) {
            continue;
        }
        const int64_t voxel = map.voxel ? map.voxel[local] : local;
        if (voxel >= out->count || cursors[local] >= most) {
            out->point_voxel[i] = -1;
            continue;
        }
        out->point_voxel[i] = (int32_t)voxel;
        put_point(v, i, voxel, cursors[local]++, features, columns, out);
    }
}

typedef struct placer {
    pc_voxelizer *v;
    pcgpu_voxels *out;
} placer;

static void place_part(void *state, int part) {
    const placer *s = state;
    const pc_voxelizer *v = s->v;
    pcgpu_voxels *out = s->out;
    const pcgpu_features features = v->job->features;
    const int columns = v->job->columns;
    if (features == PCGPU_FEATURES_POINTS && columns == 4) { /* a record is copied as one word */
        place_records(v, part, PCGPU_FEATURES_POINTS, 4, out);
    } else if (features == PCGPU_FEATURES_MEAN) {
        place_records(v, part, PCGPU_FEATURES_MEAN, columns, out);
    } else {
        place_records(v, part, features, columns, out);
    }
}

/* ---- features of one voxel ------------------------------------------------------------------------------------- */

/* Means of the first `width` columns of rows in index order: pc_voxel_mean for all columns at a time. */
static void find_means(const pc_voxelize_job *job, const int32_t *rows, int32_t count, int width, float *mean) {
    float sums[PCGPU_MAX_COLUMNS];
    for (int k = 0; k < width; k++) {
        sums[k] = 0.0f;
    }
    for (int32_t i = 0; i < count; i++) {
        const float *p = job->data + (int64_t)rows[i] * job->columns;
        __builtin_prefetch(job->data + (int64_t)rows[i + PC_ORDER_PADDING] * job->columns);
        for (int k = 0; k < width; k++) {
            sums[k] += p[k];
        }
    }
    for (int k = 0; k < width; k++) {
        mean[k] = pc_one_nan(sums[k] / (float)count);
    }
}

/* The same for x y z and one more column, as in most clouds, with vectors. */
static void find_means_of_four(const pc_voxelize_job *job, const int32_t *rows, int32_t count, float *mean) {
    pc_float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
    for (int32_t i = 0; i < count; i++) {
        pc_float4 term;
        memcpy(&term, job->data + (int64_t)rows[i] * 4, sizeof term);
        __builtin_prefetch(job->data + (int64_t)rows[i + PC_ORDER_PADDING] * 4); /* of this voxel or the next */
        sum += term;
    }
    sum /= (float)count;
    for (int k = 0; k < 4; k++) {
        mean[k] = pc_one_nan(sum[k]);
    }
}

/* Without a limit, only `nearest` uses this, with three columns. */
static void fill_means(const pc_voxelize_job *job, const int32_t *rows, int32_t count, int width, float *mean) {
    if (job->max_points == 0) {
        for (int k = 0; k < width; k++) {
            mean[k] = pc_voxel_mean(job->data, job->columns, rows, count, k, true);
        }
    } else if (job->columns == 4 && width == 4) {
        find_means_of_four(job, rows, count, mean);
    } else {
        find_means(job, rows, count, width, mean);
    }
}

/* The features of a pillar, from the x y z r of its points, which are stored. */
static void finish_pillar(const pc_voxelize_job *job, int64_t count, const int32_t *coords, float *rows) {
    float mean[3];
    for (int k = 0; k < 3; k++) {
        mean[k] = pc_voxel_mean(rows, PC_PILLAR_COLUMNS, NULL, count, k, job->max_points == 0);
    }
    for (int64_t i = 0; i < count; i++, rows += PC_PILLAR_COLUMNS) {
        const float p[4] = {rows[0], rows[1], rows[2], rows[3]};
        pc_pillar_row(&job->grid, p, 4, mean, coords, rows);
    }
}

static void copy_selected(const pc_voxelize_job *job, int32_t row, int64_t voxel, pcgpu_voxels *out) {
    const size_t columns = (size_t)job->columns;
    out->selected[voxel] = row;
    memcpy(out->features + (size_t)voxel * columns, job->data + (size_t)row * columns, columns * sizeof(float));
}

static void finish_voxel(const pc_voxelizer *v, int64_t i, pcgpu_voxels *out) {
    const pc_voxelize_job *job = v->job;
    const int32_t count = out->counts[i];
    const int32_t *rows = v->order ? v->order + v->starts[i] : NULL;
    float *to = out->features + i * out->capacity * out->columns, mean[3];
    switch (job->features) {
    case PCGPU_FEATURES_MEAN: fill_means(job, rows, count, job->columns, to); break;
    case PCGPU_FEATURES_FIRST: copy_selected(job, v->numbered.voxels[i].first, i, out); break;
    case PCGPU_FEATURES_NEAREST:
        fill_means(job, rows, count, 3, mean);
        copy_selected(job, pc_voxel_nearest(job->data, job->columns, rows, count, mean), i, out);
        break;
    case PCGPU_FEATURES_PILLAR: finish_pillar(job, count, out->coords + 4 * i, to); break;
    case PCGPU_FEATURES_POINTS: break;
    }
    if (pc_features_are_padded(job->features)) {
        const int64_t filled = (int64_t)count * out->columns, width = out->capacity * out->columns;
        memset(to + filled, 0, (size_t)(width - filled) * sizeof *to);
    }
}

static void finish_piece(void *state, int piece) {
    const placer *s = state;
    const pc_cell_layout layout = s->v->layout;
    const int64_t end = pc_piece_begin(s->v, s->out, piece + 1);
    for (int64_t i = pc_piece_begin(s->v, s->out, piece); i < end; i++) {
        pc_key_coords(&layout, s->v->numbered.voxels[i].key, s->out->coords + 4 * i);
        finish_voxel(s->v, i, s->out);
    }
}

bool pc_place_records(pc_voxelizer *v, pcgpu_voxels *out) {
    placer s = {.v = v, .out = out};
    if ((v->numbered.parts == 1 && !pc_start_cursors(v, out)) ||
        (needs_order(v->job->features) && !pc_start_order(v, out))) {
        return false;
    }
    pc_team_run(v->scratch->team, v->numbered.parts, place_part, &s);
    return true;
}

bool pc_voxelize_by_places(pc_voxelizer *v, pcgpu_voxels *out) {
    placer s = {.v = v, .out = out};
    if (!pc_place_records(v, out)) {
        return false;
    }
    pc_team_run(v->scratch->team, pc_pieces(v), finish_piece, &s);
    return true;
}
