/* A context of a test: without a CUDA device the program ends with exit code 77, for another reason with 1. */
#ifndef TEST_CONTEXT_H
#define TEST_CONTEXT_H

#include "pcgpu.h"

#include <stdio.h>
#include <stdlib.h>

static inline pcgpu_context *test_open(pcgpu_device device, int threads) {
    pcgpu_settings settings;
    pcgpu_context *context;
    pcgpu_settings_init(&settings);
    settings.device = device;
    settings.threads = threads;
    const pcgpu_status status = pcgpu_open(&settings, &context);
    if (status != PCGPU_OK) {
        const int absent = device == PCGPU_DEVICE_CUDA && status == PCGPU_ERROR_UNAVAILABLE;
        printf("%s: %s\n", absent ? "skipped" : "FAILED", pcgpu_last_error(context));
        pcgpu_close(context);
        exit(absent ? 77 : 1);
    }
    return context;
}

#endif
