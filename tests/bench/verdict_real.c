/* bench_verdict: pairs of real data, as ../shared/data has them. See its README.md for sources and what the poses are
 * good for. */
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 128, MOST_PAIRS = 2048 };

typedef struct frame {
    char path[128];
    double pose[16]; /* world from sensor */
} frame;

typedef struct source {
    const char *name;
    int fields; /* of .bin */
    const pcgpu_camera *camera;
    double tolerance[2];
    bool flat;      /* its poses have no heights */
    int most_apart; /* pairs of frames i and i + 1 ... i + most_apart */
    int count;
    frame frames[MOST_FRAMES];
} source;

typedef struct real_pair {
    const source *of;
    const frame *source, *target;
    const struct source *target_of;
    verdict_truth truth;
} real_pair;

static const pcgpu_camera kinect = {.fx = 585, .fy = 585, .cx = 320, .cy = 240, .depth_scale = 1000, .max_depth = 8};
static const pcgpu_camera primesense = {
    .fx = 525, .fy = 525, .cx = 319.5, .cy = 239.5, .depth_scale = 1000, .max_depth = 8};

static source sources[16];
static int source_count;
static real_pair pairs[MOST_PAIRS];
static int pair_count;

/* ---- matrices ---- */

static void multiply(const double a[16], const double b[16], double product[16]) {
    for (int i = 0; i < 16; i++) {
        const double *row = a + i / 4 * 4;
        product[i] = row[0] * b[i % 4] + row[1] * b[4 + i % 4] + row[2] * b[8 + i % 4] + row[3] * b[12 + i % 4];
    }
}

static void invert(const double a[16], double inverse[16]) {
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            inverse[4 * i + k] = a[4 * k + i];
        }
        inverse[4 * i + 3] = -(a[i] * a[3] + a[4 + i] * a[7] + a[8 + i] * a[11]);
        inverse[12 + i] = 0.0;
    }
    inverse[15] = 1.0;
}

static bool read_numbers(FILE *file, int count, double *values) {
    for (int i = 0; i < count; i++) {
        if (fscanf(file, "%lf", &values[i]) != 1) {
            return false;
        }
    }
    if (count == 12) {
        memcpy(values + 12, (const double[]){0, 0, 0, 1}, 4 * sizeof *values);
    }
    return true;
}

static FILE *open_in(const char *data, const char *path) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%s", data, path);
    return fopen(name, "r");
}

/* ---- sequences ---- */

static source *new_source(const char *name, int fields, const pcgpu_camera *camera, double metres, double degrees,
                          int most_apart) {
    source *s = &sources[source_count++];
    *s = (source){
        .name = name, .fields = fields, .camera = camera, .tolerance = {metres, degrees}, .most_apart = most_apart};
    return s;
}

static frame *add_frame(source *s, const char *data, const char *path) {
    FILE *file = open_in(data, path);
    if (!file || s->count == MOST_FRAMES) {
        if (file) {
            fclose(file);
        }
        return NULL;
    }
    fclose(file);
    frame *f = &s->frames[s->count++];
    snprintf(f->path, sizeof f->path, "%s", path);
    for (int i = 0; i < 16; i++) {
        f->pose[i] = i % 5 == 0;
    }
    return f;
}

/* KITTI: poses of the camera, calib.txt has what brings the LiDAR's points into its frame. */
static void add_kitti(const char *data, const int *numbers, int count, const char *name) {
    FILE *poses = open_in(data, "kitti00/poses.txt"), *calibration = open_in(data, "kitti00/calib.txt");
    source *s = new_source(name, 4, NULL, 0.2, 1.0, 1);
    double Tr[16], all[200][16], inverse[16], sensor[16];
    char word[16];
    bool good = false;
    int lines = 0;
    while (calibration && fscanf(calibration, "%15s", word) == 1) {
        if (strcmp(word, "Tr:") == 0) {
            good = read_numbers(calibration, 12, Tr);
        }
    }
    while (poses && lines < 200 && read_numbers(poses, 12, all[lines])) {
        lines++;
    }
    for (int i = 0; good && i < count; i++) {
        char path[128];
        snprintf(path, sizeof path, "kitti00/velodyne/%06d.bin", numbers[i]);
        frame *f = numbers[i] < lines ? add_frame(s, data, path) : NULL;
        if (f) {
            invert(Tr, inverse);
            multiply(inverse, all[numbers[i]], sensor);
            multiply(sensor, Tr, f->pose);
        }
    }
    if (poses) {
        fclose(poses);
    }
    if (calibration) {
        fclose(calibration);
    }
}

static void add_nuscenes(const char *data) {
    FILE *poses = open_in(data, "nuscenes_sequence/poses.txt");
    source *s = new_source("nuscenes", 5, NULL, 0.2, 0.5, 2);
    s->flat = true; /* the car drives uphill: 5 % of the motion, straight up, in every pair */
    for (int i = 8; poses && i < 20; i++) {
        char path[128];
        double pose[16];
        snprintf(path, sizeof path, "nuscenes_sequence/%06d.bin", i);
        frame *f = read_numbers(poses, 12, pose) ? add_frame(s, data, path) : NULL;
        if (f) {
            memcpy(f->pose, pose, sizeof pose);
        }
    }
    if (poses) {
        fclose(poses);
    }
}

/* Frames with a file of a pose each. */
static void add_7scenes(const char *data, const char *name, const char *folder, int begin, int end, int step,
                        int most_apart) {
    source *s = new_source(name, 0, &kinect, 0.05, 1.5, most_apart);
    for (int i = begin; i < end; i += step) {
        char path[128];
        double pose[16];
        snprintf(path, sizeof path, "%s/frame-%06d.pose.txt", folder, i);
        FILE *file = open_in(data, path);
        snprintf(path, sizeof path, "%s/frame-%06d.depth.png", folder, i);
        frame *f = file && read_numbers(file, 16, pose) ? add_frame(s, data, path) : NULL;
        if (f) {
            memcpy(f->pose, pose, sizeof pose);
        }
        if (file) {
            fclose(file);
        }
    }
}

static void add_livingroom(const char *data) {
    FILE *poses = open_in(data, "depth_livingroom/gt_trajectory_frames0-4.log");
    source *s = new_source("livingroom", 0, &primesense, 0.03, 1.0, 4);
    for (int i = 0; poses && i < 5; i++) {
        double head[3], pose[16];
        char path[128];
        snprintf(path, sizeof path, "depth_livingroom/%05d.png", i);
        frame *f = read_numbers(poses, 3, head) && read_numbers(poses, 16, pose) ? add_frame(s, data, path) : NULL;
        if (f) {
            memcpy(f->pose, pose, sizeof pose);
        }
    }
    if (poses) {
        fclose(poses);
    }
}

static void add_pair_folder(const char *data) {
    FILE *file = open_in(data, "pair/T_target_source.txt");
    source *s = new_source("pair", 0, NULL, 0.2, 1.0, 1);
    double T[16];
    if (file && read_numbers(file, 16, T)) {
        frame *first = add_frame(s, data, "pair/source.ply");
        add_frame(s, data, "pair/target.ply");
        if (first) {
            memcpy(first->pose, T, sizeof T);
        }
    }
    if (file) {
        fclose(file);
    }
}

/* One scan alone: for itself, its halves and other places. */
static void add_single(const char *data, const char *name, const char *path, int fields) {
    add_frame(new_source(name, fields, NULL, 0.2, 1.0, 1), data, path);
}

/* ---- pairs ---- */

static void add_pair(const source *of, const frame *a, const source *target_of, const frame *b, verdict_truth truth) {
    if (pair_count < MOST_PAIRS) {
        pairs[pair_count++] = (real_pair){of, a, b, target_of, truth};
    }
}

static void add_near_pairs(const source *s) {
    for (int i = 0; i < s->count; i++) {
        for (int k = i + 1; k < s->count && k <= i + s->most_apart; k++) {
            add_pair(s, &s->frames[k], s, &s->frames[i], VERDICT_NEAR);
            add_pair(s, &s->frames[i], s, &s->frames[k], VERDICT_NEAR);
            add_pair(s, &s->frames[k], s, &s->frames[i], VERDICT_MIRROR);
        }
    }
    add_pair(s, &s->frames[0], s, &s->frames[0], VERDICT_SELF);
    add_pair(s, &s->frames[0], s, &s->frames[0], VERDICT_HALVES);
}

int verdict_real_count(const char *data) {
    static const int start[] = {0, 1, 2, 3, 4, 5}, later[] = {14, 15}, far[] = {94, 95};
    source_count = pair_count = 0;
    add_kitti(data, start, 6, "kitti00-0");
    add_kitti(data, later, 2, "kitti00-14");
    add_kitti(data, far, 2, "kitti00-94");
    add_nuscenes(data);
    add_single(data, "kitti-0", "kitti/000000.bin", 4);
    add_single(data, "kitti-1", "kitti/000001.bin", 4);
    add_single(data, "n015", "nuscenes/n015.pcd.bin", 5);
    add_pair_folder(data);
    add_livingroom(data);
    add_7scenes(data, "7scenes", "depth_7scenes", 0, 20, 1, 3);
    add_7scenes(data, "7scenes-path", "depth_7scenes_path", 0, 480, 8, 1);
    add_7scenes(data, "7scenes-lost", "depth_7scenes_lost", 436, 462, 1, 2);
    for (int i = 0; i < source_count; i++) {
        add_near_pairs(&sources[i]);
    }
    for (int i = 0; i < source_count; i++) { /* each with each that is another place, both LiDAR or both depth */
        for (int k = 0; k < source_count; k++) {
            const source *a = &sources[i], *b = &sources[k];
            bool one_room = a->camera == &kinect && b->camera == &kinect;
            bool one_street = i < 2 && k < 2; /* 14 is a dozen metres from 0 */
            if (i == k || !a->camera != !b->camera || one_room || one_street) {
                continue;
            }
            for (int f = 0; f < a->count; f += 3) {
                for (int g = 0; g < b->count; g += a->camera ? 16 : 6) {
                    add_pair(a, &a->frames[f], b, &b->frames[g], VERDICT_OTHER);
                }
            }
        }
    }
    return pair_count;
}

/* ---- clouds ---- */

static pcgpu_status load(pcgpu_context *context, const char *data, const source *s, const frame *f,
                         pcgpu_cloud *cloud) {
    char path[4096];
    const pcgpu_read_options options = {.fields = s->fields, .camera = s->camera};
    snprintf(path, sizeof path, "%s/%s", data, f->path);
    return pcgpu_read_file(context, path, &options, cloud);
}

/* Records first, first + 2, ... */
static void halve(pcgpu_cloud *cloud, int first) {
    int64_t kept = 0;
    for (int64_t i = first; i < cloud->rows; i += 2) {
        memmove(cloud->data + kept++ * cloud->columns, cloud->data + i * cloud->columns,
                (size_t)cloud->columns * sizeof(float));
    }
    cloud->rows = kept;
}

pcgpu_status verdict_make_real(pcgpu_context *context, const char *data, int index, const char *filter, bool *taken,
                               verdict_pair *pair) {
    const real_pair *p = &pairs[index];
    char name[128];
    snprintf(name, sizeof name, "real/%s/%s", p->of->name, verdict_truths[p->truth]);
    *taken = p->of->count > 0 && p->target_of->count > 0 && (!filter || strstr(name, filter));
    *pair = (verdict_pair){.place = "real", .sensor = p->of->name, .truth = p->truth};
    if (!*taken) {
        return PCGPU_OK;
    }
    double inverse[16];
    memcpy(pair->tolerance, p->of->tolerance, sizeof pair->tolerance);
    pair->flat = p->of->flat;
    invert(p->target->pose, inverse);
    multiply(inverse, p->source->pose, pair->T_target_source);
    pair->step =
        sqrt(pow(pair->T_target_source[3], 2) + pow(pair->T_target_source[7], 2) + pow(pair->T_target_source[11], 2));
    pcgpu_status status = load(context, data, p->of, p->source, &pair->source);
    if (status == PCGPU_OK) {
        status = load(context, data, p->target_of, p->target, &pair->target);
    }
    if (status != PCGPU_OK) {
        verdict_pair_free(pair);
        return status;
    }
    if (p->truth == VERDICT_HALVES) {
        halve(&pair->source, 0);
        halve(&pair->target, 1);
    }
    const int axis = p->of->camera ? 0 : 1;
    for (int64_t i = 0; p->truth == VERDICT_MIRROR && i < pair->target.rows; i++) {
        float *v = pair->target.data + i * pair->target.columns + axis;
        *v = -*v;
    }
    return PCGPU_OK;
}
