/* Shared by the tests of the file formats. */
#ifndef TEST_IO_H
#define TEST_IO_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pcgpu.h"

typedef struct io_state {
    pcgpu_context *context;
    char log[4096]; /* the messages since the last read or write, joined */
} io_state;

/* Reads bytes as a file called "file". */
pcgpu_status io_read(io_state *s, const char *format, const void *data, size_t size, pcgpu_cloud *cloud);
/* The same, and it must succeed. */
void io_read_good(io_state *s, const char *format, const void *data, size_t size, pcgpu_cloud *cloud);
/* Reads bytes that must fail as FORMAT with `sentence` in the message. */
void io_read_bad(io_state *s, const char *format, const void *data, size_t size, const char *sentence);
/* Writes to memory; the caller frees it. */
void io_write(io_state *s, const char *format, const pcgpu_cloud *cloud, char **data, size_t *size);
/* Same rows, names and bits. */
void io_assert_same(const pcgpu_cloud *a, const pcgpu_cloud *b);
/* A cloud of pseudo-random columns: any float, small integers, coordinates. */
void io_make_cloud(io_state *s, int64_t rows, int columns, pcgpu_cloud *cloud);
void io_skip_without(const char *path);
const char *io_data(const char *file); /* path of a file of $PCGPU_DATA */

void test_ply_variants(void **state);
void test_ply_types(void **state);
void test_ply_ascii_exact(void **state);
void test_ply_names(void **state);
void test_ply_bad(void **state);
void test_ply_files(void **state);
void test_pcd_ascii(void **state);
void test_pcd_times(void **state);
void test_pcd_binary(void **state);
void test_pcd_color(void **state);
void test_pcd_short_lines(void **state);
void test_pcd_compressed(void **state);
void test_pcd_bad(void **state);
void test_pcd_files(void **state);
void test_indices_text(void **state);
void test_indices_bin(void **state);
void test_indices_npy_types(void **state);
void test_indices_npy_bad(void **state);
void test_indices_damaged(void **state);
void test_indices_streams(void **state);
void test_depth_pgm(void **state);
void test_depth_pgm_bad(void **state);
void test_depth_png(void **state);
void test_depth_png_bad(void **state);
void test_depth_color(void **state);
void test_depth_points(void **state);
void test_depth_camera(void **state);
void test_depth_clouds(void **state);
void test_xyz_variants(void **state);
void test_xyz_exact(void **state);
void test_xyz_wide(void **state);
void test_xyz_bad(void **state);
void test_xyz_content(void **state);
void test_las_round_trip(void **state);
void test_las_extremes(void **state);
void test_las_bad(void **state);
void test_plausible_columns(void **state);
void test_plausible_few(void **state);
void test_plausible_types(void **state);
void test_plausible_multiple(void **state);
void test_plausible_millimetres(void **state);
void test_plausible_time(void **state);
void test_plausible_files(void **state);

#endif
