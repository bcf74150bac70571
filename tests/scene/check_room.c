/* Depth frames of the room against the room itself, without a ray cast: the distance of each point to the nearest
 * surface, and that nothing stands before it.
 *
 *   check_room FOLDER LAYOUT             frames without noise: points lie on surfaces within the rounding, frames
 * overlap check_room FOLDER LAYOUT CLEAN       frames with noise, CLEAN holds the same without: its size and the lost
 * pixels check_room --same A.png B.png        the same pixels
 *   check_room --colors POINTS LAYOUT    the points have the colours of the surfaces that they are on */
#include "room.h"

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POSES = 1000 };

static const command_info *info_command;
static pcgpu_context *context;
static int failures;

#define CHECK(CONDITION, ...)                                                                                          \
    do {                                                                                                               \
        if (!(CONDITION)) {                                                                                            \
            fprintf(stderr, "check_room: not true: %s: ", #CONDITION);                                                 \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

static void stop(const char *path, const char *why) {
    fprintf(stderr, "check_room: %s: %s\n", path, why);
    exit(1);
}

/* ---- the room ---------------------------------------------------------------------------------------------------- */

/* Whether a place between the camera and just before the point is within a shape. */
static bool is_hidden(const scene *room, const double eye[3], const double p[3]) {
    for (int step = 1; step < 40; step++) {
        double share = step / 40.0, at[3];
        for (int k = 0; k < 3; k++) {
            at[k] = eye[k] + share * (p[k] - eye[k]);
        }
        for (int i = 0; i < room->count; i++) {
            if (scene_distance(&room->shapes[i], at) < -0.002) {
                return true;
            }
        }
    }
    return false;
}

/* ---- files ------------------------------------------------------------------------------------------------------ */

typedef struct sequence {
    const char *folder;
    int count;
    int numbers[MOST_POSES];  /* of the frames */
    double T[MOST_POSES][12]; /* world from camera, three rows of four */
    pcgpu_camera camera;
} sequence;

static FILE *open_in(const sequence *s, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", s->folder, name);
    FILE *file = fopen(path, "r");
    if (!file) {
        stop(path, "cannot be opened");
    }
    return file;
}

/* Both files of poses, which must agree; the number of a frame is its time at 30 frames a second. */
static void read_poses(sequence *s) {
    FILE *kitti = open_in(s, "poses_kitti.txt"), *tum = open_in(s, "poses_tum.txt");
    char line[256];
    if (!fgets(line, sizeof line, tum) || line[0] != '#') {
        stop("poses_tum.txt", "does not begin with a comment");
    }
    for (s->count = 0; s->count < MOST_POSES; s->count++) {
        double *T = s->T[s->count], t[8];
        int n = 0;
        while (n < 12 && fscanf(kitti, "%lf", &T[n]) == 1) {
            n++;
        }
        if (n == 0) {
            break;
        }
        for (int k = 0; k < 8; k++) {
            if (fscanf(tum, "%lf", &t[k]) != 1) {
                stop("poses_tum.txt", "is shorter than poses_kitti.txt");
            }
        }
        s->numbers[s->count] = (int)floor(t[0] * 30.0 + 0.5);
        const double values[7] = {t[1], t[2], t[3], t[7], t[4], t[5], t[6]};
        scene_pose pose;
        CHECK(n == 12 && scene_pose_from(values, &pose), "pose %d", s->count);
        for (int k = 0; k < 12; k++) {
            double other = k % 4 == 3 ? pose.position[k / 4] : pose.rotation[3 * (k / 4) + k % 4];
            CHECK(fabs(T[k] - other) < 1e-8, "pose %d: %.10f in one file, %.10f in the other", s->count, T[k], other);
        }
    }
    CHECK(s->count > 0 && fscanf(tum, "%255s", line) == EOF, "%d poses", s->count);
    fclose(kitti);
    fclose(tum);
}

static void read_sequence(sequence *s, const char *folder) {
    char path[4096];
    reason why;
    option_values o;
    *s = (sequence){.folder = folder};
    snprintf(path, sizeof path, "%s/camera.yaml", folder);
    options_init(&o, info_command);
    if (!config_load(path, info_command, &o, &why) || !camera_check(&o.camera, &why)) {
        stop(path, why.text);
    }
    s->camera = o.camera;
    options_free(&o);
    read_poses(s);
}

static void read_frame(const sequence *s, int i, pcgpu_depth *depth) {
    char path[4096];
    snprintf(path, sizeof path, "%s/frame-%06d.png", s->folder, s->numbers[i]);
    FILE *file = fopen(path, "rb");
    if (!file || pcgpu_read_depth(context, file, path, NULL, depth) != PCGPU_OK) {
        stop(path, file ? pcgpu_last_error(context) : "cannot be opened");
    }
    fclose(file);
}

static void points_of(const sequence *s, const pcgpu_depth *depth, pcgpu_cloud *cloud) {
    if (pcgpu_depth_to_cloud(context, depth, &s->camera, cloud, NULL) != PCGPU_OK) {
        stop(s->folder, pcgpu_last_error(context));
    }
}

/* ---- checks ----------------------------------------------------------------------------------------------------- */

static void to_world(const double T[12], const float *p, double world[3]) {
    for (int k = 0; k < 3; k++) {
        const double *row = T + 4 * k;
        world[k] = row[0] * (double)p[0] + row[1] * (double)p[1] + row[2] * (double)p[2] + row[3];
    }
}

static void to_camera(const double T[12], const double world[3], double p[3]) {
    for (int k = 0; k < 3; k++) {
        p[k] = 0.0;
        for (int i = 0; i < 3; i++) {
            p[k] += T[4 * i + k] * (world[i] - T[4 * i + 3]);
        }
    }
}

/* Every 7th point: on a surface as nearly as the rounding of its depth allows, and in sight. */
static void check_surfaces(const scene *room, const sequence *s, int i, const pcgpu_cloud *cloud) {
    double worst = 0.0;
    int hidden = 0;
    const double *T = s->T[i], eye[3] = {T[3], T[7], T[11]};
    for (int64_t row = 0; row < cloud->rows; row += 7) {
        const float *p = cloud->data + 3 * row;
        double world[3], x = (double)(p[0] / p[2]), y = (double)(p[1] / p[2]);
        to_world(T, p, world);
        double allowed = 0.5 / s->camera.depth_scale * sqrt(x * x + y * y + 1.0) + 1e-6;
        worst = fmax(worst, room_distance(room, world) / allowed);
        hidden += row % 49 == 0 && is_hidden(room, eye, world);
    }
    CHECK(worst <= 1.0, "%s, frame %d: a point is %.3f times as far from the room as its rounding allows", s->folder,
          s->numbers[i], worst);
    CHECK(hidden == 0, "%s, frame %d: %d points are behind something", s->folder, s->numbers[i], hidden);
}

/* Points of one frame that another sees at the same place, to 5 mm beside the slope of a pixel. */
static double overlap(const sequence *s, int i, const pcgpu_cloud *cloud, int other, const pcgpu_depth *depth) {
    const pcgpu_camera *c = &s->camera;
    int64_t seen = 0;
    for (int64_t row = 0; row < cloud->rows; row++) {
        double world[3], p[3];
        to_world(s->T[i], cloud->data + 3 * row, world);
        to_camera(s->T[other], world, p);
        double u = floor(c->fx * p[0] / p[2] + c->cx + 0.5), v = floor(c->fy * p[1] / p[2] + c->cy + 0.5);
        if (p[2] > 0.0 && u >= 0.0 && v >= 0.0 && u < depth->width && v < depth->height) {
            double z = depth->data[(int)v * depth->width + (int)u] / c->depth_scale;
            seen += fabs(z - p[2]) < 0.005 + 0.01 * p[2];
        }
    }
    return (double)seen / (double)cloud->rows;
}

static void check_clean(const scene *room, const sequence *s) {
    pcgpu_depth depth, before = {0};
    pcgpu_cloud cloud;
    double least = 1.0;
    for (int i = 0; i < s->count; i++) {
        read_frame(s, i, &depth);
        points_of(s, &depth, &cloud);
        CHECK(cloud.rows == (int64_t)depth.width * depth.height, "%lld points of %d x %d pixels: the room is closed",
              (long long)cloud.rows, depth.width, depth.height);
        check_surfaces(room, s, i, &cloud);
        if (i > 0) {
            double share = overlap(s, i, &cloud, i - 1, &before);
            least = fmin(least, share);
            CHECK(share > 0.85, "frame %d sees %.3f of what the one before sees", s->numbers[i], share);
        }
        pcgpu_cloud_free(&cloud);
        pcgpu_depth_free(&before);
        before = depth;
    }
    pcgpu_depth_free(&before);
    printf("%s: %d frames, consecutive ones share at least %.3f of their points\n", s->folder, s->count, least);
}

typedef struct noise {
    int64_t pixels, lost;
    double squares[3]; /* sums of ((noisy - clean) / clean^2)^2 up to 2 m, 3 m and beyond */
    int64_t counts[3];
} noise;

static void add_noise(const sequence *s, const pcgpu_depth *noisy, const pcgpu_depth *clean, noise *n) {
    for (int64_t i = 0; i < (int64_t)clean->width * clean->height; i++) {
        double z = clean->data[i] / s->camera.depth_scale, error = noisy->data[i] / s->camera.depth_scale - z;
        n->pixels++;
        n->lost += noisy->data[i] == 0;
        if (noisy->data[i]) {
            int bin = z < 2.0 ? 0 : z < 3.0 ? 1 : 2;
            n->squares[bin] += error * error / (z * z * z * z);
            n->counts[bin]++;
        }
    }
}

/* A step of disparity is z^2 / 351.3 metres: a sixth of it of noise, and rounding to steps, 1 / sqrt(12). */
static void check_noisy(const sequence *s, const sequence *other) {
    const double wanted = sqrt(1.0 / 36.0 + 1.0 / 12.0) / 351.3;
    noise n = {0};
    pcgpu_depth noisy, clean;
    CHECK(s->count == other->count, "%d and %d frames", s->count, other->count);
    for (int i = 0; i < s->count && i < other->count; i++) {
        CHECK(memcmp(s->T[i], other->T[i], sizeof s->T[i]) == 0, "pose %d", i);
        read_frame(s, i, &noisy);
        read_frame(other, i, &clean);
        CHECK(noisy.width == clean.width && noisy.height == clean.height, "frame %d has another size", i);
        if (noisy.width == clean.width && noisy.height == clean.height) {
            add_noise(s, &noisy, &clean, &n);
        }
        pcgpu_depth_free(&noisy);
        pcgpu_depth_free(&clean);
    }
    double lost = (double)n.lost / (double)n.pixels;
    CHECK(lost > 0.005 && lost < 0.15, "%.4f of the pixels have no return", lost);
    for (int bin = 0; bin < 3; bin++) {
        double deviation = sqrt(n.squares[bin] / (double)n.counts[bin]);
        CHECK(n.counts[bin] > 1000 && fabs(deviation / wanted - 1.0) < 0.1,
              "depths around %d m: errors of %.6f z^2 where %.6f z^2 is wanted, %lld pixels", bin + 2, deviation,
              wanted, (long long)n.counts[bin]);
    }
    printf("%s: %.1f %% without a return, errors of %.5f z^2 m\n", s->folder, 100.0 * lost,
           sqrt((n.squares[0] + n.squares[1] + n.squares[2]) / (double)(n.counts[0] + n.counts[1] + n.counts[2])));
}

static void check_same(const char *a, const char *b) {
    const char *const paths[] = {a, b};
    pcgpu_depth images[2];
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(paths[i], "rb");
        if (!file || pcgpu_read_depth(context, file, paths[i], NULL, &images[i]) != PCGPU_OK) {
            stop(paths[i], file ? pcgpu_last_error(context) : "cannot be opened");
        }
        fclose(file);
    }
    size_t size = (size_t)images[0].width * (size_t)images[0].height * sizeof *images[0].data;
    CHECK(images[0].width == images[1].width && images[0].height == images[1].height &&
              memcmp(images[0].data, images[1].data, size) == 0,
          "%s and %s differ", a, b);
    pcgpu_depth_free(&images[0]);
    pcgpu_depth_free(&images[1]);
}

/* Points with colours: away from where two shapes meet, each has the colour of the shape that it is on. */
static void check_colors(const scene *room, const char *path) {
    pcgpu_cloud cloud;
    if (pcgpu_read_file(context, path, NULL, &cloud) != PCGPU_OK) {
        stop(path, pcgpu_last_error(context));
    }
    const int red = pcgpu_cloud_column(&cloud, "red");
    CHECK(red >= 3 && cloud.rows > 10000, "%lld points, colours in column %d", (long long)cloud.rows, red);
    int64_t compared = 0, off = 0;
    double sum = 0.0;
    for (int64_t i = 0; red >= 3 && i < cloud.rows; i++) {
        const float *v = cloud.data + i * cloud.columns;
        const double p[3] = {v[0], v[1], v[2]};
        double nearest = INFINITY, second = INFINITY;
        int shape = 0, worst = 0;
        uint8_t rgb[3];
        for (int s = 0; s < room->count; s++) {
            const double d = fabs(scene_distance(&room->shapes[s], p));
            second = d < nearest ? nearest : d < second ? d : second;
            shape = d < nearest ? s : shape;
            nearest = d < nearest ? d : nearest;
        }
        if (nearest > 0.01 || second < 0.04) {
            continue;
        }
        room_color(shape, p, rgb);
        for (int k = 0; k < 3; k++) {
            const int error = abs((int)v[red + k] - rgb[k]);
            worst = error > worst ? error : worst;
            sum += error / 3.0;
        }
        compared++;
        off += worst > 1;
    }
    printf("%s: %lld of %lld points compared, %.3f %% are more than a level off, the mean error is %.3f levels\n", path,
           (long long)compared, (long long)cloud.rows, 100.0 * (double)off / (double)compared, sum / (double)compared);
    CHECK(compared > cloud.rows / 2 && (double)off <= 0.002 * (double)compared && sum <= 0.05 * (double)compared,
          "colours are off");
    pcgpu_cloud_free(&cloud);
}

int main(int argc, char **argv) {
    static scene room;
    static sequence frames, clean;
    commands_use(all_commands);
    info_command = command_by_name("info");
    if (argc < 3 || argc > 4 ||
        pcgpu_open(&(pcgpu_settings){.struct_size = sizeof(pcgpu_settings), .device = PCGPU_DEVICE_CPU}, &context) !=
            PCGPU_OK) {
        return 2;
    }
    if (strcmp(argv[1], "--colors") == 0 && argc == 4) {
        room_furnish(&room, strtoull(argv[3], NULL, 10));
        check_colors(&room, argv[2]);
    } else if (strcmp(argv[1], "--same") == 0 && argc == 4) {
        check_same(argv[2], argv[3]);
    } else {
        room_furnish(&room, strtoull(argv[2], NULL, 10));
        read_sequence(&frames, argv[1]);
        if (argc == 4) {
            read_sequence(&clean, argv[3]);
            check_noisy(&frames, &clean);
        } else {
            check_clean(&room, &frames);
        }
    }
    pcgpu_close(context);
    return failures > 0;
}
