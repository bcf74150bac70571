/* placeholder */
#include "io.h"
const pc_format pc_format_npz = {.info = {.name = "npz"}};
