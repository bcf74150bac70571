/* The table of options, devices and the command line; values and errors are lines of answers.list and refusals.list. */
#include "test_cmd.h"
#include "sample_run.h"

static reason why;

/* Names and letters are unique for each command; flags have no argument, and every value has one. */
static void test_table(void **state) {
    assert_null(option_at(OPTIONS_MAX)); /* option_values has a source for each row */
    for (int i = 0; option_at(i); i++) {
        const option_row *a = option_at(i);
        assert_true(a->help[0] != '\0' && a->help[strlen(a->help) - 1] == '.');
        assert_true((a->type->kind == VALUE_BOOLEAN) == (a->argument == NULL));
        for (int k = 0; k < i; k++) {
            const option_row *b = option_at(k);
            if (a->commands & b->commands) {
                assert_string_not_equal(a->name, b->name);
                assert_true(a->letter == 0 || a->letter != b->letter);
            }
        }
    }
}

static void test_command_line(void **state) {
    const command_info *c = command_by_name("sample");
    char *words[] = {"a.bin", "-fvm7", "--ratio=0.5", "--start", "3", "-", "-oout.ply", "--cuda", "--", "-x"};
    command_line line;
    assert_true(command_line_parse(c, 10, words, &line, &why));
    assert_int_equal(line.input_count, 3);
    assert_string_equal(line.inputs[1], "-");
    assert_string_equal(line.inputs[2], "-x");
    option_values o;
    options_init(&o, c);
    assert_true(command_line_apply(&line, &o, &why));
    assert_true(o.force && o.verbose);
    assert_int_equal(sample_own(&o)->params.count, 7);
    assert_string_equal(o.output, "out.ply");
    assert_false(options_check(&o, c, &why)); /* count and ratio */
    options_free(&o);
    command_line_free(&line);
}

static void test_closest(void **state) {
    assert_string_equal(closest_name("smaple", next_command_name, FOR_ALL), "sample");
    assert_null(closest_name("xyz", next_command_name, FOR_ALL));
    assert_null(closest_name("max-", next_option_name, FOR_VOXELIZE));
    /* As near to max-points as to max-voxels would be a guess. */
    assert_string_equal(closest_name("max_points", next_option_name, FOR_VOXELIZE), "max-points");
}

int unit_cmd_options(void) {
    commands_use(all_commands);
    const struct CMUnitTest tests[] = {TEST(test_table), TEST(test_command_line), TEST(test_closest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
