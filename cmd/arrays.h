/* Arrays next to a cloud: as text, and record indices read back. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "pcgpu.h"

/* Whether an array that goes to a file of this name is written as text: NAME.txt. */
bool array_is_text(const char *path);
/* One line for each entry of the first dimension, values separated by blanks; float32 reads back exactly. The array
 * holds int32 or float32. */
void array_write_text(FILE *stream, const pcgpu_array *array);

/* Reads record indices: what --indices writes. By its name a file is .npy (one dimension of whole numbers) or .txt (one
 * index a line); any other is text when it holds nothing but text, else int32 little-endian. *records is malloc'd. On
 * failure `why` is a sentence without the file's name. */
bool records_read(FILE *stream, const char *path, int32_t **records, int64_t *count, char *why, size_t why_size);

#endif
