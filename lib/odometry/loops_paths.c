/* Loops: the graph of places, joined along the path and by the loops found so far, and where earlier places are, seen
 * from the present one: by the shortest path in this graph, whose length bounds how wrong that may be. */
#include "loops.h"
#include "priority_queue.h"

#include <stdlib.h>
#include <string.h>

/* ---- links ------------------------------------------------------------------------------------------------------- */

void pc_loops_join(pcgpu_loops *l, int32_t index) {
    pc_link *link = &l->links[index];
    pc_place *from = &l->places[link->from], *to = &l->places[link->to];
    link->next[0] = from->link;
    link->next[1] = to->link;
    from->link = to->link = index;
}

pcgpu_status pc_loops_append(pcgpu_loops *l, const pc_link *link) {
    for (int32_t i = l->places[link->to].link; i >= 0; i = l->links[i].next[l->links[i].to == link->to]) {
        if (l->links[i].from == link->from) {
            return PCGPU_OK;
        }
    }
    const size_t bytes = ((size_t)l->link_count + 1) * sizeof *l->links;
    pc_link *links = pc_buffer_take(&l->link_memory, bytes, true);
    if (!links) {
        return pc_fail_memory(l->context, bytes, "the loops");
    }
    l->links = links;
    l->links[l->link_count] = *link;
    pc_loops_join(l, l->link_count++);
    return PCGPU_OK;
}

/* ---- the shortest paths ------------------------------------------------------------------------------------------ */

typedef struct paths {
    pc_prediction *p; /* of each place */
    pc_heap heap;
    bool short_of_memory;
} paths;

static void reach(paths *s, int32_t via, int32_t to, double length, const double T_to_via[16]) {
    pc_prediction *p = &s->p[to];
    if (!p->done && s->p[via].length + length < p->length) {
        p->length = s->p[via].length + length;
        pc_transform_multiply(T_to_via, s->p[via].T, p->T);
        s->short_of_memory = !pc_heap_push(&s->heap, p->length, to) || s->short_of_memory;
    }
}

static void reach_neighbors(const pcgpu_loops *l, paths *s, int32_t via, int32_t to) {
    double T[16];
    pc_transform_between(l->places[to].T, l->places[via].T, T);
    reach(s, via, to, fabs(l->places[to].path - l->places[via].path), T);
}

static void reach_neighbours(const pcgpu_loops *l, paths *s, int32_t via) {
    if (via > 0) {
        reach_neighbors(l, s, via, via - 1);
    }
    if (via + 1 < l->place_count) {
        reach_neighbors(l, s, via, via + 1);
    }
    for (int32_t i = l->places[via].link; i >= 0;) {
        const pc_link *link = &l->links[i];
        const bool later = link->to == via;
        double inverse[16];
        pc_transform_invert(link->T_from_to, inverse);
        reach(s, via, later ? link->from : link->to, l->loop_length, later ? link->T_from_to : inverse);
        i = link->next[later];
    }
}

bool pc_loops_predict(const pcgpu_loops *l, pc_prediction *p) {
    const int32_t last = l->place_count - 1;
    paths s = {.p = p};
    for (int32_t i = 0; i <= last; i++) {
        p[i] = (pc_prediction){.length = INFINITY};
    }
    p[last].length = 0.0;
    memcpy(p[last].T, pc_identity, sizeof pc_identity);
    s.short_of_memory = !pc_heap_push(&s.heap, 0.0, last);
    while (s.heap.count > 0 && !s.short_of_memory) {
        const int32_t via = pc_heap_pop(&s.heap).item;
        if (!p[via].done) {
            p[via].done = true;
            p[via].distance = pc_transform_length(p[via].T);
            reach_neighbours(l, &s, via);
        }
    }
    pc_buffer_free(&s.heap.memory);
    return !s.short_of_memory;
}
