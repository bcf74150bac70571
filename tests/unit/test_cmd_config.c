/* Configuration files: what tests/cli/config.sh and refusals.list do not have. */
#include "test_cmd.h"
#include "sample_run.h"
#include "voxelize.h"

#include <unistd.h>

#include "config.h"

static char path[] = "/tmp/pcgpu-test-config.XXXXXX";
static reason why;

static int make_file(void **state) {
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
    return unlink(path);
}

static bool load(const char *yaml, const char *command, option_values *o) {
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    fputs(yaml, stream);
    fclose(stream);
    options_init(o, command_by_name(command));
    return config_load(path, command_by_name(command), o, &why);
}

static void test_values(void **state) {
    option_values o;
    assert_true(
        load("fields: 5\nvoxelize:\n  range: [0, -39.68, -3, 69.12, 39.68, 1]\n  voxel_size: \"0.16, 0.16, 4\"\n"
             "  max_points: 32\n  features: pillar\n  force: true\nsample:\n  count: 10\n",
             "voxelize", &o));
    assert_int_equal(o.fields, 5);
    assert_true(!voxelize_own(&o)->params.range_auto && voxelize_own(&o)->params.range[1] == -39.68 &&
                voxelize_own(&o)->params.size[2] == 4);
    assert_int_equal(voxelize_own(&o)->params.max_points, 32);
    assert_int_equal(voxelize_own(&o)->params.features, PCGPU_FEATURES_PILLAR);
    assert_true(o.force);
    assert_int_equal(sample_own(&o)->params.count, 0); /* of another command */
    options_free(&o);
    assert_true(load("# nothing\n", "sample", &o));
    options_free(&o);
    assert_true(load("sample:\n  # all commented out\n", "sample", &o));
    options_free(&o);
}

static void test_errors(void **state) {
    static const struct {
        const char *yaml, *says;
    } wrong[] = {{"a: 1\n", ":1:1: "},
                 {"config: x", ":1:1: config is for the command line only"},
                 {"min-distance: 1", ":1:1: unknown key min-distance; did you mean min_distance?"},
                 {"sample: {count: 1}\nsample: {count: 2}", ":2:1: "},
                 {"count:", ":1:7: count has no value"},
                 {"count: ~", ":1:8: count has no value"},
                 {"count: {a: 1}", ":1:8: count: a mapping"},
                 {"force: 1", ":1:8: force: "},
                 {"force: yes", ":1:8: force: "},
                 {"voxelize:\n  voxel_size: [1, [2], 3]", ":2:19: a list of numbers"},
                 {"voxelize:\n  voxel_size: [1, 2]", ":2:15: voxel_size: "},
                 {"voxelize: 3", ":1:11: voxelize: "},
                 {"count: 3\n---\ncount: 4", ":3:1: a second document"},
                 {"? [a]\n: 3", ":1:3: a key must be a name"},
                 {"&a x: *b", ": not valid YAML"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        option_values o;
        assert_false(load(wrong[i].yaml, "sample", &o));
        if (!strstr(why.text, wrong[i].says)) {
            fail_msg("%s gave: %s", wrong[i].yaml, why.text);
        }
        assert_int_equal(strncmp(why.text, path, strlen(path)), 0);
        options_free(&o);
    }
}

/* The configuration in effect, read back, prints the same. */
static void test_yaml_round_trip(void **state) {
    for (int i = 0; command_at(i); i++) {
        option_values a, b;
        char *first = NULL, *second = NULL;
        size_t size;
        options_init(&a, command_at(i));
        a.output = "odd \"name\"\\\t: # \xc3\xa9";
        FILE *memory = open_memstream(&first, &size);
        options_print_yaml(&a, command_at(i), memory);
        fclose(memory);
        assert_true(load(first, command_at(i)->name, &b));
        memory = open_memstream(&second, &size);
        options_print_yaml(&b, command_at(i), memory);
        fclose(memory);
        assert_string_equal(first, second);
        options_free(&a);
        options_free(&b);
        free(first);
        free(second);
    }
}

int unit_cmd_config(void) {
    commands_use(all_commands);
    const struct CMUnitTest tests[] = {TEST(test_values), TEST(test_errors), TEST(test_yaml_round_trip)};
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
