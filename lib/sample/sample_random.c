/* Random numbers of sampling: where it starts, and drawing without replacement. */
#include "sample.h"

#include <stdlib.h>

/* xoshiro256** (Blackman and Vigna 2018), its state filled by splitmix64 from the seed: the same draws everywhere. */
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

/* A number in 0..bound-1, every one equally likely (Lemire 2019), from the upper 32 bits of each draw. */
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

int64_t pc_random_place(uint64_t seed, int64_t n) {
    generator g = seeded(seed);
    return draw_below(&g, (uint32_t)n);
}

/* A deck of the points 0..n-1 that knows where each card lies; without seeds nobody asks, and `place` is NULL. */
typedef struct deck {
    int32_t *cards, *place;
} deck;

static void swap_cards(deck *d, int64_t a, int64_t b) {
    int32_t card = d->cards[a];
    d->cards[a] = d->cards[b];
    d->cards[b] = card;
    if (d->place) {
        d->place[d->cards[a]] = (int32_t)a;
        d->place[d->cards[b]] = (int32_t)b;
    }
}

/* A Fisher-Yates shuffle whose first places are the seeds and whose next `count` are drawn. Seeds that the same shuffle
 * has drawn before leave the deck and the generator as they were then, so that drawing goes on where it ended. */
static void shuffle(deck *d, generator *g, const pc_sample_job *job) {
    for (int64_t i = 0; i < job->n; i++) {
        d->cards[i] = (int32_t)i;
        if (d->place) {
            d->place[i] = (int32_t)i;
        }
    }
    for (int64_t i = 0; i < job->seed_count; i++) {
        draw_below(g, (uint32_t)(job->n - i));
        swap_cards(d, i, d->place[job->seeds[i]]);
    }
    for (int64_t k = 0; k < job->count; k++) {
        int64_t i = job->seed_count + k;
        swap_cards(d, i, i + draw_below(g, (uint32_t)(job->n - i)));
        job->indices[k] = d->cards[i];
    }
}

pcgpu_status pc_random_draw(pcgpu_context *context, uint64_t seed, pc_sample_job *job) {
    size_t bytes = (size_t)job->n * sizeof(int32_t);
    deck d = {.cards = malloc(bytes), .place = job->seed_count ? malloc(bytes) : NULL};
    pcgpu_status status = PCGPU_OK;
    if (d.cards && (d.place || !job->seed_count)) {
        generator g = seeded(seed);
        shuffle(&d, &g, job);
        job->picked = job->count;
    } else {
        status = pc_fail_memory(context, 2 * (uint64_t)bytes, "the random draws");
    }
    free(d.cards);
    free(d.place);
    return status;
}
