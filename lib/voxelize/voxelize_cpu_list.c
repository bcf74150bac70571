/* The growth of a list of voxels and of its hash table; the lookup is in the header. */
#include "voxelize_cpu.h"

enum {
    FEWEST_SLOTS = 1024,
    MOST_FIRST_SLOTS = 1 << 20, /* of a table that may turn out to be far too large */
};

static bool set_slots(pc_voxel_list *list, size_t slots) {
    if (!pc_buffer_take(&list->table_block, slots * sizeof *list->table, false)) {
        return false;
    }
    list->table = list->table_block.memory;
    list->slots = slots;
    memset(list->table, 0, slots * sizeof *list->table);
    for (int64_t id = 1; id <= list->found; id++) {
        size_t at = pc_hash_of_key(&list->layout, list->voxels[id].key) & (slots - 1);
        while (list->table[at]) {
            at = (at + PC_LIST_STEP) & (slots - 1);
        }
        list->table[at] = (uint32_t)id;
    }
    return true;
}

bool pc_list_reserve(pc_voxel_list *list, size_t more) {
    size_t wanted = (size_t)list->found + more, slots = list->slots, bytes = (wanted + 1) * sizeof *list->voxels;
    if (bytes > list->voxel_block.bytes) {
        bytes = bytes < 2 * list->voxel_block.bytes ? 2 * list->voxel_block.bytes : bytes;
        if (!pc_buffer_take(&list->voxel_block, bytes, true)) {
            return false;
        }
        list->voxels = list->voxel_block.memory;
    }
    while (slots < 2 * wanted) {
        slots *= 2;
    }
    return slots == list->slots || set_slots(list, slots);
}

bool pc_list_start(pc_voxel_list *list, const pc_cell_layout *layout, int64_t expected) {
    size_t slots = FEWEST_SLOTS;
    while (slots < MOST_FIRST_SLOTS && (int64_t)slots < 2 * expected) {
        slots *= 2;
    }
    list->layout = *layout;
    list->found = 0;
    list->voxels = list->voxel_block.memory;
    if (!set_slots(list, slots) || !pc_list_reserve(list, slots / 2)) {
        return false;
    }
    list->voxels[0] = (pc_cell_voxel){0, 0, 0};
    return true;
}
