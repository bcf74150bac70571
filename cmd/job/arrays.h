/* Arrays next to a cloud, as text. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "pcgpu.h"

/* Writes one line per entry of the first dimension, with blanks between the values. float32 values read back exactly.
 * The array has int32 or float32. */
void array_write_text(FILE *stream, const pcgpu_array *array);

#endif
