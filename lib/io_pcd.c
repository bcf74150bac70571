/* placeholder */
#include "io.h"
const pc_format pc_format_pcd = {.info = {.name = "pcd"}};
