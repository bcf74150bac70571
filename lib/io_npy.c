/* placeholder */
#include "io.h"
const pc_format pc_format_npy = {.info = {.name = "npy"}};
