/* The classes of voxels. A mean of classes is no class: a voxel has the class of most of its kept points, the lowest of
 * several such, or by --set voxel-labels=first that of its first kept point. The index of the voxel of each point comes
 * from any device, and the rest is done here, so all devices give the same bytes.
 *
 * Votes are counted in a hash table of the pairs of a voxel and a class, so the time is linear in the points and the
 * memory follows the pairs. */
#include "columns.h"
#include "geometry.h"
#include "voxelize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- the records of an input ------------------------------------------------------------------------------------- */

/* Those of the next piece, or all; 0 rows behind the last, which `at` counts. */
static int next_records(job *j, pcgpu_pieces *pieces, int64_t at, pcgpu_cloud *part) {
    *part = j->clouds[0];
    part->rows = at > 0 ? 0 : part->rows;
    return pieces ? job_code(j, pcgpu_pieces_next(pieces, part)) : EXIT_DONE;
}

/* Counts the votes for voxels [begin, end). */
static int add_votes(job *j, pcgpu_pieces *pieces, int column, const pcgpu_voxels *voxels, int64_t begin, int64_t end,
                     votes *v) {
    pcgpu_cloud part;
    PC_TRY(next_records(j, pieces, 0, &part));
    for (int64_t at = 0; part.rows > 0;) {
        for (int64_t i = 0; i < part.rows; i++) {
            const int64_t voxel = voxels->point_voxel[at + i];
            if (voxel < begin || voxel >= end) {
                continue;
            }
            if (!make_space(v)) {
                return report_error(j->names[0], "out of memory for the classes of the voxels");
            }
            const float class = part.data[i * part.columns + column];
            vote *to = find_slot(v, (uint32_t)(voxel - begin), class);
            v->used += to->count == 0;
            *to = (vote){(uint32_t)(voxel - begin), class, to->count + 1};
        }
        at += part.rows;
        PC_TRY(next_records(j, pieces, at, &part));
    }
    return EXIT_DONE;
}

/* A file in pieces is read once per block of voxels, so that the votes of a block fit into the memory. */
static int set_majority(job *j, pcgpu_pieces *pieces, size_t memory, int column, pcgpu_voxels *voxels) {
    const int64_t part = (int64_t)(memory / BYTES_PER_VOXEL), least = LEAST_BLOCK;
    const int64_t block = !pieces ? voxels->count : part > least ? part : least;
    votes v = {0};
    int code = EXIT_DONE;
    for (int64_t begin = 0; begin < voxels->count && code == EXIT_DONE; begin += block) {
        v.most = calloc((size_t)block, sizeof *v.most);
        code = v.most ? add_votes(j, pieces, column, voxels, begin, begin + block, &v)
                      : report_error(j->names[0], "out of memory for the classes of the voxels");
        if (code == EXIT_DONE) {
            end_votes(&v, begin, column, voxels);
        }
        free(v.most);
    }
    free(v.slots);
    return code;
}

static int set_first(job *j, pcgpu_pieces *pieces, int column, pcgpu_voxels *voxels) {
    pcgpu_cloud part;
    float *values = voxels->features + column;
    for (int64_t i = 0; i < voxels->count; i++) {
        values[i * voxels->columns] = NAN;
    }
    PC_TRY(next_records(j, pieces, 0, &part));
    for (int64_t at = 0; part.rows > 0;) {
        for (int64_t i = 0; i < part.rows; i++) {
            const int64_t to = (int64_t)voxels->point_voxel[at + i] * voxels->columns;
            if (to >= 0 && isnan(values[to])) {
                values[to] = part.data[i * part.columns + column];
            }
        }
        at += part.rows;
        PC_TRY(next_records(j, pieces, at, &part));
    }
    return EXIT_DONE;
}

/* ---- voxels ------------------------------------------------------------------------------------------------------ */

bool voxels_have_classes(const job *j) {
    bool any = false;
    for (int k = 3; k < j->clouds[0].columns; k++) {
        any = any || column_is_class(&j->clouds[0], k);
    }
    return any && voxelize_own(j->session->options)->voxelization == VOXELIZATION_HARD;
}

static void warn_averaged(const job *j) {
    char names[256] = "";
    for (int k = 3; k < j->clouds[0].columns; k++) {
        const size_t n = strlen(names);
        if (column_is_class(&j->clouds[0], k)) {
            snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", j->clouds[0].names[k]);
        }
    }
    report_warning(j->names[0],
                   "the whole numbers of %s are averaged; leave --set voxel-labels out for the most frequent of each "
                   "voxel",
                   names);
}

int voxels_set_classes(job *j, pcgpu_pieces *pieces, size_t memory, pcgpu_voxels *means) {
    int code = EXIT_DONE;
    const voxel_labels labels = voxelize_own(j->session->options)->labels;
    if (!voxels_have_classes(j)) {
        return EXIT_DONE;
    }
    if (labels == VOXEL_LABELS_MEAN) {
        warn_averaged(j);
        return EXIT_DONE;
    }
    for (int k = 3; k < j->clouds[0].columns && code == EXIT_DONE; k++) {
        if (column_is_class(&j->clouds[0], k)) {
            code = labels == VOXEL_LABELS_FIRST ? set_first(j, pieces, k, means)
                                                : set_majority(j, pieces, memory, k, means);
        }
    }
    if (code != EXIT_DONE) {
        pcgpu_voxels_free(means);
    }
    return code;
}
