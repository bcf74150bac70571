/* Registration: which points of two clouds look alike. */
#include "register_features.h"
#include "simd.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 16 }; /* of the source, each with its own nearest points for the target */

/* The nearest descriptor of the other cloud; the first of equal ones. */
typedef struct nearest {
    int32_t at, squared;
} nearest;

typedef struct matching {
    const pc_features *source, *target;
    nearest *of_source; /* a point */
    nearest *of_target; /* a part and a point */
    pc_simd simd;
} matching;

/* Compares a range of the source with all of the target. */
PC_INLINE void compare_part(const matching *m, int begin, int end, nearest *of_target) {
    for (int i = begin; i < end; i++) {
        const int16_t *a = m->source->descriptors + (size_t)i * PC_DESCRIPTOR_PADDED;
        nearest best = {-1, INT_MAX};
        for (int j = 0; j < m->target->n; j++) {
            const int16_t *b = m->target->descriptors + (size_t)j * PC_DESCRIPTOR_PADDED;
            int32_t sum = 0;
            for (int k = 0; k < PC_DESCRIPTOR_PADDED; k++) {
                const int16_t d = (int16_t)(a[k] - b[k]);
                sum += d * d;
            }
            if (sum < best.squared) {
                best = (nearest){j, sum};
            }
            if (sum < of_target[j].squared) {
                of_target[j] = (nearest){i, sum};
            }
        }
        m->of_source[i] = best;
    }
}
PC_SIMD_FORMS_OF(compare_part, (const matching *m, int begin, int end, nearest *of_target), (m, begin, end, of_target))

static void match_part(void *state, int part) {
    const matching *m = state;
    const int n = m->source->n;
    nearest *of_target = m->of_target + (size_t)part * (size_t)m->target->n;
    for (int j = 0; j < m->target->n; j++) {
        of_target[j] = (nearest){-1, INT_MAX};
    }
    compare_part_for(m->simd)(m, n * part / PARTS, n * (part + 1) / PARTS, of_target);
}

/* The nearest of the source, over all parts in their order. */
static int32_t nearest_of_target(const matching *m, int j) {
    nearest best = m->of_target[j];
    for (int part = 1; part < PARTS; part++) {
        const nearest other = m->of_target[(size_t)part * (size_t)m->target->n + (size_t)j];
        best = other.squared < best.squared ? other : best;
    }
    return best.at;
}

static bool is_described(const pc_features *f, int32_t i) {
    int sum = 0;
    for (int k = 0; k < PC_DESCRIPTOR; k++) {
        sum += f->descriptors[(size_t)i * PC_DESCRIPTOR_PADDED + (size_t)k];
    }
    return sum > 0;
}

typedef struct ranked {
    pc_match match;
    int32_t squared;
} ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *p = a, *q = b;
    return p->squared != q->squared ? (p->squared > q->squared) - (p->squared < q->squared)
                                    : p->match.source - q->match.source;
}

/* Lists the matches, the nearest first. */
static int list_matches(const matching *m, ranked *list, pc_match matches[PC_MATCHES_MOST]) {
    int found = 0;
    for (int i = 0; i < m->source->n; i++) {
        const nearest t = m->of_source[i];
        if (t.at >= 0 && nearest_of_target(m, t.at) == i && is_described(m->source, i) &&
            is_described(m->target, t.at)) {
            list[found++] = (ranked){{i, t.at}, t.squared};
        }
    }
    qsort(list, (size_t)found, sizeof *list, compare_ranked);
    found = found < PC_MATCHES_MOST ? found : PC_MATCHES_MOST;
    for (int i = 0; i < found; i++) {
        matches[i] = list[i].match;
    }
    return found;
}

pcgpu_status pc_features_match(pcgpu_context *context, const pc_features *source, const pc_features *target,
                               pc_match matches[PC_MATCHES_MOST], int *count) {
    const size_t most = (size_t)source->n + 1, bytes = PARTS * ((size_t)target->n + 1) * sizeof(nearest);
    matching m = {source, target, malloc(most * sizeof(nearest)), malloc(bytes), pc_context_simd(context)};
    ranked *list = malloc(most * sizeof *list);
    const bool good = m.of_source && m.of_target && list;
    *count = 0;
    if (good) {
        pc_run_parts(context, PARTS, match_part, &m);
        *count = list_matches(&m, list, matches);
    }
    free(m.of_source);
    free(m.of_target);
    free(list);
    PC_TRY(pc_check_cancelled(context));
    return good ? PCGPU_OK : pc_fail_memory(context, bytes, "the matches of features");
}
