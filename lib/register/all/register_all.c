/* Registration of a set of clouds: their features, all pairs, rounds of registrations and poses, and the result. */
#include "error.h"
#include "register_all.h"

#include <stdlib.h>
#include <string.h>

enum {
    TIES = 2,                             /* rounds */
    MOST_FEATURES = 8 * PC_FEATURES_MOST, /* of a cloud that is larger than most */
};

/* ---- the clouds -------------------------------------------------------------------------------------------------- */

/* The centroid of the usable points; counts the others. */
static void find_center(const pcgpu_cloud *cloud, bool drop_origin, double center[3], pcgpu_run *run) {
    double sum[3] = {0}, n = 0.0;
    for (int64_t i = 0; i < cloud->rows; i++) {
        const float *p = cloud->data + i * cloud->columns;
        const bool usable = pc_cloud_usable(cloud, p, drop_origin);
        for (int k = 0; k < 3 && usable; k++) {
            sum[k] += (double)p[k];
        }
        n += usable;
        const bool origin = !usable && pc_is_finite3(p[0], p[1], p[2]);
        run->at_origin += origin;
        run->non_finite += !usable && !origin;
    }
    run->points_in += cloud->rows;
    for (int k = 0; k < 3; k++) {
        center[k] = cloud->offset[k] + (n > 0.0 ? sum[k] / n : 0.0);
    }
}

/* Leaves out what the carrier returns in a scan and in the one before it, which are often of one sensor. */
static pcgpu_status leave_out_carriers(pc_all *a, const pcgpu_register_params *params) {
    pc_carrier *carriers = malloc((size_t)a->n * sizeof *carriers);
    pcgpu_status status = PCGPU_OK;
    if (!carriers) {
        return pc_fail_memory(a->context, (size_t)a->n * sizeof *carriers, "the clouds");
    }
    for (int i = 0; i < a->n; i++) {
        pc_carrier_find(a->context, params, a->scans[i].cloud, &carriers[i]);
    }
    for (int i = 0; i < a->n; i++) {
        const pc_carrier *other = &carriers[i > 0 ? i - 1 : 1];
        if (carriers[i].radius > 0.0f && other->radius > 0.0f) {
            PC_TRY_OR(done, status, pc_scan_leave_out(a->context, other, &a->scans[i], &a->run));
        }
    }
done:
    free(carriers);
    return status;
}

static pcgpu_status prepare(pc_all *a, const pcgpu_cloud *const *clouds, const pcgpu_register_params *params) {
    pcgpu_register_params own = *params;
    own.search = PCGPU_SEARCH_NEVER;
    own.min_range = own.beam_correction = 0.0; /* nothing is corrected twice */
    for (int i = 0; i < a->n; i++) {
        PC_TRY(pc_scan_take(a->context, clouds[i], params, &a->scans[i], &a->run));
    }
    PC_TRY(leave_out_carriers(a, params));
    for (int i = 0; i < a->n; i++) {
        const pcgpu_cloud *scan = a->scans[i].cloud;
        PC_TRY(pc_register_settle(a->context, &own, scan, &a->params[i]));
        find_center(scan, own.drop_origin, a->clouds[i].center, &a->run);
        a->clouds[i].group = i;
        a->seen[i] = pc_register_seen(scan, &a->views[i]);
    }
    return PCGPU_OK;
}

/* The voxel of features that is wide enough for half of the clouds. */
static double common_voxel(const pc_all *a) {
    double voxel = INFINITY;
    for (int i = 0; i < a->n; i++) {
        int enough = 0;
        for (int k = 0; k < a->n; k++) {
            enough += a->features[k].voxel <= a->features[i].voxel;
        }
        voxel = 2 * enough >= a->n ? fmin(voxel, a->features[i].voxel) : voxel;
    }
    return voxel;
}

/* Features by voxels of one size, where that can be. */
static pcgpu_status describe(pc_all *a) {
    int from_origin = 0;
    for (int i = 0; i < a->n; i++) {
        const pcgpu_register_params *p = &a->params[i];
        pc_view_make(a->context, &a->seen[i], 1, p->voxel);
        from_origin += pc_view_is_from_origin(a->views[i]);
        PC_TRY(pc_features_sample(a->context, p, a->scans[i].cloud, p->voxel, PC_FEATURES_MOST, &a->features[i]));
    }
    const double voxel = common_voxel(a);
    for (int i = 0; i < a->n; i++) {
        const pcgpu_register_params *p = &a->params[i];
        pc_features *f = &a->features[i];
        if (f->voxel != voxel) {
            PC_TRY(pc_features_sample(a->context, p, a->scans[i].cloud, voxel, MOST_FEATURES, f));
        }
        if (f->voxel != voxel) { /* much larger than the others: compared with those of its size */
            PC_TRY(pc_features_sample(a->context, p, a->scans[i].cloud, p->voxel, PC_FEATURES_MOST, f));
        }
        PC_TRY(pc_features_describe(a->context, a->scans[i].cloud, 2 * from_origin > a->n, f));
    }
    return PCGPU_OK;
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static int size_of(const pc_all *a, int group) {
    int size = 0;
    for (int i = 0; i < a->n; i++) {
        size += a->clouds[i].group == group;
    }
    return size;
}

/* Groups get numbers by their sizes. */
static void number_groups(pc_all *a, pcgpu_set *set) {
    for (set->groups = 0;; set->groups++) {
        int best = -1, most = 0;
        for (int i = 0; i < a->n; i++) { /* a group that has no number has the name of its first cloud, */
            const int size = set->clouds[i].group < 0 && a->clouds[i].group == i ? size_of(a, i) : 0;
            best = size > most ? i : best;
            most = size > most ? size : most;
        }
        if (best < 0) {
            break;
        }
        set->placed = set->groups == 0 && most > 1 ? most : set->placed;
        for (int i = 0; i < a->n; i++) {
            set->clouds[i].group = a->clouds[i].group == best ? set->groups : set->clouds[i].group;
        }
    }
}

static int by_target(const void *a, const void *b) {
    const pcgpu_set_link *p = a, *q = b;
    return p->target != q->target ? p->target - q->target : p->source - q->source;
}

static pcgpu_status fill(pc_all *a, pcgpu_set *set) {
    const size_t bytes = (size_t)a->n * sizeof *set->clouds;
    set->clouds = malloc(bytes);
    set->links = malloc(((size_t)a->link_count + 1) * sizeof *set->links);
    if (!set->clouds || !set->links) {
        return pc_fail_memory(a->context, bytes, "the poses");
    }
    set->count = a->n;
    memcpy(set->clouds, a->clouds, bytes);
    for (int i = 0; i < a->n; i++) {
        set->clouds[i].group = -1;
    }
    number_groups(a, set);
    for (int i = 0; i < a->link_count; i++) {
        const pc_all_link *l = &a->links[i];
        if (l->out) {
            set->refused++;
            continue;
        }
        set->links[set->link_count++] = l->found;
        set->clouds[l->found.source].links++;
        set->clouds[l->found.target].links++;
    }
    qsort(set->links, (size_t)set->link_count, sizeof *set->links, by_target);
    set->registered = a->registered;
    set->run = a->run;
    return PCGPU_OK;
}

/* ---- the set ----------------------------------------------------------------------------------------------------- */

static pcgpu_status allocate(pc_all *a) {
    const size_t n = (size_t)a->n, pairs = (size_t)pc_all_pair(a->n, 0);
    a->scans = calloc(n, sizeof *a->scans);
    a->params = malloc(n * sizeof *a->params);
    a->features = calloc(n, sizeof *a->features);
    a->seen = malloc(n * sizeof *a->seen);
    a->views = calloc(n, sizeof *a->views);
    a->clouds = calloc(n, sizeof *a->clouds);
    a->agree = malloc(pairs * sizeof *a->agree);
    const bool good = a->scans && a->params && a->features && a->seen && a->views && a->clouds && a->agree;
    return good ? PCGPU_OK : pc_fail_memory(a->context, pairs * sizeof *a->agree, "the clouds");
}

static void release(pc_all *a) {
    for (int i = 0; i < a->n; i++) {
        if (a->scans) {
            pc_scan_release(&a->scans[i]);
        }
        if (a->features) {
            pc_features_free(&a->features[i]);
        }
        if (a->views) {
            pc_view_drop(&a->views[i]);
        }
    }
    free(a->scans);
    free(a->params);
    free(a->features);
    free(a->seen);
    free(a->views);
    free(a->clouds);
    free(a->agree);
    pc_buffer_free(&a->link_memory);
}

static int groups_of(const pc_all *a) {
    int groups = 0;
    for (int i = 0; i < a->n; i++) {
        groups += a->clouds[i].group == i;
    }
    return groups;
}

static pcgpu_status register_set(pc_all *a) {
    int count, before;
    double begin = pc_now();
    PC_TRY(describe(a));
    begin = pc_stage(&a->run, "features", begin);
    PC_TRY(pc_all_compare(a));
    begin = pc_stage(&a->run, "compare", begin);
    do {
        before = groups_of(a);
        PC_TRY(pc_all_register(a, true, &count));
        PC_TRY(pc_all_place(a));
    } while (groups_of(a) < before);
    for (int i = 0; i < TIES; i++) {
        PC_TRY(pc_all_register(a, false, &count));
        if (count == 0) {
            break;
        }
        PC_TRY(pc_all_place(a));
    }
    pc_stage(&a->run, "register", begin);
    return PCGPU_OK;
}

pcgpu_status pcgpu_register_all(pcgpu_context *context, const pcgpu_cloud *const *clouds, int count,
                                const pcgpu_register_params *params, pcgpu_set *set) {
    pc_all a = {.context = context, .n = count, .variance = 1.0};
    pcgpu_status status;
    *set = (pcgpu_set){0};
    pc_clear_error(context);
    if (count < 2 || count > PCGPU_SET_MOST) {
        return pc_fail(context, PCGPU_ERROR_ARGUMENT, "%d clouds; give 2 to %d", count, PCGPU_SET_MOST);
    }
    PC_TRY(pc_check_cancelled(context));
    PC_TRY(pc_register_check(context, params));
    PC_TRY_OR(done, status, allocate(&a));
    PC_TRY_OR(done, status, prepare(&a, clouds, params));
    PC_TRY_OR(done, status, register_set(&a));
    status = fill(&a, set);
done:
    release(&a);
    if (status != PCGPU_OK) {
        pcgpu_set_free(set);
    }
    return status;
}

void pcgpu_set_free(pcgpu_set *set) {
    free(set->clouds);
    free(set->links);
    *set = (pcgpu_set){0};
}
