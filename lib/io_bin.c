/* placeholder */
#include "io.h"
const pc_format pc_format_bin = {.info = {.name = "bin"}};
