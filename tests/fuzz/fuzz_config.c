/* libFuzzer's entry for configuration files, and for other files that the program reads itself. */
#include "fuzz.h"

#ifndef CHECK
#define CHECK fuzz_check_config
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    CHECK(data, size);
    return 0;
}
