/* Arithmetic that the back ends of registration share, against the C library and by its own rules. */
#include "unit.h"
#include "projective_optimizer.h"

enum { LIMIT = 1 << 22 };

/* Rounding to pixels: as nearbyintf within, and nothing that could be a pixel beyond. */
static void test_nearest(void **unused) {
    float whole;
    int far = 0, near = 0;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 977) { /* a prime: all exponents, both signs, NaN */
        const uint32_t some = (uint32_t)bits;
        float x;
        memcpy(&x, &some, sizeof x);
        const int32_t got = pc_nearest(x, &whole);
        if (fabsf(x) < (float)LIMIT - 1.0f) {
            assert_int_equal(got, (int32_t)nearbyintf(x));
            assert_true(whole == nearbyintf(x));
            near++;
        } else if (!(fabsf(x) < (float)LIMIT)) {
            assert_true((uint32_t)got >= LIMIT);
            far++;
        }
    }
    assert_true(near > 1000000 && far > 1000000);
    static const float ties[][2] = {{0.5f, 0.0f}, {1.5f, 2.0f}, {2.5f, 2.0f}, {-0.5f, 0.0f}, {-1.5f, -2.0f}};
    for (size_t i = 0; i < sizeof ties / sizeof ties[0]; i++) {
        assert_int_equal(pc_nearest(ties[i][0], &whole), (int32_t)ties[i][1]);
    }
}

/* Turns have unit length and, to third order, the angle of their vector. */
static void test_turn(void **unused) {
    static const double axis[3] = {0.36, -0.48, 0.8};
    for (double angle = 0.0; angle < 12.0; angle = 1.7 * angle + 1e-6) {
        double w[3], d[4], along = 0.0;
        for (int k = 0; k < 3; k++) {
            w[k] = angle * axis[k];
        }
        pc_quaternion_turn(w, d);
        assert_true(fabs(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3] - 1.0) < 1e-15);
        for (int k = 0; k < 3; k++) {
            along += axis[k] * d[1 + k];
        }
        const double turned = 2.0 * atan2(along, d[0]);
        assert_true(fabs(turned - 4.0 * atan(angle / 4.0)) < 1e-14);
        assert_true(angle > 0.5 || fabs(turned - angle) <= angle * angle * angle / 40.0 + 1e-15);
    }
}

/* A path at a level whose steps may be 1 mm and 0.001 radian long, three steps on its way. */
static pc_depth_optimizer a_path(void) {
    pc_depth_optimizer p = {.levels = 1,
                            .most = {30},
                            .max_correspondence = 0.2,
                            .metres = 1e-3,
                            .radians = 1e-3,
                            .start = {.q = {1, 0, 0, 0}, .t = {0.1, 0.2, 0.3}},
                            .target = {.points = 1000, .center = {1, 2, 3}, .gyration = {1, 1, 1}}};
    pc_depth_optimizer_begin(&p);
    for (int k = 0; k < 3; k++) {
        memcpy(p.marks[k], p.mark, sizeof p.mark);
        p.weights[k] = 10.0 * (k + 1);
        const double update[6] = {0, 0, 0.02, 0.01, 0, 0};
        pc_optimizer_move(&p.base, p.center, k == 1 ? 1.0 : 100.0, update);
        pc_depth_take_pose(&p);
    }
    return p;
}

/* A pose comes back when it is within a step of one before, by both measures and whatever the quaternion's sign. */
static void test_returns(void **unused) {
    pc_depth_optimizer p = a_path();
    for (int k = 0; k < 3; k++) { /* the start takes the anchor to the centre */
        assert_true(fabs(p.marks[0][k] - p.center[k]) < 1e-15);
    }
    for (int age = 1; age <= PC_POSE_HISTORY; age++) {
        assert_false(pc_depth_optimizer_returns(&p, age));
    }
    static const struct {
        double turn, shift;
        bool back;
    } cases[] = {{0, 0, true}, {0.9e-3, 0, true}, {1.1e-3, 0, false}, {0, 0.9e-3, true}, {0, 1.1e-3, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            const double update[6] = {0, cases[i].turn, 0, 0, 0, cases[i].shift};
            const pc_pose *one = &p.base.history.poses[1];
            pc_pose near = pc_pose_updated(one, p.marks[1], update);
            for (int k = 0; k < 4; k++) {
                near.q[k] *= sign;
            }
            p.base.pose = near;
            pc_depth_take_pose(&p);
            for (int age = 1; age <= PC_POSE_HISTORY; age++) {
                assert_int_equal(pc_depth_optimizer_returns(&p, age), cases[i].back && age == 2);
            }
        }
    }
    /* of the last two the first costs less for its weight, and is where the level ends */
    const pc_pose best = p.base.history.poses[1];
    pc_depth_optimizer_continue(&p, 2);
    assert_true(p.base.converged && p.asks_scene);
    assert_memory_equal(&p.base.pose, &best, sizeof best);
    assert_true(p.step.t[0] == (float)best.t[0]);
}

UNIT_GROUP(icp, NULL, NULL, TEST(test_nearest), TEST(test_turn), TEST(test_returns))
