/* Sets of clouds: which of them may fit each other, by their features or by their poses, and their registrations. */
#include "error.h"
#include "register_all.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEW = 1000,       /* features of a cloud that are compared with those of all others */
    FEWEST_AGREE = 8, /* of these, of a pair that is registered */
    MOST_CHOSEN = 4,  /* pairs of a cloud that are registered at a time */
};

#define LEAST_OVERLAP 0.3 /* of a pair that is registered where its poses say */
/* The deviations of a registration, besides those by its residuals: the surfaces of two scans differ. */
#define SIGMA_RADIANS 1e-3
#define SIGMA_VOXELS  0.1

/* ---- all pairs --------------------------------------------------------------------------------------------------- */

typedef struct comparison {
    pc_all *a;
    pc_features *few;
    atomic_bool failed; /* memory is short */
} comparison;

/* Copies as many of the features, spread over all. */
static bool thin(const pc_features *all, pc_features *few) {
    const int n = all->n < FEW ? all->n : FEW;
    const size_t d = PC_DESCRIPTOR_PADDED;
    *few = (pc_features){.n = n, .voxel = all->voxel};
    few->points.xyz = malloc(3 * (size_t)n * sizeof *few->points.xyz + 1);
    few->descriptors = malloc(d * (size_t)n * sizeof *few->descriptors + 1);
    if (!few->points.xyz || !few->descriptors) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        const size_t from = (size_t)((int64_t)i * all->n / n);
        memcpy(few->points.xyz + 3 * i, all->points.xyz + 3 * from, 3 * sizeof *few->points.xyz);
        memcpy(few->descriptors + d * (size_t)i, all->descriptors + d * from, d * sizeof *few->descriptors);
    }
    few->points.n = n;
    return true;
}

/* Compares a range of all pairs, on one thread. */
static void compare_range(void *state, int64_t begin, int64_t end) {
    comparison *c = state;
    pcgpu_context own = *c->a->context;
    pc_match *matches = malloc(PC_MATCHES_MOST * sizeof *matches);
    int i = 1; /* the later cloud of the pair */
    own.threads = 1;
    own.parent = c->a->context;
    for (int64_t pair = begin; pair < end && matches && !c->failed; pair++) {
        pc_start starts[PC_STARTS];
        int found = 0, count = 0;
        while (pc_all_pair(i + 1, 0) <= pair) {
            i++;
        }
        const pc_features *source = &c->few[i], *target = &c->few[pair - pc_all_pair(i, 0)];
        if (source->voxel == target->voxel &&
            (pc_features_match(&own, source, target, matches, &found) != PCGPU_OK ||
             pc_features_agree(&own, source, target, matches, found, starts, &count) != PCGPU_OK)) {
            c->failed = true;
        }
        c->a->agree[pair] = count > 0 ? starts[0].score : 0;
    }
    if (!matches) {
        c->failed = true;
    }
    free(matches);
}

pcgpu_status pc_all_compare(pc_all *a) {
    comparison c = {.a = a, .few = calloc((size_t)a->n, sizeof *c.few)};
    bool good = c.few;
    for (int i = 0; i < a->n && good; i++) {
        good = thin(&a->features[i], &c.few[i]);
    }
    if (good) {
        pc_run_ranges(a->context, pc_all_pair(a->n, 0), 4, compare_range, &c);
    }
    for (int i = 0; i < a->n && c.few; i++) {
        pc_features_free(&c.few[i]);
    }
    free(c.few);
    PC_TRY(pc_check_cancelled(a->context));
    return good && !c.failed ? PCGPU_OK : pc_fail_memory(a->context, (size_t)a->n * FEW * 76, "the features");
}

/* ---- registrations ----------------------------------------------------------------------------------------------- */

/* A pair to register. */
typedef struct chosen {
    int source, target; /* source > target */
    pc_start start;
} chosen;

/* The variances of the source's centroid, where the result moves it, by the covariance about the target's. */
static double moved_variance(const pc_all *a, const pcgpu_registration *r, int source) {
    double p[3], sum = 0.0;
    pc_transform_apply(r->T_target_source, a->clouds[source].center, p);
    for (int k = 0; k < 3; k++) {
        p[k] -= r->center[k];
    }
    for (int k = 0; k < 3; k++) {
        double J[6] = {0};
        J[(k + 1) % 3] = p[(k + 2) % 3];
        J[(k + 2) % 3] = -p[(k + 1) % 3];
        J[3 + k] = 1.0;
        for (int i = 0; i < 36; i++) {
            sum += J[i / 6] * r->covariance[i] * J[i % 6];
        }
    }
    return sum;
}

static pcgpu_status append(pc_all *a, const chosen *c, const pcgpu_registration *r) {
    const size_t bytes = ((size_t)a->link_count + 1) * sizeof *a->links;
    pc_all_link *links = pc_buffer_take(&a->link_memory, bytes, true);
    if (!links) {
        return pc_fail_memory(a->context, bytes, "the registrations");
    }
    a->links = links;
    pc_all_link *l = &links[a->link_count++];
    const double turn = (r->covariance[0] + r->covariance[7]) + r->covariance[14], voxel = SIGMA_VOXELS * r->voxel;
    *l = (pc_all_link){.agree = c->start.score};
    l->found = (pcgpu_set_link){.source = c->source, .target = c->target, .score = r->score, .overlap = r->overlap};
    memcpy(l->found.T_target_source, r->T_target_source, sizeof r->T_target_source);
    l->sigma[0] = sqrt(SIGMA_RADIANS * SIGMA_RADIANS + turn / 3.0);
    l->sigma[1] = sqrt(voxel * voxel + moved_variance(a, r, c->source) / 3.0);
    return PCGPU_OK;
}

/* Registers pairs, and appends those that converge. */
static pcgpu_status register_list(pc_all *a, const chosen *list, int count) {
    const size_t n = (size_t)count, bytes = n * sizeof(pcgpu_registration);
    pcgpu_pair *pairs = malloc(n * sizeof *pairs);
    pcgpu_register_params *params = malloc(n * sizeof *params);
    pcgpu_registration *results = malloc(bytes);
    const pc_backend *backend = NULL;
    double points = 0.0;
    pcgpu_status status = PCGPU_OK;
    if (!pairs || !params || !results) {
        status = pc_fail_memory(a->context, bytes, "the registrations");
        goto done;
    }
    for (int i = 0; i < count; i++) {
        pairs[i] = (pcgpu_pair){a->scans[list[i].source].cloud, a->scans[list[i].target].cloud};
        const pcgpu_register_params *own = &a->params[list[i].source], *other = &a->params[list[i].target];
        params[i] = own->voxel > other->voxel ? *own : *other; /* of the sparser cloud */
        pc_register_begin_at(&params[i], &list[i].start);
        points += (double)(pairs[i].source->rows + pairs[i].target->rows);
    }
    do {
        status = pc_register_choose(a->context, params, points, count, &a->run, &backend);
        if (status == PCGPU_OK) {
            status =
                pc_register_set(a->context, backend, &a->run, params, NULL, pairs, count, pc_register_pair, results);
        }
    } while (pc_goes_to_cpu(a->context, backend, status));
    a->registered += count;
    for (int i = 0; i < count && status == PCGPU_OK; i++) {
        status = results[i].converged ? append(a, &list[i], &results[i]) : PCGPU_OK;
    }
done:
    free(pairs);
    free(params);
    free(results);
    return status;
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

/* What a pair promises, 0: nothing. Of two groups the features that agree; of one, the overlap by the poses. */
static pcgpu_status find_worth(pc_all *a, int i, int j, bool joins, double *worth) {
    const int agree = i != j ? a->agree[pc_all_pair(i, j)] : -1;
    pc_view_comparison seen;
    *worth = 0.0;
    if (agree < 0 || joins == (a->clouds[i].group == a->clouds[j].group)) {
        return PCGPU_OK;
    }
    if (joins) {
        *worth = agree >= FEWEST_AGREE ? agree : 0.0;
        return PCGPU_OK;
    }
    PC_TRY(pc_all_view(a, i, j, &seen));
    *worth = seen.overlap >= LEAST_OVERLAP ? seen.overlap : 0.0;
    return PCGPU_OK;
}

/* Appends the clouds that are worth most for cloud i, and marks their pairs. */
static void choose(pc_all *a, int i, double *worth, chosen *list, int *count) {
    for (int k = 0; k < MOST_CHOSEN; k++) {
        int best = 0;
        for (int j = 1; j < a->n; j++) {
            best = worth[j] > worth[best] ? j : best;
        }
        if (worth[best] <= 0.0) {
            break;
        }
        worth[best] = 0.0;
        a->agree[pc_all_pair(i, best)] = -1;
        list[(*count)++] = (chosen){.source = i > best ? i : best, .target = i > best ? best : i};
    }
}

static pcgpu_status find_start(pc_all *a, bool joins, chosen *c, bool *found) {
    const int s = c->source, t = c->target;
    pc_start starts[PC_STARTS] = {{.score = 0}};
    int count = 1;
    if (joins) {
        PC_TRY(pc_features_starts(a->context, &a->params[t], &a->features[s], &a->features[t], a->scans[s].cloud,
                                  a->scans[t].cloud, starts, &count));
    } else {
        pc_transform_between(a->clouds[t].T_group_cloud, a->clouds[s].T_group_cloud, starts[0].T);
    }
    c->start = starts[0];
    *found = count > 0;
    return PCGPU_OK;
}

pcgpu_status pc_all_register(pc_all *a, bool joins, int *count) {
    const size_t bytes = (size_t)a->n * MOST_CHOSEN * sizeof(chosen);
    chosen *list = malloc(bytes);
    double *worth = malloc((size_t)a->n * sizeof *worth);
    pcgpu_status status = PCGPU_OK;
    int all = 0;
    *count = 0;
    if (!list || !worth) {
        status = pc_fail_memory(a->context, bytes, "the pairs");
        goto done;
    }
    for (int i = 0; i < a->n; i++) {
        for (int j = 0; j < a->n; j++) {
            PC_TRY_OR(done, status, find_worth(a, i, j, joins, &worth[j]));
        }
        choose(a, i, worth, list, &all);
    }
    for (int i = 0; i < all; i++) {
        bool found;
        PC_TRY_OR(done, status, find_start(a, joins, &list[i], &found));
        list[*count] = list[i];
        *count += found;
    }
    status = *count > 0 ? register_list(a, list, *count) : PCGPU_OK;
done:
    free(list);
    free(worth);
    return status;
}
