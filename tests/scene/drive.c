/* drive: writes the scans of a car that drives around a block, or along a path of KITTI through a town (KITTI .bin),
 * with its poses and times. See testdata/README.md. */
#include "program.h"
#include "town.h"

#include <math.h>
#include <stdlib.h>

typedef struct arguments {
    int frames, steps, first, origin; /* origin < 0: the first */
    double step, beams_off, noise;
    uint64_t seed;
    bool moving, labels;
    town_settings town;
    const char *path, *folder;
} arguments;

static const char usage[] =
    "usage: drive [options] FOLDER\n"
    "Writes 000000.bin, 000001.bin, ..., poses.txt (KITTI: first frame from frame) and times.txt.\n"
    "  --frames N   scans (default 200)\n"
    "  --step M     metres from scan to scan (default 1)\n"
    "  --steps N    firings of each of the 64 beams in a scan (default 900)\n"
    "  --moving 1   the car moves while a scan is taken, its pose is that of the middle of the scan,\n"
    "               and records have a fifth value: 0 at the first firing, 1 at the next scan's\n"
    "  --beams-off A  the beams point A degrees higher than the scanner says (default 0)\n"
    "  --noise M    of the ranges, one sigma (default 0.015, along a path 0.02)\n"
    "  --seed N     of the noise and the dropouts (default 1)\n"
    "  --layout N   seed of the block or the town (default 1)\n"
    "Along a path, through a town that is the same for every drive with its layout:\n"
    "  --path FILE  poses of the left camera of KITTI: a time and 12 numbers on each line; --step is its\n"
    "  --first N    frame of the path that is the first scan (default 0)\n"
    "  --origin N   frame of the path that poses.txt begins at, in lane 0: for drives in one map (default: the first)\n"
    "  --lane M     the sensor is M metres left of the path (default 0; 3.4 is the lane of the oncoming cars)\n"
    "  --moving-cars 1  cars drive ahead, behind and towards the sensor\n"
    "  --exchange F     fraction of the places at the kerb where another car or none is parked (default 0)\n"
    "  --labels 1   also 000000.label, ...: a uint32 per point as SemanticKITTI's, 252 on moving cars, else 0\n";

static bool parse(int argc, char **argv, arguments *a) {
    *a = (arguments){.frames = 200, .steps = 900, .origin = -1, .step = 1.0, .seed = 1};
    a->town = (town_settings){.layout = 1};
    const program_option options[] = {
        {"--frames", 1, 1e6, .whole = &a->frames},
        {"--steps", 8, 1e5, .whole = &a->steps},
        {"--first", 0, 1e6, .whole = &a->first},
        {"--origin", 0, 1e6, .whole = &a->origin},
        {"--step", 0, 100, .real = &a->step},
        {"--beams-off", 0, 10, .real = &a->beams_off},
        {"--noise", 1e-9, 1, .real = &a->noise},
        {"--lane", -5, 5, .real = &a->town.lane},
        {"--exchange", 0, 1, .real = &a->town.exchange},
        {"--seed", .seed = &a->seed},
        {"--layout", .seed = &a->town.layout},
        {"--moving", .flag = &a->moving},
        {"--moving-cars", .flag = &a->town.moving_cars},
        {"--labels", .flag = &a->labels},
        {"--path", .text = &a->path},
    };
    a->folder = program_options(argc, argv, options, sizeof options / sizeof options[0]);
    a->noise = a->noise > 0.0 ? a->noise : a->path ? 0.02 : 0.015;
    return a->folder != NULL;
}

/* first^-1 pose */
static void print_pose(FILE *file, const scene_pose *first, const scene_pose *pose) {
    for (int i = 0; i < 3; i++) {
        const double *a = first->rotation + i, *b = pose->rotation;
        double away[3];
        for (int k = 0; k < 3; k++) {
            away[k] = pose->position[k] - first->position[k];
        }
        for (int k = 0; k < 3; k++) {
            fprintf(file, "%.17g ", (a[0] * b[k] + a[3] * b[3 + k]) + a[6] * b[6 + k]);
        }
        fprintf(file, i < 2 ? "%.17g " : "%.17g\n", (a[0] * away[0] + a[3] * away[1]) + a[6] * away[2]);
    }
}

/* Where the scanner says that points are whose beams point higher than it knows. */
static void lower(double degrees, float *points, int64_t count, int columns) {
    for (int64_t i = 0; i < count && degrees > 0.0; i++) {
        float *p = points + columns * i;
        const double x = (double)p[0], y = (double)p[1], z = (double)p[2], level = sqrt(x * x + y * y);
        const double range = sqrt(level * level + z * z), low = atan2(z, level) - degrees / 57.29577951308232;
        p[0] = (float)(x / level * range * cos(low));
        p[1] = (float)(y / level * range * cos(low));
        p[2] = (float)(range * sin(low));
    }
}

typedef struct world {
    bool is_town;
    scene near; /* what the sensor may see: the whole block */
    town town;
} world;

/* Of the i-th scan, or between two. */
static void pose_at(const arguments *a, const world *w, double i, scene_pose *pose) {
    if (w->is_town) {
        town_pose(&w->town, a->first + i, a->town.lane, pose);
    } else {
        scene_block_pose(a->step * i, pose);
    }
}

static bool write_labels(const arguments *a, int frame, const uint8_t *moving, int64_t count) {
    char name[32];
    snprintf(name, sizeof name, "%06d.label", frame);
    FILE *file = program_create(a->folder, name);
    bool good = file != NULL;
    for (int64_t i = 0; good && i < count; i++) {
        const unsigned char bytes[4] = {moving[i] ? 252 : 0};
        good = fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes;
    }
    return file && fclose(file) == 0 && good;
}

typedef struct buffers {
    scene_pose *poses;
    float *points;
    uint8_t *moving;
} buffers;

static bool write_frame(const arguments *a, world *w, int frame, const buffers *b) {
    char path[4096];
    scene_sensor sensor = {.poses = b->poses, .count = a->moving ? a->steps : 1, .times = a->moving};
    sensor.noise = a->noise;
    sensor.moving = a->labels ? b->moving : NULL;
    for (int i = 0; i < sensor.count; i++) {
        pose_at(a, w, a->moving ? frame + ((double)i / a->steps - 0.5) : frame, &b->poses[i]);
    }
    if (w->is_town) {
        town_around(&w->town, a->first + frame, b->poses, &w->near);
    }
    /* The scanner's turn has nothing to do with the car: phases differ. Other drives have other noise. */
    const int number = a->first + frame;
    int64_t count =
        scene_sweep(&w->near, &sensor, a->steps, fmod(0.37 * number, 1.0), a->seed + (uint64_t)number, b->points);
    lower(a->beams_off, b->points, count, sensor.times ? 5 : 4);
    snprintf(path, sizeof path, "%s/%06d.bin", a->folder, frame);
    if (count < 0 || !scene_write(path, b->points, count, sensor.times ? 5 : 4)) {
        fprintf(stderr, "drive: %s: ", path);
        perror("cannot write");
        return false;
    }
    return !a->labels || write_labels(a, frame, b->moving, count);
}

static bool write_all(const arguments *a, world *w, const buffers *b) {
    FILE *poses = program_create(a->folder, "poses.txt"), *times = program_create(a->folder, "times.txt");
    scene_pose first, pose;
    bool good = poses && times;
    pose_at(a, w, 0.0, &first);
    if (w->is_town && (a->origin >= 0 || a->town.lane != 0.0)) {
        town_pose(&w->town, a->origin >= 0 ? a->origin : a->first, 0.0, &first);
    }
    for (int i = 0; i < a->frames && good; i++) {
        pose_at(a, w, i, &pose);
        print_pose(poses, &first, &pose);
        fprintf(times, "%.17g\n", w->is_town ? w->town.way.times[a->first + i] : i / 10.0);
        good = write_frame(a, w, i, b);
    }
    good = (!poses || fclose(poses) == 0) && good;
    return (!times || fclose(times) == 0) && good;
}

static bool build(arguments *a, world *w) {
    if (!a->path) {
        scene_block(&w->near, a->town.layout);
        return true;
    }
    w->is_town = true;
    if (!town_build(&w->town, a->path, &a->town)) {
        return false;
    }
    const int count = w->town.way.count;
    if (a->first >= count || a->origin >= count) {
        fprintf(stderr, "drive: %s: has %d poses\n", a->path, count);
        return false;
    }
    a->frames = a->frames < count - a->first ? a->frames : count - a->first;
    return true;
}

int main(int argc, char **argv) {
    static world w;
    arguments a;
    if (!parse(argc, argv, &a)) {
        fputs(usage, stderr);
        return 2;
    }
    const size_t most = (size_t)a.steps * SCENE_BEAMS;
    buffers b = {.poses = malloc((size_t)a.steps * sizeof *b.poses)};
    b.points = malloc(most * 5 * sizeof *b.points);
    b.moving = malloc(most);
    bool good = b.poses && b.points && b.moving && build(&a, &w) && write_all(&a, &w, &b);
    free(b.poses);
    free(b.points);
    free(b.moving);
    if (w.is_town) {
        town_free(&w.town);
    }
    return good ? 0 : 1;
}
