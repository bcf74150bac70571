/* The surface of a volume: marching cubes in passes over blocks. In a pass, each block writes only its own data, so
 * that the result does not depend on the threads. The order of blocks is that of their keys, independent of their
 * ids. */
#include "tsdf_color.h"
#include "tsdf_mesh.h"
#include "tsdf_ray.h"

#include <stdlib.h>
#include <string.h>

/* A block has 3 edges per voxel, along x, y and z: bit 3 * voxel + axis of its crossings marks edges with vertices. */
enum { EDGES = 3 * PC_VOLUME_VOXELS, WORDS = EDGES / 64 };

typedef struct surface {
    pc_volume_grid grid;
    int64_t count;
    double voxel;
    float truncation; /* this value or more: clamped */
    float min_weight;
    double offset[3];
    pc_mesh_table table;
    /* Of each block, block 0 included: */
    uint8_t (*patterns)[PC_VOLUME_VOXELS]; /* of the cell whose first corner is the voxel; 0 for a cell without
                                              triangles */
    uint64_t (*crossings)[WORDS];
    int64_t *vertices, *triangles; /* the first ones of the block */
    uint64_t (*order)[2];          /* key and id of the blocks 1 to count, sorted by key */
} surface;

/* ---- cells ------------------------------------------------------------------------------------------------------ */

/* 0 also when a corner is unseen or at +truncation, since no surface was seen there. */
static uint8_t pattern_of(const surface *s, int64_t block, int32_t x, int32_t y, int32_t z) {
    unsigned pattern = 0;
    for (int i = 0; i < 8; i++) {
        const int64_t at = pc_volume_index(&s->grid, block, x + (i & 1), y + (i >> 1 & 1), z + (i >> 2));
        const float d = s->grid.distances[at];
        if (!(d < s->truncation) || s->grid.weights[at] < s->min_weight) {
            return 0;
        }
        pattern |= (unsigned)(d < 0.0f) << i;
    }
    return (uint8_t)(pattern == 255 ? 0 : pattern);
}

static void find_patterns(const surface *s, int64_t block) {
    for (int32_t i = 0; i < PC_VOLUME_VOXELS; i++) {
        s->patterns[block][i] = pattern_of(s, block, i & 7, i >> 3 & 7, i >> 6);
    }
}

/* Whether one of the four cells around an edge has triangles; their corners are then on all edges of the cell with a
 * change of sign. */
static bool is_crossed(const surface *s, int64_t block, const int32_t voxel[3], int axis) {
    const int low = axis == 0 ? 1 : 0, high = axis == 2 ? 1 : 2;
    for (int i = 0; i < 4; i++) {
        int32_t v[3] = {voxel[0], voxel[1], voxel[2]};
        v[low] -= i & 1;
        v[high] -= i >> 1;
        const int64_t at = pc_volume_index(&s->grid, block, v[0], v[1], v[2]);
        const unsigned pattern = s->patterns[at / PC_VOLUME_VOXELS][at % PC_VOLUME_VOXELS];
        const int corner = (i & 1) << low | (i >> 1) << high;
        if (((pattern >> corner) ^ (pattern >> (corner | 1 << axis))) & 1) {
            return true;
        }
    }
    return false;
}

static void find_crossings(const surface *s, int64_t block) {
    const float *d = s->grid.distances + block * PC_VOLUME_VOXELS;
    memset(s->crossings[block], 0, sizeof s->crossings[block]);
    s->vertices[block] = s->triangles[block] = 0;
    for (int32_t i = 0; i < PC_VOLUME_VOXELS; i++) {
        const int32_t v[3] = {i & 7, i >> 3 & 7, i >> 6};
        s->triangles[block] += s->table.count[s->patterns[block][i]];
        for (int axis = 0; axis < 3; axis++) {
            const float next =
                pc_volume_fetch(&s->grid, block, v[0] + (axis == 0), v[1] + (axis == 1), v[2] + (axis == 2));
            if ((d[i] < 0.0f) != (next < 0.0f) && is_crossed(s, block, v, axis)) {
                const int bit = 3 * i + axis;
                s->crossings[block][bit / 64] |= (uint64_t)1 << bit % 64;
                s->vertices[block]++;
            }
        }
    }
}

/* ---- vertices --------------------------------------------------------------------------------------------------- */

/* Central differences where both neighbours have values, else one-sided ones, else 0. */
static void gradient_at(const surface *s, int64_t block, const int32_t voxel[3], float g[3]) {
    const float here = pc_volume_fetch(&s->grid, block, voxel[0], voxel[1], voxel[2]);
    for (int k = 0; k < 3; k++) {
        int32_t a[3] = {voxel[0], voxel[1], voxel[2]}, b[3] = {voxel[0], voxel[1], voxel[2]};
        a[k]--;
        b[k]++;
        const float before = pc_volume_fetch(&s->grid, block, a[0], a[1], a[2]);
        const float behind = pc_volume_fetch(&s->grid, block, b[0], b[1], b[2]);
        const bool has_before = before == before, has_behind = behind == behind;
        g[k] = has_before && has_behind ? 0.5f * (behind - before)
               : has_behind             ? behind - here
               : has_before             ? here - before
                                        : 0.0f;
    }
}

/* x y z nx ny nz, and red green blue of a volume with colours. The fraction of the edge is kept away from its ends, so
 * that no two vertices have the same position. */
static void write_vertex(const surface *s, int64_t block, const int32_t at[3], int32_t voxel, int axis, float *out) {
    const int32_t v[3] = {voxel & 7, voxel >> 3 & 7, voxel >> 6};
    const int32_t w[3] = {v[0] + (axis == 0), v[1] + (axis == 1), v[2] + (axis == 2)};
    const float a = pc_volume_fetch(&s->grid, block, v[0], v[1], v[2]);
    const float b = pc_volume_fetch(&s->grid, block, w[0], w[1], w[2]);
    const float least = 1.0f / 1024.0f;
    float fraction = a / (a - b), g[3], h[3];
    fraction = fraction > least ? fraction : least;
    fraction = fraction < 1.0f - least ? fraction : 1.0f - least;
    gradient_at(s, block, v, g);
    gradient_at(s, block, w, h);
    for (int k = 0; k < 3; k++) {
        const double position = (double)(PC_VOLUME_SIDE * at[k] + v[k]) + (k == axis ? (double)fraction : 0.0);
        out[k] = (float)(position * s->voxel - s->offset[k]);
        g[k] = pc_volume_mix(g[k], h[k], fraction);
    }
    const float length = sqrtf((g[0] * g[0] + g[1] * g[1]) + g[2] * g[2]);
    for (int k = 0; k < 3; k++) {
        out[3 + k] = length > 0.0f ? g[k] / length : k != axis ? 0.0f : a < b ? 1.0f : -1.0f;
    }
    if (s->grid.colors) {
        const uint16_t *here = s->grid.colors + PC_VOLUME_COLORS * pc_volume_index(&s->grid, block, v[0], v[1], v[2]);
        const uint16_t *next = s->grid.colors + PC_VOLUME_COLORS * pc_volume_index(&s->grid, block, w[0], w[1], w[2]);
        pc_volume_color_between(here, next, fraction, out + 6);
    }
}

static int columns_of(const surface *s) {
    return s->grid.colors ? 9 : 6;
}

static void write_vertices(const surface *s, int64_t block, float *data) {
    const int columns = columns_of(s);
    float *out = data + columns * s->vertices[block];
    int32_t at[3];
    pc_volume_unpack(s->grid.keys[block], at);
    for (int word = 0; word < WORDS; word++) {
        for (uint64_t left = s->crossings[block][word]; left; left &= left - 1) {
            const int bit = 64 * word + __builtin_ctzll(left);
            write_vertex(s, block, at, bit / 3, bit % 3, out);
            out += columns;
        }
    }
}

/* ---- triangles -------------------------------------------------------------------------------------------------- */

static int32_t vertex_on(const surface *s, int64_t block, const int32_t voxel[3], int edge) {
    const int corner = pc_mesh_edge_corner(edge);
    const int64_t at = pc_volume_index(&s->grid, block, voxel[0] + (corner & 1), voxel[1] + (corner >> 1 & 1),
                                       voxel[2] + (corner >> 2));
    const int64_t owner = at / PC_VOLUME_VOXELS;
    const int bit = 3 * (int)(at % PC_VOLUME_VOXELS) + edge / 4;
    const uint64_t *words = s->crossings[owner];
    int64_t number = s->vertices[owner];
    for (int i = 0; i < bit / 64; i++) {
        number += __builtin_popcountll(words[i]);
    }
    return (int32_t)(number + __builtin_popcountll(words[bit / 64] & (((uint64_t)1 << bit % 64) - 1)));
}

static void write_triangles(const surface *s, int64_t block, int32_t *indices) {
    int32_t *out = indices + 3 * s->triangles[block];
    for (int32_t i = 0; i < PC_VOLUME_VOXELS; i++) {
        const uint8_t pattern = s->patterns[block][i];
        const int32_t v[3] = {i & 7, i >> 3 & 7, i >> 6};
        for (int k = 0; k < 3 * s->table.count[pattern]; k++) {
            *out++ = vertex_on(s, block, v, s->table.edges[pattern][k]);
        }
    }
}

/* ---- all of it -------------------------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b) {
    const uint64_t *p = a, *q = b;
    return p[0] < q[0] ? -1 : p[0] > q[0];
}

/* Converts counts to offsets of the blocks, in the order of keys. */
static void number_all(surface *s, int64_t *vertices, int64_t *triangles) {
    *vertices = *triangles = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t b = (int64_t)s->order[i][1], v = s->vertices[b], t = s->triangles[b];
        s->vertices[b] = *vertices;
        s->triangles[b] = *triangles;
        *vertices += v;
        *triangles += t;
    }
}

/* The offset of the cloud: whole metres, where float32 loses precision. */
static void choose_offset(surface *s) {
    for (int k = 0; k < 3; k++) {
        int32_t low = PC_VOLUME_REACH, high = -PC_VOLUME_REACH, at[3];
        for (int64_t b = 1; b <= s->count; b++) {
            pc_volume_unpack(s->grid.keys[b], at);
            low = at[k] < low ? at[k] : low;
            high = at[k] > high ? at[k] : high;
        }
        const double side = PC_VOLUME_SIDE * s->voxel, middle = 0.5 * side * ((double)low + (double)high);
        s->offset[k] = s->count > 0 && (side * high > 1024.0 || side * low < -1024.0) ? floor(middle) : 0.0;
    }
}

static bool take_memory(surface *s) {
    const size_t n = (size_t)s->count + 1;
    s->patterns = malloc(n * sizeof *s->patterns);
    s->crossings = malloc(n * sizeof *s->crossings);
    s->vertices = malloc(n * sizeof *s->vertices);
    s->triangles = malloc(n * sizeof *s->triangles);
    s->order = malloc(n * sizeof *s->order);
    return s->patterns && s->crossings && s->vertices && s->triangles && s->order;
}

static void free_memory(surface *s) {
    free(s->patterns);
    free(s->crossings);
    free(s->vertices);
    free(s->triangles);
    free(s->order);
}

enum { BLOCKS_A_PART = 64 };

static void find_range_patterns(void *state, int64_t begin, int64_t end) {
    for (int64_t b = begin + 1; b <= end; b++) {
        find_patterns(state, b);
    }
}

static void find_range_crossings(void *state, int64_t begin, int64_t end) {
    for (int64_t b = begin + 1; b <= end; b++) {
        find_crossings(state, b);
    }
}

static void prepare(pcgpu_context *context, surface *s) {
    memset(s->patterns[0], 0, sizeof s->patterns[0]);
    memset(s->crossings[0], 0, sizeof s->crossings[0]);
    s->vertices[0] = s->triangles[0] = 0;
    for (int64_t b = 1; b <= s->count; b++) {
        s->order[b - 1][0] = s->grid.keys[b];
        s->order[b - 1][1] = (uint64_t)b;
    }
    qsort(s->order, (size_t)s->count, sizeof *s->order, by_key);
    choose_offset(s);
    pc_run_ranges(context, s->count, BLOCKS_A_PART, find_range_patterns, s);
    pc_run_ranges(context, s->count, BLOCKS_A_PART, find_range_crossings, s);
}

static pcgpu_status make_cloud(pcgpu_context *context, const surface *s, int64_t vertices, pcgpu_cloud *cloud) {
    static const char *const names[] = {"x", "y", "z", "nx", "ny", "nz", "red", "green", "blue"};
    const int columns = columns_of(s);
    PC_TRY(pcgpu_cloud_create(context, vertices, columns, cloud));
    for (int k = 0; k < columns; k++) {
        snprintf(cloud->names[k], sizeof cloud->names[k], "%s", names[k]);
        cloud->types[k] = k < 6 ? cloud->types[k] : PCGPU_UINT8;
    }
    memcpy(cloud->offset, s->offset, sizeof s->offset);
    return PCGPU_OK;
}

typedef struct writing {
    const surface *s;
    pcgpu_mesh *mesh;
} writing;

static void write_range(void *state, int64_t begin, int64_t end) {
    const writing *w = state;
    for (int64_t b = begin + 1; b <= end; b++) {
        write_vertices(w->s, b, w->mesh->vertices.data);
        if (w->mesh->triangles > 0) {
            write_triangles(w->s, b, w->mesh->indices);
        }
    }
}

static pcgpu_status write_all(pcgpu_context *context, const surface *s, int64_t vertices, int64_t triangles,
                              pcgpu_mesh *mesh) {
    PC_TRY(make_cloud(context, s, vertices, &mesh->vertices));
    const size_t bytes = 3 * (size_t)triangles * sizeof *mesh->indices;
    mesh->triangles = triangles;
    mesh->indices = triangles > 0 ? malloc(bytes) : NULL;
    if (triangles > 0 && !mesh->indices) {
        pcgpu_mesh_free(mesh);
        return pc_fail_memory(context, bytes, "the triangles of a mesh");
    }
    writing w = {s, mesh};
    pc_run_ranges(context, s->count, BLOCKS_A_PART, write_range, &w);
    return PCGPU_OK;
}

pcgpu_status pc_volume_extract(pcgpu_context *context, const pc_volume_blocks *blocks, double voxel, float truncation,
                               float min_weight, bool triangles, pcgpu_mesh *mesh) {
    pcgpu_status status;
    int64_t vertices = 0, faces = 0;
    surface *s = calloc(1, sizeof *s);
    if (!s) {
        return pc_fail_memory(context, sizeof *s, "the surface of a volume");
    }
    s->grid = blocks->grid;
    s->count = blocks->count;
    s->voxel = voxel;
    s->truncation = 0.999f * truncation; /* means of clamped values may be some ulp below */
    s->min_weight = min_weight;
    pc_mesh_table_fill(&s->table);
    if (take_memory(s)) {
        prepare(context, s);
        number_all(s, &vertices, &faces);
        status = vertices > INT32_MAX || (triangles && faces > INT32_MAX)
                     ? pc_fail(context, PCGPU_ERROR_MEMORY,
                               "the surface has %lld vertices and %lld triangles, more than 2^31-1; use larger voxels",
                               (long long)vertices, (long long)faces)
                     : write_all(context, s, vertices, triangles ? faces : 0, mesh);
    } else {
        status = pc_fail_memory(context, (uint64_t)s->count * 800, "the surface of a volume");
    }
    free_memory(s);
    free(s);
    return status;
}

void pcgpu_mesh_free(pcgpu_mesh *mesh) {
    pcgpu_cloud_free(&mesh->vertices);
    free(mesh->indices);
    memset(mesh, 0, sizeof *mesh);
}
