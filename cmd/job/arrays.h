/* Arrays next to a cloud, as text. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "pcgpu.h"

/* Whether an array that goes to a file of this name is written as text: NAME.txt. */
bool array_is_text(const char *path);
/* One line for each entry of the first dimension, values separated by blanks; float32 reads back exactly. The array
 * holds int32 or float32. */
void array_write_text(FILE *stream, const pcgpu_array *array);

#endif
