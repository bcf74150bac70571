/* room: writes depth frames of a furnished room along a closed path, their poses, and the configuration of the camera.
 * See testdata/README.md. */
#include "program.h"
#include "room.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FRAMES = 100000 };

typedef struct arguments {
    int loop, frames;
    uint64_t seed;
    room_path path;
    bool pgm;
    room_camera camera;
    const char *folder, *color; /* color: the folder of the colour images, or NULL */
} arguments;

static const char usage[] =
    "usage: room [options] FOLDER\n"
    "writes FOLDER/frame-000000.png ..., poses_tum.txt, poses_kitti.txt (both world from camera) and camera.yaml\n"
    "  --path sway|around before one corner, or once around the room (default sway)\n"
    "  --loop N           frames of the whole path, which is closed (default 120)\n"
    "  --frames N         frames written (default all of the loop); they may go on behind the end\n"
    "  --width N          pixels, a multiple of 16 from 16 to 2048; the height is 3/4 of it (default 640)\n"
    "  --noise 0|1        1: noise, quantisation and missing pixels as of a Kinect (default 0)\n"
    "  --seed N           of the noise (default 1)\n"
    "  --format png|pgm   (default png)\n"
    "  --color FOLDER     also write the registered colour images, FOLDER/frame-000000.png ...\n";

static bool parse(int argc, char **argv, arguments *a) {
    const char *path = "sway", *format = "png";
    bool noise = false;
    int width = 640;
    *a = (arguments){.loop = 120, .seed = 1};
    const program_option options[] = {
        {"--loop", 1, MOST_FRAMES, .whole = &a->loop},
        {"--frames", 1, MOST_FRAMES, .whole = &a->frames},
        {"--width", 16, 2048, .whole = &width},
        {"--seed", .seed = &a->seed},
        {"--noise", .flag = &noise},
        {"--path", .text = &path},
        {"--format", .text = &format},
        {"--color", .text = &a->color},
    };
    a->folder = program_options(argc, argv, options, sizeof options / sizeof options[0]);
    a->frames = a->frames ? a->frames : a->loop;
    a->path = strcmp(path, "around") == 0 ? ROOM_AROUND : ROOM_SWAY;
    a->pgm = strcmp(format, "pgm") == 0;
    room_camera_init(&a->camera, width);
    a->camera.noise = noise;
    return a->folder && width % 16 == 0 && (a->path == ROOM_AROUND || strcmp(path, "sway") == 0) &&
           (a->pgm || strcmp(format, "png") == 0);
}

/* ---- files -------------------------------------------------------------------------------------------------- */

static bool write_pgm(FILE *file, const room_camera *camera, const uint16_t *depth) {
    fprintf(file, "P5\n%d %d\n65535\n", camera->width, camera->height);
    for (int i = 0; i < camera->width * camera->height; i++) {
        fputc(depth[i] >> 8, file);
        fputc(depth[i] & 255, file);
    }
    return !ferror(file);
}

/* Rows of `bytes` each, depths big endian. */
static bool write_png(FILE *file, const room_camera *camera, const unsigned char *rows, bool color) {
    const size_t bytes = (size_t)camera->width * (color ? 3 : 2);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info || setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_init_io(png, file);
    png_set_compression_level(png, 9);
    png_set_IHDR(png, info, (png_uint_32)camera->width, (png_uint_32)camera->height, color ? 8 : 16,
                 color ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int v = 0; v < camera->height; v++) {
        png_write_row(png, rows + (size_t)v * bytes);
    }
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return true;
}

static bool close_file(const arguments *a, const char *name, FILE *file, bool good) {
    good = !ferror(file) && good;
    good = fclose(file) == 0 && good;
    if (!good) {
        fprintf(stderr, "room: %s/%s: cannot write\n", a->folder, name);
    }
    return good;
}

static bool write_frame(const arguments *a, const scene *room, const scene_pose *pose, int number, uint16_t *depth) {
    char name[64];
    snprintf(name, sizeof name, "frame-%06d.%s", number, a->pgm ? "pgm" : "png");
    FILE *file = program_create(a->folder, name);
    if (!file) {
        return false;
    }
    room_frame(room, pose, &a->camera, a->seed, number, depth);
    bool good = false;
    if (a->pgm) {
        good = write_pgm(file, &a->camera, depth);
    } else {
        const int pixels = a->camera.width * a->camera.height;
        for (int i = 0; i < pixels; i++) { /* big endian, whatever this machine is */
            const unsigned char bytes[] = {(unsigned char)(depth[i] >> 8), (unsigned char)(depth[i] & 255)};
            memcpy(&depth[i], bytes, sizeof bytes);
        }
        good = write_png(file, &a->camera, (const unsigned char *)depth, false);
    }
    return close_file(a, name, file, good);
}

static bool write_colors(const arguments *a, const scene *room, const scene_pose *pose, int number) {
    char name[64];
    snprintf(name, sizeof name, "frame-%06d.png", number);
    unsigned char *rgb = malloc(3 * (size_t)a->camera.width * (size_t)a->camera.height);
    FILE *file = rgb ? program_create(a->color, name) : NULL;
    bool good = file != NULL;
    if (good) {
        room_colors(room, pose, &a->camera, rgb);
        good = close_file(a, name, file, write_png(file, &a->camera, rgb, true));
    }
    free(rgb);
    return good;
}

static bool write_camera(const arguments *a) {
    FILE *file = program_create(a->folder, "camera.yaml");
    if (!file) {
        return false;
    }
    const room_camera *c = &a->camera;
    fprintf(file,
            "# The camera of these frames, made by tests/scene/room.c.\n"
            "camera: {width: %d, height: %d, fx: %.10g, fy: %.10g, cx: %.10g, cy: %.10g, depth_scale: %.10g}\n"
            "register: {voxel_size: 0.05, max_distance: 0.4}\n",
            c->width, c->height, c->fx, c->fy, c->cx, c->cy, c->depth_scale);
    return close_file(a, "camera.yaml", file, true);
}

/* 30 frames a second. */
static void write_pose(const scene_pose *pose, const double q[4], int number, FILE *tum, FILE *kitti) {
    const double *p = pose->position, *r = pose->rotation;
    fprintf(tum, "%.6f %.10f %.10f %.10f %.10f %.10f %.10f %.10f\n", number / 30.0, p[0], p[1], p[2], q[1], q[2], q[3],
            q[0]);
    for (int k = 0; k < 3; k++) {
        fprintf(kitti, "%.10f %.10f %.10f %.10f%c", r[3 * k], r[3 * k + 1], r[3 * k + 2], p[k], k < 2 ? ' ' : '\n');
    }
}

static bool write_all(const arguments *a, const scene *room, uint16_t *depth) {
    FILE *tum = program_create(a->folder, "poses_tum.txt"),
         *kitti = tum ? program_create(a->folder, "poses_kitti.txt") : NULL;
    bool good = kitti != NULL;
    if (good) {
        fputs("# time tx ty tz qx qy qz qw, world from camera\n", tum);
    }
    for (int i = 0; good && i < a->frames; i++) {
        scene_pose pose;
        double quaternion[4];
        room_pose(a->path, (double)i / a->loop, &pose, quaternion);
        write_pose(&pose, quaternion, i, tum, kitti);
        good = write_frame(a, room, &pose, i, depth) && (!a->color || write_colors(a, room, &pose, i));
    }
    good = tum ? close_file(a, "poses_tum.txt", tum, true) && good : false;
    good = kitti ? close_file(a, "poses_kitti.txt", kitti, true) && good : false;
    return good && write_camera(a);
}

int main(int argc, char **argv) {
    static scene room;
    arguments a;
    if (!parse(argc, argv, &a)) {
        fputs(usage, stderr);
        return 2;
    }
    uint16_t *depth = malloc((size_t)a.camera.width * (size_t)a.camera.height * sizeof *depth);
    if (!depth) {
        fputs("room: out of memory\n", stderr);
        return 1;
    }
    room_furnish(&room, 1);
    bool good = write_all(&a, &room, depth);
    free(depth);
    return good ? 0 : 1;
}
