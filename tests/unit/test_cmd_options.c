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

static void test_devices(void **state) {
    const command_info *c = command_by_name("sample");
    option_values o;
    options_init(&o, c);
    assert_true(set(&o, c, "cuda", NULL, &why));
    assert_true(o.device.device == PCGPU_DEVICE_CUDA && o.device.gpus[0] == 0);
    assert_true(set(&o, c, "device", "cuda:3", &why));
    assert_int_equal(o.device.gpus[0], 3);
    assert_true(set(&o, c, "device", "cuda:3,0,1023", &why));
    assert_true(o.device.count == 3 && o.device.gpus[0] == 3 && o.device.gpus[1] == 0 && o.device.gpus[2] == 1023);
    assert_true(set(&o, c, "cuda", "all", &why));
    assert_true(o.device.all && o.device.device == PCGPU_DEVICE_CUDA);
    assert_false(set(&o, c, "device", "cuda:0,", &why));
    assert_true(o.device.all); /* a wrong value changes nothing */
    assert_true(set(&o, c, "cpu", NULL, &why));
    assert_true(o.device.device == PCGPU_DEVICE_CPU);
    options_free(&o);
}

/* What print shows, parse reads back to the same. */
static void test_print_round_trip(void **state) {
    for (int i = 0; command_at(i); i++) {
        option_values a;
        options_init(&a, command_at(i));
        for (int k = 0; option_at(k); k++) {
            const option_row *row = option_at(k);
            char *first = NULL;
            size_t size;
            FILE *memory = open_memstream(&first, &size);
            bool any = (row->commands & command_at(i)->bit) && option_print(&a, row, memory);
            fclose(memory);
            /* Brackets and quotes belong to JSON. */
            char bare[256];
            size_t n = strlen(first);
            bool quoted = n >= 2 && (first[0] == '"' || first[0] == '[');
            snprintf(bare, sizeof bare, "%.*s", (int)(quoted ? n - 2 : n), first + quoted);
            if (any) {
                option_values b;
                options_init(&b, command_at(i));
                assert_true(option_set(&b, row, bare, FROM_FILE, &why));
                assert_memory_equal((char *)&a.own, (char *)&b.own, sizeof a.own);
                assert_memory_equal((char *)&a.registration, (char *)&b.registration, sizeof a.registration);
                options_free(&b);
            }
            free(first);
        }
        options_free(&a);
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
    const struct CMUnitTest tests[] = {TEST(test_table), TEST(test_devices), TEST(test_print_round_trip),
                                       TEST(test_command_line), TEST(test_closest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
