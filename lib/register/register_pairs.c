/* Registration of several pairs. */
#include "register.h"

#include <stdlib.h>

pcgpu_status pc_register_check_count(pcgpu_context *context, int count) {
    enum { MOST_PAIRS = 1 << 30 };
    return count >= 0 && count <= MOST_PAIRS
               ? PCGPU_OK
               : pc_fail(context, PCGPU_ERROR_ARGUMENT, "%d pairs; give 0 to %d", count, MOST_PAIRS);
}

static pcgpu_status register_pairs(pcgpu_context *context, const pc_backend *backend, const pcgpu_run *run,
                                   const pcgpu_register_params *params, const pcgpu_pair *pairs, int count,
                                   pcgpu_registration *results) {
    pcgpu_register_params *settled = malloc((size_t)count * sizeof *settled);
    pcgpu_status status;
    if (!settled) {
        return pc_fail_memory(context, (size_t)count * sizeof *settled, "the pairs");
    }
    for (int i = 0; i < count; i++) {
        PC_TRY_OR(done, status, pc_register_settle_scan(context, params, pairs[i].target, &settled[i]));
    }
    status = pc_register_set(context, backend, run, settled, NULL, pairs, count, pc_register_pair, results);
done:
    free(settled);
    return status;
}

pcgpu_status pcgpu_register_pairs(pcgpu_context *context, const pcgpu_pair *pairs, int count,
                                  const pcgpu_register_params *params, pcgpu_registration *results) {
    const pc_backend *backend = NULL;
    pcgpu_run run = {0};
    double points = 0.0;
    pc_clear_error(context);
    PC_TRY(pc_register_check_count(context, count));
    for (int i = 0; i < count; i++) {
        points += (double)(pairs[i].source->rows + pairs[i].target->rows);
    }
    pcgpu_status status = pc_register_check(context, params);
    if (status == PCGPU_OK && count > 0) {
        do {
            status = pc_register_choose(context, params, points, count, &run, &backend);
            if (status == PCGPU_OK) {
                status = register_pairs(context, backend, &run, params, pairs, count, results);
            }
        } while (pc_goes_to_cpu(context, backend, status));
    }
    for (int i = 0; i < count && status != PCGPU_OK; i++) {
        results[i] = (pcgpu_registration){0};
    }
    return status;
}
