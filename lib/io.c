/* The table of formats and the entry points of reading and writing. */
#include "io.h"

#include <errno.h>
#include <string.h>

static const pc_format *const formats[] = {&pc_format_bin, &pc_format_ply, &pc_format_ply_ascii,
                                           &pc_format_pcd, &pc_format_npy, &pc_format_npz};
enum { FORMATS = sizeof formats / sizeof formats[0] };

const pcgpu_format_info *pcgpu_format_at(int i) {
    return i >= 0 && i < FORMATS ? &formats[i]->info : NULL;
}
