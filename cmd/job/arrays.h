/* Arrays next to a cloud, as text. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "pcgpu.h"

/* Whether an array is written as text to a file of this name: NAME.txt. */
bool array_is_text(const char *path);
/* Writes one line per entry of the first dimension, with blanks between the values. float32 values read back exactly.
 * The array has int32 or float32. */
void array_write_text(FILE *stream, const pcgpu_array *array);

#endif
