/* placeholder */
#include "io.h"
const pc_format pc_format_ply = {.info = {.name = "ply"}};
const pc_format pc_format_ply_ascii = {.info = {.name = "ply-ascii"}};
