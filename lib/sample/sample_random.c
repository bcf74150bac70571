/* Random numbers of sampling: a random start, and draws without replacement. */
#include "sample.h"

#include <stdlib.h>

/* xoshiro256** (Blackman and Vigna 2018) with a state from splitmix64 of the seed. The numbers are the same on every
 * platform. */
typedef struct generator {
    uint64_t s[4];
} generator;

static generator seeded(uint64_t seed) {
    generator g;
    for (int k = 0; k < 4; k++) {
        seed += 0x9E3779B97F4A7C15ull;
        g.s[k] = pc_hash64(seed);
    }
    return g;
}

static uint64_t rotated(uint64_t v, int k) {
    return v << k | v >> (64 - k);
}

static uint64_t next_random(generator *g) {
    uint64_t *s = g->s;
    uint64_t result = rotated(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotated(s[3], 45);
    return result;
}

/* A uniform number in 0..bound-1 (Lemire 2019), from the upper 32 bits of each random number. */
static uint32_t draw_below(generator *g, uint32_t bound) {
    uint64_t product = (next_random(g) >> 32) * bound;
    if ((uint32_t)product < bound) {
        uint32_t threshold = (0u - bound) % bound;
        while ((uint32_t)product < threshold) {
            product = (next_random(g) >> 32) * bound;
        }
    }
    return (uint32_t)(product >> 32);
}

/* The same for a bound of any size: of 64 bits, the numbers above the largest multiple of the bound are drawn again. */
static uint64_t draw_wide(generator *g, uint64_t bound) {
    if (bound <= UINT32_MAX) {
        return draw_below(g, (uint32_t)bound);
    }
    const uint64_t last = UINT64_MAX - (UINT64_MAX % bound + 1) % bound;
    uint64_t drawn = next_random(g);
    while (drawn > last) {
        drawn = next_random(g);
    }
    return drawn % bound;
}

int64_t pc_random_below(uint64_t seed, int64_t n) {
    generator g = seeded(seed);
    return draw_below(&g, (uint32_t)n);
}

/* A permutation of the points 0..n-1, with its inverse. The inverse, `position`, is only needed for seeds; else
 * NULL. */
typedef struct permutation {
    int32_t *items, *position;
} permutation;

static void swap_items(permutation *d, int64_t a, int64_t b) {
    int32_t card = d->items[a];
    d->items[a] = d->items[b];
    d->items[b] = card;
    if (d->position) {
        d->position[d->items[a]] = (int32_t)a;
        d->position[d->items[b]] = (int32_t)b;
    }
}

/* A Fisher-Yates shuffle whose first entries are the seeds and whose next `count` entries are drawn. If the seeds are
 * the picks of an earlier call, the permutation and the generator get the state at the end of that call, so the draws
 * continue its sequence. */
static void shuffle(permutation *d, generator *g, const pc_sample_job *job) {
    for (int64_t i = 0; i < job->n; i++) {
        d->items[i] = (int32_t)i;
        if (d->position) {
            d->position[i] = (int32_t)i;
        }
    }
    for (int64_t i = 0; i < job->seed_count; i++) {
        draw_below(g, (uint32_t)(job->n - i));
        swap_items(d, i, d->position[job->seeds[i]]);
    }
    for (int64_t k = 0; k < job->count; k++) {
        int64_t i = job->seed_count + k;
        swap_items(d, i, i + draw_below(g, (uint32_t)(job->n - i)));
        job->indices[k] = d->items[i];
    }
}

pcgpu_status pc_random_draw(pcgpu_context *context, uint64_t seed, pc_sample_job *job) {
    size_t bytes = (size_t)job->n * sizeof(int32_t);
    permutation d = {.items = malloc(bytes), .position = job->seed_count ? malloc(bytes) : NULL};
    pcgpu_status status = PCGPU_OK;
    if (d.items && (d.position || !job->seed_count)) {
        generator g = seeded(seed);
        shuffle(&d, &g, job);
        job->picked = job->count;
    } else {
        status = pc_fail_memory(context, 2 * (uint64_t)bytes, "the random draws");
    }
    free(d.items);
    free(d.position);
    return status;
}

/* ---- the same draws with the memory of the picks --------------------------------------------------------------- */

/* The entries of a permutation that are not where they began: a hash table with linear probing. A draw moves one entry,
 * so at most half of the slots are used. */
typedef struct displaced {
    struct slot {
        int64_t place, item; /* place -1: free */
    } * slots;
    size_t mask;
} displaced;

static struct slot *slot_of(const displaced *d, int64_t place) {
    size_t at = pc_hash64((uint64_t)place) & d->mask;
    while (d->slots[at].place >= 0 && d->slots[at].place != place) {
        at = (at + 1) & d->mask;
    }
    return &d->slots[at];
}

static int64_t item_at(const displaced *d, int64_t place) {
    const struct slot *slot = slot_of(d, place);
    return slot->place == place ? slot->item : place;
}

/* Step i of the shuffle exchanges entry i, which is the pick and is not drawn again, and entry j. */
pcgpu_status pc_random_draw_sparse(pcgpu_context *context, uint64_t seed, int64_t n, int64_t count, int64_t *indices) {
    size_t slots = 2;
    while (slots < 2 * (size_t)count) {
        slots *= 2;
    }
    displaced d = {.slots = malloc(slots * sizeof *d.slots), .mask = slots - 1};
    if (!d.slots) {
        return pc_fail_memory(context, slots * sizeof *d.slots, "the random draws");
    }
    for (size_t i = 0; i < slots; i++) {
        d.slots[i].place = -1;
    }
    generator g = seeded(seed);
    for (int64_t i = 0; i < count; i++) {
        const int64_t j = i + (int64_t)draw_wide(&g, (uint64_t)(n - i));
        const int64_t moved = item_at(&d, i);
        struct slot *slot = slot_of(&d, j);
        indices[i] = slot->place == j ? slot->item : j;
        *slot = (struct slot){j, moved};
    }
    free(d.slots);
    return PCGPU_OK;
}
