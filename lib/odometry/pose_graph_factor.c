/* Pose graphs: the sparse linear system of a step, by block Cholesky in an order of minimum degree.
 *
 * CHOLMOD (Chen et al. 2008) is faster on large supernodes, but its result depends on the BLAS that is installed, on
 * its threads and on the version of AMD or METIS; the same bytes on every machine are promised here. The graphs of
 * trajectories are nearly chains: with 6x6 blocks and the exact minimum degree (Tinney and Walker 1967; ties go to the
 * lower index) the factor of 4,541 poses with some hundred loops has few more blocks than the matrix, and takes
 * milliseconds. One method serves chains, loops and any other graph. Each sum has one order: columns are eliminated one
 * after the other, and each updates those to its right (right-looking). */
#include "pose_graph.h"
#include "priority_queue.h"
#include "pose.h"

#include <stdlib.h>
#include <string.h>

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Neighbours of a variable that is not eliminated yet, ascending. */
typedef struct neighbours {
    int32_t *list;
    int32_t count;
} neighbours;

typedef struct ordering {
    int32_t n;
    neighbours *of;
    pc_heap heap; /* variables by their degrees */
} ordering;

static int compare_pairs(const void *a, const void *b) {
    const int32_t *p = a, *q = b;
    return p[0] != q[0] ? (p[0] > q[0]) - (p[0] < q[0]) : (p[1] > q[1]) - (p[1] < q[1]);
}

/* The lists of all variables, from pairs in both directions. */
static bool list_neighbours(ordering *o, const int32_t (*pairs)[2], int64_t count) {
    int32_t(*both)[2] = malloc((2 * (size_t)count + 1) * sizeof *both);
    int64_t n = 0;
    if (!both) {
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        for (int k = 0; k < 2; k++, n++) {
            both[n][0] = pairs[i][k];
            both[n][1] = pairs[i][1 - k];
        }
    }
    qsort(both, (size_t)n, sizeof *both, compare_pairs);
    bool good = true;
    for (int64_t begin = 0, end; begin < n && good; begin = end) {
        neighbours *list = &o->of[both[begin][0]];
        for (end = begin; end < n && both[end][0] == both[begin][0]; end++) {
        }
        list->list = malloc((size_t)(end - begin) * sizeof *list->list);
        good = list->list != NULL;
        for (int64_t i = begin; i < end && good; i++) {
            if (list->count == 0 || list->list[list->count - 1] != both[i][1]) {
                list->list[list->count++] = both[i][1];
            }
        }
    }
    free(both);
    return good;
}

/* `a` becomes its union with `b`, without `gone` and `self`. */
static bool unite(neighbours *a, const neighbours *b, int32_t gone, int32_t self) {
    int32_t *list = malloc((size_t)(a->count + b->count) * sizeof *list);
    int32_t i = 0, j = 0, n = 0;
    if (!list) {
        return false;
    }
    while (i < a->count || j < b->count) {
        const bool from_a = j == b->count || (i < a->count && a->list[i] <= b->list[j]);
        const int32_t v = from_a ? a->list[i] : b->list[j];
        i += i < a->count && a->list[i] == v;
        j += j < b->count && b->list[j] == v;
        if (v != gone && v != self) {
            list[n++] = v;
        }
    }
    free(a->list);
    *a = (neighbours){list, n};
    return true;
}

/* Eliminates all variables; what is left in the list of each are the rows of its column. */
static bool eliminate_all(ordering *o, int32_t *rank) {
    for (int32_t i = 0; i < o->n; i++) {
        rank[i] = -1;
        if (!pc_heap_push(&o->heap, o->of[i].count, i)) {
            return false;
        }
    }
    for (int32_t done = 0; done < o->n;) {
        const pc_heap_entry next = pc_heap_pop(&o->heap);
        const neighbours *column = &o->of[next.item];
        if (rank[next.item] >= 0 || (double)column->count != next.key) {
            continue;
        }
        rank[next.item] = done++;
        for (int32_t i = 0; i < column->count; i++) {
            const int32_t v = column->list[i];
            if (!unite(&o->of[v], column, next.item, v) || !pc_heap_push(&o->heap, o->of[v].count, v)) {
                return false;
            }
        }
    }
    return true;
}

static int compare_rows(const void *a, const void *b) {
    const int32_t p = *(const int32_t *)a, q = *(const int32_t *)b;
    return (p > q) - (p < q);
}

static bool allocate_blocks(pc_block_matrix *m, const ordering *o) {
    const size_t n = (size_t)m->n;
    size_t blocks = 0;
    for (int32_t v = 0; v < m->n; v++) {
        m->start[m->rank[v] + 1] = o->of[v].count;
        blocks += (size_t)o->of[v].count;
    }
    m->start[0] = 0;
    for (int32_t k = 0; k < m->n; k++) {
        m->start[k + 1] += m->start[k];
    }
    m->row = malloc((blocks + 1) * sizeof *m->row);
    m->B = malloc((blocks + 1) * sizeof *m->B);
    m->D = malloc((n + 1) * sizeof *m->D);
    m->inverse = malloc((n + 1) * sizeof *m->inverse);
    if (!m->row || !m->B || !m->D || !m->inverse) {
        return false;
    }
    for (int32_t v = 0; v < m->n; v++) {
        const int64_t begin = m->start[m->rank[v]];
        for (int32_t i = 0; i < o->of[v].count; i++) {
            m->row[begin + i] = m->rank[o->of[v].list[i]];
        }
        qsort(m->row + begin, (size_t)o->of[v].count, sizeof *m->row, compare_rows);
    }
    return true;
}

bool pc_block_matrix_open(pc_block_matrix *m, int32_t n, const int32_t (*pairs)[2], int64_t count) {
    ordering o = {.n = n, .of = calloc((size_t)n + 1, sizeof *o.of)};
    *m = (pc_block_matrix){
        .n = n, .rank = malloc(((size_t)n + 1) * sizeof *m->rank), .start = malloc(((size_t)n + 1) * sizeof *m->start)};
    const bool good = o.of && m->rank && m->start && list_neighbours(&o, pairs, count) && eliminate_all(&o, m->rank) &&
                      allocate_blocks(m, &o);
    for (int32_t i = 0; i < n && o.of; i++) {
        free(o.of[i].list);
    }
    free(o.of);
    pc_buffer_free(&o.heap.memory);
    return good;
}

void pc_block_matrix_free(pc_block_matrix *m) {
    free(m->rank);
    free(m->start);
    free(m->row);
    free(m->D);
    free(m->B);
    free(m->inverse);
    *m = (pc_block_matrix){0};
}

void pc_block_matrix_clear(pc_block_matrix *m) {
    memset(m->D, 0, (size_t)m->n * sizeof *m->D);
    memset(m->B, 0, (size_t)m->start[m->n] * sizeof *m->B);
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* The block in a row of a column, which is there, at or after `from`. */
static int64_t find_row(const pc_block_matrix *m, int64_t from, int32_t row) {
    while (m->row[from] != row) {
        from++;
    }
    return from;
}

void pc_block_matrix_add(pc_block_matrix *m, int32_t a, int32_t b, const double block[36]) {
    const int32_t row = m->rank[a], column = m->rank[b];
    const bool as_is = row >= column;
    double *to = row == column ? m->D[row] : m->B[find_row(m, m->start[as_is ? column : row], as_is ? row : column)];
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 6; k++) {
            to[6 * i + k] += as_is ? block[6 * i + k] : block[6 * k + i];
        }
    }
}

/* B L^-T: rows of B one by one, by the lower triangular L. */
static void divide(double B[36], const double L[36], const double inverse[6]) {
    for (int r = 0; r < 6; r++) {
        double *row = B + 6 * r;
        for (int i = 0; i < 6; i++) {
            double sum = row[i];
            for (int k = 0; k < i; k++) {
                sum -= L[6 * i + k] * row[k];
            }
            row[i] = sum * inverse[i];
        }
    }
}

/* to -= a b^T */
static void subtract_product(double to[36], const double a[36], const double b[36]) {
    double transposed[36];
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 6; k++) {
            transposed[6 * k + i] = b[6 * i + k];
        }
    }
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 6; k++) {
            for (int c = 0; c < 6; c++) {
                to[6 * i + c] -= a[6 * i + k] * transposed[6 * k + c];
            }
        }
    }
}

bool pc_block_matrix_factor(pc_block_matrix *m) {
    double L[36];
    for (int32_t k = 0; k < m->n; k++) {
        if (!pc_cholesky6(m->D[k], L, m->inverse[k])) {
            return false;
        }
        memcpy(m->D[k], L, sizeof L);
        for (int64_t i = m->start[k]; i < m->start[k + 1]; i++) {
            divide(m->B[i], L, m->inverse[k]);
        }
        for (int64_t i = m->start[k]; i < m->start[k + 1]; i++) {
            int64_t at = m->start[m->row[i]];
            subtract_product(m->D[m->row[i]], m->B[i], m->B[i]);
            for (int64_t j = i + 1; j < m->start[k + 1]; j++) {
                at = find_row(m, at, m->row[j]);
                subtract_product(m->B[at], m->B[j], m->B[i]);
            }
        }
    }
    return true;
}

void pc_block_matrix_solve(const pc_block_matrix *m, double *x, double *work) {
    for (int32_t v = 0; v < m->n; v++) {
        memcpy(work + 6 * (int64_t)m->rank[v], x + 6 * (int64_t)v, 6 * sizeof *x);
    }
    for (int32_t k = 0; k < m->n; k++) {
        double *y = work + 6 * (int64_t)k;
        for (int i = 0; i < 6; i++) {
            for (int c = 0; c < i; c++) {
                y[i] -= m->D[k][6 * i + c] * y[c];
            }
            y[i] *= m->inverse[k][i];
        }
        for (int64_t at = m->start[k]; at < m->start[k + 1]; at++) {
            double *to = work + 6 * (int64_t)m->row[at];
            for (int i = 0; i < 36; i++) {
                to[i / 6] -= m->B[at][i] * y[i % 6];
            }
        }
    }
    for (int32_t k = m->n - 1; k >= 0; k--) {
        double *y = work + 6 * (int64_t)k;
        for (int64_t at = m->start[k]; at < m->start[k + 1]; at++) {
            const double *from = work + 6 * (int64_t)m->row[at];
            for (int i = 0; i < 36; i++) {
                y[i % 6] -= m->B[at][i] * from[i / 6];
            }
        }
        for (int i = 5; i >= 0; i--) {
            for (int c = i + 1; c < 6; c++) {
                y[i] -= m->D[k][6 * c + i] * y[c];
            }
            y[i] *= m->inverse[k][i];
        }
    }
    for (int32_t v = 0; v < m->n; v++) {
        memcpy(x + 6 * (int64_t)v, work + 6 * (int64_t)m->rank[v], 6 * sizeof *x);
    }
}
