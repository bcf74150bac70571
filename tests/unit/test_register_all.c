/* Sets of clouds: parts of a room in any order and rotation, a cloud and a group that fit none of them. Costs 2 s. */
#include "unit.h"

enum { PARTS = 6, MOST = 12, ROWS = 30000 };

/* Parts of rooms with boxes in them, as clouds in frames of their own. */
/* Middles and halves of the sides of boxes; of the first, which is the room, the floor and two walls are there. */
typedef struct box_room {
    int count;
    double boxes[25][6];
} box_room;

static void place(const box_room *r, double p[3]) {
    const int choice = (int)((noise() + 1.0) * r->count);
    const double *box = r->boxes[choice < r->count ? choice : 0];
    const int axis = (int)((noise() + 1.0) * 1.5) % 3;
    for (int k = 0; k < 3; k++) {
        const double at = k != axis ? noise() : box == r->boxes[0] || noise() < 0.0 ? -1.0 : 1.0;
        p[k] = box[k] + box[3 + k] * at + 0.004 * noise();
    }
}

/* Points with low <= x <= high, in the frame T_cloud_room. */
static pcgpu_cloud part_of_room(pcgpu_context *context, const box_room *r, int rows, double low, double high,
                                const double T[16]) {
    pcgpu_cloud cloud;
    assert_int_equal(pcgpu_cloud_create(context, rows, 3, &cloud), PCGPU_OK);
    for (int i = 0; i < rows; i++) {
        double p[3];
        do {
            place(r, p);
        } while (p[0] < low || p[0] > high);
        for (int k = 0; k < 3; k++) {
            const double *row = T + 4 * k;
            cloud.data[3 * i + k] = (float)(((row[0] * p[0] + row[1] * p[1]) + row[2] * p[2]) + row[3]);
        }
    }
    return cloud;
}

/* Rooms of 9 x 5 x 3 m with 24 boxes, which differ by their seeds. */
static box_room furnished;

static void furnish(uint64_t seed) {
    furnished = (box_room){25, {{0, 0, 1.5, 4.5, 2.5, 1.5}}};
    numbers.state = seed;
    for (int i = 1; i < 25; i++) {
        double *box = furnished.boxes[i];
        for (int k = 0; k < 3; k++) {
            box[3 + k] = 0.35 + 0.25 * noise();
            box[k] = k < 2 ? (furnished.boxes[0][3 + k] - 0.7) * noise() : box[5];
        }
    }
}

/* A pose with any rotation. */
static void any_pose(double T[16]) {
    const double q[4] = {noise(), noise(), noise(), noise()};
    const double s = 2.0 / (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]), w = q[0], x = q[1], y = q[2],
                 z = q[3];
    const double R[4][4] = {{1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y), 20 * noise()},
                            {s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x), 20 * noise()},
                            {s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y), 20 * noise()},
                            {0, 0, 0, 1}};
    memcpy(T, R, sizeof R);
}

typedef struct world {
    pcgpu_cloud clouds[MOST];
    const pcgpu_cloud *pointers[MOST];
    double T[MOST][16]; /* of the room into the cloud */
    int count;
} world;

/* What is between `low` and `high` along the room, in any frame. */
static void add(pcgpu_context *context, world *w, uint64_t seed, double low, double high) {
    numbers.state = seed;
    any_pose(w->T[w->count]);
    w->clouds[w->count] = part_of_room(context, &furnished, ROWS, low, high, w->T[w->count]);
    w->pointers[w->count] = &w->clouds[w->count];
    w->count++;
}

/* Six parts of a room that share three quarters with the next one, out of order; two parts of another room at 1 and 4,
 * and at 5 a cloud of points anywhere. */
static void make_world(pcgpu_context *context, world *w) {
    static const int order[PARTS] = {3, 0, 5, 2, 4, 1};
    *w = (world){.count = 0};
    for (int i = 0; i < PARTS; i++) {
        if (i == 1 || i == 3) {
            furnish(77);
            add(context, w, 101 + 2 * (uint64_t)i, -4.6, 0.5 + i);
        }
        if (i == 3) {
            add(context, w, 200, -4.6, 4.6);
            for (int k = 0; k < 3 * ROWS; k++) {
                w->clouds[w->count - 1].data[k] = (float)(3.0 * noise());
            }
        }
        furnish(5);
        add(context, w, 11 + 2 * (uint64_t)i, -4.6 + 0.9 * order[i], -0.6 + 0.9 * order[i]);
    }
}

static void free_world(world *w) {
    for (int i = 0; i < w->count; i++) {
        pcgpu_cloud_free(&w->clouds[i]);
    }
}

/* The pose of cloud `i` against that of the first cloud of its group; metres. */
static void assert_pose(const world *w, const pcgpu_set *set, int first, int i, double metres, double radians) {
    double back[16], truth[16], E[16];
    invert(w->T[i], back);
    multiply(w->T[first], back, truth);
    invert(truth, back);
    multiply(back, set->clouds[i].T_group_cloud, E);
    /* at the middle of the cloud */
    const double *c = set->clouds[i].center;
    double square = 0.0;
    for (int k = 0; k < 3; k++) {
        const double d = ((E[4 * k] * c[0] + E[4 * k + 1] * c[1]) + E[4 * k + 2] * c[2]) + E[4 * k + 3] - c[k];
        square += d * d;
    }
    assert_true(sqrt(square) < metres);
    assert_true(pcgpu_rotation_angle(E) < radians);
}

/* The largest group is number 0; the other room is a group; the cloud that fits none is one of its own. */
static void test_groups(void **unused) {
    static const int group[] = {0, 1, 0, 0, 1, 2, 0, 0, 0};
    pcgpu_context *context = open_context(2);
    world w;
    pcgpu_set set;
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    make_world(context, &w);
    assert_int_equal(w.count, 9);
    assert_int_equal(pcgpu_register_all(context, w.pointers, w.count, &params, &set), PCGPU_OK);
    assert_int_equal(set.placed, PARTS);
    assert_int_equal(set.groups, 3);
    for (int i = 0; i < w.count; i++) {
        assert_int_equal(set.clouds[i].group, group[i]);
        assert_int_equal(set.clouds[i].links > 0, group[i] < 2);
        if (group[i] < 2) {
            assert_pose(&w, &set, group[i], i, 0.01, 0.005); /* whose first cloud has its number here */
            assert_int_equal(set.clouds[i].covariance[0] > 0.0 && set.clouds[i].covariance[21] > 0.0, i != group[i]);
        }
    }
    pcgpu_set_free(&set);
    free_world(&w);
    pcgpu_close(context);
}

/* Clouds that fit none, and calls that are wrong. */
static void test_none(void **unused) {
    pcgpu_context *context = open_context(2);
    world w = {.count = 0};
    pcgpu_set set;
    pcgpu_cloud empty;
    pcgpu_register_params params;
    pcgpu_register_params_init(&params);
    furnish(5);
    add(context, &w, 1, -4.6, 4.6);
    assert_int_equal(pcgpu_cloud_create(context, 0, 3, &empty), PCGPU_OK);
    w.pointers[1] = &empty;
    assert_int_equal(pcgpu_register_all(context, w.pointers, 2, &params, &set), PCGPU_OK);
    assert_int_equal(set.placed, 0);
    assert_int_equal(set.groups, 2);
    assert_int_equal(set.link_count, 0);
    pcgpu_set_free(&set);
    w.pointers[0] = &empty;
    assert_int_equal(pcgpu_register_all(context, w.pointers, 2, &params, &set), PCGPU_OK);
    assert_int_equal(set.placed, 0);
    pcgpu_set_free(&set);
    assert_int_equal(pcgpu_register_all(context, w.pointers, 1, &params, &set), PCGPU_ERROR_ARGUMENT);
    assert_int_equal(pcgpu_register_all(context, w.pointers, PCGPU_SET_MOST + 1, &params, &set), PCGPU_ERROR_ARGUMENT);
    params.min_score = 2.0;
    assert_int_equal(pcgpu_register_all(context, w.pointers, 2, &params, &set), PCGPU_ERROR_ARGUMENT);
    assert_null(set.clouds);
    pcgpu_cloud_free(&empty);
    free_world(&w);
    pcgpu_close(context);
}

UNIT_GROUP(register_all, NULL, NULL, TEST(test_groups), TEST(test_none))
