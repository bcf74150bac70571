/* The memory that is available, from files as the kernel has them. */
#include "memory.h"
#include "test_cmd.h"

#include "root_test.h"

#include <sys/resource.h>

static void of_the_machine(void **unused) {
    assert_true(memory_available(root) == SIZE_MAX);
    write_file("/proc/meminfo", "MemTotal:       1000000 kB\nMemFree:         1000 kB\nMemAvailable:     500000 kB\n");
    assert_true(memory_available(root) == (size_t)500000 * 1024);
    assert_true(memory_available("") > 1 << 20);
}

static void of_groups(void **unused) {
    write_file("/proc/meminfo", "MemAvailable:     500000 kB\n");
    write_file("/proc/self/cgroup", "0::/slice/job\n");
    write_file("/sys/fs/cgroup/slice/job/memory.max", "max\n");
    assert_true(memory_available(root) == (size_t)500000 * 1024);
    write_file("/sys/fs/cgroup/slice/memory.max", "100000000\n"); /* that of the group above */
    assert_true(memory_available(root) == 100000000);
    write_file("/sys/fs/cgroup/slice/job/memory.max", "30000000\n");
    assert_true(memory_available(root) == 30000000);
}

static void of_a_container(void **unused) {
    write_file("/proc/meminfo", "MemAvailable:     500000 kB\n");
    write_file("/proc/self/cgroup", "12:cpuset:/\n4:memory:/docker/of-the-host\n1:name=systemd:/\n");
    write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"); /* none */
    assert_true(memory_available(root) == (size_t)500000 * 1024);
    write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "20000000\n");
    assert_true(memory_available(root) == 20000000);
}

/* The address space that is left, of a limit that a shell sets. */
static void of_the_shell(void **unused) {
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = (struct rlimit){(rlim_t)1 << 33, before.rlim_max};
    if (before.rlim_max < limit.rlim_cur || setrlimit(RLIMIT_AS, &limit) != 0) {
        skip();
    }
    struct rlimit set;
    getrlimit(RLIMIT_AS, &set);
    if (set.rlim_cur != limit.rlim_cur) { /* qemu-user sets none */
        skip();
    }
    const size_t available = memory_available(root);
    setrlimit(RLIMIT_AS, &before);
    assert_true(available < (size_t)1 << 33);
}

UNIT_GROUP(cmd_memory, NULL, NULL, TEST_BETWEEN(of_the_machine, make_root, remove_root),
           TEST_BETWEEN(of_groups, make_root, remove_root), TEST_BETWEEN(of_the_shell, make_root, remove_root),
           TEST_BETWEEN(of_a_container, make_root, remove_root))
