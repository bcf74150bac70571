/* The poll of the settings ends an operation wherever it is asked: the results are empty, no memory stays (a build with
 * AddressSanitizer), and the next call is as if that one had not been made. It is called on the caller's thread
 * alone. */
#include "unit.h"
#include "backend.h"

#include <pthread.h>

enum { MOST = 3, POINTS = 3000, SEARCHED = 1500 };

static struct {
    pcgpu_context *context;
    pthread_t caller;
    int calls, last; /* the call of the poll from which on it ends the operation; 0: none */
} polled;

/* Each place asks the poll: the library believes that the last time was long ago. */
static bool end_at_last(void *user) {
    assert_ptr_equal(user, &polled);
    assert_true(pthread_equal(polled.caller, pthread_self()));
    polled.context->polled = -1.0;
    return ++polled.calls >= polled.last && polled.last > 0;
}

static pcgpu_cloud clouds[MOST];

static int make_clouds(void **unused) {
    numbers = (test_random){7};
    for (int c = 0; c < MOST; c++) {
        assert_int_equal(pcgpu_cloud_create(NULL, c == 2 ? SEARCHED : POINTS, 4, &clouds[c]), PCGPU_OK);
        for (int64_t i = 0; i < clouds[c].rows; i++) { /* ground and two walls, from 0.4 m farther each time */
            float *p = clouds[c].data + 4 * i;
            const float a = 20.0f * test_float(&numbers), b = 20.0f * test_float(&numbers);
            p[0] = i % 3 == 1 ? 20.0f : a + 0.4f * (float)c;
            p[1] = i % 3 == 2 ? 14.0f : b;
            p[2] = i % 3 == 0 ? 0.1f * sinf(a) : 4.0f * test_float(&numbers);
            p[3] = test_float(&numbers);
        }
    }
    return 0;
}

static int free_clouds(void **unused) {
    for (int c = 0; c < MOST; c++) {
        pcgpu_cloud_free(&clouds[c]);
    }
    return 0;
}

/* ---- operations: the status, and a sum of the results, 0 for empty ones ------------------------------------------ */

static uint64_t sum_of(const void *bytes, size_t size) {
    uint64_t sum = 0;
    for (size_t i = 0; i < size; i++) {
        sum = 31 * sum + ((const unsigned char *)bytes)[i];
    }
    return sum;
}

static pcgpu_status sample_as(pcgpu_context *context, int count, int columns, int64_t picks, uint64_t *sum) {
    const pcgpu_cloud *from[MOST] = {&clouds[0], &clouds[1], &clouds[2]};
    pcgpu_sample_params params;
    pcgpu_sampled results[MOST];
    pcgpu_sample_params_init(&params);
    params.count = picks;
    params.column_count = columns;
    for (int k = 0; k < columns; k++) {
        params.columns[k] = k;
    }
    const pcgpu_status status = pcgpu_sample_batch(context, from, count, &params, results);
    for (int i = 0; i < count; i++) {
        *sum += sum_of(results[i].indices, (size_t)results[i].count * sizeof *results[i].indices);
        pcgpu_sampled_free(&results[i]);
    }
    return status;
}

static pcgpu_status sample_one(pcgpu_context *context, uint64_t *sum) {
    return sample_as(context, 1, 0, 900, sum);
}

static pcgpu_status sample_columns(pcgpu_context *context, uint64_t *sum) {
    return sample_as(context, 1, 4, 200, sum);
}

static pcgpu_status sample_many(pcgpu_context *context, uint64_t *sum) {
    return sample_as(context, MOST, 0, 500, sum);
}

static pcgpu_status find_neighbors(pcgpu_context *context, uint64_t *sum) {
    enum { K = 9 };
    static int32_t indices[POINTS * K];
    pcgpu_neighbors_params params;
    pcgpu_neighbors_params_init(&params);
    params.k = K;
    const pcgpu_clouds points = {clouds[0].data, 4, 1, POINTS, NULL}, queries = {clouds[1].data, 4, 1, POINTS, NULL};
    const pcgpu_neighbor_lists lists = {.indices = indices, .index_bytes = 4};
    const pcgpu_status status = pcgpu_neighbors(context, &points, &queries, &params, &lists, NULL);
    *sum = status == PCGPU_OK ? sum_of(indices, sizeof indices) : 0;
    return status;
}

static pcgpu_status register_by(pcgpu_context *context, pcgpu_register_method method, pcgpu_search search, int count,
                                uint64_t *sum) {
    const pcgpu_pair pairs[MOST] = {{&clouds[1], &clouds[0]}, {&clouds[2], &clouds[0]}, {&clouds[2], &clouds[1]}};
    pcgpu_registration results[MOST];
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    params.method = method;
    params.search = search;
    const pcgpu_status status = pcgpu_register_pairs(context, pairs, count, &params, results);
    for (int i = 0; i < count; i++) {
        *sum += sum_of(results[i].T_target_source, sizeof results[i].T_target_source);
    }
    return status;
}

static pcgpu_status register_ndt(pcgpu_context *context, uint64_t *sum) {
    return register_by(context, PCGPU_REGISTER_NDT, PCGPU_SEARCH_NEVER, 1, sum);
}

static pcgpu_status register_gicp(pcgpu_context *context, uint64_t *sum) {
    return register_by(context, PCGPU_REGISTER_GICP, PCGPU_SEARCH_NEVER, 1, sum);
}

static pcgpu_status register_search(pcgpu_context *context, uint64_t *sum) {
    return register_by(context, PCGPU_REGISTER_NDT, PCGPU_SEARCH_ALWAYS, 1, sum);
}

static pcgpu_status register_many(pcgpu_context *context, uint64_t *sum) {
    return register_by(context, PCGPU_REGISTER_PLANE, PCGPU_SEARCH_NEVER, MOST, sum);
}

static pcgpu_status register_all(pcgpu_context *context, uint64_t *sum) {
    const pcgpu_cloud *from[MOST] = {&clouds[0], &clouds[1], &clouds[2]};
    pcgpu_register_params params;
    pcgpu_set set;
    pcgpu_register_params_init(&params);
    const pcgpu_status status = pcgpu_register_all(context, from, MOST, &params, &set);
    for (int i = 0; i < set.count; i++) {
        *sum += sum_of(set.clouds[i].T_group_cloud, sizeof set.clouds[i].T_group_cloud);
    }
    pcgpu_set_free(&set);
    return status;
}

static void every_place_can_end_it(void **unused) {
    static const struct {
        pcgpu_status (*run)(pcgpu_context *context, uint64_t *sum);
        int least; /* places that ask, one thread */
    } operations[] = {{sample_one, 70},     {sample_columns, 60}, {sample_many, 190},
                      {find_neighbors, 6},  {register_ndt, 4},    {register_gicp, 4},
                      {register_search, 6}, {register_many, 12},  {register_all, 10}};
    for (int threads = 1; threads <= 3; threads += 2) {
        for (size_t k = 0; k < sizeof operations / sizeof *operations; k++) {
            const pcgpu_settings settings = {.struct_size = sizeof settings,
                                             .device = PCGPU_DEVICE_CPU,
                                             .threads = threads,
                                             .poll = end_at_last,
                                             .poll_user = &polled};
            uint64_t wanted = 0, sum = 0;
            int places = 0;
            polled.caller = pthread_self();
            polled.last = 0;
            assert_int_equal(pcgpu_open(&settings, &polled.context), PCGPU_OK);
            assert_int_equal(operations[k].run(polled.context, &wanted), PCGPU_OK);
            assert_true(wanted != 0);
            for (polled.last = 1; places == 0; polled.last += 1 + polled.last / 4) {
                polled.calls = 0;
                sum = 0;
                const pcgpu_status status = operations[k].run(polled.context, &sum);
                places = status == PCGPU_OK ? polled.calls + 1 : 0;
                if (status != PCGPU_OK) {
                    assert_int_equal(status, PCGPU_ERROR_CANCELLED);
                    assert_string_equal(pcgpu_last_error(polled.context), "cancelled");
                }
                assert_true(sum == (status == PCGPU_OK ? wanted : 0));
                assert_true(status != PCGPU_OK || polled.calls < polled.last);
                if (polled.last % 5 == 1) { /* and then to its end */
                    const int last = polled.last;
                    polled.last = 0;
                    sum = 0;
                    assert_int_equal(operations[k].run(polled.context, &sum), PCGPU_OK);
                    assert_true(sum == wanted);
                    polled.last = last;
                }
            }
            assert_true(threads > 1 || places >= operations[k].least);
            pcgpu_close(polled.context);
        }
    }
}

UNIT_GROUP(cancel, make_clouds, free_clouds, TEST(every_place_can_end_it))
