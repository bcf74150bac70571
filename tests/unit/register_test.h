/* What the tests of registration through the library share. Included after cmocka.h. */
#ifndef REGISTER_TEST_H
#define REGISTER_TEST_H

#include "pcgpu.h"

/* On the CPU, so that the machine does not matter. */
static pcgpu_context *open_context(int threads) {
    pcgpu_settings settings;
    pcgpu_context *context;
    pcgpu_settings_init(&settings);
    settings.device = PCGPU_DEVICE_CPU;
    settings.threads = threads;
    assert_int_equal(pcgpu_open(&settings, &context), PCGPU_OK);
    return context;
}

#endif
