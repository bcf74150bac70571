/* Arrays next to a cloud, as text. */
#include "arrays.h"
#include "numbers.h"

#include <inttypes.h>

void array_write_text(FILE *stream, const pcgpu_array *array) {
    char buffer[NUMBER_SIZE];
    int64_t columns = 1;
    for (int k = 1; k < array->dimensions; k++) {
        columns *= array->shape[k];
    }
    for (int64_t i = 0; i < array->shape[0] * columns; i++) {
        const char *end = (i + 1) % columns ? " " : "\n";
        if (array->type == PCGPU_INT32) {
            fprintf(stream, "%" PRId32 "%s", ((const int32_t *)array->data)[i], end);
        } else if (array->type == PCGPU_INT64) {
            fprintf(stream, "%" PRId64 "%s", ((const int64_t *)array->data)[i], end);
        } else {
            fprintf(stream, "%s%s", number_text((double)((const float *)array->data)[i], true, buffer), end);
        }
    }
}
