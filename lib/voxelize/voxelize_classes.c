/* The classes of voxels. A mean of classes is no class: a voxel has the class of most of its kept points, the lowest of
 * several such, or that of its first kept point. The index of the voxel of each point comes from any device, and the
 * rest is done here, so all devices give the same bytes.
 *
 * Votes are counted in a hash table of the pairs of a voxel and a class, so the time is linear in the points and the
 * memory follows the pairs. */
#include "context.h"
#include "voxelize_grid.h"

#include <stdlib.h>

enum { LEAST_BITS = 12, LEAST_BLOCK = 1 << 16, BYTES_PER_VOXEL = 256 };

typedef struct vote {
    uint32_t voxel; /* from the first of the block */
    float class;
    int64_t count; /* 0: the slot is empty */
} vote;

typedef struct votes {
    vote *slots;
    int64_t used;
    int bits;      /* of the number of slots */
    int64_t *most; /* votes for the class of each voxel of the block */
} votes;

/* The slot of a pair. */
static vote *find_slot(const votes *v, uint32_t voxel, float class) {
    const size_t mask = ((size_t)1 << v->bits) - 1;
    uint32_t value;
    memcpy(&value, &class, sizeof value);
    size_t s = (size_t)(pc_hash64((uint64_t)voxel << 32 | value) >> (64 - v->bits));
    while (v->slots[s].count > 0 && (v->slots[s].voxel != voxel || v->slots[s].class != class)) {
        s = (s + 1) & mask;
    }
    return &v->slots[s];
}

/* Makes space for one more pair: the table is at most half full. */
static bool make_space(votes *v) {
    if (v->bits && 2 * v->used < (int64_t)1 << v->bits) {
        return true;
    }
    const votes before = *v;
    v->bits = before.bits ? before.bits + 1 : LEAST_BITS;
    v->slots = calloc((size_t)1 << v->bits, sizeof *v->slots);
    if (!v->slots) {
        *v = before;
        return false;
    }
    for (size_t s = 0; before.bits && s < (size_t)1 << before.bits; s++) {
        if (before.slots[s].count > 0) {
            *find_slot(v, before.slots[s].voxel, before.slots[s].class) = before.slots[s];
        }
    }
    free(before.slots);
    return true;
}

/* Gives voxels from `begin` on the class of most votes, and empties the table. */
static void end_votes(votes *v, int64_t begin, int column, pcgpu_voxels *voxels) {
    for (size_t s = 0; v->bits && s < (size_t)1 << v->bits; s++) {
        vote *a = &v->slots[s];
        float *class = voxels->features + (begin + a->voxel) * voxels->columns + column;
        int64_t *most = &v->most[a->voxel];
        if (a->count > 0 && (a->count > *most || (a->count == *most && a->class < *class))) {
            *class = a->class;
            *most = a->count;
        }
        a->count = 0;
    }
    v->used = 0;
}

/* ---- the records of a cloud -------------------------------------------------------------------------------------- */

typedef struct source {
    pcgpu_context *context;
    const pcgpu_cloud *cloud;
    pcgpu_pieces *pieces; /* of the cloud, which has no data then; or NULL */
    size_t memory;        /* for the votes of pieces */
} source;

/* Those of the next piece, or all; 0 rows behind the last, which `at` counts. */
static pcgpu_status next_records(const source *s, int64_t at, pcgpu_cloud *part) {
    *part = *s->cloud;
    part->rows = at > 0 ? 0 : part->rows;
    return s->pieces ? pcgpu_pieces_next(s->pieces, part) : PCGPU_OK;
}

/* Counts the votes for voxels [begin, end). */
static pcgpu_status add_votes(const source *s, int column, const pcgpu_voxels *voxels, int64_t begin, int64_t end,
                              votes *v) {
    pcgpu_cloud part;
    PC_TRY(next_records(s, 0, &part));
    for (int64_t at = 0; part.rows > 0;) {
        for (int64_t i = 0; i < part.rows; i++) {
            const int64_t voxel = voxels->point_voxel[at + i];
            if (voxel < begin || voxel >= end) {
                continue;
            }
            if (!make_space(v)) {
                return pc_fail_memory(s->context, sizeof *v->slots << (v->bits + 1), "the classes of the voxels");
            }
            const float class = part.data[i * part.columns + column];
            vote *to = find_slot(v, (uint32_t)(voxel - begin), class);
            v->used += to->count == 0;
            *to = (vote){(uint32_t)(voxel - begin), class, to->count + 1};
        }
        at += part.rows;
        PC_TRY(next_records(s, at, &part));
    }
    return PCGPU_OK;
}

/* A file in pieces is read once per block of voxels, so that the votes of a block fit into the memory. */
static pcgpu_status set_majority(const source *s, int column, pcgpu_voxels *voxels) {
    const int64_t part = (int64_t)(s->memory / BYTES_PER_VOXEL), least = LEAST_BLOCK;
    const int64_t block = !s->pieces ? voxels->count : part > least ? part : least;
    votes v = {0};
    pcgpu_status status = PCGPU_OK;
    for (int64_t begin = 0; begin < voxels->count && status == PCGPU_OK; begin += block) {
        v.most = calloc((size_t)block, sizeof *v.most);
        status = v.most ? add_votes(s, column, voxels, begin, begin + block, &v)
                        : pc_fail_memory(s->context, (uint64_t)block * sizeof *v.most, "the classes of the voxels");
        if (status == PCGPU_OK) {
            end_votes(&v, begin, column, voxels);
        }
        free(v.most);
    }
    free(v.slots);
    return status;
}

static pcgpu_status set_first(const source *s, int column, pcgpu_voxels *voxels) {
    pcgpu_cloud part;
    float *values = voxels->features + column;
    for (int64_t i = 0; i < voxels->count; i++) {
        values[i * voxels->columns] = NAN;
    }
    PC_TRY(next_records(s, 0, &part));
    for (int64_t at = 0; part.rows > 0;) {
        for (int64_t i = 0; i < part.rows; i++) {
            const int64_t to = (int64_t)voxels->point_voxel[at + i] * voxels->columns;
            if (to >= 0 && isnan(values[to])) {
                values[to] = part.data[i * part.columns + column];
            }
        }
        at += part.rows;
        PC_TRY(next_records(s, at, &part));
    }
    return PCGPU_OK;
}

/* ---- voxels ------------------------------------------------------------------------------------------------------ */

bool pc_cloud_has_classes(const pcgpu_cloud *cloud) {
    bool any = false;
    for (int k = 3; k < cloud->columns; k++) {
        any = any || pc_column_is_class(cloud, k);
    }
    return any;
}

static void warn_averaged(pcgpu_context *context, const pcgpu_cloud *cloud) {
    char names[256] = "";
    for (int k = 3; k < cloud->columns; k++) {
        const size_t n = strlen(names);
        if (pc_column_is_class(cloud, k)) {
            snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", cloud->names[k]);
        }
    }
    pc_log(context, PCGPU_LOG_WARNING,
           "the whole numbers of %s are averaged; leave --set voxel-labels out for the most frequent of each voxel",
           names);
}

/* The mean of integers is not an integer. */
static pcgpu_type type_of(const pcgpu_cloud *cloud, int k, const pcgpu_voxelize_params *params) {
    const pcgpu_type type = cloud->types[k];
    const bool keeps = k >= 3 && params->voxel_labels != PCGPU_VOXEL_LABELS_MEAN && pc_column_is_class(cloud, k);
    return params->features != PCGPU_FEATURES_MEAN || keeps || type == PCGPU_FLOAT64 ? type : PCGPU_FLOAT32;
}

pcgpu_status pc_voxels_set_classes(pcgpu_context *context, const pcgpu_cloud *cloud, pcgpu_pieces *pieces,
                                   size_t memory, const pcgpu_voxelize_params *params, pcgpu_voxels *voxels) {
    const source s = {context, cloud, pieces, memory};
    const bool means = params->features == PCGPU_FEATURES_MEAN,
               averages = params->voxel_labels == PCGPU_VOXEL_LABELS_MEAN;
    pcgpu_status status = PCGPU_OK;
    for (int k = 0; k < cloud->columns && params->features != PCGPU_FEATURES_PILLAR; k++) {
        voxels->types[k] = (uint8_t)type_of(cloud, k, params);
    }
    if (means && averages && pc_cloud_has_classes(cloud)) {
        warn_averaged(context, cloud);
    }
    for (int k = 3; k < cloud->columns && status == PCGPU_OK && means && !averages; k++) {
        if (pc_column_is_class(cloud, k)) {
            status = params->voxel_labels == PCGPU_VOXEL_LABELS_FIRST ? set_first(&s, k, voxels)
                                                                      : set_majority(&s, k, voxels);
        }
    }
    if (status != PCGPU_OK) {
        pcgpu_voxels_free(voxels);
    }
    return status;
}
