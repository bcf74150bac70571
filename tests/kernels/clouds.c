/* Seeded clouds: likely ones, and those that break kernels. */
#include "kernels.h"

float test_uniform(test_random *r, float low, float high) {
    return low + (high - low) * test_float(r);
}

static void set(float *p, float x, float y, float z) {
    p[0] = x;
    p[1] = y;
    p[2] = z;
}

static float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

typedef void fill_fn(test_random *r, float *p, int64_t i, int64_t n);

static void uniform(test_random *r, float *p, int64_t i, int64_t n) {
    (void)i, (void)n;
    set(p, test_uniform(r, -50.0f, 50.0f), test_uniform(r, -50.0f, 50.0f), test_uniform(r, -5.0f, 5.0f));
}

/* Rings on the ground around a sensor, dense nearby, with a wall. */
static void rings(test_random *r, float *p, int64_t i, int64_t n) {
    float angle = 6.2831853f * (float)i / (float)n * 16.0f;
    float radius = 3.0f + (float)(i * 16 / n) * (float)(i * 16 / n) * 0.2f + test_uniform(r, -0.02f, 0.02f);
    set(p, radius * cosf(angle), radius * sinf(angle), -1.7f);
    if (p[0] > 20.0f) {
        set(p, 20.0f, p[1] * 20.0f / p[0], test_uniform(r, -1.7f, 3.0f));
    }
}

static void lattice(test_random *r, float *p, int64_t i, int64_t n) {
    (void)r, (void)n;
    set(p, (float)(i % 12) - 6.0f, (float)(i / 12 % 12) - 6.0f, (float)(i / 144 % 12) - 6.0f);
}

/* Few places for many points: most distances are equal to others, many are 0. */
static void coarse_grid(test_random *r, float *p, int64_t i, int64_t n) {
    (void)i, (void)n;
    set(p, (float)(test_bits(r) % 7) - 3.0f, (float)(test_bits(r) % 7) - 3.0f, (float)(test_bits(r) % 3));
}

static void duplicates(test_random *r, float *p, int64_t i, int64_t n) {
    (void)n;
    test_random own = {.state = (uint64_t)(i % 97) + 5};
    (void)r;
    uniform(&own, p, i, n);
}

static void clusters(test_random *r, float *p, int64_t i, int64_t n) {
    test_random own = {.state = (uint64_t)(i * 7 / n)};
    uniform(&own, p, i, n);
    set(p, p[0] + test_uniform(r, -0.1f, 0.1f), p[1] + test_uniform(r, -0.1f, 0.1f),
        p[2] + test_uniform(r, -0.1f, 0.1f));
}

static void equal(test_random *r, float *p, int64_t i, int64_t n) {
    (void)r, (void)i, (void)n;
    set(p, 1.25f, -2.5f, 0.75f);
}

static void collinear(test_random *r, float *p, int64_t i, int64_t n) {
    (void)r, (void)n;
    set(p, 0.01f * (float)i, 0.02f * (float)i, 0.0f);
}

static void not_finite(test_random *r, float *p, int64_t i, int64_t n) {
    uniform(r, p, i, n);
    uint64_t kind = test_bits(r) % 12;
    if (kind < 3) {
        p[kind] = test_bits(r) % 2 ? from_bits(0x7fc12345u) : from_bits(0xffa00001u);
    } else if (kind < 6) {
        p[kind - 3] = test_bits(r) % 2 ? INFINITY : -INFINITY;
    }
}

static void none_finite(test_random *r, float *p, int64_t i, int64_t n) {
    uniform(r, p, i, n);
    p[i % 3] = i % 2 ? NAN : INFINITY;
}

static void huge30(test_random *r, float *p, int64_t i, int64_t n) {
    uniform(r, p, i, n);
    set(p, p[0] * 1e28f, p[1] * 1e28f, p[2] * 1e28f);
}

/* Differences, squares and sums overflow. */
static void huge38(test_random *r, float *p, int64_t i, int64_t n) {
    (void)n, (void)i;
    for (int k = 0; k < 3; k++) {
        p[k] = (test_bits(r) % 2 ? 3e38f : -3e38f) * test_uniform(r, 0.9f, 1.0f);
    }
}

static void denormal(test_random *r, float *p, int64_t i, int64_t n) {
    (void)i, (void)n;
    for (int k = 0; k < 3; k++) {
        p[k] = from_bits((uint32_t)(test_bits(r) % 0x00800000u) | (test_bits(r) % 2 ? 0x80000000u : 0u));
    }
}

/* Squared distances are denormal. */
static void tiny(test_random *r, float *p, int64_t i, int64_t n) {
    uniform(r, p, i, n);
    set(p, p[0] * 1e-21f, p[1] * 1e-21f, p[2] * 1e-21f);
}

/* Squared distances are a few hundred steps of the smallest number: nearly all are equal or one step apart. */
static void few_bits(test_random *r, float *p, int64_t i, int64_t n) {
    uniform(r, p, i, n);
    set(p, p[0] * 4e-24f, p[1] * 4e-24f, p[2] * 4e-24f);
}

static void outlier(test_random *r, float *p, int64_t i, int64_t n) {
    uniform(r, p, i, n);
    if (i == n / 2) {
        set(p, 1e7f, -1e7f, 1e6f);
    }
}

/* On the faces of voxels of 0.5 and 1, one step beside them, and around the upper edge of +-50, +-5. */
static void faces(test_random *r, float *p, int64_t i, int64_t n) {
    (void)i, (void)n;
    for (int k = 0; k < 3; k++) {
        float edge = k < 2 ? 50.0f : 5.0f;
        float v = (float)((int)(test_bits(r) % 203) - 101) * 0.5f * (k < 2 ? 1.0f : 0.1f);
        v = test_bits(r) % 8 == 0 ? (test_bits(r) % 2 ? edge : -edge) : v;
        uint64_t side = test_bits(r) % 3;
        p[k] = side == 0 ? v : nextafterf(v, side == 1 ? INFINITY : -INFINITY);
    }
}

/* Within three steps of faces of voxels whose sizes are no powers of two. */
static void seams(test_random *r, float *p, int64_t i, int64_t n) {
    static const float begins[] = {-50.0f, 0.0f, -39.68f, -5.0f, -3.0f}, sizes[] = {0.16f, 0.075f, 0.7f, 3.0f, 12.0f};
    (void)i, (void)n;
    const float size = sizes[test_bits(r) % 5];
    for (int k = 0; k < 3; k++) {
        const float begin = begins[test_bits(r) % 5];
        p[k] = begin + (float)(test_bits(r) % (uint64_t)(k < 2 ? 100.0f / size : 10.0f / size + 1.0f)) * size;
        for (int step = (int)(test_bits(r) % 7) - 3; step != 0; step += step < 0 ? 1 : -1) {
            p[k] = nextafterf(p[k], step < 0 ? -INFINITY : INFINITY);
        }
    }
}

static void one_voxel(test_random *r, float *p, int64_t i, int64_t n) {
    (void)i, (void)n;
    set(p, test_uniform(r, 0.01f, 0.4f), test_uniform(r, 0.01f, 0.4f), test_uniform(r, 0.01f, 0.4f));
}

static void origins(test_random *r, float *p, int64_t i, int64_t n) {
    uniform(r, p, i, n);
    if (test_bits(r) % 3 == 0) {
        set(p, test_bits(r) % 2 ? 0.0f : -0.0f, 0.0f, -0.0f);
    }
}

/* The nearer to a corner of a box of 16 x 16 x 2 m, the more. */
static void corner(test_random *r, float *p, int64_t i, int64_t n) {
    const float x = test_uniform(r, 0.0f, 1.0f), y = test_uniform(r, 0.0f, 1.0f);
    (void)n;
    set(p, i % 50 == 0 ? NAN : 16.0f * x * x * x * x, 16.0f * y * y, test_uniform(r, 0.0f, 2.0f));
}

/* The same few places again and again; now and then another one, the origin, or no number. */
static void again(test_random *r, float *p, int64_t i, int64_t n) {
    test_random own = {.state = (uint64_t)(i % 45)};
    const uint64_t kind = test_bits(r) % 64;
    uniform(kind < 3 ? r : &own, p, i, n);
    set(p, p[0] + test_uniform(r, 0.0f, 0.02f), p[1], p[2]);
    if (kind == 3) {
        set(p, 0.0f, -0.0f, 0.0f);
    } else if (kind == 4) {
        p[test_bits(r) % 3] = test_bits(r) % 2 ? NAN : -INFINITY;
    }
}

/* ---- what sensors see: clouds of any size, for benchmarks too ---------------------------------------------------- */

static void cube(test_random *r, float *p, int64_t i, int64_t n) {
    (void)i, (void)n;
    set(p, test_uniform(r, -50.0f, 50.0f), test_uniform(r, -50.0f, 50.0f), test_uniform(r, -50.0f, 50.0f));
}

/* Least and largest corner of a box. */
typedef float box[6];

/* How far a ray from the origin goes until it enters one of the boxes, INFINITY when it meets none. */
static float cast_ray(const box *boxes, int count, const float *direction) {
    float nearest = INFINITY;
    for (int b = 0; b < count; b++) {
        float enter = 0.0f, leave = INFINITY;
        for (int k = 0; k < 3; k++) {
            float low = boxes[b][k] / direction[k], high = boxes[b][k + 3] / direction[k];
            enter = fmaxf(enter, fminf(low, high));
            leave = fminf(leave, fmaxf(low, high));
        }
        nearest = enter <= leave && enter < nearest ? enter : nearest;
    }
    return nearest;
}

/* A street around a LiDAR of 64 rings: ground, house fronts with gaps, parked cars, poles. A ray that comes back from
 * nowhere is replaced by one in a random direction. */
static void street_scan(test_random *r, float *p, int64_t i, int64_t n) {
    static const box street[] = {{-90, -90, -3, 90, 90, -1.73f}, {-80, 9, -2, -30, 22, 9},
                                 {-24, 10, -2, 12, 22, 12},      {17, 9, -2, 70, 22, 8},
                                 {-70, -24, -2, -8, -11, 10},    {-3, -24, -2, 75, -12, 7},
                                 {6, 4, -1.7f, 10.3f, 5.8f, 0},  {13, 4.1f, -1.7f, 17.5f, 6, -0.2f},
                                 {-12, 4, -1.7f, -7.6f, 6, 0},   {-9, -6.5f, -1.7f, -4.7f, -4.6f, -0.1f},
                                 {20, -6.4f, -1.7f, 26, -4, 1},  {5, 7.5f, -2, 5.2f, 7.7f, 5},
                                 {30, 7.5f, -2, 30.2f, 7.7f, 5}, {-18, -8, -2, -17.7f, -7.7f, 6}};
    int64_t columns = (n + 63) / 64;
    float ring = (float)(i / columns), turn = (float)(i % columns) / (float)columns, distance = INFINITY;
    for (int tries = 0; tries < 1000; tries++) {
        float up = 0.035f - 0.47f * ring / 63.0f, around = 6.2831853f * turn;
        float direction[3] = {cosf(up) * cosf(around), cosf(up) * sinf(around), sinf(up)};
        distance = cast_ray(street, (int)(sizeof street / sizeof street[0]), direction);
        if (distance < 90.0f) {
            distance += test_uniform(r, -0.02f, 0.02f);
            set(p, distance * direction[0], distance * direction[1], distance * direction[2]);
            return;
        }
        ring = (float)(test_bits(r) % 64);
        turn = test_uniform(r, 0.0f, 1.0f);
    }
    set(p, 0.0f, 0.0f, -1.73f);
}

/* A furnished room as a depth camera sees it: rows of pixels, depth in whole millimetres, noise that grows with it. */
static void room(test_random *r, float *p, int64_t i, int64_t n) {
    /* x right, y down, z ahead */
    static const box scene[] = {{-4, 1.2f, -1, 4, 1.3f, 6},
                                {-4, -1.6f, -1, 4, -1.4f, 6},
                                {-2.6f, -2, -1, -2.4f, 2, 6},
                                {2.2f, -2, -1, 2.4f, 2, 6},
                                {-4, -2, 4.6f, 4, 2, 4.8f},
                                {-0.7f, 0.45f, 1.9f, 0.8f, 0.5f, 2.8f},
                                {-0.65f, 0.5f, 2, -0.6f, 1.2f, 2.1f},
                                {0.7f, 0.5f, 2.6f, 0.75f, 1.2f, 2.7f},
                                {-2.4f, 0.3f, 2.4f, -1.5f, 1.2f, 4.4f},
                                {1.6f, -0.9f, 3.4f, 2.2f, 1.2f, 4.5f},
                                {0.1f, 0.2f, 2.2f, 0.3f, 0.45f, 2.4f},
                                {-1, -0.7f, 4.5f, 0.6f, 0.2f, 4.6f}};
    int64_t width = (int64_t)ceil(sqrt((double)n * 4.0 / 3.0)), height = (n + width - 1) / width;
    float direction[3] = {1.08f * ((float)(i % width) / (float)width - 0.5f),
                          0.81f * ((float)(i / width) / (float)height - 0.5f), 1.0f};
    float depth = cast_ray(scene, (int)(sizeof scene / sizeof scene[0]), direction);
    depth += depth * depth * test_uniform(r, -0.003f, 0.003f);
    depth = roundf(depth * 1000.0f) * 0.001f;
    set(p, depth * direction[0], depth * direction[1], depth);
}

/* Every point eight times, n / 8 points apart. */
static void eightfold(test_random *r, float *p, int64_t i, int64_t n) {
    test_random own = {.state = (uint64_t)(i % (n / 8 + 1)) * 0x2545F4914F6CDD1Dull};
    (void)r;
    cube(&own, p, i, n);
}

static void wide_lattice(test_random *r, float *p, int64_t i, int64_t n) {
    int64_t side = (int64_t)ceil(cbrt((double)n));
    (void)r;
    set(p, (float)(i % side), (float)(i / side % side), (float)(i / (side * side)));
}

static const struct kind {
    const char *name;
    fill_fn *fill;
    int64_t rows;
    int columns;
} kinds[] = {
    {"empty", uniform, 0, 4},
    {"one point", uniform, 1, 4},
    {"two points", uniform, 2, 3},
    {"uniform", uniform, 2500, 4},
    {"rings", rings, 5003, 5},
    {"lattice", lattice, 1728, 4},
    {"duplicates", duplicates, 1301, 4},
    {"clusters", clusters, 2999, 6},
    {"all equal", equal, 777, 4},
    {"collinear", collinear, 1025, 3},
    {"not finite", not_finite, 2049, 4},
    {"none finite", none_finite, 65, 4},
    {"1e30", huge30, 513, 4},
    {"3e38", huge38, 641, 4},
    {"denormal", denormal, 511, 4},
    {"tiny", tiny, 1000, 4},
    {"outlier", outlier, 1999, 4},
    {"faces", faces, 6001, 4},
    {"one voxel", one_voxel, 3001, 5},
    {"origins", origins, 2701, 4},
    {"sixteen columns", uniform, 1111, 16},
    {"many", uniform, 30011, 4},
    {"cube", cube, 2000, 3},
    {"street scan", street_scan, 4001, 4},
    {"room", room, 3100, 3},
    {"eightfold", eightfold, 1700, 4},
    {"wide lattice", wide_lattice, 2197, 3},
    {"coarse grid", coarse_grid, 900, 4},
    {"few bits", few_bits, 1500, 4},
    {"seams", seams, 8009, 4},
    {"again", again, 6007, 4},
    {"corner", corner, 1409, 4},
};

/* Other columns: reflectance, and now and then a NaN with a payload or an infinity. */
static void fill_rest(test_random *r, float *p, int columns) {
    for (int k = 3; k < columns; k++) {
        p[k] = test_uniform(r, 0.0f, 1.0f);
        if (k > 3 && test_bits(r) % 64 == 0) {
            p[k] = test_bits(r) % 2 ? from_bits(0xffc0beefu) : -INFINITY;
        }
    }
}

bool make_cloud(int kind, uint64_t seed, int64_t rows, pcgpu_cloud *cloud, const char **name) {
    if (kind < 0 || kind >= (int)(sizeof kinds / sizeof kinds[0])) {
        return false;
    }
    const struct kind *k = &kinds[kind];
    int64_t n = rows ? rows : k->rows;
    pcgpu_context scratch = {0};
    if (pcgpu_cloud_create(&scratch, n, k->columns, cloud) != PCGPU_OK) {
        fprintf(stderr, "kernels: %s\n", scratch.errors.text);
        exit(1);
    }
    test_random r = {.state = seed + 1000003u * (uint64_t)kind};
    for (int64_t i = 0; i < n; i++) {
        float *p = cloud->data + i * k->columns;
        k->fill(&r, p, i, n);
        fill_rest(&r, p, k->columns);
    }
    *name = k->name;
    return true;
}

void make_cloud_named(const char *name, uint64_t seed, int64_t rows, pcgpu_cloud *cloud) {
    const char *found;
    for (int i = 0; i < (int)(sizeof kinds / sizeof kinds[0]); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            make_cloud(i, seed, rows, cloud, &found);
            return;
        }
    }
    fprintf(stderr, "kernels: there is no cloud '%s'\n", name);
    exit(1);
}
