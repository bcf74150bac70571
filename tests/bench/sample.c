/* bench_sample [--data DIR] [--quick] [--only NAME]: variants of farthest point sampling on the GPU, side by side in
 * one run, as Markdown. `reference` is one block per cloud, as libraries do it (sample_one_block.cu); `cluster`, `grid`
 * and `grid stored` are the variants of cuda/sample/sample_cuda.h, `chosen` is what pcgpu takes; `CPU` is our own with
 * one thread. Device time from points to picks, median of 10 runs after 3, or one run where it takes more than 50 ms.
 *
 * NAME is part of a group's or a cloud's name. Every program must pick the same: exit code 1 when one does not, 77
 * without CUDA. A time that misses its target is printed, and fails nothing. */
#include "sample_bench.h"

enum { SCAN_POINTS = 120268 };

/* ---- tables --------------------------------------------------------------------------------------------------- */

static const char *title; /* of the table that the next row begins, else NULL */

static void print_header(void) {
    printf("\n%s\n\n| cloud | points | picks | chosen, ms | us a pick | reference, ms | cluster | grid | "
           "grid stored | CPU |\n|---|---|---|---|---|---|---|---|---|---|\n",
           title);
}

/* Milliseconds of a program and how many times as long that is as what is chosen. */
static void print_program(const cell *c, int program) {
    double ms = c->ms[program] * (program == REFERENCE ? (double)c->picks / (double)c->reference_picks : 1.0);
    bool part = program == REFERENCE && c->reference_picks < c->picks;
    if (isnan(ms)) {
        printf(" - |");
    } else {
        printf(" %s%.3f (%.2f x) |", part ? "~" : "", ms, times_chosen(c, program));
    }
}

static cell row(bench *b, const batch *of, int64_t picks) {
    cell c = measure(b, of, picks);
    if (title) {
        print_header();
        title = NULL;
    }
    char clouds[24] = "";
    if (c.clouds > 1) {
        snprintf(clouds, sizeof clouds, "%d x ", c.clouds);
    }
    printf("| %s | %s%lld | %lld | %.3f | %.3f |", of->name, clouds, (long long)c.n, (long long)picks, c.ms[CHOSEN],
           c.ms[CHOSEN] * 1e3 / (double)picks);
    print_program(&c, REFERENCE);
    for (int program = CLUSTER; program <= CPU; program++) {
        if (program != CHOSEN) {
            print_program(&c, program);
        }
    }
    putchar('\n');
    fflush(stdout);
    return c;
}

/* ---- clouds --------------------------------------------------------------------------------------------------- */

static void die(const char *what, const char *why) {
    fprintf(stderr, "bench_sample: %s: %s\n", what, why);
    exit(1);
}

static pc_points take_points(bench *b, pcgpu_cloud *cloud) {
    pc_points points;
    pcgpu_run run = {0};
    if (pc_points_select(b->cpu, cloud, false, &points, &run) != PCGPU_OK) {
        die("a cloud", b->cpu->errors.text);
    }
    pcgpu_cloud_free(cloud);
    return points;
}

static pc_points make_points(bench *b, const char *kind, uint64_t seed, int64_t n) {
    pcgpu_cloud cloud;
    make_cloud_named(kind, seed, n, &cloud);
    return take_points(b, &cloud);
}

static pc_points scan_sized(bench *b, const char *kind) {
    pcgpu_cloud cloud;
    if (strcmp(kind, "ring scan") != 0) {
        return make_points(b, kind, 1, SCAN_POINTS);
    }
    bench_scan(b->cpu, SCAN_POINTS, &cloud);
    return take_points(b, &cloud);
}

static bool read_scan(bench *b, pc_points *points) {
    char path[4096];
    pcgpu_cloud cloud;
    snprintf(path, sizeof path, "%s/kitti/000001.bin", b->data ? b->data : "");
    FILE *file = b->data ? fopen(path, "rb") : NULL;
    if (!file) {
        printf("skipped: the KITTI scan; %s is not there (--data DIR or PCGPU_DATA)\n", path);
        return false;
    }
    fclose(file);
    if (pcgpu_read_file(b->cpu, path, NULL, &cloud) != PCGPU_OK) {
        die(path, b->cpu->errors.text);
    }
    *points = take_points(b, &cloud);
    return true;
}

static bool wanted(const bench *b, const char *group, const char *cloud) {
    return !b->only || strstr(group, b->only) || strstr(cloud, b->only);
}

/* ---- groups --------------------------------------------------------------------------------------------------- */

static const int64_t scan_picks[] = {1024, 4096, 16384};
static const double scan_targets[] = {0.28, 0.42, 0.80};
enum { SCAN_PICKS = 3 };

static void bench_scans(bench *b) {
    static const char *const kinds[] = {"ring scan", "room", "cube", "eightfold", "street scan", "wide lattice"};
    double scan_ms[SCAN_PICKS] = {NAN, NAN, NAN};
    char what[80];
    pc_points points;
    title = "One cloud of the size of a scan";
    if (wanted(b, "scans", "KITTI") && read_scan(b, &points)) {
        batch of = {"KITTI", 1, &points};
        for (int i = 0; i < SCAN_PICKS; i++) {
            scan_ms[i] = row(b, &of, scan_picks[i]).ms[CHOSEN];
            snprintf(what, sizeof what, "KITTI scan, %lld picks", (long long)scan_picks[i]);
            bench_target(what, scan_ms[i], " ms", scan_targets[i], false);
        }
        pc_points_free(&points);
    }
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (!wanted(b, "scans", kinds[k])) {
            continue;
        }
        points = scan_sized(b, kinds[k]);
        batch of = {kinds[k], 1, &points};
        double worst = NAN;
        for (int i = 0; i < SCAN_PICKS; i++) {
            worst = fmax(worst, row(b, &of, scan_picks[i]).ms[CHOSEN] / scan_ms[i]);
        }
        snprintf(what, sizeof what, "%s, its longest time to KITTI's", kinds[k]);
        bench_target(what, worst, " x", 1.3, false);
        pc_points_free(&points);
    }
}

static void bench_training_batch(bench *b) {
    enum { CLOUDS = 64, POINTS = 16384, PICKS = 4096 };
    if (!wanted(b, "batch", "street scan")) {
        return;
    }
    pc_points clouds[CLOUDS];
    for (int i = 0; i < CLOUDS; i++) {
        clouds[i] = make_points(b, "street scan", 1 + (uint64_t)i, POINTS);
    }
    batch of = {"street scan", CLOUDS, clouds};
    title = "A training batch";
    cell c = row(b, &of, PICKS);
    bench_target("batch of 64 x 16,384, 4,096 picks each, reference to chosen", times_chosen(&c, REFERENCE), " x", 5.0,
                 true);
    for (int i = 0; i < CLOUDS; i++) {
        pc_points_free(&clouds[i]);
    }
}

static void large_target(const char *kind, const cell *c) {
    char what[80];
    if (c->n >= 1000000 && c->picks == (c->n == 1000000 ? 16384 : 65536)) {
        snprintf(what, sizeof what, "%s of %lld, %lld picks", kind, (long long)c->n, (long long)c->picks);
        bench_target(what, c->ms[CHOSEN], " ms", c->n == 1000000 ? 2.5 : 30.0, false);
    }
}

/* Sizes and picks by powers, up to every point; with the street scan only the largest number of picks. */
static void bench_sizes(bench *b, const char *kind, bool all) {
    static const int64_t sizes[] = {1024, 4096, 16384, 65536, 120000, 1000000, 10000000};
    size_t count = sizeof sizes / sizeof sizes[0] - (b->quick ? 1 : 0);
    if (!wanted(b, "table", kind)) {
        return;
    }
    title = all ? "Sizes and picks" : "Large scans";
    for (size_t i = all ? 0 : 5; i < count; i++) {
        pc_points points = make_points(b, kind, 1, sizes[i]);
        batch of = {kind, 1, &points};
        int64_t most = sizes[i] < 65536 ? sizes[i] : sizes[i] == 1000000 && (b->quick || !all) ? 16384 : 65536;
        int64_t least = all && !(b->quick && sizes[i] == 1000000) ? 64 : most;
        for (int64_t picks = least; picks <= most; picks *= b->quick ? 16 : 4) {
            cell c = row(b, &of, picks);
            large_target(kind, &c);
        }
        pc_points_free(&points);
    }
}

/* ---- the program ---------------------------------------------------------------------------------------------- */

static void usage(const char *wrong) {
    fprintf(stderr, "bench_sample: %s\nusage: bench_sample [--data DIR] [--quick] [--only NAME]\n", wrong);
    exit(2);
}

int main(int argc, char **argv) {
    bench b = {.data = getenv("PCGPU_DATA")};
    for (int i = 1; i < argc; i++) {
        if (!bench_take(argc, argv, &i, &b.data, &b.only, &b.quick)) {
            usage(argv[i]);
        }
    }
    b.cpu = bench_open(PCGPU_DEVICE_CPU, 1);
    b.cuda = bench_open(PCGPU_DEVICE_CUDA, 1);
    double begin = pc_now();
    printf(
        "%s; CPU: %s, 1 thread. Milliseconds; in brackets how many times as long as the form chosen; ~: measured with "
        "fewer picks.\n",
        b.cuda->cuda_name, b.cpu->cpu_name);
    bench_scans(&b);
    bench_training_batch(&b);
    bench_sizes(&b, "street scan", false);
    bench_sizes(&b, "cube", true);
    bench_print_targets();
    printf("\n%d cells, %.1f s, %d failures\n", b.cells, pc_now() - begin, b.failures);
    pcgpu_close(b.cuda);
    pcgpu_close(b.cpu);
    if (b.cells == 0) {
        usage("nothing has the name given");
    }
    return b.failures ? 1 : 0;
}
