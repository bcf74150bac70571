/* Odometry of depth images as a whole: odometry_depth cpu|cuda. A furnished room, seen by a small camera with noise.
 *
 * Poses and model are compared, byte for byte, with a frame at a time through the public functions, by way of host
 * memory and on one thread of the CPU: at every thread count and vector form, on CUDA, and when the context is used by
 * others in between. Lost images, a limit of memory in the middle. Exit code 77 without such a device. */
#include "../support/backends.h"
#include "odometry.h"
#include "projective.h"
#include "room.h"

enum { FRAMES = 5, WIDTH = 112, LOOP = 120, GROWN = 2048, REFERENCES = 3 };

static const char *const names[] = {"previous", "keyframe", "model"};
static pcgpu_camera camera;
static pcgpu_depth images[FRAMES], dark;
static double times[FRAMES], truth[FRAMES][16];

/* ---- images ------------------------------------------------------------------------------------------------------ */

static void make_images(void) {
    static scene room;
    room_camera seen;
    room_camera_init(&seen, WIDTH);
    seen.noise = true;
    room_furnish(&room, 3);
    camera = (pcgpu_camera){sizeof camera, seen.width, seen.height,      seen.fx, seen.fy,
                            seen.cx,       seen.cy,    seen.depth_scale, 0.0,     0.0};
    const size_t pixels = (size_t)seen.width * (size_t)seen.height;
    for (int i = 0; i < FRAMES; i++) {
        scene_pose pose;
        double quaternion[4];
        room_pose(ROOM_AROUND, (double)i / LOOP, &pose, quaternion);
        images[i] = (pcgpu_depth){seen.width, seen.height, calloc(pixels, sizeof(uint16_t)), NULL};
        room_frame(&room, &pose, &seen, 1, i, images[i].data);
        scene_pose_matrix(&pose, truth[i]);
        times[i] = i / 30.0 + (i > 2 ? 0.02 : 0.0);
    }
    dark = (pcgpu_depth){seen.width, seen.height, calloc(pixels, sizeof(uint16_t)), NULL};
}

static void free_images(void) {
    for (int i = 0; i < FRAMES; i++) {
        free(images[i].data);
    }
    free(dark.data);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

typedef struct outcome {
    pcgpu_odometry_frame frames[FRAMES];
    pcgpu_cloud surface; /* of the model */
    int64_t blocks;
} outcome;

/* The previous image as the reference is also filtered. */
static pcgpu_depth_odometry_params params_of(pcgpu_reference reference) {
    pcgpu_depth_odometry_params p;
    pcgpu_depth_odometry_params_init(&p);
    p.reference = reference;
    p.registration.bilateral = reference == PCGPU_REFERENCE_PREVIOUS ? 0.03 : 0.0;
    p.registration.min_score = 0.2; /* a small camera's pixels are large */
    p.keyframe_angle = 0.15;
    p.volume.voxel_size = 0.015; /* more blocks than fit into the memory that volumes begin with */
    memcpy(p.registration.init, truth[0], sizeof p.registration.init);
    return p;
}

static void end(pcgpu_context *context, pcgpu_depth_odometry *o, outcome *out) {
    pcgpu_volume *volume = pcgpu_depth_odometry_volume(o);
    pcgpu_volume_stats stats = {0};
    if (volume) {
        expect(pcgpu_volume_surface(volume, 0.0, &out->surface) == PCGPU_OK, "model", "surface", "status", 0);
        pcgpu_volume_get_stats(volume, &stats);
        out->blocks = stats.blocks;
    }
    (void)context;
    pcgpu_depth_odometry_close(o);
}

/* Somebody else's work in the same context: a registration of two other images. */
static void disturb(pcgpu_context *context, int i) {
    pcgpu_register_depth_params p;
    pcgpu_registration r;
    pcgpu_register_depth_params_init(&p);
    pcgpu_register_depth(context, &images[(i + 3) % FRAMES], &images[(i + 4) % FRAMES], &camera, NULL, &p, &r);
}

static void run(pcgpu_context *context, const pcgpu_depth_odometry_params *p, bool disturbed, outcome *out) {
    pcgpu_depth_odometry *o = NULL;
    memset(out, 0, sizeof *out);
    expect(pcgpu_depth_odometry_open(context, &camera, p, &o) == PCGPU_OK, names[p->reference], "open", "status", 0);
    for (int i = 0; i < FRAMES && o; i++) {
        if (disturbed) {
            disturb(context, i);
        }
        expect(pcgpu_depth_odometry_add(o, &images[i], times[i], &out->frames[i]) == PCGPU_OK, names[p->reference],
               "add", "status", i);
    }
    if (o) {
        end(context, o, out);
    }
}

static void compare(const outcome *a, const outcome *b, const char *what, const char *label) {
    for (int i = 0; i < FRAMES; i++) {
        const pcgpu_odometry_frame *x = &a->frames[i], *y = &b->frames[i];
        const bool same =
            memcmp(x->T_world_frame, y->T_world_frame, sizeof x->T_world_frame) == 0 &&
            memcmp(&x->registration.score, &y->registration.score, sizeof(double)) == 0 &&
            memcmp(x->registration.information, y->registration.information, sizeof x->registration.information) == 0;
        expect(same, what, label, "pose", i);
        expect(x->good == y->good && x->attempts == y->attempts && x->keyframe == y->keyframe, what, label, "verdict",
               i);
    }
    const bool as_many = a->surface.rows == b->surface.rows && a->blocks == b->blocks;
    expect(as_many && (a->surface.rows == 0 ||
                       memcmp(a->surface.data, b->surface.data,
                              (size_t)a->surface.rows * (size_t)a->surface.columns * sizeof(float)) == 0),
           what, label, "surface", a->surface.rows);
}

/* Frame to model by public functions, with every map in host memory; no image of these is lost, nor tried twice. */
static void run_apart(pcgpu_context *context, const pcgpu_depth_odometry_params *p, outcome *out) {
    const size_t values = 3 * (size_t)camera.width * (size_t)camera.height;
    float *vertices = malloc(2 * values * sizeof *vertices);
    pcgpu_register_depth_params registration = p->registration;
    pcgpu_volume *volume;
    pcgpu_volume_stats stats;
    memset(out, 0, sizeof *out);
    pcgpu_volume_open(context, &p->volume, &volume);
    for (int i = 0; i < FRAMES; i++) {
        pcgpu_odometry_frame *f = &out->frames[i];
        pcgpu_frame *frame, *seen;
        double start[16];
        memcpy(f->T_world_frame, p->registration.init, sizeof f->T_world_frame);
        if (i > 0) {
            const double *last = out->frames[i - 1].T_world_frame;
            const pc_maps maps = {
                .width = camera.width, .height = camera.height, .vertices = vertices, .normals = vertices + values};
            memcpy(start, last, sizeof start);
            if (i > 1) {
                pc_predict(out->frames[i - 2].T_world_frame, times[i - 2], last, times[i - 1], times[i], start);
            }
            pcgpu_volume_raycast(volume, &camera, start, maps.vertices, maps.normals);
            pcgpu_frame_create(context, &images[i], &camera, &registration, &frame);
            pc_frame_of_maps(context, frame->backend, &maps, false, &camera, registration.levels, &seen);
            double inverse[16];
            pc_transform_invert(start, inverse);
            pc_transform_multiply(inverse, start, registration.init);
            pcgpu_register_frames(context, frame, seen, &registration, &f->registration);
            pc_transform_multiply(start, f->registration.T_target_source, f->T_world_frame);
            pcgpu_frame_free(context, frame);
            pcgpu_frame_free(context, seen);
        }
        f->good = f->keyframe = true;
        f->attempts = i > 0;
        expect(i == 0 || f->registration.converged, "apart", f->registration.reason, "converged", i);
        pcgpu_volume_integrate(volume, &images[i], &camera, f->T_world_frame, NULL);
    }
    pcgpu_volume_surface(volume, 0.0, &out->surface);
    pcgpu_volume_get_stats(volume, &stats);
    out->blocks = stats.blocks;
    pcgpu_volume_close(volume);
    free(vertices);
}

/* ---- what is tested ---------------------------------------------------------------------------------------------- */

/* While others use the context; test_limit has the model without. */
static void test_context(pcgpu_context *context, const char *label, const outcome wanted[REFERENCES]) {
    outcome got;
    for (int r = 0; r < REFERENCES; r++) {
        const pcgpu_depth_odometry_params p = params_of((pcgpu_reference)r);
        run(context, &p, r == PCGPU_REFERENCE_MODEL, &got);
        compare(&got, &wanted[r], names[r], label);
        pcgpu_cloud_free(&got.surface);
    }
}

/* Two at a time in one context, one of them with a limit of blocks that its second image exceeds: it stays. */
static void test_limit(pcgpu_context *context, const char *label, const outcome *wanted) {
    pcgpu_depth_odometry_params p = params_of(PCGPU_REFERENCE_MODEL);
    pcgpu_depth_odometry *free_one = NULL, *limited = NULL;
    pcgpu_odometry_frame f;
    pcgpu_volume_stats before, after;
    pcgpu_cloud surface[2] = {{0}};
    outcome got = {0};
    pcgpu_depth_odometry_open(context, &camera, &p, &free_one);
    pcgpu_depth_odometry_add(free_one, &images[0], times[0], &got.frames[0]);
    pcgpu_volume_get_stats(pcgpu_depth_odometry_volume(free_one), &before);
    p.volume.max_blocks = before.blocks;
    pcgpu_depth_odometry_open(context, &camera, &p, &limited);
    expect(pcgpu_depth_odometry_add(limited, &images[0], times[0], &f) == PCGPU_OK, "limit", label, "first", 0);
    pcgpu_volume_surface(pcgpu_depth_odometry_volume(limited), 0.0, &surface[0]);
    for (int i = 1; i < FRAMES; i++) {
        expect(pcgpu_depth_odometry_add(limited, &images[i], times[i], &f) == PCGPU_ERROR_MEMORY, "limit", label,
               "too many blocks", i);
        expect(strstr(pcgpu_last_error(context), "more than the limit") != NULL, "limit", label, "sentence", i);
        pcgpu_depth_odometry_add(free_one, &images[i], times[i], &got.frames[i]);
    }
    pcgpu_volume_surface(pcgpu_depth_odometry_volume(limited), 0.0, &surface[1]);
    pcgpu_volume_get_stats(pcgpu_depth_odometry_volume(limited), &after);
    expect(after.blocks == before.blocks && surface[0].rows == surface[1].rows && surface[0].rows > 0 &&
               memcmp(surface[0].data, surface[1].data,
                      (size_t)surface[0].rows * (size_t)surface[0].columns * sizeof(float)) == 0,
           "limit", label, "the model is as it was", after.blocks);
    pcgpu_depth_odometry_close(limited);
    end(context, free_one, &got);
    compare(&got, wanted, "two at a time", label);
    pcgpu_cloud_free(&got.surface);
    pcgpu_cloud_free(&surface[0]);
    pcgpu_cloud_free(&surface[1]);
}

/* A dark image is lost and changes nothing; one that is not later is refused. */
static void test_lost(pcgpu_context *context, const char *label) {
    const pcgpu_depth_odometry_params p = params_of(PCGPU_REFERENCE_MODEL);
    pcgpu_depth_odometry *o = NULL;
    pcgpu_odometry_frame f;
    pcgpu_depth_odometry_open(context, &camera, &p, &o);
    expect(pcgpu_depth_odometry_add(o, &dark, -1.0, &f) == PCGPU_OK && !f.good, "dark", label, "first", 0);
    pcgpu_depth_odometry_add(o, &images[0], times[0], &f);
    pcgpu_depth_odometry_add(o, &images[1], times[1], &f);
    expect(pcgpu_depth_odometry_add(o, &dark, times[1] + 0.01, &f) == PCGPU_OK && !f.good &&
               f.T_world_frame[0] != f.T_world_frame[0],
           "dark", label, "lost", 2);
    expect(pcgpu_depth_odometry_add(o, &images[2], times[2], &f) == PCGPU_OK && f.good && f.relocalized &&
               metres_between(f.T_world_frame, truth[2]) < 0.05,
           "dark", label, "found again", 3);
    expect(pcgpu_depth_odometry_add(o, &images[3], times[2], &f) == PCGPU_ERROR_ARGUMENT, "time", label,
           "it does not rise", 0);
    pcgpu_depth_odometry_close(o);
}

/* Where a sensor saturates it has measured nothing, as where an image has 0. */
static void test_saturated(pcgpu_context *context, const char *label) {
    pcgpu_registration r[2];
    pcgpu_register_depth_params p;
    pcgpu_register_depth_params_init(&p);
    p.min_score = 0.2;
    const size_t pixels = (size_t)images[0].width * (size_t)images[0].height;
    uint16_t *data = malloc(2 * pixels * sizeof *data);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < 2 * pixels; i++) { /* 0.7 % of the pixels of both images, in one place */
            const bool none = i % WIDTH - 90 < 11 && i % pixels / WIDTH < 6;
            data[i] = none ? (uint16_t)(k * UINT16_MAX) : images[i / pixels].data[i % pixels];
        }
        const pcgpu_depth source = {images[0].width, images[0].height, data + pixels, NULL};
        const pcgpu_depth target = {images[0].width, images[0].height, data, NULL};
        pcgpu_register_depth(context, &source, &target, &camera, NULL, &p, &r[k]);
        printf("0.7 %% of the pixels at %d: %s\n", k * UINT16_MAX, r[k].reason);
    }
    free(data);
    expect(r[0].converged && memcmp(r[0].T_target_source, r[1].T_target_source, sizeof r[0].T_target_source) == 0,
           "saturated", label, "as without a return", 0);
}

/* What is seen in a mirror is another place, though walls fit walls. */
static void test_mirrored(pcgpu_context *context, const char *label) {
    const int width = images[0].width;
    const size_t pixels = (size_t)width * (size_t)images[0].height;
    uint16_t *data = malloc(pixels * sizeof *data);
    const pcgpu_depth mirrored = {width, images[0].height, data, NULL};
    pcgpu_register_depth_params p;
    pcgpu_register_depth_params_init(&p);
    for (int k = 0; k < FRAMES * FRAMES; k++) {
        pcgpu_registration r;
        for (size_t i = 0; i < pixels; i++) {
            data[i] = images[k / FRAMES].data[i - i % (size_t)width + (size_t)(width - 1) - i % (size_t)width];
        }
        pcgpu_register_depth(context, &mirrored, &images[k % FRAMES], &camera, NULL, &p, &r);
        expect(!r.converged, "mirrored", label, "another place", k);
    }
    free(data);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void test_truth(const outcome *model) {
    for (int i = 0; i < FRAMES; i++) {
        expect(model->frames[i].good && metres_between(model->frames[i].T_world_frame, truth[i]) < 0.03, "model",
               "truth", "near it", i);
    }
    expect(model->blocks > GROWN, "model", "blocks", "memory has grown", model->blocks);
}

void test_odometry_depth(bool cuda, char **options) {
    outcome wanted[REFERENCES], apart;
    (void)options;
    make_images();
    pcgpu_context *one = open_context(PCGPU_DEVICE_CPU, 1, 1);
    for (int r = 0; r < REFERENCES; r++) {
        const pcgpu_depth_odometry_params p = params_of((pcgpu_reference)r);
        run(one, &p, false, &wanted[r]);
    }
    const pcgpu_depth_odometry_params p = params_of(PCGPU_REFERENCE_MODEL);
    run_apart(one, &p, &apart);
    compare(&apart, &wanted[PCGPU_REFERENCE_MODEL], "apart", "CPU, 1 thread");
    test_truth(&wanted[PCGPU_REFERENCE_MODEL]);
    if (cuda) {
        pcgpu_context *device = open_context(PCGPU_DEVICE_CUDA, 1, 0);
        test_context(device, "CUDA", wanted);
        test_limit(device, "CUDA", &wanted[PCGPU_REFERENCE_MODEL]);
        test_lost(device, "CUDA");
        test_saturated(device, "CUDA");
        pcgpu_close(device);
    } else {
        for (int simd = 1; simd <= PC_SIMD_FORMS; simd++) {
            char label[32];
            pcgpu_context *context = open_context(PCGPU_DEVICE_CPU, simd, simd);
            snprintf(label, sizeof label, "CPU, %d threads", simd);
            test_context(context, label, wanted);
            pcgpu_close(context);
        }
        test_limit(one, "CPU", &wanted[PCGPU_REFERENCE_MODEL]);
        test_lost(one, "CPU");
        test_saturated(one, "CPU");
        test_mirrored(one, "CPU");
    }
    for (int r = 0; r < REFERENCES; r++) {
        pcgpu_cloud_free(&wanted[r].surface);
    }
    pcgpu_cloud_free(&apart.surface);
    pcgpu_close(one);
    free_images();
}
