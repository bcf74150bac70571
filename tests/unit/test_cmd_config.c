/* Configuration files: tests/cli/config.sh, answers.list and refusals.list have their keys, values and errors. */
#include "test_cmd.h"

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
    const struct CMUnitTest tests[] = {TEST(test_yaml_round_trip)};
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
