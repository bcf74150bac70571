/* Sums of voxels in a stream over the records, without lists of the points. A float64 sum becomes NaN, and remains NaN,
 * when a rounding is not exact, or when a value is not finite; the means of such voxels are computed again from the
 * points, exactly. */
#include "voxelize_cpu.h"

/* Adds the records begin..end-1, in index order, to the sums of their voxels by local id, `columns` each, which start
 * as zeroes. With max_points the sums are float32 sums of the first points, which needs a single part; without,
 * float64, and NaN where a sum is not exact. voxels[] maps local ids to voxels through `map` (NULL: identity); it is -1
 * for records that are not kept, including the voxels from `count` on. `cursors`, zeroes, count the points with
 * max_points. */
typedef struct addition {
    const pc_voxelize_job *job;
    int64_t begin, end, count;
    const int32_t *map;
    int32_t *voxels, *cursors;
    void *sums;
} addition;

/* Four columns at a time: compilers use the widest vectors of the variant. */
typedef double double4 __attribute__((vector_size(32)));
typedef int64_t mask4 __attribute__((vector_size(32)));

PC_INLINE void add_narrow(const float *p, int columns, float *sums) {
    int k = 0;
    for (; k + 4 <= columns; k += 4) {
        pc_float4 term, sum;
        memcpy(&term, p + k, sizeof term);
        memcpy(&sum, sums + k, sizeof sum);
        sum += term;
        memcpy(sums + k, &sum, sizeof sum);
    }
    for (; k < columns; k++) {
        sums[k] += p[k];
    }
}

PC_INLINE void add_wide(const float *p, int columns, double *sums) {
    int k = 0;
    for (; k + 4 <= columns; k += 4) {
        pc_float4 value;
        double4 sum;
        memcpy(&value, p + k, sizeof value);
        memcpy(&sum, sums + k, sizeof sum);
        /* pc_addition_error; a comparison is all bits set, which is a NaN, or none */
        const double4 term = __builtin_convertvector(value, double4), next = sum + term, part = next - sum;
        const double4 error = (sum - (next - part)) + (term - part);
        sum = (double4)((mask4)next | (mask4)(error != 0.0));
        memcpy(sums + k, &sum, sizeof sum);
    }
    for (; k < columns; k++) {
        const double term = (double)p[k], next = sums[k] + term;
        sums[k] = pc_addition_error(sums[k], term, next) == 0.0 ? next : (double)NAN;
    }
}

PC_INLINE void add_rows(const addition *s, int columns) {
    const int64_t most = s->job->max_points;
    const float *p = s->job->data + s->begin * columns;
    for (int64_t i = s->begin; i < s->end; i++, p += columns) {
        const int64_t local = s->voxels[i];
        if (local < 0) {
            continue;
        }
        const int64_t voxel = s->map ? s->map[local] : local;
        s->voxels[i] = voxel < s->count ? (int32_t)voxel : -1;
        if (most == 0) {
            add_wide(p, columns, (double *)s->sums + local * columns);
        } else if (voxel >= s->count) {
            continue;
        } else if (s->cursors[local] < most) {
            s->cursors[local]++;
            add_narrow(p, columns, (float *)s->sums + local * columns);
        } else {
            s->voxels[i] = -1;
        }
    }
}

PC_INLINE void add_records(const addition *s) {
    if (s->job->columns == 4) {
        add_rows(s, 4);
    } else {
        add_rows(s, s->job->columns);
    }
}

PC_SIMD_FORMS_OF(add_records, (const addition *s), (s))

/* Adds one sum to another. */
PC_INLINE void add_sums(const double *from, int64_t columns, double *to) {
    for (int64_t k = 0; k < columns; k++) {
        const double next = to[k] + from[k];
        to[k] = pc_addition_error(to[k], from[k], next) == 0.0 ? next : (double)NAN;
    }
}

/* ---- steps ----------------------------------------------------------------------------------------------------- */

typedef struct summer {
    pc_voxelizer *v;
    pcgpu_voxels *out;
    double *sums; /* count x columns, or NULL with max_points: the sums are in the features */
    bool failed[PC_VOXEL_PARTS];
    bool inexact[PC_VOXEL_PIECES];
} summer;

/* The sums of a part, in memory of its own when there are several. */
static void sum_part(void *state, int p) {
    summer *s = state;
    const pc_voxelize_job *job = s->v->job;
    const pc_numbered *n = &s->v->numbered;
    struct pc_voxel_part *part = &s->v->scratch->part[p];
    const bool wide = job->max_points == 0;
    const size_t columns = (size_t)job->columns;
    const size_t bytes =
        wide ? (size_t)part->list.found * columns * sizeof(double) : (size_t)s->out->count * columns * sizeof(float);
    if (wide && !pc_buffer_take(&part->sums, bytes + 1, false)) {
        s->failed[p] = true;
        return;
    }
    addition a = {.job = job,
                  .begin = n->begin[p],
                  .end = n->begin[p + 1],
                  .count = s->out->count,
                  .map = pc_map_part(s->v->scratch, n, p).voxel,
                  .voxels = s->out->point_voxel,
                  .cursors = s->v->cursors,
                  .sums = memset(wide ? part->sums.memory : (void *)s->out->features, 0, bytes)};
    add_records_for(s->v->form.simd)(&a);
}

/* Adds the sums of the parts for the voxels of a partition. */
static void join_partition(void *state, int which) {
    summer *s = state;
    const pc_voxel_scratch *scratch = s->v->scratch;
    const int64_t columns = s->v->job->columns;
    for (int p = 0; p < s->v->numbered.parts; p++) {
        const struct pc_voxel_part *part = &scratch->part[p];
        const uint8_t *to = part->to.memory;
        const int32_t *map = part->map.memory, *before = part->before.memory;
        const double *sums = part->sums.memory;
        for (int64_t e = 0; e < part->list.found; e++) {
            if (to[e] != which || map[e] >= s->out->count) {
                continue;
            }
            double *total = s->sums + map[e] * columns;
            if (before[e] == 0) {
                memcpy(total, sums + e * columns, (size_t)columns * sizeof *total);
            } else {
                add_sums(sums + e * columns, columns, total);
            }
        }
    }
}

static void divide_piece(void *state, int piece) {
    summer *s = state;
    const pc_cell_layout layout = s->v->layout;
    const int64_t columns = s->v->job->columns, end = pc_piece_begin(s->v, s->out, piece + 1);
    for (int64_t i = pc_piece_begin(s->v, s->out, piece); i < end; i++) {
        float *mean = s->out->features + i * columns;
        const int32_t count = s->out->counts[i];
        pc_key_coords(&layout, s->v->numbered.voxels[i].key, s->out->coords + 4 * i);
        for (int64_t k = 0; k < columns; k++) {
            mean[k] = s->sums ? pc_rounded_mean(s->sums[i * columns + k], count) : pc_one_nan(mean[k] / (float)count);
            s->inexact[piece] = s->inexact[piece] || (s->sums && mean[k] != mean[k]);
        }
    }
}

/* ---- means that were not exact --------------------------------------------------------------------------------- */

static void repair_piece(void *state, int piece) {
    const summer *s = state;
    const pc_voxelizer *v = s->v;
    const int columns = v->job->columns;
    const int64_t end = pc_piece_begin(v, s->out, piece + 1);
    for (int64_t i = pc_piece_begin(v, s->out, piece); i < end; i++) {
        float *mean = s->out->features + i * columns;
        for (int k = 0; k < columns; k++) {
            if (mean[k] != mean[k]) {
                mean[k] = pc_voxel_mean(v->job->data, columns, v->order + v->starts[i], s->out->counts[i], k, true);
            }
        }
    }
}

/* Exact sums from the points, after the voxels are known. */
static bool repair_means(summer *s) {
    pc_voxelizer *v = s->v;
    if (!pc_start_cursors(v, s->out) || !pc_start_order(v, s->out)) {
        return false;
    }
    for (int64_t i = 0; i < v->job->rows; i++) {
        const int32_t voxel = s->out->point_voxel[i];
        if (voxel >= 0) {
            v->order[v->starts[voxel] + v->cursors[voxel]++] = (int32_t)i;
        }
    }
    pc_team_run(v->scratch->team, pc_pieces(v), repair_piece, s);
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

bool pc_can_sum(const pc_voxelizer *v) {
    return v->job->features == PCGPU_FEATURES_MEAN && (v->numbered.parts == 1 || v->job->max_points == 0);
}

bool pc_voxelize_by_sums(pc_voxelizer *v, pcgpu_voxels *out) {
    const int parts = v->numbered.parts, pieces = pc_pieces(v);
    summer s = {.v = v, .out = out};
    if (v->job->max_points != 0 && !pc_start_cursors(v, out)) {
        return false;
    }
    pc_team_run(v->scratch->team, parts, sum_part, &s);
    for (int p = 0; p < parts; p++) {
        if (s.failed[p]) {
            return false;
        }
    }
    if (parts > 1) {
        const size_t bytes = (size_t)(out->count * v->job->columns + 1) * sizeof *s.sums;
        if (!pc_buffer_take(&v->scratch->sums, bytes, false)) {
            return false;
        }
        s.sums = v->scratch->sums.memory;
        pc_team_run(v->scratch->team, parts, join_partition, &s);
    } else if (v->job->max_points == 0) {
        s.sums = v->scratch->part[0].sums.memory;
    }
    pc_team_run(v->scratch->team, pieces, divide_piece, &s);
    for (int i = 0; i < pieces; i++) {
        if (s.inexact[i]) {
            return repair_means(&s);
        }
    }
    return true;
}
