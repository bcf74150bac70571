/* Registration of made-up scenes whose answer is known, and of those that have none. */
#include "unit.h"
#include "solve.h"

typedef void place_fn(double p[3]); /* a random point of a scene */

/* A street corner: ground, two walls, boxes. */
static void place_corner(double p[3]) {
    double which = noise();
    for (int k = 0; k < 3; k++) {
        p[k] = 10.0 * noise();
    }
    if (which < 0.0) {
        p[2] = 0.0;
    } else if (which < 0.3) {
        p[0] = 10.0;
        p[2] = 2.0 + 0.2 * p[2];
    } else if (which < 0.6) {
        p[1] = -10.0;
        p[2] = 2.0 + 0.2 * p[2];
    } else {
        p[which < 0.8 ? 0 : 1] = 3.0 * floor(0.2 * p[2]);
        p[2] = 1.0 + 0.1 * p[2];
    }
}

/* The inner walls of the corner are every 3 m, so that half a turn about one of them fits; here they are not. */
static void place_uneven(double p[3]) {
    place_corner(p);
    p[0] += 0.05 * p[0] * p[0];
    p[1] += 0.05 * p[1] * p[1];
}

static void place_plane(double p[3]) {
    p[0] = 10.0 * noise();
    p[1] = 10.0 * noise();
    p[2] = -1.7;
}

static void place_corridor(double p[3]) {
    double which = noise();
    p[0] = 15.0 * noise();
    p[1] = fabs(which) < 0.5 ? 2.0 * noise() : which < 0.0 ? -2.0 : 2.0;
    p[2] = fabs(which) < 0.5 ? 0.0 : 1.5 + 1.5 * noise();
}

/* All in one place, too far apart to square, and no numbers. */
static void place_same(double p[3]) {
    p[0] = p[1] = p[2] = 2.0;
}

static void place_apart(double p[3]) {
    p[0] = 1e12 * noise(), p[1] = 1e12 * noise(), p[2] = 1e12 * noise();
}

static void place_nowhere(double p[3]) {
    p[0] = p[1] = p[2] = (double)NAN;
}

static void place_sphere(double p[3]) {
    double length = 0.0;
    while (!(length > 0.1 && length < 1.0)) {
        for (int k = 0; k < 3; k++) {
            p[k] = noise();
        }
        length = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    }
    for (int k = 0; k < 3; k++) {
        p[k] *= 5.0 / length;
    }
}

/* Points of a scene with some noise, seen from a frame that T maps into the scene's (NULL: the scene's own). */
static pcgpu_cloud make(pcgpu_context *context, place_fn *place, int64_t rows, uint64_t seed, double jitter,
                        const double *T) {
    pcgpu_cloud cloud;
    assert_int_equal(pcgpu_cloud_create(context, rows, 4, &cloud), PCGPU_OK);
    numbers.state = seed;
    for (int64_t i = 0; i < rows; i++) {
        double p[3];
        place(p);
        for (int k = 0; k < 3; k++) {
            p[k] += jitter * noise() - (T ? T[4 * k + 3] : 0.0);
        }
        for (int k = 0; k < 3; k++) {
            cloud.data[4 * i + k] = (float)(T ? T[k] * p[0] + T[4 + k] * p[1] + T[8 + k] * p[2] : p[k]);
        }
        cloud.data[4 * i + 3] = 0.0f;
    }
    return cloud;
}

static pcgpu_context *context;
static pcgpu_cloud target, source;

/* Two clouds of a scene: the target, and from the next seed the source, seen from T. */
static void begin(int threads, place_fn *place, int64_t rows, uint64_t seed, double jitter, const double *T) {
    context = open_context(threads);
    target = make(context, place, rows, seed, jitter, NULL);
    source = make(context, place, rows, seed + 1, jitter, T);
}

static void end(void) {
    pcgpu_cloud_free(&source);
    pcgpu_cloud_free(&target);
    pcgpu_close(context);
}

/* About z by 3 degrees, and half a metre. */
#define COSINE 0.99862953475457
#define SINE   0.05233595624294
static const double moved[16] = {COSINE, -SINE, 0, 0.4, SINE, COSINE, 0, -0.3, 0, 0, 1, 0.05, 0, 0, 0, 1};

static double largest_difference(const double *a, const double *b) {
    double most = 0.0;
    for (int i = 0; i < 16; i++) {
        most = fmax(most, fabs(a[i] - b[i]));
    }
    return most;
}

static pcgpu_registration run_with(const pcgpu_register_params *params) {
    pcgpu_registration result;
    assert_int_equal(pcgpu_register(context, &source, &target, params, &result), PCGPU_OK);
    return result;
}

static pcgpu_register_params params_of(int method, pcgpu_search search) {
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    params.method = (pcgpu_register_method)method;
    params.search = search;
    return params;
}

/* From the identity alone. */
static pcgpu_registration run(const pcgpu_cloud *from, const pcgpu_cloud *to, int method) {
    pcgpu_registration result;
    const pcgpu_register_params params = params_of(method, PCGPU_SEARCH_NEVER);
    assert_int_equal(pcgpu_register(context, from, to, &params, &result), PCGPU_OK);
    return result;
}

static void refused(const pcgpu_cloud *from, const pcgpu_cloud *to, const pcgpu_register_params *params,
                    const char *words) {
    pcgpu_registration result;
    assert_int_equal(pcgpu_register(context, from, to, params, &result), PCGPU_ERROR_ARGUMENT);
    assert_true(pcgpu_last_error(context)[0] != '\0' && strstr(pcgpu_last_error(context), words));
}

/* All methods. */
#define EACH_METHOD(M)                                                                                                 \
    int M = 0;                                                                                                         \
    M <= PCGPU_REGISTER_GICP;                                                                                          \
    M++

static void test_degenerate(void **unused) {
    static const struct {
        place_fn *place;
        const char *direction; /* named, at least */
    } scenes[] = {{place_plane, "translation along x, translation along y, rotation about z"},
                  {place_corridor, "translation along x"},
                  {place_sphere, "rotation about x"}};
    for (int i = 0; i < 6; i++) { /* without noise and with it */
        begin(2, scenes[i / 2].place, 10000, 6, 0.02 * (i % 2), NULL);
        for (EACH_METHOD(method)) {
            pcgpu_registration result = run(&source, &target, method);
            assert_true(result.degenerate);
            assert_false(result.converged);
            assert_non_null(strstr(result.unconstrained, scenes[i / 2].direction));
            assert_non_null(strstr(result.reason, scenes[i / 2].direction));
            if (i % 2 && method == PCGPU_REGISTER_NDT) {
                const pcgpu_register_params params = params_of(method, PCGPU_SEARCH_ALWAYS);
                result = run_with(&params);
                assert_true(result.degenerate && !result.converged);
            }
        }
        end();
    }
}

/* Coordinates so large that float32 has steps of 8 mm: they are no finer afterwards, but lose nothing more. */
static void test_far_from_origin(void **unused) {
    begin(2, place_corner, 12000, 18, 0.02, NULL);
    for (int64_t i = 0; i < 12000; i++) {
        target.data[4 * i] += 100000.0f;
        source.data[4 * i] += 100000.3f;
        source.data[4 * i + 1] -= 70000.0f;
    }
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    params.method = PCGPU_REGISTER_NDT;
    params.init[7] = 70000.0;
    pcgpu_registration result = run_with(&params);
    assert_true(result.converged);
    double x = result.T_target_source[0] * 100000.3 - result.T_target_source[1] * 70000.0 + result.T_target_source[3];
    double y = result.T_target_source[4] * 100000.3 - result.T_target_source[5] * 70000.0 + result.T_target_source[7];
    assert_true(fabs(x - 100000.0) < 5e-3 && fabs(y) < 5e-3);
    result = run(&target, &target, PCGPU_REGISTER_NDT);
    assert_true(result.converged &&
                largest_difference(result.T_target_source,
                                   (double[16]){1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}) < 1e-9);
    end();
}

/* Half a turn away nothing fits, though the ground matches everywhere. */
static void test_half_turn(void **unused) {
    static const double turned[16] = {-1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    begin(2, place_uneven, 15000, 20, 0.02, turned);
    pcgpu_registration result = run(&source, &target, PCGPU_REGISTER_NDT);
    assert_false(result.converged);
    assert_true(result.score < 0.35);
    end();
}

/* About z by 150 degrees, and 4.5 m: far from what any method reaches alone. */
static const double turned[16] = {
    -0.86602540378444, -0.5, 0, 3.6, 0.5, -0.86602540378444, 0, -2.7, 0, 0, 1, 0.8, 0, 0, 0, 1};

/* From one thread and from three, by every method; far from their origins, clouds are turned about their centroids; and
 * where the origins are not among the points, too. */
static void test_search(void **unused) {
    static const double away[16] = {1, 0, 0, 500, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    const double metres = 4500000.0;
    pcgpu_registration result, first[PCGPU_REGISTER_GICP + 1];
    pcgpu_register_params params = params_of(PCGPU_REGISTER_NDT, PCGPU_SEARCH_ALWAYS);
    for (int threads = 1; threads <= 3; threads += 2) {
        begin(threads, place_corner, 12000, 22, 0.02, turned);
        for (EACH_METHOD(method)) {
            params.method = (pcgpu_register_method)method;
            result = run_with(&params);
            assert_true(result.converged);
            assert_true(largest_difference(result.T_target_source, turned) < 2e-2);
            assert_true(largest_difference(result.start, turned) < 1.0); /* half a cell in height, across, and a turn */
            first[method] = threads == 1 ? result : first[method];
            assert_memory_equal(first[method].T_target_source, result.T_target_source, sizeof result.T_target_source);
            assert_memory_equal(first[method].start, result.start, sizeof result.start);
            assert_int_equal(first[method].starts, result.starts);
        }
        params.method = PCGPU_REGISTER_NDT;
        source.offset[0] = target.offset[0] = metres;
        result = run_with(&params);
        assert_true(result.converged);
        for (int k = 0; k < 3; k++) {
            const double *row = result.T_target_source + 4 * k;
            assert_true(fabs(row[0] * metres + row[3] - (k == 0) * metres - turned[4 * k + 3]) < 1e-2);
        }
        end();
    }
    begin(2, place_corner, 12000, 22, 0.02, turned);
    result = run(&source, &target, PCGPU_REGISTER_NDT); /* one start, the given one, and it is too far */
    assert_false(result.converged);
    assert_int_equal(result.starts, 1);
    assert_memory_equal(result.start, params.init, sizeof params.init);
    pcgpu_cloud_free(&source);
    source = make(context, place_corner, 12000, 28, 0.02, away);
    result = run_with(&params);
    assert_true(result.converged);
    for (int k = 0; k < 3; k++) { /* at the middle of the source */
        assert_true(fabs(result.T_target_source[4 * k + 3] - 500.0 * result.T_target_source[4 * k]) < 1e-2);
    }
    end();
}

/* A plane has no picture, and few points or hostile ones none at all; other scenes do not fit anywhere. */
static void test_search_in_vain(void **unused) {
    static const struct {
        place_fn *place;
        int64_t rows;
    } sources[] = {{place_sphere, 0},    {place_plane, 5},     {place_plane, 10000},  {place_same, 400},
                   {place_nowhere, 400}, {place_apart, 10000}, {place_sphere, 10000}, {place_corridor, 10000}};
    const pcgpu_register_params params = params_of(PCGPU_REGISTER_NDT, PCGPU_SEARCH_ALWAYS);
    begin(2, place_corner, 10000, 24, 0.02, NULL);
    for (int i = 0; i < 8; i++) {
        pcgpu_cloud_free(&source);
        source = make(context, sources[i].place, sources[i].rows, 25, 0.02, NULL);
        pcgpu_registration result = run_with(&params);
        assert_false(result.converged);
        assert_true(result.reason[0] != '\0');
        assert_int_equal(result.starts == 1, i < 6);
        assert_true(i >= 6 || memcmp(result.start, params.init, sizeof params.init) == 0);
    }
    end();
}

/* A cloud with three columns more: its points' normals, of any sign and length, and some that are none. */
static pcgpu_cloud with_normals(const pcgpu_cloud *cloud, double (*normals)[3]) {
    pcgpu_cloud out;
    assert_int_equal(pcgpu_cloud_create(context, cloud->rows, 7, &out), PCGPU_OK);
    for (int k = 0; k < 3; k++) {
        snprintf(out.names[4 + k], sizeof out.names[0], "n%c", "xyz"[k]);
    }
    for (int64_t i = 0; i < cloud->rows; i++) {
        memcpy(out.data + 7 * i, cloud->data + 4 * i, 4 * sizeof(float));
        for (int k = 0; k < 3; k++) {
            out.data[7 * i + 4 + k] = (float)normals[i][k];
        }
    }
    return out;
}

/* Normals in a file are what counts; where they are missing, or few, they are estimated. */
static void test_given_normals(void **unused) {
    enum { ROWS = 20000 };
    static double normals[ROWS][3];
    begin(2, place_corner, ROWS, 26, 0.0, moved);
    for (int64_t i = 0; i < ROWS; i++) {
        const float *p = target.data + 4 * i;
        double scale = i % 3 == 0 ? -2.0 : 0.5;
        bool ground = p[2] == 0.0f, across = p[0] == 10.0f || p[0] == 3.0f * floorf(p[0] / 3.0f);
        normals[i][0] = across && !ground ? scale : 0.0;
        normals[i][1] = ground || across ? 0.0 : scale;
        normals[i][2] = ground ? scale : 0.0;
        if (i % 50 == 0) {
            normals[i][i / 50 % 3] = NAN;
        }
    }
    pcgpu_cloud given = with_normals(&target, normals);
    for (int method = 0; method <= PCGPU_REGISTER_GICP; method += PCGPU_REGISTER_GICP) {
        pcgpu_registration estimated = run(&source, &target, method);
        pcgpu_registration result = run(&source, &given, method);
        assert_true(result.converged && estimated.converged);
        assert_true(largest_difference(result.T_target_source, moved) < 3e-3);
        assert_true(memcmp(result.T_target_source, estimated.T_target_source, sizeof result.T_target_source) != 0);
    }
    /* Without any along y, nothing constrains that direction. */
    for (int64_t i = 0; i < ROWS; i++) {
        given.data[7 * i + 5] = 0.0f;
    }
    pcgpu_registration open = run(&source, &given, PCGPU_REGISTER_PLANE);
    assert_true(open.degenerate && !open.converged);
    assert_non_null(strstr(open.unconstrained, "translation along y"));
    for (int64_t i = 0; i < ROWS; i++) { /* too few points have a normal: they are estimated, to the last bit */
        for (int k = 0; k < 3 && i % 100; k++) {
            given.data[7 * i + 4 + k] = 0.0f;
        }
    }
    for (int method = 0; method <= PCGPU_REGISTER_GICP; method += PCGPU_REGISTER_GICP) {
        pcgpu_registration estimated = run(&source, &target, method);
        pcgpu_registration result = run(&source, &given, method);
        assert_memory_equal(result.T_target_source, estimated.T_target_source, sizeof result.T_target_source);
    }
    pcgpu_cloud_free(&given);
    end();
}

static void test_parameters(void **unused) {
    begin(1, place_corner, 1000, 14, 0.02, NULL);
    for (int i = 0; i < 12; i++) {
        pcgpu_register_params p;
        pcgpu_register_params_init(&p);
        p.voxel = i == 0 ? -2.0 : i == 1 ? NAN : i == 10 ? 0.0 : i == 11 ? 0.25 : p.voxel; /* 10: cells of what size? */
        p.levels = i == 2 ? -1 : i == 3 ? 9 : i == 11 ? 7 : p.levels;
        p.max_distance = i == 4 ? 0.0 : p.max_distance;
        p.max_iterations = i == 5 ? 0 : p.max_iterations;
        p.init[0] = i == 6 ? 2.0 : p.init[0];
        p.init[15] = i == 7 ? 0.0 : p.init[15];
        p.min_score = i == 8 ? 1.5 : p.min_score;
        p.method = i == 9 ? (pcgpu_register_method)4 : p.method;
        refused(&target, &target, &p, "");
    }
    pcgpu_register_params p;
    pcgpu_register_params_init(&p);
    p.method = PCGPU_REGISTER_PLANE;
    p.voxel = 0.0;
    assert_int_equal(run_with(&p).source_points, 1000);
    end();
}

/* Each row: what becomes of one number of the identity, and what the sentence then says; NULL: it stays rigid. */
static void test_rigid(void **unused) {
    static const struct {
        int at;
        double value;
        const char *says;
    } cases[] = {{3, 1e15, NULL},      {0, 1.0004, NULL},      {0, 1.0006, "off by"},        {0, -1.0, "mirror"},
                 {1, 0.002, "off by"}, {5, NAN, "not finite"}, {11, INFINITY, "not finite"}, {12, 1e-9, "last row"},
                 {15, 2.0, "last row"}};
    char why[160];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double T[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
        T[cases[i].at] = cases[i].value;
        assert_int_equal(pcgpu_is_rigid(T, why, sizeof why), !cases[i].says);
        assert_int_equal(pcgpu_is_rigid(T, NULL, 0), !cases[i].says);
        assert_true(!cases[i].says || strstr(why, cases[i].says));
    }
}

static void test_algebra(void **unused) {
    double B[36], A[36] = {0}, b[6], x[6], values[6], vectors[36], same[6];
    numbers.state = 15;
    for (int i = 0; i < 36; i++) {
        B[i] = noise();
    }
    for (int i = 0; i < 36; i++) {
        for (int k = 0; k < 6; k++) {
            A[i] += B[6 * (i / 6) + k] * B[6 * (i % 6) + k];
        }
        b[i / 6] = 1.0 + i / 6;
    }
    assert_true(pc_solve6(A, b, x));
    assert_true(pc_solve6_by_blocks(A, b, same));
    pc_eigen6(A, values, vectors);
    for (int i = 0; i < 6; i++) {
        double left = 0.0;
        for (int k = 0; k < 6; k++) {
            double product = 0.0; /* row i of the vectors times A */
            left += A[6 * i + k] * x[k];
            for (int j = 0; j < 6; j++) {
                product += A[6 * k + j] * vectors[6 * i + j];
            }
            assert_true(fabs(product - values[i] * vectors[6 * i + k]) < 1e-12);
        }
        assert_true(fabs(left - b[i]) < 1e-9);
        assert_true(fabs(same[i] - x[i]) < 1e-9 * fabs(x[i]));
        assert_true(i == 0 || values[i - 1] <= values[i]);
    }
    for (int i = 0; i < 6; i++) { /* a pivot that is not positive, and NaN */
        for (int nan = 0; nan < 2; nan++) {
            const double kept = A[7 * i];
            A[7 * i] = nan ? NAN : -1.0;
            assert_false(pc_solve6(A, b, x));
            assert_false(pc_solve6_by_blocks(A, b, same));
            assert_memory_equal(same, ((const double[6]){0}), sizeof same);
            A[7 * i] = kept;
        }
    }
    for (int i = 0; i < 6; i++) { /* rows and columns 3 and 2 are the same */
        A[18 + i] = A[12 + i];
        A[6 * i + 3] = A[6 * i + 2];
    }
    A[21] = A[14];
    assert_false(pc_solve6(A, b, x));
    assert_false(pc_solve6_by_blocks(A, b, same));
}

UNIT_GROUP(register, NULL, NULL, TEST(test_degenerate), TEST(test_parameters), TEST(test_rigid), TEST(test_algebra),
           TEST(test_far_from_origin), TEST(test_half_turn), TEST(test_given_normals), TEST(test_search),
           TEST(test_search_in_vain))
