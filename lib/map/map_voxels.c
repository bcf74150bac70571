/* The voxels of a tile: the sums of its records, and normals from the moments of a voxel and its 26 neighbours. */
#include "icp_math.h"
#include "map.h"

#include <string.h>

/* ---- records to voxels ------------------------------------------------------------------------------------------- */

/* All records of a tile, in memory and in the file. */
static pcgpu_status gather(pcgpu_map *m, const pc_map_tile *tile, pc_map_voxels *v, int64_t *n) {
    int64_t count = tile->count;
    for (int32_t r = tile->runs; r >= 0; r = m->tiles.runs[r].next) {
        count += m->tiles.runs[r].records;
    }
    pc_map_record *records = pc_buffer_take(&v->records, ((size_t)count + 1) * sizeof *records, false);
    if (!records || count > INT32_MAX) {
        return pc_fail_memory(m->context, (uint64_t)count * sizeof *records, "the voxels of a tile");
    }
    if (tile->count > 0) {
        memcpy(records, tile->records, (size_t)tile->count * sizeof *records);
    }
    *n = tile->count;
    for (int32_t r = tile->runs; r >= 0; r = m->tiles.runs[r].next) {
        const pc_map_run *run = &m->tiles.runs[r];
        PC_TRY(
            pc_map_file_read(m->context, &m->file, run->where, records + *n, (size_t)run->records * sizeof *records));
        *n += run->records;
    }
    return PCGPU_OK;
}

/* Keys and records, sorted by the 24 bits of the voxel, then, if there are labels, by those of the label. */
static uint64_t *sort(const pc_map_record *records, int64_t n, bool labels, uint64_t *order) {
    uint64_t *from = order, *to = order + n;
    for (int64_t i = 0; i < n; i++) {
        from[i] = (uint64_t)records[i].key << 32 | (uint64_t)i;
    }
    for (int pass = labels ? 0 : 1; pass < 4; pass++) {
        const int shift = 32 + PC_MAP_SIDE_BITS * (pass == 0 ? 3 : pass - 1);
        int64_t starts[PC_MAP_SIDE + 1] = {0};
        for (int64_t i = 0; i < n; i++) {
            starts[(from[i] >> shift & (PC_MAP_SIDE - 1)) + 1]++;
        }
        for (int k = 0; k < PC_MAP_SIDE; k++) {
            starts[k + 1] += starts[k];
        }
        for (int64_t i = 0; i < n; i++) {
            to[starts[from[i] >> shift & (PC_MAP_SIDE - 1)]++] = from[i];
        }
        uint64_t *other = from;
        from = to;
        to = other;
    }
    return from;
}

static void add_record(pc_map_voxel *v, const pc_map_record *r) {
    v->first = v->points == 0 || r->first < v->first ? r->first : v->first;
    v->seen += r->seen;
    v->points += r->points;
    v->intensity += r->intensity;
    for (int k = 0; k < 3; k++) {
        v->sum[k] += r->sum[k];
    }
    for (int k = 0; k < 6; k++) {
        v->moment[k] += r->moment[k];
    }
}

static int64_t merge(const pcgpu_map *m, const pc_map_record *records, const uint64_t *order, int64_t n,
                     pc_map_voxel *voxels) {
    int64_t count = 0, votes = 0, most = 0;
    uint32_t last = 0;
    for (int64_t i = 0; i < n; i++) {
        const pc_map_record *r = &records[order[i] & UINT32_MAX];
        const uint32_t number = r->key >> 3 * PC_MAP_SIDE_BITS, key = r->key & ((1u << 3 * PC_MAP_SIDE_BITS) - 1);
        if (count == 0 || voxels[count - 1].key != key) {
            voxels[count++] = (pc_map_voxel){.key = key};
            most = 0;
        }
        pc_map_voxel *v = &voxels[count - 1];
        if (number == 0) {
            add_record(v, r);
            continue;
        }
        votes = r->key == last ? votes + r->points : r->points;
        last = r->key;
        if (votes > most || (votes == most && m->labels[number] < v->label)) {
            most = votes;
            v->label = m->labels[number];
        }
    }
    return count;
}

/* ---- normals ----------------------------------------------------------------------------------------------------- */

/* Moments of the points of voxel `b` relative to the middle of another one, (x, y, z) voxels before it; exact. */
static void add_moments(const pc_map_voxel *b, int64_t x, int64_t y, int64_t z, int64_t sums[10]) {
    const int64_t o[3] = {x * PC_MAP_STEPS, y * PC_MAP_STEPS, z * PC_MAP_STEPS}, n = b->points;
    int64_t s[3];
    int t = 4;
    sums[0] += n;
    for (int k = 0; k < 3; k++) {
        s[k] = b->sum[k] - n * PC_MAP_HALF;
        sums[1 + k] += s[k] + n * o[k];
    }
    for (int i = 0; i < 3; i++) {
        for (int k = i; k < 3; k++, t++) {
            sums[t] += b->moment[t - 4] + (o[i] * s[k] + o[k] * s[i]) + n * o[i] * o[k];
        }
    }
}

/* The first voxel from `at` on whose key is not less. */
static int64_t seek(const pc_map_voxels *v, int64_t at, uint32_t key) {
    while (at < v->count && v->voxels[at].key < key) {
        at++;
    }
    return at;
}

static int64_t search(const pc_map_voxels *v, uint32_t key) {
    int64_t low = 0, high = v->count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (v->voxels[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int pc_map_neighbours(const pc_map_voxels *v, int64_t i, int64_t cursors[9], int64_t near[27]) {
    const uint32_t key = v->voxels[i].key;
    const int x = key & (PC_MAP_SIDE - 1), y = key >> PC_MAP_SIDE_BITS & (PC_MAP_SIDE - 1),
              z = (int)(key >> 2 * PC_MAP_SIDE_BITS);
    int count = 0;
    for (int row = 0; row < 9; row++) {
        const int dy = row % 3 - 1, dz = row / 3 - 1;
        if (y + dy < 0 || y + dy >= PC_MAP_SIDE || z + dz < 0 || z + dz >= PC_MAP_SIDE) {
            continue;
        }
        const uint32_t line = (uint32_t)(z + dz) << 2 * PC_MAP_SIDE_BITS | (uint32_t)(y + dy) << PC_MAP_SIDE_BITS;
        const uint32_t low = line | (uint32_t)(x > 0 ? x - 1 : 0),
                       high = line | (uint32_t)(x < PC_MAP_SIDE - 1 ? x + 1 : x);
        cursors[row] = cursors[row] < 0 ? search(v, low) : seek(v, cursors[row], low);
        for (int64_t k = cursors[row]; k < v->count && v->voxels[k].key <= high; k++) {
            near[count++] = k;
        }
    }
    return count;
}

static int64_t away(uint32_t to, uint32_t from, int axis) {
    const int shift = PC_MAP_SIDE_BITS * axis;
    return (int64_t)(to >> shift & (PC_MAP_SIDE - 1)) - (int64_t)(from >> shift & (PC_MAP_SIDE - 1));
}

static void find_normal(const pc_map_voxels *v, int64_t i, int64_t cursors[9], float normal[3]) {
    const uint32_t key = v->voxels[i].key;
    int64_t sums[10] = {0}, near[27];
    const int count = pc_map_neighbours(v, i, cursors, near);
    for (int k = 0; k < count; k++) {
        const pc_map_voxel *b = &v->voxels[near[k]];
        add_moments(b, away(b->key, key, 0), away(b->key, key, 1), away(b->key, key, 2), sums);
    }
    const pc_icp_moments moments = {(double)sums[0], (double)sums[1], (double)sums[2], (double)sums[3],
                                    (double)sums[4], (double)sums[5], (double)sums[6], (double)sums[7],
                                    (double)sums[8], (double)sums[9]};
    pc_icp_plane(&moments, normal);
}

typedef struct finding {
    pc_map_voxels *v;
    double voxel;
} finding;

static void find_normals(void *state, int64_t begin, int64_t end) {
    const finding *f = state;
    pc_map_voxels *v = f->v;
    int64_t cursors[9];
    memset(cursors, -1, sizeof cursors);
    for (int64_t i = begin; i < end; i++) {
        const pc_map_voxel *a = &v->voxels[i];
        float normal[3];
        find_normal(v, i, cursors, normal);
        for (int k = 0; k < 3; k++) {
            const double steps = ((double)a->sum[k] + 0.5 * (double)a->points) / (double)a->points;
            const double cell = (double)(a->key >> PC_MAP_SIDE_BITS * k & (PC_MAP_SIDE - 1));
            v->at[k][i] = (float)((cell + steps / PC_MAP_STEPS) * f->voxel);
            v->normal[k][i] = normal[k];
        }
    }
}

/* ---- a tile ------------------------------------------------------------------------------------------------------ */

static bool take_columns(pc_map_voxels *v) {
    const size_t n = (size_t)v->count + 1;
    float *columns =
        pc_buffer_take(&v->columns, n * (6 * sizeof *columns + 2 * sizeof *v->through + 2 * sizeof *v->moved), false);
    if (!columns) {
        return false;
    }
    for (size_t k = 0; k < 3; k++) {
        v->at[k] = columns + k * n;
        v->normal[k] = columns + (3 + k) * n;
    }
    v->through = (uint16_t *)(columns + 6 * n);
    v->agree = v->through + n;
    v->behind = (uint8_t *)(v->agree + n);
    v->moved = v->behind + n;
    memset(v->through, 0, n * (2 * sizeof *v->through + 2 * sizeof *v->moved));
    return true;
}

pcgpu_status pc_map_voxels_of(pcgpu_map *m, const pc_map_tile *tile, bool normals, pc_map_voxels *v) {
    enum { CHUNK = 4096 };
    int64_t n = 0;
    PC_TRY(gather(m, tile, v, &n));
    uint64_t *order = pc_buffer_take(&v->order, 2 * ((size_t)n + 1) * sizeof *order, false);
    v->voxels = pc_buffer_take(&v->memory, ((size_t)n + 1) * sizeof *v->voxels, false);
    if (order && v->voxels) {
        v->count = merge(m, v->records.memory, sort(v->records.memory, n, m->label_count > 0, order), n, v->voxels);
    }
    if (!order || !v->voxels || !take_columns(v)) {
        return pc_fail_memory(m->context, (uint64_t)n * sizeof *v->voxels, "the voxels of a tile");
    }
    finding f = {v, m->stats.params.voxel};
    pc_run_ranges(m->context, normals ? v->count : 0, CHUNK, find_normals, &f);
    return PCGPU_OK;
}

void pc_map_voxels_free(pc_map_voxels *v) {
    pc_buffer_free(&v->records);
    pc_buffer_free(&v->order);
    pc_buffer_free(&v->memory);
    pc_buffer_free(&v->columns);
}
