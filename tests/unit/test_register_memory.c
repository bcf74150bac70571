/* Memory that is short at one place after another: registration and odometry say so, nothing crashes, and what comes
 * next is as if the call that failed had not been made. */
#include "unit.h"

#include <stdatomic.h>

/* ---- allocations that fail ------------------------------------------------------------------------------------- */

/* The linker puts these before the library's calls of malloc, calloc and realloc. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

static atomic_int left; /* allocations until one fails; 0: none does */

static bool fails(void) {
    int now = atomic_load(&left);
    while (now > 0 && !atomic_compare_exchange_weak(&left, &now, now - 1)) {
    }
    return now == 1;
}

void *__wrap_malloc(size_t bytes) {
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes) {
    return fails() ? NULL : __real_realloc(memory, bytes);
}

/* ---- scans ------------------------------------------------------------------------------------------------------ */

enum { SCANS = 3, COLUMNS = 4, KINDS = 3 };

/* Of a sensor that stands, in parts of 2,048 points; of one that moves; of one that moves and whose second scan is
 * found by a search alone. */
static const struct {
    int points;
    float sweep;
} kinds[KINDS] = {{4200, 0.0f}, {2500, 0.8f}, {2000, 0.3f}};
enum { STANDS, MOVES, LOST };

static pcgpu_cloud scans[KINDS][SCANS];
static test_random numbers = {1};

static float unit(void) {
    return test_float(&numbers);
}

/* Ground, two walls and boxes, from 0.8 m farther for each scan, and for the last point of a sweep than for its first
 * one so much as `sweep`. The last column is the time. */
static void make_scan(int scan, int points, float sweep, pcgpu_cloud *cloud) {
    assert_int_equal(pcgpu_cloud_create(NULL, points, COLUMNS, cloud), PCGPU_OK);
    for (int i = 0; i < points; i++) {
        float x = 60.0f * unit() - 30.0f, y = 24.0f * unit() - 12.0f, z = -1.7f;
        const int what = i % 4;
        if (what == 1) {
            y = y < 0.0f ? -9.0f : 10.0f;
            z = 4.0f * unit() - 1.7f;
        } else if (what == 2) { /* fronts of boxes across the street */
            x = 5.0f * (float)(int)(12.0f * unit()) - 29.0f;
            y = (y < 0.0f ? -7.0f : 8.0f) + unit();
            z = 3.0f * unit() - 1.7f;
        }
        float *p = cloud->data + COLUMNS * i;
        p[3] = (float)i / (float)points;
        p[0] = x - 0.8f * (float)scan - sweep * (p[3] - 0.5f) + 0.01f * unit();
        p[1] = y + 0.01f * unit();
        p[2] = z + 0.01f * unit();
    }
}

static int make_scans(void **unused) {
    for (int i = 0; i < KINDS * SCANS; i++) {
        const int kind = i / SCANS;
        make_scan(i % SCANS, kinds[kind].points, kinds[kind].sweep, &scans[kind][i % SCANS]);
    }
    return 0;
}

static int free_scans(void **unused) {
    for (int i = 0; i < KINDS * SCANS; i++) {
        pcgpu_cloud_free(&scans[i / SCANS][i % SCANS]);
    }
    return 0;
}

/* ---- odometry --------------------------------------------------------------------------------------------------- */

/* Poses of the scans. Allocation `fail` of each scan fails, and the scan is added once more. Returns whether a scan has
 * so many. */
static bool follow(const pcgpu_odometry_params *params, int kind, int threads, int fail, double poses[SCANS][16]) {
    pcgpu_context *context = open_context(threads);
    pcgpu_odometry *odometry;
    bool failed = false;
    assert_int_equal(pcgpu_odometry_open(context, params, &odometry), PCGPU_OK);
    for (int i = 0; i < SCANS; i++) {
        pcgpu_odometry_frame frame;
        atomic_store(&left, fail);
        const pcgpu_status status = pcgpu_odometry_add(odometry, &scans[kind][i], i, &frame);
        failed = failed || (fail > 0 && atomic_load(&left) == 0);
        if (status != PCGPU_OK) {
            assert_int_equal(status, PCGPU_ERROR_MEMORY);
            assert_int_equal(atomic_load(&left), 0);
            assert_int_equal(pcgpu_odometry_add(odometry, &scans[kind][i], i, &frame), PCGPU_OK);
        }
        atomic_store(&left, 0);
        memcpy(poses[i], frame.T_world_frame, sizeof poses[i]);
    }
    pcgpu_odometry_close(odometry);
    pcgpu_close(context);
    return failed;
}

/* Allocations from `fail` on in turn, or every `step`-th. */
static void check_odometry(pcgpu_reference reference, int kind, int threads, int fail, int step) {
    pcgpu_odometry_params params;
    double wanted[SCANS][16], got[SCANS][16];
    const int first = fail;
    pcgpu_odometry_params_init(&params);
    params.reference = reference;
    params.deskew = kind == STANDS ? PCGPU_DESKEW_NONE : PCGPU_DESKEW_TIME;
    params.time_column = 3;
    params.model_range = 30.0;
    follow(&params, kind, threads, 0, wanted);
    for (int i = 0; i < SCANS; i++) {
        assert_true(wanted[i][3] - 0.8 * i < 0.3 && wanted[i][3] - 0.8 * i > -0.3); /* nan is neither */
    }
    while (follow(&params, kind, threads, fail, got)) {
        for (int i = 0; i < SCANS; i++) {
            if (memcmp(got[i], wanted[i], sizeof got[i]) != 0) {
                fail_msg("allocation %d of each scan failed, and scan %d is at %.17g, not %.17g", fail, i, got[i][3],
                         wanted[i][3]);
            }
        }
        fail += step;
    }
    assert_true(fail > first + 20);
}

static void odometry_to_the_model(void **unused) {
    check_odometry(PCGPU_REFERENCE_MODEL, STANDS, 4, 1, 3);
}

static void odometry_with_deskewing(void **unused) {
    check_odometry(PCGPU_REFERENCE_MODEL, MOVES, 1, 2, 4);
}

/* The allocations before the search are those of the test above. */
static void odometry_with_a_search(void **unused) {
    check_odometry(PCGPU_REFERENCE_MODEL, LOST, 1, 49, 9);
}

static void odometry_to_a_keyframe(void **unused) {
    check_odometry(PCGPU_REFERENCE_KEYFRAME, STANDS, 4, 1, 4);
}

/* ---- pairs ------------------------------------------------------------------------------------------------------ */

enum { PAIRS = SCANS - 1 };

static void register_all(pcgpu_context *context, int count, pcgpu_status *status, double T[PAIRS][16]) {
    pcgpu_pair pairs[PAIRS];
    pcgpu_registration results[PAIRS];
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    for (int i = 0; i < count; i++) {
        pairs[i] = (pcgpu_pair){&scans[STANDS][i + 1], &scans[STANDS][i]};
    }
    *status = pcgpu_register_pairs(context, pairs, count, &params, results);
    for (int i = 0; i < count; i++) {
        memcpy(T[i], results[i].T_target_source, sizeof T[i]);
    }
}

/* The same context afterwards, and a fresh one each time, whose memory grows. */
static void check_pairs(int count, int threads) {
    double wanted[PAIRS][16], got[PAIRS][16];
    pcgpu_status status;
    pcgpu_context *context = open_context(threads);
    register_all(context, count, &status, wanted);
    assert_int_equal(status, PCGPU_OK);
    pcgpu_close(context);
    int failures = 0;
    for (int fail = 1, end = 0; !end; fail++) {
        context = open_context(threads);
        atomic_store(&left, fail);
        register_all(context, count, &status, got);
        end = atomic_load(&left) > 0;
        atomic_store(&left, 0);
        if (status != PCGPU_OK) {
            failures++;
            assert_int_equal(status, PCGPU_ERROR_MEMORY);
            register_all(context, count, &status, got);
            assert_int_equal(status, PCGPU_OK);
        }
        assert_memory_equal(got, wanted, (size_t)count * sizeof wanted[0]);
        pcgpu_close(context);
    }
    assert_true(failures > 10);
}

static void a_pair(void **unused) {
    check_pairs(1, 4);
}

static void pairs_a_thread_each(void **unused) {
    check_pairs(PAIRS, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(a_pair),
                                       TEST(pairs_a_thread_each),
                                       TEST(odometry_to_the_model),
                                       TEST(odometry_with_deskewing),
                                       TEST(odometry_with_a_search),
                                       TEST(odometry_to_a_keyframe)};
    return cmocka_run_group_tests(tests, make_scans, free_scans);
}
