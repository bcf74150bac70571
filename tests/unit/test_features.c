/* Starts of a registration from features: of parts of a furnished room in any rotation, and of clouds without any. */
#include "rooms_test.h"
#include "context.h"
#include "register_features.h"

static const box_room furnished = {8,
                                   {{0, 0, 1.5, 3, 2.5, 1.5},
                                    {-2, 1.5, 0.4, 0.6, 0.4, 0.4},
                                    {-1.5, -1.8, 0.9, 0.3, 0.5, 0.9},
                                    {0.3, 0.4, 0.35, 0.5, 0.8, 0.35},
                                    {1.2, -1.5, 0.2, 0.2, 0.2, 0.2},
                                    {1.7, 1.9, 1.1, 0.4, 0.3, 1.1},
                                    {2.4, -0.6, 0.5, 0.25, 0.9, 0.5},
                                    {-0.4, -1.2, 0.25, 0.15, 0.3, 0.25}}};

static pcgpu_cloud part(pcgpu_context *context, int rows, uint64_t seed, double low, double high, const double T[16]) {
    numbers.state = seed;
    return part_of_room(context, &furnished, rows, low, high, T);
}

/* About (1, 2, 3) by 140 degrees, and 12 m. */
#define ROW(X, Y, Z, T) X, Y, Z, T
static const double turned[16] = {ROW(-0.639898411467622, -0.263084581249519, 0.722022524655553, 4),
                                  ROW(0.767668707854941, -0.261460316513556, 0.58508397505739, -8),
                                  ROW(0.03485366525258, 0.928668404758877, 0.369269841743222, 9), ROW(0, 0, 0, 1)};

static void assert_near(const double T[16], const double truth[16], double metres, double degrees) {
    double there[16];
    pc_transform_between(truth, T, there);
    assert_true(pc_transform_length(there) < metres);
    assert_true((there[0] + there[5] + there[10] - 1.0) / 2.0 > cos(degrees / 57.29577951308232));
}

/* Half of each part is in the other one; the numbers of threads and the vectors do not matter. */
static void test_parts(void **unused) {
    pc_start first[PC_STARTS], starts[PC_STARTS];
    pcgpu_registration result;
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    params.voxel = 0.0625;
    for (int form = 0; form < 4; form++) {
        pcgpu_context *context = open_context(form == 3 ? 4 : 1);
        context->simd_limit = form < 3 ? form + 1 : 0;
        pcgpu_cloud source = part(context, 30000, 1, -3.2, 1.6, pc_identity);
        pcgpu_cloud target = part(context, 30000, 2, -1.4, 3.2, turned);
        int count = 0;
        assert_int_equal(pc_search_features(context, &params, 0.0, &source, &target, starts, &count), PCGPU_OK);
        assert_true(count > 0);
        assert_near(starts[0].T, turned, 0.4, 15.0);
        for (int i = 0; i < count; i++) {
            assert_true(form == 0 || memcmp(starts[i].T, first[i].T, sizeof first[i].T) == 0);
            first[i] = starts[i];
        }
        params.search = PCGPU_SEARCH_ALWAYS;
        assert_int_equal(pcgpu_register(context, &source, &target, &params, &result), PCGPU_OK);
        assert_true(result.converged);
        assert_near(result.T_target_source, turned, 0.003, 0.05);
        pcgpu_cloud_free(&source);
        pcgpu_cloud_free(&target);
        pcgpu_close(context);
    }
}

/* No start, and no error: too few points, points at one place, points far apart, points that are none. */
static void test_nothing(void **unused) {
    pcgpu_context *context = open_context(2);
    pcgpu_cloud room = part(context, 5000, 3, -3.2, 3.2, pc_identity);
    for (int kind = 0; kind < 5; kind++) {
        pcgpu_cloud cloud;
        pc_start starts[PC_STARTS];
        int count = 9;
        assert_int_equal(pcgpu_cloud_create(context, kind == 0 ? 0 : 400, 3, &cloud), PCGPU_OK);
        for (int64_t i = 0; i < 3 * cloud.rows; i++) {
            cloud.data[i] = kind == 1 ? 2.0f : kind == 2 ? (float)(1e12 * noise()) : kind == 3 ? NAN : (float)noise();
        }
        for (int voxel = 0; voxel < 2; voxel++) {
            pcgpu_register_params params;
            pcgpu_register_params_init(&params);
            params.voxel = voxel ? 1e-6 : 0.0;
            assert_int_equal(pc_search_features(context, &params, 0.0, &cloud, &room, starts, &count), PCGPU_OK);
            assert_true(kind == 4 || count == 0);
            assert_int_equal(pc_search_features(context, &params, 0.0, &room, &cloud, starts, &count), PCGPU_OK);
            assert_true(kind == 4 || count == 0);
        }
        pcgpu_cloud_free(&cloud);
    }
    pcgpu_cloud_free(&room);
    pcgpu_close(context);
}

UNIT_GROUP(features, NULL, NULL, TEST(test_parts), TEST(test_nothing))
