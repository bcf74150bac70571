/* The way of a car: its file, the poses between its frames, places along it. */
#include "path.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define REACH 6.0 /* frames on both sides that decide on a pose */

/* x y z of the camera are right, down, forward; those of the LiDAR forward, left, up. */
static void from_camera(const double T[12], scene_pose *pose) {
    static const int axis[3] = {2, 0, 1};
    static const double sign[3] = {1.0, -1.0, -1.0};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            pose->rotation[3 * i + k] = sign[i] * sign[k] * T[4 * axis[i] + axis[k]];
        }
        pose->position[i] = sign[i] * T[4 * axis[i] + 3];
    }
}

static bool read_frames(drive_path *p, FILE *file, const char *name) {
    int capacity = 0;
    for (;; p->count++) {
        double row[13];
        int n = 0;
        while (n < 13 && fscanf(file, "%lf", &row[n]) == 1 && fabs(row[n]) < 1e9) {
            n++;
        }
        if (n == 0 && feof(file)) {
            break;
        }
        if (n < 13) {
            fprintf(stderr, "drive: %s: pose %d has not 13 numbers, a time and 3 x 4 of a matrix\n", name, p->count);
            return false;
        }
        if (p->count == capacity) {
            capacity = 2 * capacity + 1024;
            double *times = realloc(p->times, (size_t)capacity * sizeof *times);
            p->times = times ? times : p->times;
            scene_pose *frames = realloc(p->frames, (size_t)capacity * sizeof *frames);
            p->frames = frames ? frames : p->frames;
            if (!times || !frames) {
                fputs("drive: out of memory\n", stderr);
                return false;
            }
        }
        p->times[p->count] = row[0];
        from_camera(row + 1, &p->frames[p->count]);
    }
    if (p->count < 20) {
        fprintf(stderr, "drive: %s: %d poses; a path has at least 20\n", name, p->count);
    }
    return p->count >= 20;
}

/* Rows of length 1 at right angles to each other. */
static void straighten(double R[9]) {
    for (int i = 0; i < 2; i++) {
        double *row = R + 3 * i, dot = 0.0, square = 0.0;
        for (int k = 0; k < 3 && i == 1; k++) {
            dot += row[k] * R[k];
        }
        for (int k = 0; k < 3; k++) {
            row[k] -= dot * R[k];
            square += row[k] * row[k];
        }
        for (int k = 0; k < 3; k++) {
            row[k] /= sqrt(square);
        }
    }
    for (int k = 0; k < 3; k++) {
        int a = (k + 1) % 3, b = (k + 2) % 3;
        R[6 + k] = R[a] * R[3 + b] - R[b] * R[3 + a];
    }
}

/* Weights (1 - (d / reach)^2)^3 of the frames around: two derivatives are continuous. */
void path_pose(const drive_path *p, double frame, scene_pose *pose) {
    const double last = p->count - 1;
    frame = frame < -0.5 ? -0.5 : frame > last + 0.5 ? last + 0.5 : frame;
    double all = 0.0;
    *pose = (scene_pose){{0}, {0}};
    int from = (int)ceil(frame - REACH), to = (int)floor(frame + REACH);
    from = from < 0 ? 0 : from;
    to = to > p->count - 1 ? p->count - 1 : to;
    for (int k = from; k <= to; k++) {
        double d = (k - frame) / REACH, w = 1.0 - d * d;
        w = w * w * w;
        all += w;
        for (int i = 0; i < 9; i++) {
            pose->rotation[i] += w * p->frames[k].rotation[i];
        }
        for (int i = 0; i < 3; i++) {
            pose->position[i] += w * p->frames[k].position[i];
        }
    }
    for (int i = 0; i < 3; i++) {
        pose->position[i] /= all;
    }
    straighten(pose->rotation);
}

static double between(double a, double b, double share) {
    return a + share * (b - a);
}

double path_metres(const drive_path *p, double frame) {
    if (frame <= 0.0 || frame >= p->count - 1) {
        return p->metres[frame <= 0.0 ? 0 : p->count - 1];
    }
    int k = (int)frame;
    return between(p->metres[k], p->metres[k + 1], frame - k);
}

path_place path_at(const drive_path *p, double metres) {
    double most = p->places - 1, inside = metres < 0.0 ? 0.0 : metres > most ? most : metres;
    int k = (int)inside;
    k = k > p->places - 2 ? p->places - 2 : k;
    const path_place *a = &p->place[k], *b = a + 1;
    double share = inside - k, beyond = metres - inside;
    path_place at = {between(a->x, b->x, share), between(a->y, b->y, share), between(a->z, b->z, share),
                     between(a->cosine, b->cosine, share), between(a->sine, b->sine, share)};
    double length = sqrt(at.cosine * at.cosine + at.sine * at.sine);
    at.cosine /= length;
    at.sine /= length;
    at.x += beyond * at.cosine;
    at.y += beyond * at.sine;
    return at;
}

double path_degrees(const path_place *place) {
    return floor(atan2(place->sine, place->cosine) * 57.29577951308232 * 100.0 + 0.5) / 100.0;
}

/* Directions from 4 m before to 4 m behind: where the car stands, its frames have none. */
static void find_directions(drive_path *p) {
    for (int i = 0; i < p->places; i++) {
        const path_place *a = &p->place[i < 4 ? 0 : i - 4], *b = &p->place[i + 4 < p->places ? i + 4 : p->places - 1];
        double x = b->x - a->x, y = b->y - a->y, length = sqrt(x * x + y * y);
        p->place[i].cosine = length > 0.0 ? x / length : 1.0;
        p->place[i].sine = length > 0.0 ? y / length : 0.0;
    }
}

/* Places from small steps along the way. */
static bool find_places(drive_path *p) {
    enum { PARTS = 8 };
    scene_pose before, pose;
    double way = 0.0;
    int capacity = 0;
    p->metres = malloc((size_t)p->count * sizeof *p->metres);
    path_pose(p, 0.0, &before);
    for (int i = 0; p->metres && i <= PARTS * (p->count - 1); i++) {
        path_pose(p, (double)i / PARTS, &pose);
        double x = pose.position[0] - before.position[0], y = pose.position[1] - before.position[1];
        way += sqrt(x * x + y * y);
        if (i % PARTS == 0) {
            p->metres[i / PARTS] = way;
        }
        if (p->places == capacity) {
            capacity = 2 * capacity + 1024;
            path_place *place = realloc(p->place, (size_t)capacity * sizeof *place);
            if (!place) {
                return false;
            }
            p->place = place;
        }
        if (way >= p->places) {
            p->place[p->places++] = (path_place){pose.position[0], pose.position[1], pose.position[2], 1.0, 0.0};
        }
        before = pose;
    }
    find_directions(p);
    return p->metres && p->places >= 20;
}

bool path_read(drive_path *p, const char *name) {
    *p = (drive_path){0};
    FILE *file = fopen(name, "r");
    if (!file) {
        fprintf(stderr, "drive: %s: ", name);
        perror("cannot read");
        return false;
    }
    bool good = read_frames(p, file, name);
    fclose(file);
    if (good && !find_places(p)) {
        fprintf(stderr, "drive: %s: the way is shorter than 20 m, or memory ends\n", name);
        good = false;
    }
    return good;
}

void path_free(drive_path *p) {
    free(p->times);
    free(p->frames);
    free(p->metres);
    free(p->place);
}
