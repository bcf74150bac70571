/* The table of options, the setters and the command line. */
#include "test_cmd.h"
#include "sample_run.h"
#include "voxelize.h"

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

static void test_numbers(void **state) {
    const command_info *c = command_by_name("sample");
    option_values o;
    options_init(&o, c);
    assert_true(set(&o, c, "count", "4096", &why));
    assert_int_equal(sample_own(&o)->params.count, 4096);
    static const char *const wrong[] = {"", "x", "0", "-1", "1.5", "1e3", "2147483648", "99999999999999999999", " 4"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_false(set(&o, c, "count", wrong[i], &why));
        assert_int_equal(sample_own(&o)->params.count, 4096);
    }
    assert_true(set(&o, c, "ratio", "1", &why));
    assert_false(set(&o, c, "ratio", "0", &why));
    assert_false(set(&o, c, "ratio", "1.0000001", &why));
    assert_false(set(&o, c, "ratio", "nan", &why));
    assert_false(set(&o, c, "ratio", "0x1p-1", &why));
    assert_true(set(&o, c, "min-distance", "0.1", &why));
    assert_true(sample_own(&o)->params.min_distance == 0.1f);
    assert_false(set(&o, c, "min-distance", "1e-60", &why)); /* would become 0, "not given" */
    assert_true(set(&o, c, "seed", "18446744073709551615", &why));
    assert_true(sample_own(&o)->params.seed == UINT64_MAX);
    assert_false(set(&o, c, "seed", "18446744073709551616", &why));
    assert_false(set(&o, c, "seed", "-1", &why));
    options_free(&o);
}

static void test_vectors(void **state) {
    const command_info *c = command_by_name("voxelize");
    option_values o;
    options_init(&o, c);
    assert_true(voxelize_own(&o)->params.range_auto);
    assert_true(set(&o, c, "range", "0,-39.68,-3, 69.12 39.68,1", &why));
    assert_false(voxelize_own(&o)->params.range_auto);
    assert_true(voxelize_own(&o)->params.range[1] == -39.68 && voxelize_own(&o)->params.range[5] == 1);
    assert_false(set(&o, c, "range", "1,2,3,4,5", &why));
    assert_false(set(&o, c, "range", "1,2,3,4,5,6,7", &why));
    assert_false(set(&o, c, "range", "1,2,3,,5,6", &why));
    assert_false(set(&o, c, "range", "1,2,3,4,5,6,", &why));
    assert_true(set(&o, c, "range", "auto", &why));
    assert_true(set(&o, c, "voxel-size", "0.2", &why));
    assert_true(voxelize_own(&o)->params.size[0] == 0.2 && voxelize_own(&o)->params.size[2] == 0.2);
    assert_false(set(&o, c, "voxel-size", "1,1", &why));
    assert_false(set(&o, c, "voxel-size", "1,1,0", &why));
    options_free(&o);
}

static void test_devices_and_start(void **state) {
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
    static const char *const wrong[] = {
        "cuda:0,",  "cuda:,0", "cuda:0,0",   "cuda:1024",
        "cuda:0 1", "cuda:-1", "cuda:all,0", "cuda:0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(set(&o, c, "device", wrong[i], &why));
    }
    assert_true(o.device.all); /* a wrong value changes nothing */
    assert_true(set(&o, c, "cpu", NULL, &why));
    assert_true(o.device.device == PCGPU_DEVICE_CPU);
    assert_false(set(&o, c, "device", "cuda:", &why));
    assert_false(set(&o, c, "device", "gpu", &why));
    assert_true(set(&o, c, "start", "center", &why));
    assert_true(sample_own(&o)->params.start == PCGPU_START_CENTER);
    assert_true(set(&o, c, "start", "17", &why));
    assert_true(sample_own(&o)->params.start == PCGPU_START_INDEX && sample_own(&o)->params.start_index == 17);
    assert_false(set(&o, c, "start", "-1", &why));
    assert_false(set(&o, c, "start", "", &why));
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

    static const struct {
        char *word;
        const char *says;
    } wrong[] = {{"--ratoi=1", "did you mean --ratio?"},
                 {"--levels=1", "of register"},
                 {"--zzzzzzzz", "--help"},
                 {"-Z", "-Z"},
                 {"-m", "needs a value"},
                 {"--count", "needs a value"},
                 {"--coun=1", "did you mean --count?"}, /* no abbreviations */
                 {"--force=1", "takes no value"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *word = wrong[i].word;
        assert_false(command_line_parse(c, 1, &word, &line, &why));
        assert_non_null(strstr(why.text, wrong[i].says));
        command_line_free(&line);
    }
}

static void test_closest(void **state) {
    assert_string_equal(closest_name("smaple", next_command_name, FOR_ALL), "sample");
    assert_null(closest_name("xyz", next_command_name, FOR_ALL));
    assert_null(closest_name("max-", next_option_name, FOR_VOXELIZE));
    /* As near to max-points as to max-voxels would be a guess. */
    assert_string_equal(closest_name("max_points", next_option_name, FOR_VOXELIZE), "max-points");
}

/* The later source wins; one source must not say both. */
static void test_count_or_ratio(void **state) {
    const command_info *c = command_by_name("sample");
    option_values o;
    options_init(&o, c);
    assert_true(option_set(&o, option_by_name("count", c->bit), "10", FROM_FILE, &why));
    assert_true(option_set(&o, option_by_name("ratio", c->bit), "0.5", FROM_COMMAND_LINE, &why));
    assert_true(options_check(&o, c, &why));
    assert_int_equal(sample_own(&o)->params.count, 0);
    options_free(&o);
}

int unit_cmd_options(void) {
    commands_use(all_commands);
    const struct CMUnitTest tests[] = {TEST(test_table),
                                       TEST(test_numbers),
                                       TEST(test_vectors),
                                       TEST(test_devices_and_start),
                                       TEST(test_print_round_trip),
                                       TEST(test_command_line),
                                       TEST(test_closest),
                                       TEST(test_count_or_ratio)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
