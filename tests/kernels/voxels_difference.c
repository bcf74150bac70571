#include "voxels_difference.h"

#include <string.h>

const char *voxels_difference(const pcgpu_voxels *a, const pcgpu_voxels *b, int64_t rows, bool selects) {
    size_t v = (size_t)a->count;
#define DIFFERS(member)                                                                                                \
    if (a->member != b->member) {                                                                                      \
        return #member;                                                                                                \
    }
    DIFFERS(voxels_found)
    DIFFERS(count)
    DIFFERS(capacity)
    DIFFERS(columns)
    DIFFERS(in_range)
    DIFFERS(kept)
    DIFFERS(out_of_range)
    DIFFERS(over_points)
    DIFFERS(over_voxels)
    DIFFERS(largest)
    DIFFERS(run.non_finite)
    DIFFERS(run.at_origin)
#undef DIFFERS
    if (memcmp(a->point_voxel, b->point_voxel, (size_t)rows * 4)) {
        return "point_voxel";
    }
    if (memcmp(a->counts, b->counts, v * 4) || memcmp(a->coords, b->coords, v * 16)) {
        return "counts or coords";
    }
    if (selects ? !b->selected || memcmp(a->selected, b->selected, v * 4) : b->selected != NULL) {
        return "selected";
    }
    return memcmp(a->features, b->features, v * (size_t)a->capacity * (size_t)a->columns * 4) ? "features" : NULL;
}
