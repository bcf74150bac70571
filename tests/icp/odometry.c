/* Odometry as a whole: odometry cpu|cuda [SEED] [quick]. A room of walls and poles that a scanner moves through, made
 * here; no file is needed.
 *
 * cuda: whole sequences to each reference, byte for byte as the CPU does them; exit code 77 without such a device.
 * cpu: Poses against the truth for each reference; the same bytes from several threads, narrow vectors, and when the
 * context is used by others in between; lost scans; what is refused. tests/oracle/test_deskew.py has deskewing. */
#include "ndt_cpu.h"
#include "ndt_ops.h"
#include "../support/backends.h"
#include "odometry_lidar.h"

enum { SCANS = 16, POINTS = 18000, LOST = 9 };

static const char *const names[] = {"previous", "keyframe", "model"};
static pcgpu_cloud scans[SCANS];
static double truth[SCANS][16];
static uint64_t seed;

/* ---- a scene ------------------------------------------------------------------------------------------------- */

/* A ring of walls, a floor, poles and boxes about the place where the scanner is at the moment. */
static void scene_point(int64_t i, double p[3]) {
    double along = 32.0 * (double)test_float(&numbers) - 10.0, high = 3.0 * (double)test_float(&numbers) - 1.7;
    int kind = (int)(i % 6);
    p[0] = along, p[2] = high;
    p[1] = kind == 0 ? 14.0 * (double)test_float(&numbers) - 7.0 : kind == 1 ? -7.0 : 8.0;
    if (kind == 0) {
        p[2] = -1.7;
    } else if (kind == 3) { /* poles, not evenly spaced */
        int pole = (int)(test_bits(&numbers) % 9);
        p[0] = 3.4 * pole - 9.0 + 0.3 * pole * (pole % 3);
        p[1] = pole % 2 ? 5.0 : -5.5;
    } else if (kind == 4) { /* walls across */
        int wall = (int)(test_bits(&numbers) % 5);
        p[0] = 6.3 * wall - 9.0 + 0.7 * (wall % 3);
        p[1] = (wall % 2 ? 1.0 : -1.0) * (5.0 + 3.0 * (double)test_float(&numbers));
    } else if (kind == 5) { /* a box */
        p[0] = 12.0 + 2.0 * (double)test_float(&numbers);
        p[1] = 3.0;
        p[2] = 1.5 * (double)test_float(&numbers) - 1.7;
    }
    for (int k = 0; k < 3; k++) {
        p[k] += 0.01 * (double)test_float(&numbers);
    }
}

static void pose_at(double time, double T[16]) {
    const double s = 0.5 * time;
    const pc_twist motion = {.rotation = {0.002, -0.001, 0.03 / 0.5}, .translation = {1.0, 0.05, 0.0}};
    pc_twist_after(&motion, s, T);
}

/* moving: the scanner's time goes on while points are taken, and stands in the fourth column. */
static void make_scans(bool moving) {
    numbers.state = 77 + seed;
    for (int i = 0; i < SCANS; i++) {
        pcgpu_cloud_free(&scans[i]);
        pcgpu_cloud_create(NULL, POINTS, 4, &scans[i]);
        pose_at(i, truth[i]);
        for (int64_t k = 0; k < POINTS; k++) {
            const double phase = (double)k / POINTS - 0.5;
            double T[16], inverse[16], p[3];
            float *to = scans[i].data + 4 * k;
            scene_point(k, p);
            pose_at(moving ? i + phase : i, T);
            pc_transform_invert(T, inverse);
            for (int j = 0; j < 3; j++) {
                const double *row = inverse + 4 * j;
                to[j] = (float)(((row[0] * p[0] + row[1] * p[1]) + row[2] * p[2]) + row[3]);
            }
            to[3] = (float)phase;
        }
    }
}

/* ---- runs ---------------------------------------------------------------------------------------------------- */

static pcgpu_odometry_params params_of(int reference) {
    pcgpu_odometry_params p;
    pcgpu_odometry_params_init(&p);
    p.reference = (pcgpu_reference)reference;
    p.registration.min_score = 0.3;
    return p;
}

static bool shared; /* others use the context in between */

/* Adds all scans; poses of lost ones are NaN. Returns how many are good. */
static int add_scans(pcgpu_odometry *o, double poses[SCANS][16], pcgpu_odometry_frame *frames) {
    pcgpu_register_params pair;
    pcgpu_registration unused;
    int good = 0;
    pcgpu_register_params_init(&pair);
    for (int i = 0; i < SCANS; i++) {
        pcgpu_odometry_frame f;
        pcgpu_status status = pcgpu_odometry_add(o, &scans[i], i, &f);
        expect(status == PCGPU_OK, "sequence", "adding", pcgpu_last_error(o->context), i);
        good += f.good;
        memcpy(poses[i], f.T_world_frame, sizeof poses[i]);
        if (frames) {
            frames[i] = f;
        }
        if (shared && i % 5 == 2) {
            pcgpu_register(o->context, &scans[3], &scans[6], &pair, &unused);
        }
    }
    return good;
}

static int run(const pcgpu_odometry_params *p, int threads, int simd_limit, double poses[SCANS][16],
               pcgpu_odometry_frame *frames) {
    pcgpu_context *context = open_context(PCGPU_DEVICE_CPU, threads, simd_limit);
    pcgpu_odometry *o = NULL;
    expect(pcgpu_odometry_open(context, p, &o) == PCGPU_OK, "sequence", "opening", pcgpu_last_error(context), 0);
    int good = o ? add_scans(o, poses, frames) : 0;
    pcgpu_odometry_close(o);
    pcgpu_close(context);
    return good;
}

static double farthest(double poses[SCANS][16], double true_poses[SCANS][16]) {
    double worst = 0.0;
    for (int i = 0; i < SCANS; i++) {
        worst = fmax(worst, poses[i][0] == poses[i][0] ? metres_between(poses[i], true_poses[i]) : 0.0);
    }
    return worst;
}

/* ---- tests --------------------------------------------------------------------------------------------------- */

static void check_poses(int reference) {
    static double poses[SCANS][16], others[SCANS][16];
    static pcgpu_odometry_frame frames[SCANS];
    pcgpu_odometry_params p = params_of(reference);
    int good = run(&p, 1, 0, poses, frames);
    printf("%-9s %d of %d, at most %.2f mm off\n", names[reference], good, SCANS, 1e3 * farthest(poses, truth));
    expect(good == SCANS, names[reference], "poses", "all scans have one", good);
    expect(farthest(poses, truth) < 0.004, names[reference], "poses", "near the truth", 0);
    expect(frames[0].attempts == 0 && frames[1].attempts == 1, names[reference], "attempts", "none, then one", 0);
    run(&p, 3, 1, others, NULL);
    expect(memcmp(poses, others, sizeof poses) == 0, names[reference], "threads and vectors", "the same bytes", 0);
    int keyframes = 0;
    for (int i = 0; i < SCANS; i++) {
        keyframes += frames[i].keyframe;
    }
    expect(reference == 1 ? keyframes > 1 && keyframes < SCANS : keyframes == SCANS, names[reference], "keyframes",
           "some, or all", keyframes);
}

/* What a sensor sees that is covered. */
enum { BLOB = 200 };
static float blob[4 * BLOB];

static void make_blob(void) {
    numbers.state = 5;
    for (int i = 0; i < 4 * BLOB; i++) {
        blob[i] = 0.2f * test_float(&numbers);
    }
}

/* Scans that show nothing are lost, some of them where the reference then changes, and those after them are found
 * again; the fitness decides about some keyframes, the distance about others. Others may use the context in between.
 * far: from the origin of the files. */
static void check_gaps(int reference, bool deskew, bool far) {
    static double poses[SCANS][16], others[SCANS][16];
    static pcgpu_odometry_frame frames[SCANS];
    static const int lost[] = {5, 10, 11};
    pcgpu_cloud kept[3];
    pcgpu_odometry_params p = params_of(reference);
    p.deskew = deskew ? PCGPU_DESKEW_TIME : PCGPU_DESKEW_NONE;
    p.time_column = 3;
    p.model_range = 12.0; /* so that voxels are dropped */
    p.keyframe_distance = 1.2;
    p.keyframe_fitness = deskew ? 0.775 : 0.79;
    for (int i = 0; i < SCANS; i++) {
        scans[i].rows = 18000;
        scans[i].offset[0] = far ? 412345.678 : 0.0;
        scans[i].offset[1] = far ? 5412345.678 : 0.0;
    }
    for (int i = 0; i < 3; i++) {
        kept[i] = scans[lost[i]];
        scans[lost[i]].data = blob;
        scans[lost[i]].rows = i == 2 ? 3 : BLOB;
    }
    const char *label = deskew ? "gaps, deskewed" : far ? "gaps, far away" : "gaps";
    int good = run(&p, 1, 0, poses, frames), keyframes = 0;
    expect(good == SCANS - 3, names[reference], label, "all others have poses", good);
    for (int i = 0; i < SCANS; i++) {
        const bool none = i == lost[0] || i == lost[1] || i == lost[2];
        expect(frames[i].good == !none && (poses[i][5] != poses[i][5]) == none, names[reference], label, "lost", i);
        expect(!none || frames[i].registration.reason[0] != '\0', names[reference], label, "a reason", i);
        expect(frames[i].relocalized == (i == lost[0] + 1 || i == lost[2] + 1), names[reference], label, "found again",
               i);
        keyframes += i > 0 && frames[i].keyframe;
    }
    shared = true;
    run(&p, 2, 0, others, NULL);
    shared = false;
    expect(memcmp(poses, others, sizeof poses) == 0, names[reference], label, "the same bytes", 0);
    for (int i = 0; i < SCANS; i++) { /* where the motion takes the place of the sensor */
        for (int k = 0; k < 3; k++) {
            const double *row = poses[i] + 4 * k, *at = scans[i].offset;
            others[i][4 * k + 3] = (row[0] * at[0] + row[1] * at[1] + row[3]) - at[k];
        }
    }
    expect(deskew || farthest(others, truth) < 0.02, names[reference], label, "near the truth", 0);
    expect(reference != PCGPU_REFERENCE_KEYFRAME || (keyframes > 2 && keyframes < good - 2), names[reference], label,
           "some are keyframes", keyframes);
    for (int i = 0; i < 3; i++) {
        scans[lost[i]] = kept[i];
    }
    for (int i = 0; i < SCANS; i++) {
        scans[i].rows = POINTS;
        scans[i].offset[0] = scans[i].offset[1] = 0.0;
    }
}

/* Scans [first, last) as a sensor has them that is turned about z by so many quarters of a right angle, or is behind a
 * mirror. */
static void turn_scans(int first, int last, int quarters, bool mirrored) {
    double T[16];
    const pc_twist turn = {.rotation = {0.0, 0.0, 2.0 * 0.198912367379658}}; /* 2 tan of half a quarter */
    for (int i = first; i < last; i++) {
        double inverse[16], turned[16];
        pc_twist_after(&turn, 0.0, T);
        for (int k = 0; k < quarters; k++) {
            double once[16], before[16];
            memcpy(before, T, sizeof before);
            pc_twist_after(&turn, 1.0, once);
            pc_transform_multiply(before, once, T);
        }
        pc_transform_invert(T, inverse);
        for (int64_t k = 0; k < scans[i].rows; k++) {
            float *p = scans[i].data + 4 * k;
            const double x = (double)p[0], y = mirrored ? -(double)p[1] : (double)p[1];
            p[0] = (float)(inverse[0] * x + inverse[1] * y);
            p[1] = (float)(inverse[4] * x + inverse[5] * y);
        }
        pc_transform_multiply(truth[i], T, turned);
        memcpy(truth[i], turned, sizeof turned);
    }
}

/* A sensor that turns by 90 degrees from one scan to the next is found by a search among the kept scans; one that sees
 * a mirror image has no pose, and is found again after it. */
static void check_search(int reference) {
    static double poses[SCANS][16];
    static pcgpu_odometry_frame frames[SCANS];
    const pcgpu_odometry_params p = params_of(reference);
    turn_scans(LOST, SCANS, 4, false);
    int good = run(&p, 2, 0, poses, frames);
    printf("%-9s turned: %d of %d, at most %.2f mm off, %d attempts\n", names[reference], good, SCANS,
           1e3 * farthest(poses, truth), frames[LOST].attempts);
    expect(good == SCANS && farthest(poses, truth) < 0.02, names[reference], "a sudden turn", "all have a pose", good);
    make_scans(false);
    turn_scans(LOST, LOST + 3, 0, true);
    good = run(&p, 2, 0, poses, frames);
    printf("%-9s mirrored: %d of %d\n", names[reference], good, SCANS);
    expect(good == SCANS - 3 && frames[LOST + 3].relocalized, names[reference], "mirrored", "three are lost", good);
    expect(farthest(poses, truth) < 0.02, names[reference], "mirrored", "the others near the truth", 0);
    make_scans(false);
}

enum { BARE = 3, FOLLOWED = 10 };

/* Scans [BARE, last) see the ground and two walls: nothing says how far along these the sensor has come. */
static void check_open(int last, int wanted) {
    const int reference = PCGPU_REFERENCE_MODEL;
    static double poses[SCANS][16];
    static pcgpu_odometry_frame frames[SCANS];
    const pcgpu_odometry_params p = params_of(reference);
    for (int i = BARE; i < last; i++) {
        for (int64_t k = 0; k < POINTS; k++) {
            memcpy(scans[i].data + 4 * k, scans[i].data + 4 * (k - k % 6 + k % 3), 4 * sizeof(float));
        }
    }
    const int good = run(&p, 2, 0, poses, frames);
    int open = 0;
    for (int i = 0; i < SCANS; i++) {
        const double *covariance = frames[i].registration.covariance, *direction = frames[i].open_directions;
        open += frames[i].open == 1;
        expect(frames[i].open == (i >= BARE && i < last && frames[i].good), names[reference], "open", "which", i);
        expect(frames[i].open == 0 || (fabs(direction[0]) > 0.95 && covariance[21] > 0.01 && covariance[28] < 0.01),
               names[reference], "open", "along the walls", i);
    }
    printf("%-9s open: %d of %d, %d have poses, at most %.1f mm off\n", names[reference], open, last - BARE, good,
           1e3 * farthest(poses, truth));
    expect(open == wanted && good == SCANS - (last - BARE - wanted), names[reference], "open", "how many", open);
    expect(farthest(poses, truth) < 0.1, names[reference], "open", "near the truth", 0);
    make_scans(false);
}

static void check_refusals(void) {
    pcgpu_context *context = open_context(PCGPU_DEVICE_CPU, 1, 0);
    pcgpu_odometry *o = NULL;
    pcgpu_odometry_frame f;
    for (int i = 0; i < 8; i++) {
        pcgpu_odometry_params p = params_of(i == 0 ? 3 : PCGPU_REFERENCE_MODEL);
        p.registration.method = i == 1 ? PCGPU_REGISTER_PLANE : PCGPU_REGISTER_NDT;
        p.model_range = i == 2 ? 0.0 : i == 3 ? 1e5 : 80.0;
        p.registration.voxel = i == 3 ? 0.25 : PCGPU_AUTO;
        p.model_points = i == 4 ? 0 : 200;
        p.keyframe_fitness = i == 5 ? 1.5 : 0.6;
        p.deskew = (pcgpu_deskew)(i == 6 ? 5 : 0);
        p.registration.init[0] = i == 7 ? 2.0 : 1.0;
        expect(pcgpu_odometry_open(context, &p, &o) == PCGPU_ERROR_ARGUMENT && !o && pcgpu_last_error(context)[0],
               "open", "refused", "with a sentence", i);
    }
    pcgpu_odometry_params p = params_of(PCGPU_REFERENCE_MODEL);
    pcgpu_odometry_open(context, &p, &o);
    expect(pcgpu_odometry_add(o, &scans[0], NAN, &f) == PCGPU_ERROR_ARGUMENT, "add", "time", "not a number", 0);
    expect(pcgpu_odometry_add(o, &scans[0], 1.0, &f) == PCGPU_OK && f.good, "add", "after an error", "works", 0);
    expect(pcgpu_odometry_add(o, &scans[1], 1.0, &f) == PCGPU_ERROR_ARGUMENT && !f.good, "add", "time", "the same", 0);
    expect(pcgpu_odometry_add(o, &scans[1], 2.0, &f) == PCGPU_OK && f.good, "add", "after an error", "works", 1);
    pcgpu_odometry_close(o);
    p.deskew = PCGPU_DESKEW_TIME;
    pcgpu_odometry_open(context, &p, &o);
    expect(pcgpu_odometry_add(o, &scans[0], 0.0, &f) == PCGPU_ERROR_ARGUMENT, "add", "time column", "not there", 0);
    pcgpu_odometry_close(o);
    pcgpu_odometry_close(NULL);
    pcgpu_close(context);
}

/* ---- a device ------------------------------------------------------------------------------------------------ */

enum { LOST_ON_CUDA = 4 };

/* What is special about a run. */
typedef struct variant {
    const char *name;
    pcgpu_deskew deskew;
    double keyframe_distance, model_range;
    bool lost;   /* some scans show nothing */
    bool near;   /* points near the sensor are left out, and beams corrected */
    bool shared; /* the context registers other scans in between */
    bool few[3]; /* the references of few scans */
} variant;

static const variant variants[] = {
    {"lost scans", PCGPU_DESKEW_NONE, 3.0, 80.0, true, false, true, {true, true, true}},
    {"deskewed", PCGPU_DESKEW_TIME, 3.0, 80.0, true, false, false, {false, false, true}},
    {"keyframes all the time, a small model", PCGPU_DESKEW_NONE, 0.0, 9.0, false, false, true, {false, false, true}},
    {"near points, beams", PCGPU_DESKEW_TIME, 2.0, 12.0, false, true, false, {false, true, false}},
};

/* All that is known of a run's scans but for times and names. */
static void run_variant(pcgpu_context *context, int reference, const variant *v, int count, double voxel,
                        pcgpu_odometry_frame *frames) {
    pcgpu_odometry_params p = params_of(reference);
    pcgpu_odometry *o = NULL;
    p.deskew = v->deskew;
    p.time_column = 3;
    p.keyframe_distance = v->keyframe_distance;
    p.model_range = v->model_range;
    p.registration.voxel = voxel;
    p.registration.min_range = v->near ? 4.0 : 0.0;
    p.registration.beam_correction = v->near ? 0.205 : 0.0;
    expect(pcgpu_odometry_open(context, &p, &o) == PCGPU_OK, names[reference], v->name, pcgpu_last_error(context), 0);
    for (int i = 0; i < count && o; i++) {
        pcgpu_odometry_frame *f = &frames[i];
        pcgpu_cloud cloud = scans[i];
        if (v->lost && i == LOST_ON_CUDA) {
            cloud.data = blob;
            cloud.rows = BLOB;
        } else if (v->lost && i == 1) {
            cloud.rows = 3;
        }
        memset(f, 0, sizeof *f);
        pcgpu_status status = pcgpu_odometry_add(o, &cloud, i, f);
        expect(status == PCGPU_OK, names[reference], v->name, pcgpu_last_error(context), i);
        expect(strcmp(f->registration.run.backend, context->settings.device == PCGPU_DEVICE_CUDA ? "cuda" : "cpu") == 0,
               names[reference], v->name, "the back end", i);
        forget_times(&f->registration);
        if (v->shared && i % 5 == 2) {
            pcgpu_registration unused;
            pcgpu_status between = pcgpu_register(context, &scans[3], &scans[5], &p.registration, &unused);
            expect(between == PCGPU_OK, names[reference], v->name, pcgpu_last_error(context), i);
        }
    }
    pcgpu_odometry_close(o);
}

/* Whole sequences on CUDA against the CPU: everything that they report. `count` scans of so many points. */
static void check_cuda(int count, int64_t rows, double voxel) {
    static pcgpu_odometry_frame frames[2][SCANS];
    pcgpu_context *const contexts[2] = {open_context(PCGPU_DEVICE_CPU, 2, 0), open_context(PCGPU_DEVICE_CUDA, 2, 0)};
    for (size_t k = 0; k < sizeof variants / sizeof variants[0]; k++) {
        const variant *v = &variants[k];
        make_scans(v->deskew != PCGPU_DESKEW_NONE);
        for (int i = 0; i < SCANS; i++) {
            scans[i].rows = rows;
        }
        for (int r = 0; r < 3; r++) {
            if (count < SCANS && !v->few[r]) {
                continue;
            }
            int good = 0;
            for (int c = 0; c < 2; c++) {
                run_variant(contexts[c], r, v, count, voxel, frames[c]);
            }
            for (int i = 0; i < count; i++) {
                expect(memcmp(&frames[0][i], &frames[1][i], sizeof frames[0][i]) == 0, names[r], v->name,
                       "the same as on the CPU", i);
                good += frames[0][i].good;
            }
            const int wanted = v->lost ? count - 2 : count;
            /* Points that moved during a sweep, when the scan that would tell how is lost: not all need be found. */
            const bool hard = v->lost && v->deskew != PCGPU_DESKEW_NONE;
            expect(hard ? good >= count / 2 : good == wanted, names[r], v->name, "good scans", good);
        }
    }
    pcgpu_close(contexts[0]);
    pcgpu_close(contexts[1]);
}

static void free_scans(void) {
    for (int i = 0; i < SCANS; i++) {
        pcgpu_cloud_free(&scans[i]);
    }
}

void test_odometry(bool cuda, char **options) {
    seed = cuda ? numbers.state : 0;
    make_blob();
    if (cuda) {
        if (options[0]) {
            check_cuda(6, 1600, 0.8);
        } else {
            check_cuda(SCANS, POINTS, 0.25);
        }
        free_scans();
        return;
    }
    make_scans(false);
    for (int r = 0; r < 3; r++) {
        check_poses(r);
        check_gaps(r, false, r > PCGPU_REFERENCE_PREVIOUS);
        check_search(r);
    }
    check_open(BARE + 4, 4);
    check_open(SCANS, FOLLOWED);
    check_refusals();
    make_scans(true);
    for (int r = 0; r < 3; r++) {
        check_gaps(r, true, false);
    }
    free_scans();
}
