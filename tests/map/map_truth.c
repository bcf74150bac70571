/* map_truth FOLDER VOXEL [RECALL PRECISION KEPT]: maps of the scans of tests/scene/drive --labels 1 at their true
 * poses. Of the voxels with points of moving objects alone, and of static ones alone, prints how many the map has left
 * out, and fails below these fractions: recall (of moving voxels left out), precision (of voxels left out that are
 * moving), and kept static voxels. The same map, byte for byte, must come from one thread, and from three with most
 * voxels on disk; `unit map` has the other pairs. */
#include "../support/context.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LABEL_MOVING = 252 };

typedef struct voxels {
    int64_t count;
    int64_t *keys; /* sorted */
} voxels;

typedef enum part { ALL, MOVING, STATIC } part;

static void fail(const char *what) {
    fprintf(stderr, "map_truth: %s\n", what);
    exit(1);
}

static void check(pcgpu_context *context, pcgpu_status status) {
    if (status != PCGPU_OK) {
        fail(pcgpu_last_error(context));
    }
}

/* The labels of a scan, one per record. */
static void read_labels(const char *folder, int frame, uint32_t *labels, int64_t count) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%06d.label", folder, frame);
    FILE *file = fopen(path, "rb");
    if (!file || fread(labels, sizeof *labels, (size_t)count, file) != (size_t)count) {
        fail(path);
    }
    fclose(file);
}

static void keep_part(pcgpu_cloud *cloud, const uint32_t *labels, part wanted) {
    const size_t columns = (size_t)cloud->columns;
    int64_t kept = 0;
    for (int64_t i = 0; i < cloud->rows; i++) {
        if ((labels[i] == LABEL_MOVING) == (wanted == MOVING)) {
            memmove(cloud->data + (size_t)kept++ * columns, cloud->data + (size_t)i * columns,
                    columns * sizeof *cloud->data);
        }
    }
    cloud->rows = kept;
}

static void add_scan(pcgpu_context *context, pcgpu_map *map, const char *folder, int frame, part wanted,
                     const double T[16]) {
    char path[4096];
    pcgpu_cloud cloud;
    snprintf(path, sizeof path, "%s/%06d.bin", folder, frame);
    check(context, pcgpu_read_file(context, path, NULL, &cloud));
    if (wanted != ALL) {
        uint32_t *labels = malloc((size_t)cloud.rows * sizeof *labels + 1);
        if (!labels) {
            fail("out of memory");
        }
        read_labels(folder, frame, labels, cloud.rows);
        keep_part(&cloud, labels, wanted);
        free(labels);
    }
    check(context, pcgpu_map_add(map, &cloud, T));
    pcgpu_cloud_free(&cloud);
}

/* The map of the scans, which the caller closes. */
static pcgpu_map *make_map(pcgpu_context *context, const char *folder, const pcgpu_map_params *params, part wanted,
                           const pcgpu_cloud **points) {
    char path[4096];
    double T[16] = {[15] = 1};
    pcgpu_map *map;
    snprintf(path, sizeof path, "%s/poses.txt", folder);
    FILE *poses = fopen(path, "r");
    check(context, pcgpu_map_open(context, params, &map));
    for (int frame = 0; poses; frame++) {
        int numbers = 0;
        while (numbers < 12 && fscanf(poses, "%lf", &T[numbers]) == 1) {
            numbers++;
        }
        if (numbers < 12) {
            break;
        }
        add_scan(context, map, folder, frame, wanted, T);
    }
    if (!poses) {
        fail(path);
    }
    fclose(poses);
    check(context, pcgpu_map_finish(map, points));
    return map;
}

static int by_key(const void *a, const void *b) {
    const int64_t l = *(const int64_t *)a, r = *(const int64_t *)b;
    return (l > r) - (l < r);
}

/* A mean lies in its voxel. */
static voxels voxels_of(const pcgpu_cloud *points, double voxel) {
    voxels v = {points->rows, malloc((size_t)points->rows * sizeof *v.keys + 1)};
    for (int64_t i = 0; i < points->rows && v.keys; i++) {
        v.keys[i] = 0;
        for (int k = 0; k < 3; k++) {
            const double p = points->offset[k] + (double)points->data[i * points->columns + k];
            v.keys[i] = v.keys[i] << 21 | ((int64_t)floor(p / voxel) + (1 << 20));
        }
    }
    if (!v.keys) {
        fail("out of memory");
    }
    qsort(v.keys, (size_t)v.count, sizeof *v.keys, by_key);
    return v;
}

static bool has(const voxels *v, int64_t key) {
    return bsearch(&key, v->keys, (size_t)v->count, sizeof key, by_key) != NULL;
}

static voxels map_voxels(pcgpu_context *context, const char *folder, double voxel, bool keep, part wanted) {
    pcgpu_map_params params;
    const pcgpu_cloud *points;
    pcgpu_map_params_init(&params);
    params.voxel = voxel;
    params.keep_moving = keep;
    pcgpu_map *map = make_map(context, folder, &params, wanted, &points);
    const voxels v = voxels_of(points, voxel);
    pcgpu_map_close(map);
    return v;
}

/* ---- the same map everywhere ------------------------------------------------------------------------------------- */

static uint64_t hash_of(int threads, int64_t memory, const char *folder, double voxel) {
    pcgpu_context *context = test_open(PCGPU_DEVICE_CPU, threads);
    pcgpu_map_params params;
    const pcgpu_cloud *points;
    pcgpu_map_stats stats;
    uint64_t hash = 14695981039346656037u;
    pcgpu_map_params_init(&params);
    params.voxel = voxel;
    params.memory = memory;
    params.folder = memory ? "." : NULL;
    pcgpu_map *map = make_map(context, folder, &params, ALL, &points);
    pcgpu_map_get_stats(map, &stats);
    const unsigned char *bytes = (const unsigned char *)points->data;
    for (size_t i = 0; i < (size_t)points->rows * (size_t)points->columns * sizeof(float); i++) {
        hash = (hash ^ bytes[i]) * 1099511628211u;
    }
    printf("%d threads, %lld MB for voxels: %lld points, hash %016llx, %.1f MB on disk\n", threads,
           (long long)memory >> 20, (long long)points->rows, (unsigned long long)hash, (double)stats.on_disk / 1e6);
    if (memory && stats.on_disk < stats.voxels * 32) {
        fail("nothing went to the disk");
    }
    pcgpu_map_close(map);
    pcgpu_close(context);
    return hash;
}

/* ---- what was left out ------------------------------------------------------------------------------------------- */

static bool score(pcgpu_context *context, const char *folder, double voxel, const double least[3]) {
    const voxels all = map_voxels(context, folder, voxel, true, ALL),
                 left = map_voxels(context, folder, voxel, false, ALL);
    const voxels moving = map_voxels(context, folder, voxel, true, MOVING),
                 still = map_voxels(context, folder, voxel, true, STATIC);
    int64_t count[2][2] = {{0}}; /* by moving, left out */
    for (int64_t i = 0; i < all.count; i++) {
        const bool is_moving = has(&moving, all.keys[i]), is_static = has(&still, all.keys[i]);
        if (is_moving != is_static) {
            count[is_moving][!has(&left, all.keys[i])]++;
        }
    }
    const double out = (double)count[1][1], recall = out / (double)(count[1][0] + count[1][1]),
                 precision = out / (out + (double)count[0][1]),
                 kept = (double)count[0][0] / (double)(count[0][0] + count[0][1]);
    printf("%lld voxels, %lld of moving objects alone, %lld static: recall %.4f, precision %.4f, static kept %.5f\n",
           (long long)all.count, (long long)(count[1][0] + count[1][1]), (long long)(count[0][0] + count[0][1]), recall,
           precision, kept);
    free(all.keys);
    free(left.keys);
    free(moving.keys);
    free(still.keys);
    return recall >= least[0] && precision >= least[1] && kept >= least[2];
}

int main(int argc, char **argv) {
    const double voxel = argc > 2 ? atof(argv[2]) : 0.0;
    double least[3] = {0, 0, 0};
    pcgpu_context *context;
    if (argc < 3 || argc > 6 || !(voxel > 0.0)) {
        fail("usage: map_truth FOLDER VOXEL [RECALL PRECISION KEPT]");
    }
    for (int i = 3; i < argc; i++) {
        least[i - 3] = atof(argv[i]);
    }
    check(NULL, pcgpu_open(NULL, &context));
    const bool good = score(context, argv[1], voxel, least);
    pcgpu_close(context);
    if (!good) {
        fail("less than was asked for");
    }
    if (argc > 3 && hash_of(1, 0, argv[1], voxel) != hash_of(3, 1 << 20, argv[1], voxel)) {
        fail("the bytes of the map depend on the threads or on the memory");
    }
    return 0;
}
