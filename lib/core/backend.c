/* The choice of a back end. */
#include "backend.h"

#include <string.h>

/* Seconds to create a CUDA context and to end a process that has one, measured on an H200 (0.19 to 0.22, 0.09); part of
 * AUTO's decision only. */
#define CUDA_START_SECONDS 0.3

/* AUTO does not use the device any more; keeps the error as the reason. */
static void give_up_cuda(pcgpu_context *context) {
    context->cuda_failed = true;
    snprintf(context->cuda_why_not, sizeof context->cuda_why_not, "%.255s", context->errors.text);
    pc_clear_error(context);
}

bool pc_goes_to_cpu(pcgpu_context *context, const pc_backend *backend, pcgpu_status status) {
    const bool fails = status == PCGPU_ERROR_MEMORY || status == PCGPU_ERROR_DEVICE;
    if (!fails || context->settings.device != PCGPU_DEVICE_AUTO || backend == context->cpu || context->cuda_failed) {
        return false;
    }
    give_up_cuda(context);
    pc_log(context, PCGPU_LOG_WARNING, "the CPU continues without the GPU: %s", context->cuda_why_not);
    return true;
}

/* Whether AUTO takes CUDA; starts the device if so. */
static bool auto_takes_cuda(pcgpu_context *context, double cpu_seconds, double cuda_seconds, pcgpu_run *run) {
    const pcgpu_settings *s = &context->settings;
    double start = context->cuda ? 0.0 : CUDA_START_SECONDS / (s->calls > 1 ? s->calls : 1);
    double cpu = cpu_seconds / context->threads / (s->contexts > 1 ? s->contexts : 1);
    if (context->cuda_failed) {
        snprintf(run->reason, sizeof run->reason, "%.95s", context->cuda_why_not);
        return false;
    }
    if (!context->gpu->sample) {
        snprintf(run->reason, sizeof run->reason, "this build has no CUDA");
        return false;
    }
    if (cuda_seconds + start >= cpu) {
        snprintf(run->reason, sizeof run->reason, "about %.2g s here; CUDA would need %.2g s with its start-up", cpu,
                 cuda_seconds + start);
        return false;
    }
    if (context->gpu->start(context) != PCGPU_OK) {
        give_up_cuda(context);
        snprintf(run->reason, sizeof run->reason, "%.95s", context->cuda_why_not);
        return false;
    }
    snprintf(run->reason, sizeof run->reason, "the work repays it: about %.2g s instead of %.2g s",
             cuda_seconds + start, cpu);
    return true;
}

pcgpu_status pc_choose_backend(pcgpu_context *context, double cpu_seconds, double cuda_seconds, pcgpu_run *run,
                               const pc_backend **backend) {
    bool cuda = false;
    if (context->settings.device == PCGPU_DEVICE_AUTO) {
        cuda = auto_takes_cuda(context, cpu_seconds, cuda_seconds, run);
    } else {
        cuda = context->settings.device == PCGPU_DEVICE_CUDA;
        snprintf(run->reason, sizeof run->reason, "it was asked for");
    }
    if (cuda && !context->cuda) {
        return pc_fail(context, PCGPU_ERROR_UNAVAILABLE, "CUDA is not usable; use --cpu");
    }
    const pc_backend *chosen = cuda ? context->gpu : context->cpu;
    PC_TRY(chosen->start(context)); /* another thread may have opened the context */
    *backend = chosen;
    run->threads = context->threads;
    snprintf(run->backend, sizeof run->backend, "%s", (*backend)->name);
    snprintf(run->device, sizeof run->device, "%s", cuda ? context->cuda_name : context->cpu_name);
    return PCGPU_OK;
}
