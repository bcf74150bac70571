/* bench_voxelize [--data DIR] [--quick] [--tiny] [--only NAME]: voxelization on the GPU as Markdown, device time from
 * the points in device memory to the outputs in device memory, median of 100 runs after 50, or of fewer for large
 * clouds. Beside each time stand:
 *
 *   cold L2: the same with 256 MB written before each run;
 *   floor: the compulsory bytes, which are the input read once and features, coordinates, counts and the voxel of each
 *     point written once, at the rate of a copy kernel, and one launch of an empty kernel, both of the same run;
 *   of copy: the rate at which the compulsory bytes go by, as a share of the copy kernel's;
 *   two passes: the algorithm of the field (voxelize_two_pass.cu), which does not write the voxel of each point;
 *   distinct: outputs in 5 runs, pcgpu's and the two passes'.
 *
 * --quick leaves out the largest cloud, --tiny takes small ones, to test the program itself; NAME is part of a cloud's
 * or a case's name. pcgpu's results must be the CPU's byte for byte, the two passes' the same as sets: exit code 1 when
 * one is not, 77 without CUDA. A time that misses its target is printed, and fails nothing. */
#include "voxelize_bench.h"

#include "device_floor.h"

enum { SCAN_POINTS = 120268, MANY_POINTS = 2000000, MOST_POINTS = 100000000 };

static const grid_case pillar = {"pillar 0.16 m", /* configs/pillar.yaml */
                                 {.struct_size = sizeof(pcgpu_voxelize_params),
                                  .range = {0, -39.68, -3, 69.12, 39.68, 1},
                                  .size = {0.16, 0.16, 4},
                                  .max_points = 32,
                                  .max_voxels = 40000}};
static const grid_case voxel = {"voxel 0.075 m", /* configs/centerpoint_voxel0075.yaml */
                                {.struct_size = sizeof(pcgpu_voxelize_params),
                                 .range = {-54, -54, -5, 54, 54, 3},
                                 .size = {0.075, 0.075, 0.2},
                                 .max_points = 10,
                                 .max_voxels = 160000}};
static const grid_case coarse = {"voxel 0.1 m", /* configs/centerpoint_voxel01.yaml */
                                 {.struct_size = sizeof(pcgpu_voxelize_params),
                                  .range = {-51.2, -51.2, -5, 51.2, 51.2, 3},
                                  .size = {0.1, 0.1, 0.2},
                                  .max_points = 10,
                                  .max_voxels = 60000}};
static const grid_case downsample = {
    "no limits, 0.25 m", /* configs/downsample.yaml */
    {.struct_size = sizeof(pcgpu_voxelize_params), .range_auto = true, .size = {0.25, 0.25, 0.25}}};

/* ---- targets --------------------------------------------------------------------------------------------------- */

static struct goal {
    const char *what, *unit;
    double limit;
    bool at_least;
    double value;
} goals[] = {
    {"KITTI scan, pillar, array and means", " us", 22, false, NAN},
    {"KITTI scan, 0.075 m, array and means", " us", 27, false, NAN},
    {"KITTI scan, pillar, means", " us", 16, false, NAN},
    {"KITTI scan, 0.075 m, means", " us", 22, false, NAN},
    {"2,000,000 points, pillar, array and means", " us", 90, false, NAN},
    {"2,000,000 points, 0.075 m, array and means", " us", 140, false, NAN},
    {"100,000,000 points, pillar, share of the copy rate", " %", 35, true, NAN},
    {"100,000,000 points, 0.075 m, share of the copy rate", " %", 35, true, NAN},
};

enum { GOAL_SCAN, GOAL_SCAN_MEANS = 2, GOAL_MANY = 4, GOAL_MOST = 6, GOALS = 8 };

/* ---- tables ---------------------------------------------------------------------------------------------------- */

static const char *title; /* of the table that the next row begins, else NULL */

static void print_header(void) {
    printf(
        "\n%s\n\n| cloud | points | in range | voxels | case | outputs | pcgpu, us | cold L2 | floor | of copy | two "
        "passes, us | cold L2 | distinct |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        title);
}

static double share_of_copy(const bench *b, const table_row *r) {
    return 100.0 * r->bytes / (r->us[OURS] * 1e-6) / b->copy_rate;
}

static table_row print_row(bench *b, const char *name, const pcgpu_cloud *cloud, const grid_case *grid,
                           outputs wanted) {
    static const char *const output_names[] = {"array, means", "array", "means", "pillar features"};
    table_row r = measure(b, name, cloud, grid, wanted);
    if (title) {
        print_header();
        title = NULL;
    }
    printf(
        "| %s | %lld | %lld | %lld | %s | %s | %.1f | %.1f | %.1f | %.1f %% | %.1f (%.2f x) | %.1f (%.2f x) | %d, %d "
        "|\n",
        name, (long long)r.points, (long long)r.in_range, (long long)r.voxels, grid->name, output_names[wanted],
        r.us[OURS], r.cold_us[OURS], r.bytes / b->copy_rate * 1e6 + b->launch_us, share_of_copy(b, &r), r.us[TWO_PASS],
        r.us[TWO_PASS] / r.us[OURS], r.cold_us[TWO_PASS], r.cold_us[TWO_PASS] / r.cold_us[OURS], r.distinct[OURS],
        r.distinct[TWO_PASS]);
    fflush(stdout);
    return r;
}

static bool wanted(const bench *b, const char *cloud, const grid_case *grid) {
    return !b->only || strstr(cloud, b->only) || strstr(grid->name, b->only);
}

/* ---- groups ---------------------------------------------------------------------------------------------------- */

static bool any_wanted(const bench *b, const char *cloud, const grid_case *const *grids, int count) {
    bool any = false;
    for (int i = 0; i < count; i++) {
        any = any || wanted(b, cloud, grids[i]);
    }
    return any;
}

static void bench_kitti(bench *b) {
    static const char name[] = "KITTI";
    static const grid_case *const grids[] = {&pillar, &voxel};
    pcgpu_cloud cloud;
    title = "One scan of a LiDAR";
    if (!any_wanted(b, name, grids, 2) || !cloud_file(b, "kitti/000001.bin", 4, &cloud)) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (wanted(b, name, grids[i])) {
            goals[GOAL_SCAN + i].value = print_row(b, name, &cloud, grids[i], ARRAY_AND_MEANS).us[OURS];
            print_row(b, name, &cloud, grids[i], ARRAY);
            goals[GOAL_SCAN_MEANS + i].value = print_row(b, name, &cloud, grids[i], MEANS).us[OURS];
        }
    }
    if (wanted(b, name, &pillar)) {
        print_row(b, name, &cloud, &pillar, PILLARS);
    }
    pcgpu_cloud_free(&cloud);
}

/* What the grids give of a cloud; goal: NULL, or of the first two grids, in us. */
static void bench_grids(bench *b, const char *name, const pcgpu_cloud *cloud, const grid_case *const *grids, int count,
                        struct goal *goal) {
    for (int i = 0; i < count; i++) {
        if (wanted(b, name, grids[i])) {
            table_row r = print_row(b, name, cloud, grids[i], ARRAY_AND_MEANS);
            if (goal && i < 2) {
                goal[i].value = r.us[OURS];
            }
        }
    }
}

static void bench_nuscenes(bench *b) {
    static const grid_case *const grids[] = {&voxel, &coarse};
    pcgpu_cloud cloud;
    if (any_wanted(b, "nuScenes", grids, 2) && cloud_file(b, "nuscenes/n015.pcd.bin", 5, &cloud)) {
        bench_grids(b, "nuScenes", &cloud, grids, 2, NULL);
        pcgpu_cloud_free(&cloud);
    }
}

typedef void make_fn(const bench *b, int64_t points, pcgpu_cloud *cloud);

static void bench_made(bench *b, const char *name, make_fn *make, int64_t points, struct goal *goal) {
    static const grid_case *const grids[] = {&pillar, &voxel, &coarse};
    const int count = make == cloud_scan ? 3 : 2;
    pcgpu_cloud cloud;
    if (any_wanted(b, name, grids, count)) {
        make(b, cloud_points(b, points), &cloud);
        bench_grids(b, name, &cloud, grids, count, goal);
        pcgpu_cloud_free(&cloud);
    }
}

static void bench_downsampling(bench *b) {
    static const int64_t sizes[] = {SCAN_POINTS, MANY_POINTS};
    title = "Downsampling: means of all points";
    for (int i = 0; i < 2 && wanted(b, "street", &downsample); i++) {
        pcgpu_cloud cloud;
        cloud_scan(b, cloud_points(b, sizes[i]), &cloud);
        print_row(b, "street", &cloud, &downsample, MEANS);
        pcgpu_cloud_free(&cloud);
    }
}

static void bench_most(bench *b) {
    static const grid_case *const grids[] = {&pillar, &voxel};
    const int64_t points = cloud_points(b, MOST_POINTS);
    pcgpu_cloud cloud;
    title = "A map of sweeps";
    if (b->quick || !any_wanted(b, "map", grids, 2) || !cloud_fits(b, points)) {
        return;
    }
    cloud_map(b, points, &cloud);
    for (int i = 0; i < 2; i++) {
        if (wanted(b, "map", grids[i])) {
            table_row r = print_row(b, "map", &cloud, grids[i], ARRAY_AND_MEANS);
            goals[GOAL_MOST + i].value = share_of_copy(b, &r);
        }
    }
    pcgpu_cloud_free(&cloud);
}

/* ---- the program ----------------------------------------------------------------------------------------------- */

static void measure_floor(bench *b) {
    const size_t bytes = b->tiny ? (size_t)1 << 16 : 1000000000;
    b->cold_bytes = b->tiny ? (size_t)1 << 16 : (size_t)256 << 20;
    if (device_copy_rate(b->cuda, bytes, &b->copy_rate) != PCGPU_OK ||
        device_launch_time(b->cuda, &b->launch_us) != PCGPU_OK) {
        printf("FAILED the floor: %s\n", b->cuda->errors.text);
        exit(1);
    }
    printf("%s. Copy of %.3g GB: %.0f GB/s, read and written; launch of an empty kernel: %.2f us. In brackets how many "
           "times as long as pcgpu.\n",
           b->cuda->cuda_name, (double)bytes * 1e-9, b->copy_rate * 1e-9, b->launch_us);
}

static void usage(const char *wrong) {
    fprintf(stderr, "bench_voxelize: %s\nusage: bench_voxelize [--data DIR] [--quick] [--tiny] [--only NAME]\n", wrong);
    exit(2);
}

static void print_goals(void) {
    for (int i = 0; i < GOALS; i++) {
        const struct goal *g = &goals[i];
        bench_target(g->what, g->value, g->unit, g->limit, g->at_least);
    }
    bench_print_targets();
}

int main(int argc, char **argv) {
    bench b = {.data = getenv("PCGPU_DATA")};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--tiny") == 0) {
            b.tiny = true;
        } else if (!bench_take(argc, argv, &i, &b.data, &b.only, &b.quick)) {
            usage(argv[i]);
        }
    }
    b.cpu = bench_open(PCGPU_DEVICE_CPU, 0);
    b.cuda = bench_open(PCGPU_DEVICE_CUDA, 0);
    double begin = pc_now();
    measure_floor(&b);
    bench_kitti(&b);
    bench_nuscenes(&b);
    title = "Clouds of the size of a scan";
    bench_made(&b, "uniform", cloud_uniform, SCAN_POINTS, NULL);
    bench_made(&b, "one voxel", cloud_one_voxel, SCAN_POINTS, NULL);
    bench_made(&b, "street", cloud_scan, SCAN_POINTS, NULL);
    title = "Large clouds";
    bench_made(&b, "street", cloud_scan, MANY_POINTS, &goals[GOAL_MANY]);
    bench_downsampling(&b);
    bench_most(&b);
    if (!b.tiny) {
        print_goals();
    }
    printf("\n%d rows, %.1f s, %d failures\n", b.rows, pc_now() - begin, b.failures);
    pcgpu_close(b.cuda);
    pcgpu_close(b.cpu);
    if (b.rows == 0) {
        usage("nothing has the name given");
    }
    return b.failures ? 1 : 0;
}
