/* Arrays as text. */
#include "arrays.h"
#include "test_cmd.h"

static void test_written(void **state) {
    static const int32_t whole[] = {0, 5, INT32_MAX, 3, 2, 1};
    static const float real[] = {INFINITY, 0.1f, 3e-42f};
    const pcgpu_array table = {.type = PCGPU_INT32, .dimensions = 2, .shape = {2, 3}, .data = whole};
    const pcgpu_array list = {.type = PCGPU_FLOAT32, .dimensions = 1, .shape = {3}, .data = real};
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    array_write_text(stream, &table);
    array_write_text(stream, &list);
    fclose(stream);
    static const char begin[] = "0 5 2147483647\n3 2 1\ninf\n0.1\n";
    assert_true(size > sizeof begin && memcmp(text, begin, sizeof begin - 1) == 0);
    assert_true(strtof(text + sizeof begin - 1, NULL) == real[2]);
    free(text);
}

UNIT_GROUP(cmd_arrays, NULL, NULL, TEST(test_written))
