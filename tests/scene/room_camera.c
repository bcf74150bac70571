/* The depth camera: its path, its rays, and what a Kinect would measure along them. */
#include "room.h"

#include <math.h>
#include <stddef.h>

#define BASELINE  0.075 /* metres, from the camera to the projector on its right */
#define DISPARITY 351.3 /* steps of disparity at 1 m */
#define NEAREST   0.4
#define FARTHEST  8.0

enum { TILE = 16 }; /* pixels a side that share a list of shapes */

/* ---- the path ----------------------------------------------------------------------------------------------- */

static void multiply(const double a[4], const double b[4], double out[4]) {
    out[0] = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    out[1] = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    out[2] = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    out[3] = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
}

/* Turns about one axis, 1 to 3, in the frame that `q` has reached. */
static void turn(double q[4], int axis, double degrees) {
    double by[4] = {0}, before[4] = {q[0], q[1], q[2], q[3]};
    scene_direction(degrees / 2, &by[0], &by[axis]);
    multiply(before, by, q);
}

static double sine(double degrees) {
    double c, s;
    scene_direction(degrees, &c, &s);
    return s;
}

void room_pose(room_path path, double share, scene_pose *pose, double quaternion[4]) {
    double at = 360.0 * (share - floor(share)), c, s;
    scene_direction(at, &c, &s);
    bool around = path == ROOM_AROUND;
    double q[4] = {1.0, 0.0, 0.0, 0.0};
    turn(q, 3, around ? at + 180.0 + 6.0 * sine(2.0 * at + 40.0) : 205.0 + 24.0 * s);
    turn(q, 2, around ? 17.0 + 4.0 * sine(3.0 * at) : 14.0 + 6.0 * sine(2.0 * at));
    turn(q, 1, 2.5 * sine(2.0 * at));
    /* z forward, x right, y down in what is now a frame of x forward, y left, z up. */
    turn(q, 3, -90.0);
    turn(q, 1, -90.0);
    for (int k = 0; k < 4; k++) {
        quaternion[k] = q[0] < 0.0 ? -q[k] : q[k];
    }
    double x = around ? 1.2 * c : 1.2 + 0.35 * c, y = around ? 0.8 * s : 0.1 + 0.5 * s;
    double z = 1.4 + 0.12 * sine((around ? 3.0 : 2.0) * at + 60.0);
    const double values[7] = {x, y, z, q[0], q[1], q[2], q[3]};
    scene_pose_from(values, pose);
}

void room_camera_init(room_camera *camera, int width) {
    double scale = width / 640.0;
    *camera = (room_camera){.width = width, .height = width * 3 / 4, .depth_scale = 1000.0};
    camera->fx = camera->fy = 525.0 * scale;
    camera->cx = 320.0 * scale - 0.5;
    camera->cy = 240.0 * scale - 0.5;
}

/* ---- rays --------------------------------------------------------------------------------------------------- */

/* Through a pixel; `length` is that of its direction with 1 along the optical axis. */
static void ray_of(const scene_pose *pose, const room_camera *camera, double u, double v, scene_ray *ray,
                   double *length) {
    double x = (u - camera->cx) / camera->fx, y = (v - camera->cy) / camera->fy;
    *length = sqrt(x * x + y * y + 1.0);
    for (int k = 0; k < 3; k++) {
        const double *row = pose->rotation + 3 * k;
        ray->origin[k] = pose->position[k];
        ray->direction[k] = (row[0] * x + row[1] * y + row[2]) / *length;
    }
}

typedef struct shape_list {
    int count;
    const scene_shape *shapes[SCENE_MAX_SHAPES];
} shape_list;

/* The shapes that rays of a tile may meet, or that may stand between what they meet and the projector: those whose
 * sphere around, larger by the baseline, meets the cone around the tile. */
static void list_shapes(const scene *room, const scene_pose *pose, const room_camera *camera, int u, int v,
                        shape_list *list) {
    scene_ray axis, corner;
    double length, cosine = 1.0;
    ray_of(pose, camera, u + (TILE - 1) / 2.0, v + (TILE - 1) / 2.0, &axis, &length);
    for (int i = 0; i < 4; i++) {
        ray_of(pose, camera, u + (i & 1 ? TILE : -1), v + (i & 2 ? TILE : -1), &corner, &length);
        double dot = 0.0;
        for (int k = 0; k < 3; k++) {
            dot += axis.direction[k] * corner.direction[k];
        }
        cosine = dot < cosine ? dot : cosine;
    }
    list->count = 0;
    for (int i = 0; i < room->count; i++) {
        const scene_shape *shape = &room->shapes[i];
        double along = 0.0, square = 0.0, radius = 0.0;
        for (int k = 0; k < 3; k++) {
            double o = shape->center[k] - axis.origin[k];
            along += o * axis.direction[k];
            square += o * o;
            radius += shape->size[k] * shape->size[k];
        }
        double aside = sqrt(square > along * along ? square - along * along : 0.0);
        if (aside * cosine - along * sqrt(1.0 - cosine * cosine) <= 1.001 * sqrt(radius) + BASELINE) {
            list->shapes[list->count++] = shape;
        }
    }
}

/* The shape that the ray meets first, or NULL. */
static const scene_shape *cast(const shape_list *list, const scene_ray *ray, scene_hit *nearest) {
    const scene_shape *shape = NULL;
    *nearest = (scene_hit){.distance = SCENE_MAX_RANGE};
    for (int i = 0; i < list->count; i++) {
        scene_hit h;
        if (scene_meets(list->shapes[i], ray, &h) && h.distance > 0.0 && h.distance < nearest->distance) {
            *nearest = h;
            shape = list->shapes[i];
        }
    }
    return shape;
}

/* Whether the projector shines on the point at `distance` along the ray: nothing stands between them. */
static bool is_lit(const shape_list *list, const scene_pose *pose, const scene_ray *ray, double distance) {
    scene_ray back;
    double to[3], length = 0.0;
    for (int k = 0; k < 3; k++) {
        double projector = pose->position[k] + BASELINE * pose->rotation[3 * k];
        back.origin[k] = ray->origin[k] + distance * ray->direction[k];
        to[k] = projector - back.origin[k];
        length += to[k] * to[k];
    }
    length = sqrt(length);
    for (int k = 0; k < 3; k++) {
        back.direction[k] = to[k] / length;
        back.origin[k] += 1e-4 * back.direction[k]; /* off the surface itself */
    }
    scene_hit h;
    for (int i = 0; i < list->count; i++) {
        if (scene_meets(list->shapes[i], &back, &h) && h.leave > 0.0 && h.distance < length) {
            return false;
        }
    }
    return true;
}

/* ---- what is measured --------------------------------------------------------------------------------------- */

/* The depth that a Kinect tells for one of `z` metres, 0 = none. */
static double measured(const shape_list *list, const scene_pose *pose, const scene_ray *ray, const scene_hit *h,
                       double z, test_random *random) {
    double steps = DISPARITY / z + scene_gauss(random) / 6.0, luck = test_unit(random);
    if (z < NEAREST || z > FARTHEST || luck * 0.2 > h->incidence || !is_lit(list, pose, ray, h->distance)) {
        return 0.0;
    }
    return DISPARITY / floor(steps + 0.5);
}

void room_frame(const scene *room, const scene_pose *pose, const room_camera *camera, uint64_t seed, int frame,
                uint16_t *depth) {
    shape_list list;
    for (int i = 0; i < camera->width * camera->height; i++) {
        depth[i] = 0;
    }
    for (int top = 0; top < camera->height; top += TILE) {
        for (int left = 0; left < camera->width; left += TILE) {
            list_shapes(room, pose, camera, left, top, &list);
            for (int v = top; v < top + TILE && v < camera->height; v++) {
                for (int u = left; u < left + TILE && u < camera->width; u++) {
                    uint64_t pixel = (uint64_t)v * (uint64_t)camera->width + (uint64_t)u;
                    test_random random = {((seed << 16) + (uint64_t)frame) * 0xD1342543DE82EF95u + (pixel << 5)};
                    scene_ray ray;
                    scene_hit h;
                    double length;
                    ray_of(pose, camera, u, v, &ray, &length);
                    if (!cast(&list, &ray, &h)) {
                        continue;
                    }
                    double z = h.distance / length;
                    z = camera->noise ? measured(&list, pose, &ray, &h, z, &random) : z;
                    double units = floor(z * camera->depth_scale + 0.5);
                    depth[pixel] = units <= 65535.0 ? (uint16_t)units : 0;
                }
            }
        }
    }
}

/* ---- colours ------------------------------------------------------------------------------------------------ */

void room_color(int shape, const double p[3], uint8_t rgb[3]) {
    test_random random = {(uint64_t)shape * 0xD1342543DE82EF95u + 7};
    for (int k = 0; k < 3; k++) {
        double level = scene_between(&random, 65.0, 190.0);
        for (int i = 0; i < 3; i++) {
            level += scene_between(&random, -8.0, 8.0) * p[i];
        }
        rgb[k] = (uint8_t)floor((level > 0.0 ? level < 255.0 ? level : 255.0 : 0.0) + 0.5);
    }
}

void room_colors(const scene *room, const scene_pose *pose, const room_camera *camera, uint8_t *rgb) {
    shape_list list;
    for (int top = 0; top < camera->height; top += TILE) {
        for (int left = 0; left < camera->width; left += TILE) {
            list_shapes(room, pose, camera, left, top, &list);
            for (int i = 0; i < TILE * TILE; i++) {
                const int u = left + i % TILE, v = top + i / TILE;
                scene_ray ray;
                scene_hit h;
                double length, p[3];
                if (u >= camera->width || v >= camera->height) {
                    continue;
                }
                uint8_t *pixel = rgb + 3 * ((size_t)v * (size_t)camera->width + (size_t)u);
                pixel[0] = pixel[1] = pixel[2] = 0;
                ray_of(pose, camera, u, v, &ray, &length);
                const scene_shape *shape = cast(&list, &ray, &h);
                for (int k = 0; k < 3; k++) {
                    p[k] = ray.origin[k] + h.distance * ray.direction[k];
                }
                if (shape) {
                    room_color((int)(shape - room->shapes), p, pixel);
                }
            }
        }
    }
}
