/* Arrays next to a cloud. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "pcgpu.h"

/* Writes one line per entry of the first dimension, with blanks between the values. float32 values read back exactly.
 * The array has int32 or float32. */
void array_write_text(FILE *stream, const pcgpu_array *array);

/* Coordinates in an array are those of the file: adds the offset of a cloud to a row. Returns the largest error of
 * rounding to float32. */
double array_add_offset(const double offset[3], float *row);

/* The nearest binary16 of IEEE 754, ties to even. Overflow gives an infinity; NaN stays NaN. */
uint16_t half_from_float(float value);

#endif
