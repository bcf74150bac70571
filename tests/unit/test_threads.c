/* The threads of a context: fewer where the system refuses some, every part done once; their default number. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "unit.h"
#include "backend.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "root_test.h"

/* ---- threads that are refused ---------------------------------------------------------------------------------- */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);

static int allowed, asked; /* threads; how often one was asked for */

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
    asked++;
    return allowed-- > 0 ? __real_pthread_create(thread, attributes, run, argument) : EAGAIN;
}

enum { PARTS = 1000, STEPS = 200 };

static void count_part(void *state, int part) {
    atomic_fetch_add((atomic_int *)state + part, 1);
}

static void count_range(void *state, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
        count_part(state, (int)i);
    }
}

static void keep_line(void *user, pcgpu_log_level level, const char *line) {
    assert_int_equal(level, PCGPU_LOG_INFO);
    strcat(user, line);
    strcat(user, "\n");
}

/* Each part once in each step, with so many threads of 16. */
static void check_refusal(int threads) {
    atomic_int done[PARTS] = {0};
    char log[512] = "", wanted[512] = "";
    pcgpu_context *context;
    const pcgpu_settings settings = {.struct_size = sizeof(pcgpu_settings),
                                     .device = PCGPU_DEVICE_CPU,
                                     .threads = 16,
                                     .log = keep_line,
                                     .log_user = log};
    assert_int_equal(pcgpu_open(&settings, &context), PCGPU_OK);
    allowed = threads - 1;
    asked = 0;
    for (int step = 0; step < STEPS; step += 2) {
        pc_run_parts(context, PARTS, count_part, done);
        pc_run_ranges(context, PARTS, 7, count_range, done);
    }
    for (int i = 0; i < PARTS; i++) {
        assert_int_equal(atomic_load(&done[i]), STEPS);
    }
    if (threads < 16) {
        snprintf(wanted, sizeof wanted, "the system refuses more than %d of 16 threads; going on with these\n",
                 threads);
        assert_int_equal(asked, threads); /* once more than it gave, and never again */
    }
    pcgpu_close(context);
    assert_string_equal(log, wanted);
}

static void refused_threads_are_done_without(void **unused) {
    check_refusal(1);
    check_refusal(3);
    check_refusal(16);
}

/* ---- how many --------------------------------------------------------------------------------------------------- */

static int no_more_than(int quota) {
    const int all = pc_processors("/nowhere");
    return quota < all ? quota : all;
}

static void quota_of_version_2(void **unused) {
    write_file("/proc/self/cgroup", "0::/slice/job\n");
    write_file("/sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
    assert_int_equal(pc_processors(root), pc_processors("/nowhere"));
    write_file("/sys/fs/cgroup/slice/cpu.max", "150000 100000\n"); /* that of the group above */
    assert_int_equal(pc_processors(root), no_more_than(2));
    write_file("/sys/fs/cgroup/slice/job/cpu.max", "20000 100000\n");
    assert_int_equal(pc_processors(root), 1);
}

static void quota_in_a_container(void **unused) {
    write_file("/proc/self/cgroup", "0::/\n");
    write_file("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    assert_int_equal(pc_processors(root), 1);
}

static void quota_of_version_1(void **unused) {
    write_file("/proc/self/cgroup", "12:cpuset:/\n4:cpu,cpuacct:/docker/of-the-host\n1:name=systemd:/\n0::/\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    write_file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert_int_equal(pc_processors(root), pc_processors("/nowhere"));
    write_file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "90000\n");
    assert_int_equal(pc_processors(root), 1);
}

static void processors_of_the_mask(void **unused) {
    cpu_set_t before, one;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &before)) {
            CPU_SET(i, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(pc_processors("/nowhere"), 1);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(pc_processors("/nowhere"), CPU_COUNT(&before));
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(refused_threads_are_done_without), TEST(processors_of_the_mask),
                                       TEST_BETWEEN(quota_of_version_2, make_root, remove_root),
                                       TEST_BETWEEN(quota_in_a_container, make_root, remove_root),
                                       TEST_BETWEEN(quota_of_version_1, make_root, remove_root)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
