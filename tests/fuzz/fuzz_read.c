/* libFuzzer's entry for the reader of FORMAT. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_check_read(FORMAT, data, size);
    return 0;
}
