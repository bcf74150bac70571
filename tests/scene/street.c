/* street: writes a synthetic LiDAR scan (KITTI .bin) and, on request, the transform of its pose. See
 * testdata/README.md. */
#include "program.h"
#include "scene.h"

#include <stdlib.h>

typedef struct arguments {
    int points;
    uint64_t seed, layout;
    double phase;
    scene_pose pose;
    const char *output, *transform;
} arguments;

static const char usage[] = "usage: street [options] OUTPUT.bin\n"
                            "  --points N                exact number of points (default 60000, at most 10000000)\n"
                            "  --seed N                  of the noise and the dropouts (default 1)\n"
                            "  --layout N                seed of the street itself (default 1)\n"
                            "  --phase P                 first firing, in steps of the sweep, 0 to 1 (default 0)\n"
                            "  --pose x,y,z,qw,qx,qy,qz  of the sensor in the world (default 0,0,0,1,0,0,0)\n"
                            "  --transform FILE          write the pose as a 4x4 matrix, world from sensor\n";

static bool parse_pose(const char *text, scene_pose *pose) {
    double values[7];
    for (int i = 0; i < 7; i++) {
        char *end;
        values[i] = strtod(text, &end);
        if (end == text || *end != (i < 6 ? ',' : '\0') || !(values[i] >= -1000.0 && values[i] <= 1000.0)) {
            return false;
        }
        text = end + 1;
    }
    return scene_pose_from(values, pose);
}

static bool parse(int argc, char **argv, arguments *a) {
    const char *pose = "0,0,0,1,0,0,0";
    *a = (arguments){.points = 60000, .seed = 1, .layout = 1};
    const program_option options[] = {
        {"--points", 1, 1e7, .whole = &a->points}, {"--seed", .seed = &a->seed}, {"--layout", .seed = &a->layout},
        {"--phase", 0, 1, .real = &a->phase},      {"--pose", .text = &pose},    {"--transform", .text = &a->transform},
    };
    a->output = program_options(argc, argv, options, sizeof options / sizeof options[0]);
    return a->output && parse_pose(pose, &a->pose);
}

static bool write_transform(const char *path, const scene_pose *pose) {
    FILE *file = fopen(path, "w");
    bool good = file != NULL;
    for (int i = 0; good && i < 3; i++) {
        const double *row = pose->rotation + 3 * i;
        good = fprintf(file, "%.17g %.17g %.17g %.17g\n", row[0], row[1], row[2], pose->position[i]) > 0;
    }
    good = good && fputs("0 0 0 1\n", file) >= 0;
    return file && fclose(file) == 0 && good;
}

int main(int argc, char **argv) {
    static scene street;
    arguments a;
    if (!parse(argc, argv, &a)) {
        fputs(usage, stderr);
        return 2;
    }
    scene_street(&street, a.layout);
    float *points = scene_scan(&street, &a.pose, a.points, a.phase, a.seed);
    if (!points) {
        fputs("street: out of memory, or the pose sees too little of the street\n", stderr);
        return 1;
    }
    bool good = scene_write(a.output, points, a.points, 4);
    free(points);
    if (!good || (a.transform && !write_transform(a.transform, &a.pose))) {
        fprintf(stderr, "street: %s: ", good ? a.transform : a.output);
        perror("cannot write");
        return 1;
    }
    return 0;
}
