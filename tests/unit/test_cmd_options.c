/* The table of options; the command line, values and errors are lines of answers.list and refusals.list. */
#include "test_cmd.h"

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

int unit_cmd_options(void) {
    commands_use(all_commands);
    const struct CMUnitTest tests[] = {TEST(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
