/* An archive when memory is short: an error, not other bytes. The library's deflateInit2_ is the one here. */
#define _GNU_SOURCE /* RTLD_NEXT, open_memstream */
#include "unit.h"

#include <dlfcn.h>
#include <zlib.h>

typedef int init_function(z_stream *, int, int, int, int, int, const char *, int);

static int calls_left; /* before zlib finds no memory */

int deflateInit2_(z_stream *z, int level, int method, int bits, int memory, int strategy, const char *version,
                  int size) {
    init_function *real;
    *(void **)&real = dlsym(RTLD_NEXT, "deflateInit2_");
    return calls_left-- > 0 ? real(z, level, method, bits, memory, strategy, version, size) : Z_MEM_ERROR;
}

static void test_no_memory(void **state) {
    enum { VALUES = 1 << 18 };
    float *zeros = calloc(VALUES, sizeof *zeros);
    const pcgpu_array array = {
        .name = "voxels", .type = PCGPU_FLOAT32, .dimensions = 1, .shape = {VALUES}, .data = zeros};
    pcgpu_context *context = open_context(1);
    assert_non_null(zeros);
    for (int calls = 0; calls <= 2; calls++) { /* one for a trial, one for the member */
        char *data = NULL;
        size_t size = 0;
        FILE *f = open_memstream(&data, &size);
        assert_non_null(f);
        calls_left = calls;
        pcgpu_status status = pcgpu_write_arrays(context, f, "v.npz", NULL, &array, 1);
        fclose(f);
        assert_int_equal(status, calls < 2 ? PCGPU_ERROR_MEMORY : PCGPU_OK);
        if (status == PCGPU_OK) {
            assert_true(size < VALUES / 10);
        } else {
            assert_non_null(strstr(pcgpu_last_error(context), "v.npz"));
        }
        free(data);
    }
    pcgpu_close(context);
    free(zeros);
}

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
