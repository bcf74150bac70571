/* The blocks of a volume on the CPU: finds the blocks that a frame needs, and allocates them.
 *
 * Threads walk along the rays of rows of pixels and list the keys that the hash table lacks. Neighbouring pixels mostly
 * need the same blocks, so each thread has a small cache of recent keys. The lists are sorted, so that new blocks get
 * the same ids whichever thread found them. */
#include "simd.h"
#include "tsdf_color.h"
#include "tsdf_cpu.h"

#include <stdlib.h>
#include <string.h>

enum { RECENT = 256, LEAST_SLOTS = 1 << 12 };

pc_volume_grid pc_cpu_volume_grid(const pc_cpu_volume *v) {
    return (pc_volume_grid){.slots = v->slots,
                            .mask = v->mask,
                            .keys = v->keys.memory,
                            .distances = v->distances.memory,
                            .weights = v->weights.memory,
                            .colors = v->color ? v->colors.memory : NULL,
                            .active = v->active.memory,
                            .rows = v->rows,
                            .neighbours = v->neighbours.memory};
}

/* ---- which are missing ------------------------------------------------------------------------------------------ */

static void add_key(pc_volume_list *list, uint64_t key) {
    uint64_t *keys = pc_buffer_take(&list->keys, ((size_t)list->count + 1) * sizeof *keys, true);
    if (keys) {
        keys[list->count++] = key;
    } else {
        list->failed = true;
    }
}

/* The data of a thread for a row: first the ends of all segments of the row, which vectorize, then the walks. */
enum { STRIPE = 64 };

typedef struct scanner scanner;

struct scanner {
    void (*find_ends)(const pc_volume_job *, int32_t, int32_t, float, const uint16_t *, scanner *);
    uint64_t recent[RECENT];
    float a[3][STRIPE], b[3][STRIPE];
    int32_t begin[3][STRIPE], end[3][STRIPE];
};

PC_INLINE void find_ends(const pc_volume_job *job, int32_t left, int32_t count, float y, const uint16_t *depth,
                         scanner *s) {
    const pc_volume_view *view = &job->view;
    for (int32_t i = 0; i < count; i++) {
        const float x = ((float)(left + i) - view->cx) / view->fx;
        const pc_volume_segment march = pc_volume_segment_of(view, x, y, (float)depth[i] / job->units);
        for (int k = 0; k < 3; k++) {
            s->a[k][i] = march.a[k];
            s->b[k][i] = march.b[k];
            s->begin[k][i] = pc_volume_block_of(march.a[k]);
            s->end[k][i] = pc_volume_block_of(march.b[k]);
        }
    }
}

PC_SIMD_FORMS_OF(find_ends,
                 (const pc_volume_job *job, int32_t left, int32_t count, float y, const uint16_t *depth, scanner *s),
                 (job, left, count, y, depth, s))

static void walk(const pc_cpu_volume *v, const pc_volume_view *view, const pc_volume_segment *march,
                 const int32_t begin[3], const int32_t end[3], uint64_t *recent, pc_volume_list *list) {
    pc_volume_walk walk;
    pc_volume_walk_begin(view, march, begin, end, &walk);
    do {
        const uint64_t key = pc_volume_key(walk.block[0], walk.block[1], walk.block[2]);
        uint64_t *position = &recent[(uint32_t)(walk.block[0] + 7 * walk.block[1] + 53 * walk.block[2]) % RECENT];
        if (*position != key) {
            *position = key;
            if (pc_volume_find(v->slots, v->mask, key) == 0) {
                add_key(list, key);
            }
        }
    } while (pc_volume_walk_next(&walk));
}

static void scan_row(const pc_cpu_volume *v, const pc_volume_job *job, int32_t row, scanner *s, pc_volume_list *list) {
    const uint16_t *depth = job->depth + (size_t)row * (size_t)job->view.width;
    const float y = ((float)row - job->view.cy) / job->view.fy;
    int32_t last[2][3] = {{INT32_MIN, 0, 0}, {INT32_MIN, 0, 0}};
    for (int32_t left = 0; left < job->view.width; left += STRIPE) {
        const int32_t count = job->view.width - left < STRIPE ? job->view.width - left : STRIPE;
        s->find_ends(job, left, count, y, depth + left, s);
        for (int32_t i = 0; i < count; i++) {
            if (depth[left + i] < job->low || depth[left + i] >= job->high) {
                last[0][0] = INT32_MIN;
                continue;
            }
            const int32_t ends[2][3] = {{s->begin[0][i], s->begin[1][i], s->begin[2][i]},
                                        {s->end[0][i], s->end[1][i], s->end[2][i]}};
            if (memcmp(ends, last, sizeof ends) == 0 && pc_volume_follows(left + i, ends[0], ends[1])) {
                continue;
            }
            if (!pc_volume_reaches(&job->view, ends[0], ends[1])) {
                list->unreachable++;
                last[0][0] = INT32_MIN;
                continue;
            }
            const pc_volume_segment march = {{s->a[0][i], s->a[1][i], s->a[2][i]},
                                             {s->b[0][i], s->b[1][i], s->b[2][i]}};
            walk(v, &job->view, &march, ends[0], ends[1], s->recent, list);
            memcpy(last, ends, sizeof last);
        }
    }
}

/* A frame, divided into parts with one list each. */
typedef struct scanning {
    const pc_cpu_volume *v;
    const pc_volume_job *job;
    pc_simd simd;
    int parts;
    pc_volume_list *lists;
} scanning;

static void scan_part(void *state, int part) {
    const scanning *p = state;
    scanner s;
    s.find_ends = find_ends_for(p->simd);
    memset(s.recent, 0xff, sizeof s.recent);
    for (int32_t row = part; row < p->job->view.height; row += p->parts) {
        scan_row(p->v, p->job, row, &s, &p->lists[part]);
    }
}

static int by_key(const void *a, const void *b) {
    const uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;
    return p < q ? -1 : p > q;
}

/* Merges the lists into sorted, unique keys. */
static pcgpu_status join(pcgpu_context *context, pc_cpu_volume *v, const pc_volume_list *lists, int64_t *count) {
    int64_t n = 0;
    bool failed = false;
    for (int i = 0; i < context->threads; i++) {
        n += lists[i].count;
        failed = failed || lists[i].failed;
    }
    uint64_t *keys = failed ? NULL : pc_buffer_take(&v->wanted, (size_t)(n + 1) * sizeof *keys, false);
    if (!keys) {
        return pc_fail_memory(context, (uint64_t)n * sizeof *keys, "the new blocks of a frame");
    }
    n = 0;
    for (int i = 0; i < context->threads; i++) {
        if (lists[i].count > 0) {
            memcpy(keys + n, lists[i].keys.memory, (size_t)lists[i].count * sizeof *keys);
        }
        n += lists[i].count;
    }
    qsort(keys, (size_t)n, sizeof *keys, by_key);
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || keys[i] != keys[i - 1]) {
            keys[(*count)++] = keys[i];
        }
    }
    return PCGPU_OK;
}

/* ---- allocation ---------------------------------------------------------------------------------------------- */

static void insert(pc_volume_slot *slots, uint64_t mask, uint64_t key, int64_t block) {
    uint64_t i = pc_hash64(key) & mask;
    while (slots[i].key != PC_VOLUME_EMPTY) {
        i = (i + 1) & mask;
    }
    slots[i] = (pc_volume_slot){key, block};
}

/* Allocates a table with a load factor of at most a quarter. */
static pcgpu_status grow_table(pcgpu_context *context, pc_cpu_volume *v, int64_t blocks) {
    uint64_t slots = v->slots ? v->mask + 1 : LEAST_SLOTS;
    while (slots < 4 * (uint64_t)blocks) {
        slots *= 2;
    }
    if (v->slots && slots == v->mask + 1) {
        return PCGPU_OK;
    }
    pc_volume_slot *table = malloc(slots * sizeof *table);
    if (!table) {
        return pc_fail_memory(context, slots * sizeof *table, "the table of a volume's blocks");
    }
    for (uint64_t i = 0; i < slots; i++) {
        table[i] = (pc_volume_slot){PC_VOLUME_EMPTY, 0};
    }
    const uint64_t *keys = v->keys.memory;
    for (int64_t b = 1; b <= v->count; b++) {
        insert(table, slots - 1, keys[b], b);
    }
    free(v->slots);
    v->slots = table;
    v->mask = slots - 1;
    return PCGPU_OK;
}

enum { COLOR_BYTES = PC_VOLUME_VOXELS * PC_VOLUME_COLORS * sizeof(uint16_t) }; /* of a block */

/* Allocates the arrays of blocks 0 to `blocks`. */
static pcgpu_status grow_arrays(pcgpu_context *context, pc_cpu_volume *v, int64_t blocks) {
    const size_t n = (size_t)blocks + 1, values = n * PC_VOLUME_VOXELS * sizeof(float);
    const size_t colors = v->color ? n * COLOR_BYTES : 0;
    if ((colors > 0 && !pc_buffer_take(&v->colors, colors, true)) ||
        !pc_buffer_take(&v->keys, n * sizeof(uint64_t), true) || !pc_buffer_take(&v->behind, n, true) ||
        !pc_buffer_take(&v->distances, values, true) || !pc_buffer_take(&v->weights, values, true) ||
        !pc_buffer_take(&v->neighbours, n * PC_VOLUME_NEIGHBOURS * sizeof(int32_t), true)) {
        return pc_fail_memory(context, 2 * values + colors, "the blocks of a volume");
    }
    return PCGPU_OK;
}

enum { BLOCKS_A_PART = 64 };

/* Appends blocks; the first one has the id -1 until then. */
static void clear_blocks(void *state, int64_t begin, int64_t end) {
    const pc_cpu_volume *v = state;
    const int64_t first = v->count + 1 + begin, count = end - begin;
    float *d = (float *)v->distances.memory + first * PC_VOLUME_VOXELS;
    for (int64_t i = 0; i < count * PC_VOLUME_VOXELS; i++) {
        d[i] = pc_volume_nan();
    }
    memset((uint8_t *)v->behind.memory + first, 0, (size_t)count);
    memset((float *)v->weights.memory + first * PC_VOLUME_VOXELS, 0, (size_t)count * PC_VOLUME_VOXELS * sizeof *d);
    if (v->color) {
        memset((uint8_t *)v->colors.memory + first * COLOR_BYTES, 0, (size_t)count * COLOR_BYTES);
    }
    memset((int32_t *)v->neighbours.memory + first * PC_VOLUME_NEIGHBOURS, 0,
           (size_t)count * PC_VOLUME_NEIGHBOURS * sizeof(int32_t));
}

/* Links a new block with its neighbours, in both directions. */
static void link_block(const pc_cpu_volume *v, int64_t block) {
    int32_t *neighbours = v->neighbours.memory, at[3];
    pc_volume_unpack(((const uint64_t *)v->keys.memory)[block], at);
    for (int n = 0; n < PC_VOLUME_NEIGHBOURS; n++) {
        const int64_t other = pc_volume_neighbour(v->slots, v->mask, at, n);
        neighbours[PC_VOLUME_NEIGHBOURS * block + n] = (int32_t)other;
        if (other > 0) {
            neighbours[PC_VOLUME_NEIGHBOURS * other + (PC_VOLUME_NEIGHBOURS - 1 - n)] = (int32_t)block;
        }
    }
}

static pcgpu_status add_blocks(pcgpu_context *context, pc_cpu_volume *v, const uint64_t *keys, int64_t count) {
    const int64_t first = v->count + 1, last = v->count + count;
    PC_TRY(grow_arrays(context, v, last));
    PC_TRY(grow_table(context, v, last));
    if (count > 0) {
        memcpy((uint64_t *)v->keys.memory + first, keys, (size_t)count * sizeof *keys);
    }
    pc_run_ranges(context, count, BLOCKS_A_PART, clear_blocks, v);
    for (int64_t b = first; b <= last; b++) {
        insert(v->slots, v->mask, keys[b - first], b);
    }
    v->count = last;
    for (int64_t b = first; b <= last; b++) {
        link_block(v, b);
    }
    return PCGPU_OK;
}

pcgpu_status pc_cpu_volume_allocate(pcgpu_context *context, pc_cpu_volume *v, pc_volume_job *job) {
    const size_t bytes = (size_t)context->threads * sizeof(pc_volume_list);
    pc_volume_list *lists = pc_buffer_take(&v->lists, bytes, false);
    if (!lists) {
        return pc_fail_memory(context, bytes, "the new blocks of a frame");
    }
    memset(lists, 0, bytes);
    scanning p = {v, job, pc_context_simd(context), context->threads, lists};
    pc_run_parts(context, context->threads, scan_part, &p);
    pcgpu_status status = join(context, v, lists, &job->new_blocks);
    job->unreachable = 0;
    for (int i = 0; i < context->threads; i++) {
        job->unreachable += lists[i].unreachable;
        pc_buffer_free(&lists[i].keys);
    }
    PC_TRY(status);
    if (v->count + job->new_blocks > job->max_blocks) {
        return pc_volume_full(context, v->count + job->new_blocks, job->max_blocks);
    }
    return add_blocks(context, v, v->wanted.memory, job->new_blocks);
}

/* ---- opening and closing ---------------------------------------------------------------------------------------- */

pcgpu_status pc_cpu_volume_open(pcgpu_context *context, bool color, void **state) {
    pc_cpu_volume *v = calloc(1, sizeof *v);
    *state = v;
    if (!v) {
        return pc_fail_memory(context, sizeof *v, "a volume");
    }
    v->color = color;
    PC_TRY(grow_arrays(context, v, 0));
    PC_TRY(grow_table(context, v, 0));
    ((uint64_t *)v->keys.memory)[0] = PC_VOLUME_EMPTY;
    clear_blocks(v, -1, 0);
    return PCGPU_OK;
}

void pc_cpu_volume_close(pcgpu_context *context, void *state) {
    (void)context;
    pc_cpu_volume *v = state;
    if (v) {
        pc_buffer *const buffers[] = {&v->keys,   &v->distances, &v->weights, &v->neighbours, &v->inverse, &v->lists,
                                      &v->wanted, &v->active,    &v->ranges,  &v->behind,     &v->maps,    &v->colors};
        for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
            free(buffers[i]->memory);
        }
        free(v->slots);
        free(v);
    }
}

pcgpu_status pc_cpu_volume_blocks(pcgpu_context *context, void *state, pc_volume_blocks *blocks) {
    (void)context;
    const pc_cpu_volume *v = state;
    *blocks = (pc_volume_blocks){.grid = pc_cpu_volume_grid(v), .count = v->count};
    return PCGPU_OK;
}
