/* drive: writes the scans of a car that drives around a block (KITTI .bin), with its poses and times. See
 * testdata/README.md. */
#include "scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct arguments {
    int frames, steps;
    uint64_t seed, layout;
    double step, rate, beams_off;
    bool moving;
    const char *folder;
} arguments;

static const char usage[] =
    "usage: drive [options] FOLDER\n"
    "Writes 000000.bin, 000001.bin, ..., poses.txt (KITTI: first frame from frame) and times.txt.\n"
    "  --frames N   scans (default 200)\n"
    "  --step M     metres from scan to scan (default 1)\n"
    "  --rate HZ    scans a second (default 10)\n"
    "  --steps N    firings of each of the 64 beams in a scan (default 900)\n"
    "  --moving 1   the car moves while a scan is taken, its pose is that of the middle of the scan,\n"
    "               and records have a fifth value: 0 at the first firing, 1 at the next scan's\n"
    "  --beams-off A  the beams point A degrees higher than the scanner says (default 0)\n"
    "  --seed N     of the noise and the dropouts (default 1)\n"
    "  --layout N   seed of the block (default 1)\n";

static bool parse_option(arguments *a, const char *name, const char *text) {
    char *end;
    double value = strtod(text, &end);
    bool whole = value == floor(value);
    if (end == text || *end != '\0' || !(value >= 0.0 && value <= 9007199254740992.0)) {
        return false;
    }
    if (strcmp(name, "--frames") == 0 && whole && value >= 1.0 && value <= 1e6) {
        a->frames = (int)value;
    } else if (strcmp(name, "--steps") == 0 && whole && value >= 8.0 && value <= 1e5) {
        a->steps = (int)value;
    } else if (strcmp(name, "--step") == 0 && value <= 100.0) {
        a->step = value;
    } else if (strcmp(name, "--rate") == 0 && value > 0.0) {
        a->rate = value;
    } else if (strcmp(name, "--beams-off") == 0 && value <= 10.0) {
        a->beams_off = value;
    } else if (strcmp(name, "--moving") == 0 && whole && value <= 1.0) {
        a->moving = value == 1.0;
    } else if (strcmp(name, "--seed") == 0 && whole) {
        a->seed = (uint64_t)value;
    } else if (strcmp(name, "--layout") == 0 && whole) {
        a->layout = (uint64_t)value;
    } else {
        return false;
    }
    return true;
}

static bool parse(int argc, char **argv, arguments *a) {
    *a = (arguments){.frames = 200, .steps = 900, .seed = 1, .layout = 1, .step = 1.0, .rate = 10.0};
    int i = 1;
    for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2) {
        if (!parse_option(a, argv[i], argv[i + 1])) {
            fprintf(stderr, "drive: %s %s: not understood or out of range\n", argv[i], argv[i + 1]);
            return false;
        }
    }
    a->folder = i + 1 == argc ? argv[i] : NULL;
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

static bool write_frame(const arguments *a, const scene *block, int frame, scene_pose *poses, float *points) {
    char path[4096];
    const double metres = a->step * frame;
    scene_sensor sensor = {.poses = poses, .count = a->moving ? a->steps : 1, .times = a->moving};
    for (int i = 0; i < sensor.count; i++) {
        scene_block_pose(a->moving ? metres + a->step * ((double)i / a->steps - 0.5) : metres, &poses[i]);
    }
    /* The scanner's turn has nothing to do with the car: phases differ from scan to scan. */
    int64_t count = scene_sweep(block, &sensor, a->steps, fmod(0.37 * frame, 1.0), a->seed + (uint64_t)frame, points);
    lower(a->beams_off, points, count, sensor.times ? 5 : 4);
    snprintf(path, sizeof path, "%s/%06d.bin", a->folder, frame);
    if (count < 0 || !scene_write(path, points, count, sensor.times ? 5 : 4)) {
        fprintf(stderr, "drive: %s: ", path);
        perror("cannot write");
        return false;
    }
    return true;
}

static FILE *create(const arguments *a, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", a->folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        fprintf(stderr, "drive: %s: ", path);
        perror("cannot write");
    }
    return file;
}

static bool write_all(const arguments *a, const scene *block, scene_pose *sweep, float *points) {
    FILE *poses = create(a, "poses.txt"), *times = create(a, "times.txt");
    scene_pose first, pose;
    bool good = poses && times;
    scene_block_pose(0.0, &first);
    for (int i = 0; i < a->frames && good; i++) {
        scene_block_pose(a->step * i, &pose);
        print_pose(poses, &first, &pose);
        fprintf(times, "%.17g\n", i / a->rate);
        good = write_frame(a, block, i, sweep, points);
    }
    good = (!poses || fclose(poses) == 0) && good;
    return (!times || fclose(times) == 0) && good;
}

int main(int argc, char **argv) {
    static scene block;
    arguments a;
    if (!parse(argc, argv, &a)) {
        fputs(usage, stderr);
        return 2;
    }
    scene_block(&block, a.layout);
    scene_pose *sweep = malloc((size_t)a.steps * sizeof *sweep);
    float *points = malloc((size_t)a.steps * SCENE_BEAMS * 5 * sizeof *points);
    bool good = sweep && points && write_all(&a, &block, sweep, points);
    free(sweep);
    free(points);
    return good ? 0 : 1;
}
