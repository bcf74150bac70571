/* Merges the voxels of parts with local ids:
 *
 *   1. each thread takes the voxels of all parts whose hash is in its partition, part by part, so that it sees the
 *      first part of a voxel first, and counts the records of the voxel in earlier parts
 *   2. a voxel is new in its first part; new voxels are counted part by part, and get their ids in this order
 *
 * which is the order of their first records, independent of the parts. */
#include "voxelize_cpu.h"

/* Assigns each voxel of a part to a partition; allocates the memory of the merge. */
static bool split_part(struct pc_voxel_part *part, int parts) {
    const pc_voxel_list *list = &part->list;
    size_t n = (size_t)list->found + 1;
    if (!pc_buffer_take(&part->to, n, false) || !pc_buffer_take(&part->hash, n * sizeof(uint32_t), false) ||
        !pc_buffer_take(&part->map, n * sizeof(int32_t), false) ||
        !pc_buffer_take(&part->before, n * sizeof(int32_t), false)) {
        return false;
    }
    uint8_t *to = part->to.memory;
    uint32_t *hash = part->hash.memory;
    for (int64_t e = 0; e < list->found; e++) {
        hash[e] = pc_hash_of_key(&list->layout, list->voxels[e + 1].key);
        to[e] = (uint8_t)((uint64_t)hash[e] * (uint64_t)parts >> 32);
    }
    return true;
}

/* Merges the voxels of the partition among the n voxels of a part from `begin` on. */
static void merge_block(const struct pc_voxel_part *part, int which, int64_t begin, int32_t n,
                        pc_voxel_list *partition) {
    const uint8_t *to = (const uint8_t *)part->to.memory + begin;
    const uint32_t *hash = (const uint32_t *)part->hash.memory + begin;
    const pc_cell_voxel *voxels = part->list.voxels + 1 + begin;
    int32_t *map = (int32_t *)part->map.memory + begin, *before = (int32_t *)part->before.memory + begin;
    uint16_t mine[PC_CELL_BLOCK];
    int32_t count = 0;
    for (int32_t e = 0; e < n; e++) {
        mine[count] = (uint16_t)e;
        count += to[e] == which;
    }
    for (int32_t i = 0; i < count; i++) {
        __builtin_prefetch(&partition->table[hash[mine[i]] & (partition->slots - 1)]);
    }
    for (int32_t i = 0; i < count; i++) {
        const int32_t e = mine[i];
        const uint32_t id = pc_list_add(partition, voxels[e].key, hash[e], voxels[e].first, voxels[e].points);
        map[e] = (int32_t)id;
        before[e] = partition->voxels[id].points - voxels[e].points;
    }
}

/* Merges one partition, and counts in new_ones[] the voxels whose first part is this one. The maps have ids within the
 * partition. */
static bool merge_partition(pc_voxel_scratch *scratch, int parts, int which, int64_t *new_ones) {
    pc_voxel_list *partition = &scratch->part[which].partition;
    int64_t all = 0;
    for (int p = 0; p < parts; p++) {
        all += scratch->part[p].list.found;
    }
    if (!pc_list_start(partition, &scratch->part[0].list.layout, all / parts)) {
        return false;
    }
    for (int p = 0; p < parts; p++) {
        const struct pc_voxel_part *part = &scratch->part[p];
        const int64_t found = partition->found;
        for (int64_t e = 0; e < part->list.found; e += PC_CELL_BLOCK) {
            const int64_t n = part->list.found - e < PC_CELL_BLOCK ? part->list.found - e : PC_CELL_BLOCK;
            if (!pc_list_reserve(partition, PC_CELL_BLOCK)) {
                return false;
            }
            merge_block(part, which, e, (int32_t)n, partition);
        }
        new_ones[p] = partition->found - found;
    }
    pc_buffer *numbers = &scratch->part[which].partition_voxel;
    return pc_buffer_take(numbers, ((size_t)partition->found + 1) * sizeof(int32_t), false);
}

/* Assigns ids, from `next` on, to the voxels whose first part is this one, and describes them. */
static void number_new(pc_voxel_scratch *scratch, int p, int64_t next, pc_cell_voxel *voxels) {
    const struct pc_voxel_part *part = &scratch->part[p];
    const uint8_t *to = part->to.memory;
    const int32_t *map = part->map.memory;
    for (int64_t e = 0; e < part->list.found; e++) {
        const struct pc_voxel_part *partition = &scratch->part[to[e]];
        const pc_cell_voxel v = partition->partition.voxels[map[e]];
        if (v.first == part->list.voxels[e + 1].first) {
            ((int32_t *)partition->partition_voxel.memory)[map[e]] = (int32_t)next;
            voxels[next++] = v;
        }
    }
}

typedef struct merger {
    pc_voxel_scratch *scratch;
    int parts;
    int64_t starts[PC_VOXEL_PARTS];
    bool failed[PC_VOXEL_PARTS];
    pc_cell_voxel *voxels;
} merger;

static void split_one(void *state, int p) {
    merger *m = state;
    m->failed[p] = !split_part(&m->scratch->part[p], m->parts);
}

static void merge_one(void *state, int which) {
    merger *m = state;
    m->failed[which] = !merge_partition(m->scratch, m->parts, which, m->scratch->new_ones[which]);
}

static void number_one(void *state, int p) {
    merger *m = state;
    number_new(m->scratch, p, m->starts[p], m->voxels);
}

bool pc_merge_parts(pc_voxel_scratch *scratch, pc_numbered *out) {
    merger m = {.scratch = scratch, .parts = out->parts};
    pc_team_run(scratch->team, m.parts, split_one, &m);
    for (int p = 0; p < m.parts; p++) {
        if (m.failed[p]) {
            return false;
        }
    }
    pc_team_run(scratch->team, m.parts, merge_one, &m);
    for (int p = 0; p < m.parts; p++) {
        m.starts[p] = out->found;
        for (int which = 0; which < m.parts; which++) {
            if (m.failed[which]) {
                return false;
            }
            out->found += scratch->new_ones[which][p];
        }
    }
    if (!pc_buffer_take(&scratch->voxels, (size_t)(out->found + 1) * sizeof *out->voxels, false)) {
        return false;
    }
    out->voxels = m.voxels = scratch->voxels.memory;
    pc_team_run(scratch->team, m.parts, number_one, &m);
    return true;
}

pc_part_map pc_map_part(pc_voxel_scratch *scratch, const pc_numbered *numbered, int part) {
    struct pc_voxel_part *own = &scratch->part[part];
    if (numbered->parts == 1) {
        return (pc_part_map){NULL, NULL};
    }
    const uint8_t *to = own->to.memory;
    int32_t *map = own->map.memory;
    for (int64_t e = 0; e < own->list.found; e++) {
        map[e] = ((const int32_t *)scratch->part[to[e]].partition_voxel.memory)[map[e]];
    }
    return (pc_part_map){map, own->before.memory};
}
