/* Loops: registration of two places. Surfaces are compared between the maps of both places, by method NDT; what the
 * sensors saw through between the scans in their middles, since maps have been seen from many points. */
#include "loops.h"
#include "ndt.h"

#include <stdlib.h>
#include <string.h>

enum { TRIED_STARTS = 3 };

/* A wrong place is worse than none. */
#define SEARCHED_SCORE 1.3

typedef struct place_clouds {
    pcgpu_cloud map, scan;
} place_clouds;

static bool unpack(const pcgpu_loops *l, int32_t place, place_clouds *c) {
    const pc_place *p = &l->places[place];
    const double voxel = l->params.registration.voxel;
    *c = (place_clouds){0};
    return pc_place_unpack(&p->map, voxel, NULL, &c->map) && pc_place_unpack(&p->scan, voxel, NULL, &c->scan);
}

static void release(place_clouds *c) {
    free(c->map.data);
    free(c->scan.data);
}

static pcgpu_status register_maps(pcgpu_loops *l, const pcgpu_register_params *params, const place_clouds *source,
                                  const place_clouds *target, pcgpu_registration *r) {
    const double rows = (double)(source->map.rows + target->map.rows);
    const pc_backend *backend = NULL;
    pcgpu_run run = {0};
    pcgpu_status status;
    do {
        status = pc_register_choose(l->context, params, rows, 1, &run, &backend);
        if (status == PCGPU_OK) {
            pc_register_work w;
            pc_register_open(&w, l->context, backend, &run, params, r);
            pc_register_attach_clouds(&w, &source->scan, &target->scan);
            status = pc_register_close(&w, pc_register_ndt(&w, &source->map, &target->map));
        }
    } while (pc_goes_to_cpu(l->context, backend, status));
    return status;
}

static pcgpu_status register_from(pcgpu_loops *l, const place_clouds clouds[2], const double start[16], double least,
                                  pc_link *link, bool *converged) {
    pcgpu_register_params params = l->params.registration;
    pcgpu_registration r;
    params.min_score = fmin(least, 1.0);
    memcpy(params.init, start, sizeof params.init);
    PC_TRY(register_maps(l, &params, &clouds[1], &clouds[0], &r));
    l->tried++;
    *converged = r.converged;
    memcpy(link->T_from_to, r.T_target_source, sizeof link->T_from_to);
    link->score = r.score;
    return PCGPU_OK;
}

static pcgpu_status take_clouds(pcgpu_loops *l, const pc_link *link, place_clouds clouds[2]) {
    const bool first = unpack(l, link->from, &clouds[0]), second = unpack(l, link->to, &clouds[1]);
    return first && second ? PCGPU_OK : pc_fail_memory(l->context, 1 << 22, "two places");
}

pcgpu_status pc_loops_register(pcgpu_loops *l, int32_t from, int32_t to, const double start[16], double least,
                               pc_link *link, bool *converged) {
    place_clouds clouds[2];
    *link = (pc_link){.from = from, .to = to};
    *converged = false;
    pcgpu_status status;
    PC_TRY_OR(done, status, take_clouds(l, link, clouds));
    status = register_from(l, clouds, start, least, link, converged);
done:
    release(&clouds[0]);
    release(&clouds[1]);
    return status;
}

pcgpu_status pc_loops_search(pcgpu_loops *l, int32_t from, int32_t to, const double start[16], double degrees,
                             pc_link *link, bool *converged) {
    const double least = SEARCHED_SCORE * l->params.registration.min_score;
    place_clouds clouds[2];
    pcgpu_cloud moved = {0};
    pc_start starts[PC_STARTS];
    int count = 0;
    *link = (pc_link){.from = from, .to = to};
    *converged = false;
    pcgpu_status status;
    PC_TRY_OR(done, status, take_clouds(l, link, clouds));
    if (!pc_place_unpack(&l->places[to].map, l->params.registration.voxel, start, &moved)) {
        status = pc_fail_memory(l->context, 1 << 22, "a place");
        goto done;
    }
    PC_TRY_OR(done, status,
              pc_search_starts(l->context, &l->params.registration, degrees, &moved, &clouds[0].map, starts, &count));
    for (int i = 0; i < count && i < TRIED_STARTS && status == PCGPU_OK && !*converged; i++) {
        double T[16];
        pc_transform_multiply(starts[i].T, start, T);
        status = register_from(l, clouds, T, least, link, converged);
    }
done:
    free(moved.data);
    release(&clouds[0]);
    release(&clouds[1]);
    return status;
}
