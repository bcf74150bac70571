/* Registration of two clouds: from the given start, from those of a search, or from both. */
#include "register.h"

#include <string.h>

static pcgpu_status register_clouds(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                                    const pcgpu_register_params *params, const pcgpu_cloud *source,
                                    const pcgpu_cloud *target, pcgpu_registration *result) {
    if (params->search == PCGPU_SEARCH_ALWAYS) {
        return pc_register_search(context, backend, run, params, source, target, result);
    }
    PC_TRY(pc_register_once(context, backend, run, params, source, target, result));
    return pc_register_rescue(context, backend, run, params, source, target, result);
}

pcgpu_status pc_register_pair(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                              const pcgpu_register_params *params, const pcgpu_cloud *source, const pcgpu_cloud *target,
                              pcgpu_registration *result) {
    return pc_register_scans(context, backend, run, params, source, target, register_clouds, result);
}

pcgpu_status pcgpu_register(pcgpu_context *context, const pcgpu_cloud *source, const pcgpu_cloud *target,
                            const pcgpu_register_params *params, pcgpu_registration *result) {
    const pc_backend *backend = NULL;
    pcgpu_run run = {0};
    memset(result, 0, sizeof *result);
    pc_clear_error(context);
    pcgpu_register_params settled;
    pcgpu_status status;
    PC_TRY(pc_register_check(context, params));
    PC_TRY(pc_register_settle_scan(context, params, target, &settled));
    do {
        status = pc_register_choose(context, params, (double)(source->rows + target->rows), 1, &run, &backend);
        if (status == PCGPU_OK) {
            status = pc_register_pair(context, backend, &run, &settled, source, target, result);
        }
    } while (pc_goes_to_cpu(context, backend, status));
    return status;
}
