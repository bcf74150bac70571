/* bench_voxelize cpu|cuda: voxelization, from the cloud in memory to arrays.
 *
 * cpu: the public call on one thread and on two, warm, and the plain loop of the reference, which must give the same
 * bytes; least times. cuda: device time from the points in device memory to the outputs in device memory, median of
 * 100 runs after 50, or of fewer for large clouds. Beside each time stand:
 *
 *   cold L2: the same with 256 MB written before each run;
 *   floor: the compulsory bytes, which are the input read once and features, coordinates, counts and the voxel of each
 *     point written once, at the rate of a copy kernel, and one launch of an empty kernel, both of the same run;
 *   two passes: the algorithm of the field (voxelize_two_pass.cu), which does not write the voxel of each point.
 *
 * --quick 1 leaves out the largest clouds, --tiny 1 takes small ones, to test the program itself; --only is part of a
 * cloud's or a case's name. On CUDA pcgpu's results must be the CPU's byte for byte in five runs, the two passes' the
 * same as sets. */
#include "voxelize_bench.h"

#include "reference.h"
#include "device_floor.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

enum { SCAN_POINTS = 120268, MANY_POINTS = 2000000, MOST_POINTS = 100000000, SWEEP = 125000 };

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
static const grid_case downsample = {
    "no limits, 0.25 m", /* configs/downsample.yaml */
    {.struct_size = sizeof(pcgpu_voxelize_params), .range_auto = true, .size = {0.25, 0.25, 0.25}}};

/* What a row is called. */
static const char *name_of(const char *cloud, int64_t points, const char *of, const char *more) {
    static char name[160];
    snprintf(name, sizeof name, "%s, %lld points, %s%s", cloud, (long long)points, of, more);
    return name;
}

/* ---- CPU --------------------------------------------------------------------------------------------------------- */

/* Results are freed and made again in each run; without this the C library gives their pages back to the system in
 * between, and what is measured is mostly the system clearing them: 0.1 to 1.4 us for 4 kB. Peers keep theirs. */
static void keep_memory(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, INT32_MAX);
    mallopt(M_TOP_PAD, 64 << 20);
#endif
}

static bool equal(const pcgpu_voxels *a, const pcgpu_voxels *b, int64_t rows) {
    size_t v = (size_t)a->count, values = v * (size_t)a->capacity * (size_t)a->columns;
    return a->count == b->count && a->voxels_found == b->voxels_found && a->capacity == b->capacity &&
           a->in_range == b->in_range && a->kept == b->kept && memcmp(a->counts, b->counts, v * 4) == 0 &&
           memcmp(a->coords, b->coords, v * 16) == 0 && memcmp(a->features, b->features, values * 4) == 0 &&
           memcmp(a->point_voxel, b->point_voxel, (size_t)rows * 4) == 0;
}

typedef struct call {
    pcgpu_context *context;
    const pcgpu_cloud *cloud;
    pcgpu_voxelize_params params;
    pcgpu_voxels got;
} call;

static void call_voxelize(void *state) {
    call *c = state;
    pcgpu_voxels_free(&c->got);
    bench_check(c->context, pcgpu_voxelize(c->context, c->cloud, &c->params, &c->got));
}

static void measure_cpu(const bench *b, pcgpu_context *two, const char *cloud_name, const pcgpu_cloud *cloud) {
    static const struct {
        const grid_case *grid;
        pcgpu_features features;
        const char *name;
    } cases[] = {{&pillar, PCGPU_FEATURES_POINTS, "pillar 0.16 m"},
                 {&voxel, PCGPU_FEATURES_MEAN, "voxel 0.075 m, means"},
                 {&voxel, PCGPU_FEATURES_POINTS, "voxel 0.075 m, points"},
                 {&downsample, PCGPU_FEATURES_MEAN, "downsample 0.25 m"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        call c = {.context = b->cpu, .cloud = cloud, .params = cases[i].grid->params};
        c.params.features = cases[i].features;
        const int runs = b->quick || b->tiny ? 2 : 10;
        const bench_times one = bench_time(call_voxelize, &c, 0, runs, runs > 2 ? 0.5 : 0.0);
        c.context = two;
        const bench_times more = bench_time(call_voxelize, &c, 0, runs, runs > 2 ? 0.5 : 0.0);
        const double begin = pc_now();
        pcgpu_voxels want = plain_voxelize(cloud, c.params.range_auto ? c.got.range : c.params.range, &c.params);
        const double plain = 1e3 * (pc_now() - begin);
        const char *name = name_of(cloud_name, cloud->rows, cases[i].name, "");
        if (bench_right(equal(&want, &c.got, cloud->rows), name, "pcgpu")) {
            bench_row(name, "pcgpu", one.least, "ms");
            bench_row(name, "2 threads", more.least, "ms");
            bench_row(name, "plain loop", plain, "ms");
        }
        pcgpu_voxels_free(&want);
        pcgpu_voxels_free(&c.got);
    }
}

/* Sweeps of 125,000 points, each 1 m back. */
static void make_sweeps(pcgpu_context *context, int64_t points, pcgpu_cloud *cloud) {
    bench_check(context, pcgpu_cloud_create(context, points, 4, cloud));
    for (int64_t made = 0, sweep = 0; made < points; made += SWEEP, sweep++) {
        const int64_t n = points - made < SWEEP ? points - made : SWEEP;
        pcgpu_cloud part;
        make_cloud_named("street scan", 1 + (uint64_t)sweep, n, &part);
        for (int64_t i = 0; i < n; i++) {
            part.data[4 * i] -= (float)sweep;
        }
        memcpy(cloud->data + 4 * made, part.data, (size_t)n * 16);
        pcgpu_cloud_free(&part);
    }
}

static void run_cpu(const bench *b) {
    pcgpu_context *two = bench_open(PCGPU_DEVICE_CPU, 2);
    pcgpu_cloud cloud;
    keep_memory();
    if (bench_wants("KITTI") && cloud_file(b, "kitti/000001.bin", 4, &cloud)) {
        measure_cpu(b, two, "KITTI", &cloud);
        pcgpu_cloud_free(&cloud);
    }
    if (bench_wants("sweeps")) {
        make_sweeps(b->cpu, cloud_points(b, b->quick ? SWEEP : MANY_POINTS), &cloud);
        measure_cpu(b, two, "sweeps", &cloud);
        pcgpu_cloud_free(&cloud);
    }
    pcgpu_close(two);
}

/* ---- CUDA -------------------------------------------------------------------------------------------------------- */

#ifdef BENCH_CUDA
static const grid_case coarse = {"voxel 0.1 m", /* configs/centerpoint_voxel01.yaml */
                                 {.struct_size = sizeof(pcgpu_voxelize_params),
                                  .range = {-51.2, -51.2, -5, 51.2, 51.2, 3},
                                  .size = {0.1, 0.1, 0.2},
                                  .max_points = 10,
                                  .max_voxels = 60000}};
static void print_row(bench *b, const char *cloud_name, const pcgpu_cloud *cloud, const grid_case *grid,
                      outputs wanted) {
    static const char *const output_names[] = {", array and means", ", array", ", means", ", pillar features"};
    const table_row r = measure(b, cloud_name, cloud, grid, wanted);
    const char *name = name_of(cloud_name, cloud->rows, grid->name, output_names[wanted]);
    bench_row(name, "pcgpu", r.us[OURS], "us");
    bench_row(name, "cold L2", r.cold_us[OURS], "us");
    bench_row(name, "floor", r.bytes / b->copy_rate * 1e6 + b->launch_us, "us");
    bench_row(name, "two passes", r.us[TWO_PASS], "us");
}

static bool wanted(const bench *b, const char *cloud, const grid_case *grid) {
    (void)b;
    return bench_wants(cloud) || bench_wants(grid->name);
}

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
    if (!any_wanted(b, name, grids, 2) || !cloud_file(b, "kitti/000001.bin", 4, &cloud)) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (wanted(b, name, grids[i])) {
            print_row(b, name, &cloud, grids[i], ARRAY_AND_MEANS);
            print_row(b, name, &cloud, grids[i], ARRAY);
            print_row(b, name, &cloud, grids[i], MEANS);
        }
    }
    if (wanted(b, name, &pillar)) {
        print_row(b, name, &cloud, &pillar, PILLARS);
    }
    pcgpu_cloud_free(&cloud);
}

static void bench_grids(bench *b, const char *name, const pcgpu_cloud *cloud, const grid_case *const *grids,
                        int count) {
    for (int i = 0; i < count; i++) {
        if (wanted(b, name, grids[i])) {
            print_row(b, name, cloud, grids[i], ARRAY_AND_MEANS);
        }
    }
}

static void bench_nuscenes(bench *b) {
    static const grid_case *const grids[] = {&voxel, &coarse};
    pcgpu_cloud cloud;
    if (any_wanted(b, "nuScenes", grids, 2) && cloud_file(b, "nuscenes/n015.pcd.bin", 5, &cloud)) {
        bench_grids(b, "nuScenes", &cloud, grids, 2);
        pcgpu_cloud_free(&cloud);
    }
}

typedef void make_fn(const bench *b, int64_t points, pcgpu_cloud *cloud);

static void bench_made(bench *b, const char *name, make_fn *make, int64_t points) {
    static const grid_case *const grids[] = {&pillar, &voxel, &coarse};
    const int count = make == cloud_scan ? 3 : 2;
    pcgpu_cloud cloud;
    if (any_wanted(b, name, grids, count)) {
        make(b, cloud_points(b, points), &cloud);
        bench_grids(b, name, &cloud, grids, count);
        pcgpu_cloud_free(&cloud);
    }
}

static void bench_downsampling(bench *b) {
    static const int64_t sizes[] = {SCAN_POINTS, MANY_POINTS};
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
    if (b->quick || !any_wanted(b, "map", grids, 2) || !cloud_fits(b, points)) {
        return;
    }
    cloud_map(b, points, &cloud);
    for (int i = 0; i < 2; i++) {
        if (wanted(b, "map", grids[i])) {
            print_row(b, "map", &cloud, grids[i], ARRAY_AND_MEANS);
        }
    }
    pcgpu_cloud_free(&cloud);
}

static void run_cuda(bench *b) {
    const size_t bytes = b->tiny ? (size_t)1 << 16 : 1000000000;
    b->cold_bytes = b->tiny ? (size_t)1 << 16 : (size_t)256 << 20;
    bench_check(b->cuda, device_copy_rate(b->cuda, bytes, &b->copy_rate));
    bench_check(b->cuda, device_launch_time(b->cuda, &b->launch_us));
    bench_row("copy on the device", "rate", b->copy_rate * 1e-9, "GB/s");
    bench_kitti(b);
    bench_nuscenes(b);
    bench_made(b, "uniform", cloud_uniform, SCAN_POINTS);
    bench_made(b, "one voxel", cloud_one_voxel, SCAN_POINTS);
    bench_made(b, "street", cloud_scan, SCAN_POINTS);
    bench_made(b, "street", cloud_scan, MANY_POINTS);
    bench_downsampling(b);
    bench_most(b);
}
#endif

int main(int argc, char **argv) {
    const bool on_cuda = bench_begin(argc, argv, " --data --only --quick --tiny ");
    bench b = {.quick = bench_number("--quick", 0) > 0, .tiny = bench_number("--tiny", 0) > 0};
    b.cpu = bench_open(PCGPU_DEVICE_CPU, on_cuda ? 0 : 1); /* on CUDA it makes clouds and gives what is right */
    if (on_cuda) {
        b.cuda = bench_open(PCGPU_DEVICE_CUDA, 0);
#ifdef BENCH_CUDA
        run_cuda(&b);
#endif
        pcgpu_close(b.cuda);
    } else {
        run_cpu(&b);
    }
    pcgpu_close(b.cpu);
    return bench_end();
}
