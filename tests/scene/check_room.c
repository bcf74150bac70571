/* check_room --same A.png B.png        the same pixels
 * check_room --colors POINTS LAYOUT    the points have the colours of the surfaces of the room that they are on */
#include "room.h"

#include "../support/context.h"

#include <math.h>
#include <string.h>

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

/* From the distances beyond the sides that meet at a right angle, each negative within. */
static double of_sides(const double *beyond, int count) {
    double outside = 0.0, inside = -INFINITY;
    for (int k = 0; k < count; k++) {
        outside += beyond[k] > 0.0 ? beyond[k] * beyond[k] : 0.0;
        inside = fmax(inside, beyond[k]);
    }
    return outside > 0.0 ? sqrt(outside) : inside;
}

/* Signed, negative within. */
static double scene_distance(const scene_shape *s, const double p[3]) {
    double x = p[0] - s->center[0], y = p[1] - s->center[1], z = p[2] - s->center[2];
    if (s->kind == SCENE_SPHERE) {
        return sqrt(x * x + y * y + z * z) - s->size[0];
    }
    if (s->kind == SCENE_DRUM) {
        const double beyond[2] = {sqrt(x * x + y * y) - s->size[0], fabs(z) - s->size[2]};
        return of_sides(beyond, 2);
    }
    const double beyond[3] = {fabs(s->cosine * x + s->sine * y) - s->size[0],
                              fabs(s->cosine * y - s->sine * x) - s->size[1], fabs(z) - s->size[2]};
    return of_sides(beyond, 3);
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
    const bool colors = argc == 4 && strcmp(argv[1], "--colors") == 0;
    if (!colors && (argc != 4 || strcmp(argv[1], "--same") != 0)) {
        return 2;
    }
    context = test_open(PCGPU_DEVICE_CPU, 0);
    if (colors) {
        room_furnish(&room, strtoull(argv[3], NULL, 10));
        check_colors(&room, argv[2]);
    } else {
        check_same(argv[2], argv[3]);
    }
    pcgpu_close(context);
    return failures > 0;
}
